/*
 * Where skills live: one directory, the skills root, with the skills of all tenants in it.
 *
 *   ROOT/tenants/NAMESPACE/   the store of one tenant
 *   ROOT/                     the store of peers that know no tenants; `tenants` is no part of it
 *   STORE/.cordon-new-…       a package that is being made
 *   STORE/.cordon-old-…       one that is being deleted
 *
 * A package gets its name by one rename and loses it by one, so that a worker which is killed leaves no half
 * package behind. Whoever makes one holds a lock on it. What has no lock is rubbish (skills/sweep.h).
 *
 * A worker resolves the root once, when it starts, and holds its descriptor. It may also hold one directory
 * elsewhere to import from, the source. Paths in requests are compared as text and then opened below one of these
 * descriptors; the worker looks up no other path.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "skills/why.h"

#define STORE_TENANT_MAX_BYTES 128u

struct places {
	int root;
	char *root_path;  /* canonical */
	char *root_named; /* as the owner spelled it, made absolute */
	char *cwd;        /* what relative paths of requests refer to */
	/* the source; where there is none, or it cannot be opened, the descriptor is -1 */
	int source;
	char *source_path, *source_named; /* or NULL */
};

/* Opens ROOT, which is made if it is missing, and SOURCE, which may be NULL. */
MUST_USE int places_open(const char *root, const char *source, struct places *ret, struct err *e);
void places_done(struct places *p);
/* True if the root was deleted since it was opened. */
bool places_gone(const struct places *p);

struct store {
	const struct places *places; /* borrowed; outlives the store */
	int fd;
	char *path, *named; /* absolute; as in struct places */
	bool tenant;
};

#define AUTO_STORE __attribute__((cleanup(store_done))) struct store

/* Opens the store of TENANT, which is made if it is missing; NULL: the one without tenants. */
MUST_USE int store_open(const struct places *p, const char *tenant, struct store *ret,
			struct why *y);
void store_done(struct store *s);
/* Which names right below the store are not packages. */
bool (*store_skip(const struct store *s))(const char *name);
/* The absolute path of PATH, a relative one, in the store. Allocated. */
char *store_path(const struct store *s, const char *path);

/* What a path in a request means. */
enum where {
	WHERE_STORE,     /* something below the store */
	WHERE_ROOT,      /* the store itself */
	WHERE_SOURCE,    /* the directory to import from */
	WHERE_ELSEWHERE, /* nothing that this worker may look at, or a part of another store */
};

/* NAMED is a path as a peer spelled it, trimmed. *RET_PATH is that path, absolute and normalised; in the store
 * *RET_REST is the part of *RET_PATH that is relative to the store. */
enum where store_locate(const struct store *s, const char *named, char **ret_path,
			const char **ret_rest);

/* Makes an empty package under a name of its own, opens it and locks it. *RET_NAME is allocated. */
MUST_USE int store_begin(const struct store *s, char **ret_name, int *ret_fd, struct why *y);
/* Gives the package FROM the name TO, which must be free. 0 or -errno. */
MUST_USE int store_publish(const struct store *s, const char *from, const char *to);
/* Takes NAME out of the store with one rename; its contents become rubbish. 0 or -errno. */
MUST_USE int store_delete(const struct store *s, const char *name);
/* Erases a part of the rubbish, in little time. Returns false if there is none, or none that can be erased. */
bool store_sweep(const struct store *s);
