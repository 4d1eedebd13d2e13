/* The skills that a session shows below /workspace/.skills. A model may read every visible skill,
 * but it may change only skills that the query has activated. */
#pragma once

#include "base/buf.h"
#include "service/boxspec.h"
#include "service/query.h"

/* Returns true if SHOWN, a path in the sandbox, is the directory of all skills. */
bool skills_is_top(const char *shown);
/* Returns the name of the skill that SHOWN lies in. Returns an empty slice if SHOWN lies in no
 * skill. */
struct str skills_name(const char *shown);
/* Returns true if the session shows the skill NAME. */
bool skills_is_visible(const struct box_spec *s, struct str name);
/* Returns true if the query's variable `_activated_skills`, an object or an array, has the skill
 * NAME. */
bool skills_is_activated(const struct query *q, struct str name);

struct skills_list {
	size_t n;
	const char **name; /* sorted; the names are borrowed from the spec */
};

void skills_list(const struct box_spec *s, struct skills_list *ret);
void skills_list_done(struct skills_list *l);
