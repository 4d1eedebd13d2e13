/*
 * The command line as data: one table per command feeds parsing, help, completions and man pages.
 *
 * A command is a row of `struct command`; its options are rows of `struct opt`, gathered in sets
 * that several commands may share. args_main() checks everything the parser level checks (unknown
 * flags, missing values, numbers, closed sets, UTF-8, conflicts: exit 2), refuses options whose
 * feature is not built (exit 1), and leaves values as text for the command to interpret (exit 1
 * when bad). Handlers look values up by the option's long name; asking for a name the table lacks
 * aborts, so a typo cannot pass a test. All strings are borrowed from argv or live until
 * args_main() returns.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "spec/spec.h"

enum opt_kind {
	OPT_FLAG, /* no value */
	OPT_STR,  /* one value, once */
	OPT_LIST, /* repeatable, in order; each value is a number within [min, max] if max is not 0 */
	OPT_UINT, /* one decimal number within [min, max], checked by the parser */
	OPT_CPUS, /* a number of CPUs up to max, in thousandths (spec/cpus.h); `msb` takes whole ones only */
};

enum opt_mark {
	OPT_HIDDEN = 1 << 0,      /* works, but help does not show it */
	OPT_UNSUPPORTED = 1 << 1, /* known, refused with "--x is not supported yet", exit 1 */
	OPT_DASH_VALUE = 1 << 2,  /* the value may start with '-' (--init-arg) */
	OPT_COMMA = 1 << 3,       /* OPT_LIST: one value may hold several, separated by commas */
};

struct opt {
	const char *name; /* "memory", without dashes */
	char letter;      /* 'm', or 0 */
	enum opt_kind kind;
	const char *value;          /* placeholder in help: "SIZE" */
	const char *help;           /* one line, for -h */
	const char *more;           /* further text for --help and the man page, or NULL */
	const char *const *choices; /* closed set (exit 2 outside it), or NULL */
	uint64_t min, max;          /* numbers */
	const char *alias;          /* second long name, accepted but not listed, or NULL */
	unsigned marks;
};

struct opt_set {
	const char *heading;   /* in help; NULL: "Options" */
	const struct opt *opt; /* ended by a NULL name */
};

/* What the positionals of a command are, for completions. */
enum word_kind { WORD_NONE, WORD_SANDBOX, WORD_IMAGE, WORD_VOLUME, WORD_FILE, WORD_COMMAND };

#define ARGS_MANY UINT_MAX /* no upper bound for positionals */

struct args;

struct command {
	const char *name;
	const char *aliases;        /* comma list, or NULL */
	const char *hidden_aliases; /* comma list, or NULL */
	const char *group;          /* heading in the top-level help, or NULL for a subcommand */
	bool hidden;
	const char *summary;         /* one line */
	const char *description;     /* paragraphs for --help and the man page, or NULL */
	const char *usage;           /* positionals as help shows them: "NAME [-- COMMAND…]" */
	const struct opt_set *sets;  /* ended by a NULL opt; or NULL */
	unsigned min_args, max_args; /* positionals before -- ; a violation is exit 2 */
	const char *instead;         /* option that may stand in for the positionals, or NULL */
	bool takes_rest; /* words after -- are a command; otherwise they are positionals */
	enum word_kind words;
	const char *const *word_choices; /* closed set of the first positional, or NULL */
	/* Pairs of option names ended by { NULL, NULL }; a name in capitals means the positionals.
	 */
	const char *const (*conflicts)[2]; /* never both: exit 2 */
	const char *const (*requires)[2];  /* the first needs the second: exit 2 */
	const struct command *sub;         /* subcommands, ended by a NULL name, or NULL */
	/* Returns the exit status. NULL for a group. A command with both a handler and subcommands
	 * takes a first word that is no subcommand as its own. */
	int (*run)(const struct args *a);
};

struct args {
	const struct command *root;
	const struct command *command;
	const char *program; /* "cordon" or "msb": how messages and help call us */
	const char
		*log_level; /* "error" … "trace" when one of the global flags was given, or NULL */
	struct strv word;   /* positionals */
	struct strv rest;   /* after -- */
	bool has_rest;      /* -- was there, even if nothing followed */
	struct args_values *values; /* private */
};

bool args_has(const struct args *a, const char *name);
const char *args_str(const struct args *a, const char *name); /* NULL when absent */
uint64_t args_uint(const struct args *a, const char *name, uint64_t fallback);
const struct strv *args_list(const struct args *a, const char *name); /* never NULL */
/* Walks all values in the order of the line, for options whose order matters. *AT is 0 at first;
 * returns NULL at the end. A comma list is one value here. */
const char *args_next_value(const struct args *a, size_t *at, const char **ret_name);

/* Parses argv, prints help, tree or usage errors itself, otherwise runs the handler found.
 * Returns the exit status. ROOT's sub table lists all commands. ARGV is rearranged. */
int args_main(const struct command *root, int argc, char **argv);

#define MSB_VERSION \
	"0.6.18" /* the msb whose command line this is, told to those who call us msb \
		  */
/* What --version prints. */
int args_version(const struct args *a);

/* --- for the other readers of the tables: help, completions, man pages, tests --------------- */

/* --error … --trace, --tree, --help; accepted everywhere. */
extern const struct opt_set args_global_sets[];
/* Walks the options that help shows for a command, the global ones last:
 *     struct opt_iter it = { .set = c->sets };
 *     while ((o = args_next_opt(&it))) … */
struct opt_iter {
	const struct opt_set *set;
	const struct opt *opt;
	bool globals;
};
const struct opt *args_next_opt(struct opt_iter *it);
/* The row of TABLE called NAME, aliases included, or NULL. */
const struct command *args_find_command(const struct command *table, const char *name);
