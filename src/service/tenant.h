/*
 * A tenant is the owner of the sessions and files that a request names.
 *
 * A tenant is one Workspace of one LangBot instance in one generation. The names of a tenant's
 * directories and sandboxes are made from a digest, so that an id that a peer chose never becomes a
 * path or a sandbox name. The legacy tenant is for peers without Workspaces. It has no directory of
 * its own, and peers see its session ids as they were given, without blanks at the ends. The names
 * of its sandboxes are made from a digest too.
 *
 * A session is identified by its tenant and its id. Never compare physical ids
 * (tenant_physical_id()) alone: an id of the legacy tenant may look like the physical id of another
 * tenant.
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
#define TENANT_WORKSPACE_MAX 256u /* the most characters of a Workspace id in a header */
#define TENANT_DIGEST_BYTES 17    /* 16 hex digits with the terminator */

struct tenant {
	bool legacy; /* if set, the other members are 0 or empty */
	/* digest of the instance and the Workspace, without the generation */
	unsigned char key[TENANT_KEY_BYTES];
	uint64_t generation;
	/* "ws-…": name for files, which stay when the generation changes */
	char persistent[TENANT_PERSISTENT_BYTES];
	/* "ws-…-g3": name for sessions, which end when the generation changes */
	char placement[TENANT_PLACEMENT_BYTES];
};

void tenant_init(struct tenant *t, struct str instance, struct str workspace, uint64_t generation);
void tenant_init_legacy(struct tenant *t);

/* Appends the cleaned form of a peer's session id. Peers see the cleaned id in answers. Returns 0,
 * or -1 with a FAULT_VALUE in F if the cleaned id is empty. */
MUST_USE int tenant_clean_id(const struct tenant *t, struct str id, struct buf *out,
			     struct fault *f);
/* Appends the physical id. It is the placement, "-" and the cleaned id; for the legacy tenant it is
 * the cleaned id alone. The URL path of a relay contains the physical id. */
void tenant_physical_id(const struct tenant *t, struct str cleaned, struct buf *out);
/* Returns true if PHYSICAL is an id of this tenant. *RET_CLEANED is then the cleaned id, a slice of
 * PHYSICAL. */
bool tenant_owns(const struct tenant *t, struct str physical, struct str *ret_cleaned);
/* Writes 16 hex digits that identify this session of this tenant. The name of the sandbox ends with
 * these digits. */
void tenant_session_digest(const struct tenant *t, struct str cleaned,
			   char out[TENANT_DIGEST_BYTES]);

/* --- values of headers ------------------------------------------------------------------------ */

/* Returns true if S is a letter or digit, followed by at most 127 letters, digits and characters of
 * "._:-". */
bool tenant_is_instance(struct str s);
/* Returns true if S, without the blanks at its ends, is not empty and has at most
 * TENANT_WORKSPACE_MAX characters. */
bool tenant_is_workspace(struct str s);
/* Reads a generation: a decimal number of at least 1, without leading zeros. Returns false for
 * anything else. */
bool tenant_parse_generation(struct str s, uint64_t *ret);
