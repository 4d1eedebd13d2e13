/*
 * `install` makes commands that run in sandboxes. Each of these commands is a small shell script in
 * the directory bin/ of the home. The second line of each script is a mark. A file without this
 * mark is never replaced or removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/program.h"
#include "base/say.h"
#include "base/spawn.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/mounts.h"
#include "client/sandbox.h"
#include "spec/grammar.h"

#define WRAPPER_MAX_BYTES (1u << 20)
#define MARK "# made by 'cordon install'; removed by 'cordon uninstall'"

extern char **environ;

/* --- the script ------------------------------------------------------------------------------ */

static void add_next(struct buf *b, const char *s)
{
	buf_add_char(b, ' ');
	buf_add_shell_word(b, s);
}

static void add_option(struct buf *b, const char *name, const char *value)
{
	buf_addf(b, " --%s=", name); /* with '=', because a value may start with a dash */
	buf_add_shell_word(b, value);
}

static void add_identity(struct buf *b, const struct identity *id, const char *path)
{
	AUTO_BUF value = BUF_INIT(WRAPPER_MAX_BYTES);

	mounts_write_identity(id, path, &value);
	add_option(b, "identity", buf_str(&value));
}

/* Writes the mount option NAME with VALUE into the script. A path of the host is written in
 * canonical form, so that the script can be called in any directory. The option `--identity`
 * follows, so that the script fails if the path later leads to another file or directory. A named
 * volume is written as it is. */
static int add_mount(struct buf *b, const char *name, enum mount_flag flag, const char *value,
		     struct err *e)
{
	struct spec s = { 0 };
	int r = spec_add_mount(&s, flag, value, e);

	if (r == 0 && s.mount[0].kind == MOUNT_NAMED) {
		add_option(b, name, value);
	} else if (r == 0 && (r = spec_hold_mount(&s.mount[0], e)) == 0) {
		AUTO_FREE char *absolute =
			xasprintf("%s%s", s.mount[0].source, strstr(value, ":/"));

		add_option(b, name, absolute);
		add_identity(b, &s.mount[0].identity, s.mount[0].source);
	}
	spec_done(&s);
	return r;
}

static int add_file(struct buf *b, const char *name, const char *path, struct err *e)
{
	AUTO_FREE char *real = realpath(path, NULL);

	if (!real)
		return err_sys(e, errno, "--%s: '%s'", name, path);
	add_option(b, name, real);
	return 0;
}

static int add_options(struct buf *b, const struct args *a, struct err *e)
{
	static const struct {
		const char *name;
		enum mount_flag flag;
	} mounts[] = { { "volume", MOUNT_FLAG_VOLUME },
		       { "mount-dir", MOUNT_FLAG_DIR },
		       { "mount-file", MOUNT_FLAG_FILE },
		       { "mount-disk", MOUNT_FLAG_DISK },
		       { "mount-named", MOUNT_FLAG_NAMED } };
	static const char *const ours[] = { "name", "force", "no-pull", "tmp", "list", NULL };
	const char *name, *value;
	size_t at = 0;

	while ((value = args_next_value(a, &at, &name))) {
		size_t k = 0;

		if (word_index(ours, name) >= 0)
			continue;
		while (k < ARRAY_SIZE(mounts) && strcmp(mounts[k].name, name) != 0)
			k++;
		if (k < ARRAY_SIZE(mounts) ? add_mount(b, name, mounts[k].flag, value, e) < 0
		    : strstr(name, "conf") ? add_file(b, name, value, e) < 0
					   : (add_option(b, name, value), false))
			return -1;
	}
	return 0;
}

/* Returns "python" for "docker.io/library/python:3.12@sha256:…". */
static char *default_name(const char *image)
{
	const char *slash = strrchr(image, '/');
	const char *base = slash ? slash + 1 : image;

	return xstrndup(base, strcspn(base, ":@"));
}

static int write_script(const struct args *a, const struct home *h, const char *name,
			const struct spec_image *image, struct buf *b, struct err *e)
{
	AUTO_FREE char *word = image_word(image);
	AUTO_FREE char *program = NULL;

	if (program_ours("cordon", &program, e) < 0)
		return -1;
	buf_addf(b, "#!/bin/sh\n%s\nexport CORDON_HOME=", MARK);
	buf_add_shell_word(b, h->path);
	buf_add_str(b, "\nexec ");
	buf_add_shell_word(b, program);
	buf_add_str(b, " run --quiet");
	if (!args_has(a, "tmp"))
		add_option(b, "name", name);
	if (add_options(b, a, e) < 0)
		return -1;
	if (image->kind == IMAGE_DIR && image->reference)
		add_identity(b, &image->identity, image->reference);
	if (image->reference)
		add_next(b, image->kind == IMAGE_DIR ? word : a->word.v[0]);
	buf_add_str(b, " --");
	for (size_t i = 0; i < a->rest.n; i++)
		add_next(b, a->rest.v[i]);
	buf_add_str(b, " \"$@\"\n");
	return buf_failed(b) ? err_set(e, ERR_LIMIT, "the command is too long") : 0;
}

static bool is_ours(int bin, const char *name)
{
	AUTO_BUF b = BUF_INIT(WRAPPER_MAX_BYTES);

	return io_read_file(bin, name, &b) == 0 && strstr(buf_str(&b), "\n" MARK "\n");
}

/* --- install --------------------------------------------------------------------------------- */

static int fetch(const struct args *a, const struct spec_image *image, struct err *e)
{
	AUTO_FREE char *program = NULL;
	const char *argv[] = { a->program, "pull", a->word.n ? a->word.v[0] : "", NULL };
	struct spawn s = { .argv = argv, .envp = (const char *const *)environ, .cwd_fd = -1 };
	struct child c;
	int status;

	if (image->kind != IMAGE_OCI || !image->reference || args_has(a, "no-pull"))
		return 0;
	if (program_ours("cordon", &program, e) < 0)
		return -1;
	s.path = program;
	if (spawn(&s, &c, e) < 0)
		return -1;
	if (child_wait(&c, &status) < 0 || status != 0)
		return err_set(e, ERR_NOT_FOUND, "image '%s' could not be fetched", argv[2]);
	return 0;
}

static int install(const struct args *a, const struct home *h, char **ret_name, struct err *e)
{
	AUTO_BUF script = BUF_INIT(WRAPPER_MAX_BYTES);
	struct spec_image image = { 0 };
	AUTO_FREE char *name = NULL;
	AUTO_FD bin = -1;
	struct stat st;
	int r;

	if (a->word.n == 0 && args_list(a, "conf")->n == 0)
		return err_set(e, ERR_INVALID,
			       "no image: name an image, or a --conf file that has one");
	if (a->word.n && parse_image(a->word.v[0], &image, e) < 0)
		return -1;
	name = args_has(a, "name") ? xstrdup(args_str(a, "name"))
	       : a->word.n ? default_name(image.kind == IMAGE_DIR ? image.reference : a->word.v[0])
			   : xstrdup("");
	r = image.kind == IMAGE_DIR && image.reference ? spec_hold_image(&image, e) : 0;
	if (r == 0 && spec_check_name("command", name, e) < 0)
		r = args_has(a, "name") ? -1
					: err_set(e, ERR_INVALID,
						  "no name for the command: give a name by --name");
	if (r == 0)
		r = write_script(a, h, name, &image, &script, e);
	if (r == 0)
		r = home_dir(h, "bin", &bin, e);
	if (r == 0 && fstatat(bin, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!is_ours(bin, name))
			r = err_set(e, ERR_EXISTS, "'%s/bin/%s' exists and was not made by install",
				    h->path, name);
		else if (!args_has(a, "force"))
			r = err_set(e, ERR_EXISTS,
				    "command already exists: %s; --force replaces it", name);
	}
	if (r == 0)
		r = fetch(a, &image, e);
	spec_image_done(&image);
	if (r < 0)
		return -1;
	r = io_replace_file(bin, name, script.p, script.n, 0755);
	if (r < 0 || fchmodat(bin, name, 0755, 0) < 0)
		return err_sys(e, r < 0 ? -r : errno, "write '%s/bin/%s'", h->path, name);
	*ret_name = TAKE(name);
	return 0;
}

static int list(const struct home *h, struct err *e)
{
	struct table t;
	AUTO_FD bin = -1;
	const struct dirent *entry;
	AUTO_DIR d = NULL;
	unsigned n = 0;

	if (home_dir(h, "bin", &bin, e) < 0)
		return say_error(e);
	d = dir_open(bin, ".");
	TABLE_BEGIN(&t, "NAME", "PATH");
	while ((entry = dir_next(d))) {
		AUTO_FREE char *path = xasprintf("%s/bin/%s", h->path, entry->d_name);

		if (!is_ours(bin, entry->d_name))
			continue;
		TABLE_ROW(&t, entry->d_name, path);
		n++;
	}
	if (n)
		return table_print(&t);
	buf_done(&t.cells);
	say_note("No commands installed.");
	return 0;
}

/* Returns true if DIR is one of the directories of PATH. */
static bool on_path(const char *dir)
{
	struct str rest = str_of(getenv("PATH") ? getenv("PATH") : "");

	while (rest.p)
		if (str_eq(str_cut(&rest, ':'), dir))
			return true;
	return false;
}

int cmd_install(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *bin = NULL;
	struct err e = { 0 };

	if (home_open(&home, &e) < 0)
		return say_error(&e);
	if (args_has(a, "list"))
		return list(&home, &e);
	if (install(a, &home, &name, &e) < 0)
		return say_error(&e);
	say_done("Installed", name, 0);
	bin = xasprintf("%s/bin", home.path);
	if (!on_path(bin))
		say_warn("'%s' is not on your PATH", bin);
	return 0;
}

int cmd_uninstall(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };
	AUTO_FD bin = -1;
	int status = 0;

	if (home_open(&home, &e) < 0 || home_dir(&home, "bin", &bin, &e) < 0)
		return say_error(&e);
	for (size_t i = 0; i < a->word.n; i++) {
		const char *name = a->word.v[i];
		struct stat st;

		if (spec_check_name("command", name, &e) < 0 ||
		    fstatat(bin, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			status = say_errorf(ERR_NOT_FOUND, "command not found: %s", name);
		else if (!is_ours(bin, name))
			status = say_errorf(ERR_DENIED, "'%s' was not made by install and stays",
					    name);
		else if (unlinkat(bin, name, 0) < 0)
			status = say_errorf(ERR_SYSTEM, "remove '%s': %s", name, strerror(errno));
		else
			say_done("Uninstalled", name, 0);
	}
	return status;
}
