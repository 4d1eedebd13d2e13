#include "spec/grammar.h"

#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/str.h"
#include "spec/bad.h"

static const struct {
	const char *name;
	int resource;
} rlimits[] = {
	{ "cpu", RLIMIT_CPU },           { "fsize", RLIMIT_FSIZE },
	{ "data", RLIMIT_DATA },         { "stack", RLIMIT_STACK },
	{ "core", RLIMIT_CORE },         { "rss", RLIMIT_RSS },
	{ "nproc", RLIMIT_NPROC },       { "nofile", RLIMIT_NOFILE },
	{ "memlock", RLIMIT_MEMLOCK },   { "as", RLIMIT_AS },
	{ "locks", RLIMIT_LOCKS },       { "sigpending", RLIMIT_SIGPENDING },
	{ "msgqueue", RLIMIT_MSGQUEUE }, { "nice", RLIMIT_NICE },
	{ "rtprio", RLIMIT_RTPRIO },     { "rttime", RLIMIT_RTTIME },
};

const char *rlimit_name(int resource)
{
	for (size_t i = 0; i < ARRAY_SIZE(rlimits); i++)
		if (rlimits[i].resource == resource)
			return rlimits[i].name;
	return NULL;
}

int rlimit_number(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rlimits); i++)
		if (strcasecmp(rlimits[i].name, name) == 0)
			return rlimits[i].resource;
	return -1;
}

static bool amount(struct str s, uint64_t *ret)
{
	if (str_eq(s, "unlimited")) {
		*ret = UINT64_MAX;
		return true;
	}
	return parse_u64_str(s, 0, INT64_MAX, ret) == 0;
}

const char *rlimit_refused(const struct spec_rlimit *r)
{
	if (r->soft > r->hard)
		return "the soft limit is above the hard limit";
	/* Accept 0 and 1. Both ask for no core dumps, and no command of a sandbox can dump core.
	 * With both values the limit of the command stays 1 (base/confine.h). */
	if (r->resource == RLIMIT_CORE && r->hard > CONFINE_CORE_BYTES)
		return "core dumps are not supported in a sandbox, because the host's crash "
		       "handler would run";
	return NULL;
}

int parse_rlimit(const char *value, struct spec_rlimit *ret, struct err *e)
{
	struct str rest = str_of(value), name = str_cut(&rest, '='), soft, hard;
	AUTO_FREE char *word = xstrndup(name.p, name.n);
	struct spec_rlimit r = { .resource = rlimit_number(word) };
	const char *refused;

	if (!rest.p)
		return bad_value(e, "--rlimit", "limit", value, "expected NAME=SOFT[:HARD]");
	if (r.resource < 0)
		return bad_value(e, "--rlimit", "limit", value, "unknown name '%.32s'", word);
	soft = str_cut(&rest, ':');
	hard = rest.p ? rest : soft;
	if (!amount(soft, &r.soft) || !amount(hard, &r.hard))
		return bad_value(e, "--rlimit", "limit", value,
				 "limits are whole numbers or 'unlimited'");
	refused = rlimit_refused(&r);
	if (refused)
		return bad_value(e, "--rlimit", "limit", value, "%s", refused);
	*ret = r;
	return 0;
}
