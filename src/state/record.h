/*
 * The on-disk record of one sandbox: a directory below sandboxes/ in the home.
 *
 * config.json says what the sandbox was asked to be (record_config.h), state.json what became of it
 * (state.h), and `lock` whether it is live (record_lock.h). So the truth survives SIGKILL of any process.
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
	struct spec active; /* what a live one has, if that is not the same */
	bool has_active;
	uint64_t created_ns, updated_ns;
	struct state state;
	enum status status; /* reconciled with the lock */
	int dir;            /* directory descriptor */
};

void record_done(struct record *r);
#define AUTO_RECORD __attribute__((cleanup(record_done))) struct record
#define RECORD_NONE       \
	{                 \
		.dir = -1 \
	}

/* The directory of the record. ERR_NOT_FOUND "sandbox not found: NAME". */
MUST_USE int record_open(const struct home *h, const char *name, int *ret_dir, struct err *e);
/* Loads and reconciles. ERR_NOT_FOUND as above, also for what a killed create left: nobody was told that it
 * exists. ERR_UNSUPPORTED for the record of a newer cordon. */
MUST_USE int record_load(const struct home *h, const char *name, struct record *ret, struct err *e);
/* Claims the name: builds the record under a temporary name, locks it, then renames. The returned
 * lock and directory are the caller's; ERR_EXISTS when the name is taken. */
MUST_USE int record_create(const struct home *h, const struct spec *s, int *ret_dir, int *ret_lock,
			   struct err *e);
/* A path below the home that no record has: "sandboxes/.WHAT-…". A sweep finds it. */
#define RECORD_PATH_BYTES 48
#define RECORD_FOLDER "sandboxes/"
void record_temporary_path(char out[RECORD_PATH_BYTES], const char *what);

/* What the sandbox runs with, or will when it starts. */
const struct spec *record_in_force(const struct record *r);
/* Port I of the spec as it is now: where a live sandbox chose a free one, that one. The strings are
 * the record's. */
struct spec_port record_port(const struct record *r, size_t i);
