/*
 * The owner of the sessions and files that a request names.
 *
 * A tenant is one Workspace of one LangBot instance in one placement generation. Its names are made from a digest, so
 * that no peer's id becomes a path or a sandbox name. The legacy tenant belongs to peers without Workspaces: it has no
 * names, and its session ids are used as they are.
 *
 * A session is identified by its tenant and its id. Never compare physical ids (tenant_physical_id()) alone: an id of
 * the legacy tenant may look like the physical id of another tenant.
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
	bool legacy;                         /* if set, the other members have no meaning */
	unsigned char key[TENANT_KEY_BYTES]; /* digest of instance and Workspace, not generation */
	uint64_t generation;
	char persistent[TENANT_PERSISTENT_BYTES]; /* "ws-…": for files, which survive generations */
	char placement[TENANT_PLACEMENT_BYTES];   /* "ws-…-g3": for sessions, which do not */
};

void tenant_init(struct tenant *t, struct str instance, struct str workspace, uint64_t generation);
void tenant_init_legacy(struct tenant *t);

/* Appends the cleaned form of a peer's session id. Peers see the cleaned id in answers. Returns 0, or -1 with a
 * FAULT_VALUE in F if the cleaned id is empty. */
MUST_USE int tenant_clean_id(const struct tenant *t, struct str id, struct buf *out,
			     struct fault *f);
/* Appends the physical id: the placement, "-" and the cleaned id, or for the legacy tenant the cleaned id alone. The
 * URL path of a relay contains the physical id. */
void tenant_physical_id(const struct tenant *t, struct str cleaned, struct buf *out);
/* Returns true if PHYSICAL is an id of this tenant. *RET_CLEANED is then the cleaned id, a slice of PHYSICAL. */
bool tenant_owns(const struct tenant *t, struct str physical, struct str *ret_cleaned);
/* Writes 16 hex digits that identify this session of this tenant. The name of the sandbox ends with these digits. */
void tenant_session_digest(const struct tenant *t, struct str cleaned,
			   char out[TENANT_DIGEST_BYTES]);

/* --- values of headers -------------------------------------------------------------------------- */

/* Returns true if S is a letter or digit, followed by at most 127 letters, digits and characters of "._:-". */
bool tenant_is_instance(struct str s);
/* Returns true if S is not empty and has at most TENANT_WORKSPACE_MAX characters. */
bool tenant_is_workspace(struct str s);
/* Reads a generation: a decimal number of at least 1, without leading zeros. Returns false for anything else. */
bool tenant_parse_generation(struct str s, uint64_t *ret);
