/*
 * Hostile bytes are parsed by a worker: this same program, executed again with `--worker OP`, the
 * few descriptors it needs, and after its start nothing else (see confine.h). It answers with one
 * JSON object and ends.
 *
 *   unpack ARG  reads a layer's blob on stdin, writes its tree to DIR/root, answers as layer.json;
 *               ARG is what the image may still have (allowance.h) and the blob's length
 *   inflate     reads a blob on stdin, writes the plain tar to stdout
 *   stage       reads an archive on stdin, writes its files to DIR/0, DIR/1 …, answers with names
 *   merge ARG   lays the layers ARG of the directory on stdin over each other in DIR
 *   remove ARG  removes DIR/ARG, whoever owns what is in it
 *
 * For an ordinary user the worker lives in a user namespace with the caller's subordinate ids, or
 * with the caller's own id alone where there are none, so that owners are kept as far as they can be.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/spawn.h"

#define WORKER_REPLY_MAX_BYTES (16u << 20) /* the names of an archive's files */

/* Descriptors in the worker, besides stdin and stdout. */
#define WORKER_DIR_FD 3
#define WORKER_CONTROL_FD 4

struct worker_job {
	const char *op;
	const char *arg;           /* or NULL */
	int in_fd, out_fd, dir_fd; /* -1: /dev/null */
};

struct worker {
	struct child child; /* pid 0 when not running */
	int control_fd;     /* readable until the worker has answered and ended */
	struct buf reply;
};

MUST_USE int worker_start(const struct worker_job *j, struct worker *ret, struct err *e);
/* Reads what is there without waiting. True when the answer is complete: now finish. */
bool worker_advance(struct worker *w);
/* Waits for the end. The worker's own error becomes ours; *RET may be NULL when there is nothing
 * of interest in the answer. */
MUST_USE int worker_finish(struct worker *w, struct json_doc **ret, struct err *e);
/* Kills and reaps what still runs. */
void worker_stop(struct worker *w);
/* start and finish in one. */
MUST_USE int worker_run(const struct worker_job *j, struct json_doc **ret, struct err *e);

/* main() of the worker. */
int worker_main(int argc, char **argv);
