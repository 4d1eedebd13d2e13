/* The descriptors for the standard streams of a new command: the three ends that the command
 * gets, and the ends that pid 1 keeps. */
#pragma once

#include "guest/connection.h"
#include "guest/users.h"

struct endpoints {
	int child[3]; /* what the command gets as 0, 1 and 2 */
	/* If this is not -1, the command gets this descriptor as 0 instead of child[0]. The
	 * descriptor is the /dev/null of struct guest, so endpoints_done() does not close it. */
	int input;
	int write_in;           /* background: pid 1 writes input here */
	int read_out, read_err; /* background or detached: pid 1 reads output here */
	int master;             /* master of the terminal */
};

/* Takes the descriptors that the client sent, or opens a terminal, or makes pipes. Returns 0 or
 * -errno; call endpoints_done() in both cases. */
MUST_USE int endpoints_open(struct connection *c, const struct exec_message *m,
			    const struct user *u, struct endpoints *f);
void endpoints_done(struct endpoints *f);
