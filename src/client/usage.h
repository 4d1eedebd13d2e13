/*
 * What the processes of a sandbox use at this moment, from /proc. These figures complete those that the supervisor has
 * from control groups. The supervisor itself may not look at other processes. When a process is reaped, its figures
 * pass to its parent, and the parent of every orphan is pid 1. So the sum over the living processes is complete.
 */
#pragma once

#include <sys/types.h>

#include "wire/message.h"

#define USAGE_PROCESSES_MAX 8192u /* with more, the figures from /proc are unknown */

/* Fills in what is unknown in U. PID_1 is the number of the sandbox's pid 1 in our own pid namespace. */
void usage_complete(struct usage_message *u, pid_t pid_1);
