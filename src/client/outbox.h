/*
 * A queue of messages to one pid 1 that the socket has not taken yet. Each message has its
 * descriptors. Sending never waits.
 *
 * pid 1 keeps received descriptors until a frame EXEC or LEAVE takes them. pid 1 has room for the
 * descriptors of only one frame. So two things must not happen. First, the descriptors of a second
 * frame must not arrive while the first frame is incomplete. So we send the descriptors with the
 * last byte of their message, and send this byte alone. A recvmsg never reads past bytes that carry
 * descriptors, so pid 1 then has exactly the whole frame. Second, descriptors must not arrive
 * together with an EXEC that has none, such as the EXEC of a command with a terminal. So we send a
 * PING after such an EXEC, and the next message with descriptors waits for the PONG.
 *
 * If a message needs a protocol version, it waits until pid 1 has said which version it speaks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/frame.h"

struct outbox_message;

struct outbox {
	struct outbox_message *first, **last;
	unsigned n_messages;
	size_t n_bytes;
	uint32_t pings;   /* how many of our PINGs have no PONG yet */
	uint32_t version; /* the protocol that pid 1 and we speak; 0: not known yet */
};

void outbox_init(struct outbox *o);
/* Drops every message and closes its descriptors. The empty outbox can be used again. */
void outbox_clear(struct outbox *o);

/* Adds the frames in B, which must not be empty or failed. Takes over the memory of B and the
 * descriptors. NEEDS is the lowest protocol version that knows these frames, or 0 if every version
 * does. */
void outbox_add(struct outbox *o, struct buf *b, const int *fds, unsigned n_fds, uint32_t needs);

enum outbox_result {
	OUTBOX_EMPTY, /* everything was sent */
	OUTBOX_FULL,  /* the socket is full: try again when it is writable */
	OUTBOX_HELD,  /* the next message waits for something that pid 1 says */
	/* the kernel accepts no more descriptors now, and no event tells when it will; try again
	 * a little later */
	OUTBOX_CROWDED,
	OUTBOX_LOST, /* the connection is broken */
};
/* Sends as much as the socket takes now. */
enum outbox_result outbox_flush(struct outbox *o, int sock);

/* Call this when a PONG for one of our PINGs came. */
void outbox_take_pong(struct outbox *o);
/* Call this when pid 1 has said which protocol it speaks. */
void outbox_take_version(struct outbox *o, uint32_t version);
/* Drops the first message that needs a newer protocol than pid 1 speaks. Sets *RET_STREAM to the
 * message's stream. Returns false if there is no such message. */
bool outbox_drop_misfit(struct outbox *o, uint32_t *ret_stream);
