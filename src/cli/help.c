/*
 * Writes the help texts. `-h` prints one line for each option. `--help` also prints the description
 * of the command and further text for each option; these texts are wrapped at TEXT_WIDTH columns.
 * The width of the terminal does not matter, so each form looks the same on a terminal as in a
 * pipe.
 */
#include "cli/help.h"

#include <string.h>

#include "base/say.h"
#include "cli/commands.h"
#include "cli/topics.h"

#define TEXT_WIDTH 92  /* columns */
#define OPT_COLUMN 34  /* where one-line descriptions start */
#define MORE_INDENT 10 /* the indent of option texts in the long form */
#define CELL_MAX_BYTES 512

static unsigned columns(const char *s, size_t n)
{
	unsigned w = 0;

	for (size_t i = 0; i < n; i++)
		w += ((unsigned char)s[i] & 0xc0) != 0x80;
	return w;
}

/* Wraps paragraphs at blanks; every line starts with INDENT blanks. */
static void add_wrapped(struct buf *out, const char *text, unsigned indent)
{
	struct str lines = str_of(text);

	while (lines.p) {
		struct str line = str_cut(&lines, '\n');
		unsigned at = 0;

		while (line.p) {
			struct str word = str_cut(&line, ' ');
			unsigned w = columns(word.p, word.n);

			if (at > 0 && at + 1 + w > TEXT_WIDTH) {
				buf_add_char(out, '\n');
				at = 0;
			}
			if (at == 0 && word.n > 0) {
				buf_add_fill(out, ' ', indent);
				at = indent;
			} else if (at > 0) {
				buf_add_char(out, ' ');
				at++;
			}
			buf_add(out, word.p, word.n);
			at += w;
		}
		buf_add_char(out, '\n');
	}
}

/* Adds LEFT, and TEXT in column OPT_COLUMN. If LEFT is too long, TEXT is on the next line. */
static void add_row(struct buf *out, const struct buf *left, const char *text)
{
	unsigned w = columns(buf_str(left), left->n);

	buf_add_str(out, buf_str(left));
	if (w + 2 > OPT_COLUMN) {
		buf_add_char(out, '\n');
		w = 0;
	}
	buf_add_fill(out, ' ', OPT_COLUMN - w);
	buf_add_str(out, text);
}

static void add_opt_marks(struct buf *out, const struct opt *o)
{
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		buf_addf(out, "%s%s", i ? ", " : " [", o->choices[i]);
	if (o->choices)
		buf_add_char(out, ']');
	if (o->kind == OPT_LIST)
		buf_add_str(out, " (repeatable)");
	if (o->marks & OPT_UNSUPPORTED)
		buf_add_str(out, " (not supported yet)");
}

static void add_opt(struct buf *out, const struct opt *o, bool long_form)
{
	AUTO_BUF left = BUF_INIT(CELL_MAX_BYTES);
	AUTO_BUF text = BUF_INIT(CELL_MAX_BYTES);

	if (o->letter)
		buf_addf(&left, "  -%c, --%s", o->letter, o->name);
	else
		buf_addf(&left, "      --%s", o->name);
	if (o->marks & OPT_BARE)
		buf_addf(&left, "[=%s]", o->value);
	else if (o->kind != OPT_FLAG)
		buf_addf(&left, " %s", o->value);
	buf_add_str(&text, o->help);
	add_opt_marks(&text, o);
	if (!long_form) {
		add_row(out, &left, buf_str(&text));
		buf_add_char(out, '\n');
		return;
	}
	buf_addf(out, "%s\n", buf_str(&left));
	add_wrapped(out, buf_str(&text), MORE_INDENT);
	if (o->more)
		add_wrapped(out, o->more, MORE_INDENT);
}

static void add_sets(struct buf *out, const struct opt_set *sets, bool long_form)
{
	const char *under = NULL;

	for (const struct opt_set *s = sets; s && s->opt; s++) {
		const char *heading = s->heading ? s->heading : "Options";

		if (!under || strcmp(under, heading) != 0)
			buf_addf(out, "\n%s:\n", heading);
		under = heading;
		for (const struct opt *o = s->opt; o->name; o++)
			if (!(o->marks & OPT_HIDDEN))
				add_opt(out, o, long_form);
	}
}

static void add_command_row(struct buf *out, const struct command *c)
{
	AUTO_BUF left = BUF_INIT(CELL_MAX_BYTES);

	buf_addf(&left, "  %s", c->name);
	if (c->aliases)
		buf_addf(&left, " (%s)", c->aliases);
	add_row(out, &left, c->summary);
	buf_add_char(out, '\n');
}

/* Adds one row for each command, under the heading of the command's group. The groups are in the
 * order in which they first appear in TABLE. */
static void add_commands(struct buf *out, const struct command *table)
{
	for (const struct command *first = table; first->name; first++) {
		const struct command *c = table;
		const char *group = first->group ? first->group : "Commands";

		if (first->hidden)
			continue;
		while (c->hidden || strcmp(c->group ? c->group : "Commands", group) != 0)
			c++;
		if (c != first)
			continue; /* an earlier row has printed this heading */
		buf_addf(out, "\n%s:\n", group);
		for (; c->name; c++)
			if (!c->hidden && strcmp(c->group ? c->group : "Commands", group) == 0)
				add_command_row(out, c);
	}
}

void help_add_path(struct buf *out, const char *program, const struct command_path *path)
{
	buf_add_str(out, program);
	for (unsigned i = 1; i < path->n; i++)
		buf_addf(out, " %s", path->at[i]->name);
}

void help_add_usage(struct buf *out, const char *program, const struct command_path *path)
{
	const struct command *c = command_path_end(path);

	help_add_path(out, program, path);
	if (c->sets)
		buf_add_str(out, " [OPTIONS]");
	if (c->usage && *c->usage)
		buf_addf(out, " %s", c->usage);
	else if (c->sub)
		buf_add_str(out, " COMMAND");
}

void help_render(struct buf *out, const char *program, const struct command_path *path,
		 bool long_form)
{
	const struct command *c = command_path_end(path);

	buf_addf(out, "%s\n", c->summary);
	if (long_form && c->description) {
		buf_add_char(out, '\n');
		add_wrapped(out, c->description, 0);
	}
	buf_add_str(out, "\nUsage: ");
	help_add_usage(out, program, path);
	buf_add_char(out, '\n');
	if (c->aliases)
		buf_addf(out, "Alias: %s\n", c->aliases);
	if (c->sub)
		add_commands(out, c->sub);
	add_sets(out, c->sets, long_form);
	add_sets(out, args_global_sets, long_form);
	if (c->sub) {
		buf_add_str(out, "\nMore about a command: ");
		help_add_path(out, program, path);
		buf_add_str(out, " COMMAND --help\n");
	}
}

static void add_branch(struct buf *out, const struct command *table, const char *indent)
{
	for (const struct command *c = table; c->name; c++) {
		const struct command *next = c + 1;
		AUTO_BUF deeper = BUF_INIT(CELL_MAX_BYTES);

		if (c->hidden)
			continue;
		while (next->name && next->hidden)
			next++;
		buf_addf(out, "%s%s %s", indent, next->name ? "├──" : "└──", c->name);
		if (c->aliases)
			buf_addf(out, " (%s)", c->aliases);
		buf_add_char(out, '\n');
		buf_addf(&deeper, "%s%s", indent, next->name ? "│   " : "    ");
		if (c->sub)
			add_branch(out, c->sub, buf_str(&deeper));
	}
}

void help_tree(struct buf *out, const char *program, const struct command_path *path)
{
	help_add_path(out, program, path);
	buf_add_char(out, '\n');
	if (command_path_end(path)->sub)
		add_branch(out, command_path_end(path)->sub, "");
}

#define HELP_MAX_BYTES (1u << 20)

static int print_topic(const struct topic *t)
{
	AUTO_BUF out = BUF_INIT(HELP_MAX_BYTES);

	buf_addf(&out, "%s: %s\n\n%s", t->name, t->summary, t->text);
	return say_output(&out);
}

int cmd_help(const struct args *a)
{
	struct command_path path = { .at = { a->root }, .n = 1 };
	AUTO_BUF out = BUF_INIT(HELP_MAX_BYTES);
	bool msb = args_as_msb(a); /* msb has no topics */

	if (!msb && a->word.n == 1 && topic_find(a->word.v[0]))
		return print_topic(topic_find(a->word.v[0]));
	for (size_t i = 0; i < a->word.n; i++) {
		const struct command *c =
			args_find_command(command_path_end(&path)->sub, a->word.v[i]);

		if (!c)
			return say_errorf(ERR_USAGE, "unknown %s '%s'\ntry '%s %s'",
					  msb || i ? "command" : "command or topic", a->word.v[i],
					  a->program, msb ? "--help" : "help");
		path.at[path.n++] = c;
	}
	help_render(&out, a->program, &path, true);
	if (!msb && path.n == 1) {
		buf_add_str(&out, "\nTopics, as in 'cordon help project':\n");
		topics_list(&out);
	}
	return say_output(&out);
}
