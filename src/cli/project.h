/* The project file as `create`, `run`, `shell` and `allow` use it. client/project.h says what makes it safe. */
#pragma once

#include <stdbool.h>

#include "cli/args.h"
#include "client/project.h"
#include "client/sandbox.h"
#include "spec/conf.h"
#include "spec/spec.h"

/* Returns true if a creation looks for a project file: the command line names neither an image nor a file with
 * options, and the program was not called as msb. */
bool project_is_wanted(const struct args *a);
/* Looks for the project file and reads it into S and X, if there is one. S has no options yet. SHELL is the value of
 * --shell, or NULL. */
MUST_USE int project_load(struct project *p, const char *shell, struct spec *s,
			  struct conf_extra *x, struct err *e);
/* Shows on stderr what the file grants, and asks whether to allow it. Fails with ERR_DENIED unless the answer is yes. */
MUST_USE int project_ask(const struct project *p, const struct spec *s, const struct conf_extra *x,
			 struct err *e);
/* Returns true if a person can be asked: standard input and standard error are terminals. */
bool project_can_ask(void);
/* Loads the project file, if there is one. If it was not allowed, asks on a terminal, and fails without a terminal. */
MUST_USE int project_apply(const struct args *a, const struct home *h, struct project *p,
			   struct spec *s, struct conf_extra *x, struct err *e);
