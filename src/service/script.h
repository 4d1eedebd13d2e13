/*
 * For each command and each managed process, a login shell in the sandbox runs a script. The script
 * makes the working directory if it is missing, enters it and runs the peer's command. Paths and
 * arguments are quoted. The command of a BoxSpec is not quoted, because it is shell text.
 */
#pragma once

#include "base/buf.h"
#include "service/boxspec.h"
#include "service/processspec.h"
#include "wire/message.h"

struct script {
	struct buf text;
	const char **argv, **env; /* arrays to which the exec_message points */
	char **owned;
	size_t n_owned;
};

/* These functions fill *M. Afterwards *M points to memory of *S and of the spec. */
void script_for_command(struct script *s, const struct box_spec *b, struct exec_message *m);
void script_for_process(struct script *s, const struct process_spec *p, struct exec_message *m);
void script_done(struct script *s);
