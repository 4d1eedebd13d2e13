#include "wire/hello.h"
#include "t.h"

struct msg {
	uint8_t b[HELLO_MAX_BYTES + 64];
	size_t n;
};

static void add(struct msg *m, const void *p, size_t n)
{
	memcpy(m->b + m->n, p, n);
	m->n += n;
}

static void add16(struct msg *m, size_t v)
{
	uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	add(m, b, 2);
}

/* Returns a ClientHello with the extensions EXTS, in records of at most RECORD bytes. */
static struct msg client_hello(const struct msg *exts, size_t record)
{
	struct msg body = { .n = 0 }, out = { .n = 0 };
	static const uint8_t zero[32];

	add(&body, "\x01\x00", 2);
	add16(&body, 2 + 32 + 1 + 2 + 2 + 1 + 1 + 2 + exts->n);
	add(&body, "\x03\x03", 2);
	add(&body, zero, 32);
	add(&body, "\x00", 1);                     /* session */
	add(&body, "\x00\x02\x13\x01\x01\x00", 6); /* ciphers, compression */
	add16(&body, exts->n);
	add(&body, exts->b, exts->n);
	for (size_t at = 0; at < body.n; at += record) {
		size_t n = body.n - at < record ? body.n - at : record;

		add(&out, "\x16\x03\x01", 3);
		add16(&out, n);
		add(&out, body.b + at, n);
	}
	return out;
}

static void add_name(struct msg *exts, const char *name, size_t n)
{
	add16(exts, 0);
	add16(exts, n + 5);
	add16(exts, n + 3);
	add(exts, "\x00", 1);
	add16(exts, n);
	add(exts, name, n);
}

static struct msg hello_for(const char *name, size_t record)
{
	struct msg exts = { .n = 0 };

	add(&exts, "\x00\x0b\x00\x02\x01\x00", 6);
	add_name(&exts, name, strlen(name));
	return client_hello(&exts, record);
}

static struct hello tls(const struct msg *m, size_t n)
{
	struct hello h;

	hello_read_tls(m->b, n, &h);
	return h;
}

static void a_name_is_found_however_it_is_cut(void)
{
	static const size_t records[] = { 16384, 100, 7, 1 };

	for (size_t r = 0; r < 4; r++) {
		struct msg m = hello_for("Good.Example.", records[r]);
		struct hello h;

		for (size_t n = 0; n < m.n; n++) {
			h = tls(&m, n);
			T_INT(h.kind, HELLO_MORE);
			T_TRUE(h.n > n && h.n <= m.n);
		}
		h = tls(&m, m.n);
		T_INT(h.kind, HELLO_TLS);
		T_INT(h.n, m.n);
		T_STR(h.name, "good.example");
		m.n += 10; /* bytes after the hello are not part of it */
		T_INT(tls(&m, m.n).n, m.n - 10);
	}
}

static void odd_hellos(void)
{
	struct msg exts = { .n = 0 }, m;

	m = client_hello(&exts, 16384);
	T_INT(tls(&m, m.n).kind, HELLO_BARE);
	add_name(&exts, "a.b", 3);
	add_name(&exts, "c.d", 3);
	m = client_hello(&exts, 16384);
	T_INT(tls(&m, m.n).kind, HELLO_BAD); /* two names */
	exts.n = 0;
	add_name(&exts, "a\0.b", 4);
	m = client_hello(&exts, 16384);
	T_INT(tls(&m, m.n).kind, HELLO_BAD);
	exts.n = 0;
	add_name(&exts, "", 0);
	m = client_hello(&exts, 16384);
	T_INT(tls(&m, m.n).kind, HELLO_BAD);
	m = hello_for("a.b", 16384);
	m.b[5] = 2; /* not a ClientHello */
	T_INT(tls(&m, m.n).kind, HELLO_BAD);
	m = hello_for("a.b", 16384);
	m.b[6] = 1; /* the hello claims to be 64 KiB longer, which exceeds HELLO_MAX_BYTES */
	T_INT(tls(&m, m.n).kind, HELLO_BAD);
	m = hello_for("a.b", 16384);
	m.b[m.n - 4] += 1; /* the name claims to end behind the extension */
	T_INT(tls(&m, m.n).kind, HELLO_BAD);
	m = hello_for("a.b", 16384);
	m.b[4]++; /* the record has one more byte after the hello */
	m.b[m.n++] = 1;
	T_INT(tls(&m, m.n).kind, HELLO_BAD);
	exts.n = 0;
	add(&exts, "\x00\x2a\x00\x00", 4);
	m = client_hello(&exts, 16384);
	T_TRUE(tls(&m, m.n).early);
}

static void long_hellos(void)
{
	static struct msg exts, m;

	add16(&exts, 21);
	add16(&exts, 20000);
	exts.n += 20000;
	add_name(&exts, "a.b", 3);
	m = client_hello(&exts, 16384);
	T_INT(tls(&m, m.n).kind, HELLO_TLS);
	T_INT(tls(&m, m.n - 1).kind, HELLO_MORE);
	m.b[6] = 1; /* the hello claims to be 64 KiB longer */
	T_INT(tls(&m, m.n).kind, HELLO_BAD);
}

static void datagrams(void)
{
	static const struct {
		const char *p;
		size_t n;
		enum hello_kind kind;
	} c[] = {
		{ "", 0, HELLO_OPAQUE },
		{ "\xc0\0\0\0\1", 5, HELLO_HIDDEN },
		{ "\xd0\x6b\x33\x43\xcf", 5, HELLO_HIDDEN },
		{ "\xff\xff\0\0\x1d", 5, HELLO_HIDDEN },
		{ "\xc0\x1a\x2a\x3a\x4a", 5, HELLO_HIDDEN },
		{ "\xc0\0\0\0", 4, HELLO_OPAQUE },
		{ "\x40\0\0\0\1", 5, HELLO_OPAQUE },         /* QUIC after its handshake */
		{ "\x80\x00\x12\x34\x56", 5, HELLO_OPAQUE }, /* RTP */
		{ "\x16\xfe\xfd", 3, HELLO_BAD },
		{ "\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\1\x10", 14, HELLO_OPAQUE },
		{ "\x16\xfe\xfd\0\1\0\0\0\0\0\0\0\1\1", 14, HELLO_OPAQUE }, /* encrypted */
		{ "\x17\xfe\xfd\0\1\0\0\0\0\0\0\0\1x", 14, HELLO_OPAQUE },
		{ "\x19\xfe\xfd\0\1\0\0\0\0\0\0\0\1x", 14, HELLO_OPAQUE }, /* with connection id */
	};
	struct msg m = hello_for("good.example", 16384), d = { .n = 0 }, two = { .n = 0 };
	struct hello h;

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		hello_read_datagram((const uint8_t *)c[i].p, c[i].n, &h);
		T_INT(h.kind, c[i].kind);
	}
	add(&d, "\x16\xfe\xfd\0\0\0\0\0\0\0\0", 11);
	add16(&d, m.n - 5 + 9);
	add(&d, "\1\0", 2);
	add16(&d, m.n - 9 + 1);
	add(&d, "\0\0\0\0\0\0", 6);
	add16(&d, m.n - 9 + 1);
	add(&d, m.b + 9, 35);
	add(&d, "", 1); /* the cookie */
	add(&d, m.b + 9 + 35, m.n - 9 - 35);
	hello_read_datagram(d.b, d.n, &h);
	T_INT(h.kind, HELLO_TLS);
	T_STR(h.name, "good.example");
	for (size_t n = 14; n < d.n; n++) {
		hello_read_datagram(d.b, n, &h);
		T_INT(h.kind, HELLO_BAD); /* the datagram is cut */
	}
	add(&two, "\x15\xfe\xfd\0\0\0\0\0\0\0\0\0\2\1\x5a", 15); /* a warning comes first */
	add(&two, d.b, d.n);
	hello_read_datagram(two.b, two.n, &h);
	T_STR(h.name, "good.example");
}

static struct hello http_of(const char *text)
{
	struct hello h;

	hello_read_http((const uint8_t *)text, strlen(text), &h);
	return h;
}

static void http(void)
{
	static const struct {
		const char *text;
		enum hello_kind kind;
		const char *name;
	} c[] = {
		{ "GET / HTTP/1.1\r\nHost: Good.Example\r\n\r\n", HELLO_HTTP, "good.example" },
		{ "GET / HTTP/1.1\nhOST:good.example:8080\n\n", HELLO_HTTP, "good.example" },
		{ "M-SEARCH * HTTP/1.0\r\nHost: a\r\n\r\n", HELLO_HTTP, "a" },
		{ "get http://A:80/x HTTP/1.1\r\nHost: a\r\n\r\n", HELLO_HTTP, "a" },
		{ "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET http://b HTTP/1.1\r\n\r\n", HELLO_BAD, NULL },
		{ "GET x://b/ HTTP/1.1\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET a/ HTTP/1.1\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nHost: a\r\n", HELLO_MORE, NULL },
		{ "GET / HTTP/1.1\r\nX: y\r\n\r\n", HELLO_BARE, NULL },
		{ "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nX: y\r\n Host: b\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nX: y\rHost: b\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nHost : a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nnothing\r\n\r\n", HELLO_BAD, NULL },
		{ "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / http/1.2\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HELLO_BAD, NULL },
		{ "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET /\r\n", HELLO_OPAQUE, NULL },
		{ "EHLO me\r\n", HELLO_OPAQUE, NULL },
		{ "EHLO me", HELLO_MORE, NULL },
		{ "OPTION", HELLO_MORE, NULL },
		{ "SSH-2.0-OpenSSH\r\n", HELLO_OPAQUE, NULL },
		{ "GET", HELLO_MORE, NULL },
		{ "GETLOTSOFLETTERSWITHOUTANYENDTHATONECOULDSEE", HELLO_BAD, NULL },
		{ "GET http://a:x@b/ HTTP/1.1\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET http://a:80@b/ HTTP/1.1\r\nHost: a\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nHost: a.b.:80\r\n\r\n", HELLO_HTTP, "a.b" },
		{ "GET / HTTP/1.1\r\nHost: a.b..\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nHost: a..b\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nHost: .a\r\n\r\n", HELLO_BAD, NULL },
		{ "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", HELLO_BAD,
		  NULL },
		{ "\x80\x2e\x01", HELLO_OPAQUE, NULL },
	};
	struct hello h;

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		h = http_of(c[i].text);
		if (h.kind != c[i].kind)
			T_FAIL("%s: %d, want %d", c[i].text, h.kind, c[i].kind);
		if (c[i].name)
			T_STR(h.name, c[i].name);
	}
}

static void bodies(void)
{
	static const struct {
		const char *lines;
		enum hello_kind kind;
		uint64_t body;
		bool chunked;
	} c[] = {
		{ "", HELLO_HTTP, 0, false },
		{ "Content-Length: 12\r\n", HELLO_HTTP, 12, false },
		{ "content-length:0\r\n", HELLO_HTTP, 0, false },
		{ "Content-Length: 12\r\nContent-Length: 12\r\n", HELLO_BAD, 0, false },
		{ "Content-Length: +1\r\n", HELLO_BAD, 0, false },
		{ "Content-Length: 1, 1\r\n", HELLO_BAD, 0, false },
		{ "Content-Length: 9999999999999999999\r\n", HELLO_BAD, 0, false },
		{ "Content-Length:\r\n", HELLO_BAD, 0, false },
		{ "Transfer-Encoding: Chunked\r\n", HELLO_HTTP, 0, true },
		{ "Transfer-Encoding: gzip\r\n", HELLO_BAD, 0, false },
		{ "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", HELLO_BAD, 0, false },
	};
	char text[256];
	struct hello h;

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		snprintf(text, sizeof(text), "POST / HTTP/1.1\r\nHost: a\r\n%s\r\nbody",
			 c[i].lines);
		h = http_of(text);
		T_INT(h.kind, c[i].kind);
		if (h.kind != HELLO_HTTP)
			continue;
		T_INT(h.n, strlen(text) - 4);
		T_INT(h.body, c[i].body);
		T_INT(h.chunked, c[i].chunked);
	}
}

static void endless_requests_are_bad(void)
{
	static uint8_t text[HELLO_MAX_BYTES];
	struct hello h;

	memset(text, 'a', sizeof(text));
	memcpy(text, "GET /", 5);
	hello_read_http(text, sizeof(text) - 1, &h);
	T_INT(h.kind, HELLO_MORE);
	hello_read_http(text, sizeof(text), &h);
	T_INT(h.kind, HELLO_BAD);
}

int main(void)
{
	T_RUN(a_name_is_found_however_it_is_cut);
	T_RUN(odd_hellos);
	T_RUN(long_hellos);
	T_RUN(datagrams);
	T_RUN(http);
	T_RUN(bodies);
	T_RUN(endless_requests_are_bad);
	return t_end();
}
