#include "process/host_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/erase.h"
#include "base/io.h"
#include "base/sha256.h"
#include "process/host_etc.h"
#include "spec/host_users.h"

#define HOST_IMAGE_VERSION 7
#define PLACES "places-2" /* we raise the number when we change the list of places */
/* `image prune` may remove a directory after we have made it and before we lock it; then we make it
 * again, up to this number of times in all */
#define MAKE_TRIES_MAX 3

static const char *const program_dirs[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };

/* Returns true if all users may search all directories above PATH. */
static bool is_reachable(const char *path)
{
	char above[64];
	struct stat st;

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		if (stat(above, &st) < 0 || !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

/* Sets D->local_etc to the real path of /usr/local/etc, which may be a link. The result is "" if
 * there is no such directory, or if its path is in none of the directories of *D. */
static void find_local_etc(struct host_dirs *d)
{
	struct stat st;

	if (realpath("/usr/local/etc", d->local_etc) && stat(d->local_etc, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		for (unsigned i = 0; i < d->n; i++) {
			size_t n = strlen(d->path[i]);

			if (strncmp(d->local_etc, d->path[i], n) == 0 && d->local_etc[n] == '/')
				return;
		}
	d->local_etc[0] = '\0';
}

void host_dirs_find(struct host_dirs *ret)
{
	static const char *const absolute[] = {
		"/usr",
		"/bin",
		"/sbin",
		"/lib",
		"/lib32",
		"/lib64",
		"/libx32",
		/* each of these holds hundreds of links that all users may read, so we mount the
		 * directory instead of copying it */
		"/etc/alternatives",
		"/etc/ssl/certs",
	};
	struct stat st;

	*ret = (struct host_dirs){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(absolute); i++)
		if (lstat(absolute[i], &st) == 0 && S_ISDIR(st.st_mode) &&
		    is_reachable(absolute[i]))
			ret->path[ret->n++] = absolute[i];
	find_local_etc(ret);
}

static void base_key(char out[17])
{
	char hex[SHA256_HEX_BYTES];
	AUTO_BUF b = BUF_INIT(8192);
	struct stat st;

	buf_addf(&b, "v%d", HOST_IMAGE_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(program_dirs); i++) {
		char path[32];

		snprintf(path, sizeof(path), "/%s", program_dirs[i]);
		if (lstat(path, &st) == 0)
			buf_addf(&b, " %s %o", path, st.st_mode & S_IFMT);
	}
	host_etc_key(&b);
	sha256_hex(buf_str(&b), b.n, hex);
	snprintf(out, 17, "%.16s", hex);
}

static int make(int root, const char *path, mode_t mode)
{
	/* mkdirat obeys the umask, so fchmodat sets the mode */
	if (mkdirat(root, path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return fchmodat(root, path, mode, 0) < 0 ? -errno : 0;
}

static int put(int root, const char *path, const char *text, mode_t mode)
{
	AUTO_FD fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int r = fd < 0 ? -errno : io_write_all(fd, text, strlen(text));

	return r < 0 ? r : fchmod(fd, mode) < 0 ? -errno : 0;
}

static const struct {
	const char *path;
	mode_t mode;
} dirs[] = {
	// clang-format off
	{ "dev", 0755 },  { "etc", 0755 },     { "home", 0755 },    { "media", 0755 },
	{ "mnt", 0755 },  { "opt", 0755 },     { "proc", 0555 },    { "root", 0700 },
	{ "run", 0755 },  { "run/lock", 01777 }, { "run/microsandbox", 0755 },
	{ "srv", 0755 },  { "sys", 0555 },     { "tmp", 01777 },    { "usr", 0755 },
	{ "var", 0755 },  { "var/cache", 0755 }, { "var/lib", 0755 }, { "var/log", 0755 },
	{ "var/spool", 0755 }, { "var/tmp", 01777 }, { ".msb", 0755 }, { "etc/ssl", 0755 }, { "etc/ssl/certs", 0755 },
	{ "etc/alternatives", 0755 },
	// clang-format on
};

static const struct {
	const char *path, *text;
	mode_t mode;
} texts[] = {
	// clang-format off
	{ "etc/passwd", HOST_IMAGE_PASSWD, 0644 },
	{ "etc/group", HOST_IMAGE_GROUP, 0644 },
	{ "etc/nsswitch.conf",
	  "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
	  "networks: files\nprotocols: files\nservices: files\n", 0644 },
	{ "etc/shells", "/bin/sh\n/bin/bash\n/usr/bin/bash\n/bin/dash\n", 0644 },
	{ "etc/host.conf", "multi on\n", 0644 },
	/* `-O /` is true for root, who owns the root directory. To run `id` instead would take
	 * longer than everything else that a login shell does. */
	{ "etc/profile",
	  "if [ -O / ]; then\n"
	  "  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
	  "else\n"
	  "  PATH=/usr/local/bin:/usr/bin:/bin\n"
	  "fi\n"
	  "# >>> sandbox scripts\n"
	  "PATH=/.msb/scripts:$PATH\n"
	  "# <<< sandbox scripts\n"
	  "export PATH\n"
	  "if [ -n \"$BASH\" ] && [ \"$BASH\" != /bin/sh ]; then . /etc/bash.bashrc; fi\n", 0644 },
	/* the prompt shows \\h, the host name, which is the name of the sandbox */
	{ "etc/bash.bashrc", "if [ -n \"$PS1\" ]; then PS1='\\u@\\h:\\w\\$ '; fi\n", 0644 },
	// clang-format on
};

static int build(int root)
{
	AUTO_FD etc = -1;
	char target[64];
	struct stat st;
	ssize_t n;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if ((r = make(root, dirs[i].path, dirs[i].mode)) < 0)
			return r;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if ((r = put(root, texts[i].path, texts[i].text, texts[i].mode)) < 0)
			return r;
	for (size_t i = 0; i < ARRAY_SIZE(program_dirs); i++) {
		char path[32];

		snprintf(path, sizeof(path), "/%s", program_dirs[i]);
		if (lstat(path, &st) < 0)
			continue;
		n = S_ISLNK(st.st_mode) ? readlink(path, target, sizeof(target) - 1) : -1;
		if (n > 0) {
			target[n] = '\0';
			if (symlinkat(target, root, program_dirs[i]) < 0)
				return -errno;
		} else if (S_ISDIR(st.st_mode) && (r = make(root, program_dirs[i], 0755)) < 0) {
			return r;
		}
	}
	/* each sandbox has its own version of these files, in its /.msb */
	if (symlinkat("/.msb/hosts", root, "etc/hosts") < 0 ||
	    symlinkat("/.msb/hostname", root, "etc/hostname") < 0 ||
	    symlinkat("/.msb/resolv.conf", root, "etc/resolv.conf") < 0)
		return -errno;
	if (symlinkat("/run", root, "var/run") < 0 ||
	    symlinkat("/run/lock", root, "var/lock") < 0 ||
	    symlinkat("/proc/self/mounts", root, "etc/mtab") < 0)
		return -errno;
	etc = openat(root, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (etc < 0)
		return -errno;
	host_etc_copy(etc);
	return 0;
}

/* Makes the mount points that every sandbox needs and that an image may lack. */
static int build_places(int root)
{
	static const char *const places[] = {
		"dev", "etc", "proc", "sys", ".msb", "run", "run/microsandbox"
	};
	static const char *const files[] = { "etc/hosts", "etc/hostname", "etc/resolv.conf" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++)
		r = make(root, places[i], 0755);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
		r = put(root, files[i], "", 0644);
	return r;
}

static int open_directory(int dirfd, const char *path)
{
	return openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Makes the directory NAME under another name and then renames it, so that other processes see all
 * of it or nothing. The caller holds the lock of the directory HOST. */
static int make_alone(int host, const char *name, int (*build_it)(int root), int *ret_fd)
{
	char temp[64];
	AUTO_FD fd = -1;
	int r;

	snprintf(temp, sizeof(temp), "new-%s", name);
	r = erase_tree(host, temp); /* a killed process may have left this directory */
	if (r == 0 && mkdirat(host, temp, 0755) < 0)
		r = -errno;
	if (r < 0)
		return r;
	fd = open_directory(host, temp);
	r = fd < 0 || fchmod(fd, 0755) < 0 ? -errno : build_it(fd);
	if (r == 0 && renameat(host, temp, host, name) < 0)
		r = -errno;
	if (r < 0)
		IGNORE(erase_tree(host, temp)); /* if this fails, the next command erases TEMP */
	else
		*ret_fd = fd_take(&fd);
	return r;
}

static int make_once(int cache_fd, const char *name, int (*build_it)(int root), int *ret_fd)
{
	AUTO_FD host = -1;
	int r;

	if (mkdirat(cache_fd, "host", 0755) < 0 && errno != EEXIST)
		return -errno;
	host = open_directory(cache_fd, "host");
	do
		r = host < 0 || flock(host, LOCK_EX) < 0 ? -errno : 0;
	while (r == -EINTR);
	if (r < 0)
		return r;
	/* another command may have made the directory meanwhile */
	*ret_fd = open_directory(host, name);
	return *ret_fd >= 0 ? 0 : make_alone(host, name, build_it, ret_fd);
}

/* The argument of make_as_root(). That function makes the directory CACHE_FD/host/NAME, which then
 * belongs to the root user of the sandbox. */
struct make_args {
	int cache_fd;
	const char *name;
	int (*build_it)(int root);
	const struct ids *ids;
};

static int make_as_root(void *arg)
{
	const struct make_args *a = arg;
	uid_t uid = ids_outer_uid(a->ids, 0);
	gid_t gid = ids_outer_gid(a->ids, 0);
	AUTO_FD made = -1;

	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return make_once(a->cache_fd, a->name, a->build_it, &made);
}

/* Makes the directory CACHE_FD/host/NAME. The user who runs cordon cannot give files to other ids.
 * So if the sandbox's root is not this user, a process in a namespace with the sandbox's ids makes
 * the directory. */
static int make_for(const struct make_args *a, int *ret_fd, struct err *e)
{
	int r;

	if (!ids_rotated(a->ids)) {
		r = make_once(a->cache_fd, a->name, a->build_it, ret_fd);
		return r < 0 ? err_sys(e, -r, "make 'host/%s'", a->name) : 0;
	}
	/* `host` itself belongs to the user who runs cordon */
	if (mkdirat(a->cache_fd, "host", 0755) < 0 && errno != EEXIST)
		return err_sys(e, errno, "make 'host'");
	if (ids_run(a->ids, make_as_root, (void *)a, e) < 0)
		return err_wrap(e, "make 'host/%s'", a->name);
	return 0;
}

/* Opens the directory PATH. LOCK is true if the directory has files with other ids than the user's.
 * `image prune` removes such directories. So if LOCK is true, the descriptor holds a lock that
 * prevents the removal. Fails with -ENOENT if the directory was removed meanwhile. */
static int open_locked(int cache_fd, const char *path, bool lock)
{
	struct stat ours, theirs;
	AUTO_FD fd = open_directory(cache_fd, path);
	int r;

	if (fd < 0)
		return -errno;
	if (!lock)
		return fd_take(&fd);
	do
		r = flock(fd, LOCK_SH);
	while (r < 0 && errno == EINTR);
	if (r < 0 || fstat(fd, &ours) < 0)
		return -errno;
	if (fstatat(cache_fd, path, &theirs, AT_SYMLINK_NOFOLLOW) < 0 ||
	    ours.st_ino != theirs.st_ino)
		return -ENOENT;
	return fd_take(&fd);
}

/* Opens the directory CACHE_FD/host/NAME, and makes it if it is missing. */
static int open_made_once(int cache_fd, const char *base, const struct ids *i,
			  int (*build_it)(int root), int *ret_fd, struct err *e)
{
	char name[32], path[64];
	const struct make_args a = { cache_fd, name, build_it, i };

	/* The directory exists once for each owner and group of its files, under different names.
	 * Without a suffix both ids are those of the user who runs cordon. With "-u" the owner is
	 * the first id of this user's range of user ids. With "-g" the group is the first id of the
	 * range of group ids. */
	snprintf(name, sizeof(name), "%s%s%s", base, i->rotation.uid ? "-u" : "",
		 i->rotation.gid ? "-g" : "");
	snprintf(path, sizeof(path), "host/%s", name);
	*ret_fd = open_locked(cache_fd, path, ids_rotated(i));
	for (unsigned tries = 0; *ret_fd == -ENOENT && tries < MAKE_TRIES_MAX; tries++) {
		if (make_for(&a, ret_fd, e) < 0)
			return -1;
		if (*ret_fd < 0)
			*ret_fd = open_locked(cache_fd, path, ids_rotated(i));
	}
	return *ret_fd < 0 ? err_sys(e, -*ret_fd, "open '%s'", path) : 0;
}

int host_image_open_base(int cache_fd, const struct ids *i, int *ret_fd, struct err *e)
{
	char key[17];

	base_key(key);
	if (open_made_once(cache_fd, key, i, build, ret_fd, e) < 0)
		return err_wrap(e, "the base of image 'host'");
	return 0;
}

int host_image_open_places(int cache_fd, const struct ids *i, int *ret_fd, struct err *e)
{
	if (open_made_once(cache_fd, PLACES, i, build_places, ret_fd, e) < 0)
		return err_wrap(e, "the base of images");
	return 0;
}
