/*
 * A task that counts, on order, how much the writable layer takes. A confined supervisor cannot make processes, so this one
 * is made before and sleeps on a socket.
 *
 * It shares our memory, so an idle sandbox pays for a kernel stack but not for page tables. An attacker who takes over one
 * of the two has both; so the task keeps less than we do: in the sandbox's user namespace the right to read directories of
 * the sandbox's ids; by Landlock the directories of the layer; by its filter the calls of tools/surveyor.table. It ends with
 * us.
 */
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include "base/err.h"
#include "supervisor/survey.h"

struct surveyor {
	pid_t pid; /* 0: there is none */
	int pidfd;
	int socket; /* readable when the task has an answer, or has ended */
	struct surveyor_memory *memory;
};

#define SURVEYOR_NONE ((struct surveyor){ .pidfd = -1, .socket = -1 })

/* LAYER is a directory with upper/ and work/. PIDFD is that of the sandbox's pid 1. More than MOST_FILES are too
 * many. */
MUST_USE int surveyor_start(struct surveyor *s, int layer, int pidfd, uint64_t most_files,
			    struct err *e);
/* Orders one count. The last one must be answered. False if the task has ended. */
bool surveyor_order(const struct surveyor *s);
/* The socket is readable: returns 1 and *RET, 0 if there is no answer yet, -1 if the task has ended. */
int surveyor_answer(const struct surveyor *s, struct survey *ret);
void surveyor_end(struct surveyor *s);

/* Compiled from tools/surveyor.table. */
extern const struct sock_filter surveyor_filter[];
extern const unsigned short surveyor_filter_len;
