/*
 * Opens the paths of the host that the record names: volumes, disk files, a root directory.
 *
 * The command that wrote the record has looked up each path once and written down the path's
 * identity (base/identity.h). A start opens these paths only with source_open(), which follows no
 * link and refuses an object with another identity. A record of an older cordon has no identities.
 * The first start from such a record looks up the identities and writes the identities into the
 * record.
 */
#pragma once

#include "supervisor/supervisor.h"

/* Hints for users who moved a source. */
#define VOLUME_HINT                                                                           \
	"if you moved it yourself, name it again: cordon modify NAME --volume SOURCE:GUEST; " \
	"or create the sandbox anew"
#define ANEW_HINT "if you moved it yourself, create the sandbox anew"

/* Looks up the identities that an older record lacks, and writes these identities into the record.
 * Follows no link. */
MUST_USE int sources_learn(struct supervisor *s, struct err *e);
/* Opens PATH with O_PATH. If *ID is not known yet, fills it in; otherwise fails if the opened
 * object has another identity. The error message begins with WHAT ("volume source"). If the object
 * is missing or another one, the error has the hint HINT, which is VOLUME_HINT or ANEW_HINT. */
MUST_USE int source_open(const char *what, const char *path, struct identity *id, const char *hint,
			 int *ret_fd, struct err *e);
