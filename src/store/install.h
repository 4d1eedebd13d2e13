/*
 * An image whose blobs are in the store becomes usable: its layers are unpacked, then a record
 * names it.
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
/* Reads the configuration from the store and checks that it and the manifest belong together and
 * to this machine. */
MUST_USE int install_read_config(const struct store *store, struct install *i, struct err *e);
void install_add_layers(const struct install *i, struct layers *l);
/* All layers must be ready. */
MUST_USE int install_put_record(const struct store *store, const struct install *i,
				const char *reference, struct err *e);
