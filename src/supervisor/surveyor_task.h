/* The task of surveyor.h. The task calls no function of the C library, because it shares our
 * memory. Private to surveyor.c. */
#pragma once

#include <linux/filter.h>

#include "supervisor/survey.h"

#define SURVEYOR_STACK_BYTES 8192

/* The memory that the task shares with us. The task touches as many levels of ROOM as the tree is
 * deep; the rest of ROOM takes no memory. */
struct surveyor_memory {
	_Alignas(16) char stack[SURVEYOR_STACK_BYTES];
	/* the supervisor sets these before it makes the task */
	int socket, layer, pidfd;
	int ruleset; /* the Landlock ruleset of the task, or -1 */
	uint64_t most_files;
	struct sock_fprog filter; /* if the filter is empty, the task installs none */
	/* the answer of the task */
	struct survey result;
	struct survey_room room;
};

void surveyor_task(void *memory);
