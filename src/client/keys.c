#include "client/keys.h"

#include <string.h>

/* Called if the next key does not continue the detach keys. Moves held keys to OUT, the oldest
 * first, until the keys that are still held are again a beginning of the detach keys, or none is
 * left. For example, the detach keys are "aab", and "aa" is held when another "a" comes. Then the
 * first "a" goes to OUT, and the second "a" stays held. */
static void release(struct keys *k, struct buf *out)
{
	size_t n = 1;

	while (memcmp(k->key, k->key + n, k->matched - n) != 0)
		n++;
	buf_add(out, k->key, n);
	k->matched -= n;
}

bool keys_scan(struct keys *k, const char *p, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		while (k->matched && c != k->key[k->matched])
			release(k, out);
		if (!k->n || c != k->key[k->matched])
			buf_add_char(out, (char)c);
		else if (++k->matched == k->n)
			return true;
	}
	return false;
}

void keys_flush(struct keys *k, struct buf *out)
{
	buf_add(out, k->key, k->matched);
	k->matched = 0;
}
