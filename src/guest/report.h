/*
 * A report is a text that the process of a command sends to pid 1 before this process ends. The
 * report is for the client that started the command. A terminal client learns from the report which
 * variables its shell exported and in which directory the shell was. The client must not read this
 * information from output or files, because any process can write those.
 *
 * A report comes over a socket inside the sandbox: its length (4 bytes, little endian, at most
 * REPORT_MAX_BYTES), then its bytes. The name of the socket is abstract and belongs to the
 * sandbox's own network namespace. So no process outside of the sandbox can reach the socket. When
 * pid 1 has bound the name, no process of the sandbox can take it.
 *
 * Any process in the sandbox can connect. But pid 1 accepts a report only from its own child that
 * runs a command, and only if this command may report. The kernel tells pid 1 the pid of the
 * process that connected. That process can have ended since, and another process can have its pid.
 * So there are three rules. First, pid 1 accepts only pids of children that it has not reaped,
 * because no other process can have these pids. Second, before pid 1 starts a command that may
 * report, it accepts all connections that wait in the queue. If one of them came from an earlier
 * process with the same pid as the new command, this connection is no longer in the queue when the
 * command runs. Third, where the kernel has SO_PEERPIDFD, pid 1 also checks by the pidfd that the
 * process which connected is a child that pid 1 has not reaped. A process that may trace the
 * command can still report for the command.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "guest/pool.h"

#define REPORT_SOCKET "cordon/report" /* without the NUL in front that makes the name abstract */
#define REPORT_HEAD_BYTES 4u
#define REPORT_BACKLOG 8 /* connections in the queue; further processes wait in connect() */
/* The queue never holds more connections than this. So this many accepts take every connection that
 * was in the queue before the first accept. */
#define REPORT_QUEUE_MAX (REPORT_BACKLOG + 1)

/* Returns a socket that listens under the abstract NAME, or -errno. -EADDRINUSE means that a
 * process of the sandbox has taken the name. */
MUST_USE int report_listen(const char *name);
/* Returns the pid of the process that made this connection. Returns 0 if the process is no child of
 * ours, or was reaped. If the kernel lacks SO_PEERPIDFD, the result can also be the pid of a
 * process that is no child of ours, or of a process that is gone. So the caller must compare the
 * result with the pids of its children. */
pid_t report_sender(int sock);

enum report_state {
	REPORT_MORE,  /* more bytes must come */
	REPORT_WHOLE, /* all bytes have come */
	REPORT_BAD,   /* the report is longer than REPORT_MAX_BYTES, or there is no memory for it */
};

/* A report that is arriving. The caller keeps the descriptor of the connection. */
struct report {
	enum report_state state;
	unsigned char head[REPORT_HEAD_BYTES];
	size_t n_head;
	/* the report's bytes, which the pool counts; NULL before the length is known, if the report
	 * is bad, and after report_take() */
	char *p;
	size_t n, want;
};

/* Adds N bytes that came. Ignores bytes after the end of the report. Returns the new state of the
 * report. */
enum report_state report_add(struct report *r, struct pool *pool, const char *p, size_t n);
/* Returns the bytes of a complete report, or NULL if it is not complete. Later the caller calls
 * free() for the bytes, and tells the pool, which only counts bytes, that they are free again. */
char *report_take(struct report *r, size_t *ret_n);
void report_done(struct report *r, struct pool *pool);
