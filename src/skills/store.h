/*
 * The directories that hold skills. The skills of all tenants are in one directory, the skills root.
 *
 *   ROOT/tenants/NAMESPACE/   the store of one tenant
 *   ROOT/                     the store for peers without tenants; it does not include `tenants`
 *   STORE/.cordon-new-…       a package that is being made
 *   STORE/.cordon-old-…       a package that is being deleted
 *
 * One rename publishes a finished package and one rename removes a package, so a killed worker leaves no half-made
 * package under a visible name. A worker locks the package that it makes. Hidden packages without a lock are rubbish,
 * which skills/sweep.h erases.
 *
 * When a worker starts, it resolves the root once and holds its descriptor. It may also hold a second directory, the
 * source, to import from. The worker compares paths in requests with the paths of these two directories as text, and
 * opens files only below their descriptors.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "skills/why.h"

#define STORE_TENANT_MAX_BYTES 128u

struct places {
	int root;
	char *root_path;                  /* canonical */
	char *root_named;                 /* as the owner spelled it, made absolute */
	char *cwd;                        /* relative paths in requests begin here */
	int source;                       /* -1 if there is no source, or it cannot be opened */
	char *source_path, *source_named; /* NULL if there is no source */
};

/* Opens ROOT and SOURCE. Makes ROOT if it is missing. SOURCE may be NULL. REFUSED are the directories of
 * skills/bounds.h. */
MUST_USE int places_open(const char *root, const char *source, const char *const *refused,
			 struct places *ret, struct err *e);
void places_done(struct places *p);
/* Returns true if the root was deleted after it was opened. */
bool places_gone(const struct places *p);

struct store {
	const struct places *places; /* borrowed; outlives the store */
	int fd;
	char *path, *named; /* absolute; PATH is canonical, NAMED is as the owner spelled it */
	bool tenant;
};

#define AUTO_STORE __attribute__((cleanup(store_done))) struct store

/* Opens the store of TENANT and makes it if it is missing. NULL means the store for peers without tenants. */
MUST_USE int store_open(const struct places *p, const char *tenant, struct store *ret,
			struct why *y);
void store_done(struct store *s);
/* Returns the function that tells which names right below the store are no packages. */
bool (*store_skip(const struct store *s))(const char *name);
/* Returns the allocated absolute path of PATH, which is relative to the store. */
char *store_path(const struct store *s, const char *path);

/* What a path in a request means. */
enum where {
	WHERE_STORE,     /* something below the store */
	WHERE_ROOT,      /* the store itself */
	WHERE_SOURCE,    /* the directory to import from */
	WHERE_ELSEWHERE, /* anything else, for instance a part of another store; it is refused */
};

/* Classifies NAMED, a trimmed path from a peer. *RET_PATH is the same path, absolute and normalised. For a path in the
 * store, *RET_REST points to the part of *RET_PATH that is relative to the store. */
enum where store_locate(const struct store *s, const char *named, char **ret_path,
			const char **ret_rest);

/* Makes an empty hidden package, opens it and locks it. *RET_NAME is allocated. */
MUST_USE int store_begin(const struct store *s, char **ret_name, int *ret_fd, struct why *y);
/* Renames the package FROM to TO, which must not exist. Returns 0 or -errno. */
MUST_USE int store_publish(const struct store *s, const char *from, const char *to);
/* Takes NAME out of the store with one rename. The sweep erases the files later. Returns 0 or -errno. */
MUST_USE int store_delete(const struct store *s, const char *name);
/* Erases a part of the rubbish, for less than 0.1 s. Returns false if nothing more can be erased. */
bool store_sweep(const struct store *s);
