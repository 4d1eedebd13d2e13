/*
 * Starts a sandbox: makes the sockets, starts the supervisor and waits for the supervisor's answer.
 *
 * A launch may have a first connection. The caller sends its command on this connection at once and
 * does not wait for the supervisor's answer. When pid 1 starts, it finds the command in the socket.
 */
#pragma once

#include "base/buf.h"
#include "base/spawn.h"
#include "spec/spec.h"

#define LAUNCH_TICK_MS 100

struct home;

struct launch {
	int leash; /* closing it ends an ephemeral sandbox */
	/* the first connection to pid 1, if the caller asked for one; else -1 */
	int connection;
	struct child child;      /* the supervisor */
	void (*tick)(void *arg); /* called every LAUNCH_TICK_MS while waiting, or NULL */
	void *tick_arg;
	bool answered;
	const struct home *home; /* borrowed from the caller */
	const char *name;        /* borrowed from the caller */
	bool stays; /* the sandbox existed before, so its record stays even after a failure */
	/* the volumes that were made for the sandbox; they are removed if the sandbox does not
	 * start */
	struct strv volumes;
	char *held; /* after launch_wait(): how soft limits are enforced (wire/leash.h), or NULL */
};
#define LAUNCH_NONE                                                \
	{                                                          \
		.leash = -1, .connection = -1, .child = { -1, -1 } \
	}

/* Makes a record and starts its supervisor. If CONNECT is true, makes a first connection. Also
 * makes those volumes of the spec that do not exist. Fails with ERR_EXISTS if the name is taken. */
MUST_USE int launch_create(const struct home *h, const struct spec *s, bool connect,
			   struct launch *ret, struct err *e);
/* Starts the supervisor of a stopped sandbox. Fails with ERR_BUSY if the sandbox is up. */
MUST_USE int launch_start(const struct home *h, const char *name, struct launch *ret,
			  struct err *e);
/* Waits until the sandbox accepts commands. If the sandbox fails to start, E says why. Adds the
 * sandbox's warnings to WARNINGS, one per line. */
MUST_USE int launch_wait(struct launch *l, struct buf *warnings, struct err *e);
/* Call this for a new sandbox after launch_wait(). Makes the file changes that S asks for, before
 * the first command runs. If a change fails, the sandbox is removed. */
MUST_USE int launch_settle(struct launch *l, const struct spec *s, struct err *e);
/* Ends an ephemeral sandbox. Waits until the supervisor has deleted the sandbox's files, but only
 * for a limited time. */
void launch_end(struct launch *l);
/* Lets an ephemeral sandbox live on after this process has ended. */
void launch_release(struct launch *l);
void launch_done(struct launch *l);
