/*
 * Reads from /proc what the processes of a sandbox use at this moment. The supervisor reports only
 * figures from control groups, because it may not look at other processes. The code in this file
 * adds the missing figures. When a process is reaped, the kernel adds its CPU time and its disk
 * transfers to those of its parent. The parent of every orphan is pid 1. So for these figures, the
 * sum over all living processes includes the processes that have ended.
 */
#pragma once

#include <sys/types.h>

#include "wire/message.h"

/* if there are more processes, the figures from /proc are unknown */
#define USAGE_PROCESSES_MAX 8192u

/* Fills in what is unknown in U. PID_1 is the number of the sandbox's pid 1 in our own pid
 * namespace. */
void usage_complete(struct usage_message *u, pid_t pid_1);
