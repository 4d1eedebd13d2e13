/*
 * How the limits of sessions are enforced on this machine, as the last sandbox that was made has said. A limit of a BoxSpec
 * that cannot be enforced is no error, so it is shown: in the log, by box_status and by /readyz.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

#define ENFORCEMENT_BYTES 24 /* of one word, as the record of a sandbox has it */

struct enforcement_words {
	bool known; /* a sandbox has been made */
	char memory[ENFORCEMENT_BYTES], cpus[ENFORCEMENT_BYTES], pids[ENFORCEMENT_BYTES],
		layer[ENFORCEMENT_BYTES];
};

/* Takes the four lines of wire/leash.h, and logs which limits do not hold if that is news. */
void enforcement_take(struct enforcement_words *e, const char *lines);
/* True if control groups hold memory, CPU time and the number of processes. */
bool enforcement_by_groups(const struct enforcement_words *e);
/* True if the size of what a session writes to its own layer is bounded by the file system. */
bool enforcement_of_layer(const struct enforcement_words *e);
/* Writes the names of fields of a BoxSpec that are not enforced, as an array. */
void enforcement_write_missing(const struct enforcement_words *e, struct json_writer *w);
