/*
 * The hands of a server: a few processes (the program cordon-hand) that do all work that may block.
 * The server is a single thread with an event loop and must never block. A hand does one request at
 * a time. If no hand is idle, a request waits in a queue.
 *
 * A foreman starts the hands and passes each hand to the pool on a channel. If a hand ends, the
 * foreman starts another hand. The request of the ended hand fails with ERR_SYSTEM, or waits for
 * another hand if this one had not got the whole request. Every request has a deadline.
 * At the deadline the request fails with ERR_TIMEOUT. If a hand is still working on the request,
 * the hand is killed. If this hand was making a sandbox, the kernel then closes the leash of the
 * sandbox, so the sandbox ends. The request HAND_SWEEP removes what a killed hand left on disk.
 *
 * Any function may be called from any callback, even hands_free().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "wire/hand.h"

struct hands;
struct hands_request;
struct spec;

#define HANDS_MAX 8u /* the most hands; more would only compete for disks and CPUs */
/* the most requests that wait: a server with 1 000 sessions may lose all sessions at once and
 * make them again */
#define HANDS_QUEUE_MAX 1024u
/* the most bytes of all waiting requests; most specs have a few KiB */
#define HANDS_QUEUE_BYTES_MAX (64u << 20)

struct hands_answer {
	/* why the request failed, or NULL. If it failed, of the other members only `mount` has a
	 * meaning */
	const struct err *err;
	uint64_t mount; /* HAND_CREATE: the mount that caused the error, as in struct hand_answer */
	/* HAND_CREATE, HAND_START: warnings about a sandbox that is up, one per line */
	const char *warnings;
	/* HAND_CREATE, HAND_START: the owner must close these descriptors. An ephemeral sandbox
	 * ends when its leash is closed or shut down for writing; the sandbox is gone when a read
	 * of the leash returns end of file. Pass CONNECTION to line_new(). For other requests both
	 * descriptors are -1. */
	int leash, connection;
	uint64_t bytes, entries; /* HAND_SIZE; HAND_MARKER sets only `bytes` */
	const char *held;        /* HAND_CREATE, HAND_START: as in struct hand_answer */
	const char *found;       /* HAND_WORKSPACE, HAND_MARKER: as in struct hand_answer */
	bool usable;             /* HAND_WORKSPACE */
};

/* Called when the request is over. A is valid only during the call, except for its descriptors. */
typedef void hands_answer_fn(void *arg, const struct hands_answer *a);

/* hands_new() takes over CHANNEL, the server's end of a foreman's channel. GONE is called when the
 * foreman has ended. No new hand can come after that. */
typedef void hands_gone_fn(void *arg);
MUST_USE int hands_new(struct loop *loop, int channel, hands_gone_fn *gone, void *arg,
		       struct hands **ret, struct err *e);
/* Kills all hands and frees all requests; the owners of the requests get no answers. */
void hands_free(struct hands *h);

/* Queues the request Q, which is borrowed for the call. DEADLINE_NS is a monotonic time. The loop
 * later calls FN exactly once, unless hands_drop() or hands_free() is called first. *RET is
 * valid until FN is called or the request is dropped. Fails with ERR_LIMIT if too many requests
 * wait, or if Q is too long. */
MUST_USE int hands_ask(struct hands *h, const struct hand_request *q, uint64_t deadline_ns,
		       hands_answer_fn *fn, void *arg, struct hands_request **ret, struct err *e);
/* Does the same as hands_ask(), for a request that may take minutes because it may fetch an image.
 * At most half of the hands work on such requests at a time, so that other requests need not wait
 * long. */
MUST_USE int hands_ask_slow(struct hands *h, const struct hand_request *q, uint64_t deadline_ns,
			    hands_answer_fn *fn, void *arg, struct hands_request **ret,
			    struct err *e);
/* Drops a request whose answer is not wanted any more. If a hand already works on the request, the
 * hand goes on, and its result is thrown away. */
void hands_drop(struct hands_request *r);

/* Writes S in the form that HAND_CREATE takes. */
void hands_write_spec(const struct spec *s, struct buf *b);
