/*
 * The inodes that a walk has seen, numbered in the order in which it saw them. This table tells a
 * walk that two names belong to one file. The table has at most FILE_SHARED_MAX entries of 24
 * bytes, and at least half of its slots are free.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct inodes {
	struct inode_slot *slot;
	uint32_t n, room; /* `room` counts all slots: a power of two, at least twice `n` */
};

void inodes_done(struct inodes *s);
bool inodes_find(const struct inodes *s, dev_t dev, ino_t ino, uint32_t *ret_number);
/* Adds an inode that is not in the table. The inode gets the old value of s->n as its number. */
void inodes_add(struct inodes *s, dev_t dev, ino_t ino);
