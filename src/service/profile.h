/*
 * Profiles: named sets of defaults and limits for the sandboxes of a model. A profile fills fields that a call leaves
 * out, replaces fields that the profile locks, and bounds the time limit of a command.
 */
#pragma once

#include "base/json.h"
#include "service/boxspec.h"

#define PROFILE_DEFAULT "default"

struct profile {
	const char *name;
	enum box_network network;
	int64_t timeout_sec, max_timeout_sec;
	enum box_mode host_path_mode;
	double cpus;
	int64_t memory_mb, pids_limit;
	bool read_only_rootfs;
	bool locks_access; /* a call cannot change network, host_path_mode and read_only_rootfs */
};

/* Finds the profile NAME. Fails with a FAULT_VALIDATION that lists all profiles. */
MUST_USE int profile_find(struct str name, const struct profile **ret, struct fault *f);
/* Returns true if the profile replaces a call's own value of FIELD. */
bool profile_locks(const struct profile *p, const char *field);
/* Returns true if the profile has a value for FIELD. */
bool profile_has(const char *field);
/* Writes the profile's value of FIELD, for which profile_has() is true. */
void profile_write(const struct profile *p, const char *field, struct json_writer *w);
/* Writes a call's timeout_sec. If Python's int() accepts the value, the profile bounds it. Any other value is copied, and
 * the validation of the spec refuses it. */
void profile_write_timeout(const struct profile *p, const struct json_value *given,
			   struct json_writer *w);
