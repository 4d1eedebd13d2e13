/*
 * If the kernel's overlay cannot provide a root file system, fuse-overlayfs serves it.
 * fuse-overlayfs runs in its own namespaces. Its own root holds only the layers and the libraries
 * that it needs.
 *
 * The fuse-overlayfs that unites the layers with the writable layer is called the writer. The mount
 * that the writer serves belongs to the user namespace of the child that becomes pid 1, so this
 * child opens /dev/fuse. The child sends the descriptor to the supervisor, and the supervisor gives
 * it to the writer. So the writer needs no privilege over any mount. The writer's user namespace
 * has the same id map as the sandbox's outer namespace: ids need no translation, and the writer can
 * give files only to ids of the sandbox.
 *
 * If the sandbox has a range of ids and the file system of the layers cannot map ids, a second
 * fuse-overlayfs runs, the reader. The reader shows the layers to the writer with the ids of the
 * range, through a mount that the supervisor makes. The reader cannot write to the layers. It has
 * one capability, which lets it read all files of the layers.
 *
 * The payload reaches the writer only through requests of the kernel. Writer and reader end when
 * their mount is gone. If one of them ends first, its mount is useless.
 */
#pragma once

#include <linux/filter.h>

#include "process/process.h"

#define FUSE_DEVICE "/dev/fuse"

/* Looks for the program fuse-overlayfs in the directories of the system, and opens it. Fails with
 * ERR_NOT_FOUND and a hint that says what to install. */
MUST_USE int fuse_overlay_program(int *ret_fd, struct err *e);
/* Returns true if fuse_overlay_program() would find the program. Opens nothing. */
bool fuse_overlay_is_there(void);
/* Starts fuse-overlayfs, which serves the root of *Q through the descriptor DEVICE (/dev/fuse). The
 * caller still owns DEVICE. *RET is the writer, and (*RET)->fuse is the reader or NULL. After a
 * failure *RET is NULL, or an instance that the caller must still end. */
MUST_USE int fuse_overlay_start(const struct process_request *q, int device,
				struct process_instance **ret, struct err *e);
/* Call this if the fuse-overlayfs S ended by itself. Fills *E with its last message. Always returns
 * -1. */
int fuse_overlay_failure(struct process_instance *s, struct err *e);
/* Waits until the fuse-overlayfs S has written all data and has ended. Kills S if that takes too
 * long. */
void fuse_overlay_end(struct process_instance *s);

/* Compiled from tools/fuse_overlay.table. */
extern const struct sock_filter fuse_overlay_filter[];
extern const unsigned short fuse_overlay_filter_len;
