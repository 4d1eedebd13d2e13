/* Tests the small grammars: sizes, durations, names, limits, signals, users, shells, detach keys,
 * environment, labels, CPUs, digests of images. Also tests lists of strings. */
#include "spec/grammar.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "spec/cpus.h"
#include "t.h"

static struct err e;

/* Returns the result, or UINT64_MAX if the text is refused. */
static uint64_t size_of(const char *s)
{
	uint64_t v = UINT64_MAX;

	return parse_size_mib("--memory", s, &v, &e) < 0 ? UINT64_MAX : v;
}

static uint64_t ms_of(const char *s)
{
	uint64_t v = UINT64_MAX;

	return parse_duration_ms("--timeout", s, &v, &e) < 0 ? UINT64_MAX : v;
}

static uint64_t s_of(const char *s)
{
	uint64_t v = UINT64_MAX;

	return parse_duration_s("--timeout", s, &v, &e) < 0 ? UINT64_MAX : v;
}

static void sizes(void)
{
	static const char *const bad[] = { "",
					   "abc",
					   "-1",
					   "0",
					   "0G",
					   "0.0",
					   "12Q",
					   "1GG",
					   "1 G",
					   "1.",
					   ".5G",
					   "1..5G",
					   "5B",
					   "+5",
					   "1e3",
					   "0x10",
					   "1Gib2",
					   "1iB",
					   "\xff",
					   "1\xff",
					   "1,5G",
					   "1.1234567891G",
					   "99999999999999999999",
					   "1048577T" };

	T_INT(size_of("512"), 512);
	T_INT(size_of("512M"), 512);
	T_INT(size_of("512m"), 512);
	T_INT(size_of("1G"), 1024);
	T_INT(size_of("1.5g"), 1536);
	T_INT(size_of("512MB"), 512);
	T_INT(size_of("512MiB"), 512);
	T_INT(size_of("2Gi"), 2048);
	T_INT(size_of("1T"), 1024 * 1024);
	T_INT(size_of("512K"), 1);
	T_INT(size_of("1025K"), 2);
	T_INT(size_of("1.5M"), 2);
	T_INT(size_of("1.5"), 2);
	T_INT(size_of("0.000000001K"), 1);
	T_INT(size_of("1.000000001T"), 1024 * 1024 + 1);
	T_INT(size_of("1048576T"), 1ll << 40);
	T_TRUE(size_of("1048576.1T") == UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (size_of(bad[i]) != UINT64_MAX || e.code != ERR_INVALID)
			T_FAIL("size '%s' was accepted", bad[i]);
	T_TRUE(size_of("12Q") == UINT64_MAX);
	T_STR(e.msg, "--memory: bad size '12Q': unknown unit 'Q', use K, M, G or T");
	T_TRUE(size_of("0") == UINT64_MAX);
	T_STR(e.msg, "--memory: bad size '0': must be greater than 0");
}

static void durations(void)
{
	static const char *const bad[] = { "",
					   "s",
					   "-1",
					   "1.5h",
					   "1w",
					   "1h30",
					   "30m1h",
					   "1m1m",
					   "5 s",
					   "1S",
					   "\xff",
					   "1h\xff",
					   "99999999999999999999",
					   "36601d" };

	T_INT(s_of("0"), 0);
	T_INT(s_of("30"), 30);
	T_INT(s_of("30s"), 30);
	T_INT(s_of("5m"), 300);
	T_INT(s_of("2h"), 7200);
	T_INT(s_of("5d"), 5 * 86400);
	T_INT(s_of("1h30m"), 5400);
	T_INT(s_of("1ms"), 1);
	T_INT(s_of("1000ms"), 1);
	T_INT(s_of("1s1ms"), 2);
	T_INT(s_of("36600d"), 36600ll * 86400);
	T_TRUE(s_of("36600d1ms") == UINT64_MAX);
	T_INT(ms_of("0"), 0);
	T_INT(ms_of("250ms"), 250);
	T_INT(ms_of("3"), 3000);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (s_of(bad[i]) != UINT64_MAX || e.code != ERR_INVALID)
			T_FAIL("duration '%s' was accepted", bad[i]);
	T_TRUE(s_of("1w") == UINT64_MAX);
	T_STR(e.msg, "--timeout: bad duration '1w': unknown unit 'w', use ms, s, m, h or d");
}

static void long_values_leave_room_for_the_reason(void)
{
	char s[1000];

	memset(s, 'x', sizeof(s) - 1);
	s[sizeof(s) - 1] = '\0';
	T_TRUE(size_of(s) == UINT64_MAX);
	T_TRUE(strstr(e.msg, "expected a number") != NULL);
}

static void names(void)
{
	static const char *const bad[] = { "",   ".",   "..",  "a/b",     "-a",
					   "_a", "a b", "a\n", "\xc3\xa9" };
	char s[SPEC_NAME_MAX_BYTES + 2];
	char host[SPEC_HOSTNAME_MAX_BYTES + 1];
	AUTO_FREE char *random = spec_random_name();

	T_INT(spec_check_name("sandbox", "a", &e), 0);
	T_INT(spec_check_name("sandbox", "9A._-z", &e), 0);
	T_INT(spec_check_name("sandbox", random, &e), 0);
	T_INT(strlen(random), 12);
	T_TRUE(strncmp(random, "msb-", 4) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		T_INT(spec_check_name("sandbox", bad[i], &e), -1);
		T_INT(parse_hostname(bad[i], &e), -1);
	}
	memset(s, 'a', sizeof(s));
	s[SPEC_NAME_MAX_BYTES] = '\0';
	T_INT(spec_check_name("sandbox", s, &e), 0);
	T_INT(parse_hostname(s, &e), -1);
	spec_default_hostname(s, host);
	/* the last part is the beginning of the SHA-256 of 128 letters "a" */
	T_STR(host, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-6836cf13");
	s[SPEC_NAME_MAX_BYTES] = 'a';
	s[SPEC_NAME_MAX_BYTES + 1] = '\0';
	T_INT(spec_check_name("sandbox", s, &e), -1);
	s[SPEC_HOSTNAME_MAX_BYTES] = '\0';
	T_INT(parse_hostname(s, &e), 0);
	spec_default_hostname(s, host);
	T_STR(host, s);
}

static void rlimits(void)
{
	static const char *const bad[] = { "",
					   "nofile",
					   "=1",
					   "nofile=",
					   "nofile=5:1",
					   "files=1",
					   "nofile=-1",
					   "nofile=1:",
					   "nofile=1:2:3",
					   "nofile=a",
					   "nofile=18446744073709551615",
					   "nofile=unlimited:1",
					   "core=2",
					   "CORE=0:unlimited" };
	struct spec_rlimit r = { 0 };

	T_INT(parse_rlimit("nofile=10:20", &r, &e), 0);
	T_INT(r.resource, RLIMIT_NOFILE);
	T_INT(r.soft, 10);
	T_INT(r.hard, 20);
	T_STR(rlimit_name(r.resource), "nofile");
	T_INT(parse_rlimit("CPU=7", &r, &e), 0);
	T_INT(r.resource, RLIMIT_CPU);
	T_INT(r.hard, 7);
	T_INT(parse_rlimit("as=1:unlimited", &r, &e), 0);
	T_TRUE(r.hard == UINT64_MAX);
	T_INT(parse_rlimit("core=0", &r, &e), 0);
	T_INT(parse_rlimit("core=0:1", &r, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse_rlimit(bad[i], &r, &e) == 0 || e.code != ERR_INVALID)
			T_FAIL("limit '%s' was accepted", bad[i]);
	T_TRUE(rlimit_name(1000) == NULL);
}

static void signals(void)
{
	T_INT(signal_number("SIGINT"), 2);
	T_INT(signal_number("QUIT"), 3);
	T_INT(signal_number("15"), 15);
	T_INT(signal_number("SIGRTMIN"), 34);
	T_INT(signal_number("SIGRTMIN+3"), 37);
	T_INT(signal_number("RTMIN+30"), 64);
	T_INT(signal_number("SIGRTMIN+31"), -1);
	T_INT(signal_number("SIGNOPE"), -1);
	T_INT(signal_number("sigint"), -1);
	T_INT(signal_number("SIG"), -1);
	T_INT(signal_number("SIG15"), -1);
	T_INT(signal_number(""), -1);
	T_INT(signal_number("0"), -1);
	T_INT(signal_number("65"), -1);
}

static void users(void)
{
	static const char *const good[] = { "root",       "0",  "1000:1000", "me:staff",
					    "4294967294", "0x", "a$",        "caf\xc3\xa9" };
	static const char *const bad[] = {
		"",    ":",  "a:", ":b", "a:b:c", "a b", "-1", "4294967295", "0:99999999999",
		"a/b", "a\n"
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (parse_user(good[i], &e) < 0)
			T_FAIL("user '%s': %s", good[i], e.msg);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse_user(bad[i], &e) == 0)
			T_FAIL("user '%s' was accepted", bad[i]);
}

static void shells(void)
{
	T_INT(parse_shell("/bin/bash", &e), 0);
	T_INT(parse_shell("bash", &e), 0);
	T_INT(parse_shell("", &e), -1);
	T_INT(parse_shell("/", &e), -1);
	T_INT(parse_shell("a b", &e), -1);
	T_INT(parse_shell("a\n", &e), -1);
}

static void detach_keys(void)
{
	static const char *const bad[] = {
		"",      ",",        "a,",
		"ctrl-", "ctrl-A",   "ctrl-1",
		"ab",    "\xc3\xa9", "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a"
	};
	unsigned char keys[DETACH_KEYS_MAX] = { 9 };
	size_t n = 0;

	T_INT(parse_detach_keys("ctrl-p,ctrl-q", keys, &n, &e), 0);
	T_INT(n, 2);
	T_INT(keys[0], 16);
	T_INT(keys[1], 17);
	T_INT(parse_detach_keys("ctrl-],x,ctrl-@,ctrl-_", keys, &n, &e), 0);
	T_INT(n, 4);
	T_INT(keys[0], 0x1d);
	T_INT(keys[1], 'x');
	T_INT(keys[2], 0);
	T_INT(keys[3], 0x1f);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse_detach_keys(bad[i], keys, &n, &e) == 0)
			T_FAIL("keys '%s' were accepted", bad[i]);
	T_INT(n, 4);
}

static void environment(void)
{
	struct spec s;

	spec_init(&s);
	setenv("SPEC_TEST_SET", "from=here", 1);
	unsetenv("SPEC_TEST_UNSET");
	T_INT(spec_add_env(&s.env, &s.n_env, "--env", "A=1", &e), 0);
	T_INT(spec_add_env(&s.env, &s.n_env, "--env", "B==x", &e), 0);
	T_INT(spec_add_env(&s.env, &s.n_env, "--env", "A=", &e), 0);
	T_INT(spec_add_env(&s.env, &s.n_env, "--env", "SPEC_TEST_SET", &e), 0);
	T_INT(spec_add_env(&s.env, &s.n_env, "--env", "\xff=\xfe", &e), 0);
	T_INT(s.n_env, 4);
	T_STR(s.env[0].key, "A");
	T_STR(s.env[0].value, "");
	T_STR(s.env[1].value, "=x");
	T_STR(s.env[2].value, "from=here");
	T_STR(s.env[3].key, "\xff");
	T_INT(spec_add_env(&s.env, &s.n_env, "--env", "SPEC_TEST_UNSET", &e), -1);
	T_TRUE(strstr(e.msg, "SPEC_TEST_UNSET") && strstr(e.msg, "--env"));
	T_INT(spec_add_env(&s.env, &s.n_env, "--env", "", &e), -1);
	T_INT(spec_add_env(&s.env, &s.n_env, "--env", "=x", &e), -1);
	T_INT(s.n_env, 4);
	spec_done(&s);
}

static void labels(void)
{
	static const char *const bad[] = {
		"", "=x", "sandbox.x=1", "microsandbox.", "service.a=b", "a=\xff"
	};
	struct spec s;

	spec_init(&s);
	T_INT(spec_add_label(&s, "team=x", &e), 0);
	T_INT(spec_add_label(&s, "bare", &e), 0);
	T_INT(spec_add_label(&s, "team=y=z", &e), 0);
	T_INT(s.n_labels, 2);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (spec_add_label(&s, bad[i], &e) == 0)
			T_FAIL("label '%s' was accepted", bad[i]);
	T_TRUE(spec_matches_label(&s, "team=y=z"));
	T_TRUE(!spec_matches_label(&s, "team=x"));
	T_TRUE(!spec_matches_label(&s, "team"));
	T_TRUE(spec_matches_label(&s, "bare"));
	T_TRUE(spec_matches_label(&s, "bare="));
	T_TRUE(!spec_matches_label(&s, "nosuch"));
	spec_done(&s);
}

static uint32_t milli_of(const char *s)
{
	uint32_t v = 0;

	return cpus_parse(s, 255, &v) < 0 ? UINT32_MAX : v;
}

static void cpus(void)
{
	static const char *const bad[] = { "",     "-1",     "x",       "1.",
					   ".5",   "1.5.5",  "1,5",     "1e1",
					   "0x1",  "1.2345", "255.001", "256",
					   " 1",   "1 ",     "+1",      "1.-5",
					   "1.+5", "\xff",   "1.\xff",  "99999999999999999999" };
	static const struct {
		const char *text, *shown;
		uint32_t milli;
	} good[] = { { "2", "2", 2000 },         { "0.5", "0.5", 500 },   { "1.25", "1.25", 1250 },
		     { "0.010", "0.01", 10 },    { "0.001", "0.001", 1 }, { "255", "255", 255000 },
		     { "255.0", "255", 255000 }, { "1.10", "1.1", 1100 }, { "0", "0", 0 },
		     { "10", "10", 10000 },      { "007.5", "7.5", 7500 } };
	char text[CPUS_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (milli_of(bad[i]) != UINT32_MAX)
			T_FAIL("'%s' is %u", bad[i], milli_of(bad[i]));
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		T_INT(milli_of(good[i].text), good[i].milli);
		T_STR(cpus_text(good[i].milli, text), good[i].shown);
	}
}

/* Writes every number of thousandths to JSON. The same number must be read back. */
static void cpus_in_json(void)
{
	for (uint32_t milli = CPUS_MIN_MILLI; milli <= 255000; milli++) {
		char room[64];
		AUTO_BUF b = BUF_IN(room, 256);
		AUTO_JSON doc = NULL;
		struct json_writer w;
		uint32_t back = 0;

		json_writer_init(&w, &b, 0);
		json_begin_object(&w);
		cpus_write_json(&w, "c", milli);
		json_end_object(&w);
		if (json_parse(b.p, b.n, &doc, &e) < 0 ||
		    cpus_read_json(json_get(json_root(doc), "c"), "c", &back, &e) < 0 ||
		    back != milli || (milli % 1000 == 0) == (strchr(buf_str(&b), '.') != NULL)) {
			T_FAIL("%u as '%s'", milli, buf_str(&b));
			break;
		}
	}
}

static void lists(void)
{
	struct strv a = { 0 }, b = { 0 };

	strv_add(&a, "x");
	strv_add(&a, "y");
	strv_add(&b, "old");
	strv_copy(&b, &a);
	T_INT(b.n, 2);
	T_STR(b.v[1], "y");
	T_TRUE(b.v[2] == NULL);
	strv_done(&a);
	strv_done(&b);
	T_TRUE(a.v == NULL && a.n == 0);
}

/* The image store knows sha256 only, so parse_image() must refuse every other digest. */
static void digests_of_images(void)
{
	static const struct {
		const char *algorithm;
		size_t n_hex;
		int result;
	} rows[] = { { "sha256", 64, 0 }, { "sha256", 63, -1 }, { "sha512", 128, -1 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_BUF b = BUF_INIT(256);
		struct spec_image image = { 0 };

		buf_addf(&b, "x@%s:", rows[i].algorithm);
		buf_add_fill(&b, 'a', rows[i].n_hex);
		T_INT(parse_image(buf_str(&b), &image, &e), rows[i].result);
		if (rows[i].result < 0)
			T_TRUE(strstr(e.msg, "must be sha256: and 64 lower-case hexadecimal"));
		free(image.reference);
	}
}

int main(void)
{
	T_RUN(sizes);
	T_RUN(durations);
	T_RUN(long_values_leave_room_for_the_reason);
	T_RUN(names);
	T_RUN(rlimits);
	T_RUN(signals);
	T_RUN(users);
	T_RUN(shells);
	T_RUN(detach_keys);
	T_RUN(environment);
	T_RUN(labels);
	T_RUN(cpus);
	T_RUN(cpus_in_json);
	T_RUN(lists);
	T_RUN(digests_of_images);
	return t_end();
}
