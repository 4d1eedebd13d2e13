#include "base/base64.h"

#include <errno.h>

#include "t.h"

static const struct {
	const char *plain, *coded;
} pairs[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xfb\xff\xbf", "+/+/" },
};

static void both_ways(void)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		AUTO_BUF coded = BUF_INIT(100);
		AUTO_BUF plain = BUF_INIT(100);

		buf_add_str(&coded, "x");
		base64_encode(&coded, pairs[i].plain, strlen(pairs[i].plain));
		T_STR(buf_str(&coded) + 1, pairs[i].coded);
		T_INT(base64_decode(&plain, pairs[i].coded, strlen(pairs[i].coded)), 0);
		T_STR(buf_str(&plain), pairs[i].plain);
	}
}

static void every_byte(void)
{
	AUTO_BUF coded = BUF_INIT(1000);
	AUTO_BUF plain = BUF_INIT(1000);
	unsigned char all[256];

	for (unsigned i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	base64_encode(&coded, all, sizeof(all));
	T_INT(base64_decode(&plain, coded.p, coded.n), 0);
	T_INT(plain.n, 256);
	T_TRUE(memcmp(plain.p, all, sizeof(all)) == 0);
}

static void refused(void)
{
	static const char *const bad[] = {
		"Zg",       "Zg=",    "Zg=a", "Z===", "====", "Zh==",   "Zm9=",
		"Zg==Zg==", "Zm8=\n", "Zm 9", "Zm9-", "Zm9_", "\nZm9v", "Zm9\xc3",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		AUTO_BUF b = BUF_INIT(100);

		buf_add_str(&b, "kept");
		if (base64_decode(&b, bad[i], strlen(bad[i])) != -EINVAL)
			T_FAIL("accepted '%s'", bad[i]);
		T_STR(buf_str(&b), "kept");
	}
}

static void ceiling(void)
{
	AUTO_BUF exact = BUF_INIT(4);
	AUTO_BUF low = BUF_INIT(3);

	T_INT(base64_decode(&exact, "Zm9vYg==", 8), 0);
	T_STR(buf_str(&exact), "foob");
	T_INT(base64_decode(&low, "Zm9vYg==", 8), -ENOSPC);
	T_TRUE(buf_failed(&low));
}

int main(void)
{
	T_RUN(both_ways);
	T_RUN(every_byte);
	T_RUN(refused);
	T_RUN(ceiling);
	return t_end();
}
