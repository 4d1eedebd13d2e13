/* The task of surveyor.h itself: system calls only, because it shares our memory. Private to surveyor.c. */
#pragma once

#include <linux/filter.h>

#include "supervisor/survey.h"

#define SURVEYOR_STACK_BYTES 8192

/* What it shares with us; of the rooms only what a tree needs is ever touched. */
struct surveyor_memory {
	_Alignas(16) char stack[SURVEYOR_STACK_BYTES];
	/* written before it is born */
	int socket, layer, pidfd;
	int ruleset; /* Landlock's, or -1 */
	uint64_t most_files;
	struct sock_fprog filter; /* no instructions: none is installed */
	/* its answer */
	struct survey result;
	struct survey_room room;
};

void surveyor_task(void *memory);
