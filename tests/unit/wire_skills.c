#include "wire/skills.h"

#include <errno.h>

#include "base/cleanup.h"
#include "t.h"

static void there_and_back(void)
{
	AUTO_BUF b = BUF_INIT(1000);
	size_t n = 0;

	skills_message_begin(&b);
	buf_add_str(&b, "{\"op\":\"list\"}");
	skills_message_end(&b);
	T_INT(b.n, 4 + 13);
	T_TRUE(memcmp(b.p, "\x0d\0\0\0{\"op\"", 9) == 0);
	T_INT(skills_message_size((const unsigned char *)b.p, 100, &n), 0);
	T_INT(n, 13);
}

static void lengths(void)
{
	size_t n = 7;

	T_INT(skills_message_size((const unsigned char *)"\0\0\0\0", 100, &n), -EMSGSIZE);
	T_INT(skills_message_size((const unsigned char *)"\x65\0\0\0", 100, &n), -EMSGSIZE);
	T_INT(skills_message_size((const unsigned char *)"\xff\xff\xff\xff", 100, &n), -EMSGSIZE);
	T_INT(n, 7);
	T_INT(skills_message_size((const unsigned char *)"\x64\0\0\0", 100, &n), 0);
	T_INT(n, 100);
	T_INT(skills_message_size((const unsigned char *)"\1\2\3\0", 1 << 20, &n), 0);
	T_INT(n, 0x030201);
}

static void a_message_that_did_not_fit(void)
{
	AUTO_BUF b = BUF_INIT(10);

	skills_message_begin(&b);
	buf_add_str(&b, "far too long");
	skills_message_end(&b);
	T_TRUE(buf_failed(&b));
}

int main(void)
{
	T_RUN(there_and_back);
	T_RUN(lengths);
	T_RUN(a_message_that_did_not_fit);
	return t_end();
}
