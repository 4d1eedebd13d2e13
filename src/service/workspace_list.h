/*
 * The list of all Workspaces that a server has seen. The Workspaces are numbered in the order of
 * their first requests, and a number never changes. struct fence and struct admission have arrays
 * that are indexed by these numbers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/tenant.h"

#define WORKSPACE_UNKNOWN SIZE_MAX

struct workspace_list {
	size_t n; /* how many Workspaces the list has */
	size_t cap;
	struct workspace_slot *slot;
};

void workspace_list_done(struct workspace_list *w);
/* Returns the number of this Workspace, or WORKSPACE_UNKNOWN. */
size_t workspace_list_find(const struct workspace_list *w,
			   const unsigned char key[TENANT_KEY_BYTES]);
/* Adds a Workspace that is not in the list. Returns its number, which is the old value of w->n. */
size_t workspace_list_add(struct workspace_list *w, const unsigned char key[TENANT_KEY_BYTES]);
/* ITEMS is an array that is indexed by the numbers of Workspaces. Makes the array larger, if
 * necessary, so that it has an item AT. New items are zeroed. Returns the array, which may have
 * moved, and sets *CAP to its number of items. */
void *workspace_list_grow_items(void *items, size_t *cap, size_t at, size_t item_bytes);
