#include "registry/challenge.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

static bool is_token(char c)
{
	return c > ' ' && c < 0x7f && !strchr("()<>@,;:\\\"/[]?={}", c);
}

static void skip(const char **p, const char *set)
{
	*p += strspn(*p, set);
}

/* Reads a token, or a quoted string (in which a backslash stands before a literal character).
 * Returns -EINVAL if the value is too long, has a control character or lacks its closing quote. */
static int read_value(const char **p, char out[CHALLENGE_FIELD_BYTES])
{
	bool quoted = **p == '"';
	size_t n = 0;

	*p += quoted;
	for (; **p && (quoted ? **p != '"' : is_token(**p)); (*p)++) {
		if (quoted && **p == '\\' && (*p)[1])
			(*p)++;
		if (n + 1 >= CHALLENGE_FIELD_BYTES || (unsigned char)**p < ' ')
			return -EINVAL;
		out[n++] = **p;
	}
	out[n] = '\0';
	if (quoted && **p != '"')
		return -EINVAL;
	*p += quoted;
	return 0;
}

static char *field_of(struct challenge *c, struct str name)
{
	if (name.n == strlen("realm") && strncasecmp(name.p, "realm", name.n) == 0)
		return c->realm;
	if (name.n == strlen("service") && strncasecmp(name.p, "service", name.n) == 0)
		return c->service;
	if (name.n == strlen("scope") && strncasecmp(name.p, "scope", name.n) == 0)
		return c->scope;
	return NULL;
}

/* Reads parameters up to the end of the header or up to the next scheme, which is a word without
 * '='. */
static int read_parameters(const char **p, struct challenge *c)
{
	for (;;) {
		char other[CHALLENGE_FIELD_BYTES];
		struct str name = { *p, 0 };
		const char *at = *p;
		char *to;

		while (is_token(*at))
			at++;
		name.n = (size_t)(at - name.p);
		skip(&at, " \t");
		if (name.n == 0 || *at != '=')
			return 0;
		at++;
		skip(&at, " \t");
		to = field_of(c, name);
		if (read_value(&at, to ? to : other) < 0)
			return -EINVAL;
		skip(&at, " \t,");
		*p = at;
	}
}

int challenge_parse(const char *value, struct challenge *ret)
{
	const char *p = value;

	for (;;) {
		struct challenge c = { 0 };
		const char *scheme;
		size_t n;

		skip(&p, " \t,");
		scheme = p;
		while (is_token(*p))
			p++;
		n = (size_t)(p - scheme);
		if (n == 0)
			return -EINVAL;
		skip(&p, " \t");
		if (read_parameters(&p, &c) < 0)
			return -EINVAL;
		if (n == strlen("Basic") && strncasecmp(scheme, "Basic", n) == 0)
			c.kind = CHALLENGE_BASIC;
		else if (n == strlen("Bearer") && strncasecmp(scheme, "Bearer", n) == 0 &&
			 c.realm[0])
			c.kind = CHALLENGE_BEARER;
		else
			continue;
		*ret = c;
		return 0;
	}
}
