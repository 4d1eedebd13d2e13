/* Tests which user a text means, in an /etc/passwd and an /etc/group that hostile code may have
 * written. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/user.h"
#include "t.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
			     "short:x:7\n"
			     ":x:8:8::/nobody:\n"
			     "worker:x:1000:100:,,,:/home/worker:/bin/bash\n"
			     "worker:x:2000:200::/second:\n"
			     "1234:x:55:55::/digits:\n"
			     "relative:x:1001:1001::etc:\n"
			     "homeless:x:1002:1002:::\n"
			     "all:x:4294967295:5::/all:\n"
			     "minus:x:-1:5::/minus:\n"
			     "last:x:1003:1003::/last";
static const char group[] = "root:x:0:\n"
			    "users:x:100:worker\n"
			    "wheel:x:10:root,worker,last\n"
			    "bad:x:none:worker\n"
			    "docker:x:999:workers,aworker,worker\n"
			    "all:x:4294967295:worker\n";

struct expected {
	const char *spec;
	uint32_t uid, gid;
	const char *home;
	unsigned n_groups;
};

static void found(void)
{
	static const struct expected cases[] = {
		{ NULL, 0, 0, "/root", 1 },
		{ "root", 0, 0, "/root", 1 },
		/* two entries have this name: the first one counts */
		{ "worker", 1000, 100, "/home/worker", 3 },
		{ "1000", 1000, 100, "/home/worker", 3 },
		{ "worker:docker", 1000, 999, "/home/worker", 0 },
		{ "worker:7", 1000, 7, "/home/worker", 0 },
		/* means the id 1234, not the user whose name is "1234" */
		{ "1234", 1234, 0, "/", 0 },
		{ "1234:wheel", 1234, 10, "/", 0 },
		{ "4294967294", 4294967294, 0, "/", 0 },
		{ "relative", 1001, 1001, "/", 0 },
		{ "homeless", 1002, 1002, "/", 0 },
		{ "last", 1003, 1003, "/last", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct expected *c = &cases[i];
		struct user u;
		struct err e;

		T_INT(user_find_in(c->spec, passwd, group, &u, &e), 0);
		T_INT(u.uid, c->uid);
		T_INT(u.gid, c->gid);
		T_STR(u.home, c->home);
		T_INT(u.n_groups, c->n_groups);
	}
}

static void refused(void)
{
	static const struct {
		const char *spec;
		enum err_code code;
	} cases[] = {
		{ "", ERR_INVALID },
		{ ":", ERR_INVALID },
		{ "worker:", ERR_INVALID },
		{ ":wheel", ERR_INVALID },
		{ "4294967295", ERR_INVALID },
		{ "99999999999999999999", ERR_INVALID },
		{ "nobody", ERR_NOT_FOUND },
		{ "short", ERR_NOT_FOUND },
		{ "all", ERR_NOT_FOUND },
		{ "minus", ERR_NOT_FOUND },
		{ "work", ERR_NOT_FOUND },
		{ "worker:bad", ERR_NOT_FOUND },
		{ "worker:all", ERR_NOT_FOUND },
		{ "worker:4294967295", ERR_NOT_FOUND },
		{ "worker:wheel:wheel", ERR_NOT_FOUND },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct user u;
		struct err e = { 0 };

		if (user_find_in(cases[i].spec, passwd, group, &u, &e) == 0)
			T_FAIL("'%s' was found", cases[i].spec);
		T_INT(e.code, cases[i].code);
	}
}

static void empty_files(void)
{
	struct user u;
	struct err e;

	T_INT(user_find_in("12:34", "", "", &u, &e), 0);
	T_INT(u.uid, 12);
	T_INT(u.gid, 34);
	T_STR(u.home, "/");
	T_TRUE(user_find_in("root", "", "", &u, &e) < 0);
}

/* Tests a user with more groups, and with a longer home, than struct user has room for. */
static void too_many_groups_and_a_long_home(void)
{
	AUTO_BUF many = BUF_INIT(1u << 20), far = BUF_INIT(1u << 20);
	struct user u;
	struct err e;

	for (unsigned i = 0; i < 4 * USER_GROUPS_MAX; i++)
		buf_addf(&many, "g%u:x:%u:far\n", i, i);
	buf_add_str(&far, "far:x:1:1::/");
	for (unsigned i = 0; i < USER_HOME_BYTES; i++)
		buf_add_str(&far, "x");
	T_INT(user_find_in("far", buf_str(&far), buf_str(&many), &u, &e), 0);
	T_INT(u.n_groups, USER_GROUPS_MAX);
	T_INT(u.group[USER_GROUPS_MAX - 1], USER_GROUPS_MAX - 1);
	T_STR(u.home, "/");
}

int main(void)
{
	T_RUN(found);
	T_RUN(refused);
	T_RUN(empty_files);
	T_RUN(too_many_groups_and_a_long_home);
	return t_end();
}
