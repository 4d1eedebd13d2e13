#include "client/visit.h"

#include "base/cleanup.h"
#include "client/sandbox.h"
#include "client/stop.h"

/* Starts the sandbox. If the sandbox is stopping, START waits until it is down. */
static int start_it(const struct home *h, const char *name, visit_start *start, struct err *e)
{
	AUTO_RECORD r = RECORD_NONE;

	if (record_load(h, name, &r, e) < 0)
		return -1;
	if (start(h, name, e) == 0)
		return 0;
	if (e->code == ERR_BUSY && (r.status == STATUS_STARTING || r.status == STATUS_DRAINING))
		err_set(e, ERR_BUSY, "sandbox '%s' is %s; try again when it is running", name,
			status_lower(r.status));
	return -1;
}

int visit_open(struct visit *v, const struct home *h, const char *name, visit_start *start,
	       struct err *e)
{
	struct err late;
	int r;

	*v = (struct visit){ .client = { .home = h, .name = name, .fd = -1 } };
	r = client_open(&v->client, h, name, e);
	if (r == 0 || e->code != ERR_NOT_RUNNING)
		return r;
	client_done(&v->client);
	/* ERR_BUSY means that another command has started the sandbox */
	if (start_it(h, name, start, e) < 0)
		return e->code == ERR_BUSY ? client_open(&v->client, h, name, &late) : -1;
	v->started = true;
	return client_open(&v->client, h, name, e);
}

void visit_done(struct visit *v)
{
	struct err ignored;

	client_done(&v->client);
	if (v->started)
		IGNORE(sandbox_quit(v->client.home, v->client.name, &ignored));
	v->started = false;
}
