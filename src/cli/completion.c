/*
 * `cordon completion SHELL` writes a completion script for a shell, from the command tables.
 *
 * All five scripts work alike. First a script finds out which command the user has typed. It
 * follows the words before the cursor through a table of transitions ("image/ls" leads to "image
 * list"). Then it offers what the command tables have for this command: subcommands, options and
 * allowed values. To get the names of sandboxes, images and volumes, it runs the program itself
 * with `-q`. For a command that makes sandboxes it also offers the image `host`. Each script works
 * for both names of the program.
 *
 * The scripts for bash, zsh and fish also offer files, and for `copy` also `NAME:` for each
 * sandbox. After `--`, all scripts except the script for elvish leave the completion to the shell.
 */
#include "base/say.h"
#include "cli/commands.h"

#include "base/buf.h"
#include "base/cleanup.h"

#define SCRIPT_MAX_BYTES (4u << 20)
#define PLACE_MAX_BYTES 64 /* the path of a command, such as "snapshot inspect" */

/* Called for every command with its place in the tree: "" for the root, "image", "image list". */
typedef void visit_fn(struct buf *out, const char *at, const struct command *c);

static void walk(struct buf *out, const char *at, const struct command *c, visit_fn *visit)
{
	visit(out, at, c);
	for (const struct command *s = c->sub; s && s->name; s++) {
		AUTO_BUF below = BUF_INIT(PLACE_MAX_BYTES);

		buf_addf(&below, "%s%s%s", at, *at ? " " : "", s->name);
		walk(out, buf_str(&below), s, visit);
	}
}

/* Writes all words that lead from the command AT to its subcommand S, with SEP between them:
 * "image/list SEP image/ls". */
static void add_ways(struct buf *out, const char *at, const struct command *s, const char *sep)
{
	const char *lists[] = { s->name, s->aliases, s->hidden_aliases };
	bool first = true;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct str rest = lists[i] ? str_of(lists[i]) : (struct str){ NULL, 0 };

		while (rest.p) {
			struct str name = str_cut(&rest, ',');

			buf_addf(out, "%s%s/%.*s", first ? "" : sep, at, (int)name.n, name.p);
			first = false;
		}
	}
}

static bool wants_file(const struct opt *o)
{
	return strstr(o->value, "FILE") || strcmp(o->value, "DIR") == 0 ||
	       starts_with(o->value, "SRC:");
}

/* Returns the commands that a word after C may name: the subcommands of C, or all commands if C is
 * `help`. */
static const struct command *offered(const struct command *c)
{
	return c->words == WORD_COMMAND ? cordon_root.sub : c->sub;
}

/* Returns the command that, with `-q`, lists the names that C accepts as positionals, or NULL. */
static const char *lister(const struct command *c)
{
	return c->words == WORD_SANDBOX  ? "list"
	       : c->words == WORD_IMAGE  ? "image list"
	       : c->words == WORD_VOLUME ? "volume list"
					 : NULL;
}

/* Returns "host " if C makes sandboxes from images, otherwise "". */
static const char *built_in(const struct command *c)
{
	return c->words == WORD_IMAGE && starts_with(c->usage, "[IMAGE]") ? "host " : "";
}

/* Returns true if the positionals of C are files of this machine, or of sandboxes. */
static bool takes_endpoints(const struct command *c)
{
	return c->run == cmd_copy;
}

/* Writes S between single quotes. QUOTE replaces each single quote inside S. */
static void add_quoted(struct buf *out, const char *s, const char *quote)
{
	buf_add_char(out, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			buf_add_str(out, quote);
		else
			buf_add_char(out, *s);
	}
	buf_add_char(out, '\'');
}

static void add_list(struct buf *out, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		buf_addf(out, "%s%s", i ? " " : "", words[i]);
}

static void add_visible_names(struct buf *out, const struct command *table)
{
	const char *sep = "";

	for (const struct command *c = table; c && c->name; c++) {
		if (c->hidden)
			continue;
		buf_addf(out, "%s%s", sep, c->name);
		sep = " ";
	}
}

/* --- bash ----------------------------------------------------------------------------------- */

static void bash_way(struct buf *out, const char *at, const struct command *c)
{
	for (const struct command *s = c->sub; s && s->name; s++) {
		buf_add_str(out, "\t\t'");
		add_ways(out, at, s, "' | '");
		buf_addf(out, "') at='%s%s%s' ;;\n", at, *at ? " " : "", s->name);
	}
}

static void bash_value(struct buf *out, const char *at, const struct command *c)
{
	struct opt_iter it = { .set = c->sets };

	for (const struct opt *o; (o = args_next_opt(&it));) {
		if (o->kind == OPT_FLAG)
			continue;
		buf_addf(out, "\t'%s --%s'", at, o->name);
		if (o->letter)
			buf_addf(out, " | '%s -%c'", at, o->letter);
		buf_add_str(out, ") ");
		if (o->choices) {
			buf_add_str(out, "mapfile -t COMPREPLY < <(compgen -W '");
			add_list(out, o->choices);
			buf_add_str(out, "' -- \"$cur\"); ");
		}
		buf_add_str(out, "return ;;\n");
	}
}

static void bash_words(struct buf *out, const char *at, const struct command *c)
{
	struct opt_iter it = { .set = c->sets };

	buf_addf(out, "\t'%s')\n\t\topts='", at);
	for (const struct opt *o; (o = args_next_opt(&it));) {
		buf_addf(out, " --%s", o->name);
		if (o->letter)
			buf_addf(out, " -%c", o->letter);
	}
	buf_add_str(out, "'\n\t\twords=");
	if (c->word_choices || offered(c)) {
		buf_add_char(out, '\'');
		if (c->word_choices)
			add_list(out, c->word_choices);
		else
			add_visible_names(out, offered(c));
		buf_add_str(out, "'\n");
	} else if (lister(c)) {
		buf_addf(out, "\"%s$(\"$1\" %s -q 2>/dev/null)\"\n", built_in(c), lister(c));
	} else if (takes_endpoints(c)) {
		buf_add_str(out, "$(\"$1\" list -q 2>/dev/null | sed 's/$/:/')\n"
				 "\t\tfiles=yes\n"
				 "\t\tcompopt -o nospace 2>/dev/null\n");
	} else {
		buf_add_char(out, '\n');
	}
	buf_add_str(out, "\t\t;;\n");
}

static void add_bash(struct buf *out)
{
	buf_add_str(
		out,
		"# bash completion for cordon and msb\n"
		"_cordon() {\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\tlocal at='' opts='' words='' files='' i j whole\n"
		"\tCOMPREPLY=()\n"
		"\t# readline takes --opt=value apart at the =\n"
		"\tif [[ $cur == '=' ]]; then\n"
		"\t\tcur=''\n"
		"\telif [[ $prev == '=' ]]; then\n"
		"\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
		"\tfi\n"
		"\t# and words such as alpine:3 at the colons\n"
		"\twhole=$cur j=$COMP_CWORD\n"
		"\twhile ((j > 1)) && [[ ${COMP_WORDS[j]} == : || ${COMP_WORDS[j-1]} == : ]]; do\n"
		"\t\twhole=${COMP_WORDS[--j]}$whole\n"
		"\tdone\n"
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		"\t\t[[ ${COMP_WORDS[i]} == -- ]] && return\n"
		"\t\tcase $at/${COMP_WORDS[i]} in\n");
	walk(out, "", &cordon_root, bash_way);
	buf_add_str(out, "\t\tesac\n\tdone\n\tcase \"$at $prev\" in\n");
	walk(out, "", &cordon_root, bash_value);
	buf_add_str(out, "\tesac\n\tcase $at in\n");
	walk(out, "", &cordon_root, bash_words);
	buf_add_str(out,
		    "\tesac\n"
		    "\t[[ $cur == -* ]] && words=$opts\n"
		    "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$whole\")\n"
		    "\tif [[ $files && $cur != -* ]]; then\n"
		    "\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$whole\")\n"
		    "\tfi\n"
		    "\tif [[ $whole == *:* ]]; then\n"
		    "\t\twhole=${whole%\"${whole##*:}\"}\n"
		    "\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"$whole\"}\")\n"
		    "\tfi\n"
		    "}\n"
		    "complete -o bashdefault -o default -F _cordon cordon msb\n");
}

/* --- zsh ------------------------------------------------------------------------------------ */

/* Escapes S for an _arguments specification that is between single quotes. */
static void zsh_text(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'') {
			buf_add_str(out, "'\\''");
			continue;
		}
		if (strchr("[]:\\", *s))
			buf_add_char(out, '\\');
		buf_add_char(out, *s);
	}
}

static void zsh_opt(struct buf *out, const struct opt *o)
{
	const char *star = o->kind == OPT_LIST ? "*" : "";
	AUTO_BUF tail = BUF_INIT(SCRIPT_MAX_BYTES);

	buf_add_char(&tail, '[');
	zsh_text(&tail, o->help);
	buf_add_char(&tail, ']');
	if (o->kind != OPT_FLAG) {
		buf_add_char(&tail, ':');
		zsh_text(&tail, o->value);
		buf_add_char(&tail, ':');
		if (o->choices) {
			buf_add_char(&tail, '(');
			add_list(&tail, o->choices);
			buf_add_char(&tail, ')');
		} else if (wants_file(o)) {
			buf_add_str(&tail, "_files");
		}
	}
	if (o->letter) {
		/* after `-x` or `--long` zsh offers neither of the two again, unless the option
		 * may be repeated */
		buf_add_str(out, "\t\t\t'");
		if (!*star)
			buf_addf(out, "(-%c --%s)", o->letter, o->name);
		buf_addf(out, "%s-%c%s%s'\n", star, o->letter, o->kind == OPT_FLAG ? "" : "+",
			 buf_str(&tail));
		buf_add_str(out, "\t\t\t'");
		if (!*star)
			buf_addf(out, "(-%c --%s)", o->letter, o->name);
	} else {
		buf_add_str(out, "\t\t\t'");
	}
	buf_addf(out, "%s--%s%s%s'\n", star, o->name, o->kind == OPT_FLAG ? "" : "=",
		 buf_str(&tail));
}

static void zsh_case(struct buf *out, const char *at, const struct command *c)
{
	const struct command *table = offered(c);
	struct opt_iter it = { .set = c->sets };

	buf_addf(out, "\t'%s')\n\t\tspecs=(\n", at);
	for (const struct opt *o; (o = args_next_opt(&it));)
		zsh_opt(out, o);
	if (c->word_choices) {
		buf_add_str(out, "\t\t\t'1:word:(");
		add_list(out, c->word_choices);
		buf_add_str(out, ")'\n");
	} else if (lister(c)) {
		buf_addf(out,
			 "\t\t\t'*:name:(%s$(_call_program names $service %s -q 2>/dev/null))'\n",
			 built_in(c), lister(c));
	} else if (takes_endpoints(c)) {
		buf_add_str(out, "\t\t\t'*:file:_cordon_endpoints'\n");
	} else if (c->words == WORD_FILE) {
		buf_add_str(out, "\t\t\t'*:file:_files'\n");
	}
	buf_add_str(out, "\t\t)\n");
	if (table) {
		buf_add_str(out, "\t\tnames=(\n");
		for (const struct command *s = table; s->name; s++) {
			if (s->hidden)
				continue;
			buf_addf(out, "\t\t\t'%s:", s->name);
			zsh_text(out, s->summary);
			buf_add_str(out, "'\n");
		}
		buf_add_str(out, "\t\t)\n");
	}
	buf_add_str(out, "\t\t;;\n");
}

static void add_zsh(struct buf *out)
{
	buf_add_str(out,
		    "#compdef cordon msb\n"
		    "_cordon_endpoints() {\n"
		    "\t_files\n"
		    "\tcompadd -q -S : -- $(_call_program names $service list -q 2>/dev/null)\n"
		    "}\n"
		    "_cordon() {\n"
		    "\tlocal at='' i last=1\n"
		    "\tlocal -a specs names\n"
		    "\tfor ((i = 2; i < CURRENT; i++)); do\n"
		    "\t\tif [[ $words[i] == -- ]]; then\n"
		    "\t\t\tshift $i words\n"
		    "\t\t\t((CURRENT -= i))\n"
		    "\t\t\t_normal\n"
		    "\t\t\treturn\n"
		    "\t\tfi\n"
		    "\t\tcase $at/$words[i] in\n");
	walk(out, "", &cordon_root, bash_way); /* zsh has the syntax of bash for `case` */
	buf_add_str(out, "\t\t*) continue ;;\n"
			 "\t\tesac\n"
			 "\t\tlast=$i\n"
			 "\tdone\n"
			 "\tshift $((last - 1)) words\n"
			 "\t((CURRENT -= last - 1))\n"
			 "\tcase $at in\n");
	walk(out, "", &cordon_root, zsh_case);
	buf_add_str(out, "\tesac\n"
			 "\tif (($#names)) && [[ $PREFIX != -* ]]; then\n"
			 "\t\t_describe command names\n"
			 "\t\treturn\n"
			 "\tfi\n"
			 "\t_arguments -s -S $specs\n"
			 "}\n"
			 "if [[ $funcstack[1] == _cordon ]]; then\n"
			 "\t_cordon \"$@\"\n"
			 "else\n"
			 "\tcompdef _cordon cordon msb\n"
			 "fi\n");
}

/* --- fish ----------------------------------------------------------------------------------- */

static void fish_way(struct buf *out, const char *at, const struct command *c)
{
	for (const struct command *s = c->sub; s && s->name; s++) {
		buf_add_str(out, "\t\t\tcase '");
		add_ways(out, at, s, "' '");
		buf_addf(out, "'\n\t\t\t\tset at '%s%s%s'\n", at, *at ? " " : "", s->name);
	}
}

static void fish_line(struct buf *out, const char *at)
{
	buf_addf(out, "\tcomplete -c $program -n '__cordon_at \"%s\"' ", at);
}

static void fish_opt(struct buf *out, const char *at, const struct opt *o)
{
	fish_line(out, at);
	if (o->letter)
		buf_addf(out, "-s %c ", o->letter);
	buf_addf(out, "-l %s ", o->name);
	if (o->kind != OPT_FLAG)
		buf_add_str(out, wants_file(o) ? "-r -F " : "-x ");
	if (o->choices) {
		buf_add_str(out, "-a '");
		add_list(out, o->choices);
		buf_add_str(out, "' ");
	}
	buf_add_str(out, "-d ");
	add_quoted(out, o->help, "\\'");
	buf_add_char(out, '\n');
}

static void fish_case(struct buf *out, const char *at, const struct command *c)
{
	const struct command *table = offered(c);
	struct opt_iter it = { .set = c->sets };

	for (const struct command *s = table; s && s->name; s++) {
		if (s->hidden)
			continue;
		fish_line(out, at);
		buf_addf(out, "-a %s -d ", s->name);
		add_quoted(out, s->summary, "\\'");
		buf_add_char(out, '\n');
	}
	for (const struct opt *o; (o = args_next_opt(&it));)
		fish_opt(out, at, o);
	if (c->word_choices) {
		fish_line(out, at);
		buf_add_str(out, "-a '");
		add_list(out, c->word_choices);
		buf_add_str(out, "'\n");
	} else if (lister(c)) {
		fish_line(out, at);
		buf_addf(out, "-a '%s(__cordon_names %s)'\n", built_in(c), lister(c));
	} else if (takes_endpoints(c)) {
		fish_line(out, at);
		buf_add_str(out, "-F -a '(__cordon_endpoints)'\n");
	} else if (c->words == WORD_FILE) {
		fish_line(out, at);
		buf_add_str(out, "-F\n");
	}
}

static void add_fish(struct buf *out)
{
	buf_add_str(out, "# fish completion for cordon and msb\n"
			 "function __cordon_at\n"
			 "\tset -l at ''\n"
			 "\tset -l words (commandline -opc)\n"
			 "\tfor word in $words[2..-1]\n"
			 "\t\tswitch \"$at/$word\"\n"
			 "\t\t\tcase '*/--'\n"
			 "\t\t\t\treturn 1\n");
	walk(out, "", &cordon_root, fish_way);
	buf_add_str(out, "\t\tend\n"
			 "\tend\n"
			 "\ttest \"$at\" = \"$argv[1]\"\n"
			 "end\n"
			 "function __cordon_behind_dashes\n"
			 "\tcontains -- -- (commandline -opc)\n"
			 "end\n"
			 "function __cordon_names\n"
			 "\tset -l words (commandline -opc)\n"
			 "\tcommand -q $words[1]; and command $words[1] $argv -q 2>/dev/null\n"
			 "end\n"
			 "function __cordon_endpoints\n"
			 "\tfor name in (__cordon_names list)\n"
			 "\t\techo $name:\n"
			 "\tend\n"
			 "end\n"
			 "for program in cordon msb\n"
			 "\tcomplete -c $program -e\n"
			 "\tcomplete -c $program -n 'not __cordon_behind_dashes' -f\n");
	walk(out, "", &cordon_root, fish_case);
	buf_add_str(out, "end\n");
}

/* --- elvish and powershell: maps from places to candidates ------------------------------------ */

static void elvish_way(struct buf *out, const char *at, const struct command *c)
{
	for (const struct command *s = c->sub; s && s->name; s++) {
		AUTO_BUF way = BUF_INIT(SCRIPT_MAX_BYTES);
		AUTO_BUF sep = BUF_INIT(PLACE_MAX_BYTES * 2);

		buf_addf(&sep, "'='%s%s%s' &'", at, *at ? " " : "", s->name);
		add_ways(&way, at, s, buf_str(&sep));
		buf_addf(out, "\t&'%s'='%s%s%s'\n", buf_str(&way), at, *at ? " " : "", s->name);
	}
}

static void elvish_case(struct buf *out, const char *at, const struct command *c)
{
	struct opt_iter it = { .set = c->sets };

	buf_addf(out, "\t&'%s'=[", at);
	if (c->word_choices)
		add_list(out, c->word_choices);
	else
		add_visible_names(out, offered(c));
	buf_add_str(out, built_in(c));
	for (const struct opt *o; (o = args_next_opt(&it));)
		buf_addf(out, o->letter ? " --%s -%c" : " --%s", o->name, o->letter);
	buf_add_str(out, "]\n");
}

static void elvish_value(struct buf *out, const char *at, const struct command *c)
{
	struct opt_iter it = { .set = c->sets };

	for (const struct opt *o; (o = args_next_opt(&it));) {
		if (!o->choices)
			continue;
		buf_addf(out, "\t&'%s --%s'=[", at, o->name);
		add_list(out, o->choices);
		buf_add_str(out, "]\n");
	}
}

static void elvish_lister(struct buf *out, const char *at, const struct command *c)
{
	if (lister(c))
		buf_addf(out, "\t&'%s'=[%s -q]\n", at, lister(c));
}

static void add_elvish(struct buf *out)
{
	buf_add_str(out, "# elvish completion for cordon and msb\n"
			 "var cordon-ways = [\n");
	walk(out, "", &cordon_root, elvish_way);
	buf_add_str(out, "]\nvar cordon-words = [\n");
	walk(out, "", &cordon_root, elvish_case);
	buf_add_str(out, "]\nvar cordon-values = [\n");
	walk(out, "", &cordon_root, elvish_value);
	buf_add_str(out, "]\nvar cordon-listers = [\n");
	walk(out, "", &cordon_root, elvish_lister);
	buf_add_str(out, "]\n"
			 "fn cordon-complete {|@words|\n"
			 "\tvar at = ''\n"
			 "\tvar previous = ''\n"
			 "\tfor word $words[1..-1] {\n"
			 "\t\tset previous = $word\n"
			 "\t\tif (has-key $cordon-ways $at'/'$word) {\n"
			 "\t\t\tset at = $cordon-ways[$at'/'$word]\n"
			 "\t\t}\n"
			 "\t}\n"
			 "\tif (has-key $cordon-values $at' '$previous) {\n"
			 "\t\tall $cordon-values[$at' '$previous]\n"
			 "\t\treturn\n"
			 "\t}\n"
			 "\tall $cordon-words[$at]\n"
			 "\tif (has-key $cordon-listers $at) {\n"
			 "\t\ttry {\n"
			 "\t\t\t(external $words[0]) (all $cordon-listers[$at]) 2>/dev/null\n"
			 "\t\t} catch e {\n"
			 "\t\t\tnop\n"
			 "\t\t}\n"
			 "\t}\n"
			 "}\n"
			 "set edit:completion:arg-completer[cordon] = $cordon-complete~\n"
			 "set edit:completion:arg-completer[msb] = $cordon-complete~\n");
}

static void powershell_way(struct buf *out, const char *at, const struct command *c)
{
	for (const struct command *s = c->sub; s && s->name; s++) {
		AUTO_BUF way = BUF_INIT(SCRIPT_MAX_BYTES);
		AUTO_BUF sep = BUF_INIT(PLACE_MAX_BYTES * 2);

		buf_addf(&sep, "' = '%s%s%s'; '", at, *at ? " " : "", s->name);
		add_ways(&way, at, s, buf_str(&sep));
		buf_addf(out, "\t'%s' = '%s%s%s'\n", buf_str(&way), at, *at ? " " : "", s->name);
	}
}

/* Writes WORD and its text as one string, because @( ) would flatten a list of pairs. */
static void powershell_candidate(struct buf *out, const char *dashes, const char *word,
				 const char *text)
{
	AUTO_FREE char *both = xasprintf("%s%s|%s", dashes, word, text);

	buf_add_str(out, "\t\t");
	add_quoted(out, both, "''");
	buf_add_char(out, '\n');
}

static void powershell_case(struct buf *out, const char *at, const struct command *c)
{
	const struct command *table = offered(c);
	struct opt_iter it = { .set = c->sets };

	buf_addf(out, "\t'%s' = @(\n", at);
	for (size_t i = 0; c->word_choices && c->word_choices[i]; i++)
		powershell_candidate(out, "", c->word_choices[i], c->word_choices[i]);
	for (const struct command *s = table; s && s->name; s++)
		if (!s->hidden)
			powershell_candidate(out, "", s->name, s->summary);
	if (*built_in(c))
		powershell_candidate(out, "", "host", "The programs of this machine");
	for (const struct opt *o; (o = args_next_opt(&it));) {
		char letter[] = { o->letter, '\0' };

		powershell_candidate(out, "--", o->name, o->help);
		if (o->letter)
			powershell_candidate(out, "-", letter, o->help);
	}
	buf_add_str(out, "\t)\n");
}

static void powershell_value(struct buf *out, const char *at, const struct command *c)
{
	struct opt_iter it = { .set = c->sets };

	for (const struct opt *o; (o = args_next_opt(&it));) {
		if (!o->choices)
			continue;
		buf_addf(out, "\t'%s --%s' = '", at, o->name);
		add_list(out, o->choices);
		buf_add_str(out, "'\n");
	}
}

static void powershell_lister(struct buf *out, const char *at, const struct command *c)
{
	if (lister(c))
		buf_addf(out, "\t'%s' = '%s -q'\n", at, lister(c));
}

static void add_powershell(struct buf *out)
{
	buf_add_str(out, "# powershell completion for cordon and msb\n"
			 "$global:CordonWays = @{\n");
	walk(out, "", &cordon_root, powershell_way);
	buf_add_str(out, "}\n$global:CordonWords = @{\n");
	walk(out, "", &cordon_root, powershell_case);
	buf_add_str(out, "}\n$global:CordonValues = @{\n");
	walk(out, "", &cordon_root, powershell_value);
	buf_add_str(out, "}\n$global:CordonListers = @{\n");
	walk(out, "", &cordon_root, powershell_lister);
	buf_add_str(
		out,
		"}\n"
		"Register-ArgumentCompleter -Native -CommandName 'cordon', 'msb' -ScriptBlock {\n"
		"\tparam($wordToComplete, $commandAst, $cursorPosition)\n"
		"\t$at = ''\n"
		"\t$previous = ''\n"
		"\t$all = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })\n"
		"\t$count = $all.Count\n"
		"\tif ($wordToComplete -ne '') { $count-- }\n"
		"\tfor ($i = 1; $i -lt $count; $i++) {\n"
		"\t\tif ($all[$i] -eq '--') { return }\n"
		"\t\t$previous = $all[$i]\n"
		"\t\t$next = $global:CordonWays[\"$at/$previous\"]\n"
		"\t\tif ($next) { $at = $next }\n"
		"\t}\n"
		"\t$values = $global:CordonValues[\"$at $previous\"]\n"
		"\tif ($values) {\n"
		"\t\t$candidates = @($values.Split(' '))\n"
		"\t} else {\n"
		"\t\t$candidates = @($global:CordonWords[$at])\n"
		"\t\t$lister = $global:CordonListers[$at]\n"
		"\t\tif ($lister) {\n"
		"\t\t\t$program = $all[0]\n"
		"\t\t\t$words = $lister.Split(' ')\n"
		"\t\t\t$candidates += @(& $program @words 2>$null)\n"
		"\t\t}\n"
		"\t}\n"
		"\t$candidates | Where-Object { $_ -like \"$wordToComplete*\" } | ForEach-Object "
		"{\n"
		"\t\t$word, $text = $_ -split '\\|', 2\n"
		"\t\tif (-not $text) { $text = $word }\n"
		"\t\t[System.Management.Automation.CompletionResult]::new($word, $word, "
		"'ParameterValue', $text)\n"
		"\t}\n"
		"}\n");
}

/* -------------------------------------------------------------------------------------------- */

int cmd_completion(const struct args *a)
{
	static const struct {
		const char *shell;
		void (*add)(struct buf *out);
	} scripts[] = {
		{ "bash", add_bash },
		{ "zsh", add_zsh },
		{ "fish", add_fish },
		{ "elvish", add_elvish },
		{ "powershell", add_powershell },
	};
	AUTO_BUF out = BUF_INIT(SCRIPT_MAX_BYTES);

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		if (strcmp(scripts[i].shell, a->word.v[0]) == 0)
			scripts[i].add(&out);
	return say_output(&out);
}
