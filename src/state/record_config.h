/*
 * The files config.json and active.json of a record hold configurations of the sandbox, as the user
 * asked for them. Both files are replaced atomically.
 *
 * The next start uses config.json. If `modify` leaves changes of a live sandbox for the next
 * start, active.json holds the configuration with which this sandbox runs. Otherwise a live sandbox
 * runs with config.json. The next start removes active.json. The parameter DIR of the functions is
 * the directory of the record.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct record;
struct spec;

MUST_USE int record_read_config(int dir, struct record *ret, struct err *e);
MUST_USE int record_write_config(int dir, const struct spec *s, uint64_t created_ns, struct err *e);
/* Writes config.json of a record that no other process can see yet, so there is no file to
 * replace. */
MUST_USE int record_write_first_config(int dir, const struct spec *s, struct err *e);
/* Locks the configuration against other writers, until *RET_FD is closed. */
MUST_USE int record_lock_config(int dir, int *ret_fd, struct err *e);
/* Writes S to active.json. If S is NULL, removes active.json. */
MUST_USE int record_write_active(int dir, const struct spec *s, struct err *e);
/* Reads active.json. Also succeeds if there is no active.json. */
MUST_USE int record_read_active(int dir, struct record *ret, struct err *e);
