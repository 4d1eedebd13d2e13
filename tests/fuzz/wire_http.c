/* Reads any bytes as heads of requests and responses. The result must not depend on how the bytes
 * are cut into pieces. All parts of a head must lie inside the head. If a segment of a path is
 * unescaped, escaped and unescaped again, both unescaped texts must be the same. */
#include "wire/http.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct str part, struct str whole)
{
	if (part.n &&
	    (part.p < whole.p || part.n > whole.n || (size_t)(part.p - whole.p) > whole.n - part.n))
		abort();
}

static void check_headers(const struct http_headers *h, struct str head)
{
	if (h->n > HTTP_HEADERS_MAX)
		abort();
	for (size_t i = 0; i < h->n; i++) {
		struct http_cursor c = { 0 };
		struct str element;
		char name[64];

		inside(h->item[i].name, head);
		inside(h->item[i].value, head);
		if (memchr(h->item[i].value.p, '\n', h->item[i].value.n) ||
		    memchr(h->item[i].value.p, '\0', h->item[i].value.n))
			abort();
		if (h->item[i].name.n >= sizeof(name))
			continue;
		memcpy(name, h->item[i].name.p, h->item[i].name.n);
		name[h->item[i].name.n] = '\0';
		if (http_header_one(h, name, &element) == 0)
			abort();
		while (http_header_next(h, name, &c, &element)) {
			inside(element, head);
			if (element.n == 0 || memchr(element.p, ',', element.n))
				abort();
		}
	}
}

static void check_path(struct str path)
{
	struct str segment, again;

	while (http_path_next(&path, &segment)) {
		AUTO_BUF plain = BUF_INIT(HTTP_HEAD_MAX_BYTES);
		AUTO_BUF coded = BUF_INIT(3 * HTTP_HEAD_MAX_BYTES);
		AUTO_BUF back = BUF_INIT(HTTP_HEAD_MAX_BYTES);

		if (http_unescape(segment, &plain) < 0)
			continue;
		http_escape(&coded, (struct str){ buf_str(&plain), plain.n });
		again = (struct str){ buf_str(&coded), coded.n };
		if (http_unescape(again, &back) < 0 || back.n != plain.n ||
		    memcmp(buf_str(&back), buf_str(&plain), plain.n) != 0)
			abort();
	}
	if (path.n)
		abort();
}

static void check_request(struct str whole, size_t cut)
{
	static struct http_request r, pieces;
	struct str in = whole, part = { whole.p, cut }, name;
	size_t seen = 0;
	uint16_t port;
	int at_once = http_request_next(&in, &seen, 1 << 20, &r), then;

	seen = 0;
	then = http_request_next(&part, &seen, 1 << 20, &pieces);
	if (then == 0) {
		part = whole;
		then = http_request_next(&part, &seen, 1 << 20, &pieces);
	}
	if (at_once != then)
		abort();
	if (at_once != 1)
		return;
	whole.n -= in.n;
	if (whole.n > HTTP_HEAD_MAX_BYTES || r.body_bytes > 1 << 20 || part.p != in.p)
		abort();
	inside(r.method, whole);
	inside(r.path, whole);
	inside(r.query, whole);
	inside(r.host, whole);
	if (r.host.n && http_host_split(r.host, &name, &port) < 0)
		abort();
	check_headers(&r.headers, whole);
	check_path(r.path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_response response;
	struct str whole = { (const char *)data, size }, in = whole;
	size_t seen = 0;

	check_request(whole, size ? data[size - 1] % (size + 1) : 0);
	if (http_response_next(&in, &seen, &response) == 1) {
		whole.n -= in.n;
		inside(response.reason, whole);
		if (response.status < 100 || response.status > 599)
			abort();
		check_headers(&response.headers, whole);
	}
	return 0;
}
