/*
 * The command line as data: one table per command feeds parsing, help, completions and man pages.
 *
 * A command is a row of `struct command`; its options are rows of `struct opt`, gathered in sets that several commands
 * may share. args_main() checks what the tables alone can tell: unknown flags, missing values, bad numbers, values
 * outside a closed set, bad UTF-8, conflicts (exit 2). It refuses options that are not supported yet (exit 1). The
 * command interprets all other values (exit 1 if they are bad). Handlers look values up by the option's long name. A
 * lookup of a name that is not in the table aborts, so a typo cannot pass a test. All strings are borrowed from argv or
 * live until args_main() returns.
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
	OPT_CPUS, /* a number of CPUs up to max, in thousandths (spec/cpus.h); `msb` takes only whole CPUs */
};

enum opt_mark {
	OPT_HIDDEN = 1 << 0,      /* works, but help does not show it */
	OPT_UNSUPPORTED = 1 << 1, /* refused with "--x is not supported yet", exit 1 */
	OPT_DASH_VALUE = 1 << 2,  /* the value may start with '-' (--init-arg) */
	OPT_COMMA = 1 << 3, /* OPT_LIST: a word may hold several values, separated by commas */
	OPT_BARE =
		1
		<< 4, /* for cordon the value is written only with '='; without '=' the option is a flag */
};

struct opt {
	const char *name; /* "memory", without dashes */
	char letter;      /* 'm' for -m, or 0 */
	enum opt_kind kind;
	const char *value;          /* placeholder in help: "SIZE" */
	const char *help;           /* one line, for -h */
	const char *more;           /* further text for --help and the man page, or NULL */
	const char *const *choices; /* all allowed values (another value is exit 2), or NULL */
	uint64_t min, max;          /* bounds of numbers */
	const char *alias;          /* second long name, accepted but not listed, or NULL */
	unsigned marks;
};

struct opt_set {
	const char *heading;   /* in help; NULL means "Options" */
	const struct opt *opt; /* ended by a NULL name */
};

/* The kind of objects that positionals of a command stand for. Completions use it. */
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
	unsigned min_args, max_args; /* number of positionals before --; another number is exit 2 */
	const char *instead;         /* option that may replace the positionals, or NULL */
	const char *instead_too;     /* another such option, or NULL */
	/* An option with which the command has nothing to do if no positionals are given, or NULL. `msb` asks for
	 * positionals in any case. */
	const char *idle_with;
	bool takes_rest; /* if set, words after -- are a command; if not, they are positionals */
	enum word_kind words;
	const char *const *word_choices; /* all allowed values of the first positional, or NULL */
	/* Pairs of option names, ended by { NULL, NULL }. A name in capitals means the positionals. */
	const char *const (*conflicts)[2]; /* if both are given: exit 2 */
	const char *const (*requires)[2];  /* if the first is given without the second: exit 2 */
	const struct command *sub;         /* subcommands, ended by a NULL name, or NULL */
	/* The handler, which returns the exit status; NULL for a group. If a command has a handler and subcommands, a
	 * first word that names no subcommand is the handler's first positional. */
	int (*run)(const struct args *a);
};

struct args {
	const struct command *root;
	const struct command *command;
	const char *program;   /* "cordon" or "msb": the name that messages and help use */
	const char *log_level; /* "error" … "trace" if such a global flag was given, or NULL */
	struct strv word;      /* positionals */
	struct strv rest;      /* after -- */
	bool has_rest;         /* the command line has --, even if no word follows it */
	struct args_values *values; /* private */
};

bool args_has(const struct args *a, const char *name);
/* Returns true if the program was called as msb, so that it must behave exactly as msb does. */
bool args_as_msb(const struct args *a);
/* Returns true if the option NAME, which is marked OPT_BARE, was given without a value. */
bool args_bare(const struct args *a, const char *name);
const char *args_str(const struct args *a, const char *name); /* NULL when absent */
uint64_t args_uint(const struct args *a, const char *name, uint64_t fallback);
const struct strv *args_list(const struct args *a, const char *name); /* never NULL */
/* Walks all values in the order of the line, for options whose order matters. The caller sets *AT
 * to 0 first. Returns NULL at the end. A comma list is one value here. */
const char *args_next_value(const struct args *a, size_t *at, const char **ret_name);

/* Parses argv. Prints help, the tree or a usage error, or runs the handler of the command.
 * Returns the exit status. ROOT's sub table lists all commands. ARGV is rearranged. */
int args_main(const struct command *root, int argc, char **argv);

#define MSB_VERSION \
	"0.6.18" /* the msb version whose command line this is; `msb --version` prints it \
		  */
/* Prints the version. Returns the exit status. */
int args_version(const struct args *a);

/* --- for the other readers of the tables: help, completions, man pages, tests --------------- */

/* --error … --trace, --tree and --help, which every command accepts. */
extern const struct opt_set args_global_sets[];
/* Walks the options that help shows for a command, the global options last:
 *     struct opt_iter it = { .set = c->sets };
 *     while ((o = args_next_opt(&it))) … */
struct opt_iter {
	const struct opt_set *set;
	const struct opt *opt;
	bool globals;
};
const struct opt *args_next_opt(struct opt_iter *it);
/* Returns the row of TABLE whose name or alias is NAME, or NULL. */
const struct command *args_find_command(const struct command *table, const char *name);
