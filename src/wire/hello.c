#include "wire/hello.h"

#include <string.h>

/* A forward cursor over bytes of a stranger; running out is sticky. */
struct cursor {
	const uint8_t *p;
	size_t n;
	bool bad;
};

static uint32_t take_int(struct cursor *c, size_t bytes)
{
	uint32_t v = 0;

	if (c->bad || c->n < bytes) {
		c->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | c->p[i];
	c->p += bytes;
	c->n -= bytes;
	return v;
}

static struct cursor take(struct cursor *c, size_t n)
{
	struct cursor part = { c->p, n, false };

	if (c->bad || c->n < n) {
		c->bad = true;
		return (struct cursor){ NULL, 0, true };
	}
	c->p += n;
	c->n -= n;
	return part;
}

/* A name in the one form we compare; false for anything else. */
static bool clean_name(const uint8_t *p, size_t n, char out[HELLO_NAME_BYTES])
{
	if (n > 0 && p[n - 1] == '.')
		n--;
	if (n == 0 || n >= HELLO_NAME_BYTES)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint8_t c = p[i];

		if (c >= 'A' && c <= 'Z')
			c = (uint8_t)(c - 'A' + 'a');
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
		      c == '.'))
			return false;
		out[i] = (char)c;
	}
	out[n] = '\0';
	return true;
}

/* --- TLS ------------------------------------------------------------------------------------- */

enum { RECORD_HANDSHAKE = 22, CLIENT_HELLO = 1, EXT_SERVER_NAME = 0, NAME_HOST = 0 };
#define RECORD_MAX 16384u
#define HANDSHAKE_HEADER_BYTES 4u

static enum hello_kind read_server_name(struct cursor ext, char name[HELLO_NAME_BYTES])
{
	struct cursor list = take(&ext, take_int(&ext, 2)), host;
	uint32_t type = take_int(&list, 1);

	host = take(&list, take_int(&list, 2));
	if (ext.bad || list.bad || ext.n || list.n || type != NAME_HOST ||
	    !clean_name(host.p, host.n, name))
		return HELLO_BAD;
	return HELLO_TLS;
}

static enum hello_kind read_client_hello(struct cursor c, char name[HELLO_NAME_BYTES])
{
	enum hello_kind kind = HELLO_TLS_BARE;
	struct cursor exts;

	take(&c, 2 + 32); /* version, random */
	take(&c, take_int(&c, 1));
	take(&c, take_int(&c, 2));
	take(&c, take_int(&c, 1));
	if (!c.bad && c.n == 0)
		return kind; /* no extensions at all */
	exts = take(&c, take_int(&c, 2));
	if (c.bad || c.n)
		return HELLO_BAD;
	while (exts.n) {
		uint32_t type = take_int(&exts, 2);
		struct cursor ext = take(&exts, take_int(&exts, 2));

		if (exts.bad)
			return HELLO_BAD;
		if (type != EXT_SERVER_NAME)
			continue;
		if (kind != HELLO_TLS_BARE)
			return HELLO_BAD; /* two names */
		kind = read_server_name(ext, name);
		if (kind == HELLO_BAD)
			return kind;
	}
	return kind;
}

/* Strips the record layer: a hello may be spread over several records. */
static enum hello_kind parse_tls(const uint8_t *p, size_t n, char name[HELLO_NAME_BYTES])
{
	uint8_t body[HELLO_MAX_BYTES];
	size_t used = 0, want = HANDSHAKE_HEADER_BYTES;
	struct cursor c = { p, n, false };

	while (used < want) {
		size_t len, here;

		if (c.n == 0)
			return HELLO_MORE;
		if (c.p[0] != RECORD_HANDSHAKE || (c.n > 1 && c.p[1] != 3))
			return HELLO_BAD;
		if (c.n < 5)
			return HELLO_MORE;
		take_int(&c, 3);
		len = take_int(&c, 2);
		if (len == 0 || len > RECORD_MAX)
			return HELLO_BAD;
		here = len < c.n ? len : c.n;
		if (here > sizeof(body) - used)
			return HELLO_BAD;
		memcpy(body + used, c.p, here);
		used += here;
		c.p += here;
		c.n -= here;
		if (used >= HANDSHAKE_HEADER_BYTES && want == HANDSHAKE_HEADER_BYTES) {
			if (body[0] != CLIENT_HELLO)
				return HELLO_BAD;
			want += (size_t)body[1] << 16 | (size_t)body[2] << 8 | body[3];
			if (want > sizeof(body))
				return HELLO_BAD;
		}
		if (here < len && used < want)
			return HELLO_MORE;
	}
	return read_client_hello((struct cursor){ body + HANDSHAKE_HEADER_BYTES,
						  want - HANDSHAKE_HEADER_BYTES, false },
				 name);
}

/* --- HTTP/1 ----------------------------------------------------------------------------------- */

#define METHOD_MAX_BYTES 16u

static bool same_word(const uint8_t *p, const char *lower, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = p[i] >= 'A' && p[i] <= 'Z' ? (uint8_t)(p[i] - 'A' + 'a') : p[i];

		if (c != (uint8_t)lower[i])
			return false;
	}
	return true;
}

static bool host_value(const uint8_t *p, size_t n, char name[HELLO_NAME_BYTES])
{
	const uint8_t *colon;

	while (n && (*p == ' ' || *p == '\t'))
		p++, n--;
	while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
		n--;
	colon = memchr(p, ':', n);
	return clean_name(p, colon ? (size_t)(colon - p) : n, name);
}

/* Method and space, or the beginning of that. */
static enum hello_kind parse_method(const uint8_t *p, size_t n)
{
	size_t i = 0;

	while (i < n && i < METHOD_MAX_BYTES && p[i] >= 'A' && p[i] <= 'Z')
		i++;
	if (i == n && i < METHOD_MAX_BYTES)
		return HELLO_MORE;
	/* a word that is too long stays so, whatever follows: the answer may not depend on where the bytes
	 * were cut */
	return i > 0 && i < METHOD_MAX_BYTES && p[i] == ' ' ? HELLO_HTTP : HELLO_OPAQUE;
}

static enum hello_kind parse_http(const uint8_t *p, size_t n, char name[HELLO_NAME_BYTES])
{
	enum hello_kind kind = parse_method(p, n);
	bool first = true, found = false;

	if (kind != HELLO_HTTP)
		return kind;
	for (;;) {
		const uint8_t *end = memchr(p, '\n', n);
		size_t line;

		if (!end)
			return HELLO_MORE;
		line = (size_t)(end - p);
		if (line && p[line - 1] == '\r')
			line--;
		if (!first && line == 0)
			return found ? HELLO_HTTP : HELLO_BAD;
		if (!first && line > 5 && same_word(p, "host:", 5)) {
			if (found || !host_value(p + 5, line - 5, name))
				return HELLO_BAD;
			found = true;
		}
		if (!first && (p[0] == ' ' || p[0] == '\t'))
			return HELLO_BAD; /* folded lines are read differently by different servers */
		first = false;
		n -= (size_t)(end - p) + 1;
		p = end + 1;
	}
}

enum hello_kind hello_parse(const uint8_t *p, size_t n, char name[HELLO_NAME_BYTES])
{
	enum hello_kind kind;

	if (n == 0)
		return HELLO_MORE;
	kind = p[0] == RECORD_HANDSHAKE ? parse_tls(p, n, name) : parse_http(p, n, name);
	return kind == HELLO_MORE && n >= HELLO_MAX_BYTES ? HELLO_BAD : kind;
}
