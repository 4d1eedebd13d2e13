#include "service/quota.h"

#include "base/cleanup.h"
#include "client/tree_size.h"

#define BYTES_PER_MB (1024ull * 1024)

int quota_check(const struct box_spec *s, int64_t max_entries, enum quota_phase phase,
		struct fault *f)
{
	const char *when = phase == QUOTA_BEFORE ? "before execution" : "after execution";
	uint64_t limit = (uint64_t)s->workspace_quota_mb * BYTES_PER_MB;
	struct tree_size size = { 0 };
	struct err e;

	if (!s->host_path || s->workspace_quota_mb <= 0)
		return 0;
	if (tree_measure(s->host_path, limit, (uint64_t)max_entries, &size, &e) < 0) {
		if (e.code == ERR_NOT_FOUND)
			return 0;
		return fault_set(f, FAULT_VALIDATION, "workspace cannot be measured %s: %s", when,
				 e.msg);
	}
	if (size.bytes > limit)
		return fault_set(f, FAULT_VALIDATION,
				 "workspace quota exceeded %s: used=%llu bytes limit=%llu bytes "
				 "entries=%llu host_path=%s session_id=%s",
				 when, (unsigned long long)size.bytes, (unsigned long long)limit,
				 (unsigned long long)size.entries, s->host_path, s->session_id);
	if (size.entries > (uint64_t)max_entries)
		return fault_set(f, FAULT_VALIDATION,
				 "workspace entry limit exceeded %s: entries>%lld host_path=%s "
				 "session_id=%s",
				 when, (long long)max_entries, s->host_path, s->session_id);
	return 0;
}
