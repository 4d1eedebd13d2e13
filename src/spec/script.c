/*
 * Scripts that appear as /.msb/scripts/NAME.
 *
 *   --script NAME=BODY       decodes escapes, adds the shebang of the sandbox's shell and a final
 *                            newline
 *   --script-raw NAME=BODY   takes BODY as it is
 *   --script-path NAME:FILE  takes the bytes of the file, which is read now
 */
#include "spec/grammar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"
#include "spec/bad.h"
#include "spec/list.h"

int parse_shell(const char *s, struct err *e)
{
	if (!*s)
		return bad_value(e, "--shell", "shell", s, "it is empty");
	if (strcmp(s, "/") == 0)
		return bad_value(e, "--shell", "shell", s, "it must name a program");
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return bad_value(e, "--shell", "shell", s,
					 "white space and control characters are not allowed");
	return 0;
}

void script_shebang(struct buf *b, const char *shell)
{
	if (!shell)
		shell = SPEC_DEFAULT_SHELL;
	buf_add_str(b, *shell == '/' ? "#!" : "#!/usr/bin/env ");
	buf_add_str(b, shell);
	buf_add_char(b, '\n');
}

static void add_unescaped(struct buf *b, const char *p)
{
	static const char from[] = "ntr\\\"'", to[] = "\n\t\r\\\"'";

	while (*p) {
		const char *at = *p == '\\' && p[1] ? strchr(from, p[1]) : NULL;

		buf_add_char(b, at ? to[at - from] : *p);
		p += at ? 2 : 1;
	}
}

static void add_cooked(struct buf *b, const char *shell, const char *body)
{
	script_shebang(b, shell);
	add_unescaped(b, body);
	if (b->n > 0 && b->p[b->n - 1] != '\n')
		buf_add_char(b, '\n');
}

static int read_script(const char *flag, const char *value, const char *path, struct buf *b,
		       struct err *e)
{
	int r = io_read_file(AT_FDCWD, path, b);

	if (r == -EFBIG)
		return bad_value(e, flag, "script", value, "larger than %u bytes",
				 SCRIPT_MAX_BYTES);
	if (r < 0) {
		err_sys(e, -r, "%s: read script '%s'", flag, path);
		return -1;
	}
	if (memchr(buf_str(b), 0, b->n))
		return bad_value(e, flag, "script", value, "the file holds NUL bytes");
	return 0;
}

int spec_set_script(struct spec *s, const char *flag, const char *name, char *body, struct err *e)
{
	struct spec_script *n;

	for (size_t i = 0; i < s->n_scripts; i++)
		if (strcmp(s->script[i].name, name) == 0) {
			free(body);
			return bad_value(e, flag, "script", name, "the name is given twice");
		}
	n = LIST_ADD(s->script, s->n_scripts);
	n->name = xstrdup(name);
	n->body = body;
	return 0;
}

int spec_add_script(struct spec *s, const char *flag, const char *value, struct err *e)
{
	bool from_file = strcmp(flag, "--script-path") == 0;
	const char *sep = strchr(value, from_file ? ':' : '=');
	AUTO_BUF b = BUF_INIT(SCRIPT_MAX_BYTES);
	AUTO_FREE char *name = NULL;

	if (!sep)
		return bad_value(e, flag, "script", value, "expected %s",
				 from_file ? "NAME:FILE" : "NAME=BODY");
	name = xstrndup(value, (size_t)(sep - value));
	if (spec_check_name("script", name, e) < 0)
		return err_wrap(e, "%s", flag);
	if (from_file) {
		if (read_script(flag, value, sep + 1, &b, e) < 0)
			return -1;
	} else if (strcmp(flag, "--script-raw") == 0) {
		buf_add_str(&b, sep + 1);
	} else {
		add_cooked(&b, s->shell, sep + 1);
	}
	if (buf_failed(&b))
		return bad_value(e, flag, "script", name, "larger than %u bytes", SCRIPT_MAX_BYTES);
	return spec_set_script(s, flag, name, buf_take(&b), e);
}
