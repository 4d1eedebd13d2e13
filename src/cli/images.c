/*
 * The program cordon-image does the work on images: the commands below pass their options to it and
 * execute it in their place. Only what `create` needs on its hot path is read here, straight from
 * the store.
 */
#include "cli/images.h"

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
#include "cli/commands.h"
#include "cli/ui.h"
#include "client/sandbox.h"
#include "host/idmap.h"
#include "image/store.h"
#include "spec/grammar.h"

#define DEFAULT_TMP_MAX_MIB 512u /* a quarter of the memory, at most this */

#define REPORT_MAX_BYTES 8192u
#define REPORT_FD_NUMBER 3
#define REPORT_FD "3"

extern char **environ;

/* --- commands that become cordon-image ------------------------------------------------------- */

/* Options go over under their own names. Lists end in NULL. */
struct handover {
	const char *command;
	const char *const *flags, *const *values;
	const char *list;
	const char *report_fd; /* where errors go, or NULL: to stderr */
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
	strv_add(argv, "cordon-image");
	strv_add(argv, o->command);
	strv_add(argv, "--home");
	strv_add(argv, home);
	add_options(argv, a, o);
	if (o->report_fd) {
		strv_add(argv, "--report-fd");
		strv_add(argv, o->report_fd);
	}
	strv_add(argv, "--");
	for (size_t i = 0; i < a->word.n; i++)
		strv_add(argv, a->word.v[i]);
}

/* cordon-image draws its own progress. Its error comes back as a JSON object on a descriptor. */
static int read_report(int fd, struct err *e)
{
	static char hint[256]; /* err.hint must outlive us; a command fails once */
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
		snprintf(hint, sizeof(hint), "%s", said);
		e->hint = hint;
	}
	return -1;
}

/* Sets MSB_PATH for programs that call us back: credential helpers, and what they start. A value that the
 * caller has set stays. Sandboxes do not get the variable. */
static void tell_children(void)
{
	const char *given = getenv("MSB_PATH");
	AUTO_FREE char *own = NULL;
	AUTO_FREE char *bin = NULL;
	AUTO_FREE char *msb = NULL;
	struct err ignored;

	if ((given && *given) || program_ours("cordon", &own, &ignored) < 0)
		return;
	/* as installed: the link 'msb' is in PREFIX/bin, the programs are in PREFIX/libexec/cordon */
	msb = xasprintf("%.*s/../../bin", (int)(strrchr(own, '/') - own), own);
	bin = realpath(msb, NULL);
	free_p(&msb);
	msb = bin ? xasprintf("%s/msb", bin) : NULL;
	/* without the variable, such a program looks in PATH */
	IGNORE(setenv("MSB_PATH", msb && access(msb, X_OK) == 0 ? msb : own, 1));
}

static int run_image(const char *program, const struct strv *argv, struct err *e)
{
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
	tell_children();
	s.envp = (const char *const *)environ; /* which that may have moved */
	if (spawn(&s, &child, e) < 0)
		return -1;
	fd_closep(&to);
	r = child_wait(&child, &status);
	if (r < 0)
		return err_sys(e, -r, "wait for cordon-image");
	return status == 0 ? 0 : read_report(from, e);
}

static int become(const struct args *a, const struct handover *o)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_FREE char *program = NULL;
	struct strv argv = { 0 };
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || places_follow(&home, &e) < 0 ||
	    program_ours("cordon-image", &program, &e) < 0)
		return ui_error(&e);
	tell_children();
	add_words(&argv, a, home.path, o);
	execve(program, argv.v, environ);
	err_sys(&e, errno, "execute '%s'", program);
	strv_done(&argv);
	return ui_error(&e);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

bool images_flat_usable(void)
{
	return geteuid() == 0 && idmap_is_whole();
}

int images_check_flat(const char *flag, const char *value, struct err *e)
{
	if (images_flat_usable())
		return 0;
	err_set(e, ERR_UNSUPPORTED, "%s %s: a disk cannot be mounted without root%s", flag, value,
		geteuid() == 0 ? " of the machine" : "");
	return err_hint(e, "leave it out: the layers of an image can be used by everybody; or run "
			   "cordon as root");
}

/* Pulls in a child process and returns. */
static int pull_first(const struct args *a, struct handover o, struct err *e)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_FREE char *program = NULL;
	struct strv argv = { 0 };
	int r;

	if (home_open(&home, e) < 0 || places_follow(&home, e) < 0 ||
	    program_ours("cordon-image", &program, e) < 0)
		return -1;
	o.report_fd = REPORT_FD;
	add_words(&argv, a, home.path, &o);
	r = run_image(program, &argv, e);
	strv_done(&argv);
	return r;
}

int cmd_pull(const struct args *a)
{
	const struct handover pull = { .command = "pull",
				       .flags = WORDS("quiet", "force", "insecure"),
				       .values = WORDS("ca-certs") };
	const char *how = args_str(a, "materialize");
	struct err e = { 0 };

	if (!how || strcmp(how, "layered") == 0)
		return become(a, &pull);
	/* two programs, since what speaks to a network may not mount */
	if (images_check_flat("--materialize", how, &e) < 0 || pull_first(a, pull, &e) < 0)
		return ui_error(&e);
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

int cmd_registry_login(const struct args *a)
{
	return become(
		a, &(struct handover){ "login", WORDS("password-stdin"), WORDS("username"), NULL });
}

int cmd_registry_logout(const struct args *a)
{
	return become(a, &(struct handover){ "logout", NULL, NULL, NULL });
}

int cmd_registry_list(const struct args *a)
{
	return become(a, &(struct handover){ "registries", NULL, NULL, NULL });
}

/* --- what create needs ----------------------------------------------------------------------- */

/* What of it a file said. */
static void add_login(struct strv *argv, const struct conf_extra *x)
{
	if (!x->registry_username)
		return;
	strv_add(argv, "--username");
	strv_add(argv, x->registry_username);
	strv_add(argv, "--password-env");
	strv_add(argv, x->registry_password_env);
}

static int pull(const struct args *a, const struct home *h, const struct conf_extra *x,
		const char *reference, bool update, struct err *e)
{
	const char *const head[] = { "cordon-image", "pull",        "--home",
				     h->path,        "--report-fd", REPORT_FD };
	AUTO_FREE char *program = NULL;
	struct strv argv = { 0 };
	int r;

	if (program_ours("cordon-image", &program, e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		strv_add(&argv, head[i]);
	if (args_has(a, "quiet"))
		strv_add(&argv, "--quiet");
	if (update)
		strv_add(&argv, "--update");
	add_login(&argv, x);
	strv_add(&argv, "--");
	strv_add(&argv, reference);
	log_line(LOG_INFO, "pull '%s' by '%s'", reference, program);
	r = run_image(program, &argv, e);
	strv_done(&argv);
	return r;
}

static void copy_strings(struct strv *to, const struct image_strings *from)
{
	strv_done(to);
	for (size_t i = 0; i < from->n; i++)
		strv_add(to, from->v[i]);
}

/* A working directory or a volume is a path in the image, whatever it was written like. */
static char *guest_path(const char *s)
{
	AUTO_FREE char *absolute = s[0] == '/' ? xstrdup(s) : xasprintf("/%s", s);

	return path_normalise(absolute);
}

/* True if the command line set this label: the image's label does not replace it. */
static bool has_label(const struct spec *s, const char *key)
{
	for (size_t i = 0; i < s->n_labels; i++)
		if (strcmp(s->label[i].key, key) == 0)
			return true;
	return false;
}

/* Gives registry images a /tmp in memory unless something else is mounted there. */
static int add_default_tmp(struct spec *s, struct err *e)
{
	uint64_t size =
		s->memory_mib / 4 < DEFAULT_TMP_MAX_MIB ? s->memory_mib / 4 : DEFAULT_TMP_MAX_MIB;
	AUTO_FREE char *value = xasprintf("/tmp:%lluM", (unsigned long long)(size ? size : 1));

	for (size_t i = 0; i < s->n_mounts; i++)
		if (strcmp(s->mount[i].guest, "/tmp") == 0)
			return 0;
	return spec_add_tmpfs(s, value, e);
}

/* An image's volume is kept in the sandbox's own layer. Its directory must exist, and image
 * builders do not always make it. */
static int add_volumes(struct spec *s, const struct image_config *c, struct err *e)
{
	for (size_t i = 0; i < c->volumes.n; i++) {
		AUTO_FREE char *path = guest_path(c->volumes.v[i]);

		if (path && strcmp(path, "/") == 0)
			continue;
		if (!path || spec_add_patch(s, "--mkdir", path, e) < 0)
			return err_set(e, ERR_INVALID, "volume of image '%s': bad path '%.200s'",
				       s->image.reference, c->volumes.v[i]);
	}
	return 0;
}

static int apply_config(struct spec *s, const struct image_config *c, struct err *e)
{
	if (!s->user && c->user) {
		if (parse_user(c->user, e) < 0)
			return err_wrap(e, "USER of image '%s'", s->image.reference);
		s->user = xstrdup(c->user);
	}
	if (!s->workdir && c->working_dir)
		s->workdir = guest_path(c->working_dir);
	if (!s->has_entrypoint) {
		copy_strings(&s->entrypoint, &c->entrypoint);
		s->has_entrypoint = c->entrypoint.n > 0;
	}
	if (!s->cmd.n)
		copy_strings(&s->cmd, &c->cmd);
	if (!s->stop_signal && c->stop_signal) {
		if (signal_number(c->stop_signal) < 0)
			return err_set(e, ERR_INVALID, "stop signal of image '%s': no signal '%s'",
				       s->image.reference, c->stop_signal);
		s->stop_signal = xstrdup(c->stop_signal);
	}
	copy_strings(&s->image_env, &c->env);
	for (size_t i = 0; i < c->n_labels; i++)
		if (!has_label(s, c->label[i].key))
			spec_set_env(&s->label, &s->n_labels, c->label[i].key,
				     strlen(c->label[i].key), c->label[i].value);
	return add_volumes(s, c, e) < 0 ? -1 : add_default_tmp(s, e);
}

static int find(const struct args *a, const struct home *h, const struct conf_extra *x,
		const struct spec *s, struct image_record *ret, struct err *e)
{
	const char *reference = s->image.reference;

	if (s->pull == PULL_ALWAYS && pull(a, h, x, reference, true, e) < 0)
		return -1;
	if (image_store_find(h->fd, reference, ret, e) == 0)
		return 0;
	if (e->code != ERR_NOT_FOUND || s->pull == PULL_ALWAYS)
		return -1;
	if (s->pull == PULL_NEVER)
		return err_set(e, ERR_NOT_FOUND, "image error: image not cached: %s", reference);
	if (pull(a, h, x, reference, false, e) < 0)
		return -1;
	return image_store_find(h->fd, reference, ret, e);
}

/* Made when it is missing. A sandbox that did not say how large its disk shall be gets one as large as
 * that. */
static int find_flat(const struct home *h, const struct image_record *r, struct spec *s,
		     struct err *e)
{
	const char *const head[] = { "cordon-image", "flatten", "--home", h->path,     "--quiet",
				     "--report-fd",  REPORT_FD, "--",     r->reference };
	struct spec_root_disk *d = &s->image.root_disk;
	AUTO_FREE char *program = NULL;
	struct strv argv = { 0 };
	uint64_t mib = 0;
	int rc = 0;

	if (image_store_flat(h->fd, r, &mib) == 0) {
		if (program_ours("cordon-image", &program, e) < 0)
			return -1;
		for (size_t i = 0; i < ARRAY_SIZE(head); i++)
			strv_add(&argv, head[i]);
		log_line(LOG_INFO, "flatten '%s' by '%s'", r->reference, program);
		rc = run_image(program, &argv, e);
		strv_done(&argv);
	}
	if (rc == 0 && image_store_flat(h->fd, r, &mib) == 0)
		rc = err_set(e, ERR_NOT_FOUND, "image '%s' was removed meanwhile", r->reference);
	if (rc < 0)
		return err_wrap(e, "--root-disk flat");
	if (!d->size_mib)
		d->size_mib = mib;
	return 0;
}

int images_resolve(const struct args *a, const struct home *h, const struct conf_extra *x,
		   struct spec *s, struct err *e)
{
	struct image_record r;
	struct image_config c;
	int result;

	if (find(a, h, x, s, &r, e) < 0)
		return -1;
	result = image_store_config(h->fd, &r, &c, e);
	if (result == 0) {
		result = apply_config(s, &c, e);
		image_config_done(&c);
	}
	if (result == 0) {
		free(s->image.manifest_digest);
		s->image.manifest_digest = xstrdup(r.manifest_digest);
		if (s->image.root_disk.kind == ROOT_DISK_FLAT)
			result = find_flat(h, &r, s, e);
	}
	image_record_done(&r);
	return result;
}
