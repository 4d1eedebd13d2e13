/*
 * Whose sessions and files a request is about.
 *
 * A tenant is one Workspace of one LangBot instance in one placement generation. Its names are made of
 * a digest, so that no id of a peer becomes a path or a name of ours. The legacy tenant is the one of
 * peers that know no Workspaces: it has no names, and its session ids are used as they are.
 *
 * A session belongs to a (tenant, id). Never compare physical ids alone: an id of the legacy tenant may
 * look like the physical id of another one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "service/fault.h"

#define TENANT_KEY_BYTES 12 /* 24 hex digits in names */
#define TENANT_PERSISTENT_BYTES (3 + 2 * TENANT_KEY_BYTES + 1)
#define TENANT_PLACEMENT_BYTES (TENANT_PERSISTENT_BYTES + 2 + 20)
#define TENANT_WORKSPACE_MAX 256u /* characters of a Workspace id in a header */
#define TENANT_DIGEST_BYTES 17    /* 16 hex digits with the terminator */

struct tenant {
	bool legacy;                         /* then nothing else counts */
	unsigned char key[TENANT_KEY_BYTES]; /* of instance and Workspace, in every generation */
	uint64_t generation;
	char persistent[TENANT_PERSISTENT_BYTES]; /* "ws-…": files survive generations */
	char placement[TENANT_PLACEMENT_BYTES];   /* "ws-…-g3": sessions do not */
};

void tenant_init(struct tenant *t, struct str instance, struct str workspace, uint64_t generation);
void tenant_init_legacy(struct tenant *t);

/* Appends the id by which a peer's session is known and shown. 0, or -1 with a FAULT_VALUE when
 * nothing is left of it. */
MUST_USE int tenant_clean_id(const struct tenant *t, struct str id, struct buf *out,
			     struct fault *f);
/* Appends the physical id of a cleaned one: what a relay's path carries. */
void tenant_physical_id(const struct tenant *t, struct str cleaned, struct buf *out);
/* True if PHYSICAL is of this tenant; the cleaned id is a slice of it. */
bool tenant_owns(const struct tenant *t, struct str physical, struct str *ret_cleaned);
/* 16 hex digits that stand for this session of this tenant: the name of its sandbox ends so. */
void tenant_session_digest(const struct tenant *t, struct str cleaned,
			   char out[TENANT_DIGEST_BYTES]);

/* --- what headers carry ------------------------------------------------------------------------ */

/* An instance id: a letter or digit, then at most 127 of letters, digits and "._:-". */
bool tenant_is_instance(struct str s);
/* A Workspace id: not empty, at most TENANT_WORKSPACE_MAX characters. */
bool tenant_is_workspace(struct str s);
/* A generation: decimal, at least 1, in its only spelling. */
bool tenant_parse_generation(struct str s, uint64_t *ret);
