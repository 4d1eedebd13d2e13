/*
 * Image references have the form [host[:port]/]path[:tag][@digest].
 *
 * The parser adds what the user left out: the default registry, `library/` for short names in this
 * registry, and, if there is no digest, the tag `latest`. So all ways to write one image have the
 * same reference_key(). struct reference does not keep the text that the user wrote. Callers keep
 * it for their messages.
 */
#pragma once

#include "base/err.h"
#include "image/digest.h"

#define REFERENCE_MAX_BYTES 512      /* enough for the longest name, the longest tag and a digest */
#define REFERENCE_NAME_MAX_BYTES 255 /* host and path together: registries accept this much */
#define REFERENCE_TAG_MAX_BYTES 128  /* registries accept this much */
#define REFERENCE_DEFAULT_REGISTRY "docker.io"
#define REFERENCE_DEFAULT_TAG "latest"

struct reference {
	char registry[REFERENCE_NAME_MAX_BYTES + 1]; /* "docker.io", "localhost:5000" */
	char repository[REFERENCE_NAME_MAX_BYTES + 1 + sizeof("library/")]; /* "library/alpine" */
	char tag[REFERENCE_TAG_MAX_BYTES + 1]; /* "" when only a digest was given */
	char digest[DIGEST_BYTES];             /* "" when no digest was given */
};

#define REFERENCE_KEY_BYTES (2 * REFERENCE_NAME_MAX_BYTES + REFERENCE_TAG_MAX_BYTES + DIGEST_BYTES)

/* Fails with ERR_INVALID. The message names the reference and says what is wrong with it. */
MUST_USE int reference_parse(const char *s, struct reference *ret, struct err *e);
/* Writes "registry/repository:tag", or "registry/repository@digest" if there is a digest.
 * Equal keys mean the same image. */
void reference_key(const struct reference *r, char out[REFERENCE_KEY_BYTES]);
/* Returns the part after /manifests/ in a registry's URL: the digest if there is one, otherwise the
 * tag. */
const char *reference_target(const struct reference *r);
