/* The first byte of the input chooses whether the rest is decoded as a question, or as an answer to
 * a fixed question. */
#include "wire/dns.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_answer(const uint8_t *p, size_t n)
{
	static const uint8_t asked[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01"
				       "a\x00\x00\x01\x00\x01";
	struct dns_query q;
	struct dns_record r;
	struct dns_walk w;
	unsigned sum = 0;

	if (dns_query_decode(asked, sizeof(asked) - 1, &q) < 0)
		abort();
	if (dns_answer_check(p, n, &q, 0x1234) < 0)
		return;
	dns_walk_start(&w, p, n);
	while (dns_walk_next(&w, &r))
		for (unsigned i = 0; i < r.data_n; i++)
			sum += p[r.data_at + i];
	if (sum == 1u << 31)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[DNS_QUERY_MAX_BYTES];
	struct dns_query q, again;
	int r;

	if (size == 0)
		return 0;
	if (data[0] & 1) {
		try_answer(data + 1, size - 1);
		return 0;
	}
	r = dns_query_decode(data + 1, size - 1, &q);
	if (r == 0) {
		/* an encoded question must decode to the same question */
		if (dns_query_decode(out, dns_query_encode(&q, q.id, out), &again) < 0 ||
		    strcmp(q.name, again.name) != 0 || q.type != again.type)
			abort();
		dns_reply_encode(&q, DNS_NXDOMAIN, true, out);
	}
	return 0;
}
