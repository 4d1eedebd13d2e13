/*
 * The record of one sandbox on disk: a directory below sandboxes/ in the home.
 *
 * The file config.json holds the requested configuration (state/record_config.h). state.json holds
 * the state that the supervisor last wrote (state/state.h). The lock on the file `lock` tells
 * whether the sandbox is live (state/record_lock.h). So the record tells the truth even if a
 * process was killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"
#include "state/state.h"

struct record {
	struct spec spec;   /* the next start uses this spec */
	struct spec active; /* the spec of the live sandbox, if it differs from `spec` */
	bool has_active;
	uint64_t created_ns, updated_ns;
	struct state state;
	enum status status; /* from state.json and the lock together */
	int dir;            /* directory descriptor */
};

void record_done(struct record *r);
#define AUTO_RECORD __attribute__((cleanup(record_done))) struct record
#define RECORD_NONE       \
	{                 \
		.dir = -1 \
	}

/* Opens the directory of the record. Fails with ERR_NOT_FOUND "sandbox not found: NAME". */
MUST_USE int record_open(const struct home *h, const char *name, int *ret_dir, struct err *e);
/* Loads the record and looks at its lock. Fails with ERR_NOT_FOUND also if a killed `create` left
 * the record, because that command never reported success. Fails with ERR_UNSUPPORTED if a newer
 * cordon made the record. */
MUST_USE int record_load(const struct home *h, const char *name, struct record *ret, struct err *e);
/* Makes the record under a temporary name, locks it and then renames it, which claims the name. The
 * caller owns *RET_DIR and *RET_LOCK. Fails with ERR_EXISTS if the name is taken. */
MUST_USE int record_create(const struct home *h, const struct spec *s, int *ret_dir, int *ret_lock,
			   struct err *e);
#define RECORD_FOLDER "sandboxes/"

/* Returns the spec that the sandbox runs with, or will run with when it starts. */
const struct spec *record_in_force(const struct record *r);
/* Returns the spec's published port with the index I. If the live sandbox has chosen a free host
 * port, the result has that host port. The strings belong to the record. */
struct spec_port record_port(const struct record *r, size_t i);
