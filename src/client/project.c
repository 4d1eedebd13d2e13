#include "client/project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/identity.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "spec/spec.h"
#include "state/home.h"

#define RECORDS "projects" /* directory in the home: one file for each allowed path */
#define RECORD_MAX_BYTES (64u << 10)

void project_done(struct project *p)
{
	for (size_t i = 0; i < p->n_files; i++) {
		free(p->file[i].path);
		fd_closep(&p->file[i].fd);
	}
	free(p->dir);
	free(p->above);
	buf_done(&p->text);
	*p = PROJECT_NONE;
}

/* --- the digest ------------------------------------------------------------------------------ */

/* Adds one part to the digest. The part's length comes first, so that two different lists of parts
 * never make the same bytes. */
static void add_part(struct project *p, const char *kind, const void *bytes, size_t n)
{
	AUTO_FREE char *head = xasprintf("%s %zu\n", kind, n);

	sha256_add(&p->sum, head, strlen(head));
	sha256_add(&p->sum, bytes, n);
}

static void add_path(struct project *p, const char *kind, const char *path)
{
	add_part(p, kind, path, strlen(path));
}

static void digest_of(const struct project *p, char out[SHA256_HEX_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char raw[SHA256_BYTES];
	struct sha256 sum = p->sum;

	sha256_end(&sum, raw);
	for (size_t i = 0; i < SHA256_BYTES; i++) {
		out[2 * i] = digits[raw[i] >> 4];
		out[2 * i + 1] = digits[raw[i] & 15];
	}
	out[2 * SHA256_BYTES] = '\0';
}

/* --- reading --------------------------------------------------------------------------------- */

/* Checks the file of the O_PATH descriptor FD. It must be a regular file that belongs to our user,
 * and no other user may write to it. */
static int check_owner(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "look at '%s'", path);
	if (S_ISLNK(st.st_mode))
		return err_set(e, ERR_DENIED,
			       "'%s' is a symbolic link: it must be a regular file of its own",
			       path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_DENIED, "'%s' is not a regular file", path);
	if (st.st_uid != geteuid())
		return err_set(e, ERR_DENIED,
			       "'%s' belongs to another user (%u), who could change it", path,
			       st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		err_set(e, ERR_DENIED, "'%s' can be written by others (mode %03o)", path,
			st.st_mode & 0777);
		return err_hint(e, "take that right away: chmod go-w FILE");
	}
	return 0;
}

/* Takes over *FD, an O_PATH descriptor, and reads its file. Adds path and text to the digest. */
static int take_file(struct project *p, const char *kind, int *fd, const char *path,
		     struct buf *out, struct err *e)
{
	AUTO_FD readable = -1;
	int r;

	if (p->n_files == PROJECT_FILES_MAX)
		return err_set(e, ERR_LIMIT, "'%s' names more than %u files", PROJECT_FILE,
			       PROJECT_FILES_MAX - 1);
	if (check_owner(*fd, path, e) < 0)
		return -1;
	readable = identity_reopen(*fd, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	r = readable < 0 ? -errno : io_read_to_end(readable, out);
	if (r < 0)
		return err_sys(e, -r, "read '%s'", path);
	add_path(p, kind, path);
	add_part(p, "text", buf_str(out), out->n);
	p->file[p->n_files].path = xstrdup(path);
	p->file[p->n_files++].fd = fd_take(fd);
	return 0;
}

static bool same_directory(int a, int b)
{
	struct stat one, two;

	return fstat(a, &one) == 0 && fstat(b, &two) == 0 && one.st_dev == two.st_dev &&
	       one.st_ino == two.st_ino;
}

/* Goes up from *DIR to the first directory that has an entry PROJECT_FILE. *DIR becomes that
 * directory, and *RET_FD is a descriptor of the entry. If no directory has such an entry, *RET_FD
 * is -1. */
static int climb(int *dir, int *ret_fd, struct err *e)
{
	for (;;) {
		int up;

		*ret_fd = openat(*dir, PROJECT_FILE, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (*ret_fd >= 0)
			return 0;
		if (errno != ENOENT && errno != EACCES)
			return err_sys(e, errno, "look for '%s'", PROJECT_FILE);
		up = openat(*dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0 || same_directory(*dir, up)) {
			fd_closep(&up);
			return 0;
		}
		fd_closep(dir);
		*dir = up;
	}
}

static char *in_directory(int dir)
{
	AUTO_FREE char *path = identity_path(dir);

	return path ? xasprintf("%s/" PROJECT_FILE, strcmp(path, "/") == 0 ? "" : path) : NULL;
}

/* Remembers the path of the next project file further up, because the question to the user names
 * this path. */
static void look_above(struct project *p, int *dir)
{
	AUTO_FD fd = -1;
	AUTO_FD up = openat(*dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err ignored;

	if (up < 0 || same_directory(*dir, up) || climb(&up, &fd, &ignored) < 0 || fd < 0)
		return;
	p->above = in_directory(up);
}

int project_find(struct project *p, struct err *e)
{
	AUTO_FD dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *path = NULL;
	AUTO_FD fd = -1;

	if (dir < 0)
		return err_sys(e, errno, "open the current directory");
	if (climb(&dir, &fd, e) < 0)
		return -1;
	if (fd < 0)
		return 0;
	path = in_directory(dir);
	if (!path)
		return err_set(e, ERR_LIMIT, "the path of '%s' is too long", PROJECT_FILE);
	sha256_init(&p->sum);
	if (take_file(p, "project", &fd, path, &p->text, e) < 0)
		return -1;
	p->dir = identity_path(dir);
	if (!p->dir)
		return err_set(e, ERR_LIMIT, "the path of '%s' is too long", PROJECT_FILE);
	look_above(p, &dir);
	return 0;
}

int project_read(struct project *p, const char *path, struct buf *out, struct err *e)
{
	AUTO_FREE char *real = NULL;
	struct identity ignored;
	AUTO_FD fd = -1;

	if (identity_hold("file", path, &real, &ignored, &fd, e) < 0)
		return -1;
	return take_file(p, "file", &fd, real, out, e);
}

int project_hold(struct project *p, struct spec *s, struct err *e)
{
	size_t ignored;

	if (spec_hold_sources(s, &ignored, e) < 0)
		return -1;
	if (s->image.kind == IMAGE_DIR || s->image.kind == IMAGE_DISK)
		add_path(p, "image", s->image.reference);
	if (s->image.root_disk.kind == ROOT_DISK_PATH)
		add_path(p, "root_disk", s->image.root_disk.path);
	for (size_t i = 0; i < s->n_mounts; i++)
		if (s->mount[i].kind == MOUNT_BIND || s->mount[i].kind == MOUNT_DISK)
			add_path(p, "mount", s->mount[i].source);
	for (size_t i = 0; i < s->n_patches; i++)
		if (s->patch[i].source)
			add_path(p, "patch", s->patch[i].source);
	return 0;
}

/* --- the record ------------------------------------------------------------------------------ */

static int open_records(const struct home *h, const struct project *p, int *ret_dir,
			char name[SHA256_HEX_BYTES], struct err *e)
{
	sha256_hex(p->file[0].path, strlen(p->file[0].path), name);
	return home_dir(h, RECORDS, ret_dir, e);
}

int project_look(const struct project *p, const struct home *h, enum project_state *ret,
		 struct err *e)
{
	char name[SHA256_HEX_BYTES], digest[SHA256_HEX_BYTES];
	AUTO_BUF text = BUF_INIT(RECORD_MAX_BYTES);
	const struct json_value *recorded;
	AUTO_JSON doc = NULL;
	AUTO_FD dir = -1;
	int r;

	if (open_records(h, p, &dir, name, e) < 0)
		return -1;
	r = io_read_file(dir, name, &text);
	if (r < 0 && r != -ENOENT)
		return err_sys(e, -r, "read the record of '%s'", p->file[0].path);
	if (r < 0) {
		*ret = PROJECT_NEW;
		return 0;
	}
	digest_of(p, digest);
	/* a record that was damaged allows nothing */
	*ret = PROJECT_CHANGED;
	if (json_parse(buf_str(&text), text.n, &doc, e) < 0)
		return 0;
	recorded = json_get(json_root(doc), "digest");
	if (recorded && recorded->type == JSON_STRING && str_eq(recorded->string, digest))
		*ret = PROJECT_ALLOWED;
	return 0;
}

int project_allow(const struct project *p, const struct home *h, struct err *e)
{
	char name[SHA256_HEX_BYTES], digest[SHA256_HEX_BYTES];
	AUTO_BUF text = BUF_INIT(RECORD_MAX_BYTES);
	struct json_writer w;
	AUTO_FD dir = -1;
	int r;

	if (open_records(h, p, &dir, name, e) < 0)
		return -1;
	digest_of(p, digest);
	json_writer_init(&w, &text, 2);
	json_begin_object(&w);
	json_key_str(&w, "digest", digest);
	if (utf8_valid(
		    /* the path is only for people who read this file */
		    p->file[0].path, strlen(p->file[0].path)))
		json_key_str(&w, "path", p->file[0].path);
	json_end_object(&w);
	buf_add_char(&text, '\n');
	r = buf_failed(&text) ? -EFBIG : io_replace_file(dir, name, text.p, text.n, 0600);
	return r < 0 ? err_sys(e, -r, "record that '%s' is allowed", p->file[0].path) : 0;
}

int project_forget(const struct project *p, const struct home *h, bool *ret_was, struct err *e)
{
	char name[SHA256_HEX_BYTES];
	AUTO_FD dir = -1;

	if (open_records(h, p, &dir, name, e) < 0)
		return -1;
	*ret_was = unlinkat(dir, name, 0) == 0;
	if (!*ret_was && errno != ENOENT)
		return err_sys(e, errno, "remove the record of '%s'", p->file[0].path);
	return 0;
}
