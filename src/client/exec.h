/*
 * Running a command in a live sandbox for somebody who waits for it, as the command line does.
 *
 * client_exec() moves bytes until the command ends; it trusts nothing that pid 1 says: no descriptor is
 * taken from it, every frame is bounded (client/call), and a deadline of our own backs its time-out. The
 * caller ignores SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/connection.h"
#include "spec/grammar.h"
#include "wire/message.h"

struct exec_request {
	struct exec_message message;
	int in, out, err; /* ours: read from, write to; -1 where there is none */
	/* readable when the size of IN, a terminal, changed; read until it is empty. -1: IN is none */
	int resized;
	bool log; /* append what it prints to the sandbox's log */
	unsigned char detach_keys[DETACH_KEYS_MAX];
	size_t n_detach_keys;
	uint64_t attach_id; /* client_attach() */
};

struct exec_result {
	struct exit_message end;
	uint64_t id;
	bool detached;      /* the detach keys were typed */
	bool broken_output; /* our own stdout went away */
};

MUST_USE int client_exec(struct client *c, const struct exec_request *q, struct exec_result *ret,
			 struct err *e);
/* Back to a detached terminal. */
MUST_USE int client_attach(struct client *c, const struct exec_request *q, struct exec_result *ret,
			   struct err *e);
