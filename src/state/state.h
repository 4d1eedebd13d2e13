/*
 * state.json: what became of a sandbox. Its supervisor writes the file and replaces it atomically.
 *
 * The file says what was true when it was written. The lock of the record (record_lock.h) says whether the
 * supervisor still lives; record_load() puts both together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define STATE_PORTS_MAX 256u /* as many as a gateway publishes */

enum status {
	STATUS_CREATED,
	STATUS_STARTING,
	STATUS_RUNNING,
	STATUS_DRAINING,
	STATUS_PAUSED,
	STATUS_STOPPED,
	STATUS_CRASHED,
	STATUS_COUNT
};
const char *status_name(enum status s);  /* "Running", as JSON has it */
const char *status_lower(enum status s); /* "running", as tables have it */

/* How each limit holds: "cgroup v1", "cgroup v2", "rlimit, per process", "user namespace", "affinity", "project quota", "loop image",
 * "tmpfs", "watched", "not enforced", "none". */
struct enforcement {
	char memory[24], cpus[24], pids[24], root_disk[24], volumes[24], ids[24];
};

#define ROOT_OVERLAY "overlay"
#define ROOT_SERVED "fuse-overlayfs"
#define ROOT_DIRECTORY "directory" /* used in place */
#define ROOT_DISK "disk"           /* a flat one, likewise */

struct state {
	enum status status; /* as last written; record_load() finds the truth */
	bool booted_once;   /* false: a first start that never finished */
	uint64_t boots;
	pid_t supervisor;
	uint64_t started_ns, updated_ns;
	uint32_t wire;    /* protocol version of its pid 1 */
	int64_t uid_base; /* own range, or -1 */
	struct enforcement enforced;
	char root[24]; /* what unites its layers: ROOT_…; "" before the first start */
	char stop_reason[64];
	uint16_t host_port
		[STATE_PORTS_MAX]; /* where the ports of the spec really are, in its order */
	size_t n_ports;
};

/* 0 or -errno. *RET is always set. -ENOENT: the sandbox never ran. -EINVAL: the file is damaged; *RET says then
 * that the sandbox ran once, so that nobody takes its record for that of a killed create. -ENOTSUP: a newer
 * cordon wrote the file; *RET says the same then. */
MUST_USE int state_read(int dir, struct state *ret);
MUST_USE int state_write(int dir, const struct state *s, struct err *e);
