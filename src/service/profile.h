/*
 * A profile is a named set of defaults and limits for BoxSpecs (service/boxspec.h). In this file, a
 * call is a request of a language model or of a trusted program (service/resolution.h). The profile
 * fills in the fields that the call leaves out. If the profile locks a field, the profile's value
 * replaces the value in the call. The profile also limits how long a command may run.
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
/* Returns true if the profile locks FIELD: its value replaces the value in a call. */
bool profile_locks(const struct profile *p, const char *field);
/* Returns true if the profile has a value for FIELD. */
bool profile_has(const char *field);
/* Writes the profile's value of FIELD. profile_has() must be true for FIELD. */
void profile_write(const struct profile *p, const char *field, struct json_writer *w);
/* Writes the timeout_sec of a call. If Python's int() accepts the value and the value is above the
 * profile's maximum, writes the maximum. Otherwise copies the value. If the copied value is bad,
 * the validation of the spec refuses it later. */
void profile_write_timeout(const struct profile *p, const struct json_value *given,
			   struct json_writer *w);
