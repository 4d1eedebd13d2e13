#include "wire/sniff.h"
#include "t.h"

/* Passes TEXT to sniff_next() in pieces, as the gateway does. Returns one word for each result that
 * is to be judged (a name, BARE, OPAQUE or BAD), then "+" and the number of bytes that passed.
 * Everything is allowed except BAD, which ends the stream. */
static const char *follow(const void *text, size_t n, bool http, size_t piece)
{
	static char out[256];
	struct sniff s = { .http = http };
	size_t have = 0, judged = 0, more;
	struct hello h;

	out[0] = '\0';
	while (have < n) {
		have = n - have < piece ? n : have + piece;
		for (;;) {
			const uint8_t *p = (const uint8_t *)text + judged;
			enum sniff_step step = sniff_next(&s, p, have - judged, &more, &h);
			size_t at = strlen(out);

			if (step == SNIFF_WAIT)
				break;
			if (step == SNIFF_PASS) {
				judged += more;
				continue;
			}
			snprintf(out + at, sizeof(out) - at, "%s ",
				 h.kind == HELLO_BAD      ? "BAD"
				 : h.kind == HELLO_OPAQUE ? "OPAQUE"
				 : h.kind == HELLO_BARE   ? "BARE"
							  : h.name);
			if (h.kind == HELLO_BAD)
				goto end;
			sniff_allow(&s, &h);
		}
	}
end:
	snprintf(out + strlen(out), sizeof(out) - strlen(out), "+%zu", judged);
	return out;
}

static void everywhere(const void *text, size_t n, bool http, const char *want)
{
	static const size_t pieces[] = { 1, 2, 7, 1 << 20 };

	for (unsigned i = 0; i < 4; i++)
		T_STR(follow(text, n, http, pieces[i]), want);
}

#define A "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define B "GET / HTTP/1.1\r\nHost: b\r\n\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static void requests(void)
{
	static const struct {
		const char *text, *want;
	} c[] = {
		{ A B, "a b +54" },
		{ A "\r\n\n" B, "a b +57" },
		{ "\r" B, "b +28" },
		{ A " \t\r" B, "a b +57" },
		{ A "ANENDLESSMETHODTHATSOMESERVERSTAKE / HTTP/1.1\r\nHost: b\r\n\r\n",
		  "a BAD +27" },
		{ " \x03 binary", "OPAQUE +9" },
		/* a body is not read as a request */
		{ POST "Content-Length: 27\r\n\r\n" B A, "a a +102" },
		{ CHUNKED "1b\r\n" B "\r\n0\r\n\r\n" B, "a b +121" },
		{ CHUNKED "1B;x=y\r\n" B "\r\n0;\r\nX: y\r\n\r\n" A, "a a +132" },
		{ CHUNKED "x\r\n", "a BAD +56" },
		{ CHUNKED "1 \r\n", "a BAD +56" },
		{ CHUNKED "1\nx\r\n", "a BAD +56" },
		{ CHUNKED "0000000000000001\r\n", "a BAD +56" },
		{ CHUNKED "1\r\nxyz\r\n", "a BAD +60" },
		{ A "PRI * HTTP/2.0\r\n\r\n", "a BAD +27" },
		{ A "\x81\x05hello", "a OPAQUE +34" },
		{ "SSH-2.0-x\r\n" B, "OPAQUE +38" },
		{ "GET / HTTP/1.0\r\n\r\n" B, "BARE b +45" },
		{ "EHLO me", "+0" },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++)
		everywhere(c[i].text, strlen(c[i].text), true, c[i].want);
	everywhere(A B, strlen(A B), false, "OPAQUE +54");
}

/* Writes a ClientHello with a name of three letters. If EARLY, it has the extension for early
 * data. */
static size_t hello(uint8_t *out, const char *name, bool early)
{
	static const uint8_t front[] = { 22, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3 };
	size_t n = 0, ext = early ? 16 : 12;

	memcpy(out, front, sizeof(front));
	n = sizeof(front) + 32;
	memset(out + sizeof(front), 7, 32);
	memcpy(out + n, "\0\0\2\x13\1\1\0\0", 8);
	out[n + 8] = (uint8_t)ext;
	n += 9;
	memcpy(out + n, "\0\0\0\x08\0\6\0\0\3", 9);
	memcpy(out + n + 9, name, 3);
	if (early)
		memcpy(out + n + 12, "\0\x2a\0\0", 4);
	n += ext;
	out[4] = (uint8_t)(n - 5);
	out[8] = (uint8_t)(n - 9);
	return n;
}

static void second_hellos(void)
{
	static const char change[] = "\x14\3\3\0\1\1", data[] = "\x17\3\3\0\2hi";
	static const char warning[] = "\x15\3\1\0\2\1\x5a";
	static const char finished[] = "\x16\3\3\0\x08\1\xf0\3\4\5\6\7\x08";
	uint8_t b[512];
	size_t n;

	n = hello(b, "a.b", false);
	n += hello(b + n, "c.d", false);
	everywhere(b, n, false, "a.b c.d +128");
	n = hello(b, "a.b", false);
	memcpy(b + n, change, 6);
	n += 6 + hello(b + n + 6, "c.d", false);
	memcpy(b + n, data, 7);
	/* the data above ended the handshake, so this hello counts as data */
	n += 7 + hello(b + n + 7, "e.f", false);
	everywhere(b, n, false, "a.b c.d +205");
	n = hello(b, "a.b", false);
	memcpy(b + n, change, 6);
	memcpy(b + n + 6, finished, 13);
	memcpy(b + n + 19, data, 7);
	everywhere(b, n + 26, false, "a.b +90");
	memcpy(b, warning, 7);
	n = 7 + hello(b + 7, "a.b", false);
	everywhere(b, n, false, "BAD +0");
	everywhere(b, n, true, "BAD +0");
	everywhere("\x15\4", 2, false, "OPAQUE +2");
	n = hello(b, "a.b", true);
	memcpy(b + n, data, 7);
	n += 7 + hello(b + n + 7, "c.d", false);
	everywhere(b, n, false, "a.b c.d +139");
}

int main(void)
{
	T_RUN(requests);
	T_RUN(second_hellos);
	return t_end();
}
