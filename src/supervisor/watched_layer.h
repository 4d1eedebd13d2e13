/*
 * Keeps the writable layer within its size if nothing else does. While anything runs in the sandbox, it calls statfs, lets
 * watch.h judge, orders counts from the surveyor, and makes pid 1 end the commands. It sleeps while nothing runs: pid 1
 * says when that is.
 */
#pragma once

#include "supervisor/supervisor.h"

#define LAYER_WATCHED "watched" /* how the size of such a layer is enforced */

/* Remembers that the layer in the directory LAYER must be watched. LAYER stays the caller's. FRESH: it is empty. */
MUST_USE int watched_layer_new(struct supervisor *s, int layer, bool fresh, struct err *e);
/* Starts watching, before we confine ourselves. Does nothing if no layer is watched; nor do the functions below. */
MUST_USE int watched_layer_start(struct supervisor *s, struct err *e);
/* Take the frames PRESENCE and COUNTED of pid 1. */
void watched_layer_presence(struct supervisor *s, bool busy);
void watched_layer_counted(struct supervisor *s, struct str body);
void watched_layer_stop(struct supervisor *s);
