#include "wire/dns.h"
#include "t.h"

#include <errno.h>

struct msg {
	uint8_t b[2048];
	size_t n;
};

static void add(struct msg *m, const char *bytes, size_t n)
{
	memcpy(m->b + m->n, bytes, n);
	m->n += n;
}
#define ADD(m, literal) add(m, literal, sizeof(literal) - 1)

static struct msg question(const char *name, size_t name_n)
{
	struct msg m = { .n = 0 };

	ADD(&m, "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00");
	add(&m, name, name_n);
	ADD(&m, "\x00\x01\x00\x01");
	return m;
}
#define QUESTION(name) question(name, sizeof(name) - 1)

static void a_question_is_decoded(void)
{
	struct msg m = QUESTION("\x03wWw\x07"
				"example\x03"
				"com\x00");
	struct dns_query q;
	uint8_t out[DNS_QUERY_MAX_BYTES];

	T_INT(dns_query_decode(m.b, m.n, &q), 0);
	T_STR(q.name, "www.example.com");
	T_INT(q.id, 0x1234);
	T_INT(q.type, DNS_A);
	T_INT(q.udp_bytes, 512);
	T_TRUE(q.recurse && !q.edns);
	T_INT(dns_query_encode(&q, 7, out), m.n);
	T_INT(out[1], 7);
	T_TRUE(memcmp(out + 2, m.b + 2, m.n - 2) == 0);
	T_INT(dns_reply_encode(&q, DNS_NXDOMAIN, false, out), m.n);
	T_INT(out[2], 0x81);
	T_INT(out[3], 0x83);
}

static void edns_is_understood(void)
{
	struct msg m = QUESTION("\x01"
				"a\x00");
	struct dns_query q;
	uint8_t out[DNS_QUERY_MAX_BYTES];

	m.b[11] = 1;
	ADD(&m, "\x00\x00\x29\x10\x00\x00\x00\x80\x00\x00\x03xyz");
	T_INT(dns_query_decode(m.b, m.n, &q), 0);
	T_TRUE(q.edns && q.dnssec);
	T_INT(q.udp_bytes, 4096);
	/* dns_query_encode() leaves out the three bytes of options */
	T_INT(dns_query_encode(&q, 7, out), m.n - 3);
}

static void malformed_questions_are_refused(void)
{
	char long_name[300];
	size_t n = 0;
	struct dns_query q;
	struct msg m;

	m = QUESTION("\x05"
		     "a.bcd\x00");
	T_INT(dns_query_decode(m.b, m.n, &q), -EINVAL); /* a dot inside a label */
	m = QUESTION("\x04"
		     "a\0.b\x00");
	T_INT(dns_query_decode(m.b, m.n, &q), -EINVAL);
	m = QUESTION("\x02\xc3\xbc\x00");
	T_INT(dns_query_decode(m.b, m.n, &q), -EINVAL);
	m = QUESTION("\xc0\x0c");
	T_INT(dns_query_decode(m.b, m.n, &q), -EINVAL); /* a pointer to itself */
	m = QUESTION("\x40");
	T_INT(dns_query_decode(m.b, m.n, &q), -EINVAL);
	m = QUESTION("\x03"
		     "abc");
	T_INT(dns_query_decode(m.b, m.n, &q), -EINVAL);
	m = QUESTION("\x01"
		     "a\x00");
	ADD(&m, "x");
	T_INT(dns_query_decode(m.b, m.n, &q), -EINVAL); /* bytes left over */
	m = QUESTION("\x01"
		     "a\x00");
	m.b[5] = 2;
	T_INT(dns_query_decode(m.b, m.n, &q), -EINVAL);
	m = QUESTION("\x01"
		     "a\x00");
	m.b[2] |= 0x10;
	T_INT(dns_query_decode(m.b, m.n, &q), -EOPNOTSUPP);
	T_INT(q.id, 0x1234);
	m = QUESTION("\x01"
		     "a\x00");
	m.b[2] |= 0x80;
	T_INT(dns_query_decode(m.b, m.n, &q), -EBADMSG);
	T_INT(dns_query_decode(m.b, 11, &q), -EBADMSG);

	/* a name of 255 bytes on the wire is the longest, so one more label is too many */
	for (unsigned i = 0; i < 127; i++)
		long_name[n++] = 1, long_name[n++] = 'a';
	long_name[n++] = 0;
	m = question(long_name, n);
	T_INT(dns_query_decode(m.b, m.n, &q), 0);
	T_INT(strlen(q.name), 253);
	long_name[n - 1] = 1, long_name[n++] = 'a', long_name[n++] = 0;
	m = question(long_name, n);
	T_INT(dns_query_decode(m.b, m.n, &q), -EINVAL);
}

static struct msg answer(struct dns_query *q)
{
	struct msg m = QUESTION("\x03"
				"foo\x03"
				"bar\x00");

	T_INT(dns_query_decode(m.b, m.n, q), 0);
	m.b[2] = 0x81, m.b[3] = 0x80, m.b[7] = 2;
	ADD(&m, "\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x04\x01x\xc0\x10");
	ADD(&m, "\xc0\x25\x00\x01\x00\x01\x00\x01\x00\x00\x00\x04\x0a\x00\x00\x01");
	return m;
}

static void an_answer_is_read(void)
{
	struct dns_query q;
	struct msg m = answer(&q);
	struct dns_walk w;
	struct dns_record r;

	T_INT(dns_answer_check(m.b, m.n, &q, 0x1234), 0);
	dns_walk_start(&w, m.b, m.n);
	T_TRUE(dns_walk_next(&w, &r));
	T_INT(r.type, DNS_CNAME);
	T_INT(r.ttl, 60);
	T_TRUE(dns_walk_next(&w, &r));
	T_INT(r.type, DNS_A);
	T_INT(r.ttl, 65536);
	T_INT(r.data_n, 4);
	T_TRUE(memcmp(m.b + r.data_at, "\x0a\x00\x00\x01", 4) == 0);
	T_TRUE(!dns_walk_next(&w, &r));
	m.b[13] = 'F'; /* the resolver may change the case */
	T_INT(dns_answer_check(m.b, m.n, &q, 0x1234), 0);
	dns_answer_address_to(m.b, &q);
	T_INT(m.b[13], 'f');
}

static void wrong_answers_are_refused(void)
{
	struct dns_query q;
	struct msg good = answer(&q), m;

	T_INT(dns_answer_check(good.b, good.n, &q, 0x1235), -EBADMSG);
	for (size_t n = 0; n < good.n; n++)
		T_INT(dns_answer_check(good.b, n, &q, 0x1234), -EBADMSG);
	m = good;
	ADD(&m, "x");
	T_INT(dns_answer_check(m.b, m.n, &q, 0x1234), -EBADMSG);
	m = good, m.b[13] = 'g'; /* another name */
	T_INT(dns_answer_check(m.b, m.n, &q, 0x1234), -EBADMSG);
	m = good, m.b[2] = 0x01; /* a question */
	T_INT(dns_answer_check(m.b, m.n, &q, 0x1234), -EBADMSG);
	m = good, m.b[good.n - 6] = 5; /* the length of the last record */
	T_INT(dns_answer_check(m.b, m.n, &q, 0x1234), -EBADMSG);
	m = good, m.b[26] = 0xff; /* a pointer forwards */
	m.b[25] = 0xff;
	T_INT(dns_answer_check(m.b, m.n, &q, 0x1234), -EBADMSG);
}

int main(void)
{
	T_RUN(a_question_is_decoded);
	T_RUN(edns_is_understood);
	T_RUN(malformed_questions_are_refused);
	T_RUN(an_answer_is_read);
	T_RUN(wrong_answers_are_refused);
	return t_end();
}
