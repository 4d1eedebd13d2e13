/*
 * The command line as data: one table per command feeds parsing, help, completions and man pages.
 *
 * A command is a row of `struct command`; its options are rows of `struct opt`. args_parse() checks
 * everything the parser level checks (unknown flags, missing values, numbers, closed sets,
 * conflicts: exit 2) and leaves values as text for the command to interpret (exit 1 when bad).
 * Handlers look values up by the option's long name; asking for a name the table lacks aborts,
 * so a typo cannot pass a test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "spec/spec.h"

enum opt_kind {
	OPT_FLAG, /* no value */
	OPT_STR,  /* one value, once */
	OPT_LIST, /* repeatable, in order */
	OPT_UINT, /* one decimal number within [min, max], checked by the parser */
};

enum opt_mark {
	OPT_HIDDEN = 1 << 0,      /* works, but help does not show it */
	OPT_UNSUPPORTED = 1 << 1, /* known, refused with "--x is not supported yet", exit 1 */
	OPT_DASH_VALUE = 1 << 2,  /* the value may start with '-' (--init-arg) */
};

struct opt {
	const char *name;          /* "memory", without dashes */
	char letter;               /* 'm', or 0 */
	enum opt_kind kind;
	const char *value;         /* placeholder in help: "SIZE" */
	const char *help;          /* one line, for -h */
	const char *more;          /* further text for --help and the man page, or NULL */
	const char *const *choices; /* closed set (exit 2 outside it), or NULL */
	uint64_t min, max;         /* OPT_UINT */
	const char *alias;         /* second long name ("no-network" for "no-net"), or NULL */
	unsigned marks;
};

struct args;

struct command {
	const char *name;
	const char *aliases;       /* comma list, or NULL */
	const char *hidden_aliases;/* comma list, or NULL */
	const char *group;         /* heading in the top-level help, or NULL for a subcommand */
	bool hidden;
	const char *summary;       /* one line */
	const char *description;   /* paragraphs for --help and the man page */
	const char *usage;         /* positionals as help shows them: "[OPTIONS] NAME [-- COMMAND…]" */
	const struct opt *const *opts; /* NULL-terminated list of opt arrays, each ended by a NULL name */
	unsigned min_args, max_args; /* positionals before -- ; a violation is exit 2 */
	bool takes_rest;           /* words after -- are a command */
	const char *const (*conflicts)[2]; /* pairs of option names, ended by { NULL, NULL }: exit 2 */
	const struct command *sub; /* subcommands, ended by a NULL name, or NULL */
	int (*run)(const struct args *a); /* returns the exit status */
};

struct args {
	const struct command *command;
	const char *program;  /* "cordon" or "msb": how messages and help call us */
	struct strv word;     /* positionals */
	struct strv rest;     /* after -- */
	bool has_rest;        /* -- was there, even if nothing followed */
	struct args_values *values; /* private */
};

bool args_has(const struct args *a, const char *name);
const char *args_str(const struct args *a, const char *name); /* NULL when absent */
uint64_t args_uint(const struct args *a, const char *name, uint64_t fallback);
const struct strv *args_list(const struct args *a, const char *name); /* never NULL */

/* Parses argv, prints help, tree or usage errors itself, otherwise runs the handler found.
 * Returns the exit status. ROOT's sub table lists all commands. */
int args_main(const struct command *root, int argc, char **argv);
