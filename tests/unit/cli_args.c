/* Tests the parser of command lines. The commands and options are made up for this test, and are
 * not the commands and options of cordon. Each case checks how a command line is read, its exit
 * status and its messages. */
#include "cli/args.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "t.h"

#define OUTPUT_MAX_BYTES (64u << 10)

// clang-format off
static const char *const colours[] = { "red", "green", NULL };
static const struct opt plain[] = {
	{ .name = "quiet", .letter = 'q', .help = "q" },
	{ .name = "force", .letter = 'f', .help = "f" },
	{ .name = "memory", .letter = 'm', .kind = OPT_STR, .value = "SIZE", .help = "m", .more = "About memory." },
	{ .name = "cpus", .letter = 'c', .kind = OPT_UINT, .value = "N", .min = 1, .max = 255, .help = "c" },
	{ .name = "parts", .kind = OPT_CPUS, .value = "N", .max = 255, .help = "c" },
	{ .name = "env", .letter = 'e', .kind = OPT_LIST, .value = "K=V", .help = "e" },
	{ .name = "port", .kind = OPT_LIST, .value = "N", .min = 1, .max = 65535, .help = "p" },
	{ .name = "colour", .kind = OPT_STR, .value = "C", .choices = colours, .help = "x" },
	{ .name = "colours", .kind = OPT_LIST, .value = "C", .choices = colours, .help = "x", .marks = OPT_COMMA },
	{ .name = "arg", .kind = OPT_LIST, .value = "ARG", .help = "a", .marks = OPT_DASH_VALUE },
	{ .name = "no-net", .alias = "no-network", .help = "n" },
	{ .name = "secret", .kind = OPT_LIST, .value = "S", .help = "s", .marks = OPT_UNSUPPORTED },
	{ .name = "bare", .kind = OPT_LIST, .value = "B", .help = "b", .marks = OPT_BARE },
	{ .name = "old", .kind = OPT_STR, .value = "S", .help = "o", .marks = OPT_HIDDEN },
	{ .name = NULL },
};
static const struct opt_set sets[] = { { NULL, plain }, { NULL, NULL } };
static const char *const conflicts[][2] = {
	{ "force", "no-net" }, { "NAME", "old" }, { "secret", "memory" }, { NULL, NULL }
};
static const char *const needs[][2] = { { "cpus", "memory" }, { NULL, NULL } };
// clang-format on

/* The words and options that the handler got, as one line. */
static char seen[OUTPUT_MAX_BYTES];

static void see(const char *what, const char *s)
{
	size_t n = strlen(seen);

	snprintf(seen + n, sizeof(seen) - n, "%s%s[%s]", n ? " " : "", what, s);
}

static int probe(const struct args *a)
{
	char number[32];

	see("cmd", a->command->name);
	for (size_t i = 0; i < a->word.n; i++)
		see("word", a->word.v[i]);
	for (const struct opt *o = plain; o->name; o++) {
		if (a->command->sets != sets || !args_has(a, o->name))
			continue;
		if (o->kind == OPT_FLAG) {
			see(o->name, "");
		} else if (o->kind == OPT_UINT || o->kind == OPT_CPUS) {
			snprintf(number, sizeof(number), "%" PRIu64, args_uint(a, o->name, 0));
			see(o->name, number);
		} else {
			for (size_t i = 0; i < args_list(a, o->name)->n; i++)
				see(o->name, args_list(a, o->name)->v[i]);
			if (args_bare(a, o->name))
				see(o->name, "");
		}
	}
	if (a->log_level)
		see("log", a->log_level);
	if (a->has_rest)
		see("rest", "");
	for (size_t i = 0; i < a->rest.n; i++)
		see("rest", a->rest.v[i]);
	return 7;
}

// clang-format off
static const struct command things[] = {
	{ .name = "list", .aliases = "ls,l", .hidden_aliases = "dir", .summary = "List things", .run = probe },
	{ .name = "default", .summary = "x", .run = probe, .sets = sets, .max_args = 1 },
	{ .name = NULL },
};
static const struct command commands[] = {
	{ .name = "exec", .group = "Run", .summary = "Run it", .description = "All about it.", .usage = "NAME [-- COMMAND…]",
	  .sets = sets, .min_args = 1, .max_args = 1, .takes_rest = true, .conflicts = conflicts,
	  .requires = needs, .run = probe },
	{ .name = "remove", .aliases = "rm", .group = "Run", .summary = "Remove it", .usage = "NAME…",
	  .sets = sets, .min_args = 1, .max_args = ARGS_MANY, .instead = "env", .run = probe },
	{ .name = "thing", .group = "Other", .summary = "Things", .sub = things },
	{ .name = "both", .group = "Other", .summary = "Both", .sub = things, .sets = sets, .max_args = 2,
	  .usage = "[NAME]", .run = probe },
	{ .name = "shell", .group = "Other", .summary = "Shell", .usage = "SHELL", .min_args = 1, .max_args = 1,
	  .word_choices = colours, .run = probe },
	{ .name = "hidden", .hidden = true, .summary = "Hidden", .run = probe },
	{ .name = NULL },
};
static const struct opt root_opts[] = { { .name = "version", .letter = 'V', .help = "v" }, { .name = NULL } };
static const struct opt_set root_sets[] = { { NULL, root_opts }, { NULL, NULL } };
static const struct command root = { .name = "cordon", .summary = "Sandboxes", .sets = root_sets, .sub = commands };
// clang-format on

static char output[OUTPUT_MAX_BYTES], errors[OUTPUT_MAX_BYTES];

static void slurp(int fd, char *into)
{
	ssize_t n = pread(fd, into, OUTPUT_MAX_BYTES - 1, 0);

	into[n > 0 ? n : 0] = '\0';
}

/* Splits LINE at blanks ('_' is the empty word) and runs the words as a command line. Keeps what is
 * written to standard output and standard error. Returns the exit status. */
static int run(const char *program, const char *line)
{
	char *copy = strdup(line), *rest = copy, *word, *argv[64] = { (char *)program };
	int argc = 1, status, keep[2] = { dup(1), dup(2) }, to[2];

	while ((word = strsep(&rest, " ")) && argc < 63)
		if (*word)
			argv[argc++] = strcmp(word, "_") == 0 ? "" : word;
	fflush(stdout);
	seen[0] = '\0';
	for (int i = 0; i < 2; i++) {
		to[i] = memfd_create("stream", MFD_CLOEXEC);
		dup2(to[i], i + 1);
	}
	status = args_main(&root, argc, argv);
	for (int i = 0; i < 2; i++) {
		dup2(keep[i], i + 1);
		slurp(to[i], i ? errors : output);
		close(to[i]);
		close(keep[i]);
	}
	free(copy);
	return status;
}

static void understood(const char *line, const char *want)
{
	int status = run("cordon", line);

	if (status != 7 || strcmp(seen, want) != 0 || *errors)
		T_FAIL("'%s': status %d, saw %s, want %s, said %s", line, status, seen, want,
		       errors);
}

static void refused(const char *line, int want_status, const char *want_text)
{
	int status = run("cordon", line);

	if (status != want_status || !strstr(errors, want_text) || *seen || *output)
		T_FAIL("'%s': status %d (want %d), said '%s' (want '%s'), saw '%s', printed '%s'",
		       line, status, want_status, errors, want_text, seen, output);
}

static void options_and_words_mix(void)
{
	understood("exec box", "cmd[exec] word[box]");
	understood("exec -q box -m 1G", "cmd[exec] word[box] quiet[] memory[1G]");
	understood("exec box --memory=1G -f", "cmd[exec] word[box] force[] memory[1G]");
	understood("exec --memory 1G box", "cmd[exec] word[box] memory[1G]");
	understood("exec box -- -m --help --",
		   "cmd[exec] word[box] rest[] rest[-m] rest[--help] rest[--]");
	understood("exec box --", "cmd[exec] word[box] rest[]");
	understood("rm a b -q c", "cmd[remove] word[a] word[b] word[c] quiet[]");
	understood("rm -- -a -q", "cmd[remove] word[-a] word[-q]");
	understood("rm -", "cmd[remove] word[-]");
	understood("exec _", "cmd[exec] word[]");
}

static void short_forms(void)
{
	understood("exec -qf box", "cmd[exec] word[box] quiet[] force[]");
	understood("exec -m512M box", "cmd[exec] word[box] memory[512M]");
	understood("exec -m=512M box", "cmd[exec] word[box] memory[512M]");
	understood("exec -qfm512M box", "cmd[exec] word[box] quiet[] force[] memory[512M]");
	understood("exec -qm 512M box", "cmd[exec] word[box] quiet[] memory[512M]");
	understood("exec -m= box", "cmd[exec] word[box] memory[]");
	refused("exec -qx box", 2, "error: unknown option '-x' in '-qx'");
	refused("exec -q=1 box", 2, "--quiet takes no value");
}

static void values(void)
{
	understood("exec -e A=1 -eB=2 --env=C=3 box",
		   "cmd[exec] word[box] env[A=1] env[B=2] env[C=3]");
	understood("exec --memory _ box", "cmd[exec] word[box] memory[]");
	understood("exec --memory - box", "cmd[exec] word[box] memory[-]");
	understood("exec --memory=-1 box", "cmd[exec] word[box] memory[-1]");
	understood("exec --arg -x --arg -- box", "cmd[exec] word[box] arg[-x] arg[--]");
	understood("exec -c 255 -m 1 box", "cmd[exec] word[box] memory[1] cpus[255]");
	understood("exec --port 1 --port=65535 box", "cmd[exec] word[box] port[1] port[65535]");
	understood("exec --colour red box", "cmd[exec] word[box] colour[red]");
	understood("exec --colours red,green --colours red box",
		   "cmd[exec] word[box] colours[red] colours[green] colours[red]");
	understood("exec --no-network box", "cmd[exec] word[box] no-net[]");
}

static void bad_values(void)
{
	refused("exec --memory -1 box", 2, "write '--memory=-1'");
	refused("exec box --memory", 2, "--memory needs a value: SIZE");
	refused("exec box --memory --", 2, "--memory needs a value");
	refused("exec box -m", 2, "--memory needs a value");
	understood("exec --parts 0.5 box", "cmd[exec] word[box] parts[500]");
	understood("exec --parts 255 box", "cmd[exec] word[box] parts[255000]");
	refused("exec --parts 256 box", 2, "--parts: bad value '256': expected a number from 0");
	refused("exec --parts 1.5005 box", 2, "--parts: bad value '1.5005'");
	T_INT(run("msb", "exec --parts 2 box"), 7);
	T_INT(run("msb", "exec --parts 1.5 box"), 2);
	T_TRUE(strstr(errors, "expected a whole number from 0 to 255") != NULL);
	refused("exec -c 256 -m 1 box", 2, "--cpus: bad value '256'");
	refused("exec -c 0 -m 1 box", 2, "--cpus: bad value '0'");
	refused("exec -c 1.5 -m 1 box", 2, "--cpus: bad value '1.5'");
	refused("exec -c=-1 -m 1 box", 2, "--cpus: bad value '-1'");
	refused("exec -c _ -m 1 box", 2, "--cpus: bad value ''");
	refused("exec -c 99999999999999999999999 -m 1 box", 2, "--cpus: bad value");
	refused("exec --port 0 box", 2, "--port: bad value '0'");
	refused("exec --colour blue box", 2, "--colour: bad value 'blue': use one of red, green");
	refused("exec --colour Red box", 2, "--colour");
	refused("exec --colours red,blue box", 2, "--colours: bad value 'blue'");
	refused("exec --colours red, box", 2, "--colours: bad value ''");
	refused("exec --quiet=yes box", 2, "--quiet takes no value");
	refused("exec --memory=\xff box", 2, "--memory: the value is not UTF-8");
	refused("exec b\xffx", 2, "argument 'b\\xffx' is not UTF-8");
	refused("exec --memory=1 -m 2 box", 2, "--memory was given twice");
	refused("exec -q --quiet box", 2, "--quiet was given twice");
	refused("exec -qq box", 2, "--quiet was given twice");
}

static void unknown_things(void)
{
	refused("exce", 2, "error: unknown command 'exce'\n  → did you mean 'exec'?");
	refused("nothing-like-it", 2,
		"error: unknown command 'nothing-like-it'\n  → try 'cordon --help'");
	refused("kill", 2, "unknown command 'kill'\n  → did you mean 'stop'?");
	refused("exec --mem 1 box", 2, "did you mean '--memory'?");
	refused("exec --mount 1 box", 2, "unknown option '--mount'\n  → try");
	refused("hiden", 2, "error: unknown command 'hiden'\n  → try");
	refused("exec --memroy 1 box", 2, "did you mean '--memory'?");
	refused("exec --odl 1 box", 2,
		"error: unknown option '--odl'\n  → try 'cordon exec --help'");
	refused("exec --version", 2, "unknown option '--version'");
	refused("exec -V box", 2, "error: unknown option '-V'\n  → try 'cordon exec --help'");
	refused("--quiet exec box", 2, "unknown option '--quiet'");
	refused("exec --=x box", 2, "unknown option '--'");
	refused("thing nosuch", 2, "try 'cordon thing --help'");
	refused("exec -\xff box", 2, "unknown option");
}

static void positionals(void)
{
	refused("exec", 2, "missing argument NAME");
	understood("exec box true", "cmd[exec] word[box] rest[] rest[true]");
	understood("exec -q box -f true -q --nosuch -- x",
		   "cmd[exec] word[box] quiet[] force[] rest[] rest[true] rest[-q] rest[--nosuch] "
		   "rest[--] rest[x]");
	understood("exec box - -q", "cmd[exec] word[box] rest[] rest[-] rest[-q]");
	T_INT(run("msb", "exec box true"), 2);
	T_TRUE(strstr(errors, "a command goes behind '--'") != NULL);
	understood("exec --bare box", "cmd[exec] word[box] bare[]");
	understood("exec --bare=x --bare box", "cmd[exec] word[box] bare[x] bare[]");
	T_INT(run("msb", "exec --bare x box"), 7);
	T_STR(seen, "cmd[exec] word[box] bare[x]");
	T_INT(run("msb", "exec box --bare"), 2);
	refused("exec -- true", 2, "missing argument NAME");
	refused("rm", 2, "remove needs a name or --env");
	understood("rm --env A=1", "cmd[remove] env[A=1]");
	refused("shell blue", 2, "shell: bad value 'blue'");
	refused("shell", 2, "missing argument SHELL");
	understood("shell red", "cmd[shell] word[red]");
	refused("thing list x", 2, "unexpected argument 'x'");
}

static void pairs(void)
{
	refused("exec --force --no-network box", 2,
		"--force cannot be used together with --no-net");
	refused("exec --old 1 box", 2, "NAME cannot be used together with --old");
	refused("exec -c 1 box", 2, "--cpus needs --memory");
	refused("exec --debug box --trace", 2, "cannot be used together");
}

static void unsupported_last(void)
{
	refused("exec --secret a box", 1, "error: --secret is not supported yet\n");
	refused("exec --secret a -m 1 box", 2, "--secret cannot be used together with --memory");
	refused("exec --secret a", 2, "missing argument");
	refused("exec --secret", 2, "--secret needs a value");
}

static void subcommands(void)
{
	understood("thing list", "cmd[list]");
	understood("thing ls", "cmd[list]");
	understood("thing l --debug", "cmd[list] log[debug]");
	understood("thing dir", "cmd[list]");
	understood("--trace thing list", "cmd[list] log[trace]");
	understood("hidden", "cmd[hidden]");
	understood("both", "cmd[both]");
	understood("both list", "cmd[list]");
	understood("both x list", "cmd[both] word[x] word[list]");
	understood("both -q default", "cmd[default] quiet[]");
	T_INT(run("cordon", "thing"), 2);
	T_TRUE(strstr(errors, "Usage: cordon thing") && !*output);
	T_INT(run("cordon", "--debug"), 2);
	T_TRUE(strstr(errors, "Usage: cordon") && !*output);
}

static void help_and_tree(void)
{
	T_INT(run("cordon", ""), 0);
	T_TRUE(strstr(output, "Usage: cordon [OPTIONS] COMMAND") && !*errors);
	T_TRUE(strstr(output, "remove (rm)") && !strstr(output, "hidden"));
	T_INT(run("/x/msb", "exec -h"), 0);
	T_TRUE(strstr(output, "Usage: msb exec [OPTIONS] NAME [-- COMMAND…]") && !*seen);
	T_TRUE(strstr(output, "-m, --memory SIZE") && !strstr(output, "--old"));
	T_TRUE(!strstr(output, "About memory.") && !strstr(output, "All about it."));
	T_INT(run("cordon", "exec --help"), 0);
	T_TRUE(strstr(output, "About memory.") && strstr(output, "All about it."));
	T_INT(run("cordon", "exec box --nonsense --help"), 2);
	T_INT(run("cordon", "--tree"), 0);
	T_TRUE(strstr(output, "└── both\n    ├── list (ls,l)") ||
	       strstr(output, "├── both\n│   ├── list (ls,l)"));
	T_INT(run("cordon", "exec --tree"), 0);
	T_STR(output, "cordon exec\n");
}

static void version(void)
{
	T_INT(run("/usr/bin/msb", "--version"), 0);
	T_STR(output, "msb 0.6.18\n");
	T_INT(run("cordon", "-V"), 0);
	T_STR(output, "cordon " CORDON_VERSION "\n");
	T_INT(run("msb2", "--version"), 0);
	T_STR(output, "cordon " CORDON_VERSION "\n");
}

static void hostile_text_stays_on_its_line(void)
{
	run("cordon", "exec --colour=\033[31m\nerror:\x07 box");
	T_TRUE(!strchr(errors, '\033') && !strchr(errors, '\x07') && !strstr(errors, "\nerror:"));
}

int main(void)
{
	T_RUN(options_and_words_mix);
	T_RUN(short_forms);
	T_RUN(values);
	T_RUN(bad_values);
	T_RUN(unknown_things);
	T_RUN(positionals);
	T_RUN(pairs);
	T_RUN(unsupported_last);
	T_RUN(subcommands);
	T_RUN(help_and_tree);
	T_RUN(version);
	T_RUN(hostile_text_stays_on_its_line);
	return t_end();
}
