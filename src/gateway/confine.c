#include "gateway/confine.h"

#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gateway/gateway.h"

static int give_up_ids(const struct gateway_config *c, struct err *e)
{
	/* root drops the bounding set now, because it loses CAP_SETPCAP when it changes its ids. An
	 * ordinary user cannot drop the set, but with no_new_privs the set has no effect */
	for (unsigned cap = 0; cap < 64; cap++)
		IGNORE(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0));
	if (!c->has_ids)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(c->gid, c->gid, c->gid) < 0 ||
	    setresuid(c->uid, c->uid, c->uid) < 0)
		return err_sys(e, errno, "become uid %u, gid %u", c->uid, c->gid);
	return 0;
}

static int give_up_capabilities(struct err *e)
{
	/* A failure is harmless: confine_capabilities() below empties the permitted set, and then
	 * the kernel also empties the ambient set. */
	IGNORE(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	if (confine_capabilities(0, e) < 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? err_sys(e, errno, "prctl") : 0;
}

static int set_limit(unsigned resource, rlim_t soft, struct err *e)
{
	struct rlimit r;

	if (getrlimit(resource, &r) < 0)
		return err_sys(e, errno, "getrlimit");
	if (r.rlim_max == RLIM_INFINITY || r.rlim_max > soft)
		r.rlim_max = soft;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(resource, &r) < 0)
		return err_sys(e, errno, "setrlimit");
	return 0;
}

static int set_limits(struct err *e)
{
	/* allow the highest value of `--max-connections`, because the user may raise the value
	 * while the gateway runs */
	rlim_t sockets = POLICY_CONNECTIONS_LIMIT + GATEWAY_SPARE_SOCKETS + RESOLVER_ASKS_MAX +
			 CONFIG_PORTS_MAX + 64;

	if (set_limit(RLIMIT_NOFILE, sockets, e) < 0 || confine_core(e) < 0 ||
	    set_limit(RLIMIT_FSIZE, 0, e) < 0)
		return -1;
	return 0;
}

/* Gives up all rights on files. On a host without Landlock, only the filter of system calls denies
 * access to files. */
static int hide_files(struct err *e)
{
	struct confine_files f;

	return confine_files_begin(&f, e) < 0 || confine_files_end(&f, e) < 0 ? -1 : 0;
}

int confine(const struct gateway_config *c, struct err *e)
{
	if (give_up_ids(c, e) < 0 || give_up_capabilities(e) < 0 || set_limits(e) < 0 ||
	    hide_files(e) < 0 || confine_calls(gateway_filter, gateway_filter_len, e) < 0)
		return err_wrap(e, "confine the gateway");
	return 0;
}
