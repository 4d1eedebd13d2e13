/* The input is PATH NUL STATUS: a path from a command, and the text of the command's
 * /proc/PID/status. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "guest/caller.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct caller c;
	struct str rest = { (const char *)data, size };
	struct str part = size ? str_cut(&rest, '\0') : (struct str){ "", 0 };
	AUTO_FREE char *path = xstrndup(part.p, part.n);
	char link[CALLER_LINK_BYTES];
	const char *after;

	c.tid = 42;
	if (caller_parse(rest, &c) == 0 && c.n_groups > CALLER_GROUPS_MAX)
		abort();
	c.tgid = 41;
	/* the link must belong to process 41, and the rest of the path must be relative */
	if (caller_owns_link(&c, path, link, &after) &&
	    (strncmp(link, "41/", 3) != 0 || strstr(link, "..") || after[0] == '/' ||
	     after < path || after > path + strlen(path)))
		abort();
	return 0;
}
