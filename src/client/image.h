/* The image of a spec: found in the store or fetched, and what its configuration says about the sandbox. */
#pragma once

#include "base/err.h"
#include "client/imager.h"
#include "spec/spec.h"

struct home;

/* How an image is fetched. */
struct image_fetch {
	bool quiet; /* show no progress */
	/* NULL: use the stored login for the registry, if there is one */
	const char *username;
	const char *password_env; /* the variable of our environment that has the password */
	char *hint; /* room for IMAGER_HINT_BYTES, where the hint of an error is kept; must outlive the error */
};

/* Says whether a flat form could be mounted here, once it is made. */
bool image_flat_usable(void);
/* Fails if this host could not mount a flat form. The message says that the option FLAG VALUE
 * asked for it. */
MUST_USE int image_check_flat(const char *flag, const char *value, struct err *e);

/* Finds the image of S, which is one of a registry, by its reference, and fetches it if S allows that. Fills in what
 * the image's configuration says and S left open. Makes the flat form too, if S wants one. */
MUST_USE int image_resolve(const struct home *h, const struct image_fetch *f, struct spec *s,
			   struct err *e);
