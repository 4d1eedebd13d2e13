/* Passes any bytes to a call, as a hostile pid 1 could send them. Credits must stay within their
 * bounds, the number of the command must not change, and frames after the end must have no
 * effect. */
#include "client/call.h"

#include <stdlib.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF out = BUF_INIT(1 << 16);
	struct str in = { (const char *)data, size };
	struct call c;
	struct frame f;

	call_init(&c, "fuzz", 1);
	while (frame_next(&in, &f) > 0) {
		struct call before = c;
		struct err e;
		int news = call_take(&c, &f, &e);

		if (news < 0)
			break;
		check(c.credit <= FRAME_CREDIT_BYTES && c.granted <= FRAME_CREDIT_BYTES);
		check(!before.id || c.id == before.id);
		check(!before.ended || news == CALL_NOTHING);
		check(news != CALL_REPORT || (!before.reported && f.body.n <= REPORT_MAX_BYTES));
		check(news != CALL_COMMAND || (c.command.id && c.told <= CALL_TOLD_MAX));
		check(news != CALL_OUTPUT || f.body.n <= before.granted);
		check((news == CALL_ENDED) == (c.ended && !before.ended));
		if (news == CALL_OUTPUT)
			call_took(&c, f.body.n, &out);
		call_input(&c, data, size, &out);
		out.n = 0;
	}
	check(exec_exit_status(&c.end) >= 0);
	return 0;
}
