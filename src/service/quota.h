/* The quota of a session's workspace: how much the directory of this machine may hold before and after a command. */
#pragma once

#include "service/boxspec.h"

enum quota_phase { QUOTA_BEFORE, QUOTA_AFTER };

/* Fails with a FAULT_VALIDATION if the workspace of S holds more than its quota or more than MAX_ENTRIES entries.
 * A spec without a directory or without a quota passes, and so does a directory that does not exist. */
MUST_USE int quota_check(const struct box_spec *s, int64_t max_entries, enum quota_phase phase,
			 struct fault *f);
