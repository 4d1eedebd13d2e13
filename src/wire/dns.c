#include "wire/dns.h"

#include <errno.h>
#include <string.h>

/* The flags in the header. The first enum lists the flags in byte 2 of the message, the second enum
 * those in byte 3. */
enum { QR = 0x80, OPCODE = 0x78, TC = 0x02, RD = 0x01 };
enum { RA = 0x80, RCODE = 0x0f };

#define LABEL_MAX 63u
#define NAME_WIRE_MAX 255u
#define OPT_BYTES 11u
#define OPT_DO 0x80u /* in the first byte of the flags of an OPT record */
#define RECORD_FIXED_BYTES 10u

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static char label_char(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')
		return (char)c;
	return 0;
}

/* Decodes the name at *AT. Refuses a compressed name, because a question never needs one. */
static int plain_name(const uint8_t *p, size_t n, size_t *at, char out[DNS_NAME_TEXT_BYTES])
{
	size_t i = *at, used = 0;

	for (;;) {
		size_t len;

		if (i >= n)
			return -EINVAL;
		len = p[i++];
		if (len == 0)
			break;
		if (len > LABEL_MAX || len > n - i || used + len + 1 > DNS_NAME_TEXT_BYTES)
			return -EINVAL;
		for (size_t k = 0; k < len; k++) {
			char c = label_char(p[i + k]);

			if (!c)
				return -EINVAL;
			out[used++] = c;
		}
		out[used++] = '.';
		i += len;
	}
	if (i - *at > NAME_WIRE_MAX)
		return -EINVAL;
	out[used ? used - 1 : 0] = '\0';
	*at = i;
	return 0;
}

/*
 * Steps over a name in an answer. A pointer ends the name. We check that the pointer leads to an
 * earlier place in the message, but do not follow the pointer.
 */
static int skip_name(const uint8_t *p, size_t n, size_t *at)
{
	size_t i = *at;

	for (;;) {
		uint8_t len;

		if (i >= n)
			return -EBADMSG;
		len = p[i];
		if (len == 0) {
			i++;
			break;
		}
		if ((len & 0xc0) == 0xc0) {
			if (n - i < 2 || (get16(p + i) & 0x3fffu) >= i)
				return -EBADMSG;
			i += 2;
			break;
		}
		if (len > LABEL_MAX || len >= n - i)
			return -EBADMSG;
		i += (size_t)len + 1;
	}
	if (i - *at > NAME_WIRE_MAX)
		return -EBADMSG;
	*at = i;
	return 0;
}

/* Decodes the OPT record that may follow a question. */
static int decode_opt(const uint8_t *p, size_t n, struct dns_query *q)
{
	if (n < OPT_BYTES || p[0] != 0 || get16(p + 1) != DNS_OPT || get16(p + 9) != n - OPT_BYTES)
		return -EINVAL;
	if (p[6] != 0)
		return -EINVAL; /* unknown version of EDNS */
	q->edns = true;
	q->udp_bytes = get16(p + 3);
	if (q->udp_bytes < DNS_UDP_PLAIN_BYTES)
		q->udp_bytes = DNS_UDP_PLAIN_BYTES;
	q->dnssec = p[7] & OPT_DO;
	return 0;
}

static int decode_question(const uint8_t *p, size_t n, struct dns_query *q)
{
	size_t at = DNS_HEADER_BYTES;

	if (get16(p + 4) != 1 || get16(p + 6) != 0 || get16(p + 8) != 0 || get16(p + 10) > 1)
		return -EINVAL;
	if (plain_name(p, n, &at, q->name) < 0 || n - at < 4)
		return -EINVAL;
	q->type = get16(p + at);
	q->class = get16(p + at + 2);
	at += 4;
	if (get16(p + 10) == 1) {
		if (decode_opt(p + at, n - at, q) < 0)
			return -EINVAL;
	} else if (at != n) {
		return -EINVAL;
	}
	q->question_n = at - DNS_HEADER_BYTES;
	memcpy(q->question, p + DNS_HEADER_BYTES, q->question_n);
	return 0;
}

int dns_query_decode(const uint8_t *p, size_t n, struct dns_query *ret)
{
	if (n < DNS_HEADER_BYTES || n > DNS_MESSAGE_MAX || p[2] & QR)
		return -EBADMSG;
	*ret = (struct dns_query){ .id = get16(p),
				   .recurse = p[2] & RD,
				   .udp_bytes = DNS_UDP_PLAIN_BYTES };
	if (p[2] & OPCODE)
		return -EOPNOTSUPP;
	if (p[2] & TC)
		return -EINVAL;
	return decode_question(p, n, ret);
}

static size_t add_opt(const struct dns_query *q, uint8_t *out)
{
	if (!q->edns)
		return 0;
	memset(out, 0, OPT_BYTES);
	put16(out + 1, DNS_OPT);
	put16(out + 3, DNS_UDP_EDNS_BYTES);
	out[7] = q->dnssec ? OPT_DO : 0;
	return OPT_BYTES;
}

/* Writes a header without flags, then the question and the OPT record. */
static size_t encode(const struct dns_query *q, uint16_t id, uint8_t out[DNS_QUERY_MAX_BYTES])
{
	size_t n = DNS_HEADER_BYTES;

	memset(out, 0, DNS_HEADER_BYTES);
	put16(out, id);
	if (!q->question_n)
		return n; /* the question was not understood, so the answer is only the header */
	out[5] = 1;
	memcpy(out + n, q->question, q->question_n);
	n += q->question_n;
	out[11] = q->edns;
	return n + add_opt(q, out + n);
}

size_t dns_query_encode(const struct dns_query *q, uint16_t id, uint8_t out[DNS_QUERY_MAX_BYTES])
{
	size_t n = encode(q, id, out);

	out[2] = RD;
	return n;
}

size_t dns_reply_encode(const struct dns_query *q, enum dns_rcode rcode, bool truncated,
			uint8_t out[DNS_QUERY_MAX_BYTES])
{
	size_t n = encode(q, q->id, out);

	out[2] = (uint8_t)(QR | (q->recurse ? RD : 0) | (truncated ? TC : 0));
	out[3] = (uint8_t)(RA | rcode);
	return n;
}

static int walk_record(struct dns_walk *w, struct dns_record *r)
{
	if (skip_name(w->p, w->n, &w->at) < 0 || w->n - w->at < RECORD_FIXED_BYTES)
		return -EBADMSG;
	r->type = get16(w->p + w->at);
	r->class = get16(w->p + w->at + 2);
	r->ttl_at = w->at + 4;
	r->ttl = (uint32_t)get16(w->p + r->ttl_at) << 16 | get16(w->p + r->ttl_at + 2);
	r->data_n = get16(w->p + w->at + 8);
	r->data_at = w->at + RECORD_FIXED_BYTES;
	if (r->data_n > w->n - r->data_at)
		return -EBADMSG;
	w->at = r->data_at + r->data_n;
	return 0;
}

static size_t question_end(const uint8_t *p, size_t n)
{
	size_t at = DNS_HEADER_BYTES;

	return skip_name(p, n, &at) < 0 || n - at < 4 ? 0 : at + 4;
}

void dns_walk_start(struct dns_walk *w, const uint8_t *p, size_t n)
{
	*w = (struct dns_walk){ .p = p, .n = n, .at = question_end(p, n) };
	for (unsigned i = 0; i < 3; i++)
		w->left[i] = get16(p + 6 + 2 * i);
}

bool dns_walk_next(struct dns_walk *w, struct dns_record *ret)
{
	unsigned s = 0;

	while (s < 3 && !w->left[s])
		s++;
	if (s == 3)
		return false;
	ret->section = (enum dns_section)s;
	/* after a failure w->left[s] stays above 0: this tells the caller that the message is cut
	 * or malformed */
	if (walk_record(w, ret) < 0)
		return false;
	w->left[s]--;
	return true;
}

static bool same_question(const uint8_t *p, const struct dns_query *q)
{
	for (size_t i = 0; i < q->question_n; i++) {
		uint8_t a = p[i], b = q->question[i];

		/* a length byte is at most 63, so it is no letter, and label_char() does not change
		 * it */
		if (i < q->question_n - 4 && label_char(a) && label_char(b)) {
			a = (uint8_t)label_char(a);
			b = (uint8_t)label_char(b);
		}
		if (a != b)
			return false;
	}
	return true;
}

static bool address_length_is_right(const struct dns_record *r)
{
	return (r->type != DNS_A || r->data_n == 4) && (r->type != DNS_AAAA || r->data_n == 16);
}

int dns_answer_check(const uint8_t *p, size_t n, const struct dns_query *q, uint16_t id)
{
	struct dns_record r;
	struct dns_walk w;

	if (n < DNS_HEADER_BYTES || n > DNS_MESSAGE_MAX || get16(p) != id || !(p[2] & QR) ||
	    p[2] & OPCODE || get16(p + 4) != 1)
		return -EBADMSG;
	if (n - DNS_HEADER_BYTES < q->question_n || !same_question(p + DNS_HEADER_BYTES, q) ||
	    question_end(p, n) != DNS_HEADER_BYTES + q->question_n)
		return -EBADMSG;
	dns_walk_start(&w, p, n);
	while (dns_walk_next(&w, &r))
		if (!address_length_is_right(&r))
			return -EBADMSG;
	return w.left[0] || w.left[1] || w.left[2] || w.at != n ? -EBADMSG : 0;
}

enum dns_rcode dns_answer_rcode(const uint8_t *p)
{
	return (enum dns_rcode)(p[3] & RCODE);
}

bool dns_answer_truncated(const uint8_t *p)
{
	return p[2] & TC;
}

void dns_answer_address_to(uint8_t *p, const struct dns_query *q)
{
	put16(p, q->id);
	memcpy(p + DNS_HEADER_BYTES, q->question, q->question_n);
}
