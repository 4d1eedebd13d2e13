/* Starting sandboxes with something to look at: what `create`, `run`, `start` and all that start a
 * stopped one share. */
#pragma once

#include "client/launch.h"
#include "client/sandbox.h"

/* Waits until it answers commands, behind a spinner: "Creating NAME". SPEC is that of a new one,
 * whose first changes are waited for and whose warnings are shown; NULL for one that was up before. */
MUST_USE int start_wait(struct launch *l, const char *verb, const struct spec *s, struct err *e);
/* A stopped one. */
MUST_USE int start_one(const struct home *h, const char *name, struct err *e);
