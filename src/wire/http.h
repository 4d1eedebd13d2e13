/*
 * HTTP/1.1 heads, as servers of ours and their clients need them: the head of a request or of a
 * response is read from a buffer, and heads are written into one. Encode and decode only: no
 * descriptors, no clock; nothing here trusts its input.
 *
 * Reading is strict, because two programs that read one head differently are a hole: lines end in
 * CR LF, no line continues the one before, no space stands in front of a colon, and Host and
 * Content-Length may not occur twice. A body is only announced by its length; the reader refuses
 * transfer codings and lengths beyond what its caller takes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define HTTP_HEAD_MAX_BYTES (16u << 10) /* a browser with its cookies sends less than 8 KiB */
#define HTTP_HEADERS_MAX 100u           /* browsers send about twenty */

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
	struct str query; /* behind the '?'; empty if there is none */
	unsigned minor;   /* of HTTP/1.MINOR: 0 or 1 */
	struct http_headers headers;
	struct str host;     /* as sent, with its port; empty only in HTTP/1.0 */
	uint64_t body_bytes; /* follow the head */
	bool close;          /* the client wants no second request on this connection */
};

struct http_response {
	unsigned status;
	unsigned minor;
	struct str reason;
	struct http_headers headers;
	bool has_length; /* else the body ends with the connection, or is coded */
	uint64_t body_bytes;
};

/* --- reading --------------------------------------------------------------------------------- */

/* Cuts a head off the front of IN, which grows from call to call and always begins with the first
 * byte of the head. *SEEN is 0 before the first call: it keeps what was looked at already.
 * Returns 1 and *RET, 0 when more bytes are needed, or minus the status to answer with before the
 * connection is closed: 400, 413 (a body of more than BODY_MAX bytes), 431 (beyond a limit above),
 * 501 (a transfer coding), 505. */
MUST_USE int http_request_next(struct str *in, size_t *seen, uint64_t body_max,
			       struct http_request *ret);
/* Does the same for a response: 1, 0, or -EPROTO. */
MUST_USE int http_response_next(struct str *in, size_t *seen, struct http_response *ret);

/* Finds the only header called NAME, in any case: 1 and *RET, 0 when there is none, -EPROTO when
 * there are several. */
MUST_USE int http_header_one(const struct http_headers *h, const char *name, struct str *ret);
/* True if a header called NAME holds the element WORD in its list; both in any case. */
bool http_header_has(const struct http_headers *h, const char *name, const char *word);
/* The elements of the comma-separated lists of all headers called NAME, in order. *AT is 0 at
 * first. False at the end. */
struct http_cursor {
	size_t at;
	struct str rest;
};
bool http_header_next(const struct http_headers *h, const char *name, struct http_cursor *c,
		      struct str *ret);

/* Cuts "/segment" off the front of PATH and returns the segment, still encoded. False when PATH
 * is empty. */
bool http_path_next(struct str *path, struct str *ret);
/* Decodes "%41". 0, or -EINVAL for a '%' without two digits and for bytes that are not UTF-8. What
 * is decoded may hold any character, '/' and NUL too. */
MUST_USE int http_unescape(struct str s, struct buf *out);
/* Splits "name:80", "[::1]:80" or "name"; *RET_PORT is 0 without a port, the name has no brackets.
 * 0 or -EINVAL. */
MUST_USE int http_host_split(struct str host, struct str *ret_name, uint16_t *ret_port);
/* Compares ASCII in any case. */
bool http_same_word(struct str a, const char *b);

/* --- writing --------------------------------------------------------------------------------- */

const char *http_reason(unsigned status);
void http_put_request(struct buf *b, const char *method, struct str target);
void http_put_status(struct buf *b, unsigned status);
/* A value with a control character fails B: no header can be smuggled in. */
void http_put_header(struct buf *b, const char *name, struct str value);
void http_put_end(struct buf *b);
/* Percent-encodes one segment of a path: all but letters, digits and "-._~". */
void http_escape(struct buf *b, struct str segment);
/* A whole response with its body. CLOSE announces that the connection ends behind it. */
void http_put_response(struct buf *b, unsigned status, const char *content_type, struct str body,
		       bool close);
