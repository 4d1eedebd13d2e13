/* Chooses the ids of a sandbox: a range for this sandbox alone, the user's sub-range, or the user's
 * own id alone. */
#include <assert.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/own_ids.h"
#include "state/range.h"
#include "supervisor/engine_process.h"

static_assert(OWN_IDS_COUNT == IDS_PER_SANDBOX, "both are the ids of a sandbox");
static_assert(RANGE_STRIDE == IDS_STRIDE, "the ranges of two sandboxes must not overlap");

bool ids_have_range(const struct engine_process *p)
{
	return own_ids_have_range(p->parent_mounts);
}

/* Fills RET with the user's sub-range. If there is none, fills RET with the user's own id, and WHY
 * with the reason. */
static void use_own(struct ids *ret, struct err *why)
{
	struct own_ids own;

	own_ids_find(&own, why);
	*ret = (struct ids){ .mode = own.kind == OWN_IDS_SUB ? IDS_SUBID : IDS_SINGLE,
			     .uid_base = own.uid_base,
			     .gid_base = own.gid_base,
			     .caller_uid = geteuid(),
			     .caller_gid = getegid(),
			     .direct = own.direct };
}

void ids_of_user(struct ids *ret)
{
	/* says why the user has no sub-range; this is no error here, because the user's own id is
	 * used instead */
	struct err ignored;

	use_own(ret, &ignored);
}

static int claim_range(struct supervisor *s, struct ids *i, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/sandboxes/%s", s->home.path, s->record.spec.name);
	uint32_t base;

	if (range_claim(path, s->record.state.uid_base, &base, e) < 0)
		return -1;
	*i = (struct ids){ .mode = IDS_RANGE,
			   .uid_base = base,
			   .gid_base = base,
			   .caller_uid = geteuid(),
			   .caller_gid = getegid() };
	s->record.state.uid_base = base;
	return 0;
}

int ids_choose(struct supervisor *s, struct err *e)
{
	struct engine_process *p = engine_process_of(s);
	const struct spec_owner *owner = &s->record.spec.owner;
	struct err why = { 0 };

	if (ids_have_range(p))
		return claim_range(s, &p->ids, e);
	use_own(&p->ids, &why);
	if (!owner->set)
		return 0;
	if (p->ids.mode == IDS_SINGLE) {
		*e = why;
		return err_wrap(e, "the sandbox has no id for its user %u", owner->uid);
	}
	p->ids.rotation = (struct rotation){ owner->uid, owner->gid };
	return 0;
}
