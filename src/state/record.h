/*
 * The record of one sandbox on disk: a directory below sandboxes/ in the home.
 *
 * config.json says what the sandbox was asked to be (record_config.h), state.json what became of it (state.h), and
 * `lock` whether it is live (record_lock.h). So the truth survives SIGKILL of any process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"
#include "state/state.h"

struct record {
	struct spec spec;   /* what the next start takes */
	struct spec active; /* what the live sandbox runs with, if that differs */
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

/* Opens the directory of the record. ERR_NOT_FOUND "sandbox not found: NAME". */
MUST_USE int record_open(const struct home *h, const char *name, int *ret_dir, struct err *e);
/* Loads the record and compares it with its lock. ERR_NOT_FOUND as above, also for the leftover of a killed create,
 * because no user was told that it exists. ERR_UNSUPPORTED: a newer cordon made the record. */
MUST_USE int record_load(const struct home *h, const char *name, struct record *ret, struct err *e);
/* Claims the name: makes the record under a temporary name, locks it, then renames it. The caller owns the lock and
 * the directory that this returns. ERR_EXISTS: the name is taken. */
MUST_USE int record_create(const struct home *h, const struct spec *s, int *ret_dir, int *ret_lock,
			   struct err *e);
#define RECORD_FOLDER "sandboxes/"

/* What the sandbox runs with, or will run with when it starts. */
const struct spec *record_in_force(const struct record *r);
/* Port I of the spec as it is now. If a live sandbox chose a free host port, it is that one. The strings belong to
 * the record. */
struct spec_port record_port(const struct record *r, size_t i);
