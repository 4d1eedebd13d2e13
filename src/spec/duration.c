#include "spec/grammar.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/bad.h"

#define MS_PER_S 1000ull
/* The longest duration is a century. As nanoseconds it still fits into 64 bits. */
#define DURATION_MAX_MS (100ull * 366 * 86400 * MS_PER_S)

static const struct {
	const char *name;
	uint64_t ms;
} units[] = { { "d", 86400 * MS_PER_S },
	      { "h", 3600 * MS_PER_S },
	      { "m", 60 * MS_PER_S },
	      { "s", MS_PER_S },
	      { "ms", 1 } };

/* Reads one part of a text such as "1h30m". *LEAST is the smallest unit so far. Units must go from
 * large to small, and each may appear once, so "1m1h" is a mistake. */
static int part(const char *flag, const char *whole, const char **p, size_t *least, uint64_t *ms,
		struct err *e)
{
	size_t n = strspn(*p, "0123456789"), len, u;
	uint64_t v;

	if (n == 0)
		return bad_value(e, flag, "duration", whole,
				 "expected a number such as 30, 30s, 5m or 1h30m");
	len = strcspn(*p + n, "0123456789");
	for (u = 0; u < ARRAY_SIZE(units); u++)
		if (str_eq((struct str){ *p + n, len }, units[u].name))
			break;
	if (u == ARRAY_SIZE(units) && len == 0)
		return bad_value(e, flag, "duration", whole, "the last number lacks a unit");
	if (u == ARRAY_SIZE(units))
		return bad_value(e, flag, "duration", whole,
				 "unknown unit '%.*s', use ms, s, m, h or d",
				 len > 16 ? 16 : (int)len, *p + n);
	if (*least < ARRAY_SIZE(units) && u <= *least)
		return bad_value(e, flag, "duration", whole, "units must go from large to small");
	if (parse_u64_str((struct str){ *p, n }, 0, DURATION_MAX_MS / units[u].ms, &v) < 0 ||
	    *ms + v * units[u].ms > DURATION_MAX_MS)
		return bad_value(e, flag, "duration", whole, "longer than a hundred years");
	*least = u;
	*ms += v * units[u].ms;
	*p += n + len;
	return 0;
}

int parse_duration_ms(const char *flag, const char *s, uint64_t *ret, struct err *e)
{
	const char *p = s;
	size_t least = ARRAY_SIZE(units);
	uint64_t ms = 0;

	if (*s && !s[strspn(s, "0123456789")]) { /* a number without a unit means seconds */
		if (parse_u64(s, 0, DURATION_MAX_MS / MS_PER_S, &ms) < 0)
			return bad_value(e, flag, "duration", s, "longer than a hundred years");
		*ret = ms * MS_PER_S;
		return 0;
	}
	do {
		if (part(flag, s, &p, &least, &ms, e) < 0)
			return -1;
	} while (*p);
	*ret = ms;
	return 0;
}

int parse_duration_s(const char *flag, const char *s, uint64_t *ret, struct err *e)
{
	uint64_t ms;

	if (parse_duration_ms(flag, s, &ms, e) < 0)
		return -1;
	*ret = (ms + MS_PER_S - 1) / MS_PER_S;
	return 0;
}
