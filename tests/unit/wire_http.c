#include "wire/http.h"

#include <errno.h>

#include "base/cleanup.h"
#include "t.h"

#define GET "GET /healthz HTTP/1.1\r\nHost: box\r\n"

/* Reads a whole head at once and returns the result. If the result is not 1, no byte of the input
 * may have been used. */
static int read_request(const char *text, size_t n, struct http_request *ret)
{
	struct str in = { text, n };
	size_t seen = 0;
	int r = http_request_next(&in, &seen, 1000, ret);

	if (r <= 0)
		T_INT(in.n, n);
	return r;
}

static int status_of(const char *text)
{
	struct http_request r;

	return read_request(text, strlen(text), &r);
}

static bool same(struct str a, const char *b)
{
	if (!str_eq(a, b))
		T_FAIL("got '%.*s', want '%s'", (int)a.n, a.p, b);
	return str_eq(a, b);
}

static void a_request_is_taken_apart(void)
{
	static const char text[] = "POST /v1/a%20b/ws?x=1?y HTTP/1.1\r\n"
				   "Host: localhost:5410\r\n"
				   "X-Empty:\r\n"
				   "x-blank: \t \r\n"
				   "Content-Length: 12\r\n"
				   "X-Text: \t a b\xc3\xa9 \r\n"
				   "\r\nbody";
	struct http_request r;
	struct str in = { text, sizeof(text) - 1 }, value;
	size_t seen = 0;

	T_INT(http_request_next(&in, &seen, 12, &r), 1);
	T_TRUE(same(in, "body"));
	T_INT(seen, 0); /* the reader is ready for the next head */
	T_TRUE(same(r.method, "POST"));
	T_TRUE(same(r.path, "/v1/a%20b/ws"));
	T_TRUE(same(r.query, "x=1?y"));
	T_TRUE(same(r.host, "localhost:5410"));
	T_INT(r.minor, 1);
	T_INT(r.body_bytes, 12);
	T_INT(r.headers.n, 5);
	T_TRUE(!r.close);
	T_INT(http_header_one(&r.headers, "x-TEXT", &value), 1);
	T_TRUE(same(value, "a b\xc3\xa9"));
	T_INT(http_header_one(&r.headers, "X-EMPTY", &value), 1);
	T_TRUE(same(value, ""));
	T_INT(http_header_one(&r.headers, "X-Blank", &value), 1);
	T_TRUE(same(value, ""));
	T_INT(http_header_one(&r.headers, "X-None", &value), 0);
}

static void bytes_may_come_one_by_one(void)
{
	static const char text[] = GET "X-A: b\r\n\r\nGET";
	size_t seen = 0, whole = sizeof(text) - 1 - 3;

	for (size_t n = 0; n <= whole; n++) {
		struct http_request r;
		struct str in = { text, n };
		int got = http_request_next(&in, &seen, 0, &r);

		T_INT(got, n == whole);
		T_INT(in.n, n == whole ? 0 : n);
		if (got == 0)
			T_INT(seen, n);
	}
}

static void two_requests_follow_each_other(void)
{
	struct str in = str_of(GET "\r\n" GET "Connection: close\r\n\r\n");
	struct http_request r;
	size_t seen = 0;

	T_INT(http_request_next(&in, &seen, 0, &r), 1);
	T_TRUE(!r.close);
	T_INT(http_request_next(&in, &seen, 0, &r), 1);
	T_TRUE(r.close);
	T_INT(in.n, 0);
}

static void bad_requests_are_refused(void)
{
	static const struct {
		const char *text;
		int want;
	} c[] = {
		{ GET "\r\n", 1 },
		{ "", 0 },
		{ "G", 0 },
		{ GET, 0 },
		{ GET "\r", 0 },
		{ "GET / HTTP/1.0\r\n\r\n", 1 },
		/* garbage is refused at once, without waiting for the end of the head */
		{ "\x16\x03\x01", -400 },
		{ " GET", -400 },
		{ "\r\n", -400 },
		{ "\n", -400 },
		{ "GET /\n", -400 },
		{ "GET /\rx", -400 },
		{ "GET / \x01", -400 },
		{ "GET / \x7f", -400 },
		{ GET "X: a\n", -400 },
		{ GET "X: a\rb", -400 },
		{ GET "\n", -400 },
		{ GET "\r\r", -400 },
		/* the first line */
		{ "GET /\r\n\r\n", -400 },
		{ "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", -400 },
		{ "GET / HTTP/1.1x\r\nHost: a\r\n\r\n", -400 },
		{ "GET / http/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "GET / HTTP/1.2\r\nHost: a\r\n\r\n", -505 },
		{ "GET / HTTP/2.0\r\nHost: a\r\n\r\n", -505 },
		{ "GET / HTTP/0.9\r\nHost: a\r\n\r\n", -505 },
		{ "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "GET * HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		{ "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", -400 },
		/* headers */
		{ GET " X: folded\r\n\r\n", -400 },
		{ GET "X: a\r\n\tfolded\r\n\r\n", -400 },
		{ GET "X : a\r\n\r\n", -400 },
		{ GET ": a\r\n\r\n", -400 },
		{ GET "X\r\n\r\n", -400 },
		{ GET "X Y: a\r\n\r\n", -400 },
		{ GET "X\xc3: a\r\n\r\n", -400 },
		{ GET "X: a:b\r\n\r\n", 1 },
		/* the Host */
		{ "GET / HTTP/1.1\r\n\r\n", -400 },
		{ GET "host: box\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: \r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 1 },
		{ "GET / HTTP/1.0\r\nHost: a@b\r\n\r\n", -400 },
		/* the length of the body */
		{ GET "Content-Length: 0\r\n\r\n", 1 },
		{ GET "Content-Length: 1000\r\n\r\n", 1 },
		{ GET "Content-Length: 1001\r\n\r\n", -413 },
		{ GET "Content-Length: 99999999999999999999999\r\n\r\n", -413 },
		{ GET "Content-Length: +5\r\n\r\n", -400 },
		{ GET "Content-Length: -5\r\n\r\n", -400 },
		{ GET "Content-Length: 0x5\r\n\r\n", -400 },
		{ GET "Content-Length: 5 5\r\n\r\n", -400 },
		{ GET "Content-Length: 5, 5\r\n\r\n", -400 },
		{ GET "Content-Length:\r\n\r\n", -400 },
		{ GET "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", -400 },
		{ GET "Transfer-Encoding: chunked\r\n\r\n", -501 },
		{ GET "Transfer-Encoding: identity\r\n\r\n", -501 },
		{ GET "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n", -501 },
		{ GET "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", -400 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		int got = status_of(c[i].text);

		if (got != c[i].want)
			T_FAIL("'%s': got %d, want %d", c[i].text, got, c[i].want);
	}
}

static void nul_is_refused(void)
{
	static const char text[] = GET "X: a\0b\r\n\r\n";
	struct http_request r;

	T_INT(read_request(text, sizeof(text) - 1, &r), -400);
}

static void the_size_of_heads_is_limited(void)
{
	AUTO_BUF b = BUF_INIT(HTTP_HEAD_MAX_BYTES * 2);
	struct http_request r;

	buf_add_str(&b, GET "X: ");
	buf_add_fill(&b, 'a', HTTP_HEAD_MAX_BYTES - b.n - 4);
	T_INT(read_request(b.p, b.n, &r), 0);
	buf_add_str(&b, "\r\n\r\n");
	T_INT(b.n, HTTP_HEAD_MAX_BYTES);
	T_INT(read_request(b.p, b.n, &r), 1);
	buf_cut(&b, b.n - 4);
	buf_add_str(&b, "aaaa");
	T_INT(read_request(b.p, b.n, &r), 0);
	buf_add_str(&b, "a");
	T_INT(read_request(b.p, b.n, &r), -431);
}

static void the_number_of_headers_is_limited(void)
{
	AUTO_BUF b = BUF_INIT(HTTP_HEAD_MAX_BYTES);
	struct http_request r;

	buf_add_str(&b, GET);
	for (unsigned i = 1; i < HTTP_HEADERS_MAX; i++)
		buf_addf(&b, "X-%u: %u\r\n", i, i);
	buf_add_str(&b, "\r\n");
	T_INT(read_request(b.p, b.n, &r), 1);
	T_INT(r.headers.n, HTTP_HEADERS_MAX);
	buf_cut(&b, b.n - 2);
	buf_add_str(&b, "X-More: 1\r\n\r\n");
	T_INT(read_request(b.p, b.n, &r), -431);
}

static void repeated_headers_are_reported(void)
{
	static const char text[] = GET "X-Token: a\r\nx-token: a\r\n\r\n";
	struct http_request r;
	struct str value;

	T_INT(read_request(text, sizeof(text) - 1, &r), 1);
	T_INT(http_header_one(&r.headers, "X-Token", &value), -EPROTO);
}

static void lists_are_joined(void)
{
	static const char text[] = GET "Connection: keep-alive ,\tUpgrade\r\n"
				       "P: a,, b\r\nOther: x\r\nP:\r\nP: , c , \r\n\r\n";
	struct http_request r;
	struct http_cursor c = { 0 };
	struct str element;

	T_INT(read_request(text, sizeof(text) - 1, &r), 1);
	T_TRUE(http_header_has(&r.headers, "connection", "upgrade"));
	T_TRUE(http_header_has(&r.headers, "CONNECTION", "Keep-Alive"));
	T_TRUE(!http_header_has(&r.headers, "connection", "up"));
	T_TRUE(!http_header_has(&r.headers, "upgrade", "websocket"));
	T_TRUE(http_header_next(&r.headers, "p", &c, &element) && same(element, "a"));
	T_TRUE(http_header_next(&r.headers, "p", &c, &element) && same(element, "b"));
	T_TRUE(http_header_next(&r.headers, "p", &c, &element) && same(element, "c"));
	T_TRUE(!http_header_next(&r.headers, "p", &c, &element));
	T_TRUE(!http_header_next(&r.headers, "p", &c, &element));
}

static void connections_are_kept_or_closed(void)
{
	static const struct {
		const char *text;
		bool close;
	} c[] = {
		{ GET "\r\n", false },
		{ GET "Connection: close\r\n\r\n", true },
		{ GET "Connection: x, Close\r\n\r\n", true },
		{ "GET / HTTP/1.0\r\n\r\n", true },
		{ "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct http_request r;

		T_INT(read_request(c[i].text, strlen(c[i].text), &r), 1);
		T_INT(r.close, c[i].close);
	}
}

static void paths_have_segments(void)
{
	struct str path = STR("/v1//a%2Fb/"), segment;

	T_TRUE(http_path_next(&path, &segment) && same(segment, "v1"));
	T_TRUE(http_path_next(&path, &segment) && same(segment, ""));
	T_TRUE(http_path_next(&path, &segment) && same(segment, "a%2Fb"));
	T_TRUE(http_path_next(&path, &segment) && same(segment, ""));
	T_TRUE(!http_path_next(&path, &segment));
	path = STR("/");
	T_TRUE(http_path_next(&path, &segment) && same(segment, ""));
	T_TRUE(!http_path_next(&path, &segment));
}

static void segments_are_decoded(void)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} c[] = {
		{ "", "" },
		{ "plain-._~", "plain-._~" },
		{ "a%20b%2fc%2F", "a b/c/" },
		{ "%C3%A9", "\xc3\xa9" },
		{ "a+b", "a+b" },
		{ "%41%42", "AB" },
		{ "%", NULL },
		{ "%4", NULL },
		{ "a%4", NULL },
		{ "%4g", NULL },
		{ "%%41", NULL },
		{ "% 41", NULL },
		{ "%C3", NULL },
		{ "%ff", NULL },
		{ "%ed%a0%80", NULL },
	};
	AUTO_BUF nul = BUF_INIT(64), back = BUF_INIT(64), small = BUF_INIT(2);

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_BUF b = BUF_INIT(64);
		int r = http_unescape(str_of(c[i].text), &b);

		T_INT(r, c[i].want ? 0 : -EINVAL);
		if (c[i].want)
			T_STR(buf_str(&b), c[i].want);
	}
	T_INT(http_unescape(STR("a%00b"), &nul), 0);
	T_TRUE(nul.n == 3 && memcmp(nul.p, "a\0b", 3) == 0);
	http_escape(&back, (struct str){ "a\0b/ \xc3\xa9~", 8 });
	T_STR(buf_str(&back), "a%00b%2F%20%C3%A9~");
	T_INT(http_unescape(STR("abc"), &small), -EINVAL); /* longer than the caller's buffer */
}

static void hosts_are_split(void)
{
	static const struct {
		const char *text, *name; /* NULL: refused */
		unsigned port;
	} c[] = {
		{ "localhost", "localhost", 0 },
		{ "langbot_box:5410", "langbot_box", 5410 },
		{ "127.0.0.1:1", "127.0.0.1", 1 },
		{ "[::1]", "::1", 0 },
		{ "[::ffff:10.0.0.1]:65535", "::ffff:10.0.0.1", 65535 },
		{ "", NULL },
		{ ":80", NULL },
		{ "a:", NULL },
		{ "a:0", NULL },
		{ "a:65536", NULL },
		{ "a:8x", NULL },
		{ "a:80:80", NULL },
		{ "::1", NULL },
		{ "[::1", NULL },
		{ "[]", NULL },
		{ "[::1]x", NULL },
		{ "[::1]:", NULL },
		{ "[a/b]", NULL },
		{ "a/b", NULL },
		{ "user@a", NULL },
		{ "a%20", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct str name = STR("");
		uint16_t port = 0;

		T_INT(http_host_split(str_of(c[i].text), &name, &port), c[i].name ? 0 : -EINVAL);
		if (c[i].name) {
			T_TRUE(same(name, c[i].name));
			T_INT(port, c[i].port);
		}
	}
}

static void responses_are_read(void)
{
	static const struct {
		const char *text;
		int want;
		unsigned status;
		const char *reason;
		bool has_length;
	} c[] = {
		{ "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 1, 101,
		  "Switching Protocols", false },
		{ "HTTP/1.1 400 Bad\r\nContent-Length: 7\r\n\r\n", 1, 400, "Bad", true },
		{ "HTTP/1.0 200 \r\n\r\n", 1, 200, "", false },
		{ "HTTP/1.1 200\r\n\r\n", 1, 200, "", false },
		{ "HTTP/1.1 200 OK\r\n", 0, 0, "", false },
		{ "HTTP/1.1 99 OK\r\n\r\n", -EPROTO, 0, "", false },
		{ "HTTP/1.1 0200 OK\r\n\r\n", -EPROTO, 0, "", false },
		{ "HTTP/1.1 600 OK\r\n\r\n", -EPROTO, 0, "", false },
		{ "HTTP/1.1\r\n\r\n", -EPROTO, 0, "", false },
		{ "HTTP/2 200 OK\r\n\r\n", -EPROTO, 0, "", false },
		{ "ICY 200 OK\r\n\r\n", -EPROTO, 0, "", false },
		{ "HTTP/1.1 200 OK\nX: y\r\n\r\n", -EPROTO, 0, "", false },
		{ "HTTP/1.1 200 OK\r\n X: y\r\n\r\n", -EPROTO, 0, "", false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", -EPROTO, 0,
		  "", false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		  -EPROTO, 0, "", false },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 1, 200, "OK", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct http_response r;
		struct str in = str_of(c[i].text);
		size_t seen = 0;
		int got = http_response_next(&in, &seen, &r);

		if (got != c[i].want)
			T_FAIL("'%s': got %d, want %d", c[i].text, got, c[i].want);
		if (got == 1) {
			T_INT(r.status, c[i].status);
			T_TRUE(same(r.reason, c[i].reason));
			T_INT(r.has_length, c[i].has_length);
			T_INT(in.n, 0);
		}
	}
}

static void written_heads_can_be_read(void)
{
	AUTO_BUF b = BUF_INIT(4096), bad = BUF_INIT(4096), line = BUF_INIT(4096);
	struct http_response r;
	struct str in, value;
	size_t seen = 0;

	http_put_response(&b, 401, "text/plain; charset=utf-8", STR("Unauthorized"), true);
	T_STR(buf_str(&b), "HTTP/1.1 401 Unauthorized\r\n"
			   "Content-Type: text/plain; charset=utf-8\r\n"
			   "Content-Length: 12\r\n"
			   "Connection: close\r\n"
			   "\r\nUnauthorized");
	in = (struct str){ b.p, b.n };
	T_INT(http_response_next(&in, &seen, &r), 1);
	T_INT(r.status, 401);
	T_INT(r.body_bytes, 12);
	T_TRUE(same(in, "Unauthorized"));
	T_INT(http_header_one(&r.headers, "connection", &value), 1);

	http_put_header(&bad, "X-A", STR("a\r\nX-B: b"));
	T_TRUE(buf_failed(&bad));
	buf_clear(&bad);
	http_put_header(&bad, "X-A", (struct str){ "a\0b", 3 });
	T_TRUE(buf_failed(&bad));
	http_put_request(&line, "GET", STR("/a b"));
	T_TRUE(buf_failed(&line));
	buf_clear(&line);
	http_put_request(&line, "GET", STR("/rpc/ws"));
	T_STR(buf_str(&line), "GET /rpc/ws HTTP/1.1\r\n");
}

int main(void)
{
	T_RUN(a_request_is_taken_apart);
	T_RUN(bytes_may_come_one_by_one);
	T_RUN(two_requests_follow_each_other);
	T_RUN(bad_requests_are_refused);
	T_RUN(nul_is_refused);
	T_RUN(the_size_of_heads_is_limited);
	T_RUN(the_number_of_headers_is_limited);
	T_RUN(repeated_headers_are_reported);
	T_RUN(lists_are_joined);
	T_RUN(connections_are_kept_or_closed);
	T_RUN(paths_have_segments);
	T_RUN(segments_are_decoded);
	T_RUN(hosts_are_split);
	T_RUN(responses_are_read);
	T_RUN(written_heads_can_be_read);
	return t_end();
}
