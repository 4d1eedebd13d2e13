/*
 * Sandboxes for front ends: their records, and the state in which each sandbox really is. Front
 * ends do not call the functions of state/ directly; they use this header.
 */
#pragma once

#include "state/execlog.h"
#include "state/home.h"
#include "state/places.h"
#include "state/record.h"

/* All records that can be loaded, the newest first. Broken records are left out. */
struct sandbox_list {
	struct record *item;
	size_t n;
};
MUST_USE int sandbox_list_load(const struct home *h, struct sandbox_list *ret, struct err *e);
void sandbox_list_done(struct sandbox_list *l);
#define AUTO_SANDBOX_LIST __attribute__((cleanup(sandbox_list_done))) struct sandbox_list

/* Returns true for a live sandbox, whose pid 1 answers requests. */
static inline bool sandbox_is_up(const struct record *r)
{
	return r->status == STATUS_RUNNING || r->status == STATUS_DRAINING;
}
