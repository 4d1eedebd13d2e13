/*
 * All entries of an archive have the same owner and time, and they have a fixed order. So the same
 * images always make the same archive. An OCI layout gets the blobs unchanged and so keeps every
 * digest. A classic archive needs plain tars, which a worker makes from the blobs.
 */
#include "store/save.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "image/manifest.h"
#include "image/reference.h"
#include "image/store.h"
#include "store/hash.h"
#include "store/worker.h"

#define COPY_BYTES (128u << 10)
#define SAVE_JSON_MAX_BYTES (16u << 20)

struct save {
	int home_fd;
	struct archive *a;
	struct image_record *record;
	size_t n_records;
	char (*written)[DIGEST_BYTES]; /* the digests that are in the archive already */
	size_t n_written;
};

static int archive_err(struct save *s, struct err *e)
{
	int errnum = archive_errno(s->a);
	const char *why = archive_error_string(s->a);

	if (errnum == EPIPE || errnum == ENOSPC)
		return err_sys(e, errnum, "write the archive");
	return err_set(e, ERR_SYSTEM, "write the archive: %s", why ? why : "unknown reason");
}

/* Returns true if the blob, layer or image DIGEST is not in the archive yet. Notes DIGEST as
 * written, because the caller writes its content next. */
static bool first_time(struct save *s, const char *digest)
{
	for (size_t i = 0; i < s->n_written; i++)
		if (strcmp(s->written[i], digest) == 0)
			return false;
	s->written = xreallocarray(s->written, s->n_written + 1, sizeof(*s->written));
	memcpy(s->written[s->n_written++], digest, DIGEST_BYTES);
	return true;
}

static int begin_entry(struct save *s, const char *name, unsigned kind, uint64_t size,
		       struct err *e)
{
	struct archive_entry *entry = archive_entry_new();
	int r;

	if (!entry)
		abort(); /* out of memory: abort, as xcalloc() does */
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, kind);
	archive_entry_set_perm(entry, kind == AE_IFDIR ? 0755 : 0644);
	archive_entry_set_mtime(entry, 0, 0);
	archive_entry_set_size(entry, (la_int64_t)size);
	r = archive_write_header(s->a, entry);
	archive_entry_free(entry);
	return r == ARCHIVE_OK ? 0 : archive_err(s, e);
}

static int add_bytes(struct save *s, const void *p, size_t n, struct err *e)
{
	return archive_write_data(s->a, p, n) == (la_ssize_t)n ? 0 : archive_err(s, e);
}

static int add_text(struct save *s, const char *name, const void *p, size_t n, struct err *e)
{
	if (begin_entry(s, name, AE_IFREG, n, e) < 0)
		return -1;
	return n ? add_bytes(s, p, n, e) : 0;
}

/* Copies N bytes of FD and fails if their digest is not DIGEST. */
static int add_stream(struct save *s, int fd, const char *digest, uint64_t n, struct err *e)
{
	AUTO_FREE char *chunk = xcalloc(1, COPY_BYTES);
	char got[DIGEST_BYTES];
	struct hash h;
	int r = 0;

	if (hash_init(&h, e) < 0)
		return -1;
	while (r == 0 && n > 0) {
		ssize_t k = read(fd, chunk, n < COPY_BYTES ? n : COPY_BYTES);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		hash_add(&h, chunk, (size_t)k);
		n -= (uint64_t)k;
		r = add_bytes(s, chunk, (size_t)k, e);
	}
	hash_end(&h, got);
	hash_done(&h);
	if (r == 0 && (n > 0 || strcmp(got, digest) != 0))
		return err_set(e, ERR_INVALID,
			       "the image store is damaged: the content of %s has changed", digest);
	return r;
}

static int add_blob(struct save *s, const char *name, const char *digest, struct err *e)
{
	char path[IMAGE_PATH_BYTES];
	AUTO_FD fd = -1;
	struct stat st;

	image_blob_path(digest, path);
	fd = openat(s->home_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "read %s from the image store", digest);
	if (begin_entry(s, name, AE_IFREG, (uint64_t)st.st_size, e) < 0)
		return -1;
	return add_stream(s, fd, digest, (uint64_t)st.st_size, e);
}

/* --- OCI layout ----------------------------------------------------------------------------- */

static int add_oci_blob(struct save *s, const char *digest, struct err *e)
{
	AUTO_FREE char *name = NULL;

	if (!first_time(s, digest))
		return 0;
	name = xasprintf("blobs/sha256/%s", digest_hex(digest));
	return add_blob(s, name, digest, e);
}

static int write_oci_item(struct save *s, const struct image_record *r, struct json_writer *w,
			  struct err *e)
{
	char path[IMAGE_PATH_BYTES], key[REFERENCE_KEY_BYTES];
	struct reference ref;
	struct stat st;

	image_blob_path(r->manifest_digest, path);
	if (fstatat(s->home_fd, path, &st, 0) < 0)
		return err_sys(e, errno, "read %s from the image store", r->manifest_digest);
	if (reference_parse(r->reference, &ref, e) < 0)
		return -1;
	reference_key(&ref, key);
	json_begin_object(w);
	json_key_str(w, "mediaType", r->media_type ? r->media_type : MEDIA_OCI_MANIFEST);
	json_key_str(w, "digest", r->manifest_digest);
	json_key_int(w, "size", st.st_size);
	json_key(w, "annotations");
	json_begin_object(w);
	json_key_str(w, "io.containerd.image.name", key);
	json_key_str(w, "org.opencontainers.image.ref.name", r->reference);
	json_end_object(w);
	json_key(w, "platform");
	json_begin_object(w);
	json_key_str(w, "architecture", r->architecture ? r->architecture : IMAGE_ARCHITECTURE);
	json_key_str(w, "os", r->os ? r->os : IMAGE_OS);
	json_end_object(w);
	json_end_object(w);
	return 0;
}

static int save_oci(struct save *s, struct err *e)
{
	static const char layout[] = "{\"imageLayoutVersion\":\"1.0.0\"}";
	AUTO_BUF index = BUF_INIT(SAVE_JSON_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &index, 0);
	json_begin_object(&w);
	json_key_int(&w, "schemaVersion", 2);
	json_key_str(&w, "mediaType", MEDIA_OCI_INDEX);
	json_key(&w, "manifests");
	json_begin_array(&w);
	for (size_t i = 0; i < s->n_records; i++)
		if (write_oci_item(s, &s->record[i], &w, e) < 0)
			return -1;
	json_end_array(&w);
	json_end_object(&w);
	if (add_text(s, "oci-layout", layout, sizeof(layout) - 1, e) < 0 ||
	    add_text(s, "index.json", buf_str(&index), index.n, e) < 0 ||
	    begin_entry(s, "blobs", AE_IFDIR, 0, e) < 0 ||
	    begin_entry(s, "blobs/sha256", AE_IFDIR, 0, e) < 0)
		return -1;
	for (size_t i = 0; i < s->n_records; i++) {
		const struct image_record *r = &s->record[i];

		if (add_oci_blob(s, r->manifest_digest, e) < 0 ||
		    add_oci_blob(s, r->config_digest, e) < 0)
			return -1;
		for (size_t k = 0; k < r->n_layers; k++)
			if (add_oci_blob(s, r->layer[k].digest, e) < 0)
				return -1;
	}
	return 0;
}

/* --- classic archive ------------------------------------------------------------------------ */

static int add_plain_layer(struct save *s, const struct image_layer *l, const char *name,
			   struct err *e)
{
	struct image_layer_info info;
	char path[IMAGE_PATH_BYTES];
	AUTO_FD blob = -1;
	AUTO_FD from = -1;
	AUTO_FD to = -1;
	struct worker_order order = { .op = "inflate", .dir_fd = -1 };
	struct worker w;
	int pipe_fds[2], r;
	struct err worker_err;

	if (image_store_layer_info(s->home_fd, l->digest, "", &info, e) < 0)
		return -1;
	image_blob_path(l->digest, path);
	blob = openat(s->home_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (blob < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_sys(e, errno, "read layer %s", l->digest);
	from = pipe_fds[0];
	to = pipe_fds[1];
	order.in_fd = blob;
	order.out_fd = to;
	if (worker_start(&order, &w, e) < 0)
		return -1;
	fd_closep(&to);
	r = begin_entry(s, name, AE_IFREG, info.tar_bytes, e);
	if (r == 0)
		r = add_stream(s, from, l->diff_id, info.tar_bytes, e);
	fd_closep(&from);
	if (r < 0)
		worker_stop(&w);
	else if (worker_finish(&w, NULL, &worker_err) < 0) {
		*e = worker_err;
		r = -1;
	}
	return r;
}

static int add_classic_layer(struct save *s, const struct image_layer *l, const char *below,
			     struct err *e)
{
	const char *id = digest_hex(l->diff_id);
	AUTO_FREE char *dir = xasprintf("%s", id);
	AUTO_FREE char *version = xasprintf("%s/VERSION", id);
	AUTO_FREE char *json = xasprintf("%s/json", id);
	AUTO_FREE char *tar = xasprintf("%s/layer.tar", id);
	AUTO_BUF text = BUF_INIT(4096);
	struct json_writer w;

	if (!first_time(s, l->diff_id))
		return 0;
	json_writer_init(&w, &text, 0);
	json_begin_object(&w);
	json_key_str(&w, "created", "1970-01-01T00:00:00Z");
	json_key_str(&w, "id", id);
	json_key_str(&w, "os", IMAGE_OS);
	if (below)
		json_key_str(&w, "parent", digest_hex(below));
	json_end_object(&w);
	if (begin_entry(s, dir, AE_IFDIR, 0, e) < 0 || add_text(s, version, "1.0", 3, e) < 0 ||
	    add_text(s, json, buf_str(&text), text.n, e) < 0)
		return -1;
	return add_plain_layer(s, l, tar, e);
}

/* Writes NAME:TAG, with NAME as the user wrote it. A reference by digest alone has no tag and is
 * left out. */
static void write_repo_tag(struct json_writer *w, const struct image_record *r)
{
	AUTO_FREE char *name = xstrdup(r->reference);
	AUTO_FREE char *tagged = NULL;
	struct reference ref;
	struct err ignored;
	char *at = strchr(name, '@');

	if (reference_parse(name, &ref, &ignored) < 0 || !ref.tag[0])
		return;
	if (at)
		*at = '\0';
	at = strrchr(name, '/');
	if (strchr(at ? at : name, ':'))
		json_str(w, name);
	else
		json_str(w, tagged = xasprintf("%s:%s", name, ref.tag));
}

/* Writes the item of one image, with all references to this image that the user asked for. FIRST is
 * the index of the first record of this image; later records may name the same image by other
 * references. */
static void write_classic_item(struct save *s, size_t first, struct json_writer *w)
{
	const struct image_record *r = &s->record[first];
	AUTO_FREE char *config = xasprintf("%s.json", digest_hex(r->config_digest));

	json_begin_object(w);
	json_key_str(w, "Config", config);
	json_key(w, "RepoTags");
	json_begin_array(w);
	for (size_t i = first; i < s->n_records; i++)
		if (strcmp(s->record[i].manifest_digest, r->manifest_digest) == 0)
			write_repo_tag(w, &s->record[i]);
	json_end_array(w);
	json_key(w, "Layers");
	json_begin_array(w);
	for (size_t i = 0; i < r->n_layers; i++) {
		AUTO_FREE char *tar = xasprintf("%s/layer.tar", digest_hex(r->layer[i].diff_id));

		json_str(w, tar);
	}
	json_end_array(w);
	json_end_object(w);
}

static int save_classic(struct save *s, struct err *e)
{
	AUTO_BUF manifest = BUF_INIT(SAVE_JSON_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &manifest, 0);
	json_begin_array(&w);
	for (size_t i = 0; i < s->n_records; i++) {
		const struct image_record *r = &s->record[i];
		AUTO_FREE char *config = xasprintf("%s.json", digest_hex(r->config_digest));

		if (!first_time(s, r->manifest_digest))
			continue;
		write_classic_item(s, i, &w);
		if (first_time(s, r->config_digest) && add_blob(s, config, r->config_digest, e) < 0)
			return -1;
		for (size_t k = 0; k < r->n_layers; k++)
			if (add_classic_layer(s, &r->layer[k], k ? r->layer[k - 1].diff_id : NULL,
					      e) < 0)
				return -1;
	}
	json_end_array(&w);
	return add_text(s, "manifest.json", buf_str(&manifest), manifest.n, e);
}

/* --- the whole archive ---------------------------------------------------------------------- */

static int write_archive(struct save *s, enum save_format format, int fd, struct err *e)
{
	s->a = archive_write_new();
	if (!s->a || archive_write_set_format_pax_restricted(s->a) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(s->a, 64 * 1024) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(s->a, 1) != ARCHIVE_OK ||
	    archive_write_open_fd(s->a, fd) != ARCHIVE_OK)
		return err_set(e, ERR_SYSTEM, "no memory for an archive");
	if ((format == SAVE_OCI ? save_oci : save_classic)(s, e) < 0)
		return -1;
	return archive_write_close(s->a) == ARCHIVE_OK ? 0 : archive_err(s, e);
}

int save_images(int home_fd, const char *const *references, size_t n, enum save_format format,
		int fd, struct err *e)
{
	struct save s = { .home_fd = home_fd, .record = xcalloc(n + 1, sizeof(*s.record)) };
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = image_store_find(home_fd, references[i], &s.record[i], e);
		s.n_records += r == 0;
	}
	if (r == 0)
		r = write_archive(&s, format, fd, e);
	if (s.a)
		archive_write_free(s.a);
	image_records_free(s.record, s.n_records);
	free(s.written);
	return r;
}
