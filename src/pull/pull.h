/* An image from a registry into the store, ready to be used. */
#pragma once

#include "base/err.h"
#include "pull/registry.h"
#include "pull/settings.h"
#include "pull/store.h"

struct pull_options {
	struct registry_options registry;
	bool update; /* ask the registry although the reference is in the store */
	bool verify; /* hash what is in the store before using it, and fetch again what is wrong */
	bool quiet;
};

/* *RET_CACHED when nothing had to be fetched. */
MUST_USE int pull_image(const struct store *store, const struct settings *s, const char *reference,
			const struct pull_options *o, bool *ret_cached, struct err *e);
