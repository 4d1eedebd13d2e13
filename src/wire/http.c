/*
 * A head is read in two steps. scan() looks at each byte once, when it arrives, and refuses bytes
 * that a head must not contain, and line ends that are not CR LF. When the empty line has arrived,
 * the lines are parsed. By then every line ends in CR LF and holds no control character except the
 * tab.
 */
#include "wire/http.h"

#include <assert.h>
#include <errno.h>

/* --- characters and words --------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns true for a character of a method or of a header's name (RFC 9110, 5.6.2). */
static bool is_token(char c)
{
	return is_digit(c) || is_alpha(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool all_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_token(s.p[i]))
			return false;
	return s.n > 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool http_same_word(struct str a, const char *b)
{
	if (a.n != strlen(b))
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (lower(a.p[i]) != lower(b[i]))
			return false;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct str trim(struct str s)
{
	while (s.n && is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* --- the head as a whole ---------------------------------------------------------------------- */

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

/* Returns true if byte I may follow the bytes before it. */
static bool byte_fits(const char *p, size_t i)
{
	bool after_cr = i > 0 && p[i - 1] == '\r';

	if (i == 0)
		return is_token(p[0]);
	if (after_cr || p[i] == '\n')
		return after_cr && p[i] == '\n';
	return !is_control(p[i]) || p[i] == '\t' || p[i] == '\r';
}

/* Looks at the bytes from *SEEN on. Returns the length of the head with its empty line, 0 if more
 * bytes are needed, or the HTTP status of the failure with a minus sign: -400 or -431. */
static int scan(struct str in, size_t *seen)
{
	for (; *seen < in.n; (*seen)++) {
		size_t i = *seen;

		if (i >= HTTP_HEAD_MAX_BYTES)
			return -431;
		if (!byte_fits(in.p, i))
			return -400;
		if (i >= 3 && in.p[i] == '\n' && in.p[i - 2] == '\n')
			return (int)i + 1;
	}
	return 0;
}

/* Cuts the next line off HEAD and returns it without its CR LF. HEAD must not be empty. */
static struct str next_line(struct str *head)
{
	struct str line = str_cut(head, '\n');

	line.n--; /* scan() has seen the CR */
	return line;
}

static int read_header(struct str line, struct http_headers *h)
{
	struct str value = line, name = str_cut(&value, ':');

	if (!value.p || !all_token(name))
		/* a line that begins with a blank fails here, too: it would continue the line
		 * before */
		return -400;
	if (h->n == HTTP_HEADERS_MAX)
		return -431;
	h->item[h->n++] = (struct http_header){ name, trim(value) };
	return 0;
}

static int read_headers(struct str head, struct http_headers *h)
{
	struct str line;
	int r;

	h->n = 0;
	while ((line = next_line(&head)).n) {
		r = read_header(line, h);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads the length of the body. Returns 1 and *RET, 0 if there is no length, -400 if the length is
 * bad, or -413 if it is above MAX. */
static int read_length(const struct http_headers *h, uint64_t max, uint64_t *ret)
{
	struct str value = { 0 };
	int r = http_header_one(h, "content-length", &value);

	if (r <= 0)
		return r < 0 ? -400 : 0;
	r = parse_u64_str(value, 0, max, ret);
	return r == -ERANGE ? -413 : r < 0 ? -400 : 1;
}

/* Reads "HTTP/1.0" or "HTTP/1.1". Returns 0 and the digit behind the point, -505 for other
 * versions, or -400 if S is no version. */
static int read_version(struct str s, unsigned *ret_minor)
{
	if (s.n != 8 || memcmp(s.p, "HTTP/", 5) != 0 || !is_digit(s.p[5]) || s.p[6] != '.' ||
	    !is_digit(s.p[7]))
		return -400;
	if (s.p[5] != '1' || s.p[7] > '1')
		return -505;
	*ret_minor = (unsigned)(s.p[7] - '0');
	return 0;
}

/* --- requests --------------------------------------------------------------------------------- */

static bool target_fits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '#')
			return false;
	return s.n > 0 && s.p[0] == '/';
}

static int read_request_line(struct str line, struct http_request *r)
{
	struct str target;

	r->method = str_cut(&line, ' ');
	if (!line.p || !all_token(r->method))
		return -400;
	target = str_cut(&line, ' ');
	if (!line.p || !target_fits(target))
		return -400;
	r->query = target;
	r->path = str_cut(&r->query, '?');
	if (!r->query.p)
		r->query = STR("");
	return read_version(line, &r->minor);
}

/* Checks the headers that say where a request goes and where it ends. */
static int check_framing(struct http_request *r, uint64_t body_max)
{
	const struct http_headers *h = &r->headers;
	struct str name, coding;
	uint16_t port;
	int n = http_header_one(h, "host", &r->host);

	if (n < 0 || (n == 0 && r->minor > 0))
		return -400;
	if (n == 1 && http_host_split(r->host, &name, &port) < 0)
		return -400;
	n = read_length(h, body_max, &r->body_bytes);
	if (n < 0)
		return n;
	/* a request with a length and a transfer coding may hide a second request */
	if (http_header_one(h, "transfer-encoding", &coding) != 0)
		return n == 1 ? -400 : -501;
	return 0;
}

int http_request_next(struct str *in, size_t *seen, uint64_t body_max, struct http_request *ret)
{
	struct http_request r = { .host = STR("") };
	struct str head;
	int n = scan(*in, seen), status;

	if (n <= 0)
		return n;
	head = (struct str){ in->p, (size_t)n };
	status = read_request_line(next_line(&head), &r);
	if (status == 0)
		status = read_headers(head, &r.headers);
	if (status == 0)
		status = check_framing(&r, body_max);
	if (status < 0)
		return status;
	r.close = r.minor == 0 ? !http_header_has(&r.headers, "connection", "keep-alive")
			       : http_header_has(&r.headers, "connection", "close");
	*ret = r;
	in->p += n;
	in->n -= (size_t)n;
	*seen = 0;
	return 1;
}

/* --- responses -------------------------------------------------------------------------------- */

static int read_status_line(struct str line, struct http_response *r)
{
	struct str version = str_cut(&line, ' '), code;
	uint64_t status;

	if (read_version(version, &r->minor) < 0 || !line.p)
		return -EPROTO;
	code = str_cut(&line, ' ');
	if (code.n != 3 || parse_u64_str(code, 100, 599, &status) < 0)
		return -EPROTO;
	r->status = (unsigned)status;
	r->reason = line.p ? line : STR("");
	return 0;
}

int http_response_next(struct str *in, size_t *seen, struct http_response *ret)
{
	struct http_response r = { 0 };
	struct str head, coding;
	int n = scan(*in, seen), length;

	if (n <= 0)
		return n ? -EPROTO : 0;
	head = (struct str){ in->p, (size_t)n };
	if (read_status_line(next_line(&head), &r) < 0 || read_headers(head, &r.headers) < 0)
		return -EPROTO;
	length = read_length(&r.headers, UINT64_MAX, &r.body_bytes);
	if (length < 0)
		return -EPROTO;
	r.has_length = length == 1;
	if (http_header_one(&r.headers, "transfer-encoding", &coding) != 0) {
		if (r.has_length)
			return -EPROTO;
	}
	*ret = r;
	in->p += n;
	in->n -= (size_t)n;
	*seen = 0;
	return 1;
}

/* --- headers, paths and hosts ----------------------------------------------------------------- */

int http_header_one(const struct http_headers *h, const char *name, struct str *ret)
{
	const struct http_header *found = NULL;

	for (size_t i = 0; i < h->n; i++) {
		if (!http_same_word(h->item[i].name, name))
			continue;
		if (found)
			return -EPROTO;
		found = &h->item[i];
	}
	if (!found)
		return 0;
	*ret = found->value;
	return 1;
}

bool http_header_next(const struct http_headers *h, const char *name, struct http_cursor *c,
		      struct str *ret)
{
	for (;;) {
		while (c->rest.p) {
			*ret = trim(str_cut(&c->rest, ','));
			if (ret->n)
				return true; /* empty elements are skipped */
		}
		while (c->at < h->n && !http_same_word(h->item[c->at].name, name))
			c->at++;
		if (c->at == h->n)
			return false;
		c->rest = h->item[c->at++].value;
	}
}

bool http_header_has(const struct http_headers *h, const char *name, const char *word)
{
	struct http_cursor c = { 0 };
	struct str element;

	while (http_header_next(h, name, &c, &element))
		if (http_same_word(element, word))
			return true;
	return false;
}

bool http_path_next(struct str *path, struct str *ret)
{
	const char *end;

	if (path->n == 0 || path->p[0] != '/')
		return false;
	path->p++;
	path->n--;
	end = memchr(path->p, '/', path->n);
	*ret = (struct str){ path->p, end ? (size_t)(end - path->p) : path->n };
	path->p += ret->n;
	path->n -= ret->n;
	return true;
}

static int hex_digit(char c)
{
	c = lower(c);
	return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int http_unescape(struct str s, struct buf *out)
{
	size_t from = out->n;

	for (size_t i = 0; i < s.n; i++) {
		int high, low;

		if (s.p[i] != '%') {
			buf_add_char(out, s.p[i]);
			continue;
		}
		high = i + 2 < s.n ? hex_digit(s.p[i + 1]) : -1;
		low = i + 2 < s.n ? hex_digit(s.p[i + 2]) : -1;
		if (high < 0 || low < 0)
			return -EINVAL;
		buf_add_char(out, (char)(high << 4 | low));
		i += 2;
	}
	if (buf_failed(out) || (out->n > from && !utf8_valid(out->p + from, out->n - from)))
		return -EINVAL;
	return 0;
}

/* Returns true if S may be the name of a host or, if BRACKETED, an address that was in brackets. */
static bool host_fits(struct str s, bool bracketed)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (bracketed ? hex_digit(c) < 0 && c != ':' && c != '.'
			      : !is_alpha(c) && !is_digit(c) && !(c && strchr("-._~", c)))
			return false;
	}
	return s.n > 0;
}

int http_host_split(struct str host, struct str *ret_name, uint16_t *ret_port)
{
	bool bracketed = host.n && host.p[0] == '[';
	struct str rest = host, name;
	uint64_t port = 0;

	if (bracketed) {
		rest.p++;
		rest.n--;
		name = str_cut(&rest, ']');
		if (!rest.p || (rest.n && rest.p[0] != ':'))
			return -EINVAL;
		if (rest.n) {
			rest.p++;
			rest.n--;
		} else {
			rest.p = NULL;
		}
	} else {
		name = str_cut(&rest, ':');
	}
	if (!host_fits(name, bracketed) ||
	    (rest.p && parse_u64_str(rest, 1, UINT16_MAX, &port) < 0))
		return -EINVAL;
	*ret_name = name;
	*ret_port = (uint16_t)port;
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

const char *http_reason(unsigned status)
{
	static const struct {
		unsigned status;
		const char *reason;
	} table[] = {
		{ 101, "Switching Protocols" },
		{ 200, "OK" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 413, "Content Too Large" },
		{ 426, "Upgrade Required" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].status == status)
			return table[i].reason;
	return "";
}

void http_put_request(struct buf *b, const char *method, struct str target)
{
	if (!target_fits(target)) {
		b->failed = true;
		return;
	}
	buf_add_str(b, method);
	buf_add_char(b, ' ');
	buf_add(b, target.p, target.n);
	buf_add_str(b, " HTTP/1.1\r\n");
}

void http_put_status(struct buf *b, unsigned status)
{
	buf_addf(b, "HTTP/1.1 %u %s\r\n", status, http_reason(status));
}

void http_put_header(struct buf *b, const char *name, struct str value)
{
	assert(all_token(str_of(name)));
	for (size_t i = 0; i < value.n; i++) {
		if (is_control(value.p[i])) {
			b->failed = true;
			return;
		}
	}
	buf_addf(b, "%s: ", name);
	buf_add(b, value.p, value.n);
	buf_add_str(b, "\r\n");
}

void http_put_end(struct buf *b)
{
	buf_add_str(b, "\r\n");
}

void http_escape(struct buf *b, struct str segment)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < segment.n; i++) {
		unsigned char c = (unsigned char)segment.p[i];

		if (is_alpha((char)c) || is_digit((char)c) || (c && strchr("-._~", c)))
			buf_add_char(b, (char)c);
		else
			buf_add(b, (char[]){ '%', hex[c >> 4], hex[c & 15] }, 3);
	}
}

void http_put_response(struct buf *b, unsigned status, const char *content_type, struct str body,
		       bool close)
{
	http_put_status(b, status);
	http_put_header(b, "Content-Type", str_of(content_type));
	buf_addf(b, "Content-Length: %zu\r\n", body.n);
	if (close)
		http_put_header(b, "Connection", STR("close"));
	http_put_end(b);
	buf_add(b, body.p, body.n);
}
