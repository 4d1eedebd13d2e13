/*
 * The roll is the list of all Workspaces that a server has seen. The Workspaces are numbered in the order of their
 * first requests, and a number never changes. struct fence and struct admission have arrays that are indexed by
 * these numbers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/tenant.h"

#define ROLL_UNKNOWN SIZE_MAX

struct roll {
	size_t n; /* the number of Workspaces */
	size_t cap;
	struct roll_slot *slot;
};

void roll_done(struct roll *r);
/* Returns the number of this Workspace, or ROLL_UNKNOWN. */
size_t roll_find(const struct roll *r, const unsigned char key[TENANT_KEY_BYTES]);
/* Adds a Workspace that is not in the roll. Returns its number, which is the old value of r->n. */
size_t roll_add(struct roll *r, const unsigned char key[TENANT_KEY_BYTES]);
/* ITEMS is an array that is indexed by the numbers of a roll. Makes the array larger, if necessary, so that it has
 * an item AT. New items are zeroed. */
void *roll_room(void *items, size_t *cap, size_t at, size_t item_bytes);
