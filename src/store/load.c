/*
 * A worker writes the files of an image archive to disk and names them by numbers (store/stage.h).
 * The code in this file decides by a file's name in the archive what the file is. If an archive is
 * both an OCI layout and a classic archive, the OCI layout is used, because it has the original
 * manifest. A classic archive has no manifest, so this code makes one. The same content always
 * gives the same manifest.
 */
#include "store/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "image/manifest.h"
#include "image/reference.h"
#include "store/install.h"
#include "store/rootfs_tar.h"
#include "store/stage.h"
#include "store/worker.h"

/* the most links between a name and its file; real archives use one */
#define LOAD_LINKS_MAX 8
/* the most indexes and manifests that are read for one item of index.json; real archives have an
 * image's index and its manifest */
#define LOAD_INDEX_DEPTH_MAX 3
#define LOAD_INDEX_BYTES_MAX MANIFEST_MAX_BYTES

struct staged {
	char *name;
	char *link; /* target of a link; NULL for a file */
	bool hard;
	unsigned number;
	char digest[DIGEST_BYTES]; /* "" until the file is in the store */
	uint64_t size_bytes;
};

struct load {
	const struct store *store;
	const struct load_options *options;
	int dir_fd; /* the staging directory, locked */
	char dir_name[32];
	struct staged *file;
	size_t n_files;
	struct json_doc *classic; /* manifest.json, or NULL */
	bool first_done;          /* the first image got the tags of --tag */
	size_t n_images;
};

/* --- the archive's files --------------------------------------------------------------------- */

static int make_staging(struct load *l, struct err *e)
{
	for (;;) {
		uint64_t tag;

		if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
			return err_sys(e, errno, "get a random name");
		snprintf(l->dir_name, sizeof(l->dir_name), "load-%llx", (unsigned long long)tag);
		if (mkdirat(l->store->tmp_fd, l->dir_name, 0700) < 0)
			return err_sys(e, errno, "make a directory in the image store");
		if (store_lock_tmp(l->store, l->dir_name, &l->dir_fd, e) < 0)
			return -1;
		if (l->dir_fd >= 0)
			return 0;
		/* before we had the lock, another writer took the directory for a leftover and
		 * locked or removed it */
	}
}

static int read_table(struct load *l, const struct json_value *reply, struct err *e)
{
	const struct json_value *files = json_get(reply, "files");

	if (!files || files->type != JSON_ARRAY || files->array.n > STAGE_FILES_MAX)
		return err_set(e, ERR_PROTOCOL, "a worker gave a bad list of files");
	l->file = xcalloc(files->array.n + 1, sizeof(*l->file));
	for (size_t i = 0; i < files->array.n; i++) {
		const struct json_value *v = &files->array.item[i];
		const char *link = json_get_str(v, "link", NULL);
		struct staged *s = &l->file[l->n_files++];

		s->name = xstrdup(json_get_str(v, "name", ""));
		s->link = link ? xstrdup(link) : NULL;
		s->hard = json_get_bool(v, "hard", false);
		s->number = (unsigned)json_get_int(v, "file", -1);
	}
	return 0;
}

static int stage(struct load *l, struct err *e)
{
	const struct worker_order order = { "stage", NULL, l->options->fd, -1, l->dir_fd };
	AUTO_JSON reply = NULL;

	if (worker_run(&order, &reply, e) < 0)
		return -1;
	return read_table(l, json_root(reply), e);
}

/* Resolves the link target TARGET, which is relative to the directory of NAME: for the name "a/b"
 * and the target "../c/d" the result is "c/d". Handles ".." only at the beginning of TARGET,
 * because old archives have no other links. */
static char *resolve_link(const char *name, const char *target)
{
	const char *slash = strrchr(name, '/');
	size_t dir = slash ? (size_t)(slash - name) : 0;

	while (starts_with(target, "../")) {
		target += 3;
		while (dir > 0 && name[dir - 1] != '/')
			dir--;
		dir -= dir > 0;
	}
	return dir ? xasprintf("%.*s/%s", (int)dir, name, target) : xstrdup(target);
}

/* Returns the file called NAME. If NAME is a link, returns the file to which it leads. Returns NULL
 * if there is no such file, or after more than LOAD_LINKS_MAX links. LINKS is the number of links
 * that were followed so far. If several files have the same name, the last one counts, as in any
 * tar. */
static struct staged *find_file(struct load *l, const char *name, unsigned links)
{
	for (size_t i = l->n_files; i-- > 0;) {
		struct staged *s = &l->file[i];
		AUTO_FREE char *target = NULL;

		if (strcmp(s->name, name) != 0)
			continue;
		if (!s->link)
			return s;
		if (links >= LOAD_LINKS_MAX)
			return NULL;
		target = s->hard ? xstrdup(s->link) : resolve_link(s->name, s->link);
		return find_file(l, target, links + 1);
	}
	return NULL;
}

/* Moves a staged file into the store as a blob. */
static int adopt(struct load *l, const char *name, const char *want, struct staged **ret,
		 struct err *e)
{
	struct staged *s = find_file(l, name, 0);
	char number[16];

	if (!s)
		return err_set(e, ERR_INVALID, "the archive lacks '%.200s'", name);
	if (!s->digest[0]) {
		snprintf(number, sizeof(number), "%u", s->number);
		if (store_adopt_blob(l->store, l->dir_fd, number, want, s->digest, &s->size_bytes,
				     e) < 0) {
			s->digest[0] = '\0';
			return err_wrap(e, "'%.200s'", name);
		}
	}
	*ret = s;
	return 0;
}

static int read_small(struct load *l, const char *name, size_t max, struct json_doc **ret,
		      struct buf *text, struct err *e)
{
	struct staged *s = find_file(l, name, 0);
	char number[16];
	int r;

	if (!s)
		return err_set(e, ERR_NOT_FOUND, "the archive lacks '%.200s'", name);
	snprintf(number, sizeof(number), "%u", s->number);
	buf_init(text, max);
	r = io_read_file(l->dir_fd, number, text);
	if (r == -EFBIG)
		return err_set(e, ERR_LIMIT, "'%.200s' is larger than %zu bytes", name, max);
	if (r < 0)
		return err_sys(e, -r, "read '%.200s'", name);
	if (ret && json_parse(buf_str(text), text->n, ret, e) < 0)
		return err_wrap(e, "%.200s", name);
	return 0;
}

/* --- one image ------------------------------------------------------------------------------ */

static int put_one_record(struct load *l, const struct install *i, const char *reference,
			  struct err *e)
{
	if (install_put_record(l->store, i, reference, e) < 0)
		return -1;
	l->options->report(reference, l->options->report_arg);
	return 0;
}

static int check_names(struct load *l, const struct image_strings *names, struct err *e)
{
	struct reference ignored;

	for (size_t i = 0; i < names->n; i++)
		if (reference_parse(names->v[i], &ignored, e) < 0)
			return -1;
	if (names->n == 0 && (l->first_done || l->options->n_tags == 0)) {
		err_set(e, ERR_INVALID, "the archive does not name its image");
		return err_hint(e, "name it with --tag");
	}
	return 0;
}

/* Unpacks the layers of an image whose blobs are in the store, and writes one record for each name
 * of the image. NAMES are the names in the archive. The first image also gets the names of
 * --tag. */
static int finish_image(struct load *l, struct install *i, const struct image_strings *names,
			struct err *e)
{
	struct layers layers;
	int r;

	if (check_names(l, names, e) < 0 || install_read_config(l->store, i, e) < 0)
		return -1;
	layers_init(&layers, l->store, NULL);
	install_add_layers(i, &layers);
	r = layers_run(&layers, e);
	layers_done(&layers);
	for (size_t k = 0; r == 0 && k < names->n; k++)
		r = put_one_record(l, i, names->v[k], e);
	for (size_t k = 0; r == 0 && !l->first_done && k < l->options->n_tags; k++)
		r = put_one_record(l, i, l->options->tags[k], e);
	l->first_done = true;
	l->n_images++;
	return r;
}

/* --- OCI layout ----------------------------------------------------------------------------- */

static char *blob_name(const char *digest)
{
	return xasprintf("blobs/sha256/%s", digest_hex(digest));
}

static int adopt_blob(struct load *l, const char *digest, struct err *e)
{
	AUTO_FREE char *name = blob_name(digest);
	struct staged *ignored;

	return adopt(l, name, digest, &ignored, e);
}

/* If the archive has a manifest.json, adds the names that manifest.json gives to the image, because
 * index.json cannot hold all names of an image. */
static void add_classic_names(struct load *l, const char *config_digest,
			      struct image_strings *names)
{
	AUTO_FREE char *config = blob_name(config_digest);
	const struct json_value *root = l->classic ? json_root(l->classic) : NULL;

	for (size_t i = 0; root && root->type == JSON_ARRAY && i < root->array.n; i++) {
		const struct json_value *tags = json_get(&root->array.item[i], "RepoTags");

		if (strcmp(json_get_str(&root->array.item[i], "Config", ""), config) != 0)
			continue;
		for (size_t k = 0; tags && tags->type == JSON_ARRAY && k < tags->array.n; k++)
			if (tags->array.item[k].type == JSON_STRING && names->n < IMAGE_LIST_MAX)
				image_strings_add(names, tags->array.item[k].string.p);
	}
}

/* Adds the image's name from the index to NAMES: image_name, or ref_name if there is no image_name.
 * If both names stand for the same image, adds only ref_name, because ref_name is the user's own
 * spelling. */
static void add_annotated_name(const struct image_descriptor *d, struct image_strings *names)
{
	char full[REFERENCE_KEY_BYTES], key[REFERENCE_KEY_BYTES];
	const char *name = d->image_name ? d->image_name : d->ref_name;
	struct reference r;
	struct err ignored;

	if (d->image_name && d->ref_name && reference_parse(d->image_name, &r, &ignored) == 0) {
		reference_key(&r, full);
		if (reference_parse(d->ref_name, &r, &ignored) == 0) {
			reference_key(&r, key);
			if (strcmp(full, key) == 0)
				name = d->ref_name;
		}
	}
	if (name)
		image_strings_add(names, name);
}

static int install_oci(struct load *l, const struct image_descriptor *named, struct install *i,
		       struct err *e)
{
	struct image_strings names = { 0 };
	int r = 0;

	for (size_t k = 0; r == 0 && k < i->manifest.n_items; k++)
		r = adopt_blob(l, i->manifest.item[k].digest, e);
	if (r == 0)
		r = adopt_blob(l, i->manifest.config.digest, e);
	add_classic_names(l, i->manifest.config.digest, &names);
	if (names.n == 0)
		add_annotated_name(named, &names);
	if (r == 0)
		r = finish_image(l, i, &names, e);
	image_strings_done(&names);
	return r;
}

/* Loads the image of NAMED, which is an item of index.json. FOUND is NAMED itself at first. If
 * FOUND is an index, calls itself with the item of this index that is for this machine. DEPTH
 * counts these calls. */
static int load_oci_item(struct load *l, const struct image_descriptor *named,
			 const struct image_descriptor *found, unsigned depth, struct err *e)
{
	AUTO_FREE char *name = blob_name(found->digest);
	AUTO_BUF text = BUF_INIT(0);
	struct install i = { 0 };
	struct staged *s;
	const struct image_descriptor *chosen;
	int r;

	if (depth > LOAD_INDEX_DEPTH_MAX)
		return err_set(e, ERR_INVALID, "indexes nest deeper than %d", LOAD_INDEX_DEPTH_MAX);
	if (adopt(l, name, found->digest, &s, e) < 0)
		return -1;
	buf_init(&text, MANIFEST_MAX_BYTES);
	if (store_read_blob(l->store, found->digest, &text, e) < 0 ||
	    manifest_parse(buf_str(&text), text.n, &i.manifest, e) < 0)
		return err_wrap(e, "%s", found->digest);
	memcpy(i.manifest_digest, found->digest, DIGEST_BYTES);
	if (i.manifest.kind == MANIFEST_IMAGE)
		r = install_oci(l, named, &i, e);
	else if (manifest_select(&i.manifest, IMAGE_OS, IMAGE_ARCHITECTURE, &chosen, e) < 0)
		r = -1;
	else
		r = load_oci_item(l, named, chosen, depth + 1, e);
	install_done(&i);
	return r;
}

static bool for_this_machine(const struct image_descriptor *d)
{
	return !d->os || !d->architecture ||
	       (strcmp(d->os, IMAGE_OS) == 0 && strcmp(d->architecture, IMAGE_ARCHITECTURE) == 0);
}

static int load_oci(struct load *l, struct err *e)
{
	AUTO_BUF text = BUF_INIT(0);
	struct image_manifest index;
	int r = 0;

	if (read_small(l, "index.json", LOAD_INDEX_BYTES_MAX, NULL, &text, e) < 0 ||
	    manifest_parse(buf_str(&text), text.n, &index, e) < 0)
		return err_wrap(e, "index.json");
	if (index.kind != MANIFEST_INDEX)
		r = err_set(e, ERR_INVALID, "index.json is not an index");
	for (size_t i = 0; r == 0 && i < index.n_items; i++)
		if (for_this_machine(&index.item[i]))
			r = load_oci_item(l, &index.item[i], &index.item[i], 1, e);
	manifest_done(&index);
	if (r == 0 && l->n_images == 0)
		return err_set(e, ERR_NOT_FOUND, "the archive holds no image for %s/%s", IMAGE_OS,
			       IMAGE_ARCHITECTURE);
	return r;
}

/* --- classic archive ------------------------------------------------------------------------ */

static const char *layer_media_type(struct load *l, const struct staged *s)
{
	unsigned char magic[4] = { 0 };
	AUTO_FD fd = openat(l->store->blobs_fd, digest_hex(s->digest), O_RDONLY | O_CLOEXEC);

	if (fd < 0 || io_read_exact(fd, magic, sizeof(magic)) < 0)
		return MEDIA_DOCKER_LAYER;
	if (memcmp(magic, "\x1f\x8b", 2) == 0)
		return MEDIA_DOCKER_LAYER ".gzip";
	if (memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0)
		return MEDIA_DOCKER_LAYER ".zstd";
	return MEDIA_DOCKER_LAYER;
}

static void write_descriptor(struct json_writer *w, const char *type, const struct staged *s)
{
	json_begin_object(w);
	json_key_str(w, "mediaType", type);
	json_key_int(w, "size", (int64_t)s->size_bytes);
	json_key_str(w, "digest", s->digest);
	json_end_object(w);
}

static int write_manifest(struct load *l, const struct json_value *item, struct buf *out,
			  struct err *e)
{
	const char *config = json_get_str(item, "Config", NULL);
	const struct json_value *layers = json_get(item, "Layers");
	struct json_writer w;
	struct staged *s;

	if (!config || !layers || layers->type != JSON_ARRAY || layers->array.n > IMAGE_LAYERS_MAX)
		return err_set(e, ERR_INVALID, "manifest.json: no Config or no list of Layers");
	if (adopt(l, config, NULL, &s, e) < 0)
		return -1;
	json_writer_init(&w, out, 0);
	json_begin_object(&w);
	json_key_int(&w, "schemaVersion", 2);
	json_key_str(&w, "mediaType", MEDIA_DOCKER_MANIFEST);
	json_key(&w, "config");
	write_descriptor(&w, MEDIA_DOCKER_CONFIG, s);
	json_key(&w, "layers");
	json_begin_array(&w);
	for (size_t i = 0; i < layers->array.n; i++) {
		if (layers->array.item[i].type != JSON_STRING)
			return err_set(e, ERR_INVALID, "manifest.json: Layers[%zu] is not a string",
				       i);
		if (adopt(l, layers->array.item[i].string.p, NULL, &s, e) < 0)
			return -1;
		write_descriptor(&w, layer_media_type(l, s), s);
	}
	json_end_array(&w);
	json_end_object(&w);
	return 0;
}

static int load_classic_item(struct load *l, const struct json_value *item, struct err *e)
{
	const struct json_value *tags = json_get(item, "RepoTags");
	AUTO_BUF text = BUF_INIT(MANIFEST_MAX_BYTES);
	struct image_strings names = { 0 };
	struct install i = { 0 };
	int r = -1;

	for (size_t k = 0; tags && tags->type == JSON_ARRAY && k < tags->array.n; k++)
		if (tags->array.item[k].type == JSON_STRING && names.n < IMAGE_LIST_MAX)
			image_strings_add(&names, tags->array.item[k].string.p);
	if (write_manifest(l, item, &text, e) == 0 &&
	    store_put_blob(l->store, buf_str(&text), text.n, i.manifest_digest, e) == 0 &&
	    manifest_parse(buf_str(&text), text.n, &i.manifest, e) == 0)
		r = finish_image(l, &i, &names, e);
	install_done(&i);
	image_strings_done(&names);
	return r;
}

static int load_classic(struct load *l, struct err *e)
{
	const struct json_value *root = json_root(l->classic);

	if (root->type != JSON_ARRAY || root->array.n == 0)
		return err_set(e, ERR_INVALID, "manifest.json holds no list of images");
	for (size_t i = 0; i < root->array.n; i++)
		if (load_classic_item(l, &root->array.item[i], e) < 0)
			return -1;
	return 0;
}

/* --- the whole archive ---------------------------------------------------------------------- */

static int load_staged(struct load *l, struct err *e)
{
	AUTO_BUF text = BUF_INIT(0);

	if (find_file(l, "manifest.json", 0) &&
	    read_small(l, "manifest.json", LOAD_INDEX_BYTES_MAX, &l->classic, &text, e) < 0)
		return -1;
	if (find_file(l, "index.json", 0))
		return load_oci(l, e);
	if (l->classic)
		return load_classic(l, e);
	return err_set(e, ERR_INVALID,
		       "not an image archive: it holds neither manifest.json nor index.json");
}

/* --- a plain root file system --------------------------------------------------------------- */

/* Loads the archive as a plain root file system. Called after the archive could not be read as an
 * image: *E holds the error of that attempt. If there is no tag, or if the archive cannot be read
 * again, adds a hint to this error. If loading fails later, *E gets the new error. */
static int load_rootfs(struct load *l, struct err *e)
{
	const struct image_strings no_names = { 0 };
	struct install i = { 0 };
	int r;

	if (l->options->n_tags == 0)
		return err_hint(
			e, "if it is the tar of a root file system, name its image with --tag");
	if (lseek(l->options->fd, 0, SEEK_SET) != 0)
		return err_hint(
			e, "if it is the tar of a root file system, name the file with --input");
	r = rootfs_tar_take(l->store, l->options->fd, l->dir_fd, &i, e);
	if (r == 0)
		r = finish_image(l, &i, &no_names, e);
	install_done(&i);
	return r;
}

static int check_tags(const struct load_options *o, struct err *e)
{
	struct reference ignored;

	for (size_t i = 0; i < o->n_tags; i++)
		if (reference_parse(o->tags[i], &ignored, e) < 0)
			return err_wrap(e, "--tag");
	return 0;
}

int load_archive(const struct store *store, const struct load_options *o, struct err *e)
{
	struct load l = { .store = store, .options = o, .dir_fd = -1 };
	struct err ignored;
	bool no_image;
	int r;

	if (check_tags(o, e) < 0 || make_staging(&l, e) < 0)
		return -1;
	r = stage(&l, e);
	/* after ERR_LIMIT, try a root file system: a root file system may have more files and
	 * longer names than an image archive */
	no_image = r < 0 ? e->code == ERR_LIMIT || e->code == ERR_INVALID
			 : !find_file(&l, "manifest.json", 0) && !find_file(&l, "index.json", 0);
	if (r == 0)
		r = load_staged(&l, e);
	if (r < 0 && no_image)
		r = load_rootfs(&l, e);
	/* if this fails, the next writer removes the directory */
	IGNORE(store_erase_tmp(store, l.dir_name, &ignored));
	fd_closep(&l.dir_fd);
	for (size_t i = 0; i < l.n_files; i++) {
		free(l.file[i].name);
		free(l.file[i].link);
	}
	free(l.file);
	json_free(l.classic);
	return r;
}
