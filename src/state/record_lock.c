#include "state/record_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "state/home.h"
#include "state/record.h"
#include "state/removal.h"

#define START_WAIT_MS 10000 /* a start that takes longer is stuck */

int record_is_live(int dir)
{
	AUTO_FD fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	/* if the shared lock is refused, another process holds the lock exclusively; closing the
	 * descriptor releases our lock */
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? 1 : -errno;
}

int record_open_lock(const struct home *h, const char *name, int *ret_dir, int *ret_lock,
		     struct err *e)
{
	AUTO_FD dir = -1;

	if (record_open(h, name, &dir, e) < 0)
		return -1;
	*ret_lock = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*ret_lock < 0)
		return err_sys(e, errno, "open the lock of sandbox '%s'", name);
	*ret_dir = fd_take(&dir);
	return 0;
}

int record_lock(const struct home *h, const char *name, int dir, int lock, unsigned wait_ms,
		struct err *e)
{
	struct stat st;
	int r;

	r = lock_flock(lock, LOCK_EX, wait_ms);
	if (r == -ETIMEDOUT)
		return err_set(e, ERR_BUSY, "sandbox '%s' is in use by another command", name);
	if (r < 0)
		return err_sys(e, -r, "lock sandbox '%s'", name);
	/* the record may have been retired while we waited */
	if (fstat(lock, &st) < 0 || st.st_nlink == 0 || record_is_retired(h, name, dir))
		return err_set(e, ERR_NOT_FOUND, "sandbox not found: %s", name);
	return 0;
}

/* Takes the second lock, on the first byte of the file `lock` (state/record_lock.h). Both locks
 * belong to the open file, not to the process. So the supervisor, which inherits the descriptor,
 * also holds both locks. */
void record_start_begins(int lock)
{
	/* if this fails, other commands do not wait for our start */
	IGNORE(lock_first_byte(lock, F_WRLCK, START_WAIT_MS));
}

void record_start_ends(int lock)
{
	IGNORE(lock_first_byte(lock, F_UNLCK, 0));
}

void record_await_start(const struct home *h, const char *name)
{
	struct err absent;
	AUTO_FD dir = -1;
	AUTO_FD fd = -1;

	if (record_open(h, name, &dir, &absent) == 0)
		fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) /* closing the descriptor releases the lock */
		IGNORE(lock_first_byte(fd, F_RDLCK, START_WAIT_MS));
}

bool record_is_starting(int dir)
{
	AUTO_FD lock = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1 };

	return lock < 0 || fcntl(lock, F_OFD_GETLK, &l) < 0 || l.l_type != F_UNLCK;
}
