#include "host/own_ids.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/idmap.h"
#include "host/subid.h"

static bool has_capability(unsigned cap)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	return syscall(SYS_capget, &head, data) == 0 &&
	       (data[cap / 32].effective >> (cap % 32) & 1);
}

bool own_ids_may_mount(void)
{
	return has_capability(CAP_SYS_ADMIN) && idmap_is_whole();
}

bool own_ids_have_range(bool may_mount)
{
	return geteuid() == 0 && may_mount && has_capability(CAP_SETUID);
}

/* Finds ids for the root of a container. This root can write the maps of sandboxes itself if it has
 * CAP_SETUID, and if the maps of the container's user namespace are long enough. */
static void find_in_map(struct own_ids *i, struct err *why)
{
	struct idmap m;
	struct idmap_line uid, gid;

	if (!has_capability(CAP_SETUID)) {
		err_set(why, ERR_UNSUPPORTED, "this root may not use other ids");
	} else if (idmap_read("/proc/self/uid_map", &m) == 0 &&
		   idmap_longest_run(&m, 1, &uid) == 0 && uid.count >= OWN_IDS_COUNT &&
		   idmap_read("/proc/self/gid_map", &m) == 0 &&
		   idmap_longest_run(&m, 1, &gid) == 0 && gid.count >= OWN_IDS_COUNT) {
		*i = (struct own_ids){ OWN_IDS_SUB, uid.inside, gid.inside, true };
	} else {
		err_set(why, ERR_UNSUPPORTED, "the container has fewer than %u ids", OWN_IDS_COUNT);
		IGNORE(err_hint(why, "start the container with a map of at least 65537 ids"));
	}
}

static void find_sub_range(struct own_ids *i, struct err *why)
{
	struct subid sub;

	/* under no_new_privs newuidmap has no effect */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0)
		err_set(why, ERR_UNSUPPORTED,
			"the caller has no_new_privs set, so newuidmap has no effect");
	else if (subid_find(geteuid(), OWN_IDS_COUNT, &sub, why) == 0)
		*i = (struct own_ids){ OWN_IDS_SUB, sub.uid.start, sub.gid.start, false };
}

void own_ids_find(struct own_ids *ret, struct err *why)
{
	*ret = (struct own_ids){ .kind = OWN_IDS_SINGLE };
	if (geteuid() == 0)
		find_in_map(ret, why);
	else
		find_sub_range(ret, why);
}
