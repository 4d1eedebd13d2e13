#include "wire/dbus.h"

#include <errno.h>

#include "base/cleanup.h"
#include "t.h"

static void login_is_one_line_and_its_answer_another(void)
{
	static const struct {
		const char *text;
		int want;
	} c[] = {
		{ "", 0 },
		{ "OK 1234", 0 },
		{ "OK 1234\r", 0 },
		{ "OK 1234\r\n", 1 },
		{ "OK 1234\n", -EPROTO },
		{ "\r\n", -EPROTO },
		{ "\n", -EPROTO },
		{ "OK\r\n", -EPROTO },
		{ "REJECTED EXTERNAL\r\n", -EACCES },
		{ "DATA\r\n", -EPROTO },
	};
	AUTO_BUF out = BUF_INIT(256), endless = BUF_INIT(4096);
	struct str rest;

	dbus_put_login(&out, 1000);
	T_INT(out.n, 1 + strlen("AUTH EXTERNAL 31303030\r\n"));
	T_STR(out.p + 1, "AUTH EXTERNAL 31303030\r\n");
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		rest = str_of(c[i].text);
		T_INT(dbus_login_answer(&rest), c[i].want);
		T_INT(rest.n, c[i].want == 1 ? 0 : strlen(c[i].text));
	}
	buf_add_fill(&endless, 'O', DBUS_LOGIN_LINE_MAX_BYTES + 1);
	rest = (struct str){ endless.p, endless.n };
	T_INT(dbus_login_answer(&rest), -EPROTO);
	rest = STR("OK 12\r\nl\2");
	T_INT(dbus_login_answer(&rest), 1);
	T_INT(rest.n, 2); /* the bytes after the line belong to a message */
}

static const struct dbus_call call = { .serial = 7,
				       .destination = "org.example.Manager",
				       .path = "/org/example",
				       .interface = "org.example.Manager",
				       .member = "Take",
				       .signature = "sua(sv)" };

static void put_example(struct buf *out)
{
	AUTO_BUF body = BUF_INIT(256);
	size_t at, list;

	dbus_put_string(&body, "abc");
	dbus_put_u32(&body, 5);
	at = dbus_begin_array(&body, 8);
	dbus_put_struct(&body);
	dbus_put_string(&body, "names");
	dbus_put_variant(&body, "as");
	list = dbus_begin_array(&body, 4);
	dbus_put_string(&body, "x");
	dbus_end_array(&body, list, 4);
	dbus_end_array(&body, at, 8);
	dbus_put_call(out, &call, &body);
}

/* Compares a body with bytes that were written by hand from the specification. */
static void a_body_is_aligned(void)
{
	static const char want[] = "\3\0\0\0abc\0" /* string */
				   "\5\0\0\0"      /* number */
				   "\x1a\0\0\0"    /* array: 26 bytes */
				   "\5\0\0\0names\0"
				   "\2as\0"
				   "\0\0"     /* padding */
				   "\6\0\0\0" /* array: 6 bytes */
				   "\1\0\0\0x";
	AUTO_BUF out = BUF_INIT(1024);
	struct dbus_message m;
	struct str rest;

	put_example(&out);
	rest = (struct str){ out.p, out.n };
	T_INT(dbus_next(&rest, &m), 1);
	T_INT(rest.n, 0);
	T_INT(m.type, DBUS_CALL);
	T_TRUE(str_eq(m.path, call.path) && str_eq(m.member, call.member) &&
	       str_eq(m.interface, call.interface) && str_eq(m.signature, call.signature));
	T_INT(m.body.n, sizeof(want));
	T_TRUE(m.body.n == sizeof(want) && memcmp(m.body.p, want, sizeof(want)) == 0);
}

static void an_empty_array_of_structures_is_padded_too(void)
{
	AUTO_BUF body = BUF_INIT(64);
	size_t at;

	dbus_put_u32(&body, 1);
	dbus_put_u32(&body, 2);
	at = dbus_begin_array(&body, 8);
	dbus_end_array(&body, at, 8);
	T_INT(body.n, 16);
	T_INT(body.p[8], 0);
}

static void a_cut_message_needs_more_bytes_and_two_are_parsed_one_by_one(void)
{
	AUTO_BUF out = BUF_INIT(1024);
	struct dbus_message m;
	struct str rest;

	put_example(&out);
	for (size_t n = 0; n < out.n; n++) {
		rest = (struct str){ out.p, n };
		T_INT(dbus_next(&rest, &m), 0);
		T_INT(rest.n, n);
	}
	put_example(&out); /* the padding of this second message counts from its own start */
	rest = (struct str){ out.p, out.n };
	T_INT(dbus_next(&rest, &m), 1);
	T_INT(dbus_next(&rest, &m), 1);
	T_TRUE(str_eq(m.member, "Take"));
	T_INT(rest.n, 0);
}

/* Reads a message of a machine with the other byte order. Its types are "uoss", as in the signal
 * JobRemoved. */
static void both_byte_orders(void)
{
	static const char big[] = "B\4\1\1\0\0\0\x1c\0\0\0\2\0\0\0\x1d"
				  "\1\1o\0\0\0\0\2/a\0\0\0\0\0\0"
				  "\3\1s\0\0\0\0\4Gone\0\0\0\0"
				  "\0\0\0\x9\0\0\0\2/j\0\0"
				  "\0\0\0\3u.s\0\0\0\0\4done";
	struct str rest = { big, sizeof(big) };
	struct dbus_reader r;
	struct dbus_message m;

	T_INT(dbus_next(&rest, &m), 1);
	T_TRUE(m.big_endian && m.type == DBUS_SIGNAL && str_eq(m.path, "/a") &&
	       str_eq(m.member, "Gone"));
	r = dbus_read(&m);
	T_INT(dbus_get_u32(&r), 9);
	T_TRUE(str_eq(dbus_get_string(&r), "/j"));
	T_TRUE(str_eq(dbus_get_string(&r), "u.s"));
	T_TRUE(!r.bad);
	T_INT(dbus_get_string(&r).n, 0); /* the NUL after "done" is not in the body */
	T_TRUE(r.bad);
	T_INT(dbus_get_u32(&r), 0);
}

/* Changes the byte at AT to TO. The message must then be refused. */
static void is_bad(size_t at, char to)
{
	AUTO_BUF out = BUF_INIT(1024);
	struct dbus_message m;
	struct str rest;

	put_example(&out);
	out.p[at] = to;
	rest = (struct str){ out.p, out.n };
	if (dbus_next(&rest, &m) != -EPROTO)
		T_FAIL("byte %zu as %d is taken", at, to);
}

static void broken_messages(void)
{
	is_bad(0, 'L');        /* byte order */
	is_bad(1, 0);          /* type */
	is_bad(3, 2);          /* version */
	is_bad(6, 2);          /* body of 128 KiB */
	is_bad(7, (char)0x80); /* body of 2 GiB */
	is_bad(8, 0);          /* serial 0 */
	is_bad(14, 2);         /* fields of 128 KiB */
	is_bad(15, (char)255);
	is_bad(12, 3);            /* the fields end inside of a field */
	is_bad(16 + 1, 2);        /* a field's type of two letters */
	is_bad(16 + 2, 'v');      /* a type that no field has */
	is_bad(16 + 4, 100);      /* a text beyond the fields */
	is_bad(16 + 8, '\0');     /* a NUL in a text */
	is_bad(16 + 8 + 12, 'x'); /* no NUL after a text */
	is_bad(16 + 8 + 13, 1);   /* padding that is not zero */
}

static void a_variant_names_its_type(void)
{
	AUTO_BUF out = BUF_INIT(1024), body = BUF_INIT(64);
	struct dbus_message m;
	struct dbus_reader r;
	struct str rest;

	dbus_put_variant(&body, "b");
	dbus_put_u32(&body, 1);
	dbus_put_call(&out, &call, &body);
	rest = (struct str){ out.p, out.n };
	T_INT(dbus_next(&rest, &m), 1);
	r = dbus_read(&m);
	T_TRUE(str_eq(dbus_get_variant(&r), "b"));
	T_INT(dbus_get_u32(&r), 1);
	T_TRUE(!r.bad);
	dbus_get_variant(&r);
	T_TRUE(r.bad);
}

int main(void)
{
	T_RUN(login_is_one_line_and_its_answer_another);
	T_RUN(a_body_is_aligned);
	T_RUN(an_empty_array_of_structures_is_padded_too);
	T_RUN(a_cut_message_needs_more_bytes_and_two_are_parsed_one_by_one);
	T_RUN(both_byte_orders);
	T_RUN(broken_messages);
	T_RUN(a_variant_names_its_type);
	return t_end();
}
