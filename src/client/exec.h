/*
 * Runs a command in a live sandbox, or attaches to a command there, for the command line.
 *
 * Both functions move bytes until the command ends or the user types the detach keys. If the
 * message has EXEC_DETACHED, client_exec() only waits until the command has started. The functions
 * do not trust pid 1: they take no descriptor from pid 1 and limit the size of every frame
 * (client/call.h). client_exec() also has its own deadline, which comes after the time-out that
 * pid 1 enforces. The caller must ignore SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/connection.h"
#include "spec/grammar.h"
#include "wire/message.h"
#include "wire/screen.h"

struct exec_request {
	struct exec_message message;
	int in, out, err; /* our own descriptors for the command's streams; -1: none */
	/* a descriptor that becomes readable when the terminal IN has a new size; -1 if IN is no
	 * terminal. We read the descriptor until it is empty */
	int resized;
	bool log; /* append the command's output to the sandbox's log */
	unsigned char detach_keys[DETACH_KEYS_MAX];
	size_t n_detach_keys;
	/* The number of the command for client_attach(). If it is 0, pid 1 chooses the latest
	 * terminal that has no client. */
	uint64_t attach_id;
	/* Called when the program may have changed the modes of the terminal OUT. S is valid only
	 * during the call. NULL if OUT is no terminal, or if the command has no terminal. */
	void (*screen_changed)(const struct screen *s);
};

struct exec_result {
	struct exit_message end;
	uint64_t id;
	bool detached;      /* the detach keys were typed */
	bool hung_up;       /* our own terminal is gone */
	bool broken_output; /* our output could not be written */
};

MUST_USE int client_exec(struct client *c, const struct exec_request *q, struct exec_result *ret,
			 struct err *e);
/* Attaches to a command that has no client. If Q->message has EXEC_TTY, the command has a terminal.
 * Otherwise the command has pipes, and its standard error goes to our standard error. */
MUST_USE int client_attach(struct client *c, const struct exec_request *q, struct exec_result *ret,
			   struct err *e);
