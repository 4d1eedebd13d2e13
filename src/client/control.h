/* Requests to a live sandbox's supervisor and pings to its pid 1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/message.h"

struct home;
struct record;
struct spec;

#define CONTROL_GRACE_DEFAULT UINT32_MAX

/* The record's lock, for a command that needs the sandbox down, or STARTS it. ERR_BUSY at once when it
 * is up or comes up; one that is on its way out, or another short command, is waited for. */
MUST_USE int control_lock(const struct home *h, const char *name, bool starts, int *ret_dir,
			  int *ret_lock, struct err *e);
/* Asks for a stop and waits until it is down. GRACE_MS 0 kills at once. Not running: success. */
MUST_USE int control_stop(const struct home *h, const char *name, uint32_t grace_ms, struct err *e);
/* The same for whoever started it for one command: while others run there, it goes on until the last of
 * them ends. */
MUST_USE int control_quit(const struct home *h, const char *name, struct err *e);
/* Round trip to pid 1 in nanoseconds; TOUCH counts as activity. */
MUST_USE int control_ping(const struct home *h, const char *name, bool touch, uint64_t *ret_ns,
			  struct err *e);
/* What a live sandbox uses, by its supervisor. ERR_NOT_RUNNING when there is none, ERR_TIMEOUT when it
 * does not answer: it is stuck, or from a build that knows no such question. */
MUST_USE int control_usage(const struct home *h, const char *name, struct usage_message *ret,
			   struct err *e);
/* Claims the name of a new sandbox, as record_create() does; what a killed create left there goes. */
MUST_USE int control_claim(const struct home *h, const struct spec *s, int *ret_dir, int *ret_lock,
			   struct err *e);
/* Deletes NAME if it is what a killed create left, or the killed supervisor of an ephemeral sandbox; true when it
 * is gone by that. */
bool control_sweep_one(const struct home *h, const char *name);
/* Takes an ephemeral sandbox that is about to end out of all lists. Its supervisor does the same, a little later,
 * and deletes it. */
void control_retire(const struct home *h, const char *name);
/* Deletes a stopped sandbox. FORCE stops it first. */
MUST_USE int control_remove(const struct home *h, const char *name, bool force, struct err *e);
/* Removes what dead commands left. */
void control_sweep(const struct home *h);
/* Deletes what belongs to a sub-range of ids and was taken out of sight. */
MUST_USE int control_sweep_range(const struct home *h, struct err *e);
/* Replaces the configuration of R, which was loaded before, by NEXT, and says what runs meanwhile: ACTIVE,
 * or NULL when that is the same. LIVE (enum update_what) is what of it a running sandbox takes over now.
 * All or nothing. ERR_BUSY when it changed meanwhile. */
MUST_USE int control_update(const struct home *h, const struct record *r, const struct spec *next,
			    const struct spec *active, unsigned live, struct err *e);
/* Deletes the home itself and all that is in it. No sandbox may be left. */
MUST_USE int control_erase_home(const struct home *h, struct err *e);
