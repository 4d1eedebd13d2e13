/*
 * A connected socket or a pair of pipes on the loop. A stream never blocks. If the peer does not
 * take all bytes, the rest is queued. While the queue is long, the stream reads no input. So if a
 * peer does not read the answers, the stream stops reading the peer's requests.
 *
 * Any function, also stream_free(), may be called from any callback. The memory of the stream is
 * freed when the last callback has returned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "service/ceiling.h"

#define STREAM_HIGH_WATER_BYTES (1u << 20) /* while this many bytes are queued, no input is read */

struct stream;

struct stream_user {
	/* Handles N bytes of input. Returns how many bytes it used. The stream passes the unused
	 * bytes again when new bytes come, or after stream_read(…, true). */
	size_t (*input)(void *arg, const char *p, size_t n);
	/* Called when the queue is empty again. May be NULL. */
	void (*drained)(void *arg);
	/* Called when the stream has ended: the peer closed its side, the connection broke, or
	 * stream_finish() or stream_abandon() has closed it. The owner frees the stream. */
	void (*gone)(void *arg);
	void *arg;
};

/* Takes over the descriptors IN and OUT, which may be the same, and makes both non-blocking.
 * Returns 0 or -errno. */
MUST_USE int stream_new(struct loop *loop, int in, int out, struct ceiling *ceiling,
			const struct stream_user *u, struct stream **ret);
void stream_free(struct stream *s);

/* Queues the bytes of B, which is empty afterwards, and sends as much as possible now. Calls
 * stream_abandon() if B failed, if the queue would become too long, or if the ceiling has too few
 * bytes left. */
void stream_send(struct stream *s, struct buf *b);
/* Queues two pieces, one after the other. The loop sends the queue after the current handler, so
 * that many small pieces are sent together. Calls stream_abandon() if there is no room, as
 * stream_send() does. */
void stream_add(struct stream *s, const void *head, size_t n_head, const void *p, size_t n);
size_t stream_queued(const struct stream *s);
/* Tells the stream whether the owner wants input. */
void stream_read(struct stream *s, bool want);
/* Drops the queue and closes the connection. The loop calls `gone` later. */
void stream_abandon(struct stream *s);
/* Sends the queue, then closes the connection. The owner gets no more input. */
void stream_finish(struct stream *s);
/* Returns the descriptor for input, so that the owner can ask the kernel about the connection. */
int stream_fd(const struct stream *s);
