#include "service/profile.h"

#include <string.h>

#include "base/cleanup.h"
#include "service/python.h"

/* sorted by name: the message about an unknown profile lists the profiles in this order */
static const struct profile profiles[] = {
	{ .name = PROFILE_DEFAULT,
	  .network = BOX_OFFLINE,
	  .timeout_sec = 30,
	  .max_timeout_sec = 120,
	  .host_path_mode = BOX_MODE_RW,
	  .cpus = 1.0,
	  .memory_mb = 512,
	  .pids_limit = 128,
	  .read_only_rootfs = true },
	{ .name = "network_basic",
	  .network = BOX_ONLINE,
	  .timeout_sec = 30,
	  .max_timeout_sec = 120,
	  .host_path_mode = BOX_MODE_RW,
	  .cpus = 1.0,
	  .memory_mb = 512,
	  .pids_limit = 128,
	  .read_only_rootfs = true },
	{ .name = "network_extended",
	  .network = BOX_ONLINE,
	  .timeout_sec = 30,
	  .max_timeout_sec = 300,
	  .host_path_mode = BOX_MODE_RW,
	  .cpus = 2.0,
	  .memory_mb = 1024,
	  .pids_limit = 256,
	  .read_only_rootfs = false },
	{ .name = "offline_readonly",
	  .network = BOX_OFFLINE,
	  .timeout_sec = 30,
	  .max_timeout_sec = 60,
	  .host_path_mode = BOX_MODE_RO,
	  .cpus = 0.5,
	  .memory_mb = 256,
	  .pids_limit = 64,
	  .read_only_rootfs = true,
	  .locks_access = true },
};

int profile_find(struct str name, const struct profile **ret, struct fault *f)
{
	AUTO_BUF names = BUF_INIT(256);

	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		if (str_eq(name, profiles[i].name)) {
			*ret = &profiles[i];
			return 0;
		}
		buf_addf(&names, "%s%s", i ? ", " : "', available profiles: ", profiles[i].name);
	}
	return fault_about(f, FAULT_VALIDATION, "unknown box profile '", name, buf_str(&names));
}

enum field {
	NETWORK,
	HOST_PATH_MODE,
	READ_ONLY_ROOTFS,
	TIMEOUT_SEC,
	CPUS,
	MEMORY_MB,
	PIDS_LIMIT,
	FIELD_COUNT
};

static const char *const field_names[] = {
	[NETWORK] = "network",
	[HOST_PATH_MODE] = "host_path_mode",
	[READ_ONLY_ROOTFS] = "read_only_rootfs",
	[TIMEOUT_SEC] = "timeout_sec",
	[CPUS] = "cpus",
	[MEMORY_MB] = "memory_mb",
	[PIDS_LIMIT] = "pids_limit",
};

static enum field find_field(const char *name)
{
	unsigned i = 0;

	while (i < FIELD_COUNT && strcmp(field_names[i], name) != 0)
		i++;
	return i;
}

bool profile_has(const char *field)
{
	return find_field(field) < FIELD_COUNT;
}

bool profile_locks(const struct profile *p, const char *field)
{
	return p->locks_access && find_field(field) <= READ_ONLY_ROOTFS;
}

void profile_write(const struct profile *p, const char *field, struct json_writer *w)
{
	switch (find_field(field)) {
	case NETWORK:
		json_str(w, box_network_name(p->network));
		break;
	case HOST_PATH_MODE:
		json_str(w, box_mode_name(p->host_path_mode));
		break;
	case READ_ONLY_ROOTFS:
		json_bool(w, p->read_only_rootfs);
		break;
	case TIMEOUT_SEC:
		json_int(w, p->timeout_sec);
		break;
	case CPUS:
		json_double(w, p->cpus);
		break;
	case MEMORY_MB:
		json_int(w, p->memory_mb);
		break;
	case PIDS_LIMIT:
		json_int(w, p->pids_limit);
		break;
	case FIELD_COUNT:
		break;
	}
}

void profile_write_timeout(const struct profile *p, const struct json_value *given,
			   struct json_writer *w)
{
	int64_t seconds;

	/* For example, if the maximum is 300, then 300.5 becomes 300. But 30.5 is copied below, and
	 * the validation of the spec refuses 30.5 later, because it is not a whole number. */
	if (given->type == JSON_DOUBLE && given->number > (double)p->max_timeout_sec)
		json_int(w, p->max_timeout_sec);
	else if (python_int(given, &seconds) == 0 && seconds > p->max_timeout_sec)
		json_int(w, p->max_timeout_sec);
	else
		json_value_copy(w, given);
}
