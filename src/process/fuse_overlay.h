/*
 * Who serves a root file system where the kernel's overlay does not: fuse-overlayfs, in namespaces of
 * its own and with a root that holds the layers and little else.
 *
 * The writer unites the layers with the writable one. The child that becomes pid 1 opens /dev/fuse,
 * since the mount is its own user namespace's, and sends it home; the writer gets it and needs no
 * privilege over any mount. Its namespace is mapped like the sandbox's outer one, so numbers need no
 * translation and it can give files to no id but those of the sandbox.
 *
 * The reader is needed before it where the ids of layers would have to be mapped (root's range) and
 * the file system cannot: it shows them through a mount of ours with the ids of the range. It sees
 * the layers read-only and holds one capability, to read them.
 *
 * What the payload asks of its files reaches the writer only as the kernel's requests. Both end when
 * their mount is gone, and a mount is useless when its server ends.
 */
#pragma once

#include <linux/filter.h>

#include "process/process.h"

#define FUSE_DEVICE "/dev/fuse"

/* The program, in the system's own directories. ERR_NOT_FOUND with what to install. */
MUST_USE int fuse_overlay_program(int *ret_fd, struct err *e);
/* Whether that would find one; opens nothing. */
bool fuse_overlay_is_there(void);
/* Serves the root of Q on DEVICE (/dev/fuse, stays the caller's). RET is the writer, and its fuse the
 * reader, if any; it is set on failure too. */
MUST_USE int fuse_overlay_start(const struct process_request *q, int device,
				struct process_instance **ret, struct err *e);
/* It has ended, and was not asked to: why, as far as it said. Always -1. */
int fuse_overlay_failure(struct process_instance *s, struct err *e);
/* Waits until it has written everything, and ends it if that takes too long. */
void fuse_overlay_end(struct process_instance *s);

/* Compiled from tools/fuse_overlay.table. */
extern const struct sock_filter fuse_overlay_filter[];
extern const unsigned short fuse_overlay_filter_len;
