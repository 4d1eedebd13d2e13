/* The mounts of skills: each skill that a query may use is mounted below /workspace/.skills. */
#pragma once

#include "base/json.h"
#include "service/query.h"
#include "service/service_config.h"

#define SKILL_MOUNTS_PLACE "/workspace/.skills"

/* Writes the mounts as items of an array. If the runtime shares this machine's file system and a skill's directory is
 * missing, the skill is left out with a warning. */
void skill_mounts_write(const struct service_config *c, const struct query *q,
			struct json_writer *w);
