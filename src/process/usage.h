/*
 * What a live instance uses at this moment, since it started: from its cgroups where there are any,
 * else from /proc. A process's figures pass to its parent when it is reaped, and every orphan's
 * parent is pid 1, so the sum over the living is complete.
 */
#pragma once

#include "process/process.h"

#define PROCESS_USAGE_UNKNOWN UINT64_MAX
#define USAGE_PROCESSES_MAX 8192u /* beyond so many, what only /proc tells is unknown */

struct process_usage {
	uint64_t cpu_ns;
	uint64_t memory_bytes;
	uint64_t disk_read_bytes, disk_write_bytes;
	uint64_t pids; /* without pid 1 */
};

void process_usage(const struct process_instance *i, struct process_usage *ret);
