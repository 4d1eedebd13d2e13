/*
 * The context of an action: for which Workspace, of which instance, in which generation a peer speaks.
 * Actions about the whole server need none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "service/fault.h"
#include "service/tenant.h"

struct context {
	bool given;
	char *instance, *workspace; /* owned */
	uint64_t generation;
};

/* V is NULL or null when there is no context. 0, or -1 with a FAULT_MODEL. */
MUST_USE int context_decode(const struct json_value *v, struct context *ret, struct fault *f);
void context_done(struct context *c);
/* The failure of a tenant's action without a context; returns -1. */
int context_missing(struct fault *f);
/* May this action be done? TRUSTED is the instance that the server belongs to. 0, or -1 with a
 * FAULT_PERMISSION. For an action of a tenant *RET is that tenant. */
MUST_USE int context_check(const struct context *c, bool of_tenant, struct str trusted,
			   struct tenant *ret, struct fault *f);
