/*
 * Reads the image store. The store is a set of directories under HOME/cache; it has no index and no
 * daemon.
 *
 *   cache/lock                 flock: shared while content is being added or referred to,
 *                              exclusive while content is removed
 *   cache/blobs/sha256/HEX     manifests, configurations and layers as they came, by digest
 *   cache/layers/HEX/root      a layer's tree, by the digest of its blob; a lower layer of overlays
 *   cache/layers/HEX/served    the same with whiteouts by name (.wh.NAME), if the file system
 *                              cannot store other whiteouts; only fuse-overlayfs understands such
 *                              whiteouts
 *   cache/layers/HEX/layer.json  struct image_layer_info
 *   cache/layers/HEX/owner-UID-GID  the same layer with rotated owners (base/rotation.h): root or
 *                              served, and layer.json; made on request, for sandboxes of ordinary
 *                              users in which the user UID:GID works
 *   cache/layers/HEX/passed-HEX  implied directories (implied.h) of an image with this topmost
 *                                layer
 *   cache/flat/HEX             all layers of an image in one file system, by a hash of the layers;
 *                              made on request
 *   cache/images/KEY.json      one record per reference; KEY is the SHA-256 of reference_key()
 *   cache/tmp                  work in progress; everything elsewhere is complete
 *
 * Each entry gets its name by a rename when it is complete. Blobs and layers appear before the
 * record that names them. So a process that only reads needs no lock. A process that creates a
 * sandbox holds a shared lock until the sandbox's configuration is written. The configuration names
 * the digest of the manifest, and this protects the image from removal.
 *
 * The name of a layer's tree is the digest of the layer's blob, not the diff_id. The digest of the
 * blob is checked by a process that parses nothing, so no layer can attack this process. The
 * diff_id comes from the process that unpacks the layer, and a hostile layer may take that process
 * over. Because the diff_id is not the name, such a process can spoil only the tree of its own
 * layer.
 *
 * HOME_FD is always a descriptor of the home directory. A struct image_record owns everything that
 * it points to.
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
#define IMAGE_RECORD_MAX_BYTES (256u << 10) /* enough for 256 layers of about 400 bytes each */
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
/* Finds an image by the digest of its manifest. The configuration of a sandbox names its image
 * by this digest, because the reference may mean another image later. */
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
/* Writes the name of the directory, below a layer's directory, that has the layer with rotated
 * owners. The name is "" if no id is rotated. */
void image_form_name(const struct rotation *r, char out[IMAGE_FORM_BYTES]);
/* The functions image_…_path() write paths relative to the home, for openat. DIGEST is the digest
 * of the blob (image_layer.digest). */
void image_blob_path(const char *digest, char out[IMAGE_PATH_BYTES]);
/* Writes the name of the flat form in cache/flat. All images with the same layers share one flat
 * form. */
void image_flat_hex(const struct image_record *r, char out[DIGEST_HEX_CHARS + 1]);
void image_flat_path(const struct image_record *r, char out[IMAGE_PATH_BYTES]);
MUST_USE int image_record_path(const char *reference, char out[IMAGE_PATH_BYTES], struct err *e);

/* An image may have the same layer more than once. Returns true if the layer with the index I
 * occurs again above this index. */
bool image_layer_comes_again(const struct image_record *r, size_t i);
/* Opens the trees of R's layers as O_PATH descriptors, the lowest first. FORM is a name from
 * image_form_name(), or "". Fails with ERR_NOT_FOUND if the store lacks this form. A repeated layer
 * is opened only at its highest place, because overlayfs refuses duplicates. Sets *RET_NAMED to
 * true if one of the trees is a `served` tree, in which whiteouts are files named `.wh.NAME`;
 * otherwise to false. The caller closes *RET_N descriptors, also after a failure. */
MUST_USE int image_store_open_layers(int home_fd, const struct image_record *r, const char *form,
				     int fd[IMAGE_LAYERS_MAX], size_t *ret_n, bool *ret_named,
				     struct err *e);

/* The extended attribute that marks implied directories (implied.h). Overlayfs hides every
 * attribute whose name begins with "user.overlay.". */
#define IMAGE_IMPLIED_XATTR "user.overlay.implied"
/* An extended attribute of the root of a layer's tree. It lists the paths of the layer's implied
 * directories, as many as fit, each with a terminator. */
#define IMAGE_IMPLIED_LIST_XATTR "user.overlay.implied_list"
#define IMAGE_IMPLIED_LIST_MAX_BYTES 3072u /* a file's attributes must fit into a block of ext4 */
/* The root of a sandbox gets at least this mode. In the root, pid 1 has only the rights of an
 * ordinary user, and it must be able to enter the root. */
#define IMAGE_ROOT_MODE 0755u

/* How the owners of a layer's files are stored. */
enum layer_owners {
	/* root unpacked: files have the image's own ids, 0–65535; mounts map them */
	LAYER_OWNERS_NATIVE,
	/* a user unpacked: id 0 is the user's own id, id N is the user's N-th subordinate id */
	LAYER_OWNERS_MAPPED,
	LAYER_OWNERS_SINGLE, /* a user unpacked: all files belong to this user */
};

struct image_layer_info {
	char diff_id[DIGEST_BYTES]; /* digest of the tar that was unpacked */
	uint64_t disk_bytes;        /* disk space that the tree takes */
	uint64_t tar_bytes;         /* length of the plain tar */
	uint64_t entries;           /* number of entries, including implied directories */
	uint64_t name_bytes;        /* length of all paths and link targets */
	uint64_t squashed;          /* entries whose owner was changed to nobody */
	uint64_t skipped;           /* device nodes, sockets and attributes left out */
	enum layer_owners owners;
};
/* Returns how many bytes R's flat form takes on disk, or 0 if there is none. *RET_MIB is the
 * size of its file system. */
uint64_t image_store_flat(int home_fd, const struct image_record *r, uint64_t *ret_mib);
MUST_USE int image_store_layer_info(int home_fd, const char *digest, const char *form,
				    struct image_layer_info *ret, struct err *e);

/* Waits for the lock HOME/cache/lock and takes it. To release the lock, close the descriptor. */
MUST_USE int image_store_lock(int home_fd, bool exclusive, int *ret_fd, struct err *e);

/* Functions that write and read the formats on disk. Only src/store writes files, but for each
 * format the code that writes it and the code that reads it are in one source file. */
void image_record_write_json(const struct image_record *r, struct json_writer *w);
MUST_USE int image_record_read_json(const char *p, size_t n, struct image_record *ret,
				    struct err *e);
MUST_USE int image_layer_info_read_json(const struct json_value *v, struct image_layer_info *ret,
					struct err *e);
void image_layer_info_write_json(const struct image_layer_info *i, struct json_writer *w);
