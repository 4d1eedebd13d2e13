#include "image/reference.h"

#include "t.h"

static void check_key(const char *s, const char *want)
{
	char key[REFERENCE_KEY_BYTES] = "";
	struct reference r;
	struct err e = { .msg = "" };

	if (reference_parse(s, &r, &e) < 0) {
		T_FAIL("%s: %s", s, e.msg);
		return;
	}
	reference_key(&r, key);
	T_STR(key, want);
}

static void check_bad(const char *s)
{
	struct reference r;
	struct err e = { .code = ERR_NONE };

	if (reference_parse(s, &r, &e) == 0)
		T_FAIL("'%s' was accepted", s);
	T_INT(e.code, ERR_INVALID);
}

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void equal_spellings(void)
{
	check_key("alpine", "docker.io/library/alpine:latest");
	check_key("alpine:latest", "docker.io/library/alpine:latest");
	check_key("docker.io/alpine", "docker.io/library/alpine:latest");
	check_key("docker.io/library/alpine", "docker.io/library/alpine:latest");
	check_key("index.docker.io/library/alpine:latest", "docker.io/library/alpine:latest");
	check_key("org/app:1.2-rc_3", "docker.io/org/app:1.2-rc_3");
}

static void other_registries(void)
{
	check_key("localhost/x", "localhost/x:latest");
	check_key("localhost:5000/a/b/c:t", "localhost:5000/a/b/c:t");
	check_key("reg.example.com/x", "reg.example.com/x:latest");
	check_key("127.0.0.1:5000/x", "127.0.0.1:5000/x:latest");
	check_key("[::1]:5000/x:1", "[::1]:5000/x:1");
	check_key("Host/x", "Host/x:latest");
}

static void digests(void)
{
	struct reference r;
	struct err e;

	check_key("a@sha256:" HEX64, "docker.io/library/a@sha256:" HEX64);
	check_key("a:1@sha256:" HEX64, "docker.io/library/a@sha256:" HEX64);
	T_INT(reference_parse("a:1@sha256:" HEX64, &r, &e), 0);
	T_STR(r.tag, "1");
	T_STR(reference_target(&r), "sha256:" HEX64);
}

static void malformed(void)
{
	static const char *const bad[] = {
		"",
		":",
		"@",
		"/",
		"a:",
		":a",
		"a@",
		"a/",
		"/a",
		"a//b",
		"A",
		"a:b:c",
		"a b",
		"a..b",
		"a___b",
		"-a",
		"a-",
		"a.-b",
		"_a",
		"a_",
		"a:.x",
		"a:-x",
		"a@sha256:abc",
		"a\nb",
		"a:t\n",
		"a@md5:" HEX64,
		"a@sha256:" HEX64 "0",
		"localhost:/a",
		"localhost:0/a",
		"localhost:70000/a",
		"localhost:x/a",
		"-x.y/a",
		"x-.y/a",
		"x..y/a",
		".x/a",
		"[]:1/a",
		"[::1/a",
		"[::1]x/a",
		"../a",
		"a/../b",
		"./a",
		"h\xc3\xa9llo",
		"a:\xff",
		"https://localhost/a",
		"a@sha256:"
		"G" HEX64,
	};
	char long_name[300];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_bad(bad[i]);
	memset(long_name, 'a', sizeof(long_name));
	long_name[256] = '\0';
	check_bad(long_name);
	long_name[255] = '\0';
	T_INT(reference_parse(long_name, &(struct reference){ 0 }, &(struct err){ 0 }), 0);
	memcpy(long_name, "a:", 2);
	long_name[2 + 129] = '\0';
	check_bad(long_name);
	long_name[2 + 128] = '\0';
	T_INT(reference_parse(long_name, &(struct reference){ 0 }, &(struct err){ 0 }), 0);
}

int main(void)
{
	T_RUN(equal_spellings);
	T_RUN(other_registries);
	T_RUN(digests);
	T_RUN(malformed);
	return t_end();
}
