#include "client/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "client/transfer.h"
#include "tree/build.h"
#include "tree/tar.h"
#include "tree/untar.h"

#define CHUNK_BYTES 32768u
#define FILE_MODE 0644u /* the mode of a file that comes from standard input */

/* --- in -------------------------------------------------------------------------------------- */

static long read_some(void *arg, void *p, size_t n)
{
	ssize_t k;

	do
		k = read(*(int *)arg, p, n);
	while (k < 0 && errno == EINTR);
	return k < 0 ? -errno : (long)k;
}

static int send_archive(void *arg, const struct tree_sink *to, struct err *e)
{
	const struct untar_source from = { .read = read_some, .arg = arg };

	return untar(&from, to, e);
}

/* Sends what the descriptor holds as one file. */
static int send_file(void *arg, const struct tree_sink *to, struct err *e)
{
	AUTO_BUF b = BUF_INIT(2 * FILE_RECORD_MAX_BYTES);
	char chunk[CHUNK_BYTES];
	long n;

	file_put_file(&b, FILE_MODE, "stdin");
	while ((n = read_some(arg, chunk, sizeof(chunk))) > 0) {
		file_put_data(&b, chunk, (size_t)n);
		if (to->write(to->arg, b.p, b.n, e) < 0)
			return -1;
		buf_clear(&b);
	}
	if (n < 0)
		return err_sys(e, (int)-n, "read standard input");
	file_put_end(&b);
	return to->write(to->arg, b.p, b.n, e);
}

/* The answer to a request GET with the flag FILE_TOP, which asks whether a path is a directory. */
struct top {
	struct buf in;
	bool dir;
};

static int on_top(void *arg, const char *p, size_t n, struct err *e)
{
	struct top *t = arg;

	buf_add(&t->in, p, n);
	if (t->in.n > 0) /* the first byte is the type of the first record */
		t->dir = t->in.p[0] == FILE_DIR;
	return buf_failed(&t->in) ? err_set(e, ERR_PROTOCOL, "the sandbox's answer makes no sense")
				  : 0;
}

static int ask_directory(struct client *c, const char *path, bool *ret, struct err *e)
{
	const struct file_message m = { .op = FILE_GET, .flags = FILE_TOP, .path = path };
	struct top t = { 0 };
	struct transfer transfer;
	int r;

	buf_init(&t.in, FILE_RECORD_MAX_BYTES);
	r = transfer_open(&transfer, c, &m, on_top, &t, e);
	if (r == 0)
		r = transfer_finish(&transfer, e);
	buf_done(&t.in);
	*ret = t.dir;
	return r;
}

int archive_in(struct client *c, int fd, const char *to, const struct copy_notes *n, struct err *e)
{
	struct file_message m = { .op = FILE_PUT, .path = to };
	bool dir = to[strlen(to) - 1] == '/';

	if (!dir && ask_directory(c, to, &dir, e) < 0)
		return -1;
	return copy_send(c, &m, dir ? send_archive : send_file, &fd, n, e);
}

/* --- out ------------------------------------------------------------------------------------- */

static int write_to_fd(void *arg, const void *p, size_t n, struct err *e)
{
	int r = io_write_all(*(int *)arg, p, n);

	return r < 0 ? err_sys(e, -r, "write the archive") : 0;
}

static int feed(void *arg, const char *p, size_t n, struct err *e)
{
	return tar_feed(arg, p, n, e);
}

static void pass_note(void *arg, enum file_record_type type, const char *text)
{
	const struct copy_notes *n = arg;

	n->note(n->arg, type == FILE_MISS, text);
}

/* Opens a temporary file that has no name. The file is on the disk of the home H. The file must not
 * be in memory, because the sandbox chooses the file's size. */
static int open_scratch(const struct home *h)
{
	AUTO_FREE char *name = xasprintf("%s/.scratch-%ld", h->path, (long)getpid());
	int fd = open(h->path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	/* this file system cannot make a file without a name, so make a file and remove its name */
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		IGNORE(unlink(name)); /* if this fails, the scratch file stays in the home */
	return fd;
}

int archive_out(struct client *c, const struct home *h, const char *from, unsigned flags, int fd,
		const struct copy_notes *n, struct err *e)
{
	const struct file_message m = { .op = FILE_GET,
					.flags = flags & COPY_FOLLOW ? FILE_FOLLOW : 0,
					.path = from };
	const struct tree_sink sink = { .write = write_to_fd, .arg = &fd };
	AUTO_FD scratch = open_scratch(h);
	char name[FILE_NAME_MAX_BYTES + 1];
	struct tar t = { .to = &sink,
			 .scratch = scratch,
			 .name = name,
			 .source = from,
			 .note = pass_note,
			 .arg = (void *)n };
	struct transfer transfer;
	int r;

	if (scratch < 0)
		return err_sys(e, errno, "make a scratch file");
	if (tree_name_of(from, name) < 0)
		return err_sys(e, ENAMETOOLONG, "'%s'", from);
	tar_init(&t);
	r = transfer_open(&transfer, c, &m, feed, &t, e);
	if (r == 0)
		r = transfer_finish(&transfer, e);
	if (r == 0 && !t.ended)
		r = err_set(e, ERR_PROTOCOL, "sandbox '%s' did not send everything", c->name);
	tar_done(&t);
	return r;
}
