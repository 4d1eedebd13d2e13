#include "image/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/sha256.h"
#include "base/str.h"
#include "image/manifest.h"
#include "image/reference.h"

#define LAYER_INFO_MAX_BYTES 4096u
/* change the number if new code makes another file from the same layers */
#define FLAT_FORM "flat ext4 1"
#define FLAT_KEY_MAX_BYTES (IMAGE_LAYERS_MAX * DIGEST_BYTES + 64)

static const char *const owner_names[] = {
	[LAYER_OWNERS_NATIVE] = "native",
	[LAYER_OWNERS_MAPPED] = "mapped",
	[LAYER_OWNERS_SINGLE] = "single",
};
static_assert(ARRAY_SIZE(owner_names) == LAYER_OWNERS_SINGLE + 1, "a kind of owners has no name");

void image_record_done(struct image_record *r)
{
	if (!r)
		return;
	free(r->reference);
	free(r->media_type);
	free(r->architecture);
	free(r->os);
	for (size_t i = 0; i < r->n_layers; i++)
		free(r->layer[i].media_type);
	free(r->layer);
	*r = (struct image_record){ 0 };
}

void image_records_free(struct image_record *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		image_record_done(&r[i]);
	free(r);
}

void image_form_name(const struct rotation *r, char out[IMAGE_FORM_BYTES])
{
	out[0] = '\0';
	if (r->uid || r->gid)
		snprintf(out, IMAGE_FORM_BYTES, IMAGE_FORM_PREFIX "%u-%u", r->uid, r->gid);
}

/* Writes the path of the file NAME of a layer. FORM is a name from image_form_name(): "", or the
 * subdirectory that has the layer with rotated owners. */
static void layer_path(const char *digest, const char *form, const char *name,
		       char out[IMAGE_PATH_BYTES])
{
	snprintf(out, IMAGE_PATH_BYTES, "cache/layers/%s/%s%s%s", digest_hex(digest), form,
		 *form ? "/" : "", name);
}

void image_blob_path(const char *digest, char out[IMAGE_PATH_BYTES])
{
	snprintf(out, IMAGE_PATH_BYTES, "cache/blobs/sha256/%s", digest_hex(digest));
}

void image_flat_hex(const struct image_record *r, char out[DIGEST_HEX_CHARS + 1])
{
	AUTO_BUF text = BUF_INIT(FLAT_KEY_MAX_BYTES);

	buf_addf(&text, "%s\n", FLAT_FORM);
	for (size_t i = 0; i < r->n_layers; i++)
		buf_addf(&text, "%s\n", r->layer[i].diff_id);
	sha256_hex(buf_str(&text), text.n, out);
}

void image_flat_path(const struct image_record *r, char out[IMAGE_PATH_BYTES])
{
	char hex[DIGEST_HEX_CHARS + 1];

	image_flat_hex(r, hex);
	snprintf(out, IMAGE_PATH_BYTES, "cache/flat/%s", hex);
}

uint64_t image_store_flat(int home_fd, const struct image_record *r, uint64_t *ret_mib)
{
	char path[IMAGE_PATH_BYTES];
	struct stat st;

	image_flat_path(r, path);
	if (fstatat(home_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	*ret_mib = (uint64_t)st.st_size >> 20;
	return (uint64_t)st.st_blocks * 512;
}

bool image_layer_comes_again(const struct image_record *r, size_t i)
{
	for (size_t k = i + 1; k < r->n_layers; k++)
		if (strcmp(r->layer[i].digest, r->layer[k].digest) == 0)
			return true;
	return false;
}

int image_store_open_layers(int home_fd, const struct image_record *r, const char *form,
			    int fd[IMAGE_LAYERS_MAX], size_t *ret_n, bool *ret_named, struct err *e)
{
	*ret_n = 0;
	*ret_named = false;
	for (size_t i = 0; i < r->n_layers; i++) {
		char path[IMAGE_PATH_BYTES];
		int one;

		if (image_layer_comes_again(r, i))
			continue;
		layer_path(r->layer[i].digest, form, IMAGE_LAYER_TREE, path);
		one = openat(home_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (one < 0 && errno == ENOENT) {
			layer_path(r->layer[i].digest, form, IMAGE_LAYER_NAMED, path);
			one = openat(home_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
			*ret_named = true;
		}
		if (one < 0) {
			err_sys(e, errno, "layer %s", r->layer[i].digest);
			if (e->sys == ENOENT)
				e->code = ERR_NOT_FOUND;
			return -1;
		}
		fd[(*ret_n)++] = one;
	}
	return *ret_n ? 0 : err_set(e, ERR_INVALID, "it has no layers");
}

int image_record_path(const char *reference, char out[IMAGE_PATH_BYTES], struct err *e)
{
	char key[REFERENCE_KEY_BYTES];
	char hex[SHA256_HEX_BYTES];
	struct reference r;

	if (reference_parse(reference, &r, e) < 0)
		return -1;
	reference_key(&r, key);
	sha256_hex(key, strlen(key), hex);
	snprintf(out, IMAGE_PATH_BYTES, "cache/images/%s.json", hex);
	return 0;
}

void image_record_write_json(const struct image_record *r, struct json_writer *w)
{
	char time[CLOCK_RFC3339_BYTES];

	clock_rfc3339_ns(r->created_at_ns, time);
	json_begin_object(w);
	json_key_int(w, "format", IMAGE_RECORD_FORMAT);
	json_key_str(w, "reference", r->reference);
	json_key_str(w, "manifest_digest", r->manifest_digest);
	json_key_str(w, "config_digest", r->config_digest);
	json_key_str(w, "media_type", r->media_type);
	json_key_str(w, "architecture", r->architecture);
	json_key_str(w, "os", r->os);
	json_key_str(w, "created_at", time);
	json_key(w, "size_bytes");
	json_uint(w, r->size_bytes);
	json_key(w, "layers");
	json_begin_array(w);
	for (size_t i = 0; i < r->n_layers; i++) {
		json_begin_object(w);
		json_key_str(w, "digest", r->layer[i].digest);
		json_key_str(w, "diff_id", r->layer[i].diff_id);
		json_key_str(w, "media_type", r->layer[i].media_type);
		json_key(w, "size_bytes");
		json_uint(w, r->layer[i].size_bytes);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

struct record_fields {
	int64_t format, size_bytes;
	const char *reference, *manifest_digest, *config_digest, *media_type, *architecture, *os;
	const char *created_at;
	const struct json_value *layers;
};

static const struct json_field record_fields[] = {
	FIELD_INT(struct record_fields, format, JSON_REQUIRED, 1, IMAGE_RECORD_FORMAT),
	FIELD_STR(struct record_fields, reference, JSON_REQUIRED),
	FIELD_STR(struct record_fields, manifest_digest, JSON_REQUIRED),
	FIELD_STR(struct record_fields, config_digest, JSON_REQUIRED),
	FIELD_STR(struct record_fields, media_type, JSON_OPTIONAL),
	FIELD_STR(struct record_fields, architecture, JSON_OPTIONAL),
	FIELD_STR(struct record_fields, os, JSON_OPTIONAL),
	FIELD_STR(struct record_fields, created_at, JSON_REQUIRED),
	FIELD_INT(struct record_fields, size_bytes, JSON_REQUIRED, 0, INT64_MAX),
	FIELD_VALUE(struct record_fields, layers, JSON_REQUIRED),
};

struct layer_fields {
	const char *digest, *diff_id, *media_type;
	int64_t size_bytes;
};

static const struct json_field layer_fields[] = {
	FIELD_STR(struct layer_fields, digest, JSON_REQUIRED),
	FIELD_STR(struct layer_fields, diff_id, JSON_REQUIRED),
	FIELD_STR(struct layer_fields, media_type, JSON_OPTIONAL),
	FIELD_INT(struct layer_fields, size_bytes, JSON_REQUIRED, 0, INT64_MAX),
};

static int copy_digest(const char *s, char out[DIGEST_BYTES], struct err *e)
{
	if (!digest_valid(s))
		return err_set(e, ERR_INVALID, "image record: '%.100s' is not a digest", s);
	memcpy(out, s, DIGEST_BYTES);
	return 0;
}

static int read_layers(const struct json_value *a, struct image_record *r, struct err *e)
{
	if (a->type != JSON_ARRAY || a->array.n > IMAGE_LAYERS_MAX)
		return err_set(e, ERR_INVALID, "image record: bad list of layers");
	r->layer = xcalloc(a->array.n + 1, sizeof(*r->layer));
	for (size_t i = 0; i < a->array.n; i++) {
		struct layer_fields f = { 0 };
		struct image_layer *l = &r->layer[i];

		if (json_decode(&a->array.item[i], "layers", layer_fields, ARRAY_SIZE(layer_fields),
				false, &f, e) < 0 ||
		    copy_digest(f.digest, l->digest, e) < 0 ||
		    copy_digest(f.diff_id, l->diff_id, e) < 0)
			return -1;
		l->media_type = f.media_type ? xstrdup(f.media_type) : NULL;
		l->size_bytes = (uint64_t)f.size_bytes;
		r->n_layers++;
	}
	return 0;
}

static int read_record(const struct json_value *root, struct image_record *r, struct err *e)
{
	struct record_fields f = { 0 };

	if (json_decode(root, "image record", record_fields, ARRAY_SIZE(record_fields), false, &f,
			e) < 0 ||
	    copy_digest(f.manifest_digest, r->manifest_digest, e) < 0 ||
	    copy_digest(f.config_digest, r->config_digest, e) < 0)
		return -1;
	if (clock_parse_rfc3339(f.created_at, &r->created_at_ns) < 0)
		return err_set(e, ERR_INVALID, "image record: bad time '%.60s'", f.created_at);
	r->reference = xstrdup(f.reference);
	r->media_type = f.media_type ? xstrdup(f.media_type) : NULL;
	r->architecture = f.architecture ? xstrdup(f.architecture) : NULL;
	r->os = f.os ? xstrdup(f.os) : NULL;
	r->size_bytes = (uint64_t)f.size_bytes;
	return read_layers(f.layers, r, e);
}

int image_record_read_json(const char *p, size_t n, struct image_record *ret, struct err *e)
{
	struct image_record r = { 0 };
	AUTO_JSON doc = NULL;

	if (json_parse(p, n, &doc, e) < 0)
		return -1;
	if (read_record(json_root(doc), &r, e) < 0) {
		image_record_done(&r);
		return -1;
	}
	*ret = r;
	return 0;
}

int image_store_find(int home_fd, const char *reference, struct image_record *ret, struct err *e)
{
	AUTO_BUF text = BUF_INIT(IMAGE_RECORD_MAX_BYTES);
	char path[IMAGE_PATH_BYTES];
	int r;

	if (image_record_path(reference, path, e) < 0)
		return -1;
	r = io_read_file(home_fd, path, &text);
	if (r == -ENOENT)
		return err_set(e, ERR_NOT_FOUND, "image not found: %s", reference);
	if (r < 0)
		return err_sys(e, -r, "read the record of image '%s'", reference);
	if (image_record_read_json(buf_str(&text), text.n, ret, e) < 0) {
		err_wrap(e, "the record of image '%s' is damaged", reference);
		return err_hint(e, "remove the image and pull or load it again");
	}
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct image_record *x = a, *y = b;

	if (x->created_at_ns != y->created_at_ns)
		return x->created_at_ns < y->created_at_ns ? 1 : -1;
	return strcmp(x->reference, y->reference);
}

static void read_into_list(int dir_fd, const char *name, struct image_record *list, size_t *n)
{
	AUTO_BUF text = BUF_INIT(IMAGE_RECORD_MAX_BYTES);
	struct err ignored; /* a damaged record counts as missing; its name can be pulled again */

	if (io_read_file(dir_fd, name, &text) == 0 &&
	    image_record_read_json(buf_str(&text), text.n, &list[*n], &ignored) == 0)
		(*n)++;
}

static bool is_record_name(const char *name)
{
	char hex[DIGEST_HEX_CHARS + 1];
	size_t n = strlen(name);

	if (n != DIGEST_HEX_CHARS + strlen(".json") ||
	    strcmp(name + DIGEST_HEX_CHARS, ".json") != 0)
		return false;
	memcpy(hex, name, DIGEST_HEX_CHARS);
	hex[DIGEST_HEX_CHARS] = '\0';
	return digest_hex_valid(hex);
}

int image_store_list(int home_fd, struct image_record **ret, size_t *ret_n, struct err *e)
{
	AUTO_DIR dir = dir_open(home_fd, "cache/images");
	struct image_record *list = NULL;
	size_t n = 0, room = 0;
	const struct dirent *d;

	if (!dir && errno != ENOENT)
		return err_sys(e, errno, "open the store's list of images");
	while (n < IMAGE_RECORDS_MAX && (d = dir_next(dir))) {
		if (!is_record_name(d->d_name))
			continue;
		if (n == room) {
			room = room ? room * 2 : 16;
			list = xreallocarray(list, room, sizeof(*list));
		}
		read_into_list(dirfd(dir), d->d_name, list, &n);
	}
	if (n > 1)
		qsort(list, n, sizeof(*list), newest_first);
	*ret = list;
	*ret_n = n;
	return 0;
}

static int read_blob(int home_fd, const char *digest, struct buf *b, struct err *e)
{
	char path[IMAGE_PATH_BYTES];
	int r;

	image_blob_path(digest, path);
	r = io_read_file(home_fd, path, b);
	return r < 0 ? err_sys(e, -r, "read %s from the image store", digest) : 0;
}

int image_store_config(int home_fd, const struct image_record *r, struct image_config *ret,
		       struct err *e)
{
	AUTO_BUF text = BUF_INIT(IMAGE_CONFIG_MAX_BYTES);

	if (read_blob(home_fd, r->config_digest, &text, e) < 0)
		return -1;
	return image_config_parse(buf_str(&text), text.n, ret, e);
}

static int record_from_manifest(const struct image_manifest *m, const struct image_config *c,
				struct image_record *r, struct err *e)
{
	if (m->kind != MANIFEST_IMAGE || m->n_items != c->diff_ids.n)
		return err_set(e, ERR_INVALID, "manifest and configuration do not belong together");
	r->media_type = m->media_type ? xstrdup(m->media_type) : NULL;
	r->architecture = c->architecture ? xstrdup(c->architecture) : NULL;
	r->os = c->os ? xstrdup(c->os) : NULL;
	r->layer = xcalloc(m->n_items + 1, sizeof(*r->layer));
	for (size_t i = 0; i < m->n_items; i++) {
		struct image_layer *l = &r->layer[r->n_layers++];

		memcpy(l->digest, m->item[i].digest, DIGEST_BYTES);
		memcpy(l->diff_id, c->diff_ids.v[i], DIGEST_BYTES);
		l->media_type = m->item[i].media_type ? xstrdup(m->item[i].media_type) : NULL;
		l->size_bytes = m->item[i].size_bytes;
	}
	return 0;
}

int image_store_find_digest(int home_fd, const char *manifest_digest, struct image_record *ret,
			    struct err *e)
{
	AUTO_BUF text = BUF_INIT(MANIFEST_MAX_BYTES);
	struct image_record r = { 0 };
	struct image_manifest m;
	struct image_config c = { 0 };
	int result = -1;

	if (!digest_valid(manifest_digest))
		return err_set(e, ERR_INVALID, "'%.100s' is not a digest", manifest_digest);
	if (read_blob(home_fd, manifest_digest, &text, e) < 0 ||
	    manifest_parse(buf_str(&text), text.n, &m, e) < 0)
		return -1;
	memcpy(r.manifest_digest, manifest_digest, DIGEST_BYTES);
	memcpy(r.config_digest, m.config.digest, DIGEST_BYTES);
	if (m.kind == MANIFEST_IMAGE && image_store_config(home_fd, &r, &c, e) < 0)
		goto out;
	result = record_from_manifest(&m, &c, &r, e);
out:
	manifest_done(&m);
	image_config_done(&c);
	if (result < 0)
		image_record_done(&r);
	else
		*ret = r;
	return result;
}

void image_layer_info_write_json(const struct image_layer_info *i, struct json_writer *w)
{
	json_begin_object(w);
	json_key_str(w, "diff_id", i->diff_id);
	json_key_int(w, "disk_bytes", (int64_t)i->disk_bytes);
	json_key_int(w, "entries", (int64_t)i->entries);
	json_key_int(w, "name_bytes", (int64_t)i->name_bytes);
	json_key_str(w, "owners", owner_names[i->owners]);
	json_key_int(w, "skipped", (int64_t)i->skipped);
	json_key_int(w, "squashed", (int64_t)i->squashed);
	json_key_int(w, "tar_bytes", (int64_t)i->tar_bytes);
	json_end_object(w);
}

struct info_fields {
	int64_t disk_bytes, tar_bytes, entries, name_bytes, squashed, skipped;
	const char *diff_id, *owners;
};

static const struct json_field info_fields[] = {
	FIELD_STR(struct info_fields, diff_id, JSON_REQUIRED),
	FIELD_INT(struct info_fields, disk_bytes, JSON_REQUIRED, 0, INT64_MAX),
	FIELD_INT(struct info_fields, tar_bytes, JSON_REQUIRED, 0, INT64_MAX),
	FIELD_INT(struct info_fields, entries, JSON_REQUIRED, 0, INT64_MAX),
	/* older files lack name_bytes */
	FIELD_INT(struct info_fields, name_bytes, JSON_OPTIONAL, 0, INT64_MAX),
	FIELD_INT(struct info_fields, squashed, JSON_REQUIRED, 0, INT64_MAX),
	FIELD_INT(struct info_fields, skipped, JSON_REQUIRED, 0, INT64_MAX),
	FIELD_STR(struct info_fields, owners, JSON_REQUIRED),
};

int image_layer_info_read_json(const struct json_value *v, struct image_layer_info *ret,
			       struct err *e)
{
	struct info_fields f = { 0 };
	struct image_layer_info i = { .owners = LAYER_OWNERS_SINGLE };

	if (json_decode(v, "layer.json", info_fields, ARRAY_SIZE(info_fields), false, &f, e) < 0 ||
	    copy_digest(f.diff_id, i.diff_id, e) < 0)
		return -1;
	i.disk_bytes = (uint64_t)f.disk_bytes;
	i.tar_bytes = (uint64_t)f.tar_bytes;
	i.entries = (uint64_t)f.entries;
	i.name_bytes = (uint64_t)f.name_bytes;
	i.squashed = (uint64_t)f.squashed;
	i.skipped = (uint64_t)f.skipped;
	for (unsigned k = 0; k < ARRAY_SIZE(owner_names); k++)
		if (strcmp(f.owners, owner_names[k]) == 0)
			i.owners = k;
	*ret = i;
	return 0;
}

int image_store_layer_info(int home_fd, const char *digest, const char *form,
			   struct image_layer_info *ret, struct err *e)
{
	AUTO_BUF text = BUF_INIT(LAYER_INFO_MAX_BYTES);
	AUTO_JSON doc = NULL;
	char path[IMAGE_PATH_BYTES];
	int r;

	layer_path(digest, form, "layer.json", path);
	r = io_read_file(home_fd, path, &text);
	if (r < 0)
		return err_sys(e, -r, "read layer.json of %s", digest);
	if (json_parse(buf_str(&text), text.n, &doc, e) < 0 ||
	    image_layer_info_read_json(json_root(doc), ret, e) < 0)
		return err_wrap(e, "read layer.json of %s", digest);
	return 0;
}

int image_store_lock(int home_fd, bool exclusive, int *ret_fd, struct err *e)
{
	AUTO_FD fd =
		openat(home_fd, "cache/lock", O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return err_sys(e, errno, "open the image store's lock");
	do
		r = flock(fd, exclusive ? LOCK_EX : LOCK_SH);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_sys(e, errno, "lock the image store");
	*ret_fd = fd_take(&fd);
	return 0;
}
