/* A visit uses a sandbox for one request. If the sandbox is not up, the visit starts it and stops
 * it again at the end. */
#pragma once

#include "client/connection.h"

struct visit {
	struct client client;
	bool started; /* this visit started the sandbox and has to stop it */
};

/* A function of the front end that starts a stopped sandbox and tells the user so. */
typedef int visit_start(const struct home *h, const char *name, struct err *e);

/* Connects to the sandbox, and starts it first if it is down. H and NAME must live until
 * visit_done(). Fails with ERR_BUSY if the sandbox is neither up nor down. */
MUST_USE int visit_open(struct visit *v, const struct home *h, const char *name, visit_start *start,
			struct err *e);
void visit_done(struct visit *v);
