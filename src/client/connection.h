/*
 * A connection to the pid 1 of a live sandbox. A connection carries one request at a time. The
 * command line uses such connections, and waits for each answer.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/frame.h"

struct home;

struct client {
	const struct home *home; /* borrowed; must outlive the connection */
	const char *name;        /* borrowed */
	int fd;
	struct buf in;
	bool greeted;       /* we have sent our HELLO */
	uint32_t questions; /* how many questions client/commands has asked */
};

/* the stream of the command; each question has a stream of its own with a higher number */
#define CLIENT_STREAM 1u

/* Connects to pid 1. Fails with ERR_NOT_RUNNING if pid 1 does not listen. */
MUST_USE int client_open(struct client *c, const struct home *h, const char *name, struct err *e);
/* Fills *C with FD, a connection that launch_create() made. client_done() closes FD. */
void client_adopt(struct client *c, const struct home *h, const char *name, int fd);
void client_done(struct client *c);

/* Adds the frame HELLO to B, unless HELLO was sent before. Call this first for every request. */
void client_greet(struct client *c, struct buf *b);
/* Sends a request with its descriptors. Fails with ERR_LIMIT if B became larger than a frame may
 * be. */
MUST_USE int client_request(struct client *c, const struct buf *b, const int *fds, unsigned n_fds,
			    struct err *e);
/* Sends further frames of a request. The result may be ignored: if the connection is lost, later
 * reads return everything that pid 1 has sent, and then end of file. */
bool client_send(struct client *c, const struct buf *b);
/* Gives FN every frame that has come, without waiting. FN may stop the reading: it fills E and
 * returns a value above 0, which client_receive() then returns. Otherwise client_receive()
 * returns 0, or -1 if the connection was lost or pid 1 sent bytes that are no frame. */
MUST_USE int client_receive(struct client *c, frame_fn *fn, void *arg, struct err *e);
