#include "spec/grammar.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/bad.h"

/* not UINT32_MAX, because (uid_t)-1 means "no change" to the kernel */
#define ID_MAX (UINT32_MAX - 1)
/* the longest name that glibc's NSS handles; useradd stops at 32 */
#define USER_NAME_MAX_BYTES 255u

/* Checks the user or the group, one side of the colon. Returns NULL, or a text that says what is
 * wrong. */
static const char *part_fault(struct str s)
{
	uint64_t id;
	size_t digits = 0;

	if (s.n == 0)
		return "a name is empty";
	if (s.n > USER_NAME_MAX_BYTES)
		return "a name is too long";
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= ' ' || c == 0x7f || c == '/' || c == ':')
			return "expected USER or USER:GROUP";
		digits += c >= '0' && c <= '9';
	}
	if (s.p[0] == '-')
		return "a name must not start with '-'";
	if (digits == s.n && parse_u64_str(s, 0, ID_MAX, &id) < 0)
		return "an id is above 4294967294";
	return NULL;
}

int parse_user(const char *s, struct err *e)
{
	struct str group = str_of(s), user = str_cut(&group, ':');
	const char *fault = part_fault(user);

	if (!fault && group.p)
		fault = part_fault(group);
	return fault ? bad_value(e, "--user", "user", s, "%s", fault) : 0;
}
