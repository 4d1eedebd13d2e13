/* Reads any bytes as a message of a Box server, as an address, and as the text of a failure. An
 * accepted answer must have the number of its request, and an object as data. The texts of an
 * outcome must stay within their limits. */
#include "endpoint/answer.h"

#include <stdint.h>
#include <stdlib.h>

#include "endpoint/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEQ 7

static void check_answer(struct str text)
{
	AUTO_JSON doc = NULL;
	AUTO_FAULT f = { 0 };
	struct outcome o;
	int r = answer_read(text, SEQ, &doc, &f);

	if ((r == 1) != (doc != NULL) || (r < 0) != (f.text != NULL))
		abort();
	if (r != 1)
		return;
	if (answer_data(doc)->type != JSON_OBJECT ||
	    json_get_int(json_root(doc), "seq_id", -1) != SEQ)
		abort();
	outcome_init(&o);
	r = answer_read_outcome(answer_data(doc), &o, &f);
	if (buf_failed(&o.out) || buf_failed(&o.err) || (r == 0 && (!o.session_id || !o.backend)))
		abort();
	outcome_done(&o);
}

static void check_address(struct str text)
{
	struct address a = { 0 };
	AUTO_FAULT f = { 0 };

	if (address_read(text, &a, &f) == 0 && (!*a.name || !a.port || !a.host))
		abort();
	address_done(&a);
}

static void check_message(struct str text)
{
	AUTO_FAULT f = { 0 };

	if (fault_from_message(&f, text) != -1 || f.class == FAULT_NONE || !f.text)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str all = { (const char *)data, size };

	check_answer(all);
	check_address(all);
	check_message(all);
	return 0;
}
