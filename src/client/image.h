/* Finds the image of a spec in the store or fetches it, and applies the image's configuration to
 * the spec. */
#pragma once

#include "base/err.h"
#include "client/imager.h"
#include "spec/spec.h"

struct home;

/* How an image is fetched. */
struct image_fetch {
	bool quiet; /* show no progress */
	/* the user name at the registry; NULL means the stored login for the registry, if there is
	 * one */
	const char *username;
	const char *password_env; /* the variable of our environment that has the password */
	/* an array of IMAGER_HINT_BYTES that gets the text of an error's hint; the array must live
	 * as long as the error */
	char *hint;
};

/* Returns true if this host could mount a flat form. The flat form of an image is one file system
 * with the merged tree of all its layers. */
bool image_flat_usable(void);
/* Fails if this host could not mount a flat form. The user asked for the flat form with the option
 * FLAG and its VALUE, and the error message names both. */
MUST_USE int image_check_flat(const char *flag, const char *value, struct err *e);

/* Finds the registry image that S names, and fetches it if S allows that. Settings that S leaves
 * open are taken from the image's configuration. Makes the flat form too, if S wants one. */
MUST_USE int image_resolve(const struct home *h, const struct image_fetch *f, struct spec *s,
			   struct err *e);
