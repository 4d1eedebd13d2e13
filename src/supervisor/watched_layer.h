/*
 * Keeps the writable layer within its size where nothing else does: calls statfs while anything runs in
 * the sandbox, lets watch.h judge, has the surveyor count, and has pid 1 end the commands. It sleeps
 * while nothing runs: pid 1 tells.
 */
#pragma once

#include "supervisor/supervisor.h"

#define LAYER_WATCHED "watched" /* how the size of such a layer holds */

/* The layer in directory LAYER, which stays the caller's, is one to be watched. FRESH: it is empty. */
MUST_USE int watched_layer_new(struct supervisor *s, int layer, bool fresh, struct err *e);
/* Before we confine ourselves; nothing where no layer is watched, as in all that follow. */
MUST_USE int watched_layer_start(struct supervisor *s, struct err *e);
/* PRESENCE and COUNTED of pid 1. */
void watched_layer_presence(struct supervisor *s, bool busy);
void watched_layer_counted(struct supervisor *s, struct str body);
void watched_layer_stop(struct supervisor *s);
