/*
 * The heads of HTTP/1.1 requests and responses. This code reads the head of a request or of a
 * response from a buffer, and writes heads into a buffer. It uses no descriptors and no clock, and
 * does not trust its input.
 *
 * This code reads strictly, because it is dangerous if two programs read the same head differently.
 * Lines end in CR LF, no line continues the line before it, no space is in front of a colon, and
 * Host and Content-Length may not occur twice. The body of a request must have a Content-Length,
 * which the caller limits; a transfer coding is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define HTTP_HEAD_MAX_BYTES (16u << 10) /* a browser with its cookies sends less than 8 KiB */
#define HTTP_HEADERS_MAX 100u           /* browsers send about 20 headers */

struct http_header {
	struct str name, value; /* the value without blanks around it */
};

struct http_headers {
	size_t n;
	struct http_header item[HTTP_HEADERS_MAX];
};

/* All slices point into the input. */
struct http_request {
	struct str method;
	struct str path;  /* begins with '/'; still percent-encoded */
	struct str query; /* the part behind the '?', or empty */
	unsigned minor;   /* the version is HTTP/1.MINOR: 0 or 1 */
	struct http_headers headers;
	struct str host;     /* as sent, with its port; empty only in HTTP/1.0 */
	uint64_t body_bytes; /* length of the body, which follows the head */
	bool close;          /* the client wants no second request on this connection */
};

struct http_response {
	unsigned status;
	unsigned minor;
	struct str reason;
	struct http_headers headers;
	/* false if the body has a transfer coding, or ends when the connection closes */
	bool has_length;
	uint64_t body_bytes;
};

/* --- reading --------------------------------------------------------------------------------- */

/* Cuts a head off the front of IN, which grows from call to call and always begins with the first
 * byte of the head. *SEEN counts the bytes that earlier calls have looked at. The caller sets *SEEN
 * to 0 before the first call. Returns 1 and *RET, or 0 if more bytes are needed. For a bad head,
 * returns an HTTP status with a minus sign. The caller sends this status and closes the connection:
 * 400, 413 (a body of more than BODY_MAX bytes), 431 (the head is too large), 501 (a transfer
 * coding), 505 (another version of HTTP). */
MUST_USE int http_request_next(struct str *in, size_t *seen, uint64_t body_max,
			       struct http_request *ret);
/* Works like http_request_next(), but for a response. Returns 1, 0, or -EPROTO for a bad head. */
MUST_USE int http_response_next(struct str *in, size_t *seen, struct http_response *ret);

/* Finds the only header called NAME. Ignores upper and lower case. Returns 1 and *RET, 0 if there
 * is none, or -EPROTO if there are several. */
MUST_USE int http_header_one(const struct http_headers *h, const char *name, struct str *ret);
/* Returns true if the list of a header called NAME has the element WORD. Ignores upper and lower
 * case. */
bool http_header_has(const struct http_headers *h, const char *name, const char *word);
/* Walks the elements of the comma-separated lists of all headers called NAME, in order. The caller
 * zeroes the cursor first. Returns false at the end. */
struct http_cursor {
	size_t at;
	struct str rest;
};
bool http_header_next(const struct http_headers *h, const char *name, struct http_cursor *c,
		      struct str *ret);

/* Cuts "/segment" off the front of PATH and sets *RET to the segment, still encoded. Returns false
 * if PATH is empty or does not begin with '/'. */
bool http_path_next(struct str *path, struct str *ret);
/* Decodes escapes such as "%41". Returns 0, or -EINVAL for a '%' without two digits and for bytes
 * that are not UTF-8. The result may hold any character, even '/' and NUL. */
MUST_USE int http_unescape(struct str s, struct buf *out);
/* Splits "name:80", "[::1]:80" or "name". *RET_PORT is 0 if there is no port. *RET_NAME has no
 * brackets. Returns 0 or -EINVAL. */
MUST_USE int http_host_split(struct str host, struct str *ret_name, uint16_t *ret_port);
/* Compares ASCII and ignores upper and lower case. */
bool http_same_word(struct str a, const char *b);

/* --- writing --------------------------------------------------------------------------------- */

const char *http_reason(unsigned status);
void http_put_request(struct buf *b, const char *method, struct str target);
void http_put_status(struct buf *b, unsigned status);
/* Writes a header. A value with a control character makes B fail, so that no value can add a
 * header. */
void http_put_header(struct buf *b, const char *name, struct str value);
void http_put_end(struct buf *b);
/* Percent-encodes all characters of a path segment except letters, digits and "-._~". */
void http_escape(struct buf *b, struct str segment);
/* Writes a whole response with its body. With CLOSE, the response tells the client that the
 * connection ends. */
void http_put_response(struct buf *b, unsigned status, const char *content_type, struct str body,
		       bool close);
