#include "service/limits.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/cleanup.h"

/* With these numbers box_limits_fit() computes how many sessions fit into the descriptors that a
 * server may have. */

/* descriptors of the server itself: its loop, its log, its hands, and the pipe ends that it sends
 * to pid 1 with a new command */
#define OWN_DESCRIPTORS 32u
/* connections of peers get a quarter of all descriptors, but at most PEERS_MAX */
#define PEERS_MAX 1024u
/* descriptors of one session: the leash, the connection to pid 1, two pipes of the running exec */
#define SESSION_DESCRIPTORS 4u
/* descriptors of one managed process: its pipes */
#define PROCESS_DESCRIPTORS 3u

// clang-format off
#define LIMIT(name, fallback, min, max, shown) \
	{ #name, offsetof(struct box_limits, name), fallback, min, max, shown }
static const struct limit {
	const char *name;
	size_t offset;
	int64_t fallback, min, max;
	bool shown; /* box_status shows this limit */
} table[] = {
	LIMIT(max_sessions, 64, 0, 5000, true),
	LIMIT(max_managed_processes, 64, 0, 1024, true),
	LIMIT(max_completed_processes, 256, 0, 10000, true),
	LIMIT(max_admission_records, 100000, 1, 250000, true),
	LIMIT(max_rpc_file_bytes, 20971520, 1, 104857600, true),
	LIMIT(completed_process_retention_sec, 300, 0, 86400, false),
};
// clang-format on

static int64_t *place(struct box_limits *l, const struct limit *of)
{
	return (int64_t *)(void *)((char *)l + of->offset);
}

int box_limits_decode(const struct json_value *v, struct box_limits *ret, struct fault *f)
{
	struct box_limits l;

	if (v && v->type != JSON_OBJECT)
		return fault_set(f, FAULT_VALUE, "box.limits must be an object");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const struct json_value *one = json_get(v, table[i].name);

		*place(&l, &table[i]) = table[i].fallback;
		if (!one)
			continue;
		if (one->type != JSON_INT)
			return fault_set(f, FAULT_VALUE, "box.limits.%s must be an integer",
					 table[i].name);
		if (one->integer < table[i].min || one->integer > table[i].max)
			return fault_set(f, FAULT_VALUE,
					 "box.limits.%s must be between %" PRId64 " and %" PRId64,
					 table[i].name, table[i].min, table[i].max);
		*place(&l, &table[i]) = one->integer;
	}
	*ret = l;
	return 0;
}

bool box_limits_fit(struct box_limits *l, uint64_t descriptors)
{
	uint64_t peers = descriptors / 4 < PEERS_MAX ? descriptors / 4 : PEERS_MAX;
	uint64_t used = peers + OWN_DESCRIPTORS;
	uint64_t room = descriptors > used ? descriptors - used : 0;
	uint64_t with_process = (uint64_t)l->max_managed_processes;
	uint64_t fit = room / (SESSION_DESCRIPTORS + PROCESS_DESCRIPTORS);

	if (fit > with_process)
		fit = (room - with_process * PROCESS_DESCRIPTORS) / SESSION_DESCRIPTORS;
	if (fit == 0)
		fit = 1;
	if ((uint64_t)l->max_sessions <= fit)
		return false;
	l->max_sessions = (int64_t)fit;
	return true;
}

void box_limits_encode(const struct box_limits *l, struct json_writer *w)
{
	struct box_limits copy = *l;

	json_begin_object(w);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].shown)
			json_key_int(w, table[i].name, *place(&copy, &table[i]));
	json_end_object(w);
}
