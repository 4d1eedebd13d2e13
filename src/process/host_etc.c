/*
 * Two walks fill the copy of /etc (process/host_etc.h): one through /etc for the names in `wanted`,
 * and one through /usr and /etc/alternatives for links that lead to /etc. Both walks call
 * copy_path(), which copies one path, the directories above it and everything below it, and checks
 * the permissions of each.
 */
#include "process/host_etc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"
#include "process/host_secret.h"

/* we copy no larger file; the largest files that programs need, such as ld.so.cache and catalogues
 * of fonts, are smaller */
#define FILE_MAX_BYTES (8u << 20)
/* the most bytes of all files together; Debian with Java, Maven and TeX has 3 MiB */
#define TOTAL_MAX_BYTES (32u << 20)
#define ENTRIES_MAX 8192 /* the most files, links and directories in the copy */
/* how deep directories may lie below /etc, and how many links may follow each other */
#define DEPTH_MAX 12
/* We look for links in directories that are at most this deep below /usr, such as
 * /usr/share/maven/bin. To look through the whole of /usr would make the first start a second
 * slower. The targets of deeper links, such as the links of Java, are in the list `wanted`. */
#define USR_DEPTH_MAX 3
/* the size of the buffer for the names that one call reads; each level of a walk has such a buffer
 * on the stack */
#define LISTING_BYTES 16384

/* Names and patterns of files in /etc that programs open by their own path, not through a link in
 * /usr. None of these files is secret. */
static const char *const wanted[] = {
	"ld.so.cache",
	"ld.so.conf",
	"localtime",
	"timezone",
	"mime.types",
	"mailcap",
	"services",
	"protocols",
	"rpc",
	"netconfig",
	"networks",
	"ethertypes",
	"gai.conf",
	"os-release",
	"debian_version",
	"*-release",
	"inputrc",
	"bash_completion",
	"magic",
	"magic.mime",
	"manpath.config",
	"man_db.conf",
	"locale.alias",
	"terminfo",
	"login.defs",
	"mke2fs.conf",
	"wgetrc",
	"nanorc",
	"vim",
	"emacs",
	"fonts",
	"groff",
	"perl",
	"python3*",
	"java",
	"java-*",
	"maven",
	"gradle",
	"ant.d",
	"php",
	"R",
	"octave*",
	"texmf",
	"ghostscript",
	"ImageMagick-*",
	"xml",
	"sgml",
	"OpenCL",
	"vulkan",
	"glvnd",
	"fpc*.cfg",
	"gnucobol",
};

/* Directories in which we do not look for links: they have many entries and no configuration of
 * programs. */
static const char *const unsearched[] = {
	"/usr/include",   "/usr/src",         "/usr/share/doc",    "/usr/share/man",
	"/usr/local/etc", "/usr/share/icons", "/usr/share/locale", "/usr/share/zoneinfo",
};

/* Patterns of paths below /etc that are never copied. `*` also matches slashes. */
static const char *const unwanted[] = {
	/* the base (process/host_image.h) has its own files of these names, or the host's are
	 * mounted */
	"alternatives",
	"alternatives/*",
	"ssl/certs",
	"ssl/certs/*",
	"mtab",
	"profile",
	"shells",
	"bash.bashrc",
	"nsswitch.conf",
	"host.conf",
	"hosts",
	"hostname",
	"resolv.conf",
	/* these files have names of users, passwords, or names of the machine and its disks */
	"passwd*",
	"group*",
	"shadow*",
	"gshadow*",
	"subuid*",
	"subgid*",
	"sudoers*",
	"security*",
	"machine-id",
	"environment",
	"fstab",
	"crypttab",
	/* these files hold keys, or passwords of services */
	"ssl/private*",
	"pki/*/private*",
	"ssh*",
	"krb5*",
	"*.key",
	"*password*",
	/* editors and package managers leave these files behind */
	"*.dpkg-*",
	"*~",
};

/* host_etc_key() writes the ctimes of these files and directories to its text. A ctime changes with
 * the contents, the owner and the mode. A package that installs programs changes at least one of
 * the ctimes.
 *
 * The last two files are here because they often hold passwords, and a file with a password is
 * not copied. When its owner removes the password, the ctime changes, and the next base has the
 * file. */
static const char *const telling[] = {
	"ld.so.cache", "alternatives", "fonts/conf.d",       "maven",  "manpath.config",
	"perl",        "python3",      "maven/settings.xml", "wgetrc",
};

struct copy {
	int from, to; /* /etc of the host, and the new /etc */
	unsigned entries;
	uint64_t bytes;
	dev_t usr_dev;
	/* the text of the file that is being copied; the next file uses the same memory */
	struct buf text;
};

/* Lists the directory FD. The walk through /usr visits hundreds of directories. readdir() would
 * need three times as many system calls: it reads 2 KiB at a time, allocates memory and looks at
 * the flags of each descriptor. */
struct listing {
	int fd; /* borrowed */
	size_t at, n;
	_Alignas(struct dirent) char entries[LISTING_BYTES];
};

static void listing_init(struct listing *l, int fd)
{
	l->fd = fd;
	l->at = l->n = 0;
}

/* Returns the next entry, or NULL after the last one. */
static const struct dirent *listing_next(struct listing *l)
{
	const struct dirent *d;

	if (l->at >= l->n) {
		long n = syscall(SYS_getdents64, l->fd, l->entries, sizeof(l->entries));

		l->at = 0;
		l->n = n > 0 ? (size_t)n : 0;
		if (n <= 0)
			return NULL;
	}
	d = (const struct dirent *)(l->entries + l->at);
	l->at += d->d_reclen;
	return d;
}

/* Returns true if NAME matches a pattern in LIST. First compares the text before the wildcard
 * without fnmatch(), because fnmatch() takes longer than a system call. */
static bool matches(const char *name, const char *const list[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t plain = strcspn(list[i], "*");

		if (strncmp(list[i], name, plain) == 0 &&
		    (list[i][plain] ? fnmatch(list[i], name, 0) == 0 : !name[plain]))
			return true;
	}
	return false;
}

/* TEXT is the contents of a link in the directory DIR. Finds the absolute path to which the link
 * leads, by the text alone, without looking at the disk, and writes this path to RET. Returns false
 * if the path is too long or is the root. */
static bool resolve(const char *dir, const char *text, char ret[PATH_MAX])
{
	char whole[2 * PATH_MAX];
	struct str rest, part;
	size_t n = 0;

	if (snprintf(whole, sizeof(whole), "%s/%s", *text == '/' ? "" : dir, text) >=
	    (int)sizeof(whole))
		return false;
	rest = str_of(whole);
	while (rest.p) {
		part = str_cut(&rest, '/');
		if (part.n == 0 || (part.n == 1 && part.p[0] == '.'))
			continue;
		if (part.n == 2 && memcmp(part.p, "..", 2) == 0) {
			while (n && ret[--n] != '/')
				;
			continue;
		}
		if (n + part.n + 2 > PATH_MAX)
			return false;
		ret[n++] = '/';
		memcpy(ret + n, part.p, part.n);
		n += part.n;
	}
	ret[n] = '\0';
	return n > 0;
}

static bool is_program_path(const char *path)
{
	static const char *const places[] = { "/usr/",   "/bin/",   "/sbin/",  "/lib/",
					      "/lib32/", "/lib64/", "/libx32/" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strncmp(path, places[i], strlen(places[i])) == 0)
			return true;
	return strcmp(path, "/dev/null") == 0;
}

/* Returns true if all users may list and enter the directory. */
static bool is_open_to_all(const struct stat *st)
{
	const mode_t needed = S_IROTH | S_IXOTH;

	return S_ISDIR(st->st_mode) && (st->st_mode & needed) == needed;
}

static void copy_path(struct copy *c, const char *path, unsigned depth);

/* Copies the link NAME from the directory FROM to the directory TO. If the link leads to something
 * in /etc, also copies its target. If the link leads neither to /etc nor to a place of programs,
 * copies nothing. PATH is the link's path below /etc. */
static void copy_link(struct copy *c, int from, int to, const char *name, const char *path,
		      unsigned depth)
{
	const char *slash = strrchr(path, '/');
	char text[PATH_MAX], dir[PATH_MAX], target[PATH_MAX];
	ssize_t n = readlinkat(from, name, text, sizeof(text) - 1);

	if (n <= 0)
		return;
	text[n] = '\0';
	if (snprintf(dir, sizeof(dir), "/etc/%.*s", slash ? (int)(slash - path) : 0, path) >=
		    (int)sizeof(dir) ||
	    !resolve(dir, text, target))
		return;
	if (strncmp(target, "/etc/", 5) == 0)
		copy_path(c, target + 5, depth + 1);
	else if (!is_program_path(target))
		return;
	/* if this fails, the sandbox lacks the link */
	IGNORE(symlinkat(text, to, name));
}

static void copy_file(struct copy *c, int from, int to, const char *name, const struct stat *seen)
{
	AUTO_FD in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	AUTO_FD out = -1;
	struct stat st;

	buf_clear(&c->text);
	if (in < 0 || fstat(in, &st) < 0 || st.st_ino != seen->st_ino ||
	    st.st_dev != seen->st_dev || !(st.st_mode & S_IROTH) ||
	    io_read_to_end(in, &c->text) < 0 || c->bytes + c->text.n > TOTAL_MAX_BYTES)
		return;
	/* Do not look for secrets in openssl.cnf. The file that OpenSSL ships sets example
	 * passwords in lines that are not commented out, so the search would always find one */
	if (strcmp(name, "openssl.cnf") != 0 &&
	    host_secret_found((struct str){ buf_str(&c->text), c->text.n }))
		return;
	out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (out < 0)
		return; /* the base already has this file */
	c->bytes += c->text.n;
	if (io_write_all(out, buf_str(&c->text), c->text.n) == 0)
		IGNORE(fchmod(out, st.st_mode & S_IXOTH ? 0755 : 0644));
}

/* Opens the directory NAME in FROM and in TO. If TO lacks the directory, makes it. Returns false if
 * one of the two cannot be opened, or if not all users may list and enter the one in FROM. */
static bool open_both(int from, int to, const char *name, int *ret_from, int *ret_to)
{
	AUTO_FD in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_FD out = -1;
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0 || !is_open_to_all(&st))
		return false;
	/* mkdirat obeys the umask, so fchmodat sets the mode */
	if (mkdirat(to, name, 0755) == 0)
		IGNORE(fchmodat(to, name, 0755, 0));
	out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (out < 0)
		return false;
	*ret_from = fd_take(&in);
	*ret_to = fd_take(&out);
	return true;
}

/* Copies the entry NAME of a directory, with everything below it. PATH is the path of the entry
 * below /etc. */
static void copy_entry(struct copy *c, int from, int to, const char *name, const char *path,
		       unsigned depth)
{
	AUTO_FD in = -1;
	AUTO_FD out = -1;
	const struct dirent *d;
	struct listing l;
	struct stat st;

	if (depth > DEPTH_MAX || c->entries >= ENTRIES_MAX ||
	    matches(path, unwanted, ARRAY_SIZE(unwanted)) ||
	    fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	c->entries++;
	if (S_ISLNK(st.st_mode))
		copy_link(c, from, to, name, path, depth);
	else if (S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
		copy_file(c, from, to, name, &st);
	if (!S_ISDIR(st.st_mode) || !open_both(from, to, name, &in, &out))
		return;
	listing_init(&l, in);
	while ((d = listing_next(&l))) {
		char below[PATH_MAX];

		if (d->d_name[0] != '.' &&
		    snprintf(below, sizeof(below), "%s/%s", path, d->d_name) < (int)sizeof(below))
			copy_entry(c, in, out, d->d_name, below, depth + 1);
	}
}

/* Copies PATH, which is below /etc, with the directories above it and everything below it. */
static void copy_path(struct copy *c, const char *path, unsigned depth)
{
	AUTO_FD from = -1;
	AUTO_FD to = -1;
	struct stat st;

	if (*path == '\0' || depth > DEPTH_MAX || matches(path, unwanted, ARRAY_SIZE(unwanted)))
		return;
	from = fcntl(c->from, F_DUPFD_CLOEXEC, 0);
	to = fcntl(c->to, F_DUPFD_CLOEXEC, 0);
	if (from < 0 || to < 0)
		return;
	for (const char *at = path;;) {
		const char *slash = strchr(at, '/');
		char name[NAME_MAX + 1];
		int in, out;

		if (!slash) {
			/* a file that exists already needs no copy, but a directory may be
			 * incomplete */
			if (fstatat(to, at, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
				copy_entry(c, from, to, at, path, depth);
			return;
		}
		if (snprintf(name, sizeof(name), "%.*s", (int)(slash - at), at) >=
			    (int)sizeof(name) ||
		    !open_both(from, to, name, &in, &out))
			return;
		fd_closep(&from);
		fd_closep(&to);
		from = in;
		to = out;
		at = slash + 1;
	}
}

static void copy_wanted(struct copy *c)
{
	const struct dirent *d;
	struct listing l;

	listing_init(&l, c->from);
	while ((d = listing_next(&l)))
		if (matches(d->d_name, wanted, ARRAY_SIZE(wanted)))
			copy_path(c, d->d_name, 0);
	copy_path(c, "ssl/openssl.cnf", 0);
}

/* Copies the files in /etc to which links below PATH lead. DIR is a descriptor of the directory
 * PATH. */
static void copy_linked(struct copy *c, int dir, const char *path, unsigned depth)
{
	const struct dirent *d;
	struct listing l;
	struct stat st;

	listing_init(&l, dir);
	while ((d = listing_next(&l))) {
		char below[PATH_MAX], text[PATH_MAX], target[PATH_MAX];
		unsigned char type = d->d_type;
		AUTO_FD fd = -1;
		ssize_t n;

		if (d->d_name[0] == '.' && (!d->d_name[1] || d->d_name[1] == '.'))
			continue;
		if (type == DT_UNKNOWN && fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			type = S_ISLNK(st.st_mode) ? DT_LNK : S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
		if (type == DT_LNK) {
			n = readlinkat(dir, d->d_name, text, sizeof(text) - 1);
			text[n > 0 ? n : 0] = '\0';
			if (n > 0 && resolve(path, text, target) &&
			    strncmp(target, "/etc/", 5) == 0)
				copy_path(c, target + 5, 0);
			continue;
		}
		if (type != DT_DIR || depth >= USR_DEPTH_MAX ||
		    snprintf(below, sizeof(below), "%s/%s", path, d->d_name) >=
			    (int)sizeof(below) ||
		    matches(below, unsearched, ARRAY_SIZE(unsearched)))
			continue;
		fd = openat(dir, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* do not enter another file system, which may be slow or belong to somebody else */
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == c->usr_dev)
			copy_linked(c, fd, below, depth + 1);
	}
}

static void copy_linked_from(struct copy *c, const char *path)
{
	AUTO_FD dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0)
		return;
	c->usr_dev = st.st_dev;
	copy_linked(c, dir, path, 0);
}

void host_etc_copy(int to)
{
	AUTO_FD from = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct copy c = { .from = from, .to = to, .text = BUF_INIT(FILE_MAX_BYTES) };
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0 || !is_open_to_all(&st))
		return;
	copy_wanted(&c);
	copy_linked_from(&c, "/usr");
	copy_linked_from(&c, "/etc/alternatives");
	buf_done(&c.text);
}

void host_etc_key(struct buf *out)
{
	AUTO_FD etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	for (size_t i = 0; etc >= 0 && i < ARRAY_SIZE(telling); i++)
		if (fstatat(etc, telling[i], &st, 0) == 0)
			buf_addf(out, " %zu.%lld.%ld", i, (long long)st.st_ctim.tv_sec,
				 st.st_ctim.tv_nsec);
}
