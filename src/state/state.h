/*
 * The file state.json holds the state of a sandbox. The sandbox's supervisor writes the file and
 * replaces it atomically.
 *
 * The file says what was true when it was written. The lock of the record (record_lock.h) says
 * whether the supervisor still lives. record_load() combines the file and the lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define STATE_PORTS_MAX 256u /* a gateway publishes at most this many ports */

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
const char *status_name(enum status s);  /* "Running", for JSON */
const char *status_lower(enum status s); /* "running", for tables */

#define NOT_ENFORCED "not enforced"

/* How each limit is enforced: "cgroup v1", "cgroup v2", "rlimit, per process", "user namespace",
 * "affinity", "project quota", "loop image", "tmpfs", "watched", NOT_ENFORCED, "none". `ids` says
 * which ids the sandbox has: "own range", "subuid range" or "single id". */
struct enforcement {
	char memory[24], cpus[24], pids[24], root_disk[24], volumes[24], ids[24];
};

#define ROOT_OVERLAY "overlay"
#define ROOT_SERVED "fuse-overlayfs"
#define ROOT_DIRECTORY "directory" /* the root is a directory of the host itself, not an overlay */
#define ROOT_DISK "disk"           /* the root is a flat disk itself, not an overlay */

struct state {
	enum status status; /* as it was last written; record_load() compares it with the lock */
	bool booted_once;   /* false if the first start never finished */
	uint64_t boots;
	pid_t supervisor;
	uint64_t started_ns, updated_ns;
	uint32_t wire;    /* protocol version of pid 1 */
	int64_t uid_base; /* first id of the sandbox's own range, or -1 */
	struct enforcement enforced;
	char root[24]; /* ROOT_…: how the root is mounted; "" before the first start */
	char stop_reason[64];
	/* the ports on the host that are really used, in the order of the spec */
	uint16_t host_port[STATE_PORTS_MAX];
	size_t n_ports;
};

/* Returns 0 or -errno, and always sets *RET. Returns -ENOENT if the sandbox never ran, -EINVAL if
 * the file is damaged, and -ENOTSUP if a newer cordon wrote it. In the last two cases
 * RET->booted_once is true. If it were false, a command would believe that a killed `create` left
 * this record, and could erase it. */
MUST_USE int state_read(int dir, struct state *ret);
MUST_USE int state_write(int dir, const struct state *s, struct err *e);
