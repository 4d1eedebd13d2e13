/*
 * The on-disk record of one sandbox: what it was asked to be, and what became of it.
 *
 * config.json is written at create (and by modify), state.json by the supervisor; both are replaced
 * atomically. active.json is there while a live sandbox runs with another configuration than the one
 * its next start takes; a start removes it. `lock` is held exclusively by whoever brings the sandbox up or down, which for a live
 * one is its supervisor: a free lock means nobody is there, whatever state.json says. So the truth
 * survives SIGKILL of anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"

#define RECORD_FORMAT 1
#define STATE_PORTS_MAX 256u /* as many as a gateway publishes */
#define RECORD_FILE_MAX_BYTES (4u << 20)
#define RECORD_FILE_USUAL_BYTES 4096
#define RECORD_QUOTA_MARK "layers/quota" /* a file: layers/0 is under a project quota */

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

/* state.json */
struct state {
	enum status status; /* as last written; see record_status() for the truth */
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

struct record {
	struct spec spec;   /* what the next start takes */
	struct spec active; /* what a live one has, if that is not the same */
	bool has_active;
	uint64_t created_ns, updated_ns;
	struct state state;
	enum status status; /* reconciled with the lock */
	int dir;            /* directory descriptor */
};

void record_done(struct record *r);
#define AUTO_RECORD __attribute__((cleanup(record_done))) struct record
#define RECORD_NONE       \
	{                 \
		.dir = -1 \
	}

/* Loads and reconciles. ERR_NOT_FOUND "sandbox not found: NAME", also for what a killed create left:
 * nobody was told that it exists. */
MUST_USE int record_load(const struct home *h, const char *name, struct record *ret, struct err *e);
/* config.json and state.json of an open directory. */
MUST_USE int record_read_config(int dir, struct record *ret, struct err *e);
MUST_USE int record_write_config(int dir, const struct spec *s, uint64_t created_ns, struct err *e);
/* One writer of the configuration at a time; the descriptor holds the lock. */
MUST_USE int record_lock_config(int dir, int *ret_fd, struct err *e);
/* active.json; S NULL removes it. Reading it where there is none is success. */
MUST_USE int record_write_active(int dir, const struct spec *s, struct err *e);
MUST_USE int record_read_active(int dir, struct record *ret, struct err *e);
/* What the sandbox runs with, or will when it starts. */
const struct spec *record_in_force(const struct record *r);
MUST_USE int state_read(int dir, struct state *ret);
MUST_USE int state_write(int dir, const struct state *s, struct err *e);

/* Claims the name: builds the record under a temporary name, locks it, then renames. The returned
 * lock and directory are the caller's; ERR_EXISTS when the name is taken. */
MUST_USE int record_create(const struct home *h, const struct spec *s, int *ret_dir, int *ret_lock,
			   struct err *e);
/* The directory and the lock file of an existing record. */
MUST_USE int record_open_lock(const struct home *h, const char *name, int *ret_dir, int *ret_lock,
			      struct err *e);
/* Takes that lock. ERR_BUSY when somebody holds it (after WAIT_MS; the kernel wakes who waits). */
MUST_USE int record_lock(const struct home *h, const char *name, int dir, int lock,
			 unsigned wait_ms, struct err *e);
/* Whoever starts the sandbox says so before it takes the lock, and the supervisor ends it when it can
 * be talked to: one at a time. What record_create() returns has begun. The end of a process ends it. */
void record_start_begins(int lock);
void record_start_ends(int lock);
/* Waits while somebody is at that. */
void record_await_start(const struct home *h, const char *name);
/* 1, 0, or -errno where it cannot be told. */
int record_is_live(int dir);
/* True for what a killed create left; to whoever holds the lock. */
bool record_is_unborn(int dir);
/* True when DIR is no longer what NAME names. */
bool record_is_retired(const struct home *h, const char *name, int dir);
/* Takes a record out of sight under its lock; what is left to delete is removed by record_erase. 0 or
 * -errno. */
MUST_USE int record_retire(const struct home *h, const char *name);
/* Deletes the retired record and its claims. ERR_DENIED: files of a uid range need help. */
MUST_USE int record_erase(const struct home *h, const char *name, struct err *e);
/* Removes what dead commands left: retired and half-made records. REAP is for what a killed supervisor
 * left outside of the home, by the name of the record's directory, and may be NULL. False: files of a uid
 * range need help. */
typedef void record_reap(const struct home *h, const char *entry);
bool record_sweep(const struct home *h, record_reap *reap);

/* Port I of the spec as it is now: where a live sandbox chose a free one, that one. The strings are
 * the record's. */
struct spec_port record_port(const struct record *r, size_t i);

/* Names of all records, newest first. */
struct record_list {
	char **name;
	size_t n;
};
MUST_USE int record_list_all(const struct home *h, struct record_list *ret, struct err *e);
void record_list_done(struct record_list *l);
