/* `logs` checks its options, turns them into plain values and replaces itself by cordon-logs
 * (exec). cordon-logs is a separate program, because it loads a library that this program must not
 * load. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program.h"
#include "base/say.h"
#include "cli/commands.h"
#include "client/sandbox.h"
#include "spec/grammar.h"

#define RECORD_FD 3 /* where cordon-logs expects the sandbox's directory */

/* Reads an RFC 3339 time, or a duration, which means this long before now. */
static int parse_time(const char *flag, const char *s, uint64_t *ret_ns, struct err *e)
{
	uint64_t now = clock_real_ns(), ms;

	if (clock_parse_rfc3339(s, ret_ns) == 0)
		return 0;
	if (parse_duration_ms(flag, s, &ms, e) < 0)
		return err_set(e, ERR_INVALID,
			       "%s: invalid time '%s': expected RFC 3339, or 10s, 5m, 2h, 1d ago",
			       flag, s);
	*ret_ns = ms * NS_PER_MS < now ? now - ms * NS_PER_MS : 0;
	return 0;
}

static int add_time(struct strv *argv, const struct args *a, const char *name, struct err *e)
{
	AUTO_FREE char *flag = xasprintf("--%s", name);
	AUTO_FREE char *text = NULL;
	uint64_t ns;

	if (!args_has(a, name))
		return 0;
	if (parse_time(flag, args_str(a, name), &ns, e) < 0)
		return -1;
	text = xasprintf("%s=%llu", flag, (unsigned long long)ns);
	strv_add(argv, text);
	return 0;
}

static void add_sources(struct strv *argv, const struct args *a)
{
	const struct strv *l = args_list(a, "source");
	AUTO_FREE char *text = NULL;
	unsigned bits = 0;

	for (size_t i = 0; i < l->n; i++)
		for (unsigned s = 0; s <= LOG_NET; s++)
			if (strcmp(l->v[i], "all") == 0 ||
			    strcmp(l->v[i], execlog_source_name(s)) == 0)
				bits |= 1u << s;
	text = xasprintf("--sources=%u", bits);
	if (bits)
		strv_add(argv, text);
}

/* Adds the options that say what cordon-logs does with the control characters that commands
 * printed. On a terminal, cordon-logs removes escape sequences and shows other control characters
 * as \xNN (`--terminal`), because such characters could hide lines, change the title of the window
 * or make the terminal send input. With `--raw`, cordon-logs keeps everything. If the output is a
 * pipe or a file, cordon-logs removes only escape sequences, and with `--color=always` nothing.
 * Also adds --color-sessions, if the user asked for it and colours are on. */
static void add_bytes(struct strv *argv, const struct args *a)
{
	const char *when = args_str(a, "color");
	bool always = when && strcmp(when, "always") == 0;
	bool never = args_has(a, "no-color") || (when && strcmp(when, "never") == 0);

	if (args_has(a, "raw"))
		strv_add(argv, "--raw");
	else if (isatty(STDOUT_FILENO))
		strv_add(argv, "--terminal");
	else if (always)
		strv_add(argv, "--raw");
	if (args_has(a, "color-sessions") && !never && (always || say_in_colour(STDOUT_FILENO)))
		strv_add(argv, "--color-sessions");
}

static int add_options(struct strv *argv, const struct args *a, struct err *e)
{
	static const char *const same[] = { "follow", "json", "timestamps", "show-id" };
	AUTO_FREE char *text = NULL;

	if (add_time(argv, a, "since", e) < 0 || add_time(argv, a, "until", e) < 0)
		return -1;
	add_sources(argv, a);
	if (args_has(a, "tail")) {
		text = xasprintf("--tail=%llu", (unsigned long long)args_uint(a, "tail", 0));
		strv_add(argv, text);
	}
	if (args_has(a, "id")) {
		free_p(&text);
		text = xasprintf("--id=%llu", (unsigned long long)args_uint(a, "id", 0));
		strv_add(argv, text);
	}
	if (args_has(a, "grep")) {
		free_p(&text);
		text = xasprintf("--grep=%s", args_str(a, "grep"));
		strv_add(argv, text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (args_has(a, same[i])) {
			AUTO_FREE char *flag = xasprintf("--%s", same[i]);

			strv_add(argv, flag);
		}
	if (args_has(a, "color-sessions") && !args_has(a, "show-id"))
		/* show the id of the command too, because a colour alone does not say to which
		 * command a line belongs */
		strv_add(argv, "--show-id");
	add_bytes(argv, a);
	return 0;
}

int cmd_logs(const struct args *a)
{
	AUTO_FREE char *program = NULL;
	AUTO_RECORD r = RECORD_NONE;
	AUTO_HOME home = { .fd = -1 };
	struct strv argv = { 0 };
	struct err e = { 0 };

	strv_add(&argv, "cordon-logs");
	if (add_options(&argv, a, &e) == 0 && home_open(&home, &e) == 0 &&
	    record_load(&home, a->word.v[0], &r, &e) == 0 &&
	    program_ours("cordon-logs", &program, &e) == 0) {
		/* allowed: stays open across exec, because the descriptor is for cordon-logs */
		int fd = r.dir == RECORD_FD ? fcntl(r.dir, F_SETFD, 0) : dup2(r.dir, RECORD_FD);

		if (fd >= 0)
			execv(program, argv.v);
		err_sys(&e, errno, "run '%s'", program);
	}
	strv_done(&argv);
	return say_error(&e);
}
