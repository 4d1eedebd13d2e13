/* Reads any bytes as a request to a hand and as an answer. The paths of a decoded request must be
 * absolute, and the code of a decoded answer must be valid. If a decoded message is encoded again,
 * the new bytes must decode to a request with the same task and number of roots, or to an answer
 * with the same text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/hand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_paths(const char *const *path, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (path[i][0] != '/')
			abort();
}

static void check_request(struct str in)
{
	AUTO_BUF b = BUF_INIT(FRAME_BODY_MAX_BYTES);
	struct hand_request q, again;

	if (hand_request_decode(in, &q) < 0)
		return;
	check_paths(q.refused, q.n_refused);
	check_paths(q.root, q.n_roots);
	if (q.path && q.path[0] != '/')
		abort();
	hand_request_encode(&b, &q);
	if (!buf_failed(&b) && (hand_request_decode((struct str){ b.p, b.n }, &again) < 0 ||
				again.task != q.task || again.n_roots != q.n_roots))
		abort();
}

static void check_answer(struct str in)
{
	AUTO_BUF b = BUF_INIT(FRAME_BODY_MAX_BYTES);
	struct hand_answer a, again;

	if (hand_answer_decode(in, &a) < 0)
		return;
	if (a.code >= ERR_CODE_COUNT)
		abort();
	hand_answer_encode(&b, &a);
	if (!buf_failed(&b) && (hand_answer_decode((struct str){ b.p, b.n }, &again) < 0 ||
				strcmp(again.text, a.text) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_request((struct str){ (const char *)data, size });
	check_answer((struct str){ (const char *)data, size });
	return 0;
}
