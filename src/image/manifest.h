/*
 * Reads manifests and indexes of OCI and of Docker's schema 2.
 *
 * The members of a document, not its media type, tell whether it is a manifest or an index. A
 * document that could be read as both is refused, because two programs could see two different
 * images in it. A struct image_manifest owns everything it points to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "image/config.h"
#include "image/digest.h"

#define MANIFEST_MAX_BYTES (4u << 20) /* registries accept manifests of this size */
#define MANIFEST_ITEMS_MAX 1024u      /* the most images that an index may name */
/* the largest compressed layer that we accept; the largest public layers have 20 GiB */
#define LAYER_BLOB_MAX_BYTES (64ull << 30)

#define MEDIA_OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define MEDIA_OCI_INDEX "application/vnd.oci.image.index.v1+json"
#define MEDIA_OCI_CONFIG "application/vnd.oci.image.config.v1+json"
#define MEDIA_OCI_LAYER "application/vnd.oci.image.layer.v1.tar"
#define MEDIA_DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"
#define MEDIA_DOCKER_LIST "application/vnd.docker.distribution.manifest.list.v2+json"
#define MEDIA_DOCKER_CONFIG "application/vnd.docker.container.image.v1+json"
#define MEDIA_DOCKER_LAYER "application/vnd.docker.image.rootfs.diff.tar"

struct image_descriptor {
	char *media_type; /* NULL when absent */
	char digest[DIGEST_BYTES];
	uint64_t size_bytes;
	char *os, *architecture, *variant; /* the platform of an index's item; NULL if absent */
	char *ref_name;                    /* annotation org.opencontainers.image.ref.name */
	char *image_name;                  /* annotation io.containerd.image.name */
};

enum manifest_kind { MANIFEST_IMAGE, MANIFEST_INDEX };

struct image_manifest {
	enum manifest_kind kind;
	char *media_type;               /* the type that the document states, or NULL */
	struct image_descriptor config; /* only for MANIFEST_IMAGE */
	struct image_descriptor *item;  /* layers, lowest first, or an index's images */
	size_t n_items;
};

MUST_USE int manifest_parse(const char *p, size_t n, struct image_manifest *ret, struct err *e);
void manifest_done(struct image_manifest *m);

/* Finds the item of an index for the platform OS/ARCHITECTURE. If several items fit, prefers one
 * without a variant. If no item fits, takes the only item of an index, provided that this item
 * names no platform. Otherwise fails with ERR_NOT_FOUND and lists the platforms in the message.
 * INDEX owns the result. */
MUST_USE int manifest_select(const struct image_manifest *index, const char *os,
			     const char *architecture, const struct image_descriptor **ret,
			     struct err *e);

/* The platform whose images this build runs. */
#define IMAGE_OS "linux"
#define IMAGE_ARCHITECTURE "amd64"
