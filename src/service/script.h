/*
 * The script that a login shell in the sandbox runs for an exec or a process. The script makes the working directory if
 * it is missing, enters it and runs the caller's command. Paths and arguments are quoted. The command of an exec is not
 * quoted, because it is shell text itself.
 */
#pragma once

#include "base/buf.h"
#include "service/boxspec.h"
#include "service/processspec.h"
#include "wire/message.h"

struct script {
	struct buf text;
	const char **argv, **env; /* the exec_message points to these arrays */
	char **owned;
	size_t n_owned;
};

/* Fill M, which then points into S and into the spec. */
void script_for_command(struct script *s, const struct box_spec *b, struct exec_message *m);
void script_for_process(struct script *s, const struct process_spec *p, struct exec_message *m);
void script_done(struct script *s);
