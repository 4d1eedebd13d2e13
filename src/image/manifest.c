#include "image/manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

/* The media types of layers that we can unpack. This list only separates layers from other things
 * that a manifest may name. We do not take the compression of a layer from its media type, because
 * the bytes of the layer tell it. */
static const char *const layer_types[] = {
	MEDIA_OCI_LAYER,    MEDIA_OCI_LAYER "+gzip",    MEDIA_OCI_LAYER "+zstd",
	MEDIA_DOCKER_LAYER, MEDIA_DOCKER_LAYER ".gzip", MEDIA_DOCKER_LAYER ".zstd",
};

static void descriptor_done(struct image_descriptor *d)
{
	free(d->media_type);
	free(d->os);
	free(d->architecture);
	free(d->variant);
	free(d->ref_name);
	free(d->image_name);
}

void manifest_done(struct image_manifest *m)
{
	if (!m)
		return;
	free(m->media_type);
	descriptor_done(&m->config);
	for (size_t i = 0; i < m->n_items; i++)
		descriptor_done(&m->item[i]);
	free(m->item);
	*m = (struct image_manifest){ 0 };
}

static char *copy_string(const struct json_value *v, const char *key)
{
	const char *s = json_get_str(v, key, NULL);

	return s && *s ? xstrdup(s) : NULL;
}

static int read_descriptor(const struct json_value *v, const char *what, uint64_t max_bytes,
			   struct image_descriptor *d, struct err *e)
{
	const char *digest = json_get_str(v, "digest", NULL);
	const struct json_value *platform = json_get(v, "platform");
	const struct json_value *notes = json_get(v, "annotations");
	int64_t size = json_get_int(v, "size", -1);

	if (!digest)
		return err_set(e, ERR_INVALID, "manifest: %s has no digest", what);
	if (!digest_valid(digest))
		return err_set(e, ERR_UNSUPPORTED,
			       "manifest: %s has the digest '%.100s', not a sha256", what, digest);
	if (size < 0)
		return err_set(e, ERR_INVALID, "manifest: %s %s has no valid size", what, digest);
	if ((uint64_t)size > max_bytes)
		return err_set(e, ERR_LIMIT, "manifest: %s %s has %lld bytes, more than %llu", what,
			       digest, (long long)size, (unsigned long long)max_bytes);
	snprintf(d->digest, sizeof(d->digest), "%s", digest);
	d->size_bytes = (uint64_t)size;
	d->media_type = copy_string(v, "mediaType");
	d->os = copy_string(platform, "os");
	d->architecture = copy_string(platform, "architecture");
	d->variant = copy_string(platform, "variant");
	d->ref_name = copy_string(notes, "org.opencontainers.image.ref.name");
	d->image_name = copy_string(notes, "io.containerd.image.name");
	return 0;
}

static int read_items(const struct json_value *list, const char *what, size_t max_items,
		      uint64_t max_bytes, struct image_manifest *m, struct err *e)
{
	if (list->type != JSON_ARRAY)
		return err_set(e, ERR_INVALID, "manifest: the list of %ss is not an array", what);
	if (list->array.n > max_items)
		return err_set(e, ERR_LIMIT, "manifest: %zu %ss, more than %zu", list->array.n,
			       what, max_items);
	m->item = xcalloc(list->array.n + 1, sizeof(*m->item));
	for (size_t i = 0; i < list->array.n; i++) {
		m->n_items++;
		if (read_descriptor(&list->array.item[i], what, max_bytes, &m->item[i], e) < 0)
			return -1;
	}
	return 0;
}

static int check_layer_type(const struct image_descriptor *d, struct err *e)
{
	const char *type = d->media_type;

	if (!type)
		return err_set(e, ERR_INVALID, "manifest: layer %s has no media type", d->digest);
	for (size_t i = 0; i < ARRAY_SIZE(layer_types); i++)
		if (strcmp(type, layer_types[i]) == 0)
			return 0;
	if (strstr(type, "foreign") || strstr(type, "nondistributable"))
		return err_set(e, ERR_UNSUPPORTED,
			       "layer %s is foreign (%.100s): registries do not hold it", d->digest,
			       type);
	return err_set(e, ERR_UNSUPPORTED, "layer %s has the unknown media type '%.100s'",
		       d->digest, type);
}

static int check_config_type(const struct image_descriptor *d, struct err *e)
{
	const char *type = d->media_type ? d->media_type : MEDIA_OCI_CONFIG;

	if (strcmp(type, MEDIA_OCI_CONFIG) == 0 || strcmp(type, MEDIA_DOCKER_CONFIG) == 0)
		return 0;
	return err_set(e, ERR_UNSUPPORTED, "not a container image: its configuration is '%.100s'",
		       type);
}

static int read_image(const struct json_value *root, struct image_manifest *m, struct err *e)
{
	m->kind = MANIFEST_IMAGE;
	if (read_descriptor(json_get(root, "config"), "configuration", IMAGE_CONFIG_MAX_BYTES,
			    &m->config, e) < 0 ||
	    check_config_type(&m->config, e) < 0 ||
	    read_items(json_get(root, "layers"), "layer", IMAGE_LAYERS_MAX, LAYER_BLOB_MAX_BYTES, m,
		       e) < 0)
		return -1;
	for (size_t i = 0; i < m->n_items; i++)
		if (check_layer_type(&m->item[i], e) < 0)
			return -1;
	return 0;
}

static int read_document(const struct json_value *root, struct image_manifest *m, struct err *e)
{
	bool image = json_get(root, "layers") || json_get(root, "config");
	bool index = json_get(root, "manifests");

	if (root->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "manifest is not an object");
	if (json_get_int(root, "schemaVersion", 2) == 1)
		return err_set(e, ERR_UNSUPPORTED,
			       "manifest has Docker's schema 1, which registries gave up");
	if (image && index)
		return err_set(e, ERR_INVALID,
			       "manifest claims to be an image and an index at once");
	m->media_type = copy_string(root, "mediaType");
	if (index) {
		m->kind = MANIFEST_INDEX;
		return read_items(json_get(root, "manifests"), "image", MANIFEST_ITEMS_MAX,
				  LAYER_BLOB_MAX_BYTES, m, e);
	}
	if (!json_get(root, "layers") || !json_get(root, "config"))
		return err_set(e, ERR_INVALID, "manifest is neither an image nor an index");
	return read_image(root, m, e);
}

int manifest_parse(const char *p, size_t n, struct image_manifest *ret, struct err *e)
{
	struct image_manifest m = { 0 };
	AUTO_JSON doc = NULL;

	if (n > MANIFEST_MAX_BYTES)
		return err_set(e, ERR_LIMIT, "manifest is larger than %u bytes",
			       MANIFEST_MAX_BYTES);
	if (json_parse(p, n, &doc, e) < 0)
		return err_wrap(e, "manifest");
	if (read_document(json_root(doc), &m, e) < 0) {
		manifest_done(&m);
		return -1;
	}
	*ret = m;
	return 0;
}

static bool platform_matches(const struct image_descriptor *d, const char *os,
			     const char *architecture)
{
	return d->os && d->architecture && strcmp(d->os, os) == 0 &&
	       strcmp(d->architecture, architecture) == 0;
}

int manifest_select(const struct image_manifest *index, const char *os, const char *architecture,
		    const struct image_descriptor **ret, struct err *e)
{
	const struct image_descriptor *best = NULL;
	AUTO_BUF offer = BUF_INIT(ERR_MSG_BYTES / 2); /* a list that is cut off is still useful */

	for (size_t i = 0; i < index->n_items; i++) {
		const struct image_descriptor *d = &index->item[i];

		if (platform_matches(d, os, architecture)) {
			/* prefer an item without a variant, because a variant may need
			 * instructions that this machine lacks */
			if (!best || (best->variant && !d->variant))
				best = d;
		} else if (d->os && d->architecture && strcmp(d->os, "unknown") != 0) {
			buf_addf(&offer, "%s%s/%s", offer.n ? ", " : "", d->os, d->architecture);
		}
	}
	if (!best && index->n_items == 1 && !index->item[0].os)
		best = &index->item[0];
	if (!best)
		return err_set(e, ERR_NOT_FOUND, "no image for %s/%s, only for %s", os,
			       architecture, offer.n ? buf_str(&offer) : "nothing");
	*ret = best;
	return 0;
}
