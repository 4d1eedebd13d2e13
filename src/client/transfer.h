/*
 * A transfer is one operation of a sandbox's file agent over a connection. It begins with the frame
 * FILE and ends with the frame EXIT.
 *
 * While transfer_write() waits for the agent's credit, and while transfer_finish() waits for the
 * agent's end, they read the agent's bytes and pass them to on_data. The agent sends only as many
 * bytes as we granted. So if on_data is slow, the agent waits, and our memory does not fill up.
 */
#pragma once

#include "client/call.h"
#include "client/connection.h"
#include "wire/file.h"

struct transfer {
	struct client *client;
	/* Called with the agent's bytes. If the function returns -1, the transfer fails with E. */
	int (*on_data)(void *arg, const char *p, size_t n, struct err *e);
	void *arg;
	struct call call;
};

/* Sends the request *M, which begins the transfer. C must have no request under way, because a
 * connection carries only one transfer at a time. */
MUST_USE int transfer_open(struct transfer *t, struct client *c, const struct file_message *m,
			   int (*on_data)(void *arg, const char *p, size_t n, struct err *e),
			   void *arg, struct err *e);
/* Sends all N bytes. Fails with ERR_NOT_RUNNING if the agent ended before it took them. In this
 * case on_data has got all bytes that the agent sent. */
MUST_USE int transfer_write(struct transfer *t, const void *p, size_t n, struct err *e);
/* Waits until the agent has ended. Fails if the agent could not start or failed. */
MUST_USE int transfer_finish(struct transfer *t, struct err *e);
