/*
 * A task that counts how much the writable layer takes, each time the supervisor orders a count. A
 * confined supervisor cannot make processes, so it makes the task before it confines itself.
 * Between orders the task waits on a socket.
 *
 * The task shares our memory. So an idle task costs only a kernel stack, and no page tables. An
 * attacker who takes over the task has the supervisor's memory too, so the task keeps few rights.
 * The task is in the sandbox's user namespace, where it can read directories of the sandbox's ids.
 * Landlock allows the task only the directories of the layer. The filter of the task allows only
 * the calls of tools/surveyor.table. The task ends with the supervisor.
 */
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include "base/err.h"
#include "supervisor/survey.h"

struct surveyor {
	pid_t pid; /* 0 if no task runs */
	int pidfd;
	int socket; /* readable when the task has an answer, or has ended */
	struct surveyor_memory *memory;
};

#define SURVEYOR_NONE ((struct surveyor){ .pidfd = -1, .socket = -1 })

/* Starts the task. LAYER is a directory with upper/ and work/. PIDFD refers to the sandbox's pid 1.
 * A layer with more than MOST_FILES files counts as too large. */
MUST_USE int surveyor_start(struct surveyor *s, int layer, int pidfd, uint64_t most_files,
			    struct err *e);
/* Orders one count. The task must have answered the previous order. Returns false if the task has
 * ended. */
bool surveyor_order(const struct surveyor *s);
/* Reads from the socket. Returns 1 and fills *RET if there is an answer, 0 if there is none yet, or
 * -1 if the task has ended. */
int surveyor_answer(const struct surveyor *s, struct survey *ret);
void surveyor_end(struct surveyor *s);

/* Compiled from tools/surveyor.table. */
extern const struct sock_filter surveyor_filter[];
extern const unsigned short surveyor_filter_len;
