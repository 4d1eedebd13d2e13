/*
 * Words that people know from other programs, and the words of cordon for the same things.
 *
 * Only error messages use this list: "unknown command 'kill', did you mean 'stop'?". A search for
 * similar words would not find 'stop', because 'kill' is no spelling mistake.
 */
#pragma once

/* WORD is a command of other programs. Returns the words that do the same in cordon, such as "logs
 * --follow", or NULL. */
const char *habit_command(const char *word);
/* Returns the option of cordon, without dashes, that is called NAME in other programs, or NULL. */
const char *habit_option(const char *name);
