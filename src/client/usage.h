/*
 * What the processes of a sandbox use at this moment, from /proc. It fills in what the control groups do not tell the
 * supervisor, which may not look at other processes itself. A process's figures pass to its parent when it is reaped, and
 * every orphan's parent is pid 1, so the sum over the living processes is complete.
 */
#pragma once

#include <sys/types.h>

#include "wire/message.h"

#define USAGE_PROCESSES_MAX 8192u /* with more processes, what only /proc tells stays unknown */

/* Fills in what is unknown in U. PID_1 is the number of the sandbox's pid 1 in our own pid namespace. */
void usage_complete(struct usage_message *u, pid_t pid_1);
