#include "guest/caller.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "t.h"

#define TEXT(groups, caps)                                                                   \
	"Name:\tUid:\\nx\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t41\nPid:\t42\n"         \
	"Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nFDSize:\t64\nGroups:\t" groups "\nCapPrm:\t0\n" \
	"CapEff:\t" caps "\n"

static struct caller c;

static int parse(const char *text)
{
	return caller_parse(str_of(text), &c);
}

static void ids_and_groups_are_read(void)
{
	T_INT(parse(TEXT("10 20 ", "00000000a80425fb")), 0);
	T_INT(c.tgid, 41);
	T_INT(c.uid, 4);
	T_INT(c.gid, 8);
	T_INT(c.n_groups, 2);
	T_INT(c.group[1], 20);
	T_TRUE(c.capabilities == 0xa80425fb);
	T_INT(parse(TEXT("", "ffffffffffffffff")), 0);
	T_INT(c.n_groups, 0);
	T_TRUE(c.capabilities == UINT64_MAX);
}

static void bad_texts(void)
{
	static char many[8 * CALLER_GROUPS_MAX + 256];
	size_t n;

	T_INT(parse(""), -E2BIG);
	T_INT(parse("Tgid:\t41\nUid:\t1\t2\t3\n"), -EINVAL);
	T_INT(parse(TEXT("10 x", "0000000000000000")), -EINVAL);
	T_INT(parse(TEXT("10", "00000000")), -EINVAL);
	T_INT(parse(TEXT("10", "00000000A80425FB")), -EINVAL);
	n = (size_t)snprintf(many, sizeof(many),
			     "Tgid:\t1\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
			     "Groups:\t");
	for (unsigned i = 0; i <= CALLER_GROUPS_MAX; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, "%u ", i);
	T_INT(parse(many), -E2BIG); /* one group too many */
}

static void link_is(const char *path, const char *link, const char *rest)
{
	char got[CALLER_LINK_BYTES] = "";
	const char *got_rest = "";
	bool owns = caller_owns_link(&c, path, got, &got_rest);

	T_STR(owns ? got : "none", link);
	T_STR(owns ? got_rest : "", rest);
}

static void links(void)
{
	c = (struct caller){ .tid = 42, .tgid = 41 };
	link_is("/proc/self/fd/5", "41/fd/5", "");
	link_is("/proc/self/fd/5//a/b", "41/fd/5", "a/b");
	link_is("/proc//self///fd/5", "41/fd/5", "");
	link_is("/proc/thread-self/fd/5", "41/task/42/fd/5", "");
	link_is("/proc/42/cwd/x", "41/task/42/cwd", "x");
	link_is("/proc/41/root", "41/root", "");
	link_is("/proc/self/exe", "41/exe", "");
	link_is("/dev/fd/0", "41/fd/0", "");
	link_is("/dev/fd", "none", "");
	link_is("/proc/self/fd", "none", "");
	link_is("/proc/self/fd/", "none", "");
	link_is("/proc/self/fd/5x", "none", "");
	link_is("/proc/self/fd/../cwd", "none", "");
	link_is("/proc/self/fd/12345678901", "none", "");
	link_is("/proc/selfish/fd/5", "none", "");
	link_is("/proc/1/cwd", "none", "");
	link_is("/proc/411/cwd", "none", "");
	link_is("proc/self/fd/5", "none", "");
	link_is("", "none", "");
}

int main(void)
{
	T_RUN(ids_and_groups_are_read);
	T_RUN(bad_texts);
	T_RUN(links);
	return t_end();
}
