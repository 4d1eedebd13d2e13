/*
 * A task that counts what the writable layer takes, when it is told to. A supervisor that has confined
 * itself makes no processes, so this one is born before and sleeps on a socket.
 *
 * It shares our memory, so an idle sandbox pays for a kernel stack and not for page tables; whoever
 * took over one of the two has both, and so it keeps less than we do: in the sandbox's user namespace the
 * right to read directories of the sandbox's ids, by Landlock the directories of the layer, by its filter
 * the calls of tools/surveyor.table. It ends with us.
 */
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include "base/err.h"
#include "supervisor/survey.h"

struct surveyor {
	pid_t pid; /* 0: there is none */
	int pidfd;
	int socket; /* readable when it has an answer, or has ended */
	struct surveyor_memory *memory;
};

#define SURVEYOR_NONE ((struct surveyor){ .pidfd = -1, .socket = -1 })

/* LAYER is a directory with upper/ and work/; the sandbox's pid 1 is behind PIDFD. More than MOST_FILES
 * are too many. */
MUST_USE int surveyor_start(struct surveyor *s, int layer, int pidfd, uint64_t most_files,
			    struct err *e);
/* Has it count; once at a time. False when it is gone. */
bool surveyor_order(const struct surveyor *s);
/* After the socket became readable: 1 and *RET, 0 when there is nothing yet, -1 when it is gone. */
int surveyor_answer(const struct surveyor *s, struct survey *ret);
void surveyor_end(struct surveyor *s);

/* Compiled from tools/surveyor.table. */
extern const struct sock_filter surveyor_filter[];
extern const unsigned short surveyor_filter_len;
