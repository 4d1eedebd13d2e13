/*
 * One operation of a sandbox's file agent over a connection, from FILE to EXIT.
 *
 * While transfer_write() waits for the agent's credit, it reads the agent's bytes and passes them to on_data. The agent
 * sends only within the credit that we grant, so a slow on_data slows the sandbox down instead of filling memory.
 */
#pragma once

#include "client/call.h"
#include "client/connection.h"
#include "wire/file.h"

struct transfer {
	struct client *client;
	/* Gets the agent's bytes. If it returns -1, the transfer ends with E. */
	int (*on_data)(void *arg, const char *p, size_t n, struct err *e);
	void *arg;
	struct call call;
};

/* C must be idle, because it carries one transfer at a time. */
MUST_USE int transfer_open(struct transfer *t, struct client *c, const struct file_message *m,
			   int (*on_data)(void *arg, const char *p, size_t n, struct err *e),
			   void *arg, struct err *e);
/* Sends all bytes. ERR_NOT_RUNNING: the agent ended too early, and on_data has got all of the agent's bytes. */
MUST_USE int transfer_write(struct transfer *t, const void *p, size_t n, struct err *e);
/* Waits until the agent has ended. */
MUST_USE int transfer_finish(struct transfer *t, struct err *e);
