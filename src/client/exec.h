/*
 * Running a command in a live sandbox.
 *
 * A connection may be kept and used for one command after another. client_exec() moves bytes until
 * the command ends; it trusts nothing that pid 1 says: no descriptor is taken from it, every frame
 * is bounded, and a deadline of our own backs its time-out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "spec/grammar.h"
#include "state/execlog.h"
#include "state/home.h"
#include "wire/message.h"

struct client {
	const struct home *home; /* borrowed; outlives us */
	const char *name;        /* borrowed */
	int fd;
	struct buf in;
	bool greeted; /* our HELLO went out */
};

/* ERR_NOT_RUNNING when nobody listens. */
MUST_USE int client_open(struct client *c, const struct home *h, const char *name, struct err *e);
/* Over a connection made by launch_create(); takes it. */
void client_adopt(struct client *c, const struct home *h, const char *name, int fd);
void client_done(struct client *c);

struct exec_request {
	struct exec_message message;
	int in, out, err; /* ours: read from, write to; -1 where there is none */
	bool log;         /* append what it prints to the sandbox's log */
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
/* 128+N, 124, 126, 127 … as the contract of `exec` says. */
int exec_exit_status(const struct exit_message *m);
