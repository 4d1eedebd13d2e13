/*
 * The program cordon-image does the work on images. Each command in this file passes its options on
 * and replaces itself by cordon-image (exec).
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/program.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "client/image.h"
#include "client/sandbox.h"

#define PASSWORD_MAX_BYTES (64u << 10) /* the longest password that cordon-image takes */

/* The options that a command passes to cordon-image under the same names. The arrays `flags` and
 * `values` end with NULL. `list` is one option that may be given several times. */
struct handover {
	const char *command;
	const char *const *flags, *const *values;
	const char *list;
};

static void add_options(struct strv *argv, const struct args *a, const struct handover *o)
{
	for (const char *const *f = o->flags; f && *f; f++)
		if (args_has(a, *f)) {
			AUTO_FREE char *word = xasprintf("--%s", *f);

			strv_add(argv, word);
		}
	for (const char *const *v = o->values; v && *v; v++)
		if (args_str(a, *v)) {
			AUTO_FREE char *word = xasprintf("--%s", *v);

			strv_add(argv, word);
			strv_add(argv, args_str(a, *v));
		}
	for (size_t i = 0; o->list && i < args_list(a, o->list)->n; i++) {
		AUTO_FREE char *word = xasprintf("--%s", o->list);

		strv_add(argv, word);
		strv_add(argv, args_list(a, o->list)->v[i]);
	}
}

static void add_words(struct strv *argv, const struct args *a, const char *home,
		      const struct handover *o)
{
	imager_words(argv, o->command, home);
	add_options(argv, a, o);
	strv_add(argv, "--");
	for (size_t i = 0; i < a->word.n; i++)
		strv_add(argv, a->word.v[i]);
}

static int become(const struct args *a, const struct handover *o)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_FREE char *program = NULL;
	struct strv argv = { 0 }, env = { 0 };
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || places_follow(&home, &e) < 0 ||
	    program_ours("cordon-image", &program, &e) < 0)
		return say_error(&e);
	add_words(&argv, a, home.path, o);
	imager_environment(&env);
	execve(program, argv.v, env.v);
	err_sys(&e, errno, "execute '%s'", program);
	strv_done(&argv);
	strv_done(&env);
	return say_error(&e);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Pulls the image in a child process, and waits until the child has ended. */
static int pull_first(const struct args *a, const struct handover *o, char *hint, struct err *e)
{
	AUTO_HOME home = { .fd = -1 };
	struct strv argv = { 0 };
	int r;

	if (home_open(&home, e) < 0 || places_follow(&home, e) < 0)
		return -1;
	add_words(&argv, a, home.path, o);
	r = imager_run(&argv, hint, e);
	strv_done(&argv);
	return r;
}

int cmd_pull(const struct args *a)
{
	const struct handover pull = { .command = "pull",
				       .flags = WORDS("quiet", "force", "insecure"),
				       .values = WORDS("ca-certs") };
	const char *how = args_str(a, "materialize");
	char hint[IMAGER_HINT_BYTES];
	struct err e = { 0 };

	if (!how || strcmp(how, "layered") == 0)
		return become(a, &pull);
	/* pull in a separate process, because a process that uses the network must not mount */
	if (image_check_flat("--materialize", how, &e) < 0 || pull_first(a, &pull, hint, &e) < 0)
		return say_error(&e);
	return become(a, &(struct handover){ .command = "flatten", .flags = WORDS("quiet") });
}

int cmd_load(const struct args *a)
{
	return become(a, &(struct handover){ "load", WORDS("quiet"), WORDS("input"), "tag" });
}

int cmd_save(const struct args *a)
{
	return become(
		a, &(struct handover){ "save", WORDS("quiet"), WORDS("format", "output"), NULL });
}

int cmd_image_list(const struct args *a)
{
	return become(a, &(struct handover){ "list", WORDS("quiet"), WORDS("format"), NULL });
}

int cmd_image_inspect(const struct args *a)
{
	return become(a, &(struct handover){ "inspect", NULL, WORDS("format"), NULL });
}

int cmd_image_remove(const struct args *a)
{
	return become(a, &(struct handover){ "remove", WORDS("quiet", "force"), NULL, NULL });
}

int cmd_image_prune(const struct args *a)
{
	return become(a,
		      &(struct handover){ "prune", WORDS("quiet", "yes"), WORDS("format"), NULL });
}

/* Asks for a password and makes it our standard input, from which cordon-image reads it. The
 * password is in a memfd, so no directory shows it. */
static int ask_password(struct err *e)
{
	AUTO_BUF password = BUF_SECRET(PASSWORD_MAX_BYTES);
	AUTO_FD fd = memfd_create("password", MFD_CLOEXEC);
	int r;

	if (console_ask_secret("Password: ", &password, e) < 0)
		return err_hint(e, "give it with --password-stdin");
	r = buf_failed(&password) ? -EFBIG : io_write_all(fd, buf_str(&password), password.n);
	if (r < 0)
		return err_sys(e, -r, "keep the password");
	if (lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
		return err_sys(e, errno, "pass the password on");
	return 0;
}

int cmd_registry_login(const struct args *a)
{
	struct err e = { 0 };

	if (!args_has(a, "password-stdin") && ask_password(&e) < 0)
		return say_error(&e);
	return become(a, &(struct handover){ "login", WORDS("insecure", "no-check"),
					     WORDS("username", "ca-certs"), NULL });
}

int cmd_registry_logout(const struct args *a)
{
	return become(a, &(struct handover){ "logout", NULL, NULL, NULL });
}

int cmd_registry_list(const struct args *a)
{
	return become(a, &(struct handover){ "registries", NULL, NULL, NULL });
}
