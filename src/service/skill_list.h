/* Lists the skills in a directory of this machine. The function waits for the list, so it is not
 * for servers, but for a program that asks once and ends. */
#pragma once

#include "base/json.h"
#include "service/fault.h"

/* Sets *RET to an object with the array `skills`, like the answer to the action `box_list_skills`.
 * A confined worker (cordon-skills) reads the skill packages. If ROOT is NULL or does not exist,
 * the array is empty. */
MUST_USE int skill_list(const char *root, struct json_doc **ret, struct fault *f);
