/* A sandbox for the time of one request: used as it is when it is up, else started and, when the
 * visit ends, stopped again. */
#pragma once

#include "client/connection.h"

struct visit {
	struct client client;
	bool started; /* by us: ours to stop */
};

/* How the front end starts a stopped one, with whatever it shows meanwhile. */
typedef int visit_start(const struct home *h, const char *name, struct err *e);

/* HOME and NAME are borrowed until visit_done(). ERR_BUSY while it is neither up nor down. */
MUST_USE int visit_open(struct visit *v, const struct home *h, const char *name, visit_start *start,
			struct err *e);
void visit_done(struct visit *v);
