#include "supervisor/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/mount.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"

/* The loop device shares the description that is locked, so the lock outlives even a killed
 * supervisor until the file system is unmounted. That takes a moment after a stop. */
#define LOCK_WAIT_NS NS_PER_SEC
#define LOCK_RETRY_MS 5
#define LOOP_TRIES 64 /* a free number may be taken by another program before we configure it */

struct disk_hold {
	struct disk_hold *next;
	int fd; /* locked */
};

static int open_locked(struct supervisor *s, const struct spec_mount *m, int *ret_fd, struct err *e)
{
	AUTO_FREE char *path = xasprintf("volumes/%s/disk.raw", m->source);
	AUTO_FD fd = openat(s->home.fd, path,
			    (m->readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW);
	uint64_t deadline = clock_mono_ns() + LOCK_WAIT_NS;
	struct disk_hold *hold;

	if (fd < 0)
		return err_sys(e, errno, "disk volume '%s'", m->source);
	while (flock(fd, (m->readonly ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_sys(e, errno, "lock disk volume '%s'", m->source);
		if (clock_mono_ns() < deadline) {
			IGNORE(poll(NULL, 0, LOCK_RETRY_MS));
			continue;
		}
		err_set(e, ERR_BUSY, "disk volume '%s' is mounted by another sandbox", m->source);
		return err_hint(
			e, "a disk has one writer at a time; stop the other sandbox, or mount it "
			   "read-only in all of them");
	}
	hold = xcalloc(1, sizeof(*hold));
	hold->next = s->disks;
	hold->fd = *ret_fd = fd_take(&fd);
	s->disks = hold;
	return 0;
}

void disks_release(struct supervisor *s)
{
	while (s->disks) {
		struct disk_hold *next = s->disks->next;

		fd_closep(&s->disks->fd);
		free(s->disks);
		s->disks = next;
	}
}

/* A loop device over FILE, by name and open: it lives as long as it is open or mounted. */
static int open_loop(int file, bool readonly, char path[32], int *ret_fd, struct err *e)
{
	AUTO_FD control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = {
		.fd = (unsigned)file,
		.info = { .lo_flags = LO_FLAGS_AUTOCLEAR | (readonly ? LO_FLAGS_READ_ONLY : 0) },
	};

	if (control < 0) {
		err_sys(e, errno, "open '/dev/loop-control'");
		return err_hint(e, "disk volumes need loop devices: modprobe loop");
	}
	for (unsigned i = 0; i < LOOP_TRIES; i++) {
		AUTO_FD fd = -1;
		int n = ioctl(control, LOOP_CTL_GET_FREE);

		if (n < 0)
			return err_sys(e, errno, "find a free loop device");
		snprintf(path, 32, "/dev/loop%d", n);
		fd = open(path, (readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC);
		if (fd < 0)
			return err_sys(e, errno, "open '%s'", path);
		if (ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
			*ret_fd = fd_take(&fd);
			return 0;
		}
		if (errno != EBUSY)
			return err_sys(e, errno, "set up '%s'", path);
	}
	return err_set(e, ERR_LIMIT, "no free loop device");
}

static int mount_device(const char *device, bool readonly, int *ret_fd)
{
	AUTO_FD fs = sys_fsopen("ext4", FSOPEN_CLOEXEC);

	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_SET_STRING, "source", device, 0) < 0 ||
	    (readonly && sys_fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0) ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	*ret_fd = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV);
	return *ret_fd;
}

int disk_mount(struct supervisor *s, const struct spec_mount *m, int *ret_fd, struct err *e)
{
	AUTO_FD loop = -1;
	char device[32];
	int file = -1;

	if (!s->parent_mounts) {
		err_set(e, ERR_UNSUPPORTED, "disk volume '%s' cannot be mounted without root",
			m->source);
		return err_hint(e, "use a directory volume: leave kind=disk and size= out");
	}
	if (open_locked(s, m, &file, e) < 0 || open_loop(file, m->readonly, device, &loop, e) < 0)
		return -1;
	if (mount_device(device, m->readonly, ret_fd) < 0)
		return err_sys(e, errno, "mount disk volume '%s'", m->source);
	return 0;
}
