/*
 * The directories that hold skills. The skills of all tenants are in one directory, the skills
 * root.
 *
 *   ROOT/tenants/NAMESPACE/   the store of one tenant
 *   ROOT/                     the store for peers without tenants; it does not include `tenants`
 *   STORE/.cordon-new-…       a package that is being made
 *   STORE/.cordon-old-…       a package that is being deleted
 *
 * A package is published by one rename and removed by one rename. So a killed worker leaves no
 * half-made package under a visible name. A worker locks the package that it makes. A hidden
 * package that nobody has locked is rubbish, and skills/sweep.h erases it.
 *
 * When a worker starts, it resolves the path of the skills root once and keeps the directory open.
 * A worker that imports a package also keeps the directory open from which it imports, the source.
 * The worker compares the text of paths in requests with the paths of these two directories. It
 * opens files only below the descriptors of these two directories.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "skills/why.h"

#define STORE_TENANT_MAX_BYTES 128u

struct places {
	int root;
	char *root_path; /* canonical */
	/* the path as the worker's owner (wire/skills.h) wrote it, made absolute */
	char *root_named;
	/* the directory at which relative paths in requests begin */
	char *cwd;
	int source;                       /* -1 if there is no source, or it cannot be opened */
	char *source_path, *source_named; /* NULL if there is no source */
};

/* Opens ROOT and SOURCE. Makes ROOT if it is missing. SOURCE may be NULL. REFUSED are the
 * directories of skills/bounds.h. */
MUST_USE int places_open(const char *root, const char *source, const char *const *refused,
			 struct places *ret, struct err *e);
void places_done(struct places *p);
/* Returns true if the root was deleted after it was opened. */
bool places_gone(const struct places *p);

struct store {
	const struct places *places; /* borrowed; must live longer than the store */
	int fd;
	/* both are absolute; `path` is canonical, `named` is as the owner wrote it */
	char *path, *named;
	bool tenant;
};

#define AUTO_STORE __attribute__((cleanup(store_done))) struct store

/* Opens the store of TENANT and makes it if it is missing. NULL means the store for peers without
 * tenants. */
MUST_USE int store_open(const struct places *p, const char *tenant, struct store *ret,
			struct why *y);
void store_done(struct store *s);
/* Returns a function that tells which names right below the store are no packages: for such a name
 * the function returns true. */
bool (*store_skip(const struct store *s))(const char *name);
/* Returns PATH, which is relative to the store, as an absolute path in allocated memory. */
char *store_path(const struct store *s, const char *path);

/* What a path in a request means. */
enum where {
	WHERE_STORE,     /* something below the store */
	WHERE_ROOT,      /* the store itself */
	WHERE_SOURCE,    /* the directory to import from */
	WHERE_ELSEWHERE, /* anything else, for instance a part of another store; refused */
};

/* Decides where NAMED, a trimmed path from a peer, leads. *RET_PATH becomes the same path, absolute
 * and normalised; if NAMED is the source, the canonical path of the source. If *RET_PATH is in the
 * store, *RET_REST points to the part of *RET_PATH that is relative to the store. */
enum where store_locate(const struct store *s, const char *named, char **ret_path,
			const char **ret_rest);

/* Makes an empty hidden package, opens it and locks it. *RET_NAME is allocated. */
MUST_USE int store_begin(const struct store *s, char **ret_name, int *ret_fd, struct why *y);
/* Renames the package FROM to TO, which must not exist. Returns 0 or -errno. */
MUST_USE int store_publish(const struct store *s, const char *from, const char *to);
/* Removes the package NAME from the store with one rename. The sweep erases its files later.
 * Returns 0 or -errno. */
MUST_USE int store_delete(const struct store *s, const char *name);
/* Erases a part of the rubbish, for less than 0.1 s. Returns false if nothing more can be
 * erased. */
bool store_sweep(const struct store *s);
