/*
 * fuse-overlayfs serves a root file system if the kernel's overlay cannot. It runs in namespaces of its own, with a
 * root that holds only the layers and the libraries that it needs.
 *
 * The writer unites the layers with the writable one. The child that becomes pid 1 opens /dev/fuse, because the mount
 * belongs to the child's user namespace, and sends the descriptor to the supervisor, which gives it to the writer. So
 * the writer needs no privilege over any mount. Its namespace is mapped like the sandbox's outer namespace: ids need no
 * translation, and the writer can give files only to ids of the sandbox.
 *
 * If root's range of ids must be mapped and the file system of the layers cannot map ids, a second fuse-overlayfs runs,
 * the reader. It shows the layers to the writer, through a mount of ours, with the ids of the range. It sees the layers
 * read-only and has one capability, to read them.
 *
 * The payload reaches the writer only through requests of the kernel. Writer and reader end when their mount is gone. If
 * one of them ends first, its mount is useless.
 */
#pragma once

#include <linux/filter.h>

#include "process/process.h"

#define FUSE_DEVICE "/dev/fuse"

/* Opens the program, which it looks up in the directories of the system. Fails with ERR_NOT_FOUND and a
 * hint what to install. */
MUST_USE int fuse_overlay_program(int *ret_fd, struct err *e);
/* Returns true if fuse_overlay_program() would find the program. Opens nothing. */
bool fuse_overlay_is_there(void);
/* Serves the root of Q on DEVICE (/dev/fuse). The caller still owns DEVICE. RET is the writer, and RET->fuse is the
 * reader, if there is one. RET is also set on failure. */
MUST_USE int fuse_overlay_start(const struct process_request *q, int device,
				struct process_instance **ret, struct err *e);
/* Fills E with the last message of S, which has ended by itself. Always returns -1. */
int fuse_overlay_failure(struct process_instance *s, struct err *e);
/* Waits until S has written everything and ended. Kills it if that takes too long. */
void fuse_overlay_end(struct process_instance *s);

/* Compiled from tools/fuse_overlay.table. */
extern const struct sock_filter fuse_overlay_filter[];
extern const unsigned short fuse_overlay_filter_len;
