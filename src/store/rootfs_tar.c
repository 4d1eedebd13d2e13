#include "store/rootfs_tar.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "image/manifest.h"
#include "store/worker.h"

#define PLAIN_NAME "rootfs" /* staged files are named by numbers, so none of them has this name */

struct blob {
	char digest[DIGEST_BYTES];
	uint64_t size_bytes;
};

static int take_layer(const struct store *store, int fd, int staging, struct blob *ret,
		      struct err *e)
{
	AUTO_FD to = openat(staging, PLAIN_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	const struct worker_order order = {
		.op = "inflate", .in_fd = fd, .out_fd = to, .dir_fd = -1
	};

	if (to < 0)
		return err_sys(e, errno, "make a file in the image store");
	if (worker_run(&order, NULL, e) < 0)
		return -1;
	return store_adopt_blob(store, staging, PLAIN_NAME, NULL, ret->digest, &ret->size_bytes, e);
}

static int put_config(const struct store *store, const struct blob *layer, struct blob *ret,
		      struct err *e)
{
	AUTO_BUF text = BUF_INIT(4096);
	struct json_writer w;

	json_writer_init(&w, &text, 0);
	json_begin_object(&w);
	json_key_str(&w, "architecture", IMAGE_ARCHITECTURE);
	json_key_str(&w, "os", IMAGE_OS);
	json_key(&w, "rootfs");
	json_begin_object(&w);
	json_key(&w, "diff_ids");
	json_begin_array(&w);
	json_str(&w, layer->digest);
	json_end_array(&w);
	json_key_str(&w, "type", "layers");
	json_end_object(&w);
	json_end_object(&w);
	ret->size_bytes = text.n;
	return store_put_blob(store, buf_str(&text), text.n, ret->digest, e);
}

static void write_descriptor(struct json_writer *w, const char *type, const struct blob *b)
{
	json_begin_object(w);
	json_key_str(w, "digest", b->digest);
	json_key_str(w, "mediaType", type);
	json_key_int(w, "size", (int64_t)b->size_bytes);
	json_end_object(w);
}

static void write_manifest(struct buf *out, const struct blob *config, const struct blob *layer)
{
	struct json_writer w;

	json_writer_init(&w, out, 0);
	json_begin_object(&w);
	json_key(&w, "config");
	write_descriptor(&w, MEDIA_DOCKER_CONFIG, config);
	json_key(&w, "layers");
	json_begin_array(&w);
	write_descriptor(&w, MEDIA_DOCKER_LAYER, layer);
	json_end_array(&w);
	json_key_str(&w, "mediaType", MEDIA_DOCKER_MANIFEST);
	json_key_int(&w, "schemaVersion", 2);
	json_end_object(&w);
}

int rootfs_tar_take(const struct store *store, int fd, int staging, struct install *ret,
		    struct err *e)
{
	AUTO_BUF text = BUF_INIT(MANIFEST_MAX_BYTES);
	struct blob layer, config;

	if (take_layer(store, fd, staging, &layer, e) < 0 ||
	    put_config(store, &layer, &config, e) < 0)
		return -1;
	write_manifest(&text, &config, &layer);
	if (store_put_blob(store, buf_str(&text), text.n, ret->manifest_digest, e) < 0)
		return -1;
	return manifest_parse(buf_str(&text), text.n, &ret->manifest, e);
}
