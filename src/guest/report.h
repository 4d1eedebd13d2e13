/*
 * A report is bytes that a command's own process hands to pid 1 before it ends, for the client that started the command.
 * A terminal client learns from the report which variables its shell exported and in which directory the shell was.
 * The client must not take these from output or files, which any process can write.
 *
 * A report comes over a socket inside the sandbox: its length (4 bytes, little endian, at most REPORT_MAX_BYTES), then
 * its bytes. The name of the socket is abstract and lives in the sandbox's own network namespace: nothing outside can
 * reach it, and nothing inside can take it once pid 1 has bound it.
 *
 * Any process inside can connect, but pid 1 accepts a report only from the direct child that runs a command which may
 * report. The kernel tells the number of the process that connected, also after that process has ended. So there are
 * three rules. pid 1 accepts only numbers of children that it has not reaped: no other process can have them. It
 * empties the queue of the listener before it starts a command that may report. Where the kernel has SO_PEERPIDFD,
 * the process that connected must be such a child. A process that may trace the command can report for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "guest/pool.h"

#define REPORT_SOCKET "cordon/report" /* after the NUL that makes it abstract */
#define REPORT_HEAD_BYTES 4u
#define REPORT_BACKLOG 8 /* connections in the queue; further processes wait in connect() */
/* The queue is never longer than this. So after this many accepts, no connection is left that waited before the first
 * accept. */
#define REPORT_QUEUE_MAX (REPORT_BACKLOG + 1)

/* Returns a socket that listens under the abstract NAME, or -errno. -EADDRINUSE: a process inside has taken the name. */
MUST_USE int report_listen(const char *name);
/* Returns the number of the process that made this connection if that is a child of ours that was not reaped, otherwise
 * 0. On a kernel without SO_PEERPIDFD the result can also be the number of another process, or of a process that is gone,
 * so the caller must compare it with the numbers of its children. */
pid_t report_sender(int sock);

enum report_state {
	REPORT_MORE,  /* more bytes must come */
	REPORT_WHOLE, /* all of them have come */
	REPORT_BAD,   /* the report is longer than REPORT_MAX_BYTES or than the pool allows */
};

/* A report while it arrives. Pure state: no descriptor. */
struct report {
	enum report_state state;
	unsigned char head[REPORT_HEAD_BYTES];
	size_t n_head;
	char *p; /* the report's bytes, taken from the pool; NULL while the length is not known */
	size_t n, want;
};

/* Takes N bytes that came. Bytes after the end of the report do not count. */
enum report_state report_add(struct report *r, struct pool *pool, const char *p, size_t n);
/* Hands over the bytes of a complete report; the caller gives them back to the pool later. NULL if it is not
 * complete. */
char *report_take(struct report *r, size_t *ret_n);
void report_done(struct report *r, struct pool *pool);
