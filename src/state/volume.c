#include "state/volume.h"

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
#include "base/clock.h"
#include "base/compat.h"
#include "base/dir.h"
#include "base/diskfile.h"
#include "base/erase.h"
#include "base/io.h"
#include "base/json.h"
#include "state/format.h"
#include "state/quota.h"
#include "state/record.h"
#include "state/record_config.h"
#include "state/record_list.h"

#define VOLUME_FILE_MAX_BYTES 65536u
#define MIB (1ull << 20)
#define VOLUMES "volumes/"

const char *volume_kind_name(enum volume_kind k)
{
	return k == VOLUME_DISK ? "disk" : "dir";
}

void volume_done(struct volume *v)
{
	free_p(&v->name);
	free_p(&v->path);
}

int volumes_lock(const struct home *h, bool exclusive, int *ret_fd, struct err *e)
{
	AUTO_FD fd = -1;

	do
		fd = openat(h->fd, "volumes/.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			    0600);
	while (fd < 0 && errno == ENOENT && home_mend(h));
	/* This waits for other processes that hold the lock. volume_remove() holds the exclusive
	 * lock only while it checks names and renames. The shared lock is held longer, for example
	 * by volume_create() until the volume is made. */
	if (fd < 0 || flock(fd, exclusive ? LOCK_EX : LOCK_SH) < 0)
		return err_sys(e, errno, "lock '%s/volumes'", h->path);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Erases the volume NAME in DIRFD. Releases its quota first, because the quota cannot be found once
 * the directory is gone. */
static int erase_volume(int dirfd, const char *name)
{
	AUTO_FREE char *data = xasprintf("%s/data", name);

	/* A failure does not matter: quota_release() fails only for lack of privilege. Then we are
	 * not root, and the volume has no quota, because only root can make a volume with one. */
	IGNORE(!quota_release(dirfd, data));
	return erase_tree(dirfd, name);
}

/* Erases a volume by its temporary name. First opens HOME/volumes, because it may be a link
 * (places.h). */
static int erase_temporary(const struct home *h, const char *temp)
{
	AUTO_FD all = openat(h->fd, "volumes", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return all < 0 ? -errno : erase_volume(all, temp + strlen(VOLUMES));
}

/* --- making ---------------------------------------------------------------------------------- */

static int write_description(int dir, const char *name, const struct volume_form *form,
			     struct err *e)
{
	AUTO_BUF b = BUF_INIT(VOLUME_FILE_MAX_BYTES);
	struct json_writer w;
	int r;

	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	json_key_int(&w, "format", VOLUME_FORMAT);
	json_key_str(&w, "name", name);
	json_key_str(&w, "kind", volume_kind_name(form->kind));
	json_key_int(&w, "created_ns", (int64_t)clock_real_ns());
	json_key_int(&w, "quota_mib", (int64_t)form->quota_mib);
	json_key_int(&w, "size_mib", (int64_t)form->size_mib);
	json_end_object(&w);
	r = io_replace_file(dir, "volume.json", b.p, b.n, 0600);
	return r < 0 ? err_sys(e, -r, "write 'volume.json'") : 0;
}

/* Sets a quota for the directory DIR/data. DIR/data must be empty, because the quota would not
 * count files that exist already. */
static int set_quota(const struct home *h, int dir, uint64_t quota_mib, struct err *e)
{
	AUTO_FD data = openat(dir, "data", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r;

	if (data < 0)
		return err_sys(e, errno, "open 'data'");
	if (geteuid() != 0 || !quota_enforced(data))
		return volume_quota_missing(h, e);
	r = quota_adopt(data);
	if (r == 0)
		r = quota_limit(data, quota_mib * MIB);
	return r < 0 ? err_sys(e, -r, "set a quota of %llu MiB", (unsigned long long)quota_mib) : 0;
}

static int fill(const struct home *h, const char *temp, int dir, const struct volume_form *form,
		struct err *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_FD disk = -1;

	if (form->kind == VOLUME_DIR) {
		/* sandboxes see this mode; on the host, the mode of the home keeps other users
		 * out */
		if (mkdirat(dir, "data", 0755) < 0 || fchmodat(dir, "data", 0755, 0) < 0)
			return err_sys(e, errno, "make 'data'");
		return form->quota_mib ? set_quota(h, dir, form->quota_mib, e) : 0;
	}
	path = xasprintf("%s/%s/disk.raw", h->path, temp);
	if (disk_file_make(dir, "disk.raw", path, &(struct disk_make){ .size_mib = form->size_mib },
			   e) < 0)
		return -1;
	disk = openat(dir, "disk.raw", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return disk < 0 || fsync(disk) < 0 ? err_sys(e, errno, "write the disk") : 0;
}

int volume_quota_missing(const struct home *h, struct err *e)
{
	err_set(e, ERR_UNSUPPORTED, "a quota cannot be enforced %s%s%s",
		geteuid() == 0 ? "on the file system of '" : "without root",
		geteuid() == 0 ? h->path : "", geteuid() == 0 ? "/volumes'" : "");
	return err_hint(e, geteuid() == 0
				   ? "mount it with prjquota (xfs, or ext4 with the features "
				     "project and quota), or use a disk volume: kind=disk,size=SIZE"
				   : "leave quota= out");
}

int volume_create(const struct home *h, const char *name, const struct volume_form *form,
		  struct err *e)
{
	AUTO_FREE char *path = xasprintf("volumes/%s", name);
	AUTO_FD lock = -1;
	AUTO_FD dir = -1;
	char temp[HOME_TEMPORARY_BYTES];

	if (spec_check_name("volume", name, e) < 0 || volumes_lock(h, false, &lock, e) < 0)
		return -1;
	if (faccessat(h->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, ERR_EXISTS, "volume already exists: %s", name);
	home_temporary_path(temp, VOLUMES, "new");
	if (mkdirat(h->fd, temp, 0700) < 0)
		return err_sys(e, errno, "make volume '%s'", name);
	dir = openat(h->fd, temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0) {
		err_sys(e, errno, "make volume '%s'", name);
	} else if (fill(h, temp, dir, form, e) == 0 && write_description(dir, name, form, e) == 0) {
		/* people keep data in a volume, so wait until the new volume is on the disk */
		if (fsync(dir) == 0 &&
		    sys_renameat2(h->fd, temp, h->fd, path, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno == EEXIST)
			err_set(e, ERR_EXISTS, "volume already exists: %s", name);
		else
			err_sys(e, errno, "make volume '%s'", name);
	} else {
		err_wrap(e, "make volume '%s'", name);
	}
	IGNORE(erase_temporary(h, temp)); /* a sweep removes the rest */
	return -1;
}

/* --- looking --------------------------------------------------------------------------------- */

int volume_load(const struct home *h, const char *name, struct volume *ret, struct err *e)
{
	AUTO_FREE char *path = xasprintf("volumes/%s/volume.json", name);
	AUTO_BUF b = BUF_INIT(VOLUME_FILE_MAX_BYTES);
	AUTO_JSON doc = NULL;
	const struct json_value *v;
	int r;

	*ret = (struct volume){ 0 };
	if (spec_check_name("volume", name, e) < 0)
		return err_set(e, ERR_NOT_FOUND, "volume not found: %s", name);
	r = io_read_file(h->fd, path, &b);
	if (r == -ENOENT || r == -ENOTDIR)
		return err_set(e, ERR_NOT_FOUND, "volume not found: %s", name);
	if (r < 0)
		return err_sys(e, -r, "read volume '%s'", name);
	if (json_parse(buf_str(&b), b.n, &doc, e) < 0)
		return err_wrap(e, "volume '%s'", name);
	v = json_root(doc);
	r = format_check(v, VOLUME_FORMAT);
	if (r == -ENOTSUP)
		return err_set(e, ERR_UNSUPPORTED, "volume '%s' was made by a newer cordon", name);
	if (r < 0)
		return err_set(e, ERR_INVALID, "volume '%s': the format is not an integer", name);
	ret->kind = strcmp(json_get_str(v, "kind", "dir"), "disk") == 0 ? VOLUME_DISK : VOLUME_DIR;
	ret->created_ns = (uint64_t)json_get_int(v, "created_ns", 0);
	ret->size_mib = (uint64_t)json_get_int(v, "size_mib", 0);
	ret->quota_mib = (uint64_t)json_get_int(v, "quota_mib", 0);
	ret->name = xstrdup(name);
	ret->path = xasprintf("%s/volumes/%s/%s", h->path, name,
			      ret->kind == VOLUME_DISK ? "disk.raw" : "data");
	return 0;
}

uint64_t volume_used_bytes(const struct volume *v)
{
	AUTO_FD dir = -1;
	struct stat st;

	if (v->kind == VOLUME_DISK)
		return stat(v->path, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
	dir = open(v->path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return dir < 0 ? 0 : dir_disk_bytes(dir);
}

static int newest_first(const void *a, const void *b)
{
	const struct volume *x = a, *y = b;

	if (x->created_ns != y->created_ns)
		return x->created_ns < y->created_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

int volume_list_load(const struct home *h, struct volume_list *ret, struct err *e)
{
	AUTO_FD all = home_open_part(h, "volumes");
	AUTO_DIR d = all < 0 ? NULL : dir_open(all, ".");
	const struct dirent *entry;

	*ret = (struct volume_list){ 0 };
	if (!d)
		return err_sys(e, errno, "list '%s/volumes'", h->path);
	while ((entry = dir_next(d))) {
		struct err broken;

		if (entry->d_name[0] == '.')
			continue;
		ret->item = xreallocarray(ret->item, ret->n + 1, sizeof(*ret->item));
		if (volume_load(h, entry->d_name, &ret->item[ret->n], &broken) == 0)
			ret->n++;
		else
			volume_done(&ret->item[ret->n]);
	}
	if (ret->n)
		qsort(ret->item, ret->n, sizeof(*ret->item), newest_first);
	return 0;
}

void volume_list_done(struct volume_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		volume_done(&l->item[i]);
	free(l->item);
	*l = (struct volume_list){ 0 };
}

/* --- removing -------------------------------------------------------------------------------- */

static bool names_volume(const struct spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (s->mount[i].kind == MOUNT_NAMED && strcmp(s->mount[i].source, name) == 0)
			return true;
	return false;
}

/* Lists the sandboxes whose records name the volume, separated by commas. */
static int users_of(const struct home *h, const char *name, struct buf *out, struct err *e)
{
	struct record_list all;
	int r = 0;

	if (record_list_all(h, &all, e) < 0)
		return -1;
	for (size_t i = 0; r == 0 && i < all.n; i++) {
		AUTO_FREE char *path = xasprintf("sandboxes/%s", all.name[i]);
		AUTO_RECORD one = RECORD_NONE;

		one.dir = openat(h->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (one.dir < 0)
			r = errno == ENOENT ? 0
					    : err_sys(e, errno, "open sandbox '%s'", all.name[i]);
		else if (record_read_config(one.dir, &one, e) < 0)
			r = e->sys == ENOENT ? 0 : err_wrap(e, "sandbox '%s'", all.name[i]);
		else if (names_volume(&one.spec, name))
			buf_addf(out, "%s%s", out->n ? ", " : "", all.name[i]);
	}
	record_list_done(&all);
	return r; /* a record that cannot be read is an error, because it may name the volume */
}

int volume_remove(const struct home *h, const char *name, struct err *e)
{
	AUTO_BUF users = BUF_INIT(ERR_MSG_BYTES);
	AUTO_FREE char *path = NULL;
	AUTO_VOLUME v = { 0 };
	AUTO_FD lock = -1;
	char gone[HOME_TEMPORARY_BYTES];
	int r;

	if (volumes_lock(h, true, &lock, e) < 0 || volume_load(h, name, &v, e) < 0 ||
	    users_of(h, name, &users, e) < 0)
		return -1;
	if (users.n)
		return err_set(e, ERR_BUSY, "volume '%s' is in use by sandbox(es): %s", name,
			       buf_str(&users));
	path = xasprintf("volumes/%s", name);
	home_temporary_path(gone, VOLUMES, "gone");
	if (renameat(h->fd, path, h->fd, gone) < 0)
		return err_sys(e, errno, "remove volume '%s'", name);
	fd_closep(&lock);
	r = erase_temporary(h, gone);
	if (r == -EACCES || r == -EPERM)
		return err_set(e, ERR_DENIED, "files of volume '%s' belong to a uid range", name);
	return r < 0 ? err_sys(e, -r, "remove volume '%s'", name) : 0;
}

void volumes_release_quotas(const struct home *h)
{
	struct volume_list all;
	struct err ignored;

	if (volume_list_load(h, &all, &ignored) < 0)
		return;
	for (size_t i = 0; i < all.n; i++)
		if (all.item[i].kind == VOLUME_DIR) /* if this fails, go on */
			IGNORE(!quota_release(AT_FDCWD, all.item[i].path));
	volume_list_done(&all);
}

void volumes_sweep(const struct home *h)
{
	AUTO_FD lock = openat(h->fd, "volumes/.lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	/* a command that makes a volume holds the lock; so if we get the lock exclusively,
	 * half-made volumes are leftovers */
	bool alone = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
	AUTO_DIR d = dir_open(h->fd, "volumes");
	const struct dirent *entry;

	while ((entry = dir_next(d)))
		if (starts_with(entry->d_name, ".gone-") ||
		    (alone && starts_with(entry->d_name, ".new-")))
			/* a later sweep tries again, perhaps with more privilege */
			IGNORE(erase_volume(dirfd(d), entry->d_name));
}
