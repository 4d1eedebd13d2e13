/* Tests the sockets of a home. */
#include "state/home.h"

#include <errno.h>

#include "state_home.h"

/* The address of a socket has room for 107 bytes. If a suffix does not fit, the functions must
 * return an error, whatever errno was before. */
static void a_socket_name_that_is_too_long_is_an_error(void)
{
	AUTO_BUF suffix = BUF_INIT(256);
	int fd = -1;

	buf_add_fill(&suffix, 'x', 200);
	errno = 0;
	T_INT(home_connect(&home, "a", buf_str(&suffix), &fd), -ENAMETOOLONG);
	errno = 0;
	T_INT(home_listen(&home, "a", buf_str(&suffix), &fd), -ENAMETOOLONG);
	T_INT(fd, -1);
}

int main(void)
{
	begin_home();
	T_RUN(a_socket_name_that_is_too_long_is_an_error);
	end_home();
	return t_end();
}
