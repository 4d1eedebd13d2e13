/*
 * Reports: bytes that a command's own process hands to pid 1 before it ends, for the client that started it. A
 * terminal uses them to learn what its shell exported and where it stands, because nothing that a command prints
 * and no file that it writes may decide that.
 *
 * A report comes over a socket inside the sandbox: its length (4 bytes, little endian, at most REPORT_MAX_BYTES), then
 * its bytes. The name of the socket is abstract and lives in the sandbox's own network namespace: nothing outside can
 * reach it, and nothing inside can take it once pid 1 has bound it.
 *
 * Any process inside can connect. Pid 1 hears only the direct child that runs a command which may report. The kernel
 * tells the number of the process that connected, also after that process has ended, so pid 1 judges under three rules:
 * only numbers of children that it has not reaped count, since nobody else can have such a number; it empties the queue
 * of the listener before it starts such a command; and where the kernel has SO_PEERPIDFD, the process that connected
 * must be a child of ours that has not been reaped. A process that may trace the command can speak in its name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "guest/pool.h"

#define REPORT_SOCKET "cordon/report" /* after the NUL that makes it abstract */
#define REPORT_HEAD_BYTES 4u
#define REPORT_BACKLOG 8 /* connections that wait; others wait in connect() */
/* Taking so many connections takes every one that was there before, because the queue is never longer. */
#define REPORT_QUEUE_MAX (REPORT_BACKLOG + 1)

/* A socket that listens under the abstract NAME, or -errno; -EADDRINUSE: a process inside has taken it. */
MUST_USE int report_listen(const char *name);
/* The process that made this connection: the number of a child of ours that was not reaped, or 0. A kernel without
 * SO_PEERPIDFD also lets numbers of others through, and the number of a process that is gone: the caller compares the
 * number with those of its children. */
pid_t report_sender(int sock);

enum report_state {
	REPORT_MORE,  /* more bytes must come */
	REPORT_WHOLE, /* all of them have come */
	REPORT_BAD,   /* it is longer than it may be, or than the pool allows */
};

/* A report that comes in: pure state. */
struct report {
	enum report_state state;
	unsigned char head[REPORT_HEAD_BYTES];
	size_t n_head;
	char *p; /* the report's bytes, taken from the pool; NULL while the length is not known */
	size_t n, want;
};

/* Takes N bytes that came. Bytes after the end of the report do not count. */
enum report_state report_add(struct report *r, struct pool *pool, const char *p, size_t n);
/* Hands over the bytes of a whole report with their place in the pool; NULL if there are none. */
char *report_take(struct report *r, size_t *ret_n);
void report_done(struct report *r, struct pool *pool);
