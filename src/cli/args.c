/*
 * Parses argv in one pass. The tables of commands and options say what is allowed.
 *
 * At first the root is the current command. Each word that names a subcommand makes this subcommand
 * the current command. So an option is looked up in the command that comes before the option. The
 * parser prints help as soon as it meets `--help`. A usage error ends the program with status 2.
 * After the whole line, the parser refuses options that are not supported yet, with status 1.
 * Then it runs the handler. The tables are constant data, and an option that was not given takes no
 * memory.
 */
#include "cli/args.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/say.h"
#include "cli/habits.h"
#include "cli/help.h"
#include "spec/cpus.h"

#define SUGGEST_DISTANCE 2
#define SHOWN_VALUE_CHARS 60 /* how many characters of a bad value a message shows */
#define MESSAGE_MAX_BYTES (4u << 10)
#define HELP_MAX_BYTES (1u << 20)

// clang-format off
static const struct opt global_opts[] = {
	{ .name = "error", .help = "Show errors of the runtime on stderr" },
	{ .name = "warn", .help = "Show warnings too" },
	{ .name = "info", .help = "Show the main steps too" },
	{ .name = "debug", .help = "Show every step" },
	{ .name = "trace", .help = "Show everything" },
	{ .name = "tree", .help = "Print the command tree and exit" },
	{ .name = "help", .letter = 'h', .help = "Print help; --help prints more than -h" },
	{ .name = NULL },
};
const struct opt_set args_global_sets[] = {
	{ "Global options", global_opts },
	{ NULL, NULL },
};
// clang-format on
#define LOG_LEVELS 5 /* the first 5 rows of global_opts exclude each other */

struct value {
	const struct opt *opt;
	struct strv v; /* borrowed strings; empty for a flag */
	uint64_t number;
	bool bare; /* the option was given without a value, as a flag always is */
};

struct args_values {
	struct value *given;
	size_t n, cap;
	struct strv owned; /* copies of comma lists, which the parser splits */
	/* for each value on the command line, in order: the name of its option, and the value;
	 * borrowed */
	struct strv line_names, line_values;
};

struct parser {
	struct args args;
	struct command_path path;
	struct args_values values;
	char **argv;
	int argc, at;
	bool tree;
	bool finished; /* help or a usage error was printed; exit with the member `status` */
	int status;
};

/* Appends a borrowed string. */
static void push(struct strv *l, const char *s)
{
	/* the array has 2, 4, 8 … slots. One slot is for the NULL at the end, so the array grows
	 * at 0, 1, 3, 7 … strings */
	if ((l->n & (l->n + 1)) == 0)
		l->v = xreallocarray(l->v, 2 * l->n + 2, sizeof(*l->v));
	l->v[l->n++] = (char *)s;
	l->v[l->n] = NULL;
}

/* --- looking things up ---------------------------------------------------------------------- */

static bool list_has(const char *list, const char *name)
{
	struct str rest = list ? str_of(list) : (struct str){ NULL, 0 };

	while (rest.p)
		if (str_eq(str_cut(&rest, ','), name))
			return true;
	return false;
}

const struct command *args_find_command(const struct command *table, const char *name)
{
	for (const struct command *c = table; c && c->name; c++)
		if (strcmp(c->name, name) == 0 || list_has(c->aliases, name) ||
		    list_has(c->hidden_aliases, name))
			return c;
	return NULL;
}

const struct opt *args_next_opt(struct opt_iter *it)
{
	for (;;) {
		if (!it->set || !it->set->opt) {
			if (it->globals)
				return NULL;
			it->globals = true;
			it->set = args_global_sets;
		}
		it->opt = it->opt ? it->opt + 1 : it->set->opt;
		if (!it->opt->name) {
			it->opt = NULL;
			it->set++;
		} else if (!(it->opt->marks & OPT_HIDDEN)) {
			return it->opt;
		}
	}
}

static const struct opt *find_in(const struct opt_set *sets, struct str name, char letter)
{
	for (const struct opt_set *s = sets; s && s->opt; s++)
		for (const struct opt *o = s->opt; o->name; o++)
			if (letter ? o->letter == letter
				   : str_eq(name, o->name) || (o->alias && str_eq(name, o->alias)))
				return o;
	return NULL;
}

static const struct opt *find_opt(const struct command *c, struct str name, char letter)
{
	const struct opt *o = find_in(c->sets, name, letter);

	return o ? o : find_in(args_global_sets, name, letter);
}

static struct value *value_of(const struct args_values *values, const struct opt *o)
{
	for (size_t i = 0; i < values->n; i++)
		if (values->given[i].opt == o)
			return &values->given[i];
	return NULL;
}

static const struct value *lookup(const struct args *a, const char *name)
{
	const struct opt *o = find_opt(a->command, str_of(name), 0);

	if (!o) {
		say_note("bug: '%s' has no option --%s", a->command->name, name);
		abort();
	}
	return value_of(a->values, o);
}

bool args_has(const struct args *a, const char *name)
{
	return lookup(a, name) != NULL;
}

bool args_as_msb(const struct args *a)
{
	return strcmp(a->program, "msb") == 0;
}

bool args_bare(const struct args *a, const char *name)
{
	const struct value *v = lookup(a, name);

	return v && v->bare;
}

const char *args_str(const struct args *a, const char *name)
{
	const struct value *v = lookup(a, name);

	return v && v->v.n > 0 ? v->v.v[0] : NULL;
}

uint64_t args_uint(const struct args *a, const char *name, uint64_t fallback)
{
	const struct value *v = lookup(a, name);

	return v ? v->number : fallback;
}

const struct strv *args_list(const struct args *a, const char *name)
{
	static const struct strv none;
	const struct value *v = lookup(a, name);

	return v ? &v->v : &none;
}

const char *args_next_value(const struct args *a, size_t *at, const char **ret_name)
{
	if (*at >= a->values->line_values.n)
		return NULL;
	*ret_name = a->values->line_names.v[*at];
	return a->values->line_values.v[(*at)++];
}

/* --- usage errors --------------------------------------------------------------------------- */

/* Prints "error: TEXT" and how to get help. Sets P->finished and returns -1. */
static int fail(struct parser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int fail(struct parser *p, const char *fmt, ...)
{
	AUTO_BUF way = BUF_INIT(MESSAGE_MAX_BYTES);
	AUTO_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	help_add_path(&way, p->args.program, &p->path);
	p->finished = true;
	p->status = say_errorf(ERR_USAGE, "%s\ntry '%s --help'", text, buf_str(&way));
	return -1;
}

/* Returns the user's text in the form in which messages show it: shortened, and on one line. */
static const char *shown(struct buf *b, const char *s)
{
	buf_add_cut(b, s, SHOWN_VALUE_CHARS);
	for (char *nl = b->p; nl && (nl = strchr(nl, '\n'));)
		*nl = ' '; /* after a line feed, the rest would be shown as advice (base/say.h) */
	return buf_str(b);
}

static void consider(const char *word, const char *candidate, unsigned *best, const char **ret)
{
	unsigned d = str_distance(word, candidate, SUGGEST_DISTANCE);

	if (d <= SUGGEST_DISTANCE && d < *best) {
		*best = d;
		*ret = candidate;
	}
}

static int fail_unknown_command(struct parser *p, const char *word)
{
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);
	const char *near = p->path.n == 1 ? habit_command(word) : NULL;
	unsigned best = near ? 0 : SUGGEST_DISTANCE + 1;

	for (const struct command *c = command_path_end(&p->path)->sub; c->name; c++)
		if (!c->hidden)
			consider(word, c->name, &best, &near);
	shown(&b, word);
	if (near)
		return fail(p, "unknown command '%s'\ndid you mean '%s'?", buf_str(&b), near);
	return fail(p, "unknown command '%s'", buf_str(&b));
}

static int fail_unknown_opt(struct parser *p, struct str name)
{
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);
	AUTO_FREE char *word = xstrndup(name.p, name.n);
	struct opt_iter it = { .set = command_path_end(&p->path)->sets };
	const char *near = habit_option(word);
	unsigned best = SUGGEST_DISTANCE + 1;

	if (near && !find_opt(command_path_end(&p->path), str_of(near), 0))
		near = NULL; /* this command does not have the option NEAR */
	if (near)
		best = 0;
	for (const struct opt *o; (o = args_next_opt(&it));)
		consider(word, o->name, &best, &near);
	shown(&b, word);
	if (near)
		return fail(p, "unknown option '--%s'\ndid you mean '--%s'?", buf_str(&b), near);
	return fail(p, "unknown option '--%s'", buf_str(&b));
}

/* --- values --------------------------------------------------------------------------------- */

static void add_choices(struct buf *b, const char *const *choices)
{
	for (size_t i = 0; choices[i]; i++)
		buf_addf(b, "%s%s", i ? ", " : "", choices[i]);
}

static int check_choice(struct parser *p, const char *what, const char *const *choices,
			const char *s)
{
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);
	AUTO_BUF all = BUF_INIT(MESSAGE_MAX_BYTES);

	for (size_t i = 0; choices[i]; i++)
		if (strcmp(choices[i], s) == 0)
			return 0;
	add_choices(&all, choices);
	return fail(p, "%s: bad value '%s': use one of %s", what, shown(&b, s), buf_str(&all));
}

/* Parses a number of CPUs. If the program was called as msb, accepts only whole CPUs, as the
 * original msb does. */
static int check_cpus(struct parser *p, const struct opt *o, const char *s, uint64_t *ret_milli)
{
	bool msb = args_as_msb(&p->args);
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);
	uint32_t milli = 0;

	if (cpus_parse(s, (uint32_t)o->max, &milli) < 0 || (msb && strchr(s, '.')))
		return fail(p, "--%s: bad value '%s': expected a %snumber from 0 to %u%s", o->name,
			    shown(&b, s), msb ? "whole " : "", (unsigned)o->max,
			    msb ? "" : ", such as 2 or 0.5");
	*ret_milli = milli;
	return 0;
}

static int check_value(struct parser *p, const struct opt *o, const char *s, uint64_t *ret_number)
{
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);
	AUTO_BUF what = BUF_INIT(MESSAGE_MAX_BYTES);

	if (o->choices) {
		buf_addf(&what, "--%s", o->name);
		return check_choice(p, buf_str(&what), o->choices, s);
	}
	if (o->max == 0) /* text */
		return 0;
	if (o->kind == OPT_CPUS)
		return check_cpus(p, o, s, ret_number);
	if (parse_u64(s, o->min, o->max, ret_number) < 0)
		return fail(p, "--%s: bad value '%s': expected a whole number from %llu to %llu",
			    o->name, shown(&b, s), (unsigned long long)o->min,
			    (unsigned long long)o->max);
	return 0;
}

static struct value *value_add(struct args_values *values, const struct opt *o)
{
	if (values->n == values->cap) {
		values->cap = values->cap ? values->cap * 2 : 8;
		values->given = xreallocarray(values->given, values->cap, sizeof(*values->given));
	}
	values->given[values->n] = (struct value){ .opt = o };
	return &values->given[values->n++];
}

/* Records that the option O was given with the text S, or without a value if S is NULL. */
static int take(struct parser *p, const struct opt *o, const char *s)
{
	struct value *v = value_of(&p->values, o);
	char *piece, *rest;

	if (v && o->kind != OPT_LIST)
		return fail(p, "--%s was given twice", o->name);
	if (!v)
		v = value_add(&p->values, o);
	if (!s) {
		v->bare = true;
		return 0;
	}
	if (!utf8_valid(s, strlen(s)))
		return fail(p, "--%s: the value is not UTF-8", o->name);
	push(&p->values.line_names, o->name);
	push(&p->values.line_values, s);
	if (!(o->marks & OPT_COMMA)) {
		push(&v->v, s);
		return check_value(p, o, s, &v->number);
	}
	rest = xstrdup(s);
	push(&p->values.owned, rest);
	while ((piece = strsep(&rest, ","))) {
		push(&v->v, piece);
		if (check_value(p, o, piece, &v->number) < 0)
			return -1;
	}
	return 0;
}

/* Takes the value of O from the next word. If O has no mark OPT_DASH_VALUE, refuses a word that
 * starts with a dash, because such a word is probably an option. The user can write `--opt=-x`
 * instead. A lone '-' is a value. */
static int take_next(struct parser *p, const struct opt *o)
{
	const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);

	if (!next)
		return fail(p, "--%s needs a value: %s", o->name, o->value);
	if (next[0] == '-' && next[1] && !(o->marks & OPT_DASH_VALUE))
		return fail(
			p,
			"--%s needs a value: %s\nto give one that starts with '-', write '--%s=%s'",
			o->name, o->value, o->name, shown(&b, next));
	p->at++;
	return take(p, o, next);
}

/* --- words of the line ---------------------------------------------------------------------- */

static void finish_help(struct parser *p, bool long_form)
{
	AUTO_BUF out = BUF_INIT(HELP_MAX_BYTES);

	help_render(&out, p->args.program, &p->path, long_form);
	p->finished = true;
	p->status = say_output(&out);
}

/* If O is --help, --tree, or the --version of the root, handles O and returns true. */
static bool take_global(struct parser *p, const struct opt *o, bool by_letter)
{
	if (o == find_in(args_global_sets, STR("help"), 0)) {
		finish_help(p, !by_letter);
		return true;
	}
	if (p->path.n == 1 && strcmp(o->name, "version") == 0) {
		p->finished = true;
		p->status = args_version(&p->args);
		return true;
	}
	if (o == find_in(args_global_sets, STR("tree"), 0)) {
		p->tree = true;
		return true;
	}
	return false;
}

static int parse_long(struct parser *p, const char *word)
{
	struct str rest = str_of(word + 2);
	struct str name = str_cut(&rest, '=');
	const struct opt *o = find_opt(command_path_end(&p->path), name, 0);

	if (!o)
		return fail_unknown_opt(p, name);
	if (!rest.p && (o->marks & OPT_BARE) && !args_as_msb(&p->args))
		return take(p, o, NULL);
	if (o->kind != OPT_FLAG)
		return rest.p ? take(p, o, rest.p) : take_next(p, o);
	if (rest.p)
		return fail(p, "--%s takes no value", o->name);
	if (take_global(p, o, false))
		return 0;
	return take(p, o, NULL);
}

/* Parses -q, -qf, -m 512M, -m512M, -m=512M, and -qm512M. */
static int parse_letters(struct parser *p, const char *word)
{
	for (const char *c = word + 1; *c && !p->finished; c++) {
		const struct opt *o = find_opt(command_path_end(&p->path), STR(""), *c);
		AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);

		/* show the whole word if it has only one letter, or if *C is a byte of a multi-byte
		 * UTF-8 character, which cannot be printed alone */
		if (!o && (!word[2] || (unsigned char)*c >= 0x80))
			return fail(p, "unknown option '%s'", shown(&b, word));
		if (!o)
			return fail(p, "unknown option '-%c' in '%s'", *c, shown(&b, word));
		if (o->kind != OPT_FLAG) {
			if (c[1] == '\0')
				return take_next(p, o);
			return take(p, o, c[1] == '=' ? c + 2 : c + 1);
		}
		if (c[1] == '=')
			return fail(p, "--%s takes no value", o->name);
		if (!take_global(p, o, true) && take(p, o, NULL) < 0)
			return -1;
	}
	return 0;
}

/* A lone '-' is a positional or a value, not an option. */
static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

static int parse_word(struct parser *p, const char *word)
{
	const struct command *c = command_path_end(&p->path);
	const struct command *sub = p->args.word.n == 0 ? args_find_command(c->sub, word) : NULL;
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);

	if (sub) {
		assert(p->path.n < COMMAND_DEPTH_MAX);
		p->path.at[p->path.n++] = sub;
		return 0;
	}
	if (!c->run)
		return fail_unknown_command(p, word);
	if (!utf8_valid(word, strlen(word)))
		return fail(p, "argument '%s' is not UTF-8", shown(&b, word));
	/* positionals need no memory of their own. They move to the front of argv, into slots
	 * that the parser has already read */
	p->argv[p->args.word.n++] = (char *)word;
	return 0;
}

/* Returns true if WORD is the first word of the command that is to run in the sandbox. For cordon,
 * this is the first word after the image or the name that is no option. All later words belong to
 * the command, even if they look like options. For msb, a command comes only after '--'. */
static bool begins_command(const struct parser *p, const char *word)
{
	const struct command *c = command_path_end(&p->path);

	return c->takes_rest && p->args.word.n == c->max_args && !is_option(word) &&
	       !args_as_msb(&p->args);
}

static int parse_line(struct parser *p)
{
	bool options = true;

	for (; p->at < p->argc && !p->finished; p->at++) {
		const char *word = p->argv[p->at];
		int r = 0;

		if (begins_command(p, word)) {
			p->args.has_rest = true;
			p->at--; /* WORD itself belongs to the command */
			break;
		}
		if (options && strcmp(word, "--") == 0) {
			options = false;
			p->args.has_rest = command_path_end(&p->path)->takes_rest;
			if (p->args.has_rest)
				break;
		} else if (options && starts_with(word, "--")) {
			r = parse_long(p, word);
		} else if (options && is_option(word)) {
			r = parse_letters(p, word);
		} else {
			r = parse_word(p, word);
		}
		if (r < 0)
			return -1;
	}
	if (p->args.has_rest)
		p->args.rest = (struct strv){ p->argv + p->at + 1, (size_t)(p->argc - p->at - 1) };
	p->args.word.v = p->argv;
	p->argv[p->args.word.n] = NULL;
	return 0;
}

/* --- checks after the last word of the command line ----------------------------------------- */

/* Returns the word that the usage line has for the positional with the index I. */
static struct str usage_word(const struct command *c, size_t i)
{
	struct str rest = str_of(c->usage);
	struct str word = str_cut(&rest, ' ');

	while (i-- > 0 && rest.p)
		word = str_cut(&rest, ' ');
	return word;
}

static int fail_words(struct parser *p)
{
	const struct command *c = p->args.command;
	size_t n = p->args.word.n;
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);
	AUTO_BUF usage = BUF_INIT(MESSAGE_MAX_BYTES);
	struct str what;

	help_add_usage(&usage, p->args.program, &p->path);
	if (n > c->max_args && c->takes_rest)
		return fail(p, "unexpected argument '%s'\na command goes behind '--': %s",
			    shown(&b, p->args.word.v[c->max_args]), buf_str(&usage));
	if (n > c->max_args)
		return fail(p, "unexpected argument '%s'\nusage: %s",
			    shown(&b, p->args.word.v[c->max_args]), buf_str(&usage));
	if (c->instead)
		return fail(p, "%s needs a name or --%s\nusage: %s", c->name, c->instead,
			    buf_str(&usage));
	what = usage_word(c, n);
	return fail(p, "missing argument %.*s\nusage: %s", (int)what.n, what.p, buf_str(&usage));
}

/* Returns true if the command line has an option that makes up for missing positionals. */
static bool may_lack_words(const struct args *a)
{
	const struct command *c = a->command;

	return (c->instead && args_has(a, c->instead)) ||
	       (c->instead_too && args_has(a, c->instead_too)) ||
	       (c->idle_with && args_has(a, c->idle_with) && !args_as_msb(a));
}

static int check_words(struct parser *p)
{
	const struct command *c = p->args.command;
	size_t n = p->args.word.n;

	if (n > c->max_args || (n < c->min_args && !may_lack_words(&p->args)))
		return fail_words(p);
	if (n > 0 && c->word_choices)
		return check_choice(p, c->name, c->word_choices, p->args.word.v[0]);
	return 0;
}

/* Returns whether the option NAME was given. A NAME in capitals means the positionals. */
static bool given(const struct args *a, const char *name)
{
	if (name[0] >= 'A' && name[0] <= 'Z')
		return a->word.n > 0;
	return args_has(a, name);
}

static const char *dashes(const char *name)
{
	return name[0] >= 'A' && name[0] <= 'Z' ? "" : "--";
}

static int check_pairs(struct parser *p)
{
	const struct command *c = p->args.command;
	const struct args *a = &p->args;

	for (size_t i = 0; c->conflicts && c->conflicts[i][0]; i++) {
		const char *one = c->conflicts[i][0], *two = c->conflicts[i][1];

		if (given(a, one) && given(a, two))
			return fail(p, "%s%s cannot be used together with %s%s", dashes(one), one,
				    dashes(two), two);
	}
	for (size_t i = 0; c->requires && c->requires[i][0]; i++) {
		const char *one = c->requires[i][0], *two = c->requires[i][1];

		if (given(a, one) && !given(a, two))
			return fail(p, "%s%s needs %s%s", dashes(one), one, dashes(two), two);
	}
	return 0;
}

static int check_log_level(struct parser *p)
{
	for (size_t i = 0; i < LOG_LEVELS; i++) {
		if (!value_of(&p->values, &global_opts[i]))
			continue;
		if (p->args.log_level)
			return fail(p, "--%s cannot be used together with --%s", p->args.log_level,
				    global_opts[i].name);
		p->args.log_level = global_opts[i].name;
	}
	return 0;
}

static int check_supported(struct parser *p)
{
	for (size_t i = 0; i < p->values.n; i++) {
		if (!(p->values.given[i].opt->marks & OPT_UNSUPPORTED))
			continue;
		p->finished = true;
		p->status = say_errorf(ERR_UNSUPPORTED, "--%s is not supported yet",
				       p->values.given[i].opt->name);
		return -1;
	}
	return 0;
}

/* Prints the help of a group. `cordon` alone succeeds. Any other command line that comes here lacks
 * a subcommand, and the status is 2. */
static int answer_group(struct parser *p)
{
	AUTO_BUF out = BUF_INIT(HELP_MAX_BYTES);

	help_render(&out, p->args.program, &p->path, false);
	if (p->path.n == 1 && p->argc <= 1)
		return say_output(&out);
	/* if stderr is closed, the user still gets the exit status */
	IGNORE(io_write_all(STDERR_FILENO, buf_str(&out), out.n));
	return err_exit_status(ERR_USAGE);
}

static int answer(struct parser *p)
{
	p->args.command = command_path_end(&p->path);
	if (p->tree) {
		AUTO_BUF out = BUF_INIT(HELP_MAX_BYTES);

		help_tree(&out, p->args.program, &p->path);
		return say_output(&out);
	}
	if (check_log_level(p) < 0)
		return p->status;
	if (!p->args.command->run)
		return answer_group(p);
	if (check_words(p) < 0 || check_pairs(p) < 0 || check_supported(p) < 0)
		return p->status;
	log_set(p->args.log_level, "cordon", false);
	if (find_in(p->args.command->sets, STR("quiet"), 0))
		say_set_quiet(args_has(&p->args, "quiet"));
	return p->args.command->run(&p->args);
}

int args_version(const struct args *a)
{
	AUTO_BUF out = BUF_INIT(MESSAGE_MAX_BYTES);
	bool msb = args_as_msb(a);

	buf_addf(&out, "%s %s\n", a->program, msb ? MSB_VERSION : CORDON_VERSION);
	return say_output(&out);
}

static const char *program_name(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 && strcmp(slash ? slash + 1 : argv0, "msb") == 0 ? "msb" : "cordon";
}

int args_main(const struct command *root, int argc, char **argv)
{
	struct parser p = {
		.args = { .root = root, .program = program_name(argc > 0 ? argv[0] : NULL) },
		.path = { .at = { root }, .n = 1 },
		.argv = argv,
		.argc = argc,
		.at = 1,
	};
	int status;

	p.args.values = &p.values;
	IGNORE(parse_line(&p)); /* a failure has set p.finished and p.status */
	status = p.finished ? p.status : answer(&p);

	for (size_t i = 0; i < p.values.n; i++)
		free(p.values.given[i].v.v);
	for (size_t i = 0; i < p.values.owned.n; i++)
		free(p.values.owned.v[i]);
	free(p.values.given);
	free(p.values.owned.v);
	free(p.values.line_names.v);
	free(p.values.line_values.v);
	return status;
}
