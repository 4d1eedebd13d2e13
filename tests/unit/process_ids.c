#include "process/ids.h"
#include "t.h"

static int do_nothing(void *arg)
{
	return 0;
}

/* Ids beyond the last one: the kernel refuses such a map for every user. */
static void a_failed_mapping_is_an_error(void)
{
	const struct ids ids = { .mode = IDS_RANGE, .uid_base = UINT32_MAX - 1, .gid_base = 1 };
	struct err e = { 0 };

	T_INT(ids_run(&ids, do_nothing, NULL, &e), -1);
	T_TRUE(e.msg[0]);
}

int main(void)
{
	T_RUN(a_failed_mapping_is_an_error);
	return t_end();
}
