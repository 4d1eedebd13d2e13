#include "client/imager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/program.h"
#include "base/spawn.h"
#include "base/str.h"

#define CALL_BACK "MSB_PATH" /* credential helpers find our program by this variable */
#define REPORT_MAX_BYTES 8192u
#define REPORT_FD_NUMBER 3
#define REPORT_FD "3"

extern char **environ;

void imager_words(struct strv *argv, const char *command, const char *home)
{
	strv_add(argv, "cordon-image");
	strv_add(argv, command);
	strv_add(argv, "--home");
	strv_add(argv, home);
}

/* Returns the path of the program that credential helpers call. If cordon is installed, this is
 * PREFIX/bin/msb, a link to a program in PREFIX/libexec/cordon. If there is no such link, the
 * result is the path of our program `cordon`. Returns NULL if `cordon` is missing. */
static char *callable(void)
{
	AUTO_FREE char *own = NULL;
	AUTO_FREE char *up = NULL;
	AUTO_FREE char *bin = NULL;
	AUTO_FREE char *msb = NULL;
	struct err ignored;

	if (program_ours("cordon", &own, &ignored) < 0)
		return NULL;
	up = xasprintf("%.*s/../../bin", (int)(strrchr(own, '/') - own), own);
	bin = realpath(up, NULL);
	msb = bin ? xasprintf("%s/msb", bin) : NULL;
	return msb && access(msb, X_OK) == 0 ? TAKE(msb) : TAKE(own);
}

void imager_environment(struct strv *ret)
{
	const char *given = getenv(CALL_BACK);
	AUTO_FREE char *path = given && *given ? NULL : callable();
	AUTO_FREE char *variable = path ? xasprintf(CALL_BACK "=%s", path) : NULL;

	for (char **v = environ; *v; v++)
		if (!variable || !starts_with(*v, CALL_BACK "="))
			strv_add(ret, *v);
	if (variable)
		strv_add(ret, variable);
}

/* Reads the error that cordon-image wrote to the pipe FD as a JSON object, and fills E with it.
 * Always returns -1. */
static int read_report(int fd, char hint[IMAGER_HINT_BYTES], struct err *e)
{
	AUTO_BUF text = BUF_INIT(REPORT_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct err bad;
	const char *said;
	int64_t code;

	if (io_read_to_end(fd, &text) < 0 || json_parse(buf_str(&text), text.n, &doc, &bad) < 0)
		return err_set(e, ERR_SYSTEM, "cordon-image ended without saying why");
	code = json_get_int(json_root(doc), "code", ERR_SYSTEM);
	err_set(e, code > ERR_NONE && code < ERR_CODE_COUNT ? (enum err_code)code : ERR_SYSTEM,
		"%s", json_get_str(json_root(doc), "error", "pull failed"));
	said = json_get_str(json_root(doc), "hint", NULL);
	if (said) {
		snprintf(hint, IMAGER_HINT_BYTES, "%s", said);
		e->hint = hint;
	}
	return -1;
}

/* Adds the words of ARGV to TO, and the option --report-fd, which names the pipe for errors. The
 * option comes directly after the command, which is the second word of ARGV, because a later "--"
 * in ARGV ends the options. */
static void add_report(struct strv *to, const struct strv *argv)
{
	for (size_t i = 0; i < argv->n; i++) {
		strv_add(to, argv->v[i]);
		if (i == 1) {
			strv_add(to, "--report-fd");
			strv_add(to, REPORT_FD);
		}
	}
}

static int run(const char *program, const struct strv *argv, char hint[IMAGER_HINT_BYTES],
	       struct err *e)
{
	struct strv env = { 0 };
	struct spawn s = { .path = program, .argv = (const char *const *)argv->v, .cwd_fd = -1 };
	struct child child;
	AUTO_FD from = -1;
	AUTO_FD to = -1;
	int fds[2], status = 0, r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, errno, "make a pipe");
	from = fds[0];
	to = fds[1];
	s.fd[s.n_fds++] = (struct spawn_fd){ to, REPORT_FD_NUMBER };
	imager_environment(&env);
	s.envp = (const char *const *)env.v;
	r = spawn(&s, &child, e);
	strv_done(&env);
	if (r < 0)
		return -1;
	fd_closep(&to);
	r = child_wait(&child, &status);
	if (r < 0)
		return err_sys(e, -r, "wait for cordon-image");
	return status == 0 ? 0 : read_report(from, hint, e);
}

int imager_run(const struct strv *argv, char hint[IMAGER_HINT_BYTES], struct err *e)
{
	AUTO_FREE char *program = NULL;
	struct strv all = { 0 };
	int r;

	if (program_ours("cordon-image", &program, e) < 0)
		return -1;
	log_line(LOG_INFO, "%s '%s' by '%s'", argv->v[1], argv->v[argv->n - 1], program);
	add_report(&all, argv);
	r = run(program, &all, hint, e);
	strv_done(&all);
	return r;
}
