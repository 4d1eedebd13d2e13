/*
 * The roll of Workspaces that a server knows: gives each a number, in the order of their arrival, and
 * never takes one back. Owners keep what they know of a Workspace in an array by that number.
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
/* The number of this Workspace, or ROLL_UNKNOWN. */
size_t roll_find(const struct roll *r, const unsigned char key[TENANT_KEY_BYTES]);
/* Adds one that is unknown: its number is the old N. */
size_t roll_add(struct roll *r, const unsigned char key[TENANT_KEY_BYTES]);
/* Makes room in an array of items that are numbered by a roll: for item AT, with zeros. */
void *roll_room(void *items, size_t *cap, size_t at, size_t item_bytes);
