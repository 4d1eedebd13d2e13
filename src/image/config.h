/*
 * The configuration of an image. Only members that OCI and Docker have in common are read.
 *
 * A struct image_config owns everything it points to. Strings hold no NUL. Members that the
 * document lacks are NULL or empty lists.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"

#define IMAGE_CONFIG_MAX_BYTES (4u << 20) /* registries accept this much for any metadata blob */
/* the most entries of `env`, `labels`, `volumes` …; no real image comes near this number */
#define IMAGE_LIST_MAX 4096u
#define IMAGE_STRING_MAX_BYTES (128u << 10) /* the kernel's limit for one argument or variable */
#define IMAGE_USER_MAX_BYTES 256u           /* "name:group", with names of the greatest length */
#define IMAGE_LAYERS_MAX 256u               /* twice Docker's limit, half of overlayfs's limit */

/* The array `v` ends with NULL, as execve needs it. If `n` is 0, `v` itself is NULL. */
struct image_strings {
	char **v;
	size_t n;
};

struct image_label {
	char *key, *value;
};

struct image_config {
	char *architecture, *variant, *os;
	char *created;            /* RFC 3339 text, as it is in the document */
	struct image_strings env; /* each string is KEY=VALUE */
	struct image_strings entrypoint, cmd;
	char *user;        /* looked up in the image's own passwd */
	char *working_dir; /* may be relative or contain `..`; it is resolved inside the root */
	char *stop_signal;
	struct image_strings volumes;       /* paths */
	struct image_strings exposed_ports; /* "80/tcp" */
	struct image_label *label;
	size_t n_labels;
	struct image_strings diff_ids; /* valid digests, lowest layer first */
};

/* Fails with ERR_INVALID. The message says which member is wrong. */
MUST_USE int image_config_parse(const char *p, size_t n, struct image_config *ret, struct err *e);
void image_config_done(struct image_config *c);

/* Functions for lists of owned strings. */
void image_strings_add(struct image_strings *l, const char *s);
void image_strings_done(struct image_strings *l);
