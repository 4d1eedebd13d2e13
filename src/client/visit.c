#include "client/visit.h"

#include "base/cleanup.h"
#include "client/control.h"
#include "client/sandbox.h"

static int check_stopped(const struct home *h, const char *name, struct err *e)
{
	AUTO_RECORD r = RECORD_NONE;

	if (record_load(h, name, &r, e) < 0)
		return -1;
	if (r.status != STATUS_STOPPED && r.status != STATUS_CRASHED)
		return err_set(e, ERR_BUSY, "sandbox '%s' is %s; try again when it is running",
			       name, status_lower(r.status));
	return 0;
}

int visit_open(struct visit *v, const struct home *h, const char *name, visit_start *start,
	       struct err *e)
{
	int r;

	*v = (struct visit){ .client = { .home = h, .name = name, .fd = -1 } };
	r = client_open(&v->client, h, name, e);
	if (r == 0 || e->code != ERR_NOT_RUNNING)
		return r;
	client_done(&v->client);
	if (check_stopped(h, name, e) < 0 || start(h, name, e) < 0)
		return -1;
	v->started = true;
	return client_open(&v->client, h, name, e);
}

void visit_done(struct visit *v)
{
	struct err ignored;

	client_done(&v->client);
	if (v->started)
		IGNORE(control_stop(v->client.home, v->client.name, CONTROL_GRACE_DEFAULT,
				    &ignored));
	v->started = false;
}
