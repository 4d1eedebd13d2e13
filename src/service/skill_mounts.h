/* The mounts of skills: each skill that a query may use is mounted below /workspace/.skills. */
#pragma once

#include "base/json.h"
#include "service/query.h"
#include "service/service_config.h"

#define SKILL_MOUNTS_PLACE "/workspace/.skills"

/* Writes the mounts as items of an array. If the runtime uses the file system of this machine and
 * the directory of a skill is missing, that skill is left out and a warning is logged. */
void skill_mounts_write(const struct service_config *c, const struct query *q,
			struct json_writer *w);
