#include "base/sha256.h"

#include <stdlib.h>

#include "t.h"

static const char *hex(const void *p, size_t n)
{
	static char out[SHA256_HEX_BYTES];

	sha256_hex(p, n, out);
	return out;
}

static void known_sums(void)
{
	T_STR(hex(NULL, 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	T_STR(hex("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	T_STR(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
	      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void million_letters(void)
{
	enum { N = 1000000 };
	char *p = malloc(N);

	memset(p, 'a', N);
	T_STR(hex(p, N), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(p);
}

/* Bytes that arrive in two pieces have the same sum as the whole, for every length. */
static void pieces(void)
{
	unsigned char text[200], whole[SHA256_BYTES], parts[SHA256_BYTES];

	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)(i * 7);
	for (size_t n = 0; n <= sizeof(text); n++) {
		for (size_t cut = 0; cut <= n; cut += 13) {
			struct sha256 a, b;

			sha256_init(&a);
			sha256_add(&a, text, n);
			sha256_end(&a, whole);
			sha256_init(&b);
			sha256_add(&b, text, cut);
			sha256_add(&b, text + cut, n - cut);
			sha256_end(&b, parts);
			T_TRUE(memcmp(whole, parts, sizeof(whole)) == 0);
		}
	}
}

int main(void)
{
	T_RUN(known_sums);
	T_RUN(million_letters);
	T_RUN(pieces);
	return t_end();
}
