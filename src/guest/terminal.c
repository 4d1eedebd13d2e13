#include "guest/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

int terminal_open(uint32_t owner, uint32_t rows, uint32_t cols, int *ret_master, int *ret_slave)
{
	AUTO_FD master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FD slave = -1;
	int unlock = 0;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	/* open the slave by the descriptor of the master, because pid 1 trusts no path of the
	 * sandbox */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	/* fchown() may fail in a sandbox that has only one id, but there the slave already has the
	 * right owner */
	IGNORE(fchown(slave, owner, (gid_t)-1));
	terminal_resize(master, rows, cols);
	*ret_master = fd_take(&master);
	*ret_slave = fd_take(&slave);
	return 0;
}

void terminal_resize(int master, uint32_t rows, uint32_t cols)
{
	struct winsize w = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };

	if (rows && cols)
		IGNORE(ioctl(master, TIOCSWINSZ, &w)); /* a command can live with a wrong size */
}

bool terminal_has_size(int master, uint32_t rows, uint32_t cols)
{
	struct winsize w;

	return ioctl(master, TIOCGWINSZ, &w) == 0 && w.ws_row == rows && w.ws_col == cols;
}
