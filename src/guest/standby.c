#include "guest/standby.h"

#include <signal.h>

#include "base/clock.h"
#include "guest/guest.h"

void standby_end(struct guest *g)
{
	if (g->standby.child.pid)
		kill(g->standby.child.pid, SIGKILL);
}

static void on_idle(void *arg)
{
	struct guest *g = arg;

	g->standby.timer = 0;
	standby_end(g);
}

void standby_renew(struct guest *g)
{
	struct standby *s = &g->standby;
	uint64_t until = clock_mono_ns() + STANDBY_IDLE_NS;
	bool mark = g->scopes.payload < 0;

	if (g->stopping)
		return;
	if (s->timer)
		loop_move_timer(g->loop, s->timer, until);
	else
		s->timer = loop_add_timer(g->loop, until, on_idle, g);
	if (s->child.pid)
		return;
	scope_open(&g->scopes, &s->scope);
	if ((s->scope.group < 0 && !mark) ||
	    exec_stand_by(&s->child, &g->walls, s->scope.group, mark) < 0) {
		scope_close(&g->scopes, &s->scope); /* the next command does it all itself */
		return;
	}
	if (mark)
		scope_mark(&s->scope, s->child.pid);
}

bool standby_take(struct guest *g, struct scope *ret_scope)
{
	struct standby *s = &g->standby;

	if (!s->child.pid)
		return false;
	*ret_scope = s->scope;
	s->scope = SCOPE_NONE;
	return true;
}

void standby_reaped(struct guest *g, pid_t pid)
{
	struct standby *s = &g->standby;

	if (s->child.pid != pid)
		return;
	s->child.pid = 0;
	scope_close(&g->scopes, &s->scope);
}
