/*
 * The script that a login shell in the sandbox runs for an exec or a process. It enters the directory, which it makes
 * if it is missing, and then runs the caller's command. It quotes paths and arguments, but not an exec's command.
 */
#pragma once

#include "base/buf.h"
#include "service/boxspec.h"
#include "service/processspec.h"
#include "wire/message.h"

struct script {
	struct buf text;
	const char **argv, **env; /* the message points to them */
	char **owned;
	size_t n_owned;
};

/* Fills M. M points into S and into the spec. */
void script_for_command(struct script *s, const struct box_spec *b, struct exec_message *m);
void script_for_process(struct script *s, const struct process_spec *p, struct exec_message *m);
void script_done(struct script *s);
