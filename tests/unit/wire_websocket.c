#include "wire/websocket.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "t.h"

static const unsigned char mask[] = { 0x37, 0xfa, 0x21, 0x3d };

/* Feeds bytes in pieces of STEP. Returns the events as text: "t:text b:bytes p:ping o:pong
 * c1000:reason", then "!code" if the decoder failed. */
static const char *heard(struct websocket *w, const char *p, size_t n, size_t step)
{
	static char out[4096];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct websocket_event ev;
	int r = 0;

	for (size_t at = 0; at < n && r >= 0; at += step) {
		struct str in = { p + at, n - at < step ? n - at : step };

		while ((r = websocket_next(w, &in, &ev)) == 1) {
			static const char name[] = { [WEBSOCKET_TEXT] = 't',
						     [WEBSOCKET_BINARY] = 'b',
						     [WEBSOCKET_CLOSE] = 'c',
						     [WEBSOCKET_PING] = 'p',
						     [WEBSOCKET_PONG] = 'o' };

			buf_addf(&b, "%s%c", b.n ? " " : "", name[ev.type]);
			if (ev.type == WEBSOCKET_CLOSE)
				buf_addf(&b, "%d", ev.code);
			buf_add_char(&b, ':');
			buf_add(&b, ev.payload.p, ev.payload.n < 64 ? ev.payload.n : 64);
			if (ev.payload.n > 64)
				buf_addf(&b, "(%zu)", ev.payload.n);
		}
		if (r == 0)
			T_INT(in.n, 0);
	}
	if (r < 0)
		buf_addf(&b, "%s!%d", b.n ? " " : "", w->failed);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

/* Decodes B as a server, and returns the events as heard() does. If B is short, also decodes B in
 * pieces of 1, 2 and 3 bytes: all results must be equal. */
static const char *server_hears(const struct buf *b)
{
	static char whole[4096];
	struct websocket w;

	websocket_init(&w, WEBSOCKET_SERVER, WEBSOCKET_MESSAGE_MAX_BYTES);
	snprintf(whole, sizeof(whole), "%s", heard(&w, b->p, b->n, b->n));
	websocket_done(&w);
	if (b->n < 10000) {
		for (size_t step = 1; step <= 3; step++) {
			websocket_init(&w, WEBSOCKET_SERVER, WEBSOCKET_MESSAGE_MAX_BYTES);
			T_STR(heard(&w, b->p, b->n, step), whole);
			websocket_done(&w);
		}
	}
	return whole;
}

static void put(struct buf *b, enum websocket_opcode type, const char *text)
{
	websocket_put(b, type, mask, text, strlen(text));
}

static void fragment(struct buf *b, unsigned first_byte, const char *text)
{
	size_t at = b->n;

	websocket_put(b, WEBSOCKET_TEXT, mask, text, strlen(text));
	b->p[at] = (char)first_byte;
}

/* --- handshake -------------------------------------------------------------------------------- */

static struct http_request request; /* too large for the stack */

static int check(const char *text, struct str *ret_key)
{
	struct str in = str_of(text);
	size_t seen = 0;

	T_INT(http_request_next(&in, &seen, 100, &request), 1);
	return websocket_check_request(&request, ret_key);
}

#define UPGRADE "GET /rpc/ws HTTP/1.1\r\nHost: a\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define UP "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define V13 "Sec-WebSocket-Version: 13\r\n"

static void server_handshake(void)
{
	static const struct {
		const char *text;
		int want;
	} c[] = {
		{ UPGRADE UP KEY V13 "\r\n", 0 },
		{ UPGRADE "upgrade: WebSocket\r\nconnection: keep-alive, upgrade\r\n" KEY V13
			  "\r\n",
		  0 },
		{ UPGRADE KEY V13 "\r\n", -400 },
		{ UPGRADE "Upgrade: websocket\r\n" KEY V13 "\r\n", -400 },
		{ UPGRADE "Upgrade: h2c\r\nConnection: Upgrade\r\n" KEY V13 "\r\n", -400 },
		{ UPGRADE UP V13 "\r\n", -400 },
		{ UPGRADE UP KEY KEY V13 "\r\n", -400 },
		{ UPGRADE UP "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n" V13 "\r\n", -400 },
		{ UPGRADE UP "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n" V13 "\r\n", -400 },
		{ UPGRADE UP "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==\r\n" V13 "\r\n", -400 },
		{ UPGRADE UP KEY "\r\n", -400 },
		{ UPGRADE UP KEY "Sec-WebSocket-Version: 8\r\n\r\n", -426 },
		{ UPGRADE UP KEY V13 "Content-Length: 5\r\n\r\n", -400 },
		{ "POST / HTTP/1.1\r\nHost: a\r\n" UP KEY V13 "\r\n", -400 },
		{ "GET / HTTP/1.0\r\nHost: a\r\n" UP KEY V13 "\r\n", -400 },
	};
	AUTO_BUF b = BUF_INIT(1024);
	struct str key;

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		if (check(c[i].text, &key) != c[i].want)
			T_FAIL("'%s': want %d", c[i].text, c[i].want);
	T_INT(check(UPGRADE UP KEY V13 "Sec-WebSocket-Protocol: x, mcp\r\n\r\n", &key), 0);
	T_TRUE(websocket_offers(&request, "mcp"));
	T_TRUE(!websocket_offers(&request, "MCP"));
	T_TRUE(!websocket_offers(&request, "m"));
	websocket_put_agreement(&b, key, "mcp");
	T_STR(buf_str(&b), "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
			   "Connection: Upgrade\r\n"
			   "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
			   "Sec-WebSocket-Protocol: mcp\r\n\r\n");
}

static void client_handshake(void)
{
	static const unsigned char nonce[WEBSOCKET_NONCE_BYTES] = "the sample nonce";
	static const struct {
		const char *text;
		bool want, with_protocol;
	} c[] = {
#define AGREED "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
#define ACCEPT "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
		{ AGREED ACCEPT "\r\n", true, false },
		{ AGREED "\r\n", false, false },
		{ AGREED "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp=\r\n\r\n", false,
		  false },
		{ "HTTP/1.1 200 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n" ACCEPT "\r\n",
		  false, false },
		{ "HTTP/1.1 101 x\r\nConnection: upgrade\r\n" ACCEPT "\r\n", false, false },
		{ "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n" ACCEPT "\r\n", false, false },
		{ AGREED ACCEPT "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", false,
		  false },
		{ AGREED ACCEPT "Sec-WebSocket-Protocol: mcp\r\n\r\n", true, true },
		{ AGREED ACCEPT "Sec-WebSocket-Protocol: mcp\r\n\r\n", false, false },
		{ AGREED ACCEPT "Sec-WebSocket-Protocol: other\r\n\r\n", false, true },
	};
	AUTO_BUF b = BUF_INIT(1024);
	static struct http_response response;
	struct str key, in;

	websocket_put_request(&b, STR("box:5410"), STR("/rpc/ws"), nonce);
	http_put_header(&b, "X-LangBot-Instance-Id", STR("inst-7"));
	http_put_end(&b);
	T_INT(check(buf_str(&b), &key), 0);
	T_TRUE(str_eq(key, "dGhlIHNhbXBsZSBub25jZQ=="));
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		size_t seen = 0;

		in = str_of(c[i].text);
		T_INT(http_response_next(&in, &seen, &response), 1);
		if (websocket_check_response(&response, nonce, c[i].with_protocol ? "mcp" : NULL) !=
		    c[i].want)
			T_FAIL("'%s'", c[i].text);
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The examples of RFC 6455, 5.7. */
static void known_frames(void)
{
	AUTO_BUF b = BUF_INIT(1024);
	struct websocket w;

	websocket_put(&b, WEBSOCKET_TEXT, mask, "Hello", 5);
	T_TRUE(b.n == 11 && memcmp(b.p, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11) == 0);
	T_STR(server_hears(&b), "t:Hello");
	buf_clear(&b);
	websocket_put(&b, WEBSOCKET_TEXT, NULL, "Hello", 5);
	T_TRUE(b.n == 7 && memcmp(b.p, "\x81\x05Hello", 7) == 0);
	websocket_init(&w, WEBSOCKET_CLIENT, 100);
	T_STR(heard(&w, b.p, b.n, b.n), "t:Hello");
	T_STR(heard(&w, "\x01\x03Hel\x89\x02hi\x80\x02lo", 13, 1), "p:hi t:Hello");
	websocket_done(&w);
	T_STR(server_hears(&b), "!1002"); /* a client must mask */
	websocket_init(&w, WEBSOCKET_CLIENT, 100);
	T_STR(heard(&w, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11, 11), "!1002");
	websocket_done(&w); /* a server must not mask */
}

static void lengths_in_all_forms(void)
{
	static const size_t lengths[] = { 0, 1, 125, 126, 127, 65535, 65536, 70001 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t n = lengths[i];
		AUTO_BUF b = BUF_INIT(200000);
		AUTO_FREE char *text = malloc(n + 1);
		struct websocket w;
		struct websocket_event ev;
		struct str in;
		unsigned char head[WEBSOCKET_HEAD_MAX_BYTES];

		for (size_t k = 0; k < n; k++)
			text[k] = (char)('a' + k % 26);
		websocket_put(&b, WEBSOCKET_BINARY, mask, text, n);
		websocket_init(&w, WEBSOCKET_SERVER, 70001);
		in = (struct str){ b.p, b.n };
		T_INT(websocket_next(&w, &in, &ev), 1);
		T_TRUE(ev.type == WEBSOCKET_BINARY && ev.payload.n == n &&
		       memcmp(ev.payload.p, text, n) == 0);
		T_INT(in.n, 0);
		websocket_done(&w);
		buf_clear(&b);
		websocket_put(&b, WEBSOCKET_TEXT, NULL, text, n);
		T_INT(websocket_head(WEBSOCKET_TEXT, n, head), b.n - n);
		T_TRUE(memcmp(head, b.p, b.n - n) == 0);
	}
}

static void masks_are_applied_from_any_byte_on(void)
{
	unsigned char plain[40], got[40], want[40];

	for (unsigned i = 0; i < sizeof(plain); i++)
		plain[i] = (unsigned char)(i * 37);
	for (unsigned at = 0; at < 4; at++) {
		for (size_t n = 0; n <= sizeof(plain); n++) {
			for (size_t i = 0; i < n; i++)
				want[i] = plain[i] ^ mask[(at + i) % 4];
			websocket_mask(got, plain, n, mask, at);
			T_TRUE(memcmp(got, want, n) == 0);
			memcpy(got, plain, n);
			websocket_mask(got, got, n, mask, at);
			T_TRUE(memcmp(got, want, n) == 0);
		}
	}
}

static void messages_come_in_fragments(void)
{
	AUTO_BUF b = BUF_INIT(4096);

	websocket_put_fragment(&b, WEBSOCKET_TEXT, true, false, mask, "one ", 4);
	put(&b, WEBSOCKET_PING, "still there?");
	websocket_put_fragment(&b, WEBSOCKET_TEXT, false, false, mask, "", 0);
	put(&b, WEBSOCKET_PONG, "");
	websocket_put_fragment(&b, WEBSOCKET_TEXT, false, true, mask, "two", 3);
	put(&b, WEBSOCKET_BINARY, "next");
	T_STR(server_hears(&b), "p:still there? o: t:one two b:next");
}

static void broken_rules(void)
{
	static const struct {
		unsigned first;
		const char *text, *want;
	} c[] = {
		{ 0x81, "x", "t:x" },
		{ 0xc1, "x", "!1002" }, /* reserved bits: no extension was agreed on */
		{ 0xa1, "x", "!1002" },
		{ 0x91, "x", "!1002" },
		{ 0x83, "x", "!1002" }, /* unknown types */
		{ 0x87, "x", "!1002" },
		{ 0x8b, "x", "!1002" },
		{ 0x8f, "x", "!1002" },
		{ 0x80, "x", "!1002" }, /* no message to continue */
		{ 0x00, "x", "!1002" },
		{ 0x09, "x", "!1002" }, /* fragmented control frames */
		{ 0x08, "", "!1002" },
		{ 0x0a, "x", "!1002" },
		{ 0x88, "", "c1005:" },
		{ 0x88, "x", "!1002" }, /* only the first byte of a code */
		{ 0x88, "\x03\xe8", "c1000:" },
		{ 0x88, "\x03\xe9gone", "c1001:gone" },
		{ 0x88, "\x03\xe7", "!1002" }, /* 999 */
		{ 0x88, "\x03\xec", "!1002" }, /* 1004, 1005, 1006 */
		{ 0x88, "\x03\xed", "!1002" },
		{ 0x88, "\x03\xee", "!1002" },
		{ 0x88, "\x03\xef", "c1007:" },
		{ 0x88, "\x03\xf6", "c1014:" },
		{ 0x88, "\x03\xf7", "!1002" }, /* 1015 */
		{ 0x88, "\x07\xcf", "!1002" }, /* 1999 */
		{ 0x88, "\x0b\xb7", "!1002" }, /* 2999 */
		{ 0x88, "\x0b\xb8", "c3000:" },
		{ 0x88, "\x13\x87", "c4999:" },
		{ 0x88, "\x13\x88", "!1002" }, /* 5000 */
		{ 0x88, "\x03\xe8\xff", "!1007" },
		{ 0x81, "a\xff", "!1007" },
		{ 0x81, "a\xc3", "!1007" }, /* ends inside of a character */
		{ 0x82, "a\xff", "b:a\xff" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_BUF b = BUF_INIT(1024);

		fragment(&b, c[i].first, c[i].text);
		T_STR(server_hears(&b), c[i].want);
	}
}

static void a_new_message_inside_of_another(void)
{
	AUTO_BUF b = BUF_INIT(1024), c = BUF_INIT(1024);

	fragment(&b, 0x01, "x");
	fragment(&b, 0x81, "y");
	T_STR(server_hears(&b), "!1002");
	fragment(&c, 0x02, "x");
	fragment(&c, 0x01, "y");
	T_STR(server_hears(&c), "!1002");
}

static void control_frames_are_short(void)
{
	AUTO_BUF b = BUF_INIT(1024);
	char text[127];

	memset(text, 'x', sizeof(text));
	text[125] = '\0';
	put(&b, WEBSOCKET_PING, text);
	T_INT(b.n, 2 + 4 + 125);
	text[125] = 'x';
	text[126] = '\0';
	buf_clear(&b);
	websocket_put_fragment(&b, WEBSOCKET_PING, true, true, mask, text, 126);
	T_STR(server_hears(&b), "!1002");
}

/* Tests lengths that are not in their shortest form, or have their highest bit set. */
static void bad_lengths_are_refused(void)
{
	static const struct {
		const char *p;
		size_t n;
	} c[] = {
		{ "\x82\xfe\x00\x05\0\0\0\0", 8 },
		{ "\x82\xff\0\0\0\0\0\0\x00\x05\0\0\0\0", 14 },
		{ "\x82\xff\0\0\0\0\0\0\xff\xff\0\0\0\0", 14 },
		{ "\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0", 14 },
		{ "\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct websocket w;

		websocket_init(&w, WEBSOCKET_SERVER, WEBSOCKET_MESSAGE_MAX_BYTES);
		T_STR(heard(&w, c[i].p, c[i].n, 1), "!1002");
		T_INT(websocket_held_bytes(&w), 0);
		websocket_done(&w);
	}
}

/* The decoder must check the text of a message across its fragments, and must refuse bad text as
 * early as possible. */
static void text_across_fragments(void)
{
	AUTO_BUF b = BUF_INIT(1024), c = BUF_INIT(1024), d = BUF_INIT(1024);
	struct websocket w;

	fragment(&b, 0x01, "\xf0\x9f");
	fragment(&b, 0x00, "\x98");
	fragment(&b, 0x80, "\x80!");
	T_STR(server_hears(&b), "t:\xf0\x9f\x98\x80!");
	fragment(&c, 0x01, "\xf0\x9f");
	fragment(&c, 0x80, "x");
	T_STR(server_hears(&c), "!1007");
	/* the second byte of the character after "ab" already shows a surrogate, so the decoder
	 * does not wait for the rest */
	websocket_put_fragment(&d, WEBSOCKET_TEXT, true, false, mask, "ab\xed\xa0\x80zzzzzzzzzz",
			       15);
	websocket_init(&w, WEBSOCKET_SERVER, 100);
	T_STR(heard(&w, d.p, 6 + 4, 1), "!1007");
	websocket_done(&w);
}

static void the_size_of_messages_is_limited(void)
{
	AUTO_BUF b = BUF_INIT(4096), c = BUF_INIT(4096), d = BUF_INIT(4096);
	struct websocket w;

	websocket_put(&b, WEBSOCKET_TEXT, mask, "0123456789", 10);
	websocket_init(&w, WEBSOCKET_SERVER, 10);
	T_STR(heard(&w, b.p, b.n, b.n), "t:0123456789");
	T_STR(heard(&w, b.p, b.n, 1), "t:0123456789");
	websocket_done(&w);
	websocket_init(&w, WEBSOCKET_SERVER, 9);
	/* the head of the frame alone shows that the message is too long */
	T_STR(heard(&w, b.p, 6, 1), "!1009");
	T_STR(heard(&w, b.p, b.n, 1), "!1009"); /* the same error again */
	websocket_done(&w);
	websocket_put_fragment(&c, WEBSOCKET_TEXT, true, false, mask, "012345", 6);
	websocket_put_fragment(&c, WEBSOCKET_TEXT, false, true, mask, "6789", 4);
	websocket_init(&w, WEBSOCKET_SERVER, 10);
	T_STR(heard(&w, c.p, c.n, c.n), "t:0123456789");
	websocket_done(&w);
	websocket_init(&w, WEBSOCKET_SERVER, 9);
	T_STR(heard(&w, c.p, c.n, c.n), "!1009");
	websocket_done(&w);
	/* the head announces 16 MiB that do not come: they must not take memory yet */
	buf_add(&d, "\x82\xff\0\0\0\0\x01\0\0\0\0\0\0\0", 14);
	websocket_init(&w, WEBSOCKET_SERVER, WEBSOCKET_MESSAGE_MAX_BYTES);
	T_STR(heard(&w, d.p, d.n, 1), "");
	T_TRUE(websocket_held_bytes(&w) <= 256);
	websocket_done(&w);
	d.p[9] = 1; /* the head announces one byte more than is allowed */
	websocket_init(&w, WEBSOCKET_SERVER, WEBSOCKET_MESSAGE_MAX_BYTES);
	T_STR(heard(&w, d.p, d.n, 1), "!1009");
	websocket_done(&w);
}

static void the_number_of_fragments_is_limited(void)
{
	AUTO_BUF b = BUF_INIT(1 << 20);

	for (unsigned i = 0; i < WEBSOCKET_FRAGMENTS_MAX; i++)
		websocket_put_fragment(&b, WEBSOCKET_BINARY, i == 0,
				       i == WEBSOCKET_FRAGMENTS_MAX - 1, mask, "", 0);
	T_STR(server_hears(&b), "b:");
	buf_clear(&b);
	for (unsigned i = 0; i <= WEBSOCKET_FRAGMENTS_MAX; i++)
		websocket_put_fragment(&b, WEBSOCKET_BINARY, i == 0, false, mask, "", 0);
	T_STR(server_hears(&b), "!1009");
}

static void a_large_message_gives_its_memory_back(void)
{
	AUTO_BUF b = BUF_INIT(32u << 20);
	struct websocket w;
	struct websocket_event ev;
	struct str in;
	void *room = buf_room(&b, WEBSOCKET_MESSAGE_MAX_BYTES + 64);
	AUTO_FREE char *text = malloc(WEBSOCKET_MESSAGE_MAX_BYTES);

	T_TRUE(room && text);
	memset(text, 'x', WEBSOCKET_MESSAGE_MAX_BYTES);
	websocket_put(&b, WEBSOCKET_TEXT, mask, text, WEBSOCKET_MESSAGE_MAX_BYTES);
	websocket_init(&w, WEBSOCKET_SERVER, WEBSOCKET_MESSAGE_MAX_BYTES);
	in = (struct str){ b.p, b.n };
	T_INT(websocket_next(&w, &in, &ev), 1);
	T_INT(ev.payload.n, WEBSOCKET_MESSAGE_MAX_BYTES);
	T_TRUE(memcmp(ev.payload.p, text, ev.payload.n) == 0);
	T_INT(websocket_held_bytes(&w), WEBSOCKET_MESSAGE_MAX_BYTES);
	T_INT(websocket_next(&w, &in, &ev), 0);
	T_INT(websocket_held_bytes(&w), 0);
	websocket_done(&w);
}

/* The owner may stop after an event and continue later, without losing bytes. */
static void reading_may_pause(void)
{
	AUTO_BUF b = BUF_INIT(1024);
	struct websocket w;
	struct websocket_event ev;
	struct str in;

	put(&b, WEBSOCKET_TEXT, "one");
	put(&b, WEBSOCKET_TEXT, "two");
	websocket_init(&w, WEBSOCKET_SERVER, 100);
	in = (struct str){ b.p, b.n };
	T_INT(websocket_next(&w, &in, &ev), 1);
	T_INT(in.n, b.n / 2);
	T_STR(ev.payload.p, "one");
	T_INT(websocket_next(&w, &in, &ev), 1);
	T_STR(ev.payload.p, "two");
	T_INT(websocket_next(&w, &in, &ev), 0);
	websocket_done(&w);
}

static void nothing_counts_after_a_close(void)
{
	AUTO_BUF b = BUF_INIT(1024);

	websocket_put_close(&b, mask, WEBSOCKET_NORMAL, "bye");
	put(&b, WEBSOCKET_TEXT, "more");
	buf_add_str(&b, "garbage");
	T_STR(server_hears(&b), "c1000:bye");
}

static void close_frames_are_written(void)
{
	AUTO_BUF b = BUF_INIT(1024), c = BUF_INIT(1024), d = BUF_INIT(1024);
	char reason[200];

	websocket_put_close(&b, NULL, WEBSOCKET_GOING_AWAY, "Box runtime shutting down");
	T_TRUE(b.n == 29 && memcmp(b.p,
				   "\x88\x1b\x03\xe9"
				   "Box runtime shutting down",
				   29) == 0);
	websocket_put_close(&c, NULL, WEBSOCKET_NO_CODE, "");
	T_TRUE(c.n == 2 && memcmp(c.p, "\x88\x00", 2) == 0);
	/* a long reason is cut between two characters */
	for (size_t i = 0; i + 2 < sizeof(reason); i += 2)
		memcpy(reason + i, "\xc3\xa9", 3);
	websocket_put_close(&d, mask, WEBSOCKET_INTERNAL, reason);
	T_INT(d.n, 6 + 2 + 122);
	T_TRUE(server_hears(&d)[0] == 'c');
}

int main(void)
{
	T_RUN(server_handshake);
	T_RUN(client_handshake);
	T_RUN(known_frames);
	T_RUN(lengths_in_all_forms);
	T_RUN(masks_are_applied_from_any_byte_on);
	T_RUN(messages_come_in_fragments);
	T_RUN(broken_rules);
	T_RUN(a_new_message_inside_of_another);
	T_RUN(control_frames_are_short);
	T_RUN(bad_lengths_are_refused);
	T_RUN(text_across_fragments);
	T_RUN(the_size_of_messages_is_limited);
	T_RUN(the_number_of_fragments_is_limited);
	T_RUN(a_large_message_gives_its_memory_back);
	T_RUN(reading_may_pause);
	T_RUN(nothing_counts_after_a_close);
	T_RUN(close_frames_are_written);
	return t_end();
}
