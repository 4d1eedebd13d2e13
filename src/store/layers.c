#include "store/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "image/store.h"

static void tmp_name(const struct layers *l, const struct layer_item *it,
		     char out[IMAGE_PATH_BYTES])
{
	snprintf(out, IMAGE_PATH_BYTES, "%s%s%s.layer", digest_hex(it->digest), *l->form ? "-" : "",
		 l->form);
}

static bool has_layer(const struct layers *l, const char *digest)
{
	return store_has_layer(l->store, digest, l->form);
}

void layers_init(struct layers *l, const struct store *store, const struct rotation *rotation)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*l = (struct layers){ .store = store };
	if (rotation)
		l->rotation = *rotation;
	image_form_name(&l->rotation, l->form);
	allowance_init(&l->left);
	l->parallel = cpus < 1                     ? 1
		      : cpus > LAYERS_PARALLEL_MAX ? LAYERS_PARALLEL_MAX
						   : (unsigned)cpus;
}

void layers_add(struct layers *l, const char *digest, const char *diff_id, uint64_t blob_bytes)
{
	struct layer_item *it;

	for (size_t i = 0; i < l->n_items; i++)
		if (strcmp(l->item[i].digest, digest) == 0 &&
		    strcmp(l->item[i].diff_id, diff_id) == 0)
			return;
	l->item = xreallocarray(l->item, l->n_items + 1, sizeof(*l->item));
	it = &l->item[l->n_items++];
	*it = (struct layer_item){ .tmp_fd = -1,
				   .worker.control_fd = -1,
				   .blob_bytes = blob_bytes };
	memcpy(it->digest, digest, DIGEST_BYTES);
	memcpy(it->diff_id, diff_id, DIGEST_BYTES);
}

static int check_diff_id(const struct layer_item *it, const char *got, struct err *e)
{
	if (strcmp(got, it->diff_id) == 0)
		return 0;
	return err_set(e, ERR_PROTOCOL, "layer %s unpacks to %s, but the image says %s", it->digest,
		       got, it->diff_id);
}

/* Uses a tree that is already in the store. First checks that the tree has the diff_id that the
 * image names. */
static int use_present(struct layers *l, struct layer_item *it, struct err *e)
{
	if (image_store_layer_info(l->store->home_fd, it->digest, l->form, &it->info, e) < 0)
		return -1;
	it->state = LAYER_READY;
	if (check_diff_id(it, it->info.diff_id, e) < 0)
		return -1;
	return allowance_take_layer(&l->left, &it->info, e);
}

/* Makes and locks the directory in which the layer is unpacked. Sets it->wait if another process
 * holds the lock, or has just moved the directory away. Then the layer stays queued and is tried
 * again. */
static int claim(const struct layers *l, struct layer_item *it, struct err *e)
{
	static const char *const trees[] = { IMAGE_LAYER_TREE, IMAGE_LAYER_NAMED };
	char name[IMAGE_PATH_BYTES];
	AUTO_FD fd = -1;

	tmp_name(l, it, name);
	if (mkdirat(l->store->tmp_fd, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "make a directory for layer %s", it->digest);
	if (store_lock_tmp(l->store, name, &fd, e) < 0)
		return -1;
	it->wait = fd < 0;
	if (it->wait)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++) {
		const struct worker_order order = { "erase", trees[i], -1, -1, fd };

		if (faccessat(fd, trees[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
		    worker_run(&order, NULL, e) < 0) /* erase what a killed process left */
			return err_wrap(e, "remove the unfinished layer %s", it->digest);
	}
	it->tmp_fd = fd_take(&fd);
	return 0;
}

static int start(struct layers *l, struct layer_item *it, struct err *e)
{
	AUTO_BUF arg = BUF_INIT(256);
	AUTO_FD blob = -1;
	struct worker_order order = { .op = "unpack", .out_fd = -1 };

	if (has_layer(l, it->digest))
		return use_present(l, it, e);
	if (claim(l, it, e) < 0)
		return -1;
	if (it->wait)
		return 0;
	/* another process may have finished the layer before we got the lock */
	if (has_layer(l, it->digest)) {
		struct err ignored;
		char name[IMAGE_PATH_BYTES];

		tmp_name(l, it, name);
		/* if this fails, the next writer removes the directory */
		IGNORE(store_erase_tmp(l->store, name, &ignored));
		fd_closep(&it->tmp_fd);
		return use_present(l, it, e);
	}
	blob = openat(l->store->blobs_fd, digest_hex(it->digest), O_RDONLY | O_CLOEXEC);
	if (blob < 0)
		return err_sys(e, errno, "open layer %s", it->digest);
	allowance_write(&l->left, &arg);
	buf_addf(&arg, "%llu:%u:%u", (unsigned long long)it->blob_bytes, l->rotation.uid,
		 l->rotation.gid);
	order.arg = buf_str(&arg);
	order.in_fd = blob;
	order.dir_fd = it->tmp_fd;
	if (worker_start(&order, &it->worker, e) < 0)
		return -1;
	it->state = LAYER_RUNNING;
	return 0;
}

static int collect(struct layers *l, struct layer_item *it, struct err *e)
{
	AUTO_JSON reply = NULL;

	if (worker_finish(&it->worker, &reply, e) < 0 ||
	    image_layer_info_read_json(json_root(reply), &it->info, e) < 0)
		return err_wrap(e, "unpack layer %s", it->digest);
	if (check_diff_id(it, it->info.diff_id, e) < 0 ||
	    allowance_take_layer(&l->left, &it->info, e) < 0)
		return -1;
	it->state = LAYER_UNPACKED;
	return 0;
}

static int write_info(const struct layer_item *it, struct err *e)
{
	AUTO_BUF text = BUF_INIT(4096);
	struct json_writer w;
	int r;

	json_writer_init(&w, &text, 0);
	image_layer_info_write_json(&it->info, &w);
	r = io_replace_file(it->tmp_fd, "layer.json", buf_str(&text), text.n, 0600);
	return r < 0 ? err_sys(e, -r, "write layer.json of %s", it->digest) : 0;
}

static int publish(struct layers *l, struct err *e)
{
	bool synced = false;

	for (size_t i = 0; i < l->n_items; i++)
		if (l->item[i].state == LAYER_UNPACKED && write_info(&l->item[i], e) < 0)
			return -1;
	for (size_t i = 0; i < l->n_items; i++) {
		struct layer_item *it = &l->item[i];
		char name[IMAGE_PATH_BYTES], place[IMAGE_PATH_BYTES];

		if (it->state != LAYER_UNPACKED)
			continue;
		if (!synced && syncfs(l->store->layers_fd) < 0)
			return err_sys(e, errno, "write layers to disk");
		synced = true;
		tmp_name(l, it, name);
		snprintf(place, sizeof(place), "%s%s%s", digest_hex(it->digest),
			 *l->form ? "/" : "", l->form);
		if (renameat(l->store->tmp_fd, name, l->store->layers_fd, place) < 0)
			return err_sys(e, errno, "put layer %s in place", it->digest);
		fd_closep(&it->tmp_fd);
		it->state = LAYER_READY;
	}
	if (synced && fsync(l->store->layers_fd) < 0)
		return err_sys(e, errno, "write layers to disk");
	return 0;
}

static size_t count(const struct layers *l, enum layer_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_items; i++)
		n += l->item[i].state == state;
	return n;
}

int layers_advance(struct layers *l, bool *ret_ready, struct err *e)
{
	for (size_t i = 0; i < l->n_items; i++)
		if (l->item[i].state == LAYER_RUNNING && worker_advance(&l->item[i].worker) &&
		    collect(l, &l->item[i], e) < 0)
			return -1;
	for (size_t i = 0; i < l->n_items; i++)
		if (l->item[i].state == LAYER_QUEUED && count(l, LAYER_RUNNING) < l->parallel &&
		    start(l, &l->item[i], e) < 0)
			return -1;
	/* if none of our workers runs, we publish our finished layers before we wait for other
	 * processes */
	if (count(l, LAYER_RUNNING) == 0 && publish(l, e) < 0)
		return -1;
	*ret_ready = count(l, LAYER_READY) == l->n_items;
	return 0;
}

size_t layers_poll(const struct layers *l, struct pollfd out[LAYERS_PARALLEL_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_items && n < LAYERS_PARALLEL_MAX; i++)
		if (l->item[i].state == LAYER_RUNNING)
			out[n++] = (struct pollfd){ l->item[i].worker.control_fd, POLLIN, 0 };
	return n;
}

int layers_run(struct layers *l, struct err *e)
{
	struct pollfd fds[LAYERS_PARALLEL_MAX];
	bool ready = false;

	for (;;) {
		if (layers_advance(l, &ready, e) < 0)
			return -1;
		if (ready)
			return 0;
		if (poll(fds, layers_poll(l, fds), LAYERS_RETRY_MS) < 0 && errno != EINTR)
			return err_sys(e, errno, "wait for layers");
	}
}

void layers_done(struct layers *l)
{
	for (size_t i = 0; i < l->n_items; i++) {
		struct layer_item *it = &l->item[i];
		struct err ignored; /* if removing fails, the next writer removes the rest */
		char name[IMAGE_PATH_BYTES];

		if (it->state == LAYER_RUNNING)
			worker_stop(&it->worker);
		if (it->tmp_fd >= 0) {
			tmp_name(l, it, name);
			IGNORE(store_erase_tmp(l->store, name, &ignored));
			fd_closep(&it->tmp_fd);
		}
	}
	free(l->item);
	*l = (struct layers){ 0 };
}
