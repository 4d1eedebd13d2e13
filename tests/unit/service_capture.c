#include "service/capture.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "service/preview.h"
#include "t.h"

static const char *rendered(const struct capture *c, size_t json_max)
{
	static char out[1 << 20];
	AUTO_BUF b = BUF_INIT(capture_render_max(c));

	capture_render(c, json_max, &b);
	T_TRUE(!buf_failed(&b));
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void text_is_decoded_and_trimmed(void)
{
	struct ceiling top = { .max = 1 << 20 };
	struct capture c;

	capture_init(&c, &top, 100);
	T_STR(rendered(&c, 0), "");
	capture_add(&c, "", 0);
	capture_add(&c, " \n\xc3", 3);
	capture_add(&c, "\xa9\xff\x1b[0m b\xe2\x82\t\n ", 12);
	T_STR(rendered(&c, 0), "\xc3\xa9\xef\xbf\xbd\x1b[0m b\xef\xbf\xbd");
	T_INT(c.dropped, 0);
	capture_done(&c);
	T_INT(top.used, 0);
}

static void nul_is_kept(void)
{
	struct ceiling top = { .max = 1 << 20 };
	AUTO_BUF b = BUF_INIT(1024);
	struct capture c;

	capture_init(&c, &top, 100);
	capture_add(&c, "a\0b", 3);
	capture_render(&c, 0, &b);
	T_INT(b.n, 3);
	capture_done(&c);
}

static void the_head_is_kept(void)
{
	struct ceiling top = { .max = 1 << 20 };
	struct capture c;

	capture_init(&c, &top, 10);
	capture_add(&c, "0123456789", 10);
	T_STR(rendered(&c, 0), "0123456789");
	capture_add(&c, "x", 1);
	T_STR(rendered(&c, 0),
	      "0123456789\n... [raw output clipped at 10 bytes, 1 bytes discarded]");
	capture_add(&c, "yz", 2);
	T_STR(rendered(&c, 0),
	      "0123456789\n... [raw output clipped at 10 bytes, 3 bytes discarded]");
	capture_done(&c);
	/* the text is trimmed before the notice; half a character becomes one U+FFFD */
	capture_init(&c, &top, 4);
	capture_add(&c, " a\n\xe2\x82\xac", 6);
	T_STR(rendered(&c, 0),
	      "a\n\xef\xbf\xbd\n... [raw output clipped at 4 bytes, 2 bytes discarded]");
	capture_done(&c);
}

static void the_whole_limit(void)
{
	struct ceiling top = { .max = CEILING_DEFAULT_BYTES };
	AUTO_FREE char *text = malloc(CAPTURE_LIMIT_BYTES);
	AUTO_BUF b = BUF_INIT(4u << 20);
	struct capture c;

	memset(text, 'x', CAPTURE_LIMIT_BYTES);
	capture_init(&c, &top, CAPTURE_LIMIT_BYTES);
	for (size_t i = 0; i < CAPTURE_LIMIT_BYTES; i += 65536)
		capture_add(&c, text, 65536);
	T_INT(c.dropped, 0);
	T_INT(c.head.n, CAPTURE_LIMIT_BYTES);
	T_INT(top.used, CAPTURE_LIMIT_BYTES);
	T_TRUE(c.head.cap <= top.used);
	capture_add(&c, text, 5);
	capture_render(&c, 0, &b);
	T_STR(b.p + CAPTURE_LIMIT_BYTES,
	      "\n... [raw output clipped at 1048576 bytes, 5 bytes discarded]");
	capture_done(&c);
	T_INT(top.used, 0);
}

/* Near the ceiling a capture gets less memory and says so in its text. Other captures still get
 * their share. */
static void the_ceiling_is_near(void)
{
	struct ceiling top = { .max = 100000 };
	AUTO_FREE char *text = calloc(1, 65536);
	AUTO_BUF b = BUF_INIT(1 << 20);
	struct capture c, other;

	memset(text, 'x', 65536);
	capture_init(&c, &top, CAPTURE_LIMIT_BYTES);
	capture_init(&other, &top, CAPTURE_LIMIT_BYTES);
	for (unsigned i = 0; i < 65536; i += 1024)
		capture_add(&c, text, 1024);
	T_TRUE(c.squeezed);
	T_INT(c.head.n, 16384);
	T_INT(c.taken, 16384);
	T_INT(c.dropped, 65536 - 16384);
	T_TRUE(c.head.cap <= c.taken);
	capture_render(&c, 0, &b);
	T_STR(b.p + 16384, "\n... [raw output clipped at 16384 bytes, 49152 bytes discarded; the "
			   "server's memory ceiling is near]");
	capture_add(&other, text, 4000);
	T_INT(other.dropped, 0);
	capture_done(&c);
	T_INT(top.used, 4096);
	/* after a drop no later bytes are added, so that the head has no hole */
	capture_add(&other, text, 60000);
	T_INT(other.head.n, 4096);
	T_TRUE(other.squeezed);
	capture_add(&other, text, 1);
	T_INT(other.head.n, 4096);
	capture_done(&other);
	T_INT(top.used, 0);
	/* little memory is left: the first bytes fit, the others do not */
	top.used = 95000;
	capture_init(&c, &top, CAPTURE_LIMIT_BYTES);
	capture_add(&c, text, 4096);
	T_INT(c.dropped, 0);
	capture_add(&c, text, 1);
	T_INT(c.dropped, 1);
	capture_done(&c);
	/* even if the limit is no power of two, the capture takes at most as much memory as the
	 * limit */
	top.used = 0;
	capture_init(&c, &top, 10000);
	capture_add(&c, text, 9000);
	T_INT(top.used, 10000);
	capture_done(&c);
	/* no memory is left for a capture */
	top.used = 99000;
	capture_init(&c, &top, CAPTURE_LIMIT_BYTES);
	capture_add(&c, text, 10);
	T_STR(rendered(&c, 0), "\n... [raw output clipped at 0 bytes, 10 bytes discarded; the "
			       "server's memory ceiling is near]");
	capture_done(&c);
	T_INT(top.used, 99000);
}

/* If a peer takes only small messages, this peer gets only as much text as fits into JSON of that
 * size. */
static void text_fits_into_json(void)
{
	struct ceiling top = { .max = 1 << 20 };
	static const char *const texts[] = { "a",    "\"",       "\\",   "\n\x01",
					     "\x01", "\xc3\xa9", "\xff", "\xf0\x9f\x98\x80" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		AUTO_BUF b = BUF_INIT(1 << 20), json = BUF_INIT(1 << 20);
		struct json_writer w;
		struct capture c;

		capture_init(&c, &top, 20000);
		while (c.head.n < 10000)
			capture_add(&c, texts[i], strlen(texts[i]));
		capture_render(&c, 5000, &b);
		json_writer_init(&w, &json, 0);
		json_strn(&w, b.p, b.n);
		T_TRUE(json.n <= 5000 && json.n > 4700);
		T_TRUE(strstr(b.p, "raw output clipped at ") != NULL);
		buf_clear(&b);
		capture_render(&c, 100000, &b);
		T_TRUE(strstr(b.p, "raw output clipped at ") == NULL);
		capture_done(&c);
	}
	T_INT(top.used, 0);
}

static void ceilings(void)
{
	struct ceiling top = { .max = 800 };

	T_TRUE(!ceiling_take(&top, 801));
	T_TRUE(!ceiling_take_share(&top, 101));
	T_TRUE(ceiling_take_share(&top, 100));
	T_INT(ceiling_left(&top), 700);
	T_TRUE(!ceiling_take_share(&top, 100));
	T_TRUE(ceiling_take(&top, 700));
	T_INT(ceiling_left(&top), 0);
	T_TRUE(!ceiling_take(&top, 1));
	T_TRUE(ceiling_take(&top, 0));
	top.max = 100; /* the ceiling is lowered while it is in use */
	T_INT(ceiling_left(&top), 0);
	T_TRUE(!ceiling_take(&top, 1));
	ceiling_give(&top, 800);
	T_INT(ceiling_left(&top), 100);
}

static void holdings(void)
{
	struct ceiling top = { .max = 16 << 20 };
	struct holding large = { .ceiling = &top }, small = { .ceiling = &top };

	T_TRUE(!holding_set(&large, (2 << 20) + 1)); /* more than an eighth of the ceiling */
	T_INT(top.used, 0);
	T_TRUE(holding_set(&large, 2 << 20));
	T_TRUE(holding_set(&large, 1 << 20)); /* shrinking works always */
	T_INT(top.used, 1 << 20);
	/* a holding may grow in small steps while bytes are left */
	while (ceiling_left(&top) >= CEILING_SMALL_BYTES)
		T_TRUE(holding_set(&small, small.bytes + CEILING_SMALL_BYTES));
	T_TRUE(!holding_set(&small, small.bytes + 1));
	holding_done(&small);
	holding_done(&large);
	holding_done(&large);
	T_INT(top.used, 0);
}

struct victim {
	struct ceiling *top;
	size_t holds;
};

static bool give_all(void *arg)
{
	struct victim *v = arg;

	ceiling_give(v->top, v->holds);
	return v->holds ? (v->holds = 0, true) : false;
}

static void relief(void)
{
	struct ceiling top = { .max = 100, .relieve = give_all };
	struct victim v = { &top, 80 };

	top.arg = &v;
	T_TRUE(ceiling_take(&top, 80));
	T_TRUE(ceiling_take(&top, 20));
	T_INT(v.holds, 80); /* there was room for 20 more bytes, so give_all() was not called */
	T_TRUE(ceiling_take(&top, 30));
	T_INT(top.used, 50);
	T_TRUE(!ceiling_take(&top, 60));
	T_INT(top.used, 50);
}

static const char *preview_text(const struct preview *p)
{
	static char out[65536];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);

	preview_render(p, &b);
	T_TRUE(!buf_failed(&b));
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void previews(void)
{
	struct preview p;
	AUTO_BUF burst = BUF_INIT(1 << 20);

	preview_init(&p);
	T_STR(preview_text(&p), "");
	preview_add(&p, " one\n", 5);
	preview_add(&p, "two \n\n", 6);
	T_STR(preview_text(&p), " one\ntwo");
	/* the preview keeps the tail of one large read */
	for (unsigned i = 0; i < 100000; i++)
		buf_add_str(&burst, i == 99999 ? "z" : "\xf0\x9f\x98\x80");
	preview_add(&p, burst.p, burst.n);
	T_INT(strlen(preview_text(&p)), 3999 * 4 + 1);
	T_TRUE(strncmp(preview_text(&p), "\xf0\x9f\x98\x80", 4) == 0);
	/* the preview also keeps the tail of many small reads, and its memory does not grow */
	for (unsigned i = 0; i < 20000; i++) {
		char line[32];

		snprintf(line, sizeof(line), "%05u \xe2\x82\xac\n", i);
		preview_add(&p, line, strlen(line));
		if (i % 5000 == 4999) {
			char want[32];

			snprintf(want, sizeof(want), "%05u \xe2\x82\xac", i);
			T_STR(preview_text(&p) + strlen(preview_text(&p)) - strlen(want), want);
		}
	}
	T_TRUE(p.tail.cap <= 32000);
	T_TRUE(utf8_valid(preview_text(&p), strlen(preview_text(&p))));
	T_TRUE(strstr(preview_text(&p), "\xef\xbf\xbd") == NULL);
	preview_done(&p);
}

int main(void)
{
	T_RUN(text_is_decoded_and_trimmed);
	T_RUN(nul_is_kept);
	T_RUN(the_head_is_kept);
	T_RUN(the_whole_limit);
	T_RUN(the_ceiling_is_near);
	T_RUN(text_fits_into_json);
	T_RUN(ceilings);
	T_RUN(holdings);
	T_RUN(relief);
	T_RUN(previews);
	return t_end();
}
