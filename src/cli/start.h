/* Starts sandboxes and shows progress. `create`, `run`, `start` and all commands that start a
 * stopped sandbox share it. */
#pragma once

#include "client/launch.h"
#include "client/sandbox.h"

/* Waits until the sandbox takes commands, behind a spinner: "Creating NAME". For a new sandbox,
 * SPEC is its spec: then this also waits for its first changes and shows its warnings. NULL for a
 * sandbox that was up before. */
MUST_USE int start_wait(struct launch *l, const char *verb, const struct spec *s, struct err *e);
/* Starts a stopped sandbox. */
MUST_USE int start_one(const struct home *h, const char *name, struct err *e);
