/*
 * Retires and erases sandboxes by name. Also sweeps the files that commands and supervisors left
 * when they were killed. The steps are in state/removal.h. The program cordon-supervisor does the
 * work that needs the engine: it erases files that belong to other ids of a user's range, and
 * releases what a killed supervisor still claims outside of the home, such as control groups.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct home;

/* Retires and erases a stopped sandbox. If FORCE is true, stops the sandbox first. */
MUST_USE int sandbox_remove(const struct home *h, const char *name, bool force, struct err *e);
/* Stops, retires and erases the sandbox whose record is the directory DIR. Succeeds also if NAME
 * belongs to another sandbox by now, and leaves that sandbox alone. */
MUST_USE int sandbox_remove_this(const struct home *h, const char *name, int dir, struct err *e);
/* Call this for an ephemeral sandbox that is about to end. Retires the sandbox at once, so that no
 * list shows it any more. Without this call, the supervisor would retire the sandbox a little
 * later. The supervisor erases the sandbox's files in both cases. */
void sandbox_retire(const struct home *h, const char *name);

/* Erases the record NAME if a `create` that was killed left it, or if the sandbox is ephemeral
 * and its supervisor was killed. Returns true if this call has erased the record. */
bool leftover_sweep(const struct home *h, const char *name);
/* Erases everything that commands left when they were killed. */
void leftovers_sweep(const struct home *h);
/* With the help of newuidmap, erases retired records whose files belong to other ids of the user's
 * range. */
MUST_USE int leftovers_sweep_range(const struct home *h, struct err *e);

/* Erases the home itself with everything in it. No sandbox may be left. */
MUST_USE int home_erase(const struct home *h, struct err *e);
