#include "cli/script.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Returns true for /dev/null, which is the standard input of programs that get no input. */
static bool is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* poll() says that a socket is readable even if the socket's stream has ended. So this function
 * checks that there is a byte. */
static bool socket_has_byte(void)
{
	char c;

	return recv(STDIN_FILENO, &c, 1, MSG_PEEK) > 0;
}

bool script_waits(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat st;

	if (fstat(STDIN_FILENO, &st) < 0 || is_null(&st))
		return false;
	if (S_ISREG(st.st_mode))
		return lseek(STDIN_FILENO, 0, SEEK_CUR) < st.st_size;
	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return false;
	return p.revents & POLLIN && (!S_ISSOCK(st.st_mode) || socket_has_byte());
}
