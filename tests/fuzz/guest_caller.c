/* PATH NUL STATUS: a command writes the first, the kernel writes the second about a command. */
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
	/* it must be a link of this process only, and the rest must not start at a root */
	if (caller_owns_link(&c, path, link, &after) &&
	    (strncmp(link, "41/", 3) != 0 || strstr(link, "..") || after[0] == '/' ||
	     after < path || after > path + strlen(path)))
		abort();
	return 0;
}
