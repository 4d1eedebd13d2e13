/* The mounts of skills: each skill that a query may see is a directory below /workspace/.skills. */
#pragma once

#include "base/json.h"
#include "service/query.h"
#include "service/service_config.h"

#define SKILL_MOUNTS_PLACE "/workspace/.skills"

/* Writes the mounts as items of an array. A skill whose directory is missing on a shared file system is left out with
 * a warning. */
void skill_mounts_write(const struct service_config *c, const struct query *q,
			struct json_writer *w);
