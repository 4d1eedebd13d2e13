/*
 * The roll of Workspaces that a server has seen. It numbers the Workspaces in the order of their first requests, and a
 * number never changes. The fence and the admission index their arrays by that number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/tenant.h"

#define ROLL_UNKNOWN SIZE_MAX

struct roll {
	size_t n; /* Workspaces */
	size_t cap;
	struct roll_slot *slot;
};

void roll_done(struct roll *r);
/* Returns the number of this Workspace, or ROLL_UNKNOWN. */
size_t roll_find(const struct roll *r, const unsigned char key[TENANT_KEY_BYTES]);
/* Adds a Workspace that is unknown. Returns its number, which is the old value of r->n. */
size_t roll_add(struct roll *r, const unsigned char key[TENANT_KEY_BYTES]);
/* Grows ITEMS, an array that is indexed by the numbers of a roll, until it has item AT. New items are zeroed. */
void *roll_room(void *items, size_t *cap, size_t at, size_t item_bytes);
