#include "base/sha1.h"

#include "t.h"

static const char *hex(const void *p, size_t n)
{
	static char out[2 * SHA1_BYTES + 1];
	unsigned char sum[SHA1_BYTES];

	sha1(p, n, sum);
	for (unsigned i = 0; i < SHA1_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", sum[i]);
	return out;
}

static void known_sums(void)
{
	T_STR(hex(NULL, 0), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	T_STR(hex("abc", 3), "a9993e364706816aba3e25717850c26c9cd0d89d");
	T_STR(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
	      "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
	T_STR(hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
		  "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		  112),
	      "a49b2446a02c645bf419f995b67091253a04a259");
}

/* Hashes texts around the length of one block (64 bytes) and of several blocks. If the last block
 * has 56 bytes or more, the padding needs one more block. The last text has
 * SHA1_INPUT_MAX_BYTES. */
static void lengths_around_a_block(void)
{
	static const struct {
		size_t n;
		const char *want;
	} c[] = {
		{ 1, "11f6ad8ec52a2984abaafd7c3b516503785c2072" },
		{ 54, "31045e7bb077ff8d188a776b196b980388735dbb" },
		{ 55, "cef734ba81a024479e09eb5a75b6ddae62e6abf1" },
		{ 56, "901305367c259952f4e7af8323f480d59f81335b" },
		{ 57, "025ecbd5d70f8fb3c5457cd96bab13fda305dc59" },
		{ 63, "0ddc4e0cccd9a12850deb5abb0853a4425559fec" },
		{ 64, "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163" },
		{ 65, "78c741ddc482e4cdf8c474a0876347a0905b6233" },
		{ 119, "4300320394f7ee239bcdce7d3b8bcee173a0cd5c" },
		{ 120, "ceb2821639c4b6dcb10bce0e522ca2e608ce056d" },
		{ 128, "150fa3fbdc899bd0b8f95a9fb6027f564d953762" },
		{ 511, "48b0fc9b8515c1dbcc8b7811affafa65dfa463a9" },
		{ 512, "8d58820c6672a8f168d7b53e707b8175de7345ab" },
	};
	char text[SHA1_INPUT_MAX_BYTES];

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		T_STR(hex(text, c[i].n), c[i].want);
}

int main(void)
{
	T_RUN(known_sums);
	T_RUN(lengths_around_a_block);
	return t_end();
}
