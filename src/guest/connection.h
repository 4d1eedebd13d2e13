/* The connection of a client, which carries frames. Descriptors that arrive belong to the next
 * frame EXEC or LEAVE. */
#pragma once

#include "guest/guest.h"

/* If more bytes than this are queued for a client, pid 1 handles no request of the client until the
 * client has read them. A single answer may be longer; the largest answer carries a state blob of 4
 * MiB. */
#define CONNECTION_WAITING_BYTES (1u << 20)

struct connection {
	struct connection *next;
	struct guest *guest;
	int fd;
	loop_id watch;
	struct buf in, out;
	uint64_t sent; /* bytes of frames that were written to the socket */
	int fds[FRAME_FDS_MAX];
	unsigned n_fds;
	bool greeted;
	bool held;   /* requests or answers wait until the client has read the queue */
	bool served; /* the client has sent a command before */
	bool dead;
};

/* Queues a frame without sending it; connection_flush() sends it. */
void connection_add(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		    const void *p, size_t n);
/* Returns true if too many bytes wait for the client. The caller then postpones the next requests
 * or its answer. server.c goes on with them when the client has read enough. */
bool connection_hold(struct connection *c);
/* Sends as much of the queue as the socket takes. */
void connection_flush(struct connection *c);
void connection_send(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		     const void *p, size_t n);
/* Returns how many bytes will have been sent when the queue is empty. When the client has read this
 * many bytes, it has read all frames that are in the queue now. */
static inline uint64_t connection_end_of_queue(const struct connection *c)
{
	return c->sent + c->out.n;
}
/* Call this after the last command of a connection. If nothing is queued for the client, closes and
 * frees the connection. Otherwise the client reads the queue and then closes the connection itself.
 * The caller must not use the connection after this call. */
void connection_end(struct connection *c);
/* These functions send EXIT or ERROR for one stream. */
void connection_send_exit(struct connection *c, uint32_t stream, const struct exit_message *m);
void connection_send_error(struct connection *c, uint32_t stream, const struct err *e);
/* Begins to accept clients. */
MUST_USE int server_open(struct guest *g);
/* Call it when something has ended for which is_crowded() in server.c counts descriptors. Accepts
 * clients again if they had to wait and there are enough descriptors now. */
void server_has_room(struct guest *g);
