/*
 * The decoder reads a frame's head into w->head. It reads the first two bytes, which say how long
 * the head is, and then the rest of the head. The payload is unmasked while it is copied. The
 * payload of a control frame goes into w->control, any other payload is appended to w->message.
 * There are two buffers, because control frames may come between the fragments of a message.
 *
 * Text is checked when it arrives. So the decoder fails at once if the bytes can never become
 * UTF-8, and does not hold 16 MiB of a bad message.
 */
#include "wire/websocket.h"

#include <assert.h>
#include <errno.h>

#include "base/base64.h"
#include "base/sha1.h"

#define FIN 0x80
#define RESERVED 0x70
#define OPCODE 0x0f
#define MASKED 0x80
#define LENGTH 0x7f
#define LENGTH_16 126
#define LENGTH_64 127

/* --- handshake ------------------------------------------------------------------------------- */

void websocket_accept(struct str key, char out[WEBSOCKET_ACCEPT_BYTES])
{
	static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, 1.3 */
	unsigned char sum[SHA1_BYTES];
	AUTO_BUF text = BUF_INIT(SHA1_INPUT_MAX_BYTES);
	AUTO_BUF coded = BUF_INIT(WEBSOCKET_ACCEPT_BYTES - 1);

	assert(key.n < 64);
	buf_add(&text, key.p, key.n);
	buf_add_str(&text, magic);
	sha1(text.p, text.n, sum);
	base64_encode(&coded, sum, sizeof(sum));
	assert(!buf_failed(&coded));
	memcpy(out, coded.p, WEBSOCKET_ACCEPT_BYTES);
}

/* Returns true if S is the base64 of exactly 16 bytes. */
static bool is_key(struct str s)
{
	AUTO_BUF nonce = BUF_INIT(WEBSOCKET_NONCE_BYTES);

	return s.n == WEBSOCKET_KEY_BYTES - 1 && base64_decode(&nonce, s.p, s.n) == 0 &&
	       nonce.n == WEBSOCKET_NONCE_BYTES;
}

int websocket_check_request(const struct http_request *r, struct str *ret_key)
{
	struct str key, version;

	if (!str_eq(r->method, "GET") || r->minor != 1 || r->body_bytes ||
	    !http_header_has(&r->headers, "upgrade", "websocket") ||
	    !http_header_has(&r->headers, "connection", "upgrade") ||
	    http_header_one(&r->headers, "sec-websocket-key", &key) != 1 || !is_key(key) ||
	    http_header_one(&r->headers, "sec-websocket-version", &version) != 1)
		return -400;
	if (!str_eq(version, "13"))
		return -426;
	*ret_key = key;
	return 0;
}

bool websocket_offers(const struct http_request *r, const char *protocol)
{
	struct http_cursor c = { 0 };
	struct str offered;

	while (http_header_next(&r->headers, "sec-websocket-protocol", &c, &offered))
		if (str_eq(offered, protocol))
			return true;
	return false;
}

void websocket_put_agreement(struct buf *b, struct str key, const char *protocol)
{
	char accept[WEBSOCKET_ACCEPT_BYTES];

	websocket_accept(key, accept);
	http_put_status(b, 101);
	http_put_header(b, "Upgrade", STR("websocket"));
	http_put_header(b, "Connection", STR("Upgrade"));
	http_put_header(b, "Sec-WebSocket-Accept", str_of(accept));
	if (protocol)
		http_put_header(b, "Sec-WebSocket-Protocol", str_of(protocol));
	http_put_end(b);
}

static void make_key(const unsigned char nonce[WEBSOCKET_NONCE_BYTES],
		     char out[WEBSOCKET_KEY_BYTES])
{
	AUTO_BUF coded = BUF_INIT(WEBSOCKET_KEY_BYTES - 1);

	base64_encode(&coded, nonce, WEBSOCKET_NONCE_BYTES);
	assert(!buf_failed(&coded));
	memcpy(out, coded.p, WEBSOCKET_KEY_BYTES);
}

void websocket_put_request(struct buf *b, struct str host, struct str target,
			   const unsigned char nonce[WEBSOCKET_NONCE_BYTES])
{
	char key[WEBSOCKET_KEY_BYTES];

	make_key(nonce, key);
	http_put_request(b, "GET", target);
	http_put_header(b, "Host", host);
	http_put_header(b, "Upgrade", STR("websocket"));
	http_put_header(b, "Connection", STR("Upgrade"));
	http_put_header(b, "Sec-WebSocket-Version", STR("13"));
	http_put_header(b, "Sec-WebSocket-Key", str_of(key));
}

bool websocket_check_response(const struct http_response *r,
			      const unsigned char nonce[WEBSOCKET_NONCE_BYTES],
			      const char *protocol)
{
	char key[WEBSOCKET_KEY_BYTES], accept[WEBSOCKET_ACCEPT_BYTES];
	struct str got, chosen, extension;
	int n;

	make_key(nonce, key);
	websocket_accept(str_of(key), accept);
	if (r->status != 101 || !http_header_has(&r->headers, "upgrade", "websocket") ||
	    !http_header_has(&r->headers, "connection", "upgrade") ||
	    http_header_one(&r->headers, "sec-websocket-accept", &got) != 1 ||
	    !str_eq(got, accept) ||
	    http_header_one(&r->headers, "sec-websocket-extensions", &extension) != 0)
		return false;
	n = http_header_one(&r->headers, "sec-websocket-protocol", &chosen);
	return n == 0 || (n == 1 && protocol && str_eq(chosen, protocol));
}

/* --- masks ----------------------------------------------------------------------------------- */

void websocket_mask(void *to, const void *from, size_t n, const unsigned char *mask, unsigned at)
{
	const unsigned char *s = from;
	unsigned char *d = to, turned[8];
	uint64_t pattern, word;
	size_t i = 0;

	for (unsigned k = 0; k < sizeof(turned); k++)
		turned[k] = mask[(at + k) % WEBSOCKET_MASK_BYTES];
	memcpy(&pattern, turned, sizeof(pattern));
	for (; n - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, s + i, sizeof(word));
		word ^= pattern;
		memcpy(d + i, &word, sizeof(word));
	}
	for (; i < n; i++)
		d[i] = s[i] ^ turned[i % sizeof(turned)];
}

/* --- decoder --------------------------------------------------------------------------------- */

void websocket_init(struct websocket *w, enum websocket_role role, size_t message_max)
{
	*w = (struct websocket){ .role = role, .head_need = 2 };
	buf_init(&w->message, message_max);
	buf_init(&w->control, WEBSOCKET_CONTROL_MAX_BYTES);
}

void websocket_done(struct websocket *w)
{
	if (!w)
		return;
	buf_done(&w->message);
	buf_done(&w->control);
}

size_t websocket_held_bytes(const struct websocket *w)
{
	return w->message.cap + w->control.cap;
}

static int fail(struct websocket *w, enum websocket_code code)
{
	w->failed = code;
	return -EPROTO;
}

static enum websocket_opcode frame_type(const struct websocket *w)
{
	return (enum websocket_opcode)(w->head[0] & OPCODE);
}

static bool is_control_frame(const struct websocket *w)
{
	return (w->head[0] & 0x08) != 0;
}

static bool is_last(const struct websocket *w)
{
	return (w->head[0] & FIN) != 0;
}

static const unsigned char *mask_of(const struct websocket *w)
{
	return w->head + w->head_need - WEBSOCKET_MASK_BYTES;
}

/* Copies from IN until w->head has w->head_need bytes. Returns false if more bytes are needed. */
static bool fill_head(struct websocket *w, struct str *in)
{
	size_t want = w->head_need - w->head_have;
	size_t n = in->n < want ? in->n : want;

	if (n)
		memcpy(w->head + w->head_have, in->p, n);
	w->head_have += (unsigned)n;
	in->p += n;
	in->n -= n;
	return w->head_have == w->head_need;
}

/* Returns how many bytes of the head hold the length, besides the second byte. */
static unsigned length_bytes(const struct websocket *w)
{
	unsigned n = w->head[1] & LENGTH;

	return n == LENGTH_16 ? 2 : n == LENGTH_64 ? 8 : 0;
}

static uint64_t head_length(const struct websocket *w)
{
	unsigned bytes = length_bytes(w);
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | w->head[2 + i];
	return bytes ? v : (uint64_t)(w->head[1] & LENGTH);
}

/* Returns true if the length N is written in the shortest form and its highest bit is 0. */
static bool length_fits(const struct websocket *w, uint64_t n)
{
	switch (w->head[1] & LENGTH) {
	case LENGTH_16:
		return n >= LENGTH_16;
	case LENGTH_64:
		return n > UINT16_MAX && n <= INT64_MAX;
	default:
		return true;
	}
}

/* Checks the head of a frame that begins, continues or ends a message. */
static int begin_data(struct websocket *w)
{
	enum websocket_opcode type = frame_type(w);
	bool goes_on = w->type != WEBSOCKET_CONTINUATION;

	if (type > WEBSOCKET_BINARY || (type == WEBSOCKET_CONTINUATION) != goes_on)
		return fail(w, WEBSOCKET_PROTOCOL_ERROR);
	if (!goes_on) {
		w->type = type;
		w->fragments = 0;
		w->checked = 0;
	}
	if (++w->fragments > WEBSOCKET_FRAGMENTS_MAX || w->left > w->message.max - w->message.n)
		return fail(w, WEBSOCKET_TOO_BIG);
	return 0;
}

static int begin_control(struct websocket *w)
{
	enum websocket_opcode type = frame_type(w);

	if (type > WEBSOCKET_PONG || !is_last(w) || w->left > WEBSOCKET_CONTROL_MAX_BYTES)
		return fail(w, WEBSOCKET_PROTOCOL_ERROR);
	buf_clear(&w->control);
	return 0;
}

/* Checks the first two bytes, which say how long the head is. */
static int judge_start(struct websocket *w)
{
	bool masked = (w->head[1] & MASKED) != 0;

	if ((w->head[0] & RESERVED) || masked != (w->role == WEBSOCKET_SERVER))
		return fail(w, WEBSOCKET_PROTOCOL_ERROR);
	w->head_need = 2 + length_bytes(w);
	if (masked)
		w->head_need += WEBSOCKET_MASK_BYTES;
	return 0;
}

/* Returns 1 when the head is complete and valid, 0 when more bytes are needed, or -EPROTO when the
 * head is bad. */
static int read_head(struct websocket *w, struct str *in)
{
	if (w->head_have < 2) {
		w->head_need = 2;
		if (!fill_head(w, in))
			return 0;
		if (judge_start(w) < 0)
			return -EPROTO;
	}
	if (!fill_head(w, in))
		return 0;
	w->left = head_length(w);
	w->mask_at = 0;
	if (!length_fits(w, w->left))
		return fail(w, WEBSOCKET_PROTOCOL_ERROR);
	if ((is_control_frame(w) ? begin_control(w) : begin_data(w)) < 0)
		return -EPROTO;
	return 1;
}

/* Moves payload from IN into OUT. Returns 1 if the frame is complete, 0 if more bytes are needed,
 * or -EPROTO if there is no memory. */
static int read_payload(struct websocket *w, struct str *in, struct buf *out)
{
	size_t n = w->left < in->n ? (size_t)w->left : in->n;
	char *room = buf_room(out, n);

	if (!room)
		/* we are out of memory; the frame cannot be too long, because begin_data() and
		 * begin_control() have checked its length */
		return fail(w, WEBSOCKET_INTERNAL);
	if (w->role == WEBSOCKET_SERVER)
		websocket_mask(room, in->p, n, mask_of(w), w->mask_at);
	else if (n)
		memcpy(room, in->p, n);
	out->n += n;
	out->p[out->n] = '\0';
	w->mask_at = (unsigned)((w->mask_at + n) % WEBSOCKET_MASK_BYTES);
	w->left -= n;
	in->p += n;
	in->n -= n;
	return w->left == 0;
}

/* Checks that the text so far is UTF-8 and, if WHOLE, that it ends with a whole character. */
static int check_text(struct websocket *w, bool whole)
{
	bool bad;

	if (w->type != WEBSOCKET_TEXT || w->message.n == 0)
		return 0;
	w->checked += utf8_prefix(w->message.p + w->checked, w->message.n - w->checked, &bad);
	if (bad || (whole && w->checked != w->message.n))
		return fail(w, WEBSOCKET_BAD_TEXT);
	return 0;
}

/* Returns true for a code that a close frame may have (RFC 6455, 7.4, and the codes registered
 * since). */
static bool code_fits(unsigned code)
{
	return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
	       (code >= 3000 && code <= 4999);
}

static int end_close(struct websocket *w, struct websocket_event *ret)
{
	const unsigned char *s = (const unsigned char *)w->control.p;
	unsigned code = WEBSOCKET_NO_CODE;

	if (w->control.n == 1)
		return fail(w, WEBSOCKET_PROTOCOL_ERROR);
	if (w->control.n >= 2) {
		code = (unsigned)s[0] << 8 | s[1];
		if (!code_fits(code))
			return fail(w, WEBSOCKET_PROTOCOL_ERROR);
		if (!utf8_valid(w->control.p + 2, w->control.n - 2))
			return fail(w, WEBSOCKET_BAD_TEXT);
		ret->payload = (struct str){ w->control.p + 2, w->control.n - 2 };
	} else {
		ret->payload = STR("");
	}
	ret->code = (enum websocket_code)code;
	w->closed = true;
	return 1;
}

/* Handles a complete frame. Returns 1 if *RET is an event for the owner, 0 if more frames of the
 * message must follow, or -EPROTO if the payload is bad. */
static int end_frame(struct websocket *w, struct websocket_event *ret)
{
	w->head_have = 0;
	if (is_control_frame(w)) {
		*ret = (struct websocket_event){
			.type = frame_type(w), .payload = { buf_str(&w->control), w->control.n }
		};
		return ret->type == WEBSOCKET_CLOSE ? end_close(w, ret) : 1;
	}
	if (check_text(w, is_last(w)) < 0)
		return -EPROTO;
	if (!is_last(w))
		return 0;
	*ret = (struct websocket_event){ .type = w->type,
					 .payload = { buf_str(&w->message), w->message.n } };
	w->type = WEBSOCKET_CONTINUATION;
	w->delivered = true;
	return 1;
}

/* Drops the message that the owner has seen. If the message was large, frees its memory, too. */
static void forget_delivered(struct websocket *w)
{
	if (!w->delivered)
		return;
	w->delivered = false;
	if (w->message.cap > WEBSOCKET_KEEP_BYTES)
		buf_done(&w->message);
	buf_clear(&w->message);
}

int websocket_next(struct websocket *w, struct str *in, struct websocket_event *ret)
{
	int r;

	forget_delivered(w);
	if (w->failed)
		return -EPROTO;
	if (w->closed) {
		in->p += in->n;
		in->n = 0;
	}
	while (in->n) {
		bool in_head = w->head_have < 2 || w->head_have < w->head_need;

		r = in_head ? read_head(w, in) : 1;
		if (r <= 0)
			return r;
		r = read_payload(w, in, is_control_frame(w) ? &w->control : &w->message);
		if (r > 0)
			r = end_frame(w, ret);
		else if (r == 0 && !is_control_frame(w))
			r = check_text(w, false);
		if (r)
			return r;
	}
	return 0;
}

/* --- encoder --------------------------------------------------------------------------------- */

static size_t put_head(unsigned char out[WEBSOCKET_HEAD_MAX_BYTES], unsigned first, uint64_t n,
		       const unsigned char *mask)
{
	unsigned bytes = n < LENGTH_16 ? 0 : n <= UINT16_MAX ? 2 : 8;

	out[0] = (unsigned char)first;
	out[1] = (unsigned char)(bytes == 0 ? n : bytes == 2 ? LENGTH_16 : LENGTH_64);
	for (unsigned i = 0; i < bytes; i++)
		out[2 + i] = (unsigned char)(n >> (8 * (bytes - 1 - i)));
	if (!mask)
		return 2 + bytes;
	out[1] |= MASKED;
	memcpy(out + 2 + bytes, mask, WEBSOCKET_MASK_BYTES);
	return 2 + bytes + WEBSOCKET_MASK_BYTES;
}

size_t websocket_head(enum websocket_opcode type, uint64_t n,
		      unsigned char out[WEBSOCKET_HEAD_MAX_BYTES])
{
	return put_head(out, FIN | type, n, NULL);
}

void websocket_put_fragment(struct buf *b, enum websocket_opcode type, bool first, bool last,
			    const unsigned char *mask, const void *p, size_t n)
{
	unsigned char head[WEBSOCKET_HEAD_MAX_BYTES];
	unsigned kind = first ? type : WEBSOCKET_CONTINUATION;
	char *room;

	buf_add(b, head, put_head(head, kind | (last ? FIN : 0), n, mask));
	room = buf_room(b, n);
	if (!room)
		return;
	if (mask)
		websocket_mask(room, p, n, mask, 0);
	else if (n)
		memcpy(room, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void websocket_put(struct buf *b, enum websocket_opcode type, const unsigned char *mask,
		   const void *p, size_t n)
{
	assert(type < WEBSOCKET_CLOSE || n <= WEBSOCKET_CONTROL_MAX_BYTES);
	websocket_put_fragment(b, type, true, true, mask, p, n);
}

void websocket_put_close(struct buf *b, const unsigned char *mask, enum websocket_code code,
			 const char *reason)
{
	char payload[WEBSOCKET_CONTROL_MAX_BYTES] = { (char)(code >> 8), (char)code };
	size_t n = strlen(reason);
	bool bad;

	if (code == WEBSOCKET_NO_CODE) {
		websocket_put(b, WEBSOCKET_CLOSE, mask, "", 0);
		return;
	}
	if (n > sizeof(payload) - 2)
		n = utf8_prefix(reason, sizeof(payload) - 2, &bad);
	memcpy(payload + 2, reason, n);
	websocket_put(b, WEBSOCKET_CLOSE, mask, payload, n + 2);
}
