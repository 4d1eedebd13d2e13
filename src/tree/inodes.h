/*
 * Inodes that were met, each with a number in the order of their coming: how a walk knows that two
 * names are one file. At most FILE_SHARED_MAX of them, 24 bytes each with as much again to spare.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct inodes {
	struct inode_slot *slot;
	uint32_t n, room; /* slots: a power of two, at least twice as many as are used */
};

void inodes_done(struct inodes *s);
bool inodes_find(const struct inodes *s, dev_t dev, ino_t ino, uint32_t *ret_number);
/* One that is not there yet; its number is the old value of s->n. */
void inodes_add(struct inodes *s, dev_t dev, ino_t ino);
