#include "spec/grammar.h"

#include <string.h>

#include "base/str.h"
#include "spec/bad.h"

/* Reads one key, `ctrl-X` or a character. The key `ctrl-@` is 0, so only *OK says whether WORD is
 * valid. */
static unsigned char key(struct str word, bool *ok)
{
	unsigned char c = word.n ? (unsigned char)word.p[word.n - 1] : 0;

	*ok = true;
	if (word.n == 1 && c > ' ' && c < 0x7f)
		return c;
	if (word.n == 6 && memcmp(word.p, "ctrl-", 5) == 0) {
		if (c >= 'a' && c <= 'z')
			return (unsigned char)(c - 'a' + 1);
		if (c == '@' || (c >= '[' && c <= '_'))
			return (unsigned char)(c - '@');
	}
	*ok = false;
	return 0;
}

int parse_detach_keys(const char *s, unsigned char ret[DETACH_KEYS_MAX], size_t *ret_n,
		      struct err *e)
{
	unsigned char keys[DETACH_KEYS_MAX];
	struct str rest = str_of(s);
	size_t n = 0;

	while (rest.p) {
		struct str word = str_cut(&rest, ',');
		bool ok;

		if (n == DETACH_KEYS_MAX)
			return bad_value(e, "--detach-keys", "key list", s, "more than %d keys",
					 DETACH_KEYS_MAX);
		keys[n++] = key(word, &ok);
		if (!ok)
			return bad_value(
				e, "--detach-keys", "key list", s,
				"'%.*s' is neither ctrl-X (a-z @ [ \\ ] ^ _) nor one character",
				word.n > 32 ? 32 : (int)word.n, word.p);
	}
	memcpy(ret, keys, n);
	*ret_n = n;
	return 0;
}
