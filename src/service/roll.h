/*
 * The roll of Workspaces that a server has seen. It gives each Workspace a number, in the order of their arrival, and
 * keeps it for ever. The fence and the admission index their arrays by that number.
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
/* Adds a Workspace that is unknown. Its number is the old N. */
size_t roll_add(struct roll *r, const unsigned char key[TENANT_KEY_BYTES]);
/* Grows ITEMS, an array that is indexed by the numbers of a roll, until it has item AT. New items are zero. */
void *roll_room(void *items, size_t *cap, size_t at, size_t item_bytes);
