/*
 * Asks pid 1 to list, signal or forget commands of a sandbox, and waits for the answer. The command
 * line uses these functions. A server must not wait, so it asks with client/ask.h.
 *
 * The connection of the caller must have no other request under way. Pid 1 is not trusted, so
 * client/call.h limits the size of every answer.
 */
#pragma once

#include "client/connection.h"
#include "wire/background.h"

/* Called for each command. M is valid only during the call. */
typedef void commands_fn(void *arg, const struct command_message *m);

/* Calls FN for each command that pid 1 runs or keeps. Fails with ERR_UNSUPPORTED if pid 1 speaks
 * protocol 1, or with ERR_TIMEOUT if pid 1 does not answer. */
MUST_USE int commands_list(struct client *c, commands_fn *fn, void *arg, struct err *e);
/* Signals the command with the number ID. FLAGS are FRAME_FLAG_SCOPE and FRAME_FLAG_WHOLE. Fails
 * with ERR_NOT_FOUND if there is no such command. */
MUST_USE int commands_signal(struct client *c, uint64_t id, int sig, unsigned flags, struct err *e);
/* Waits until the command ends, or until the time UNTIL_NS. Returns 1 if the command has ended, 0
 * if the time came first, or -1. If *RET_KNOWN is true, *RET says how the command ended. If the
 * function returns 1 and *RET_KNOWN is false, pid 1 did not keep how the command ended, or the
 * sandbox has ended too. */
MUST_USE int commands_await_end(struct client *c, uint64_t id, uint64_t until_ns,
				struct exit_message *ret, bool *ret_known, struct err *e);
/* Makes pid 1 forget the command that ended first, so that a new command has room. Returns true if
 * a command was forgotten. */
bool commands_forget_oldest(struct client *c);
