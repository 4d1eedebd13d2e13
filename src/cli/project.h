/* Finds and reads the project file, and asks whether to allow it, for `create`, `run`, `shell` and
 * `allow`. client/project.h says why a project file is safe to use. */
#pragma once

#include <stdbool.h>

#include "cli/args.h"
#include "client/project.h"
#include "client/sandbox.h"
#include "spec/conf.h"
#include "spec/spec.h"

/* Returns true if a command that makes a sandbox must look for a project file: if the command line
 * names neither an image nor a file with options, and the program was not called as `msb`. */
bool project_is_wanted(const struct args *a);
/* Looks for the project file and reads it into S and X, if there is one. The caller passes an S
 * without options. SHELL is the value of the option `--shell`, or NULL. */
MUST_USE int project_load(struct project *p, const char *shell, struct spec *s,
			  struct conf_extra *x, struct err *e);
/* Shows on stderr what the file grants, and asks whether to allow the file. Fails with
 * ERR_DENIED unless the answer is yes. */
MUST_USE int project_ask(const struct project *p, const struct spec *s, const struct conf_extra *x,
			 struct err *e);
/* Returns true if a person can be asked: standard input and standard error are terminals. */
bool project_can_ask(void);
/* Loads the project file, if there is one. If no person has allowed the file as it is now, asks on
 * the terminal, or fails if there is no terminal. */
MUST_USE int project_apply(const struct args *a, const struct home *h, struct project *p,
			   struct spec *s, struct conf_extra *x, struct err *e);
