#include "store/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static bool take_flag(struct options *o, const char *word)
{
	const struct {
		const char *name;
		bool *to;
	} flags[] = {
		{ "--force", &o->force },       { "--insecure", &o->insecure },
		{ "--quiet", &o->quiet },       { "--update", &o->update },
		{ "--yes", &o->yes },           { "--no-check", &o->no_check },
		{ "--dangling", &o->dangling },
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
		{ "--owner", &o->owner },
	};

	if (!value)
		return false;
	if (strcmp(word, "--tag") == 0 && o->n_tags < OPTIONS_TAGS_MAX) {
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

int options_parse(int argc, char **argv, struct options *o, struct err *e)
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

void options_done(struct options *o)
{
	free(o->arg);
	o->arg = NULL;
}

int options_want_json(const struct options *o, bool *ret, struct err *e)
{
	if (o->format && strcmp(o->format, "json") != 0)
		return err_set(e, ERR_USAGE, "--format: '%s' is not json", o->format);
	*ret = o->format != NULL;
	return 0;
}

int options_open_home(const struct options *o, int *ret_fd, struct err *e)
{
	int fd = open(o->home, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, errno, "open the state directory '%s'", o->home);
	*ret_fd = fd;
	return 0;
}
