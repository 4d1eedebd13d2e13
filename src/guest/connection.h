/* The connection of a client. It carries frames; descriptors that arrive belong to the next EXEC or LEAVE. */
#pragma once

#include "guest/guest.h"

/* A client that does not read its answers gets no more of them: while more bytes than this wait for it, pid 1 takes no
 * request of it. One answer may go beyond this; the largest has the state of 4 MiB. */
#define CONNECTION_WAITING_BYTES (1u << 20)

struct connection {
	struct connection *next;
	struct guest *guest;
	int fd;
	loop_id watch;
	struct buf in, out;
	int fds[FRAME_FDS_MAX];
	unsigned n_fds;
	bool greeted;
	bool held;   /* requests or answers of it wait until the client has read */
	bool served; /* the client has sent a command before */
	bool dead;
};

/* Queues a frame without sending it; connection_flush() sends it. */
void connection_add(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		    const void *p, size_t n);
/* True if too many bytes wait for the client. The caller puts off what would add to them: looks_resume() comes later. */
bool connection_hold(struct connection *c);
/* Sends as much of the queue as the socket takes. */
void connection_flush(struct connection *c);
void connection_send(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		     const void *p, size_t n);
/* Closes the connection after its last command. Frees it: callers that were passed the connection must not touch it
 * afterwards. */
void connection_end(struct connection *c);
/* Send EXIT or ERROR for one stream. */
void connection_send_exit(struct connection *c, uint32_t stream, const struct exit_message *m);
void connection_send_error(struct connection *c, uint32_t stream, const struct err *e);
/* Begins to accept clients. */
MUST_USE int server_open(struct guest *g);
