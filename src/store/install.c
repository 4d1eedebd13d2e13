#include "store/install.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "image/implied.h"
#include "image/store.h"

void install_done(struct install *i)
{
	manifest_done(&i->manifest);
	image_config_done(&i->config);
}

static int check_platform(const struct image_config *c, struct err *e)
{
	const char *os = c->os ? c->os : IMAGE_OS;
	const char *architecture = c->architecture ? c->architecture : IMAGE_ARCHITECTURE;

	if (strcmp(os, IMAGE_OS) == 0 && strcmp(architecture, IMAGE_ARCHITECTURE) == 0)
		return 0;
	return err_set(e, ERR_UNSUPPORTED, "the image is for %.60s/%.60s, this machine runs %s/%s",
		       os, architecture, IMAGE_OS, IMAGE_ARCHITECTURE);
}

int install_read_config(const struct store *store, struct install *i, struct err *e)
{
	AUTO_BUF text = BUF_INIT(IMAGE_CONFIG_MAX_BYTES);

	if (store_read_blob(store, i->manifest.config.digest, &text, e) < 0 ||
	    image_config_parse(buf_str(&text), text.n, &i->config, e) < 0)
		return -1;
	if (i->config.diff_ids.n != i->manifest.n_items)
		return err_set(e, ERR_INVALID, "the manifest has %zu layers, the configuration %zu",
			       i->manifest.n_items, i->config.diff_ids.n);
	return check_platform(&i->config, e);
}

void install_add_layers(const struct install *i, struct layers *l)
{
	for (size_t k = 0; k < i->manifest.n_items; k++)
		layers_add(l, i->manifest.item[k].digest, i->config.diff_ids.v[k],
			   i->manifest.item[k].size_bytes);
}

static int add_up_sizes(const struct store *store, struct image_record *r, struct err *e)
{
	for (size_t i = 0; i < r->n_layers; i++) {
		struct image_layer_info info;

		if (image_store_layer_info(store->home_fd, r->layer[i].digest, "", &info, e) < 0)
			return -1;
		r->size_bytes += image_layer_comes_again(r, i) ? 0 : info.disk_bytes;
	}
	return 0;
}

/* Finds the directories that the layers only imply (image/implied.h) and stores their list, so that
 * `create` does not have to search for them. */
static int put_implied(const struct store *store, const struct image_record *r, struct err *e)
{
	AUTO_FREE struct image_implied *found = xcalloc(IMAGE_IMPLIED_MAX, sizeof(*found));
	AUTO_BUF text = BUF_INIT(IMAGE_IMPLIED_MAX_BYTES);
	char path[IMAGE_PATH_BYTES];
	int fd[IMAGE_LAYERS_MAX];
	bool named;
	size_t n;
	int result;

	if (r->n_layers == 0)
		return 0; /* no sandbox can be created from an image without layers */
	result = image_store_open_layers(store->home_fd, r, "", fd, &n, &named, e);
	if (result == 0)
		image_implied_write(found, image_implied_find(fd, n, found), &text);
	for (size_t i = 0; i < n; i++)
		fd_closep(&fd[i]);
	if (result < 0)
		return -1;
	image_implied_path(r, path);
	result = io_replace_file(store->home_fd, path, buf_str(&text), text.n, 0600);
	return result < 0 ? err_sys(e, -result, "write '%s'", path) : 0;
}

int install_put_record(const struct store *store, const struct install *i, const char *reference,
		       struct err *e)
{
	struct image_record r;
	int result;

	/* read the image from the store, as every later reader does */
	if (image_store_find_digest(store->home_fd, i->manifest_digest, &r, e) < 0)
		return -1;
	r.reference = xstrdup(reference);
	r.created_at_ns = clock_real_ns();
	result = add_up_sizes(store, &r, e);
	if (result == 0)
		result = put_implied(store, &r, e);
	if (result == 0)
		result = store_put_record(store, &r, e);
	image_record_done(&r);
	return result;
}
