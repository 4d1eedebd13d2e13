/*
 * The context of an action says for which instance, Workspace and generation a peer requests the
 * action. An action that concerns the whole server needs no context.
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

/* Reads a context. V is NULL or JSON null if the request has no context. Returns 0, or -1 with a
 * FAULT_MODEL in F. */
MUST_USE int context_decode(const struct json_value *v, struct context *ret, struct fault *f);
void context_done(struct context *c);
/* Sets the fault for an action that needs a tenant but has no context. Returns -1. */
int context_missing(struct fault *f);
/* Checks that the context allows the action. If OF_TENANT is true, the action belongs to a tenant,
 * and *RET becomes that tenant. TRUSTED is the instance to which the server belongs. Returns 0, or
 * -1 with a FAULT_PERMISSION in F. */
MUST_USE int context_check(const struct context *c, bool of_tenant, struct str trusted,
			   struct tenant *ret, struct fault *f);
