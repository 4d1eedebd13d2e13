/*
 * cordon-image pulls, loads, saves and manages images, and stores the logins of registries. Only
 * our own programs start this program, for example `cordon` after it has checked the user's command
 * line. So the command line of this program is small and strict.
 */
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/confine.h"
#include "base/io.h"
#include "base/json.h"
#include "base/say.h"
#include "base/str.h"
#include "registry/commands.h"
#include "store/commands.h"
#include "store/worker.h"

/* If root runs this program, drops all capabilities except those that set owners and modes of files
 * in layers and, if MOUNTS is true, CAP_SYS_ADMIN. The workers inherit what is left. If an ordinary
 * user runs this program, does nothing: there are no capabilities to drop, and
 * confine_capabilities() would set no_new_privs, but the workers need the set-user-id program
 * newuidmap. Returns 0 or -1. */
static int drop_capabilities(bool mounts, struct err *e)
{
	uint64_t keep = CONFINE_CAP(CAP_CHOWN) | CONFINE_CAP(CAP_DAC_OVERRIDE) |
			CONFINE_CAP(CAP_FOWNER) | CONFINE_CAP(CAP_FSETID) |
			CONFINE_CAP(CAP_SETFCAP);

	if (mounts)
		keep |= CONFINE_CAP(CAP_SYS_ADMIN);
	return geteuid() != 0 ? 0 : confine_capabilities(keep, e);
}

/* Returns true for the command `flatten`, which mounts a disk that it has just made, and uses no
 * network. */
static bool is_flatten(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "flatten") == 0;
}

static const struct {
	const char *name;
	size_t min_args, max_args;
	int (*run)(const struct options *o, struct err *e);
} commands[] = {
	// clang-format off
	{ "pull",       1, 1,        run_pull },
	{ "flatten",    1, 1,        run_flatten },
	{ "own",        1, 1,        run_own },
	{ "load",       0, 0,        run_load },
	{ "save",       1, SIZE_MAX, run_save },
	{ "list",       0, 0,        run_list },
	{ "inspect",    1, 1,        run_inspect },
	{ "remove",     1, SIZE_MAX, run_remove },
	{ "prune",      0, 0,        run_prune },
	{ "login",      1, 1,        run_login },
	{ "logout",     1, 1,        run_logout },
	{ "registries", 0, 0,        run_registries },
	// clang-format on
};

static int dispatch(const struct options *all, struct err *e)
{
	const char *name = all->arg[0];
	struct options o = *all;

	o.arg++;
	o.n_args--;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(name, commands[i].name) != 0)
			continue;
		if (o.n_args < commands[i].min_args || o.n_args > commands[i].max_args)
			return err_set(e, ERR_USAGE, "cordon-image %s: wrong number of arguments",
				       name);
		return commands[i].run(&o, e);
	}
	return err_set(e, ERR_USAGE, "cordon-image: no command '%s'", name);
}

/* Returns the descriptor of the pipe on which the caller (`cordon`, for example) waits for the
 * error report, or -1. */
static int report_fd(const struct options *o)
{
	uint64_t fd;

	return o->report_fd && parse_u64(o->report_fd, 0, INT_MAX, &fd) == 0 ? (int)fd : -1;
}

/* Makes this process end when the caller is killed, because then nobody needs the image. */
static void end_with_caller(const struct options *o)
{
	struct pollfd p = { .fd = report_fd(o) };

	if (p.fd < 0)
		return;
	IGNORE(prctl(PR_SET_PDEATHSIG, SIGTERM)); /* cannot fail */
	if (poll(&p, 1, 0) > 0 && p.revents & POLLERR)
		exit(1); /* the caller died before prctl() */
}

/* Sends the error to the caller, which shows the error to the user and may add to the text. If no
 * caller waits for the report, or if it cannot be sent, prints the error. Returns the exit status
 * of this process. */
static int report(const struct options *o, const struct err *e)
{
	AUTO_BUF text = BUF_INIT(8192);
	struct json_writer w;
	int fd = report_fd(o);

	if (fd < 0)
		return say_error(e);
	json_writer_init(&w, &text, 0);
	json_begin_object(&w);
	json_key_int(&w, "code", e->code);
	json_key_str(&w, "error", e->msg);
	if (e->hint)
		json_key_str(&w, "hint", e->hint);
	json_end_object(&w);
	if (io_write_all(fd, buf_str(&text), text.n) < 0)
		return say_error(e);
	return err_exit_status(e->code);
}

static int command_main(int argc, char **argv)
{
	struct err e = { .code = ERR_NONE };
	struct options o = { 0 };
	int r = 0;

	signal(SIGPIPE, SIG_IGN); /* if the reader is gone, write() must fail and not kill us */
	r = options_parse(argc, argv, &o, &e);
	say_set_quiet(o.quiet);
	/* our messages quote texts of archives and registries, and such a text must not start a
	 * new line */
	say_set_plain();
	end_with_caller(&o);
	if (r < 0 || dispatch(&o, &e) < 0)
		r = e.code == ERR_NONE ? 1 : report(&o, &e);
	options_done(&o);
	return r;
}

int main(int argc, char **argv)
{
	struct err e;

	if (argc >= 3 && strcmp(argv[1], "--worker") == 0)
		return worker_main(argc - 2, argv + 2);
	if (drop_capabilities(is_flatten(argc, argv), &e) < 0)
		return say_error(&e);
	return command_main(argc, argv);
}
