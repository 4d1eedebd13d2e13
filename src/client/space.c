#include "client/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "client/volumes.h"
#include "image/store.h"

void space_done(struct space *s)
{
	strv_done(&s->unused);
	free_p(&s->unused_each);
}

static void add(struct space *s, const char *name, bool used, uint64_t bytes)
{
	s->n++;
	s->n_used += used;
	s->bytes += bytes;
	if (used)
		return;
	s->unused_bytes += bytes;
	s->unused_each = xreallocarray(s->unused_each, s->unused.n + 1, sizeof(*s->unused_each));
	s->unused_each[s->unused.n] = bytes;
	strv_add(&s->unused, name);
}

/* Returns the disk space of everything below PATH in the home, in bytes. Returns 0 if PATH cannot
 * be opened. */
static uint64_t bytes_below(const struct home *h, const char *path)
{
	AUTO_FD dir = openat(h->fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? 0 : dir_disk_bytes(dir);
}

int space_sandboxes(const struct home *h, const struct sandbox_list *all, struct space *ret,
		    struct err *e)
{
	*ret = (struct space){ 0 };
	for (size_t i = 0; i < all->n; i++) {
		const struct record *r = &all->item[i];
		AUTO_FREE char *path = xasprintf("sandboxes/%s", r->spec.name);
		bool down = r->status == STATUS_STOPPED || r->status == STATUS_CRASHED;

		add(ret, r->spec.name, !down, bytes_below(h, path));
	}
	for (size_t i = 0; i < all->n_unread; i++) {
		AUTO_FREE char *path = xasprintf("sandboxes/%s", all->unread[i].name);

		add(ret, all->unread[i].name, true, bytes_below(h, path));
	}
	return 0;
}

/* Returns true if a sandbox uses the volume, or may use it. A record that cannot be read may name
 * any volume; as long as there is such a record, volume_remove() removes no volume. */
static bool needs_volume(const struct sandbox_list *all, const char *name)
{
	if (all->n_unread)
		return true;
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < all->item[i].spec.n_mounts; k++) {
			const struct spec_mount *m = &all->item[i].spec.mount[k];

			if (m->kind == MOUNT_NAMED && strcmp(m->source, name) == 0)
				return true;
		}
	return false;
}

int space_volumes(const struct home *h, const struct sandbox_list *all, struct space *ret,
		  struct err *e)
{
	AUTO_VOLUME_LIST volumes = { 0 };

	*ret = (struct space){ 0 };
	if (volume_list_load(h, &volumes, e) < 0)
		return -1;
	for (size_t i = 0; i < volumes.n; i++) {
		const struct volume *v = &volumes.item[i];

		add(ret, v->name, needs_volume(all, v->name), volume_used_bytes(v));
	}
	return 0;
}

static bool has_layer(const struct image_record *r, const char *hex)
{
	for (size_t i = 0; i < r->n_layers; i++)
		if (strcmp(digest_hex(r->layer[i].digest), hex) == 0)
			return true;
	return false;
}

static bool is_used_by(const struct image_record *r, const struct sandbox_list *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const char *digest = all->item[i].spec.image.manifest_digest;

		if (digest && strcmp(digest, r->manifest_digest) == 0)
			return true;
	}
	return false;
}

/* Returns true if the layer belongs to an image that a sandbox uses, even if the image has no
 * reference any more. */
static bool used_without_name(const struct home *h, const struct sandbox_list *all, const char *hex)
{
	for (size_t i = 0; i < all->n; i++) {
		const char *digest = all->item[i].spec.image.manifest_digest;
		struct image_record r;
		struct err ignored;
		bool has;

		if (!digest || image_store_find_digest(h->fd, digest, &r, &ignored) < 0)
			continue;
		has = has_layer(&r, hex);
		image_record_done(&r);
		if (has)
			return true;
	}
	return false;
}

static bool is_needed(const struct home *h, const struct sandbox_list *all,
		      const struct image_record *records, size_t n, const char *hex)
{
	if (sandbox_list_has_newer(all))
		return true; /* a sandbox of a newer cordon may use any layer */
	for (size_t i = 0; i < n; i++)
		if (has_layer(&records[i], hex))
			return true;
	return used_without_name(h, all, hex);
}

int space_images(const struct home *h, const struct sandbox_list *all, struct space *ret,
		 struct err *e)
{
	AUTO_FD layers = openat(h->fd, "cache/layers", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR dir = layers < 0 ? NULL : dir_open(layers, ".");
	struct image_record *records;
	const struct dirent *entry;
	size_t n;

	*ret = (struct space){ 0 };
	if (image_store_list(h->fd, &records, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		ret->n_used += is_used_by(&records[i], all);
	while ((entry = dir_next(dir))) {
		AUTO_FREE char *path = xasprintf("cache/layers/%s", entry->d_name);

		if (!digest_hex_valid(entry->d_name) ||
		    is_needed(h, all, records, n, entry->d_name))
			continue;
		ret->n_layers++;
		ret->unused_bytes += bytes_below(h, path);
	}
	ret->n = n;
	ret->bytes = bytes_below(h, "cache");
	image_records_free(records, n);
	return 0;
}
