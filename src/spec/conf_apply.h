/*
 * The keys of configuration files and what they do to a spec. Private to spec/.
 *
 * conf_apply.c has the table of the keys at the top level. The keys for mounts, patches and the
 * network are in separate files. In all functions, the parameter PATH is the place of the member in
 * the configuration file, for messages.
 */
#pragma once

#include "spec/conf.h"

struct conf_target {
	struct spec *s;
	struct conf_extra *x;
	const char *shell; /* the value of --shell, or NULL */
};

/* Checks that *V has only keys that a file of the scope SCOPE may have. The message lists the known
 * keys. */
MUST_USE int conf_check_keys(const struct json_value *v, enum conf_scope scope, struct err *e);
/* Applies a document that has the keys of a --conf file, and in which ${NAME} was replaced. */
MUST_USE int conf_apply_value(const struct json_value *v, const char *shell, struct spec *s,
			      struct conf_extra *x, struct err *e);

/* --- conf_fs.c, conf_network.c: keys at the top level -------------------------------------- */

MUST_USE int conf_apply_mounts(const struct json_value *v, const char *path, struct conf_target *a,
			       struct err *e);
MUST_USE int conf_apply_read_only(const struct json_value *v, const char *path,
				  struct conf_target *a, struct err *e);
MUST_USE int conf_apply_writable(const struct json_value *v, const char *path,
				 struct conf_target *a, struct err *e);
MUST_USE int conf_apply_root_disk(const struct json_value *v, const char *path,
				  struct conf_target *a, struct err *e);
MUST_USE int conf_apply_patches(const struct json_value *v, const char *path, struct conf_target *a,
				struct err *e);
MUST_USE int conf_apply_patch_files(const struct json_value *v, const char *path,
				    struct conf_target *a, struct err *e);
MUST_USE int conf_apply_network(const struct json_value *v, const char *path, struct conf_target *a,
				struct err *e);
MUST_USE int conf_apply_ports(const struct json_value *v, const char *path, struct conf_target *a,
			      struct err *e);
#define CONF_NET_FIELDS 8u
extern const struct json_field conf_net_fields[]; /* the keys of `network` */

/* --- conf_read.c: values ------------------------------------------------------------------- */

/* Checks that *V is a map, and that all its keys are in the list KNOWN, which ends with NULL. The
 * message lists KNOWN. */
MUST_USE int conf_refuse_unknown(const struct json_value *v, const char *path,
				 const char *const *known, struct err *e);
/* Calls json_decode() and refuses unknown keys. The message lists the known keys. */
MUST_USE int conf_decode(const struct json_value *v, const char *path, const struct json_field *f,
			 size_t n, void *out, struct err *e);
/* Returns the text of *V, or NULL with *E filled. The text contains no NUL, because texts with a
 * NUL were refused before. */
const char *conf_text(const struct json_value *v, const char *path, struct err *e);
/* Adds each string of a list to RET, with PREFIX in front. */
MUST_USE int conf_texts(const struct json_value *v, const char *path, const char *prefix,
			struct strv *ret, struct err *e);
/* Calls ONE for each item of a list. */
MUST_USE int conf_each(const struct json_value *v, const char *path, struct conf_target *a,
		       int (*one)(const struct json_value *, const char *, struct conf_target *,
				  struct err *),
		       struct err *e);
/* Sets ERR_UNSUPPORTED, "WHAT is not supported yet". Returns -1. */
int conf_not_yet(const char *what, struct err *e);
