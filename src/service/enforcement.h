/*
 * How this machine enforces the limits of sessions. Each new sandbox reports this to the server;
 * the server keeps the report of the newest sandbox. It is no error if a limit of a BoxSpec cannot
 * be enforced, but the log, the action `box_status` and /readyz show it.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

#define ENFORCEMENT_BYTES 24 /* room for words such as "cgroup" and "project quota" */

struct enforcement_words {
	bool known; /* true once a sandbox has reported */
	char memory[ENFORCEMENT_BYTES], cpus[ENFORCEMENT_BYTES], pids[ENFORCEMENT_BYTES],
		layer[ENFORCEMENT_BYTES];
};

/* Reads the four lines that wire/leash.h describes. Does nothing if LINES is empty. At the first
 * report, logs if memory or CPU time is not limited by a control group. */
void enforcement_take(struct enforcement_words *e, const char *lines);
/* Returns true if control groups enforce memory, CPU time and the number of processes. */
bool enforcement_by_groups(const struct enforcement_words *e);
/* Returns true if the file system limits how much a session can write to its own layer. */
bool enforcement_of_layer(const struct enforcement_words *e);
/* Writes an array with the names of the fields of a BoxSpec that are not enforced. */
void enforcement_write_missing(const struct enforcement_words *e, struct json_writer *w);
