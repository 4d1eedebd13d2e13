/*
 * A connected socket on the loop, or a pair of pipes: bytes in, bytes out, never waiting. What the peer does not take is
 * queued; while much is queued, nothing more is read, so a peer that asks and does not listen stops itself.
 *
 * Any function may be called from any callback, stream_free() too: memory goes when the last callback returned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "service/ceiling.h"

#define STREAM_HIGH_WATER_BYTES (1u << 20) /* queued: above it nothing is read */

struct stream;

struct stream_user {
	/* N bytes came. Returns how many were taken; the rest comes again with more, or after stream_read(…, true). */
	size_t (*input)(void *arg, const char *p, size_t n);
	/* The queue is empty again. May be NULL. */
	void (*drained)(void *arg);
	/* The peer closed its side, the connection broke, or the stream was told to finish and has. The owner frees it. */
	void (*gone)(void *arg);
	void *arg;
};

/* Takes the descriptors, which may be the same; both get O_NONBLOCK. -errno. */
MUST_USE int stream_new(struct loop *loop, int in, int out, struct ceiling *ceiling,
			const struct stream_user *u, struct stream **ret);
void stream_free(struct stream *s);

/* Queues what is in B, which is empty afterwards, and sends what the peer takes now. A peer for whom there is no memory is
 * gone. */
void stream_send(struct stream *s, struct buf *b);
/* Queues two pieces, one behind the other. The loop sends them after the handler that runs now, so that many small pieces are
 * sent together. */
void stream_add(struct stream *s, const void *head, size_t n_head, const void *p, size_t n);
size_t stream_queued(const struct stream *s);
/* Whether input is wanted. */
void stream_read(struct stream *s, bool want);
/* Throws away what is queued and hangs up. The owner is told from the loop. */
void stream_abandon(struct stream *s);
/* Sends what is queued and then hangs up; no more input comes. */
void stream_finish(struct stream *s);
/* The descriptor that is read, for questions about the connection. */
int stream_fd(const struct stream *s);
