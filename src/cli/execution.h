/* The code that `exec`, `run` and `attach` share. It reads a command's options, connects its
 * streams and reports its end. */
#pragma once

#include "cli/args.h"
#include "client/exec.h"
#include "spec/spec.h"

struct execution {
	struct exec_request request;
	struct strv env; /* owned */
	/* an array that we own, of strings that we do not own; NULL if request.message.argv points
	 * to the words of the user or of the spec instead */
	const char **argv;
	bool interactive;   /* stdin is a terminal, and the command gets a terminal too */
	bool scripted;      /* if there is no command, the shell may run a script from stdin */
	bool tells_refused; /* report refused connections at the end */
	/* `run` without a name: the sandbox ends with the command. So a message about refused
	 * connections suggests an option for the next run, not `modify` */
	bool unnamed;
	/* if no command was given and `interactive` is set, run a shell instead of the image's
	 * command */
	bool shell;
	/* attach to the command with the number request.attach_id; if the number is 0, pid 1
	 * chooses the command */
	bool attaches;
};

/* Reads and checks `-t`, `--timeout`, `--rlimit`, `--detach-keys` and the options for streams. If
 * the subcommand is not `run`, also reads and checks `-e`, `--env-file`, `-w` and `-u`. */
MUST_USE int execution_options(struct execution *x, const struct args *a, struct err *e);
void execution_done(struct execution *x);
/* Chooses the words to run: COMMAND, or the command of the spec if COMMAND is empty. If
 * WITH_ENTRYPOINT is true, the entrypoint of the spec comes first. With X->interactive, chooses a
 * shell if there is no command, or if COMMAND is empty and X->shell is set. Without X->interactive
 * but with X->scripted, waits for the first byte of stdin if there is no command. If this byte
 * comes, chooses a shell. Returns false if there are no words. */
bool execution_command(struct execution *x, const struct spec *s, const struct strv *command,
		       bool with_entrypoint);
/* Prints that there is nothing to run. Returns the exit status: 1 for cordon, 0 for msb. */
int execution_nothing(const struct args *a);
/* Runs the command over the connection C, or attaches to a command if X->attaches is set. Meanwhile
 * our terminal and our signals belong to the command. */
MUST_USE int execution_run(struct execution *x, struct client *c, struct exec_result *ret,
			   struct err *e);
/* Prints a message if the command did not end in the ordinary way. If X->tells_refused is set, also
 * prints which connections were refused. Returns the exit status. */
int execution_report(const struct execution *x, const struct home *h, const char *name,
		     const struct exec_result *r);
