#include "image/reference.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define PORT_MAX 65535

static bool is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

/* Returns true for labels of letters, digits and inner hyphens, divided by dots. */
static bool host_name_valid(struct str s)
{
	if (s.n == 0)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		bool edge = i == 0 || i + 1 == s.n || s.p[i - 1] == '.' || s.p[i + 1] == '.';

		if (is_alnum(s.p[i]))
			continue;
		if (s.p[i] == '-' && !edge)
			continue;
		if (s.p[i] == '.' && i > 0 && i + 1 < s.n && s.p[i - 1] != '.')
			continue;
		return false;
	}
	return true;
}

static bool host_valid(struct str s)
{
	const char *colon;
	uint64_t port;

	if (s.n > 0 && s.p[0] == '[') { /* [::1]:5000 */
		const char *end = memchr(s.p, ']', s.n);

		if (!end || end == s.p + 1)
			return false;
		for (const char *c = s.p + 1; c < end; c++)
			if (!isxdigit((unsigned char)*c) && *c != ':' && *c != '.')
				return false;
		if (end + 1 == s.p + s.n)
			return true;
		colon = end + 1;
		if (*colon != ':')
			return false;
	} else {
		colon = memchr(s.p, ':', s.n);
		if (!host_name_valid((struct str){ s.p, colon ? (size_t)(colon - s.p) : s.n }))
			return false;
	}
	return !colon || parse_u64_str((struct str){ colon + 1, (size_t)(s.p + s.n - colon - 1) },
				       1, PORT_MAX, &port) == 0;
}

/* Returns true for lower-case letters and digits, joined by a dot, one or two underscores, or
 * hyphens. */
static bool path_component_valid(struct str s)
{
	size_t i = 0;

	if (s.n == 0 || !is_lower_alnum(s.p[0]) || !is_lower_alnum(s.p[s.n - 1]))
		return false;
	while (i < s.n) {
		size_t run = i;

		if (is_lower_alnum(s.p[i])) {
			i++;
			continue;
		}
		while (run < s.n && s.p[run] == s.p[i])
			run++;
		/* the index is in range, because the last byte is a letter or digit */
		if (!is_lower_alnum(s.p[run]))
			return false;
		if (s.p[i] == '.' ? run - i > 1 : s.p[i] == '_' ? run - i > 2 : s.p[i] != '-')
			return false;
		i = run;
	}
	return true;
}

static bool path_valid(struct str path)
{
	while (path.p)
		if (!path_component_valid(str_cut(&path, '/')))
			return false;
	return true;
}

static bool tag_valid(struct str s)
{
	if (s.n == 0 || s.n > REFERENCE_TAG_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!is_alnum(s.p[i]) && s.p[i] != '_' &&
		    (i == 0 || (s.p[i] != '.' && s.p[i] != '-')))
			return false;
	return true;
}

/* Returns true if the first component of a reference is a host: if it is "localhost", or if it has
 * a dot, a colon or a capital letter. */
static bool is_host(struct str first)
{
	if (str_eq(first, "localhost"))
		return true;
	for (size_t i = 0; i < first.n; i++)
		if (first.p[i] == '.' || first.p[i] == ':' || isupper((unsigned char)first.p[i]))
			return true;
	return false;
}

static void put(char *out, struct str s)
{
	memcpy(out, s.p, s.n);
	out[s.n] = '\0';
}

static const char *split_digest(struct str *s, struct reference *r)
{
	const char *at = memchr(s->p, '@', s->n);

	if (!at)
		return NULL;
	if (s->n - (size_t)(at + 1 - s->p) != DIGEST_BYTES - 1)
		return "the digest is not sha256: and 64 hex digits";
	put(r->digest, (struct str){ at + 1, DIGEST_BYTES - 1 });
	if (!digest_valid(r->digest))
		return "the digest is not sha256: and 64 hex digits";
	s->n = (size_t)(at - s->p);
	return NULL;
}

static const char *split_tag(struct str *s, struct reference *r)
{
	const char *slash = memrchr(s->p, '/', s->n);
	const char *from = slash ? slash : s->p;
	const char *colon = memchr(from, ':', (size_t)(s->p + s->n - from));
	struct str tag;

	if (!colon) {
		if (!r->digest[0])
			put(r->tag, STR(REFERENCE_DEFAULT_TAG));
		return NULL;
	}
	tag = (struct str){ colon + 1, (size_t)(s->p + s->n - colon - 1) };
	if (!tag_valid(tag))
		return "bad tag";
	put(r->tag, tag);
	s->n = (size_t)(colon - s->p);
	return NULL;
}

static const char *split_name(struct str s, struct reference *r)
{
	const char *slash = memchr(s.p, '/', s.n);
	struct str registry = STR(REFERENCE_DEFAULT_REGISTRY);
	bool is_default;

	if (s.n == 0)
		return "the name is empty";
	if (s.n > REFERENCE_NAME_MAX_BYTES)
		return "the name is longer than 255 bytes";
	if (slash && is_host((struct str){ s.p, (size_t)(slash - s.p) })) {
		registry = (struct str){ s.p, (size_t)(slash - s.p) };
		s = (struct str){ slash + 1, s.n - registry.n - 1 };
		if (!host_valid(registry))
			return "bad registry host";
	}
	if (str_eq(registry, "index." REFERENCE_DEFAULT_REGISTRY))
		registry = STR(REFERENCE_DEFAULT_REGISTRY);
	if (!path_valid(s))
		return "names are lower-case letters and digits, divided by / . _ or -";
	is_default = str_eq(registry, REFERENCE_DEFAULT_REGISTRY);
	put(r->registry, registry);
	if (is_default && !memchr(s.p, '/', s.n))
		snprintf(r->repository, sizeof(r->repository), "library/%.*s", (int)s.n, s.p);
	else
		put(r->repository, s);
	return NULL;
}

int reference_parse(const char *s, struct reference *ret, struct err *e)
{
	struct reference r = { 0 };
	struct str rest = str_of(s);
	const char *why = NULL;

	if (rest.n > REFERENCE_MAX_BYTES)
		return err_set(e, ERR_INVALID, "invalid image reference: longer than %d bytes",
			       REFERENCE_MAX_BYTES);
	if (rest.n == 0)
		why = "it is empty";
	if (!why)
		why = split_digest(&rest, &r);
	if (!why)
		why = split_tag(&rest, &r);
	if (!why)
		why = split_name(rest, &r);
	if (why)
		return err_set(e, ERR_INVALID, "invalid image reference '%s': %s", s, why);
	*ret = r;
	return 0;
}

void reference_key(const struct reference *r, char out[REFERENCE_KEY_BYTES])
{
	snprintf(out, REFERENCE_KEY_BYTES, "%s/%s%c%s", r->registry, r->repository,
		 r->digest[0] ? '@' : ':', reference_target(r));
}

const char *reference_target(const struct reference *r)
{
	return r->digest[0] ? r->digest : r->tag;
}
