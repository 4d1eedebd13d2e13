/*
 * A client's connection. It speaks frames; descriptors that arrive belong to the next EXEC or LEAVE.
 */
#pragma once

#include "guest/guest.h"

struct connection {
	struct connection *next;
	struct guest *guest;
	int fd;
	loop_id watch;
	struct buf in, out;
	int fds[FRAME_FDS_MAX];
	unsigned n_fds;
	bool greeted;
	bool served; /* a command was started for it */
	bool dead;
};

/* For later: goes with what is sent next. */
void connection_add(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		    const void *p, size_t n);
/* Writes what the socket takes. */
void connection_flush(struct connection *c);
void connection_send(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		     const void *p, size_t n);
/* Its last command is over. Not for who was called with the connection: it is gone then. */
void connection_end(struct connection *c);
/* EXIT and ERROR for one stream. */
void connection_send_exit(struct connection *c, uint32_t stream, const struct exit_message *m);
void connection_send_error(struct connection *c, uint32_t stream, const struct err *e);
/* Accepts clients from now on. */
MUST_USE int server_open(struct guest *g);
