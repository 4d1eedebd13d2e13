#include "wire/hello.h"

#include <string.h>

/* A forward cursor over untrusted bytes. After a read beyond the end, every further read fails. */
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

/* Copies a name in lower case, without its trailing dot. Returns false if the name is empty or too
 * long, or if servers could read it in two ways. */
static bool clean_name(const uint8_t *p, size_t n, char out[HELLO_NAME_BYTES])
{
	if (n > 0 && p[n - 1] == '.')
		n--;
	if (n == 0 || n >= HELLO_NAME_BYTES)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint8_t c = p[i];

		/* some servers strip several trailing dots, others take them as part of the name */
		if (c == '.' && (i == 0 || i == n - 1 || p[i - 1] == '.'))
			return false;
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

enum {
	RECORD_FIRST = 20, /* types 20 to 24: change of cipher, alert, handshake, data, heartbeat */
	RECORD_HANDSHAKE = 22,
	RECORD_LAST = 24,
	CLIENT_HELLO = 1,
	EXT_SERVER_NAME = 0,
	EXT_EARLY_DATA = 42,
	NAME_HOST = 0,
};
#define RECORD_MAX 16384u
#define RECORD_HEADER_BYTES 5u
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

static enum hello_kind read_extensions(struct cursor exts, struct hello *h)
{
	enum hello_kind kind = HELLO_BARE;

	while (exts.n) {
		uint32_t type = take_int(&exts, 2);
		struct cursor ext = take(&exts, take_int(&exts, 2));

		if (exts.bad)
			return HELLO_BAD;
		h->early |= type == EXT_EARLY_DATA;
		if (type != EXT_SERVER_NAME)
			continue;
		if (kind != HELLO_BARE)
			return HELLO_BAD; /* there are two names */
		kind = read_server_name(ext, h->name);
		if (kind == HELLO_BAD)
			return kind;
	}
	return kind;
}

static enum hello_kind read_client_hello(struct cursor c, bool datagram, struct hello *h)
{
	struct cursor exts;

	take(&c, 2 + 32); /* version, random */
	take(&c, take_int(&c, 1));
	if (datagram)
		take(&c, take_int(&c, 1)); /* cookie */
	take(&c, take_int(&c, 2));
	take(&c, take_int(&c, 1));
	if (!c.bad && c.n == 0)
		return HELLO_BARE; /* no extensions at all */
	exts = take(&c, take_int(&c, 2));
	return c.bad || c.n ? HELLO_BAD : read_extensions(exts, h);
}

bool hello_is_tls(uint8_t first)
{
	return first == RECORD_HANDSHAKE;
}

static bool is_record(uint32_t type)
{
	return type >= RECORD_FIRST && type <= RECORD_LAST;
}

enum hello_kind hello_look_ahead(const uint8_t *p, size_t n)
{
	if (!is_record(p[0]) || p[0] == RECORD_HANDSHAKE || (n > 1 && p[1] != 3))
		return HELLO_OPAQUE;
	return n > 1 ? HELLO_BAD : HELLO_MORE;
}

/* Reads the hello that the TLS records hold. The hello may span several records, and nothing may
 * follow the hello in its last record. */
static enum hello_kind read_records(const uint8_t *p, size_t n, struct hello *h)
{
	uint8_t body[HELLO_MAX_BYTES];
	size_t used = 0, want = HANDSHAKE_HEADER_BYTES;
	struct cursor c = { p, n, false };

	while (used < want) {
		size_t len;

		h->n = n + 1;
		if (c.n == 0)
			return HELLO_MORE;
		if (c.p[0] != RECORD_HANDSHAKE || (c.n > 1 && c.p[1] != 3))
			return HELLO_BAD;
		if (c.n < RECORD_HEADER_BYTES)
			return HELLO_MORE;
		take_int(&c, 3);
		len = take_int(&c, 2);
		if (len == 0 || len > RECORD_MAX || len > sizeof(body) - used)
			return HELLO_BAD;
		/* if the record is no hello, do not wait for the rest of the record */
		if (used == 0 && c.n > 0 && c.p[0] != CLIENT_HELLO)
			return HELLO_BAD;
		if (used > 0 || c.n > 0)
			h->n = (size_t)(c.p - p) + len;
		if (c.n < len)
			return HELLO_MORE;
		memcpy(body + used, c.p, len);
		take(&c, len);
		used += len;
		if (used < HANDSHAKE_HEADER_BYTES || want > HANDSHAKE_HEADER_BYTES)
			continue;
		want += (size_t)body[1] << 16 | (size_t)body[2] << 8 | body[3];
		if (want > sizeof(body))
			return HELLO_BAD;
	}
	if (used > want)
		return HELLO_BAD;
	return read_client_hello((struct cursor){ body + HANDSHAKE_HEADER_BYTES,
						  want - HANDSHAKE_HEADER_BYTES, false },
				 false, h);
}

void hello_read_tls(const uint8_t *p, size_t n, struct hello *ret)
{
	*ret = (struct hello){ 0 };
	ret->kind = read_records(p, n, ret);
	if (ret->kind == HELLO_MORE && (n >= HELLO_MAX_BYTES || ret->n > HELLO_MAX_BYTES))
		ret->kind = HELLO_BAD;
}

/* --- datagrams ------------------------------------------------------------------------------- */

/* Reads a client's hello (RFC 6347 and 9147). The hello must fill the record exactly. */
static enum hello_kind read_dtls_handshake(struct cursor record, struct hello *h)
{
	uint32_t len, at, here;

	if (take_int(&record, 1) != CLIENT_HELLO)
		return record.bad ? HELLO_BAD : HELLO_OPAQUE; /* a later message of the handshake */
	len = take_int(&record, 3);
	take_int(&record, 2);
	at = take_int(&record, 3);
	here = take_int(&record, 3);
	if (record.bad || at != 0 || here != len || record.n != len)
		return HELLO_BAD;
	return read_client_hello(record, true, h);
}

/* Reads records until it finds a hello. The hello need not be the first record, because servers
 * skip some kinds of records. */
static enum hello_kind read_dtls(struct cursor c, struct hello *h)
{
	enum hello_kind kind = HELLO_OPAQUE;

	while (c.n && kind == HELLO_OPAQUE) {
		uint32_t type = take_int(&c, 1), epoch;
		struct cursor record;

		take_int(&c, 2); /* version */
		epoch = take_int(&c, 2);
		take(&c, 6); /* number */
		record = take(&c, take_int(&c, 2));
		if (c.bad || !is_record(type))
			return HELLO_BAD;
		if (type == RECORD_HANDSHAKE && epoch == 0) /* later epochs are encrypted */
			kind = read_dtls_handshake(record, h);
	}
	return kind;
}

/* Returns true for a packet that opens a QUIC connection; only such packets carry a version. The
 * code below lists the versions that servers on the internet speak, also drafts and
 * predecessors. */
static bool is_quic(const uint8_t *p, size_t n)
{
	uint32_t version;

	if (n < 5 || !(p[0] & 0x80))
		return false;
	version = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
	/* 0x?a?a?a?a is a number that makes the server list its versions */
	return version == 1 || version == 0x6b3343cf ||
	       version >> 8 == 0xff0000 ||                             /* 1, 2, and drafts of 1 */
	       version >> 24 == 'Q' || version >> 24 == 'T' ||         /* Google's versions */
	       version >> 8 == 0xfaceb0 || version >> 8 == 0x709a50 || /* mvfst; drafts of 2 */
	       (version & 0x0f0f0f0f) == 0x0a0a0a0a;
}

void hello_read_datagram(const uint8_t *p, size_t n, struct hello *ret)
{
	*ret = (struct hello){ .kind = HELLO_OPAQUE, .n = n };
	if (is_quic(p, n))
		ret->kind = HELLO_HIDDEN;
	else if (n > 2 && is_record(p[0]) && p[1] == 0xfe)
		ret->kind = read_dtls((struct cursor){ p, n, false }, ret);
}

/* --- HTTP/1 ----------------------------------------------------------------------------------- */

#define METHOD_MAX_BYTES 32u

static bool same_word(struct cursor c, const char *lower)
{
	size_t n = strlen(lower);

	if (c.n != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint8_t b = c.p[i] >= 'A' && c.p[i] <= 'Z' ? (uint8_t)(c.p[i] - 'A' + 'a') : c.p[i];

		if (b != (uint8_t)lower[i])
			return false;
	}
	return true;
}

/* Returns true for a character of the names of methods and header lines (RFC 9110, 5.6.2). */
static bool is_token(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Cuts C at its first byte AT. *RET gets the part before this byte, and C keeps the part
 * after it. Returns false if C has no such byte. */
static bool cut(struct cursor *c, uint8_t at, struct cursor *ret)
{
	const uint8_t *end = memchr(c->p, at, c->n);

	if (!end)
		return false;
	*ret = take(c, (size_t)(end - c->p));
	take(c, 1);
	return true;
}

static struct cursor trim(struct cursor c)
{
	while (c.n && (*c.p == ' ' || *c.p == '\t'))
		c.p++, c.n--;
	while (c.n && (c.p[c.n - 1] == ' ' || c.p[c.n - 1] == '\t'))
		c.n--;
	return c;
}

/* Reads HOST[:PORT]. Refuses anything else, because the name need not come first: in "good:x@evil",
 * "good" is a user and "evil" is the host. */
static bool authority(struct cursor c, char name[HELLO_NAME_BYTES])
{
	const uint8_t *colon = c.n ? memchr(c.p, ':', c.n) : NULL;
	size_t n = colon ? (size_t)(colon - c.p) : c.n;

	for (size_t i = n + 1; i < c.n; i++)
		if (c.p[i] < '0' || c.p[i] > '9')
			return false;
	return clean_name(c.p, n, name);
}

/* Returns false for a line with control characters: some servers end a line at a lone carriage
 * return, or at a NUL. */
static bool is_clean_line(struct cursor c)
{
	for (size_t i = 0; i < c.n; i++)
		if ((c.p[i] < ' ' && c.p[i] != '\t') || c.p[i] == 0x7f)
			return false;
	return true;
}

struct request {
	bool is_old; /* HTTP/1.0, in which servers disagree on where a chunked body ends */
	bool has_host, has_length, has_coding, has_target;
	char target[HELLO_NAME_BYTES]; /* the name in "GET http://name/" */
};

/* Returns true for a line with "http/" in upper or lower case. Without it, no server takes the line
 * for HTTP/1. */
static bool speaks_of_http(struct cursor line)
{
	const size_t n = 5;

	for (size_t i = 0; i + n <= line.n; i++)
		if (same_word((struct cursor){ line.p + i, n, false }, "http/"))
			return true;
	return false;
}

/* Reads METHOD TARGET HTTP/1.x. If the target is a whole URL, a server uses the name in the URL
 * instead of the name in Host, so the two names must agree. */
static enum hello_kind read_first_line(struct cursor line, struct request *r)
{
	struct cursor method, target, rest = line;

	if (!speaks_of_http(line))
		return HELLO_OPAQUE; /* HTTP/0.9 comes here, too: it has no Host */
	if (!is_clean_line(line) || !cut(&rest, ' ', &method) || !cut(&rest, ' ', &target) ||
	    method.n == 0 || target.n == 0 || same_word(method, "connect") ||
	    (!same_word(rest, "http/1.1") && !same_word(rest, "http/1.0")))
		return HELLO_BAD;
	r->is_old = same_word(rest, "http/1.0");
	if (target.p[0] == '/' || (target.n == 1 && target.p[0] == '*'))
		return HELLO_HTTP;
	for (unsigned i = 0; i < 2; i++) {
		static const char *const scheme[] = { "http://", "https://" };
		size_t n = strlen(scheme[i]);
		struct cursor begin = { target.p, target.n < n ? target.n : n, false }, rest_of,
			      name;

		if (!same_word(begin, scheme[i]))
			continue;
		rest_of = (struct cursor){ target.p + n, target.n - n, false };
		if (!cut(&rest_of, '/', &name))
			name = rest_of;
		r->has_target = authority(name, r->target);
		return r->has_target ? HELLO_HTTP : HELLO_BAD;
	}
	return HELLO_BAD;
}

static bool read_length(struct cursor c, uint64_t *ret)
{
	uint64_t v = 0;

	if (c.n == 0 || c.n > 18)
		return false;
	for (size_t i = 0; i < c.n; i++) {
		if (c.p[i] < '0' || c.p[i] > '9')
			return false;
		v = 10 * v + (uint64_t)(c.p[i] - '0');
	}
	*ret = v;
	return true;
}

/* Reads one header line. Returns false if servers could read the line in two ways. Host,
 * Content-Length and Transfer-Encoding may each come only once. */
static bool read_line(struct cursor line, struct request *r, struct hello *h)
{
	struct cursor name, value = line;

	if (!is_clean_line(line) || !cut(&value, ':', &name) || name.n == 0)
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (!is_token(name.p[i]))
			return false; /* a folded line fails here, too: it begins with a space */
	value = trim(value);
	if (same_word(name, "host")) {
		if (r->has_host || !authority(value, h->name))
			return false;
		r->has_host = true;
	} else if (same_word(name, "content-length")) {
		if (r->has_length || !read_length(value, &h->body))
			return false;
		r->has_length = true;
	} else if (same_word(name, "transfer-encoding")) {
		if (r->has_coding || !same_word(value, "chunked"))
			return false;
		r->has_coding = h->chunked = true;
	}
	return true;
}

static enum hello_kind read_request(const uint8_t *p, size_t n, struct hello *h)
{
	struct cursor c = { p, n, false }, line;
	struct request r = { 0 };
	enum hello_kind kind = HELLO_MORE;

	while (cut(&c, '\n', &line)) {
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (kind == HELLO_MORE) {
			kind = read_first_line(line, &r);
			if (kind != HELLO_HTTP)
				return kind;
			continue;
		}
		if (line.n > 0) {
			if (!read_line(line, &r, h))
				return HELLO_BAD;
			continue;
		}
		h->n = (size_t)(c.p - p);
		if ((r.has_coding && (r.has_length || r.is_old)) ||
		    (r.has_target && (!r.has_host || strcmp(r.target, h->name) != 0)))
			return HELLO_BAD;
		return r.has_host ? HELLO_HTTP : HELLO_BARE;
	}
	return HELLO_MORE;
}

/* Returns HELLO_HTTP if the bytes begin with "METHOD ", HELLO_MORE if more bytes are needed, and
 * otherwise HELLO_OPAQUE. But if a method has METHOD_MAX_BYTES or more, returns HELLO_BAD: some
 * servers would still read such bytes as HTTP, so they must not count as another protocol. */
static enum hello_kind look_at_method(const uint8_t *p, size_t n)
{
	size_t i = 0;

	while (i < n && i < METHOD_MAX_BYTES && is_token(p[i]))
		i++;
	if (i == METHOD_MAX_BYTES)
		return HELLO_BAD;
	if (i == n)
		return HELLO_MORE;
	return i > 0 && (p[i] == ' ' || p[i] == '\t') ? HELLO_HTTP : HELLO_OPAQUE;
}

void hello_read_http(const uint8_t *p, size_t n, struct hello *ret)
{
	*ret = (struct hello){ .n = n + 1 };
	ret->kind = look_at_method(p, n);
	if (ret->kind == HELLO_HTTP)
		ret->kind = read_request(p, n, ret);
	if (ret->kind == HELLO_MORE && n >= HELLO_MAX_BYTES)
		ret->kind = HELLO_BAD;
	if (ret->kind == HELLO_OPAQUE)
		ret->n = n;
}
