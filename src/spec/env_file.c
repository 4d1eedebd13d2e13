#include "spec/env_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "spec/grammar.h"

/* editors of other systems put this mark at the start of a file */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool has_blank(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (is_blank(s.p[i]))
			return true;
	return false;
}

/* Adds the variable of one line, and returns NULL or what is wrong with the line. A bare name gets
 * the value that it has in our own environment. If it has none there, adds nothing. */
static const char *add_line(struct spec_env **list, size_t *n, struct str line,
			    enum env_file_bare bare)
{
	AUTO_FREE char *key = NULL, *value = NULL;
	struct str rest = line, name;
	const char *inherited;

	if (memchr(line.p, '\0', line.n))
		return "a NUL byte";
	if (!utf8_valid(line.p, line.n))
		return "not UTF-8";
	name = str_cut(&rest, '=');
	if (name.n == 0)
		return "the name is empty";
	if (has_blank(name))
		return "the name has a blank in it";
	if (!rest.p && bare == ENV_FILE_NO_BARE_NAMES)
		return "a name without a value";
	key = xstrndup(name.p, name.n);
	if (rest.p)
		value = xstrndup(rest.p, rest.n);
	inherited = rest.p ? value : getenv(key);
	if (inherited)
		spec_set_env(list, n, key, name.n, inherited);
	return NULL;
}

int env_file_parse(struct spec_env **list, size_t *n, const char *flag, const char *path,
		   struct str text, enum env_file_bare bare, struct err *e)
{
	unsigned number = 0;

	if (text.n >= strlen(BYTE_ORDER_MARK) &&
	    memcmp(text.p, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
		text.p += strlen(BYTE_ORDER_MARK);
		text.n -= strlen(BYTE_ORDER_MARK);
	}
	while (text.p) {
		struct str line = str_cut(&text, '\n');
		const char *why;

		number++;
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		while (line.n && is_blank(*line.p)) {
			line.p++;
			line.n--;
		}
		if (line.n == 0 || *line.p == '#')
			continue;
		why = add_line(list, n, line, bare);
		if (why) /* the message does not show the line, because its value may be a secret */
			return err_set(e, ERR_INVALID, "%s: '%s': line %u: %s", flag, path, number,
				       why);
	}
	return 0;
}

int env_file_read(struct spec_env **list, size_t *n, const char *flag, const char *path,
		  struct err *e)
{
	AUTO_BUF text = BUF_INIT(ENV_FILE_MAX_BYTES);
	/* read to the end instead of asking for the size: the file may be a pipe, as with
	 * --env-file <(command) */
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r = fd < 0 ? -errno : io_read_to_end(fd, &text);

	if (r == -EFBIG || buf_failed(&text))
		return err_set(e, ERR_LIMIT, "%s: '%s' is larger than %u KiB", flag, path,
			       ENV_FILE_MAX_BYTES >> 10);
	if (r < 0)
		return err_sys(e, -r, "%s: '%s'", flag, path);
	return env_file_parse(list, n, flag, path, (struct str){ buf_str(&text), text.n },
			      ENV_FILE_INHERITS, e);
}
