/*
 * Sandboxes for front ends: their records, and the state in which each sandbox really is. Front
 * ends do not call the functions of state/ directly; they use this header.
 */
#pragma once

#include "state/execlog.h"
#include "state/home.h"
#include "state/places.h"
#include "state/record.h"

/* A record that could not be loaded. Its sandbox may run, and may use any volume. */
struct sandbox_unread {
	char *name;
	struct err why; /* ERR_UNSUPPORTED if a newer cordon wrote the record */
};

/* All records, the newest first. */
struct sandbox_list {
	struct record *item;
	size_t n;
	struct sandbox_unread *unread;
	size_t n_unread;
};
/* Does not fail if a record cannot be loaded, so that one damaged record does not hide all other
 * sandboxes. The caller tells the user about RET->unread. */
MUST_USE int sandbox_list_load(const struct home *h, struct sandbox_list *ret, struct err *e);
void sandbox_list_done(struct sandbox_list *l);
#define AUTO_SANDBOX_LIST __attribute__((cleanup(sandbox_list_done))) struct sandbox_list

/* Returns true if a newer cordon wrote one of the records. We do not know which image its sandbox
 * uses. */
bool sandbox_list_has_newer(const struct sandbox_list *l);

/* Returns true for a live sandbox, whose pid 1 answers requests. */
static inline bool sandbox_is_up(const struct record *r)
{
	return r->status == STATUS_RUNNING || r->status == STATUS_DRAINING;
}
