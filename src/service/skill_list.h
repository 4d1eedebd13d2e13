/* The skills in a directory of this machine, for a program that does one call. */
#pragma once

#include "base/json.h"
#include "service/fault.h"

/* Gives an object with the array `skills`, as `box_list_skills` answers. A confined worker (cordon-skills) reads the
 * packages. ROOT may be NULL or missing: then there are none. */
MUST_USE int skill_list(const char *root, struct json_doc **ret, struct fault *f);
