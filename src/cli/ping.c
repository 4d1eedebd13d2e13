#include <stdio.h>

#include "base/clock.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/targets.h"
#include "client/control.h"

struct ping {
	const char *verb; /* for the message "cannot VERB …" */
	bool touch;
};

static int ping(const struct args *a, const struct home *h, const char *name, void *data,
		struct err *e)
{
	const struct ping *p = data;
	AUTO_RECORD r = RECORD_NONE;
	char text[SPEC_NAME_MAX_BYTES + 32];
	uint64_t ns;

	if (record_load(h, name, &r, e) < 0)
		return -1;
	if (!sandbox_is_up(&r))
		return err_set(e, ERR_NOT_RUNNING,
			       "sandbox '%s' is not running (status: %s); cannot %s", name,
			       status_name(r.status), p->verb);
	if (control_ping(h, name, p->touch, &ns, e) < 0)
		return -1;
	if (ns < NS_PER_MS)
		snprintf(text, sizeof(text), "%s (%lluus)", name, (unsigned long long)(ns / 1000));
	else
		snprintf(text, sizeof(text), "%s (%llums)", name,
			 (unsigned long long)(ns / NS_PER_MS));
	if (p->verb[0] == 'p')
		say_done("Reachable", text, 0);
	else
		say_done("Touched", name, 0);
	return 0;
}

int cmd_ping(const struct args *a)
{
	struct ping p = { "ping", args_has(a, "touch") };

	return targets_each(a, ping, &p, true);
}

int cmd_touch(const struct args *a)
{
	struct ping p = { "touch", true };

	return targets_each(a, ping, &p, true);
}
