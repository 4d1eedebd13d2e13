#include "pull/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "pull/depot.h"
#include "pull/load.h"
#include "pull/pull.h"
#include "pull/say.h"
#include "pull/settings.h"

#define TAGS_MAX 64 /* of one `load` */

struct options {
	const char *home;
	bool quiet, force, update, insecure;
	const char *input, *ca_certs;
	const char *tag[TAGS_MAX];
	size_t n_tags;
	char **arg; /* what is no option; NULL-terminated */
	size_t n_args;
};

/* --- commands ------------------------------------------------------------------------------- */

static bool loading_quietly;
static uint64_t loading_since_ns;

static void report_loaded(const char *reference)
{
	if (!loading_quietly)
		say_done("Loaded", reference, NULL, clock_mono_ns() - loading_since_ns);
}

static int run_load(const struct options *o, struct err *e)
{
	struct load_options lo = { .fd = STDIN_FILENO, .tags = o->tag, .n_tags = o->n_tags };
	AUTO_FD input = -1;
	struct depot d;
	int r;

	if (o->input) {
		input = open(o->input, O_RDONLY | O_CLOEXEC);
		if (input < 0)
			return err_sys(e, errno, "open '%s'", o->input);
		lo.fd = input;
	}
	loading_quietly = o->quiet;
	loading_since_ns = clock_mono_ns();
	if (depot_open(o->home, DEPOT_SHARED, &d, e) < 0)
		return -1;
	r = load_archive(&d, &lo, report_loaded, e);
	depot_done(&d);
	if (r < 0 && o->input)
		err_wrap(e, "load '%s'", o->input);
	return r;
}

static int pull_one(const struct options *o, const struct depot *d, bool *ret_cached, struct err *e)
{
	const struct pull_options po = {
		.registry = { .insecure = o->insecure, .ca_certs = o->ca_certs },
		.update = o->update,
		.verify = o->force,
		.quiet = o->quiet,
	};
	struct settings s;
	int r;

	if (o->ca_certs && access(o->ca_certs, R_OK) < 0)
		return err_sys(e, errno, "--ca-certs: read '%s'", o->ca_certs);
	if (settings_read(d->home_fd, &s, e) < 0)
		return -1;
	r = pull_image(d, &s, o->arg[0], &po, ret_cached, e);
	settings_done(&s);
	return r;
}

static int run_pull(const struct options *o, struct err *e)
{
	uint64_t since_ns = clock_mono_ns();
	bool cached = false;
	struct depot d;
	int r;

	if (depot_open(o->home, DEPOT_SHARED, &d, e) < 0)
		return -1;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	r = pull_one(o, &d, &cached, e);
	curl_global_cleanup();
	depot_done(&d);
	if (r < 0)
		say_failed("Pulling", o->arg[0]);
	else if (!o->quiet)
		say_done("Pulled", o->arg[0], cached ? "already cached" : NULL,
			 clock_mono_ns() - since_ns);
	return r;
}

static const struct command {
	const char *name;
	size_t min_args, max_args;
	int (*run)(const struct options *o, struct err *e);
} commands[] = {
	{ "load", 0, 0, run_load },
	{ "pull", 1, 1, run_pull },
};

/* --- options -------------------------------------------------------------------------------- */

static bool take_flag(struct options *o, const char *word)
{
	const struct {
		const char *name;
		bool *to;
	} flags[] = {
		{ "--force", &o->force },
		{ "--insecure", &o->insecure },
		{ "--quiet", &o->quiet },
		{ "--update", &o->update },
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
		{ "--ca-certs", &o->ca_certs },
		{ "--home", &o->home },
		{ "--input", &o->input },
		{ "--tag", &o->tag[o->n_tags % TAGS_MAX] },
	};

	for (size_t i = 0; value && i < ARRAY_SIZE(values); i++)
		if (strcmp(word, values[i].name) == 0) {
			*values[i].to = value;
			o->n_tags += values[i].to == &o->tag[o->n_tags % TAGS_MAX];
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
		if (o->n_tags > TAGS_MAX)
			return err_set(e, ERR_USAGE, "more than %d tags", TAGS_MAX);
	}
	if (!o->home)
		return err_set(e, ERR_USAGE, "cordon-image: --home is missing");
	if (o->n_args == 0)
		return err_set(e, ERR_USAGE, "cordon-image: no command");
	return 0;
}

static int dispatch(struct options *o, struct err *e)
{
	const char *name = o->arg[0];

	o->arg++;
	o->n_args--;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(name, commands[i].name) != 0)
			continue;
		if (o->n_args < commands[i].min_args || o->n_args > commands[i].max_args)
			return err_set(e, ERR_USAGE, "cordon-image %s: wrong number of arguments",
				       name);
		return commands[i].run(o, e);
	}
	return err_set(e, ERR_USAGE, "cordon-image: no command '%s'", name);
}

int command_main(int argc, char **argv)
{
	struct options o = { 0 };
	struct err e;

	signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of write() */
	if (parse(argc, argv, &o, &e) < 0 || dispatch(&o, &e) < 0)
		return say_error(&e);
	return 0;
}
