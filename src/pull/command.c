#include "pull/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "pull/say.h"

static const struct {
	const char *name;
	size_t min_args, max_args;
	int (*run)(const struct options *o, struct err *e);
} commands[] = {
	// clang-format off
	{ "pull",       1, 1,        run_pull },
	{ "flatten",    1, 1,        run_flatten },
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

static bool take_flag(struct options *o, const char *word)
{
	const struct {
		const char *name;
		bool *to;
	} flags[] = {
		{ "--force", &o->force },   { "--insecure", &o->insecure },
		{ "--quiet", &o->quiet },   { "--password-stdin", &o->password_stdin },
		{ "--update", &o->update }, { "--yes", &o->yes },
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (strcmp(word, flags[i].name) == 0)
			return *flags[i].to = true;
	return false;
}

static bool take_value(struct options *o, const char *word, const char *value)
{
	const struct {
		const char *name;
		const char **to;
	} values[] = {
		{ "--ca-certs", &o->ca_certs },   { "--format", &o->format },
		{ "--home", &o->home },           { "--input", &o->input },
		{ "--output", &o->output },       { "--username", &o->username },
		{ "--report-fd", &o->report_fd }, { "--password-env", &o->password_env },
	};

	if (!value)
		return false;
	if (strcmp(word, "--tag") == 0 && o->n_tags < COMMAND_TAGS_MAX) {
		o->tag[o->n_tags++] = value;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (strcmp(word, values[i].name) == 0) {
			*values[i].to = value;
			return true;
		}
	return false;
}

static int parse(int argc, char **argv, struct options *o, struct err *e)
{
	bool ended = false;

	o->arg = xcalloc((size_t)argc + 1, sizeof(*o->arg));
	for (int i = 1; i < argc; i++) {
		if (ended || argv[i][0] != '-')
			o->arg[o->n_args++] = argv[i];
		else if (strcmp(argv[i], "--") == 0)
			ended = true;
		else if (take_value(o, argv[i], argv[i + 1]))
			i++;
		else if (!take_flag(o, argv[i]))
			return err_set(e, ERR_USAGE, "cordon-image: bad option '%s'", argv[i]);
	}
	if (!o->home)
		return err_set(e, ERR_USAGE, "cordon-image: --home is missing");
	if (o->n_args == 0)
		return err_set(e, ERR_USAGE, "cordon-image: no command");
	return 0;
}

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

int command_wants_json(const struct options *o, bool *ret, struct err *e)
{
	if (o->format && strcmp(o->format, "json") != 0)
		return err_set(e, ERR_USAGE, "--format: '%s' is not json", o->format);
	*ret = o->format != NULL;
	return 0;
}

int command_open_home(const struct options *o, int *ret_fd, struct err *e)
{
	int fd = open(o->home, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, errno, "open the state directory '%s'", o->home);
	*ret_fd = fd;
	return 0;
}

/* Whoever waits for our report, or -1. */
static int report_fd(const struct options *o)
{
	uint64_t fd;

	return o->report_fd && parse_u64(o->report_fd, 0, INT_MAX, &fd) == 0 ? (int)fd : -1;
}

/* What is fetched for a command that is killed meanwhile is for nobody. */
static void end_with_caller(const struct options *o)
{
	struct pollfd p = { .fd = report_fd(o) };

	if (p.fd < 0)
		return;
	IGNORE(prctl(PR_SET_PDEATHSIG, SIGTERM)); /* cannot fail */
	if (poll(&p, 1, 0) > 0 && p.revents & POLLERR)
		exit(1); /* it was faster */
}

/* The caller shows it, with what only it knows. */
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

int command_main(int argc, char **argv)
{
	struct err e = { .code = ERR_NONE };
	struct options o = { 0 };
	int r = 0;

	signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of write() */
	r = parse(argc, argv, &o, &e);
	end_with_caller(&o);
	if (r < 0 || dispatch(&o, &e) < 0)
		r = e.code == ERR_NONE ? 1 : report(&o, &e);
	free(o.arg);
	return r;
}
