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

/* A ClientHello with these extensions, in records of at most RECORD bytes. */
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

static void a_name_is_found_however_it_is_cut(void)
{
	static const size_t records[] = { 16384, 100, 7, 1 };

	for (size_t r = 0; r < 4; r++) {
		struct msg m = hello_for("Good.Example.", records[r]);
		char name[HELLO_NAME_BYTES];

		for (size_t n = 0; n < m.n; n++)
			T_INT(hello_parse(m.b, n, name), HELLO_MORE);
		T_INT(hello_parse(m.b, m.n, name), HELLO_TLS);
		T_STR(name, "good.example");
	}
}

static void odd_hellos(void)
{
	struct msg exts = { .n = 0 }, m;
	char name[HELLO_NAME_BYTES];

	m = client_hello(&exts, 16384);
	T_INT(hello_parse(m.b, m.n, name), HELLO_TLS_BARE);
	add_name(&exts, "a.b", 3);
	add_name(&exts, "c.d", 3);
	m = client_hello(&exts, 16384);
	T_INT(hello_parse(m.b, m.n, name), HELLO_BAD); /* two names */
	exts.n = 0;
	add_name(&exts, "a\0.b", 4);
	m = client_hello(&exts, 16384);
	T_INT(hello_parse(m.b, m.n, name), HELLO_BAD);
	exts.n = 0;
	add_name(&exts, "", 0);
	m = client_hello(&exts, 16384);
	T_INT(hello_parse(m.b, m.n, name), HELLO_BAD);
	m = hello_for("a.b", 16384);
	m.b[5] = 2; /* not a ClientHello */
	T_INT(hello_parse(m.b, m.n, name), HELLO_BAD);
	m = hello_for("a.b", 16384);
	m.b[6] = 1; /* 64 KiB and more: longer than we look */
	T_INT(hello_parse(m.b, m.n, name), HELLO_BAD);
	m = hello_for("a.b", 16384);
	m.b[m.n - 4] += 1; /* the name's length runs past its end */
	T_INT(hello_parse(m.b, m.n, name), HELLO_BAD);
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
		{ "GET / HTTP/1.1\r\nHost: a\r\n", HELLO_MORE, NULL },
		{ "GET / HTTP/1.1\r\nX: y\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nX: y\r\n Host: b\r\n\r\n", HELLO_BAD, NULL },
		{ "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", HELLO_BAD, NULL },
		{ "OPTION", HELLO_MORE, NULL },
		{ "SSH-2.0-OpenSSH\r\n", HELLO_OPAQUE, NULL },
		{ "GET", HELLO_MORE, NULL },
		{ "GETLOTSOFLETTERSWITHOUTANYEND", HELLO_OPAQUE, NULL },
		{ "\x80\x2e\x01", HELLO_OPAQUE, NULL },
	};
	char name[HELLO_NAME_BYTES];

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		T_INT(hello_parse((const uint8_t *)c[i].text, strlen(c[i].text), name), c[i].kind);
		if (c[i].name)
			T_STR(name, c[i].name);
	}
}

static void endless_requests_are_bad(void)
{
	static uint8_t text[HELLO_MAX_BYTES];
	char name[HELLO_NAME_BYTES];

	memset(text, 'a', sizeof(text));
	memcpy(text, "GET /", 5);
	T_INT(hello_parse(text, sizeof(text) - 1, name), HELLO_MORE);
	T_INT(hello_parse(text, sizeof(text), name), HELLO_BAD);
}

int main(void)
{
	T_RUN(a_name_is_found_however_it_is_cut);
	T_RUN(odd_hellos);
	T_RUN(http);
	T_RUN(endless_requests_are_bad);
	return t_end();
}
