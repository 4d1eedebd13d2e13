/* Shows what a project file grants to the sandbox. cordon then asks the person whether to allow
 * the file. */
#pragma once

#include "client/project.h"
#include "spec/conf.h"
#include "spec/spec.h"

/* Prints the grants on stderr. S and X hold what the file says and nothing else. If there are more
 * grants than a person can read, prints nothing and fails with ERR_LIMIT. */
MUST_USE int grants_show(const struct project *p, const struct spec *s, const struct conf_extra *x,
			 struct err *e);
