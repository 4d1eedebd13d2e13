/*
 * Words that people know from other programs, and what they are called here.
 *
 * Only messages about unknown words use them: "unknown command 'kill', did you mean 'stop'?". Such a word
 * is no spelling mistake, so a search for similar words would not find the right one.
 */
#pragma once

/* Returns what WORD is called here, such as "stop --force", or NULL. */
const char *habit_command(const char *word);
/* Returns the option, without dashes, that other programs call NAME, or NULL. */
const char *habit_option(const char *name);
