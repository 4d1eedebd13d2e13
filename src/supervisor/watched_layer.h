/*
 * Keeps the writable layer within its size if nothing else limits the layer. While a process runs
 * in the sandbox, this code calls statfs again and again and does what watch.h decides: it asks the
 * surveyor (surveyor.h) to count the files, or makes pid 1 end the commands. While no process runs,
 * this code goes on only if commands were ended because the file system was nearly full. Pid 1
 * reports when processes run again, and when the last process has ended.
 */
#pragma once

#include "supervisor/supervisor.h"

#define LAYER_WATCHED "watched" /* the record says with this word that the layer is watched */

/* Remembers that the layer in the directory LAYER must be watched. The caller still owns LAYER.
 * FRESH says that the layer is empty. */
MUST_USE int watched_layer_new(struct supervisor *s, int layer, bool fresh, struct err *e);
/* Starts the surveyor, before we confine ourselves. The watching begins when pid 1 reports that
 * processes run. If no layer is watched, this function and those below do nothing. */
MUST_USE int watched_layer_start(struct supervisor *s, struct err *e);
/* These two functions handle frames of pid 1: PRESENCE and COUNTED. */
void watched_layer_presence(struct supervisor *s, bool busy);
void watched_layer_counted(struct supervisor *s, struct str body);
void watched_layer_stop(struct supervisor *s);
