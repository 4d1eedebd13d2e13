#include "state/home.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/account.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/compat.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/str.h"
#include "state/places.h"

#define MARKER ".cordon-home"
#define MARKER_HEAD "cordon state directory, format "
#define HOME_FORMAT 1
/* the marker holds the escaped path and the identity of each place */
#define MARKER_MAX_BYTES (4096u + HOME_PLACES_MAX * (PATH_MAX * 2u + 1024u))
#define PLACE_WORD "place "
#define LISTEN_BACKLOG 1024 /* the number of clients that can wait until pid 1 accepts them */

/* Returns the path of the home: the value of CORDON_HOME or MSB_HOME, or a path that is built in
 * JOINED. After a failure, returns NULL. */
static const char *wanted_path(char joined[PATH_MAX], struct err *e)
{
	const char *home = getenv("CORDON_HOME");
	char account[PATH_MAX];

	if (!home || !*home)
		home = getenv("MSB_HOME");
	if (home && *home)
		return home;
	home = account_home(account);
	if (!home) {
		err_set(e, ERR_INVALID,
			"no home directory: neither CORDON_HOME nor HOME is set, and the password "
			"database has none");
		return NULL;
	}
	if (snprintf(joined, PATH_MAX, "%s/.cordon", home) >= PATH_MAX) {
		err_set(e, ERR_INVALID, "HOME is longer than a path may be");
		return NULL;
	}
	return joined;
}

static const char *const socket_kinds[] = { "sock", "ctl" }; /* suffixes of the sockets in run/ */
static const char *const dirs[] = { "sandboxes", "volumes", "cache", "run", "bin" };

static bool is_empty(int fd, const char *name)
{
	AUTO_FD one = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	AUTO_DIR d = one < 0 ? NULL : dir_open(one, ".");

	return d && !dir_next(d);
}

/* Returns true for an entry that a new home may already have. Such an entry is the configuration,
 * which users may write before the first command, or an empty directory that another command may
 * have just made to adopt the home. */
static bool is_known(int fd, const char *name)
{
	if (strcmp(name, "config.json") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (strcmp(name, dirs[i]) == 0)
			return is_empty(fd, name);
	return false;
}

static bool is_fresh(int fd)
{
	AUTO_DIR d = dir_open(fd, ".");
	const struct dirent *entry;
	bool fresh = d != NULL;

	while (fresh && (entry = dir_next(d)))
		fresh = is_known(fd, entry->d_name);
	/* if there is a marker now, another command has adopted the home meanwhile and may have
	 * added files */
	return fresh || faccessat(fd, MARKER, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int advise(struct err *e)
{
	return err_hint(e, "set CORDON_HOME to a directory that cordon may have for itself");
}

static int refuse(const char *path, const char *why, struct err *e)
{
	err_set(e, ERR_DENIED, "state directory '%s' %s", path, why);
	return advise(e);
}

/* Tells ext4 to spread sandboxes over its block groups. Without a journal, as in many virtual
 * machines, ext4 skips all recently deleted inodes of a block group whenever it makes a file in the
 * group. So making a file is slow if all sandboxes share one group. Other file systems do not know
 * the flag. */
static void spread(int fd, const char *dir)
{
	AUTO_FD one = openat(fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int flags;

	if (one < 0 || ioctl(one, FS_IOC_GETFLAGS, &flags) < 0)
		return;
	flags |= FS_TOPDIR_FL;
	IGNORE(ioctl(one, FS_IOC_SETFLAGS, &flags)); /* without the flag, ext4 is only slower */
}

/* Makes the directory DIR in the home. After a failure, returns false and sets errno. */
static bool make_part(int fd, const char *dir)
{
	if (mkdirat(fd, dir, 0700) < 0)
		return false;
	if (strcmp(dir, "sandboxes") == 0)
		spread(fd, dir);
	return true;
}

/* Turns a directory for which is_fresh() is true into a home. */
static int adopt(const char *path, int fd, struct err *e)
{
	char text[MARKER_MAX_BYTES];
	AUTO_FD marker = -1;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (!make_part(fd, dirs[i]) && errno != EEXIST)
			return err_sys(e, errno, "make '%s/%s'", path, dirs[i]);
	marker = openat(fd, MARKER, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	snprintf(text, sizeof(text), MARKER_HEAD "%d\n", HOME_FORMAT);
	if (marker < 0 || io_write_all(marker, text, strlen(text)) < 0)
		return err_sys(e, errno, "write '%s/%s'", path, MARKER);
	return 0;
}

/* The second line of the marker file is empty, or it is one of these texts and the kernel's
 * release. */
static const char *const served_words[] = {
	[HOME_SERVED_ON_DISK] = "layers on disk by fuse-overlayfs: Linux ",
	[HOME_SERVED_ALL] = "layers by fuse-overlayfs: Linux ",
};

/* Reads the second line of the marker file. Ignores a text that names another kernel release,
 * because this kernel may be able to mount the layers itself. */
static enum home_served read_served(const char *line)
{
	struct utsname u;

	for (unsigned i = HOME_SERVED_ON_DISK; *line && i < ARRAY_SIZE(served_words); i++)
		if (starts_with(line, served_words[i]) && uname(&u) == 0 &&
		    strcmp(line + strlen(served_words[i]), u.release) == 0)
			return (enum home_served)i;
	return HOME_SERVED_NOTHING;
}

/* Reads one line after the second line of the marker file. The line is "place " and a JSON object
 * with name, path and identity. A line that begins with another word is from a newer cordon and is
 * ignored. */
static void read_place(struct home *h, const char *line)
{
	AUTO_JSON doc = NULL;
	const char *name, *path;
	struct identity id;
	struct err ignored;

	if (!starts_with(line, PLACE_WORD) || h->n_places == HOME_PLACES_MAX ||
	    json_parse(line + strlen(PLACE_WORD), strlen(line) - strlen(PLACE_WORD), &doc,
		       &ignored) < 0)
		return;
	name = json_get_str(json_root(doc), "name", NULL);
	path = json_get_str(json_root(doc), "path", NULL);
	if (!name || !path || *path != '/' ||
	    identity_read_json(json_get(json_root(doc), "identity"), "identity", &id, &ignored) < 0)
		return;
	h->place[h->n_places++] = (struct home_place){ xstrdup(name), xstrdup(path), id };
}

static void write_place(struct buf *text, const char *name, const char *path,
			const struct identity *id)
{
	struct json_writer w;

	buf_add_str(text, PLACE_WORD);
	json_writer_init(&w, text, 0);
	json_begin_object(&w);
	json_key(&w, "identity");
	identity_write_json(id, &w);
	json_key_str(&w, "name", name);
	json_key_str(&w, "path", path);
	json_end_object(&w);
	buf_add_char(text, '\n');
}

/* Reads the contents TEXT of the marker file, and cuts TEXT into lines. Refuses a newer format,
 * because its contents may mean something else. An empty marker file is no error: another command
 * has made the file and is about to write it. */
static int check_format(struct home *h, const char *path, char *text, struct err *e)
{
	char *served, *rest = text;
	uint64_t format;

	if (!*text)
		return 0;
	strsep(&rest, "\n");
	if (!starts_with(text, MARKER_HEAD) ||
	    parse_u64(text + strlen(MARKER_HEAD), 1, UINT64_MAX, &format) < 0)
		return refuse(path, "has a '" MARKER "' that is not cordon's", e);
	if (format != HOME_FORMAT) {
		err_set(e, ERR_UNSUPPORTED,
			"state directory '%s' has format %llu, this cordon knows %d: a newer one "
			"made it",
			path, (unsigned long long)format, HOME_FORMAT);
		return err_hint(e, "update cordon, or set CORDON_HOME to another directory");
	}
	served = rest ? strsep(&rest, "\n") : NULL;
	h->served = served ? read_served(served) : HOME_SERVED_NOTHING;
	while (rest && *rest)
		read_place(h, strsep(&rest, "\n"));
	return 0;
}

static int read_marker(struct home *h, const char *path, int marker, struct err *e)
{
	char text[MARKER_MAX_BYTES];
	ssize_t n = read(marker, text, sizeof(text) - 1);

	if (n < 0)
		return err_sys(e, errno, "read '%s/%s'", path, MARKER);
	text[n] = '\0';
	return check_format(h, path, text, e);
}

/* Writes the marker file again. If SERVED is not NULL, the second line gets the value *SERVED. If
 * PLACE is not NULL, *PLACE replaces the old place of the same name, or is added. */
static int rewrite(const struct home *h, const enum home_served *served,
		   const struct home_place *place, struct err *e)
{
	AUTO_FD marker = openat(h->fd, MARKER, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	AUTO_BUF text = BUF_INIT(MARKER_MAX_BYTES - 1);
	struct home now = { .fd = -1 };
	enum home_served is;
	struct utsname u;
	int r = 0;

	if (marker >= 0 && read_marker(&now, h->path, marker, e) < 0)
		return -1;
	is = served ? *served : now.served;
	buf_addf(&text, MARKER_HEAD "%d\n", HOME_FORMAT);
	if (is != HOME_SERVED_NOTHING && uname(&u) == 0)
		buf_addf(&text, "%s%s", served_words[is], u.release);
	buf_add_char(&text, '\n');
	for (size_t i = 0; i < now.n_places; i++)
		if (!place || strcmp(now.place[i].name, place->name) != 0)
			write_place(&text, now.place[i].name, now.place[i].path,
				    &now.place[i].identity);
	if (place)
		write_place(&text, place->name, place->path, &place->identity);
	home_done(&now);
	r = buf_failed(&text) ? -EFBIG : io_replace_file(h->fd, MARKER, text.p, text.n, 0600);
	return r < 0 ? err_sys(e, -r, "write '%s/%s'", h->path, MARKER) : 0;
}

int home_set_served(const struct home *h, enum home_served served, struct err *e)
{
	return rewrite(h, &served, NULL, e);
}

int home_set_place(const struct home *h, const char *name, const char *path,
		   const struct identity *id, struct err *e)
{
	const struct home_place p = { (char *)name, (char *)path, *id };

	return rewrite(h, NULL, &p, e);
}

static int check_ours(struct home *h, const char *path, int fd, struct err *e)
{
	AUTO_FD marker = openat(fd, MARKER, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "look at '%s'", path);
	if (marker < 0 && errno == EACCES)
		return refuse(path, "belongs to another user", e);
	if (marker < 0) {
		AUTO_FD list = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (list < 0)
			return err_sys(e, errno, "open state directory '%s'", path);
		if (!is_fresh(list))
			return refuse(path, "holds files that are not cordon's", e);
		if (st.st_uid == geteuid() && adopt(path, fd, e) < 0)
			return -1;
	}
	if (st.st_uid != geteuid())
		return refuse(path, "belongs to another user", e);
	if (marker >= 0 && read_marker(h, path, marker, e) < 0)
		return -1;
	if ((st.st_mode & 077) && fchmodat(fd, ".", 0700, 0) < 0)
		return err_sys(e, errno, "make '%s' private", path);
	return 0;
}

/* --- parts that live elsewhere --------------------------------------------------------------- */

/* Returns true if PATH is a directory of ours with an empty file HOME_PLACE_MARK, by which the user
 * has marked this directory as the new place. places_apply() will put the place into the marker
 * file. */
static bool is_meant(const char *path)
{
	struct identity unknown = { 0 };
	AUTO_FD dir = -1;
	struct stat st, mark;
	struct err ignored;

	return identity_open(path, &unknown, &dir, &ignored) == 0 && fstat(dir, &st) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       fstatat(dir, HOME_PLACE_MARK, &mark, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(mark.st_mode) && mark.st_size == 0;
}

/* Checks that the link P->name in the home still leads to the directory to which it led when the
 * link was made. If the link has another path than P->path, this is no error: an older cordon made
 * the link, or a move was interrupted. */
static int check_place(const struct home *h, struct home_place *p, struct err *e)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(h->fd, p->name, target, sizeof(target));
	AUTO_FD fd = -1;

	if (n < 0 || (size_t)n != strlen(p->path) || memcmp(target, p->path, (size_t)n) != 0)
		return 0;
	p->held = identity_open(p->path, &p->identity, &fd, e) == 0;
	if (p->held)
		return 0;
	/* if the directory is missing or not readable, the command that needs it will report the
	 * error */
	if (e->code != ERR_DENIED || is_meant(p->path))
		return 0;
	err_wrap(e, "'%s/%s' is not the directory that it was", h->path, p->name);
	return err_hint(e, "is its disk mounted? If it is: touch " HOME_PLACE_MARK " there");
}

/* Refuses every value of MSB_BACKEND except "local", because no other backend exists. */
static int check_backend(struct err *e)
{
	const char *backend = getenv("MSB_BACKEND");

	if (!backend || !*backend || strcmp(backend, "local") == 0)
		return 0;
	err_set(e, ERR_UNSUPPORTED,
		"MSB_BACKEND: '%s' is not offered, sandboxes run on this machine", backend);
	return err_hint(e, "unset MSB_BACKEND, or set it to 'local'");
}

int home_open(struct home *h, struct err *e)
{
	char joined[PATH_MAX];
	const char *path;
	AUTO_FD fd = -1;

	*h = (struct home){ .fd = -1 };
	if (check_backend(e) < 0)
		return -1;
	path = wanted_path(joined, e);
	if (!path)
		return -1;
	/* we avoid open(), because in musl it makes a second system call to set close-on-exec */
	fd = openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (path_make(path, e) < 0) {
			err_wrap(e, "state directory '%s'", path);
			return advise(e);
		}
		fd = openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0) {
		err_sys(e, errno, "open state directory '%s'", path);
		return advise(e);
	}
	if (check_ours(h, path, fd, e) < 0)
		return -1;
	if (!realpath(path, h->path))
		return err_sys(e, errno, "resolve state directory '%s'", path);
	h->fd = fd_take(&fd);
	for (size_t i = 0; i < h->n_places; i++)
		if (check_place(h, &h->place[i], e) < 0)
			return -1;
	return 0;
}

void home_done(struct home *h)
{
	fd_closep(&h->fd);
	for (size_t i = 0; i < h->n_places; i++) {
		free_p(&h->place[i].name);
		free_p(&h->place[i].path);
	}
	h->n_places = 0;
}

void home_socket_id(const char *name, char out[HOME_ID_BYTES])
{
	char hex[SHA256_HEX_BYTES];

	sha256_hex(name, strlen(name), hex);
	snprintf(out, HOME_ID_BYTES, "%.16s", hex);
}

void home_machine_id(const struct home *h, const char *name, char out[HOME_ID_BYTES])
{
	AUTO_FREE char *full = NULL;
	char tag[HOME_ID_BYTES];
	struct stat st = { 0 };

	/* The device and the inode are part of the text. The path alone is not unique on this
	 * machine: two services may each have their own /tmp. */
	IGNORE(fstat(h->fd, &st) < 0);
	full = xasprintf("%llx:%llx %s/%s", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, h->path, name);
	home_socket_id(full, out);
	home_socket_id(h->path, tag);
	memcpy(out, tag, HOME_TAG_DIGITS);
}

bool home_mend(const struct home *h)
{
	bool made = false;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		made |= make_part(h->fd, dirs[i]);
	return made;
}

int home_open_part(const struct home *h, const char *part)
{
	int fd;

	do
		fd = openat(h->fd, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd < 0 && errno == ENOENT && home_mend(h));
	return fd;
}

int home_open_in(const struct home *h, const char *part, const char *rest, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	char path[PATH_MAX];

	for (size_t i = 0; i < h->n_places; i++) {
		struct identity id = h->place[i].identity;
		struct err changed;
		AUTO_FD fd = -1;

		if (!h->place[i].held || strcmp(h->place[i].name, part) != 0)
			continue;
		if (identity_open(h->place[i].path, &id, &fd, &changed) == 0)
			return sys_openat2(fd, rest, &how);
		errno = changed.sys ? changed.sys : ESTALE;
		return -1;
	}
	if (snprintf(path, sizeof(path), "%s/%s", part, rest) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return openat(h->fd, path, flags | O_CLOEXEC | O_NOFOLLOW);
}

int home_dir(const struct home *h, const char *dir, int *ret_fd, struct err *e)
{
	int fd;

	if (mkdirat(h->fd, dir, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "make '%s/%s'", h->path, dir);
	/* no O_NOFOLLOW, because DIR may be one of our own links (places.h) */
	fd = openat(h->fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "open '%s/%s'", h->path, dir);
	*ret_fd = fd;
	return 0;
}

void home_temporary_path(char out[HOME_TEMPORARY_BYTES], const char *folder, const char *what)
{
	uint64_t tag = 0;

	/* if the tag is not unique, no harm is done: making the directory fails with EEXIST */
	IGNORE(getrandom(&tag, sizeof(tag), 0) < 0);
	snprintf(out, HOME_TEMPORARY_BYTES, "%s.%s-%016llx", folder, what, (unsigned long long)tag);
}

/* Writes an address that fits into sun_path. If the home's path is too long, the address goes
 * through /proc/self/fd. */
static int socket_address(const struct home *h, const char *name, const char *suffix,
			  struct sockaddr_un *ret)
{
	char id[HOME_ID_BYTES];
	int n;

	home_socket_id(name, id);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/run/%s.%s", h->path, id, suffix);
	if (n < 0 || (size_t)n >= sizeof(ret->sun_path))
		n = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/run/%s.%s",
			     h->fd, id, suffix);
	return n < 0 || (size_t)n >= sizeof(ret->sun_path) ? -ENAMETOOLONG : 0;
}

int home_connect(const struct home *h, const char *name, const char *suffix, int *ret_fd)
{
	struct sockaddr_un a;
	int r = socket_address(h, name, suffix, &a);
	AUTO_FD fd = -1;

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	while (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		if (errno != EINTR)
			return -errno;
	*ret_fd = fd_take(&fd);
	return 0;
}

int home_listen(const struct home *h, const char *name, const char *suffix, int *ret_fd)
{
	struct sockaddr_un a;
	int r = socket_address(h, name, suffix, &a);
	AUTO_FD fd = -1;

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* the caller holds the sandbox's lock, so an existing socket belongs to a dead process */
	IGNORE(unlink(a.sun_path));
	while (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		if (errno != ENOENT || !home_mend(h))
			return -errno;
	if (listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	*ret_fd = fd_take(&fd);
	return 0;
}

void home_erase_sockets(const struct home *h, const char *name)
{
	char id[HOME_ID_BYTES], path[64];

	home_socket_id(name, id);
	for (size_t i = 0; i < ARRAY_SIZE(socket_kinds); i++) {
		snprintf(path, sizeof(path), "run/%s.%s", id, socket_kinds[i]);
		/* fails if there is no such file, which is the usual case */
		IGNORE(unlinkat(h->fd, path, 0));
	}
}
