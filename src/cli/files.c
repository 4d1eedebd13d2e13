#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/program.h"
#include "base/spawn.h"
#include "client/sandbox.h"
#include "spec/config.h"

#define JSON_MAX_BYTES (8u << 20) /* the most bytes of JSON that we take from cordon-yaml */
#define COMPLAINT_MAX_BYTES 4096u /* the most bytes of an error message of cordon-yaml */

/* --- YAML ------------------------------------------------------------------------------------ */

static int not_converted(const char *path, struct buf *said, struct err *e)
{
	static const char prefix[] = "error: ";
	const char *text = buf_str(said);

	if (starts_with(text, prefix))
		text += strlen(prefix);
	if (!*text)
		text = "not understood";
	/* a message about a line begins with the line number, so it needs no space in front */
	return err_set(e, ERR_INVALID, "%s:%s%.*s", path, *text >= '0' && *text <= '9' ? "" : " ",
		       (int)strcspn(text, "\n"), text);
}

/* Runs the YAML parser cordon-yaml, a separate program, so that this program links no parser. OUT
 * gets the JSON, and SAID gets the error message. */
static int run_converter(const char *program, int in, struct buf *out, struct buf *said,
			 int *ret_status, struct err *e)
{
	const char *argv[] = { "cordon-yaml", NULL };
	int result[2] = { -1, -1 }, errors[2] = { -1, -1 };
	struct child c;
	int r = -1;

	if (pipe2(result, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0) {
		err_sys(e, errno, "make a pipe");
	} else {
		struct spawn s = {
			.path = program,
			.argv = argv,
			.fd = { { in, 0 }, { result[1], 1 }, { errors[1], 2 } },
			.n_fds = 3,
			.cwd_fd = -1,
		};

		r = spawn(&s, &c, e);
	}
	fd_closep(&result[1]);
	fd_closep(&errors[1]);
	if (r == 0) {
		/* an error message is one line and fits into its pipe, so we can read one pipe
		 * after the other */
		if (io_read_to_end(result[0], out) < 0 || io_read_to_end(errors[0], said) < 0)
			r = err_set(e, ERR_LIMIT, "the file is too large");
		fd_closep(&result[0]);
		fd_closep(&errors[0]);
		if (child_wait(&c, ret_status) < 0 && r == 0)
			r = err_sys(e, errno, "wait for 'cordon-yaml'");
	}
	fd_closep(&result[0]);
	fd_closep(&errors[0]);
	return r;
}

int files_convert(int in, const char *path, struct json_doc **ret, struct err *e)
{
	AUTO_BUF out = BUF_INIT(JSON_MAX_BYTES), said = BUF_INIT(COMPLAINT_MAX_BYTES);
	AUTO_FREE char *program = NULL;
	int status = 0;

	log_line(LOG_DEBUG, "read '%s'", path);
	if (program_ours("cordon-yaml", &program, e) < 0 ||
	    run_converter(program, in, &out, &said, &status, e) < 0)
		return err_wrap(e, "%s", path);
	if (status != 0)
		return not_converted(path, &said, e);
	return json_parse(buf_str(&out), out.n, ret, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

static int load_yaml(void *arg, const char *path, struct json_doc **ret, struct err *e)
{
	AUTO_FD in = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return in < 0 ? err_sys(e, errno, "read '%s'", path) : files_convert(in, path, ret, e);
}

static int add_conf_files(const struct args *a, struct conf *c, struct err *e)
{
	static const struct {
		const char *option;
		enum conf_scope scope;
	} kinds[] = {
		{ "conf", CONF_ROOT },
		{ "net-conf", CONF_NET },
		{ "resource-conf", CONF_RESOURCE },
		{ "runtime-conf", CONF_RUNTIME },
		{ "fs-conf", CONF_FS },
		{ "secret-conf", CONF_SECRET },
		{ "script-conf", CONF_SCRIPT },
	};
	const struct conf_loader loader = { .load = load_yaml };
	const char *option, *path;
	size_t at = 0;

	while ((path = args_next_value(a, &at, &option)))
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			if (strcmp(kinds[k].option, option) == 0 &&
			    conf_add(c, kinds[k].scope, path, &loader, e) < 0)
				return err_wrap(e, "--%s", option);
	return 0;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int apply_config(const struct home *h, struct spec *s, struct err *e)
{
	struct config c;
	int r = config_load(h->path, &c, e);

	if (r == 0)
		r = places_apply(h, &c, e);
	if (r == 0) {
		config_apply(&c, s);
		s->shell_fallback = c.shell_fallback;
	}
	config_done(&c);
	return r;
}

int files_apply(const struct args *a, const struct home *h, struct spec *s, struct conf_extra *x,
		struct err *e)
{
	struct conf c = { 0 };
	int r;

	if (apply_config(h, s, e) < 0)
		return -1;
	r = add_conf_files(a, &c, e);
	if (r == 0)
		r = conf_apply(&c, args_str(a, "shell"), s, x, e);
	conf_done(&c);
	return r;
}
