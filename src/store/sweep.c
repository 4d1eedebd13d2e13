#include "store/sweep.h"

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
#include "base/dir.h"
#include "base/str.h"
#include "image/manifest.h"
#include "image/store.h"
#include "store/usage.h"
#include "store/worker.h"

#define DEAD_PREFIX "dead-"

/* The digests that must stay, sorted for the search. */
struct live {
	char (*hex)[DIGEST_HEX_CHARS + 1];
	size_t n, room;
};

static void live_add_hex(struct live *l, const char *hex)
{
	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 256;
		/* there are at most IMAGE_RECORDS_MAX × IMAGE_LAYERS_MAX digests */
		l->hex = xreallocarray(l->hex, l->room, sizeof(*l->hex));
	}
	memcpy(l->hex[l->n++], hex, sizeof(*l->hex));
}

static void live_add(struct live *l, const char *digest)
{
	live_add_hex(l, digest_hex(digest));
}

static void live_add_image(struct live *l, const struct image_record *r)
{
	char hex[DIGEST_HEX_CHARS + 1];

	live_add(l, r->manifest_digest);
	live_add(l, r->config_digest);
	for (size_t i = 0; i < r->n_layers; i++)
		live_add(l, r->layer[i].digest);
	image_flat_hex(r, hex);
	live_add_hex(l, hex);
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool live_has(const struct live *l, const char *hex)
{
	return l->n && bsearch(hex, l->hex, l->n, sizeof(*l->hex), compare);
}

static int collect_live(const struct store *store, struct live *l, struct err *e)
{
	struct image_record *records;
	struct usage u;
	size_t n;

	if (image_store_list(store->home_fd, &records, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		live_add_image(l, &records[i]);
	image_records_free(records, n);
	if (usage_read(store->home_fd, &u, e) < 0)
		return -1;
	for (size_t i = 0; i < u.n; i++) {
		struct image_record r;
		/* if the image is gone from the store, there is no content to keep for it */
		struct err ignored;

		if (image_store_find_digest(store->home_fd, u.line[i].digest, &r, &ignored) < 0)
			continue;
		live_add_image(l, &r);
		image_record_done(&r);
	}
	usage_done(&u);
	if (l->n)
		qsort(l->hex, l->n, sizeof(*l->hex), compare);
	return 0;
}

static bool is_manifest(const struct store *store, const char *hex)
{
	AUTO_BUF text = BUF_INIT(MANIFEST_MAX_BYTES);
	char digest[DIGEST_BYTES];
	struct image_manifest m;
	struct err ignored;

	digest_from_hex(hex, digest);
	if (store_read_blob(store, digest, &text, &ignored) < 0 ||
	    manifest_parse(buf_str(&text), text.n, &m, &ignored) < 0)
		return false;
	manifest_done(&m);
	return true;
}

/* Removes flat forms or blobs that no image refers to. */
static int sweep_files(const struct store *store, bool flat, const struct live *l,
		       struct sweep_result *ret, struct err *e)
{
	int fd = flat ? store->flat_fd : store->blobs_fd;
	AUTO_DIR dir = dir_open(fd, ".");
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return err_sys(e, errno, "read the image store");
	while (r == 0 && (entry = dir_next(dir))) {
		struct stat st;

		if (!digest_hex_valid(entry->d_name) || live_has(l, entry->d_name) ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ret->manifests_removed += !flat && is_manifest(store, entry->d_name);
		if (unlinkat(fd, entry->d_name, 0) < 0)
			r = err_sys(e, errno, "remove %s from the image store",
				    flat ? "a flat form" : entry->d_name);
		else
			ret->bytes_reclaimed += (uint64_t)st.st_blocks * 512;
	}
	return r;
}

/* Returns how many bytes a layer takes on disk. A layer can have several trees: one with the owners
 * of the image, and one for each rotation of the owners (IMAGE_FORM_PREFIX). A tree without
 * layer.json is not counted. */
static uint64_t layer_bytes(const struct store *store, const char *hex)
{
	AUTO_DIR dir = dir_open(store->layers_fd, hex);
	struct image_layer_info info = { 0 };
	char digest[DIGEST_BYTES];
	const struct dirent *entry;
	struct err ignored;
	uint64_t bytes = 0;

	digest_from_hex(hex, digest);
	if (image_store_layer_info(store->home_fd, digest, "", &info, &ignored) == 0)
		bytes = info.disk_bytes;
	while (dir && (entry = dir_next(dir)))
		if (starts_with(entry->d_name, IMAGE_FORM_PREFIX) &&
		    image_store_layer_info(store->home_fd, digest, entry->d_name, &info,
					   &ignored) == 0)
			bytes += info.disk_bytes;
	return bytes;
}

/* Moves the directory of each unused layer, with all its trees, away by one rename. Afterwards one
 * worker erases all these directories. */
static int sweep_layers(const struct store *store, const struct live *l, struct sweep_result *ret,
			struct err *e)
{
	AUTO_DIR dir = dir_open(store->layers_fd, ".");
	const struct dirent *entry;
	char name[32];
	AUTO_FD dead = -1;
	int r = 0;

	if (!dir)
		return err_sys(e, errno, "read the image store");
	snprintf(name, sizeof(name), "dead-%d", (int)getpid());
	if ((mkdirat(store->tmp_fd, name, 0700) < 0 && errno != EEXIST) ||
	    (dead = openat(store->tmp_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		r = err_sys(e, errno, "make a directory in the image store");
	while (r == 0 && (entry = dir_next(dir))) {
		uint64_t bytes;

		if (!digest_hex_valid(entry->d_name) || live_has(l, entry->d_name))
			continue;
		bytes = layer_bytes(store, entry->d_name);
		if (renameat(store->layers_fd, entry->d_name, dead, entry->d_name) < 0) {
			r = err_sys(e, errno, "remove layer %s", entry->d_name);
		} else {
			ret->bytes_reclaimed += bytes;
			ret->layers_removed++;
		}
	}
	if (dead >= 0 && store_erase_tmp(store, name, e) < 0)
		r = -1;
	return r;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);

	return n > k && strcmp(name + n - k, suffix) == 0;
}

/* Removes the directory HOST/NAME, if no running sandbox uses it. The directory is the lowest layer
 * of sandboxes whose ids are rotated (see process/host_image.h). The next start of such a sandbox
 * makes the directory again. Renames the directory before it is erased. The new name is in HOST
 * too: if NAME belongs to another id, we can rename it, but we cannot move it to another
 * directory. */
static void sweep_base(int host, const char *name)
{
	AUTO_FREE char *dead =
		starts_with(name, DEAD_PREFIX) ? xstrdup(name) : xasprintf(DEAD_PREFIX "%s", name);
	const struct worker_order order = { "erase", dead, -1, -1, host };
	AUTO_FD fd = openat(host, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct err ignored; /* the next sweep tries again */

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && renameat(host, name, host, dead) == 0)
		IGNORE(worker_run(&order, NULL, &ignored));
}

static void sweep_bases(const struct store *store)
{
	AUTO_DIR dir = dir_open(store->cache_fd, "host");
	const struct dirent *entry;

	while (dir && (entry = dir_next(dir)))
		if (starts_with(entry->d_name, DEAD_PREFIX) || has_suffix(entry->d_name, "-u") ||
		    has_suffix(entry->d_name, "-g"))
			sweep_base(dirfd(dir), entry->d_name);
}

/* Erases the regular files in store->tmp_fd: partial blobs of interrupted pulls, and files that a
 * crashed writer left. We hold the store's lock exclusively, so no process is using these files. */
static void sweep_parts(const struct store *store, struct sweep_result *ret)
{
	AUTO_DIR dir = dir_open(store->tmp_fd, ".");
	const struct dirent *entry;

	while ((entry = dir_next(dir))) {
		struct stat st;

		if (fstatat(store->tmp_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && unlinkat(store->tmp_fd, entry->d_name, 0) == 0)
			ret->bytes_reclaimed += (uint64_t)st.st_blocks * 512;
	}
}

int sweep(const struct store *store, bool parts, struct sweep_result *ret, struct err *e)
{
	struct live l = { 0 };
	int r = collect_live(store, &l, e);

	/* trees are erased before blobs, so that an interrupted sweep leaves no tree whose manifest
	 * is gone */
	if (r == 0)
		r = sweep_layers(store, &l, ret, e);
	if (r == 0)
		r = sweep_files(store, true, &l, ret, e);
	if (r == 0)
		r = sweep_files(store, false, &l, ret, e);
	if (r == 0)
		sweep_bases(store);
	if (r == 0 && parts)
		sweep_parts(store, ret);
	free(l.hex);
	return r;
}

int sweep_references(const struct store *store, struct sweep_result *ret, struct err *e)
{
	struct image_record *records;
	struct usage u;
	size_t n;
	int r = 0;

	if (usage_read(store->home_fd, &u, e) < 0)
		return -1;
	if (image_store_list(store->home_fd, &records, &n, e) < 0) {
		usage_done(&u);
		return -1;
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		AUTO_BUF ignored = BUF_INIT(0);
		char path[IMAGE_PATH_BYTES];

		if (usage_of(&u, records[i].manifest_digest, &ignored))
			continue;
		r = image_record_path(records[i].reference, path, e);
		if (r == 0 && unlinkat(store->home_fd, path, 0) < 0)
			r = err_sys(e, errno, "remove image '%s'", records[i].reference);
		ret->references_removed += r == 0;
	}
	image_records_free(records, n);
	usage_done(&u);
	return r;
}
