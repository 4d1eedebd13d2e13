/*
 * A connected socket or a pair of pipes on the loop. A stream never blocks. Bytes that the peer does not take are queued.
 * While the queue is long, no input is read, so a peer that asks and does not read the answers stops itself.
 *
 * Any function may be called from any callback, also stream_free(). Memory is freed when the last callback has returned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "service/ceiling.h"

#define STREAM_HIGH_WATER_BYTES (1u << 20) /* while so much is queued, no input is read */

struct stream;

struct stream_user {
	/* N bytes came. Returns how many were taken. The rest comes again with new bytes, or after stream_read(…, true). */
	size_t (*input)(void *arg, const char *p, size_t n);
	/* The queue is empty again. May be NULL. */
	void (*drained)(void *arg);
	/* The stream has ended: the peer closed its side, the connection broke, or stream_finish() is done. The owner
	 * frees it. */
	void (*gone)(void *arg);
	void *arg;
};

/* Takes the descriptors, which may be the same, and makes both non-blocking. Returns 0 or -errno. */
MUST_USE int stream_new(struct loop *loop, int in, int out, struct ceiling *ceiling,
			const struct stream_user *u, struct stream **ret);
void stream_free(struct stream *s);

/* Queues the bytes of B, which is empty afterwards, and sends what the peer takes now. If there is no memory for the
 * queue, hangs up on the peer. */
void stream_send(struct stream *s, struct buf *b);
/* Queues two pieces, one after the other. The loop sends them after the current handler, so that many small pieces are
 * sent together. */
void stream_add(struct stream *s, const void *head, size_t n_head, const void *p, size_t n);
size_t stream_queued(const struct stream *s);
/* Says whether the owner wants input. */
void stream_read(struct stream *s, bool want);
/* Drops the queue and hangs up. The loop calls `gone` later. */
void stream_abandon(struct stream *s);
/* Sends the queue, then hangs up. The owner gets no more input. */
void stream_finish(struct stream *s);
/* Returns the descriptor that is read, for questions about the connection. */
int stream_fd(const struct stream *s);
