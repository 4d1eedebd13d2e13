/* Starts sandboxes and shows progress, for `create`, `run`, `start` and all commands that start a
 * stopped sandbox. */
#pragma once

#include "client/launch.h"
#include "client/sandbox.h"

/* Shows a spinner, "Creating NAME", and waits until the sandbox accepts commands. S is the spec of
 * a new sandbox, or NULL for a sandbox that existed before. For a new sandbox start_wait() also
 * waits for its first changes and shows its warnings. */
MUST_USE int start_wait(struct launch *l, const char *verb, const struct spec *s, struct err *e);
/* Starts a stopped sandbox. */
MUST_USE int start_one(const struct home *h, const char *name, struct err *e);
