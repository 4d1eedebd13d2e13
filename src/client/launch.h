/*
 * Bringing a sandbox up: the sockets, the supervisor, the wait for its answer.
 *
 * Sockets are made here, before the supervisor starts, so a client can connect and send its first
 * command at once; pid 1 finds it waiting.
 */
#pragma once

#include "base/buf.h"
#include "base/spawn.h"
#include "spec/spec.h"
#include "state/home.h"

struct launch {
	int leash;          /* closing it ends an ephemeral sandbox */
	struct child child; /* the supervisor */
	bool answered;
};
#define LAUNCH_NONE { .leash = -1, .child = { -1, -1 } }

/* A new record and its supervisor. ERR_EXISTS when the name is taken. */
MUST_USE int launch_create(const struct home *h, const struct spec *s, struct launch *ret,
			   struct err *e);
/* The supervisor of an existing, stopped record. ERR_BUSY when it is up. */
MUST_USE int launch_start(const struct home *h, const char *name, struct launch *ret, struct err *e);
/* Waits until the sandbox answers commands, or says why it never will. WARNINGS gets lines. */
MUST_USE int launch_wait(struct launch *l, struct buf *warnings, struct err *e);
/* Lets an ephemeral sandbox live on after us. */
void launch_release(struct launch *l);
void launch_done(struct launch *l);
