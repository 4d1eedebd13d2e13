#include "base/cleanup.h"
#include "process/ids.h"
#include "t.h"

static int do_nothing(void *arg)
{
	return 0;
}

/* The test asks for a map with ids beyond the last id. The kernel refuses such a map for every
 * user. */
static void a_failed_mapping_is_an_error(void)
{
	const struct ids ids = { .mode = IDS_RANGE, .uid_base = UINT32_MAX - 1, .gid_base = 1 };
	struct err e = { 0 };

	T_INT(ids_run(&ids, do_nothing, NULL, &e), -1);
	T_TRUE(e.msg[0]);
}

/* A map of the inner namespace must have each id once, and each line of the map must lie within one
 * line of the outer map. */
static void inner_maps(void)
{
	static const struct {
		struct ids ids;
		const char *uid, *gid;
	} cases[] = {
		{ { .mode = IDS_RANGE }, "0 1 65536\n", "0 1 65536\n" },
		{ { .mode = IDS_SINGLE }, "0 0 1\n", "0 0 1\n" },
		{ { .mode = IDS_SUBID }, "0 1 1\n1 2 65534\n", "0 1 1\n1 2 65534\n" },
		{ { .mode = IDS_SUBID, .rotation = { 1000, 0 } },
		  "0 2 1000\n1000 1 1\n1001 1002 64534\n",
		  "0 1 1\n1 2 65534\n" },
		{ { .mode = IDS_SUBID, .rotation = { 1, 65533 } },
		  "0 2 1\n1 1 1\n2 3 65533\n",
		  "0 2 65533\n65533 1 1\n65534 65535 1\n" },
		{ { .mode = IDS_SUBID, .rotation = { 65534, 65534 } },
		  "0 2 65534\n65534 1 1\n",
		  "0 2 65534\n65534 1 1\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char map[IDS_MAP_BYTES];

		ids_inner_uid_map(&cases[i].ids, map);
		T_STR(map, cases[i].uid);
		ids_inner_gid_map(&cases[i].ids, map);
		T_STR(map, cases[i].gid);
	}
}

/* In a rotated sandbox the caller is the inner id N, and has the outer id 1. The ids below N move
 * up by two, and the ids above N by one. */
static void rotation(void)
{
	static const uint32_t owners[] = { 0, 1, 33, 1000, 65534 };

	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		for (uint32_t id = 0; id < IDS_PER_SANDBOX; id++) {
			uint32_t n = owners[i];
			const struct ids ids = { .mode = IDS_SUBID, .rotation = { n, n } };
			uint32_t outer = id < n ? id + 2 : id == n ? 1 : id + 1;

			if (ids_outer_uid(&ids, id) != outer || ids_outer_gid(&ids, id) != outer)
				T_FAIL("owner %u, id %u", n, id);
		}
}

int main(void)
{
	T_RUN(inner_maps);
	T_RUN(rotation);
	T_RUN(a_failed_mapping_is_an_error);
	return t_end();
}
