/*
 * What the processes of a sandbox use at this moment, from /proc: what its control groups do not tell
 * its supervisor, who has no business in other processes. A process's figures pass to its parent when
 * it is reaped, and every orphan's parent is pid 1, so the sum over the living is complete.
 */
#pragma once

#include <sys/types.h>

#include "wire/message.h"

#define USAGE_PROCESSES_MAX 8192u /* beyond so many, what only /proc tells is unknown */

/* Fills in what is unknown in U. PID_1 is the sandbox's, in our own pid namespace. */
void usage_complete(struct usage_message *u, pid_t pid_1);
