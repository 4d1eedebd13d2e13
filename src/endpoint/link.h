/*
 * A connection to a Box server that carries whole messages: a WebSocket (socket.c), or lines on the pipes of a child
 * (child.c). Everything waits, up to a monotonic deadline.
 *
 * Reading and writing go on together, so that two sides that write at once do not wait for each other. A WebSocket is
 * kept alive by pings: a server that answers no ping in time counts as gone.
 */
#pragma once

#include "endpoint/interrupt.h"
#include "service/fault.h"
#include "wire/frame_stdio.h"
#include "wire/websocket.h"

struct link {
	int in, out; /* the same descriptor for a WebSocket; both do not wait */
	bool websocket;
	bool ended;                  /* the server has closed its side */
	int signal;                  /* the signal that ended a wait, or 0 */
	struct interrupt *interrupt; /* borrowed */
	struct buf received;         /* bytes that are not decoded yet */
	size_t decoded;              /* of RECEIVED */
	struct buf pending;          /* bytes to write */
	size_t written;              /* of PENDING */
	struct websocket frames;
	struct stdio_reader lines;
	uint64_t ping_ns; /* between two pings, and for the answer to one; 0: no pings */
	uint64_t next_ping_ns,
		pong_by_ns; /* monotonic moments; the second one is 0 if no ping is open */
};

/* Takes both descriptors, which may be the same. */
void link_init(struct link *l, int in, int out, bool websocket, struct interrupt *i);
void link_done(struct link *l);
/* Sends bytes as they are. */
MUST_USE int link_write(struct link *l, struct str bytes, uint64_t deadline_ns, struct fault *f);
/* Waits until more bytes are in l->received. */
MUST_USE int link_read_more(struct link *l, uint64_t deadline_ns, struct fault *f);

MUST_USE int link_send(struct link *l, struct str message, uint64_t deadline_ns, struct fault *f);
/* Gives the next message, which is valid until the next call. Fails with a FAULT_BOX when the deadline has passed,
 * when the server has closed the link or breaks the rules, and when a signal comes. */
MUST_USE int link_receive(struct link *l, uint64_t deadline_ns, struct str *ret, struct fault *f);
/* Tells the server that no more bytes come. */
void link_finish(struct link *l);
