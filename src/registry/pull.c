/*
 * The command pull: brings an image from a registry into the store and makes it ready for use.
 *
 * The manifest is fetched first, then the configuration and the layers side by side. The
 * configuration has the digest of each layer's unpacked content, so no layer is unpacked before the
 * configuration is in the store. After that, each layer is unpacked as soon as it arrives. The
 * image's entry in the store is written last.
 */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "image/manifest.h"
#include "image/store.h"
#include "registry/commands.h"
#include "registry/fetch.h"
#include "registry/progress.h"
#include "registry/registry.h"
#include "registry/settings.h"
#include "store/install.h"
#include "store/layers.h"
#include "store/store.h"
#include "store/sweep.h"

struct pull_options {
	struct registry_options registry;
	bool update; /* ask the registry even if the store has the image */
	bool verify; /* check the digests of blobs in the store and fetch damaged ones again */
	bool quiet;
};

struct pull {
	const struct store *store;
	const struct pull_options *options;
	struct registry registry;
	struct install install;
	size_t endpoint; /* the number of the endpoint that had the manifest */
	struct fetch fetch;
	struct layers layers;
	size_t n_queued; /* layers of the manifest that are unpacked or wait to be unpacked */
	bool have_config;
	struct progress progress;
};

/* --- what to fetch --------------------------------------------------------------------------- */

static int get_manifest(struct pull *p, const char *target, struct image_manifest *ret,
			char digest[DIGEST_BYTES], struct err *e)
{
	AUTO_BUF text = BUF_INIT(MANIFEST_MAX_BYTES);
	struct image_manifest m;

	if (registry_get_manifest(&p->registry, target, &text, &p->endpoint, e) < 0 ||
	    manifest_parse(buf_str(&text), text.n, &m, e) < 0)
		return -1;
	if (m.kind == MANIFEST_IMAGE &&
	    store_put_blob(p->store, buf_str(&text), text.n, digest, e) < 0) {
		manifest_done(&m);
		return -1;
	}
	*ret = m;
	return 0;
}

/* If the manifest is an index, gets the manifest for this machine from it. An index inside an index
 * is an error, so there are no cycles. */
static int resolve(struct pull *p, struct err *e)
{
	const struct image_descriptor *chosen;
	struct image_manifest index;
	int r;

	if (get_manifest(p, reference_target(&p->registry.reference), &p->install.manifest,
			 p->install.manifest_digest, e) < 0)
		return -1;
	if (p->install.manifest.kind == MANIFEST_IMAGE)
		return 0;
	index = p->install.manifest;
	p->install.manifest = (struct image_manifest){ 0 };
	r = manifest_select(&index, IMAGE_OS, IMAGE_ARCHITECTURE, &chosen, e);
	if (r == 0)
		r = get_manifest(p, chosen->digest, &p->install.manifest,
				 p->install.manifest_digest, e);
	manifest_done(&index);
	if (r == 0 && p->install.manifest.kind != MANIFEST_IMAGE)
		return err_set(e, ERR_INVALID, "an index leads to another index");
	return r;
}

/* Returns true if the store has the blob and the blob's content matches its digest. */
static bool is_right(const struct store *store, const char *digest)
{
	AUTO_FD fd = openat(store->blobs_fd, digest_hex(digest), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char got[DIGEST_BYTES] = "";
	struct err ignored; /* a blob that cannot be checked counts as wrong */
	struct hash h;
	uint64_t n;

	if (fd < 0 || hash_init(&h, &ignored) < 0)
		return false;
	if (hash_fd(&h, fd, &n) == 0)
		hash_end(&h, got);
	hash_done(&h);
	return strcmp(got, digest) == 0;
}

/* With --force: removes a blob whose content does not match its digest or cannot be read, so that
 * the blob is fetched again. Fails if the blob stays, because the pull would use it. */
static int erase_if_wrong(const struct store *store, const char *digest, struct err *e)
{
	if (!is_right(store, digest) && unlinkat(store->blobs_fd, digest_hex(digest), 0) < 0 &&
	    errno != ENOENT)
		return err_sys(e, errno, "remove the damaged blob %s", digest);
	return 0;
}

static int add_blob(struct pull *p, const struct image_descriptor *d, struct err *e)
{
	if (p->options->verify && erase_if_wrong(p->store, d->digest, e) < 0)
		return -1;
	fetch_add(&p->fetch, d->digest, d->size_bytes, p->endpoint);
	return 0;
}

static int add_blobs(struct pull *p, struct err *e)
{
	const struct image_manifest *m = &p->install.manifest;
	int r = add_blob(p, &m->config, e);

	for (size_t i = 0; r == 0 && i < m->n_items; i++)
		r = add_blob(p, &m->item[i], e);
	return r;
}

/* --- the two queues -------------------------------------------------------------------------- */

static int queue_layers(struct pull *p, struct err *e)
{
	const struct image_manifest *m = &p->install.manifest;

	if (!p->have_config) {
		if (!fetch_has(&p->fetch, m->config.digest))
			return 0;
		if (install_read_config(p->store, &p->install, e) < 0)
			return -1;
		p->have_config = true;
	}
	/* queue in the manifest's order, which begins with the lowest layer: this layer is usually
	 * the largest and takes longest, so its unpacking should begin first */
	while (p->n_queued < m->n_items && fetch_has(&p->fetch, m->item[p->n_queued].digest)) {
		layers_add(&p->layers, m->item[p->n_queued].digest,
			   p->install.config.diff_ids.v[p->n_queued],
			   m->item[p->n_queued].size_bytes);
		p->n_queued++;
	}
	return 0;
}

static int run_queues(struct pull *p, struct err *e)
{
	struct pollfd fds[LAYERS_PARALLEL_MAX];
	bool fetched = false, unpacked = false;

	for (;;) {
		size_t n;

		if (fetch_advance(&p->fetch, &fetched, e) < 0 || queue_layers(p, e) < 0 ||
		    layers_advance(&p->layers, &unpacked, e) < 0)
			return -1;
		if (fetched && unpacked && p->n_queued == p->install.manifest.n_items &&
		    p->have_config)
			return 0;
		progress_draw(&p->progress, &p->fetch, &p->layers);
		n = layers_poll(&p->layers, fds);
		fetch_wait(&p->fetch, fds, n, LAYERS_RETRY_MS);
	}
}

static bool all_present(const struct pull *p)
{
	const struct image_manifest *m = &p->install.manifest;
	bool all = store_has_blob(p->store, m->config.digest, m->config.size_bytes);

	for (size_t i = 0; all && i < m->n_items; i++)
		all = store_has_blob(p->store, m->item[i].digest, m->item[i].size_bytes) &&
		      store_has_layer(p->store, m->item[i].digest, "");
	return all;
}

static int pull_all(struct pull *p, const char *reference, bool *ret_cached, struct err *e)
{
	int r;

	progress_begin(&p->progress, p->options->quiet, reference);
	if (resolve(p, e) < 0 || fetch_init(&p->fetch, p->store, &p->registry, e) < 0) {
		progress_end(&p->progress);
		return -1;
	}
	layers_init(&p->layers, p->store, NULL);
	r = add_blobs(p, e);
	if (r == 0) {
		*ret_cached = all_present(p);
		r = run_queues(p, e);
	}
	progress_end(&p->progress);
	fetch_done(&p->fetch);
	layers_done(&p->layers);
	return r < 0 ? -1 : install_put_record(p->store, &p->install, reference, e);
}

/* Pulls the image REFERENCE. Sets *RET_CACHED to true if the store already has all blobs
 * and unpacked layers of the image; the manifest may still be fetched. */
static int pull_image(const struct store *store, const struct settings *s, const char *reference,
		      const struct pull_options *o, bool *ret_cached, struct err *e)
{
	struct pull p = { .store = store, .options = o };
	struct image_record record;
	struct reference ref;
	int r;

	if (reference_parse(reference, &ref, e) < 0)
		return -1;
	if (!o->update && !o->verify &&
	    image_store_find(store->home_fd, reference, &record, e) == 0) {
		image_record_done(&record);
		*ret_cached = true;
		return 0;
	}
	if (registry_open(store->home_fd, s, &ref, &o->registry, &p.registry, e) < 0)
		return -1;
	r = pull_all(&p, reference, ret_cached, e);
	install_done(&p.install);
	registry_done(&p.registry);
	return r < 0 ? err_wrap(e, "pull '%s'", reference) : 0;
}

/* --- the command ----------------------------------------------------------------------------- */

static int pull_one(const struct options *o, const struct store *store, bool *ret_cached,
		    struct err *e)
{
	const struct pull_options po = {
		.registry = { .insecure = o->insecure,
			      .ca_certs = o->ca_certs,
			      .username = o->password_env ? o->username : NULL,
			      .password_env = o->password_env },
		.update = o->update,
		.verify = o->force,
		.quiet = o->quiet,
	};
	struct settings s;
	int r;

	if (o->ca_certs && access(o->ca_certs, R_OK) < 0)
		return err_sys(e, errno, "--ca-certs: read '%s'", o->ca_certs);
	if (settings_read(store->home_fd, &s, e) < 0)
		return -1;
	r = pull_image(store, &s, o->arg[0], &po, ret_cached, e);
	settings_done(&s);
	return r;
}

/* Sweeps what a failed pull has fetched. If another process uses the store, the fetched parts
 * stay, and the next pull uses them. After a killed pull the parts stay too, because this function
 * did not run. */
static void sweep_parts(const struct store *store)
{
	struct sweep_result ignored;
	struct err e;

	if (store_try_exclusive(store))
		/* if sweep() fails, the next `image prune` removes the parts */
		IGNORE(sweep(store, true, &ignored, &e));
}

int run_pull(const struct options *o, struct err *e)
{
	uint64_t since_ns = clock_mono_ns();
	bool cached = false;
	struct store store;
	int r;

	if (store_open(o->home, &store, e) < 0)
		return -1;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	r = pull_one(o, &store, &cached, e);
	curl_global_cleanup();
	if (r < 0)
		sweep_parts(&store);
	store_done(&store);
	if (r < 0)
		say_failed("Pulling", o->arg[0]);
	else if (cached)
		say_already("Pulled", o->arg[0], "already cached");
	else
		say_done("Pulled", o->arg[0], clock_mono_ns() - since_ns);
	return r;
}
