/*
 * Makes an image usable after its blobs are in the store. The layers are unpacked first. Then the
 * record of the image is written to the store. The record says which image
 * a reference means.
 */
#pragma once

#include "base/err.h"
#include "image/config.h"
#include "image/manifest.h"
#include "store/layers.h"
#include "store/store.h"

struct install {
	char manifest_digest[DIGEST_BYTES];
	struct image_manifest manifest;
	struct image_config config;
};

void install_done(struct install *i);
/* Reads the image's configuration from the store. Checks that the configuration fits the manifest
 * and that the image is for this machine. */
MUST_USE int install_read_config(const struct store *store, struct install *i, struct err *e);
void install_add_layers(const struct install *i, struct layers *l);
/* Writes the record of the image. All layers must be ready. */
MUST_USE int install_put_record(const struct store *store, const struct install *i,
				const char *reference, struct err *e);
