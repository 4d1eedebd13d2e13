/*
 * Tables describe the command line. The parser, help, completions and man pages all use the same
 * tables.
 *
 * A command is a row of `struct command`. Its options are rows of `struct opt`. Options form sets,
 * which several commands may share. args_main() checks what the tables alone can tell: unknown
 * flags, missing values, bad numbers, values that are not among the choices, bad UTF-8 and
 * conflicts. For these errors the exit status is 2. It also refuses options that are not supported
 * yet, with exit status 1. The command checks all other values itself; if a value is bad, the exit
 * status is 1. Handlers look values up by the option's long name. If a handler asks for a name that
 * is not in the table, the program aborts, so tests find the mistake. All strings point into argv
 * or live until args_main() returns.
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
	OPT_STR,  /* one value; the option may be given only once */
	/* repeatable, in order; each value is a number within [min, max] if max is not 0 */
	OPT_LIST,
	OPT_UINT, /* one decimal number within [min, max], checked by the parser */
	/* a number of CPUs up to max, in thousandths (spec/cpus.h); `msb` takes only whole CPUs */
	OPT_CPUS,
};

enum opt_mark {
	OPT_HIDDEN = 1 << 0,      /* works, but help does not show it */
	OPT_UNSUPPORTED = 1 << 1, /* refused with "--x is not supported yet", exit 1 */
	OPT_DASH_VALUE = 1 << 2,  /* the value may start with '-' (--init-arg) */
	OPT_COMMA = 1 << 3, /* OPT_LIST: a word may hold several values, separated by commas */
	/* for cordon the value is written only with '='; without '=' the option is a flag */
	OPT_BARE = 1 << 4,
};

struct opt {
	const char *name; /* "memory", without dashes */
	char letter;      /* 'm' for -m, or 0 */
	enum opt_kind kind;
	const char *value; /* placeholder in help: "SIZE" */
	const char *help;  /* one line, for -h */
	const char *more;  /* further text for --help and the man page, or NULL */
	/* all allowed values, or NULL; another value is an error (exit status 2) */
	const char *const *choices;
	uint64_t min, max; /* bounds of numbers */
	const char *alias; /* second long name, which is accepted but not listed; or NULL */
	unsigned marks;
};

struct opt_set {
	const char *heading;   /* in help; NULL means "Options" */
	const struct opt *opt; /* ended by a NULL name */
};

/* The kind of thing that the positionals of a command name. Completions use this kind. */
enum word_kind { WORD_NONE, WORD_SANDBOX, WORD_IMAGE, WORD_VOLUME, WORD_FILE, WORD_COMMAND };

#define ARGS_MANY UINT_MAX /* no upper bound for positionals */

struct args;

struct command {
	const char *name;
	const char *aliases;        /* comma list, or NULL */
	const char *hidden_aliases; /* comma list, or NULL */
	const char *group;          /* heading in the top-level help, or NULL for a subcommand */
	bool hidden;
	const char *summary;        /* one line */
	const char *description;    /* paragraphs for --help and the man page, or NULL */
	const char *usage;          /* positionals as help shows them: "NAME [-- COMMAND…]" */
	const struct opt_set *sets; /* ended by a NULL opt; or NULL */
	/* number of positionals before `--`; another number is an error (exit status 2) */
	unsigned min_args, max_args;
	const char *instead;     /* option that may replace the positionals, or NULL */
	const char *instead_too; /* another such option, or NULL */
	/* An option, or NULL. If the option is given without positionals, the command does nothing
	 * and succeeds. For `msb`, missing positionals are an error also with this option. */
	const char *idle_with;
	bool takes_rest; /* true: words after `--` are a command; false: they are positionals */
	enum word_kind words;
	const char *const *word_choices; /* all allowed values of the first positional, or NULL */
	/* Pairs of option names, ended by { NULL, NULL }. A name in capitals means the
	 * positionals. */
	const char *const (*conflicts)[2]; /* if both are given, the exit status is 2 */
	/* if the first is given without the second, the exit status is 2 */
	const char *const (*requires)[2];
	const struct command *sub; /* subcommands, ended by a NULL name; or NULL */
	/* The handler, which returns the exit status. NULL for a command that only groups
	 * subcommands. If a command has a handler and subcommands, a first word that names no
	 * subcommand is the handler's first positional. */
	int (*run)(const struct args *a);
};

struct args {
	const struct command *root;
	const struct command *command;
	const char *program;   /* "cordon" or "msb": the name that messages and help use */
	const char *log_level; /* "error" … "trace" if such a global flag was given, or NULL */
	struct strv word;      /* positionals */
	struct strv rest;      /* the words of the command to run in the sandbox */
	bool has_rest;         /* the command line has such words, or at least a `--` */
	struct args_values *values; /* private */
};

bool args_has(const struct args *a, const char *name);
/* Returns true if our program was called as msb (the program of microsandbox). Our program must
 * then behave exactly as msb does. */
bool args_as_msb(const struct args *a);
/* Returns true if the option NAME, which is marked OPT_BARE, was given without a value. */
bool args_bare(const struct args *a, const char *name);
const char *args_str(const struct args *a, const char *name); /* NULL when absent */
uint64_t args_uint(const struct args *a, const char *name, uint64_t fallback);
const struct strv *args_list(const struct args *a, const char *name); /* never NULL */
/* Walks the values of all options in the order of the command line. This is for commands in which
 * the order of different options matters. The caller sets *AT to 0 before the first call. Returns
 * the next value and the name of its option, or NULL after the last value. A list with commas
 * counts as one value. */
const char *args_next_value(const struct args *a, size_t *at, const char **ret_name);

/* Parses argv. Then runs the handler of the command, or prints help, a usage error, or the tree of
 * all commands (--tree). Returns the exit status. `ROOT->sub` lists all commands. Changes the order
 * of ARGV. */
int args_main(const struct command *root, int argc, char **argv);

/* `msb --version` prints this. If our program is called as msb, it has the command line of this
 * version of microsandbox's msb. */
#define MSB_VERSION "0.6.18"
/* Prints the version. Returns the exit status. */
int args_version(const struct args *a);

/* --- for the other readers of the tables: help, completions, man pages, tests --------------- */

/* The options that every command accepts: `--error` … `--trace`, `--tree` and `--help`. */
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
