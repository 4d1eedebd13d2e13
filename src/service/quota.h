/* The quota of a workspace limits the size of the workspace's directory on the host. `cordon tool`
 * and `cordon service` check the quota before and after each command, and before and after the
 * tools that change files. While a command runs, it can write more than the quota. The Box server
 * does not check the quota. */
#pragma once

#include "service/boxspec.h"

enum quota_phase { QUOTA_BEFORE, QUOTA_AFTER };

/* Fails with a FAULT_VALIDATION if the workspace of the spec *S holds more than its quota or more
 * than MAX_ENTRIES files and directories, or if it cannot be measured. Succeeds if *S has no
 * workspace or no quota, or if the directory does not exist. */
MUST_USE int quota_check(const struct box_spec *s, int64_t max_entries, enum quota_phase phase,
			 struct fault *f);
