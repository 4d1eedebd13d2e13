/*
 * Sandboxes as front ends see them: their records, found and reconciled with the truth. Front ends
 * reach state/ only through here.
 */
#pragma once

#include "state/execlog.h"
#include "state/home.h"
#include "state/places.h"
#include "state/record.h"

/* All records that load, newest first; broken ones are skipped. */
struct sandbox_list {
	struct record *item;
	size_t n;
};
MUST_USE int sandbox_list_load(const struct home *h, struct sandbox_list *ret, struct err *e);
void sandbox_list_done(struct sandbox_list *l);
#define AUTO_SANDBOX_LIST __attribute__((cleanup(sandbox_list_done))) struct sandbox_list

/* A live one: pid 1 can be asked. */
static inline bool sandbox_is_up(const struct record *r)
{
	return r->status == STATUS_RUNNING || r->status == STATUS_DRAINING;
}
