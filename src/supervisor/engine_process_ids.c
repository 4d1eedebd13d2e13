/* Chooses the ids of a sandbox: a range of its own, the caller's sub-range, or the caller's only id. */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/idmap.h"
#include "host/subid.h"
#include "state/range.h"
#include "supervisor/engine_process.h"

static bool has_capability(unsigned cap)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	return syscall(SYS_capget, &head, data) == 0 &&
	       (data[cap / 32].effective >> (cap % 32) & 1);
}

/* The root of a container can map ids without newuidmap, if the map of its user namespace is long enough. */
static void find_own_sub_range(struct ids *i)
{
	struct idmap m;
	struct idmap_line uid, gid;

	if (idmap_read("/proc/self/uid_map", &m) == 0 && idmap_longest_run(&m, 1, &uid) == 0 &&
	    uid.count >= IDS_PER_SANDBOX && idmap_read("/proc/self/gid_map", &m) == 0 &&
	    idmap_longest_run(&m, 1, &gid) == 0 && gid.count >= IDS_PER_SANDBOX) {
		i->mode = IDS_SUBID;
		i->direct = true;
		i->uid_base = uid.inside;
		i->gid_base = gid.inside;
	}
}

bool ids_have_range(const struct engine_process *p)
{
	return geteuid() == 0 && p->parent_mounts && has_capability(CAP_SETUID);
}

static void use_single(struct ids *i)
{
	*i = (struct ids){ .mode = IDS_SINGLE, .caller_uid = geteuid(), .caller_gid = getegid() };
}

void ids_of_user(struct ids *ret)
{
	struct subid sub;
	/* not reported: without a range the sandbox gets a single id, which `inspect` shows */
	struct err none;

	use_single(ret);
	/* under no_new_privs newuidmap has no effect */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0 ||
	    subid_find(geteuid(), IDS_PER_SANDBOX, &sub, &none) < 0)
		return;
	ret->mode = IDS_SUBID;
	ret->uid_base = sub.uid.start;
	ret->gid_base = sub.gid.start;
}

static int claim_range(struct supervisor *s, struct ids *i, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/sandboxes/%s", s->home.path, s->record.spec.name);
	uint32_t base;

	if (range_claim(path, s->record.state.uid_base, &base, e) < 0)
		return -1;
	i->mode = IDS_RANGE;
	i->uid_base = i->gid_base = base;
	s->record.state.uid_base = base;
	return 0;
}

int ids_choose(struct supervisor *s, struct err *e)
{
	struct engine_process *p = engine_process_of(s);

	if (geteuid() != 0) {
		ids_of_user(&p->ids);
		return 0;
	}
	use_single(&p->ids);
	if (ids_have_range(p))
		return claim_range(s, &p->ids, e);
	if (has_capability(CAP_SETUID))
		find_own_sub_range(&p->ids); /* we are the root of a container */
	return 0;
}

bool ids_may_mount(void)
{
	return has_capability(CAP_SYS_ADMIN) && idmap_is_whole();
}
