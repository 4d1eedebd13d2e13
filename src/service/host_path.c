#include "service/host_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "service/boxspec.h"

#define PATH_TEXT_MAX_BYTES 65536u /* far longer than any path that the kernel accepts */

static char *absolute(const char *base, struct str path)
{
	const char *home = getenv("HOME");
	AUTO_FREE char *text = xstrndup(path.p, path.n);
	AUTO_FREE char *cwd = NULL;

	if (text[0] == '/')
		return TAKE(text);
	if (text[0] == '~' && (text[1] == '/' || text[1] == '\0'))
		return xasprintf("%s%s", home ? home : "", text + 1);
	if (!base)
		base = cwd = getcwd(NULL, 0);
	return xasprintf("%s/%s", base ? base : "", text);
}

char *host_path_real(const char *base, struct str path)
{
	AUTO_FREE char *whole = absolute(base, path), *existing = NULL, *real = NULL;
	AUTO_BUF out = BUF_INIT(PATH_TEXT_MAX_BYTES), normal = BUF_INIT(PATH_TEXT_MAX_BYTES);
	size_t n = strlen(whole);

	/* resolve the links of the longest part that exists, and append the rest */
	existing = xstrdup(whole);
	while (n > 0 && !(real = realpath(existing, NULL))) {
		while (n > 0 && existing[--n] != '/')
			;
		existing[n] = '\0';
	}
	buf_add_str(&out, real ? real : "/");
	buf_add_str(&out, whole + n);
	box_path_normal(buf_str(&out), &normal);
	if (normal.n == 0)
		buf_add_char(&normal, '/');
	return buf_take(&normal);
}
