/* Starts sandboxes and shows progress, for `create`, `run`, `start` and all commands that start a
 * stopped sandbox. */
#pragma once

#include "client/launch.h"
#include "client/sandbox.h"

/* Waits until the sandbox accepts commands. Meanwhile shows a spinner with VERB and the name,
 * such as "Creating NAME". S is the spec of a new sandbox, or NULL for a sandbox that existed
 * before. For a new sandbox, also waits until the file changes that the spec asks for are made,
 * and shows the sandbox's warnings. */
MUST_USE int start_wait(struct launch *l, const char *verb, const struct spec *s, struct err *e);
/* Starts a stopped sandbox. */
MUST_USE int start_one(const struct home *h, const char *name, struct err *e);
