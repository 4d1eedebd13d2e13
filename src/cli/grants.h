/* What a project file grants to the sandbox, for the person who is asked to allow it. */
#pragma once

#include "client/project.h"
#include "spec/conf.h"
#include "spec/spec.h"

/* Prints the grants on stderr. S and X hold what the file says and nothing else. Fails with ERR_LIMIT, and prints nothing,
 * if they are more than a person can read. */
MUST_USE int grants_show(const struct project *p, const struct spec *s, const struct conf_extra *x,
			 struct err *e);
