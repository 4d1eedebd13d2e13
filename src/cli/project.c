#include "cli/project.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/say.h"
#include "cli/files.h"
#include "cli/grants.h"
#include "cli/options.h"

#define ANSWER_MAX_BYTES 16

bool project_is_wanted(const struct args *a)
{
	if (args_as_msb(a) || a->word.n > 0)
		return false;
	for (const struct opt *o = conf_opts; o->name; o++)
		if (args_has(a, o->name))
			return false;
	return true;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Parses TEXT, the content of the file PATH. The parser gets TEXT in a memfd and never opens PATH,
 * so the parser sees exactly the bytes that are in the digest of the project (client/project.h). */
static int convert(const struct buf *text, const char *path, struct json_doc **ret, struct err *e)
{
	AUTO_FD fd = memfd_create("project", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : io_write_all(fd, buf_str(text), text->n);

	if (r < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(e, r < 0 ? -r : errno, "keep the text of '%s'", path);
	return files_convert(fd, path, ret, e);
}

static int load(void *arg, const char *path, struct json_doc **ret, struct err *e)
{
	AUTO_BUF text = BUF_INIT(PROJECT_FILE_MAX_BYTES);
	struct project *p = arg;

	if (strcmp(path, p->file[0].path) == 0)
		return convert(&p->text, path, ret, e);
	return project_read(p, path, &text, e) < 0 ? -1 : convert(&text, path, ret, e);
}

static int load_text(void *arg, const char *path, struct buf *out, struct err *e)
{
	return project_read(arg, path, out, e);
}

int project_load(struct project *p, const char *shell, struct spec *s, struct conf_extra *x,
		 struct err *e)
{
	const struct conf_loader loader = { .load = load, .text = load_text, .arg = p };
	struct conf c = { 0 };
	int r;

	if (project_find(p, e) < 0)
		return -1;
	if (!p->dir)
		return 0;
	r = conf_add(&c, CONF_PROJECT, p->file[0].path, &loader, e);
	if (r == 0)
		r = conf_apply(&c, shell, s, x, e);
	if (r == 0 && (r = project_hold(p, s, e)) < 0)
		err_wrap(e, "%s", p->file[0].path);
	conf_done(&c);
	return r;
}

/* --- asking ---------------------------------------------------------------------------------- */

bool project_can_ask(void)
{
	return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

int project_ask(const struct project *p, const struct spec *s, const struct conf_extra *x,
		struct err *e)
{
	char line[ANSWER_MAX_BYTES] = "";

	if (grants_show(p, s, x, e) < 0)
		return -1;
	/* keys that were typed before the question must not count as the answer */
	tcflush(STDIN_FILENO, TCIFLUSH);
	say_ask("Allow this? [y/N]");
	if (fgets(line, sizeof(line), stdin) &&
	    (strcmp(line, "y\n") == 0 || strcmp(line, "Y\n") == 0 || strcmp(line, "yes\n") == 0))
		return 0;
	return err_set(e, ERR_DENIED, "'%s' was not allowed", p->file[0].path);
}

static int refuse(const struct project *p, enum project_state state, struct err *e)
{
	if (state == PROJECT_CHANGED)
		err_set(e, ERR_DENIED,
			"'%s', or something that it names, has changed since it was allowed",
			p->file[0].path);
	else
		err_set(e, ERR_DENIED, "'%s' is not allowed yet", p->file[0].path);
	return err_hint(e, "look at what it grants and allow it: cordon allow");
}

int project_apply(const struct args *a, const struct home *h, struct project *p, struct spec *s,
		  struct conf_extra *x, struct err *e)
{
	enum project_state state;

	if (project_load(p, args_str(a, "shell"), s, x, e) < 0)
		return -1;
	if (!p->dir)
		return 0;
	if (project_look(p, h, &state, e) < 0)
		return -1;
	if (state == PROJECT_ALLOWED)
		return 0;
	if (!project_can_ask())
		return refuse(p, state, e);
	say_note(state == PROJECT_CHANGED ? "The project file has changed since it was allowed."
					  : "This project file was not allowed yet.");
	return project_ask(p, s, x, e) < 0 ? -1 : project_allow(p, h, e);
}
