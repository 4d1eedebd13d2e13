/* Looks up a user. The input is three texts with NUL between them: the user as the caller names it,
 * /etc/passwd and /etc/group. Root in a sandbox, or the maker of an image, can write any bytes into
 * the two files. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/user.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	char *text[3];
	struct user u;
	struct err e;

	for (int i = 0; i < 3; i++) {
		struct str part = rest.p ? str_cut(&rest, '\0') : (struct str){ "", 0 };

		text[i] = xstrndup(part.p, part.n);
	}
	if (user_find_in(text[0], text[1], text[2], &u, &e) == 0 &&
	    (u.n_groups > USER_GROUPS_MAX || u.uid == UINT32_MAX || u.gid == UINT32_MAX ||
	     u.home[0] != '/' || strpbrk(u.home, ":\n")))
		abort();
	for (int i = 0; i < 3; i++)
		free(text[i]);
	return 0;
}
