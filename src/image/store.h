/*
 * The image store as readers see it: directories under HOME/cache, no index, no daemon.
 *
 *   cache/lock                 flock: shared while content is being added or referred to,
 *                              exclusive while content is removed
 *   cache/blobs/sha256/HEX     manifests, configurations and layers as they came, by digest
 *   cache/layers/HEX/root      a layer's tree, by the digest of its blob; a lower layer of overlays
 *   cache/layers/HEX/served    the same with whiteouts by name (.wh.NAME), if the file system cannot
 *                              store other whiteouts; only fuse-overlayfs understands such whiteouts
 *   cache/layers/HEX/layer.json  struct image_layer_info
 *   cache/layers/HEX/owner-UID-GID  the same layer with rotated owners (base/rotation.h): root or
 *                              served, and layer.json; made on request, for sandboxes of ordinary
 *                              users in which the user UID:GID works
 *   cache/layers/HEX/passed-HEX  implied directories (implied.h) of an image with this topmost layer
 *   cache/flat/HEX             all layers of an image in one file system, by a hash of the layers;
 *                              made on request
 *   cache/images/KEY.json      one record per reference; KEY is the SHA-256 of reference_key()
 *   cache/tmp                  work in progress; everything elsewhere is complete
 *
 * Each entry appears by rename when it is complete; blobs and layers appear before the record that
 * names them. So a reader needs no lock. A reader that creates a sandbox holds the lock shared
 * until the sandbox's configuration is written. The configuration names the manifest's digest, and
 * this protects the image from removal.
 *
 * Trees are named by the blob's digest and not by diff_id. The process that checks the blob's
 * digest parses nothing, so a hostile layer that takes over its unpacker can spoil only its own
 * tree.
 *
 * All functions take HOME as a directory descriptor. Records own what they point to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/rotation.h"
#include "image/config.h"
#include "image/digest.h"

#define IMAGE_RECORD_FORMAT 1
#define IMAGE_RECORD_MAX_BYTES (256u << 10) /* 256 layers of some 400 bytes each, with room */
#define IMAGE_RECORDS_MAX 10000u            /* references of one home */

struct image_layer {
	char digest[DIGEST_BYTES];  /* digest of the compressed blob */
	char diff_id[DIGEST_BYTES]; /* digest of the plain tar */
	char *media_type;
	uint64_t size_bytes; /* size of the blob */
};

struct image_record {
	char *reference; /* the user's text; NULL in records of image_store_find_digest() */
	char manifest_digest[DIGEST_BYTES];
	char config_digest[DIGEST_BYTES];
	char *media_type; /* media type of the manifest */
	char *architecture, *os;
	uint64_t created_at_ns;    /* when the image came into this store */
	uint64_t size_bytes;       /* bytes on disk of its unpacked layers */
	struct image_layer *layer; /* lowest first */
	size_t n_layers;
};

/* Fails with ERR_NOT_FOUND "image not found: REF". */
MUST_USE int image_store_find(int home_fd, const char *reference, struct image_record *ret,
			      struct err *e);
/* Finds an image by its manifest's digest. A sandbox's configuration has the digest, because the
 * reference may mean another image later. */
MUST_USE int image_store_find_digest(int home_fd, const char *manifest_digest,
				     struct image_record *ret, struct err *e);
/* Lists all records, newest first. Leaves damaged records out. */
MUST_USE int image_store_list(int home_fd, struct image_record **ret, size_t *ret_n, struct err *e);
MUST_USE int image_store_config(int home_fd, const struct image_record *r, struct image_config *ret,
				struct err *e);
void image_record_done(struct image_record *r);
void image_records_free(struct image_record *r, size_t n);

#define IMAGE_LAYER_TREE "root"
#define IMAGE_LAYER_NAMED "served"
#define IMAGE_PATH_BYTES 128
#define IMAGE_FORM_BYTES 32
#define IMAGE_FORM_PREFIX "owner-"
/* Writes the name of the form of layers with rotated owners, relative to the layer's directory. The name is "" if
 * nothing is rotated. */
void image_form_name(const struct rotation *r, char out[IMAGE_FORM_BYTES]);
/* Write paths relative to HOME, for openat. DIGEST is the digest of the blob (image_layer.digest). */
void image_blob_path(const char *digest, char out[IMAGE_PATH_BYTES]);
/* Writes the name of the flat form in cache/flat. All images with the same layers share it. */
void image_flat_hex(const struct image_record *r, char out[DIGEST_HEX_CHARS + 1]);
void image_flat_path(const struct image_record *r, char out[IMAGE_PATH_BYTES]);
MUST_USE int image_record_path(const char *reference, char out[IMAGE_PATH_BYTES], struct err *e);

/* Returns true if layer I of R occurs again above I: an image may hold one layer more than once. */
bool image_layer_comes_again(const struct image_record *r, size_t i);
/* Opens the trees of R's layers as O_PATH descriptors, the lowest first. FORM is a name from image_form_name(), or "".
 * Fails with ERR_NOT_FOUND if the store lacks this form. A repeated layer is opened
 * only at its highest place, because overlayfs refuses duplicates. Sets *RET_NAMED if a tree is of
 * the served kind. The caller closes *RET_N descriptors, also after a failure. */
MUST_USE int image_store_open_layers(int home_fd, const struct image_record *r, const char *form,
				     int fd[IMAGE_LAYERS_MAX], size_t *ret_n, bool *ret_named,
				     struct err *e);

/* An extended attribute on implied directories, for which the layer's tar has no entry: their owner
 * and mode come from a lower layer. Overlayfs hides attributes of that name. */
#define IMAGE_IMPLIED_XATTR "user.overlay.implied"
/* An extended attribute on a layer's root: as many paths of its implied directories as fit, each
 * with its terminator. */
#define IMAGE_IMPLIED_LIST_XATTR "user.overlay.implied_list"
#define IMAGE_IMPLIED_LIST_MAX_BYTES 3072u /* a file's attributes must fit into a block of ext4 */
/* The root of a sandbox gets at least this mode: pid 1 is an ordinary user there and must be able
 * to enter it. */
#define IMAGE_ROOT_MODE 0755u

/* How the owners of a layer's files are stored. */
enum layer_owners {
	LAYER_OWNERS_NATIVE, /* root unpacked the image's own ids, 0–65535; mounts map them */
	LAYER_OWNERS_MAPPED, /* 0 is the caller, N the caller's N-th subordinate id */
	LAYER_OWNERS_SINGLE, /* everything belongs to the caller */
};

struct image_layer_info {
	char diff_id[DIGEST_BYTES]; /* digest of the tar that was unpacked */
	uint64_t disk_bytes;        /* allocated by the tree */
	uint64_t tar_bytes;         /* length of the plain tar */
	uint64_t entries;           /* including directories that were only implied */
	uint64_t name_bytes;        /* length of all paths and link targets */
	uint64_t squashed;          /* entries whose owner was changed to nobody */
	uint64_t skipped;           /* device nodes, sockets and attributes left out */
	enum layer_owners owners;
};
/* Returns the bytes on disk of R's flat form, or 0 when there is none. *RET_MIB is its full
 * size. */
uint64_t image_store_flat(int home_fd, const struct image_record *r, uint64_t *ret_mib);
MUST_USE int image_store_layer_info(int home_fd, const char *digest, const char *form,
				    struct image_layer_info *ret, struct err *e);

/* Waits for HOME/cache/lock and takes it. Closing the descriptor releases the lock. */
MUST_USE int image_store_lock(int home_fd, bool exclusive, int *ret_fd, struct err *e);

/* The formats on disk. Only src/store writes files, but one source file both writes and reads each format. */
void image_record_write_json(const struct image_record *r, struct json_writer *w);
MUST_USE int image_record_read_json(const char *p, size_t n, struct image_record *ret,
				    struct err *e);
MUST_USE int image_layer_info_read_json(const struct json_value *v, struct image_layer_info *ret,
					struct err *e);
void image_layer_info_write_json(const struct image_layer_info *i, struct json_writer *w);
