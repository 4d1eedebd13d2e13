#include "process/ids.h"
#include "t.h"

static int do_nothing(void *arg)
{
	return 0;
}

/* Ids beyond the last one: the kernel takes no such map, whoever asks. */
static void work_that_was_never_done_is_a_failure(void)
{
	const struct ids ids = { .mode = IDS_RANGE, .uid_base = UINT32_MAX - 1, .gid_base = 1 };
	struct err e = { 0 };

	T_INT(ids_run(&ids, do_nothing, NULL, &e), -1);
	T_TRUE(e.msg[0]);
}

int main(void)
{
	T_RUN(work_that_was_never_done_is_a_failure);
	return t_end();
}
