#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/str.h"
#include "store/worker.h"

static int make_directory(int at_fd, const char *name, int *ret_fd, struct err *e)
{
	int fd;

	if (mkdirat(at_fd, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "make the image store's directory '%s'", name);
	fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "open the image store's directory '%s'", name);
	*ret_fd = fd;
	return 0;
}

/* Returns true if DIR_FD/NAME still names the locked file FD. */
static bool still_there(int dir_fd, const char *name, int fd)
{
	struct stat ours, theirs;

	return fstat(fd, &ours) == 0 && fstatat(dir_fd, name, &theirs, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

int store_erase_tmp(const struct store *store, const char *name, struct err *e)
{
	const struct worker_order order = { "erase", name, -1, -1, store->tmp_fd };

	return worker_run(&order, NULL, e);
}

int store_lock_tmp(const struct store *store, const char *name, int *ret_fd, struct err *e)
{
	AUTO_FD fd = openat(store->tmp_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	*ret_fd = -1;
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, errno, "open tmp/%s of the store", name);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0
					    : err_sys(e, errno, "lock tmp/%s of the store", name);
	if (still_there(store->tmp_fd, name, fd))
		*ret_fd = fd_take(&fd);
	return 0;
}

static void sweep_one(const struct store *store, const char *name)
{
	struct err ignored; /* if erasing fails, the next writer tries again */
	AUTO_FD fd = -1;

	if (store_lock_tmp(store, name, &fd, &ignored) == 0 && fd >= 0)
		IGNORE(store_erase_tmp(store, name, &ignored));
}

/* Removes the directories in cache/tmp that no process has locked. Partial blobs stay: a pull
 * resumes them, or `prune` removes them. */
static void sweep_tmp(const struct store *store)
{
	AUTO_DIR dir = dir_open(store->tmp_fd, ".");
	const struct dirent *entry;

	while ((entry = dir_next(dir)))
		if (entry->d_type == DT_DIR)
			sweep_one(store, entry->d_name);
}

static int open_directories(const char *home, struct store *store, struct err *e)
{
	AUTO_FD blobs = -1;

	store->home_fd = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->home_fd < 0)
		return err_sys(e, errno, "open the state directory '%s'", home);
	if (make_directory(store->home_fd, "cache", &store->cache_fd, e) < 0 ||
	    make_directory(store->cache_fd, "tmp", &store->tmp_fd, e) < 0 ||
	    make_directory(store->cache_fd, "layers", &store->layers_fd, e) < 0 ||
	    make_directory(store->cache_fd, "images", &store->images_fd, e) < 0 ||
	    make_directory(store->cache_fd, "flat", &store->flat_fd, e) < 0 ||
	    make_directory(store->cache_fd, "blobs", &blobs, e) < 0)
		return -1;
	return make_directory(blobs, "sha256", &store->blobs_fd, e);
}

int store_open(const char *home, struct store *store, struct err *e)
{
	*store = (struct store)STORE_INIT;
	if (open_directories(home, store, e) < 0 ||
	    image_store_lock(store->home_fd, false, &store->lock_fd, e) < 0) {
		store_done(store);
		return -1;
	}
	sweep_tmp(store);
	return 0;
}

bool store_try_exclusive(const struct store *store)
{
	return flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0;
}

void store_done(struct store *store)
{
	fd_closep(&store->lock_fd);
	fd_closep(&store->flat_fd);
	fd_closep(&store->images_fd);
	fd_closep(&store->layers_fd);
	fd_closep(&store->blobs_fd);
	fd_closep(&store->tmp_fd);
	fd_closep(&store->cache_fd);
	fd_closep(&store->home_fd);
}

bool store_has_blob(const struct store *store, const char *digest, uint64_t size_bytes)
{
	struct stat st;

	return fstatat(store->blobs_fd, digest_hex(digest), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && (uint64_t)st.st_size == size_bytes;
}

bool store_has_layer(const struct store *store, const char *digest, const char *form)
{
	char path[IMAGE_PATH_BYTES];

	snprintf(path, sizeof(path), "%s%s%s", digest_hex(digest), *form ? "/" : "", form);
	return faccessat(store->layers_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int store_read_blob(const struct store *store, const char *digest, struct buf *b, struct err *e)
{
	char got[DIGEST_BYTES];
	int r = io_read_file(store->blobs_fd, digest_hex(digest), b);

	if (r < 0)
		return err_sys(e, -r, "read %s from the image store", digest);
	hash_bytes(buf_str(b), b->n, got);
	if (strcmp(got, digest) != 0)
		return err_set(e, ERR_INVALID, "the image store is damaged: %s has the digest %s",
			       digest, got);
	return 0;
}

/* Moves the file FD from its temporary to its final name. Afterwards the file survives a power cut.
 * Returns 0 or -errno. */
static int publish(int fd, int from_fd, const char *from, int to_fd, const char *to)
{
	if (fchmod(fd, 0600) < 0 || fsync(fd) < 0 || renameat(from_fd, from, to_fd, to) < 0 ||
	    fsync(to_fd) < 0)
		return -errno;
	return 0;
}

static int put_file(const struct store *store, const void *p, size_t n, int to_fd, const char *to)
{
	AUTO_FREE char *prefix = xasprintf("%s.new-", to);
	AUTO_FREE char *temp = beneath_fresh_name(prefix);
	AUTO_FD fd = openat(store->tmp_fd, temp,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = io_write_all(fd, p, n);
	if (r == 0)
		r = publish(fd, store->tmp_fd, temp, to_fd, to);
	if (r < 0)
		IGNORE(unlinkat(store->tmp_fd, temp, 0)); /* the caller reports the first error */
	return r;
}

int store_put_blob(const struct store *store, const void *p, size_t n, char ret[DIGEST_BYTES],
		   struct err *e)
{
	int r;

	hash_bytes(p, n, ret);
	if (store_has_blob(store, ret, n))
		return 0;
	r = put_file(store, p, n, store->blobs_fd, digest_hex(ret));
	return r < 0 ? err_sys(e, -r, "write %s to the image store", ret) : 0;
}

int store_adopt_blob(const struct store *store, int dir_fd, const char *name, const char *want,
		     char ret[DIGEST_BYTES], uint64_t *ret_size, struct err *e)
{
	AUTO_FD fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct hash h;
	int r;

	if (fd < 0)
		return err_sys(e, errno, "open a staged file");
	if (hash_init(&h, e) < 0)
		return -1;
	r = hash_fd(&h, fd, ret_size);
	hash_end(&h, ret);
	hash_done(&h);
	if (r < 0)
		return err_sys(e, -r, "read a staged file");
	if (want && strcmp(want, ret) != 0)
		return err_set(e, ERR_PROTOCOL, "%s has the digest %s", want, ret);
	if (store_has_blob(store, ret, *ret_size))
		return 0;
	r = publish(fd, dir_fd, name, store->blobs_fd, digest_hex(ret));
	return r < 0 ? err_sys(e, -r, "write %s to the image store", ret) : 0;
}

int store_put_record(const struct store *store, const struct image_record *r, struct err *e)
{
	AUTO_BUF text = BUF_INIT(IMAGE_RECORD_MAX_BYTES);
	char path[IMAGE_PATH_BYTES];
	struct json_writer w;
	int n;

	if (image_record_path(r->reference, path, e) < 0)
		return -1;
	json_writer_init(&w, &text, 0);
	image_record_write_json(r, &w);
	if (buf_failed(&text))
		return err_set(e, ERR_LIMIT, "the record of image '%s' is too long", r->reference);
	n = put_file(store, text.p, text.n, store->images_fd, strrchr(path, '/') + 1);
	return n < 0 ? err_sys(e, -n, "write the record of image '%s'", r->reference) : 0;
}

/* --- parts ---------------------------------------------------------------------------------- */

static void part_name(const char *digest, char out[IMAGE_PATH_BYTES])
{
	snprintf(out, IMAGE_PATH_BYTES, "%s.part", digest_hex(digest));
}

int blob_part_open(const struct store *store, const char *digest, struct blob_part *ret,
		   bool *ret_busy, struct err *e)
{
	struct blob_part p = { .fd = -1 };
	char name[IMAGE_PATH_BYTES];
	AUTO_FD fd = -1;
	int r;

	part_name(digest, name);
	*ret_busy = false;
	fd = openat(store->tmp_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, errno, "open the image store for %s", digest);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !still_there(store->tmp_fd, name, fd)) {
		*ret_busy = true;
		return 0;
	}
	if (hash_init(&p.hash, e) < 0)
		return -1;
	r = hash_fd(&p.hash, fd, &p.n);
	if (r < 0) {
		hash_done(&p.hash);
		return err_sys(e, -r, "read the partial blob %s", digest);
	}
	p.fd = fd_take(&fd);
	memcpy(p.digest, digest, DIGEST_BYTES);
	*ret = p;
	return 0;
}

int blob_part_write(struct blob_part *p, const void *data, size_t n, struct err *e)
{
	int r = io_write_all(p->fd, data, n);

	if (r < 0)
		return err_sys(e, -r, "write %s to the image store", p->digest);
	hash_add(&p->hash, data, n);
	p->n += n;
	return 0;
}

int blob_part_restart(struct blob_part *p, struct err *e)
{
	if (ftruncate(p->fd, 0) < 0 || lseek(p->fd, 0, SEEK_SET) < 0)
		return err_sys(e, errno, "empty the partial blob %s", p->digest);
	hash_reset(&p->hash);
	p->n = 0;
	return 0;
}

int blob_part_commit(const struct store *store, struct blob_part *p, uint64_t size_bytes,
		     struct err *e)
{
	char got[DIGEST_BYTES], name[IMAGE_PATH_BYTES];
	int r;

	part_name(p->digest, name);
	hash_end(&p->hash, got);
	if (p->n != size_bytes || strcmp(got, p->digest) != 0) {
		IGNORE(unlinkat(store->tmp_fd, name, 0)); /* a wrong part must not be resumed */
		if (p->n != size_bytes)
			return err_set(e, ERR_PROTOCOL, "%s has %llu bytes instead of %llu",
				       p->digest, (unsigned long long)p->n,
				       (unsigned long long)size_bytes);
		return err_set(e, ERR_PROTOCOL, "%s arrived with the digest %s", p->digest, got);
	}
	r = publish(p->fd, store->tmp_fd, name, store->blobs_fd, digest_hex(p->digest));
	return r < 0 ? err_sys(e, -r, "write %s to the image store", p->digest) : 0;
}

void blob_part_done(struct blob_part *p)
{
	fd_closep(&p->fd);
	hash_done(&p->hash);
}
