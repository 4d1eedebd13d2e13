/* Reads any JSON as a BoxSpec and as the spec of a process. If an accepted BoxSpec is written and
 * read again, the result must be the same BoxSpec. An accepted BoxSpec must not conflict with
 * itself. The refusal of either spec must have a message. */
#include "service/boxspec.h"

#include <stdint.h>
#include <stdlib.h>

#include "service/processspec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const struct box_spec *s, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, 0);
	box_spec_encode(s, &w);
	if (buf_failed(out))
		abort();
}

static void check_fault(const struct fault *f)
{
	if (f->class == FAULT_NONE || !f->text || f->n == 0 || !utf8_valid(f->text, f->n))
		abort();
}

static void check_spec(const struct box_spec *s)
{
	AUTO_BUF first = BUF_INIT(16u << 20), second = BUF_INIT(16u << 20);
	AUTO_JSON d = NULL;
	AUTO_FAULT f = { 0 };
	struct box_spec again;
	struct err e = { 0 };

	encode(s, &first);
	if (json_parse(first.p, first.n, &d, &e) < 0 ||
	    box_spec_decode(json_root(d), &again, &f) < 0)
		abort();
	encode(&again, &second);
	if (first.n != second.n || memcmp(first.p, second.p, first.n) != 0)
		abort();
	if (box_spec_compare(s, &again, STR("id"), &f) < 0 || !box_spec_same_mounts(s, &again))
		abort();
	if (box_spec_check_targets(s, &f) < 0)
		check_fault(&f);
	if (box_spec_check_command(s, &f) < 0)
		check_fault(&f);
	box_spec_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_JSON d = NULL;
	AUTO_FAULT f = { 0 };
	struct box_spec s;
	struct process_spec p;
	struct err e = { 0 };

	if (json_parse_lenient((const char *)data, size, &d, &e) < 0)
		return 0;
	if (box_spec_decode(json_root(d), &s, &f) == 0) {
		check_spec(&s);
		box_spec_done(&s);
	} else {
		check_fault(&f);
	}
	if (process_spec_decode(json_root(d), &p, &f) == 0)
		process_spec_done(&p);
	else
		check_fault(&f);
	return 0;
}
