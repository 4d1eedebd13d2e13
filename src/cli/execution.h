/* What `exec`, `run` and `attach` share: a command's options, its streams, and the report of its end. */
#pragma once

#include "cli/args.h"
#include "client/exec.h"
#include "spec/spec.h"

struct execution {
	struct exec_request request;
	struct strv env; /* owned */
	const char *
		*argv; /* owned array with borrowed strings; NULL if the caller's words are used */
	bool interactive;
	bool scripted;      /* if there is no command, the shell may run a script from stdin */
	bool tells_refused; /* report refused connections at the end */
	bool unnamed;       /* the sandbox ends with the command, so it cannot be modified */
	bool shell; /* run a shell instead of the image's command: no command was given, and stdin is a terminal */
};

/* Reads and validates -e, -w, -u, -t, --timeout, --rlimit and the streams. */
MUST_USE int execution_options(struct execution *x, const struct args *a, struct err *e);
void execution_done(struct execution *x);
/* Chooses the words to run: COMMAND, or the command of the spec if COMMAND is empty. If there is no command,
 * chooses a shell for a person at a terminal. With X->scripted, waits for the first byte of stdin, and chooses a shell
 * if stdin is not empty. Returns false if there are no words. */
bool execution_command(struct execution *x, const struct spec *s, const struct strv *command,
		       bool with_entrypoint);
/* Says that there is nothing to run. Returns the exit status: 1, or 0 as msb does. */
int execution_nothing(const struct args *a);
/* Runs the command over C, or attaches to the command attach_id, with our terminal and our signals. */
MUST_USE int execution_run(struct execution *x, struct client *c, struct exec_result *ret,
			   struct err *e);
/* Prints a message if the command did not end in the ordinary way. Returns the exit status. */
int execution_report(const struct execution *x, const struct home *h, const char *name,
		     const struct exec_result *r);
