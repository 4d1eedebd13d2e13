/*
 * A connection to a Box server that carries whole messages. It is a WebSocket (socket.c), or a pair
 * of pipes to a child process on which each line is a message (child.c). A function with the
 * parameter DEADLINE_NS blocks at most until this time of the monotonic clock.
 *
 * A WebSocket may run through TLS (tls.h). A link reads while it writes. Otherwise, if both sides
 * wrote at the same time, each could wait for the other for ever. On a WebSocket the link sends
 * pings. A server that does not answer a ping in time counts as gone.
 */
#pragma once

#include "endpoint/interrupt.h"
#include "service/fault.h"
#include "wire/frame_stdio.h"
#include "wire/websocket.h"

struct link {
	int in, out;     /* non-blocking; the same descriptor for a WebSocket */
	struct tls *tls; /* owned; NULL if the bytes are not encrypted */
	bool websocket;
	bool ended;                  /* the server has closed its side */
	bool useless;                /* a new link would fail in the same way */
	int signal;                  /* the signal that ended a wait, or 0 */
	struct interrupt *interrupt; /* borrowed */
	struct buf received;         /* bytes for the decoder */
	size_t decoded;              /* how many bytes of `received` are decoded */
	struct buf pending;          /* bytes to write */
	size_t written; /* how many of the bytes that `pending` holds now are written */
	uint64_t taken; /* how many bytes were written since link_init() */
	/* `taken`, plus bytes that TLS may have sent although its write did not succeed */
	uint64_t handed;
	struct websocket frames;
	struct stdio_reader lines;
	uint64_t ping_ns; /* time between two pings, and time limit for a pong; 0 means no pings */
	uint64_t next_ping_ns,
		pong_by_ns; /* monotonic times; pong_by_ns is 0 if no ping is unanswered */
};

/* Takes over both descriptors. They may be the same descriptor. */
void link_init(struct link *l, int in, int out, bool websocket, struct interrupt *i);
void link_done(struct link *l);
/* Sends bytes as they are. */
MUST_USE int link_write(struct link *l, struct str bytes, uint64_t deadline_ns, struct fault *f);
/* Waits until more bytes are in l->received. */
MUST_USE int link_read_more(struct link *l, uint64_t deadline_ns, struct fault *f);

/* Returns the value that l->handed will have when everything that waits to be written has been
 * sent. */
uint64_t link_end(const struct link *l);
/* Reads the messages that have come and drops them. Does not wait. Fails if the server has
 * closed the link. */
MUST_USE int link_check(struct link *l, struct fault *f);

MUST_USE int link_send(struct link *l, struct str message, uint64_t deadline_ns, struct fault *f);
/* Sets *RET to the next message, which is valid until the next call. Fails with a FAULT_BOX at the
 * deadline, when a signal comes, and when the server closes the link or breaks the protocol. If the
 * link is lost, the fault has `again` set. */
MUST_USE int link_receive(struct link *l, uint64_t deadline_ns, struct str *ret, struct fault *f);
/* Closes our end of the pipe to the server, which tells the server that no more bytes come. Does
 * not close a WebSocket. */
void link_finish(struct link *l);
