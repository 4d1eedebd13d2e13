/*
 * A worker is a process that parses hostile bytes. A worker runs the same program as its parent,
 * with the arguments `--worker OP` and with the few descriptors that it needs. After its start the
 * worker can reach only these descriptors (store/confine.h). The worker answers with one JSON
 * object and exits. DIR is the directory WORKER_DIR_FD.
 *
 *   unpack ARG  reads a layer's blob on stdin, writes its tree to DIR/root, answers with
 *               the contents of layer.json; ARG is the image's allowance (allowance.h) and the
 *               blob's length
 *   inflate     reads a blob on stdin, writes the plain tar to stdout
 *   stage       reads an archive on stdin, writes its files to DIR/0, DIR/1 …, answers with names
 *   merge ARG   copies layers into DIR, one over the other; ARG lists the layers, and stdin is the
 *               directory that holds them
 *   erase ARG   erases DIR/ARG, also files of other owners
 *
 * If an ordinary user runs cordon, the worker runs in a user namespace with the user's subordinate
 * ids, so that files keep their owners. If the user has no subordinate ids, the namespace maps only
 * the user's own id. If the host allows no user namespace, the worker runs without one.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/spawn.h"

#define WORKER_REPLY_MAX_BYTES (16u << 20) /* enough for the names of all files of an archive */

/* Descriptors in the worker, besides stdin and stdout. */
#define WORKER_DIR_FD 3
#define WORKER_CONTROL_FD 4

/* What a worker shall do. */
struct worker_order {
	const char *op;
	const char *arg;           /* argument of the operation, or NULL */
	int in_fd, out_fd, dir_fd; /* -1 means /dev/null */
};

struct worker {
	struct child child; /* pid 0 when not running */
	/* a read reports the end of file when the worker has answered and exited */
	int control_fd;
	struct buf reply;
};

MUST_USE int worker_start(const struct worker_order *o, struct worker *ret, struct err *e);
/* Reads the bytes that have arrived, without waiting. Returns true when no more bytes will come:
 * the answer is complete or too long, or the worker died. Then worker_finish() must be called. */
bool worker_advance(struct worker *w);
/* Waits until the worker exits. If the worker reports an error, fails with that error. RET may be
 * NULL when the answer does not matter. */
MUST_USE int worker_finish(struct worker *w, struct json_doc **ret, struct err *e);
/* Kills the worker if it still runs, and reaps it. */
void worker_stop(struct worker *w);
/* Calls worker_start() and worker_finish(). */
MUST_USE int worker_run(const struct worker_order *o, struct json_doc **ret, struct err *e);

/* main() of the worker. */
int worker_main(int argc, char **argv);
