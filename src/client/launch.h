/*
 * Bringing a sandbox up: the sockets, the supervisor, the wait for its answer.
 *
 * A launch may carry a first connection: the caller sends its command on it at once, and pid 1
 * finds it waiting. Such a caller does not wait for the answer.
 */
#pragma once

#include "base/buf.h"
#include "base/spawn.h"
#include "spec/spec.h"

#define LAUNCH_TICK_MS 100

struct home;

struct launch {
	int leash;               /* closing it ends an ephemeral sandbox */
	int connection;          /* to pid 1, when asked for; else -1 */
	struct child child;      /* the supervisor */
	void (*tick)(void *arg); /* called every LAUNCH_TICK_MS while waiting, or NULL */
	void *tick_arg;
	bool answered;
	const struct home *home; /* borrowed from launch_create() */
	const char *name;        /* borrowed likewise */
	bool stays;              /* its record does, also when it never comes up */
	struct strv volumes;     /* made for it: they go if it never comes up */
};
#define LAUNCH_NONE                                                \
	{                                                          \
		.leash = -1, .connection = -1, .child = { -1, -1 } \
	}

/* A new record and its supervisor, with a first connection if CONNECT. Volumes it names are made if
 * they are missing. ERR_EXISTS when the name is taken. */
MUST_USE int launch_create(const struct home *h, const struct spec *s, bool connect,
			   struct launch *ret, struct err *e);
/* The supervisor of an existing, stopped record. ERR_BUSY when it is up. */
MUST_USE int launch_start(const struct home *h, const char *name, struct launch *ret,
			  struct err *e);
/* Waits until the sandbox answers commands, or says why it never will. WARNINGS gets lines. */
MUST_USE int launch_wait(struct launch *l, struct buf *warnings, struct err *e);
/* After launch_wait() of a new one: the changes its spec asks for before the first command. What
 * cannot be made is an error, and the sandbox is gone. */
MUST_USE int launch_settle(struct launch *l, const struct spec *s, struct err *e);
/* Ends an ephemeral sandbox and waits a while until its supervisor has deleted what it can. */
void launch_end(struct launch *l);
/* Lets an ephemeral sandbox live on after us. */
void launch_release(struct launch *l);
void launch_done(struct launch *l);
