/*
 * Paths of the host that the record names: volumes, disk files, a root directory.
 *
 * The command that named a path has looked it up once and written down which object it is (base/identity.h). A start
 * opens these paths only through this file: no link is followed, and another object is refused. A record of an older
 * cordon has no identities: its first start looks them up and writes them down.
 */
#pragma once

#include "supervisor/supervisor.h"

/* What users can do if they moved something. */
#define VOLUME_HINT                                                                           \
	"if you moved it yourself, name it again: cordon modify NAME --volume SOURCE:GUEST; " \
	"or create the sandbox anew"
#define ANEW_HINT "if you moved it yourself, create the sandbox anew"

/* Looks up the identities that an older record lacks and writes them down. Follows no link. */
MUST_USE int sources_learn(struct supervisor *s, struct err *e);
/* Opens PATH with O_PATH and refuses it if it is not the object ID. An error begins with WHAT ("volume source") and
 * has the hint HINT, one of the above. */
MUST_USE int source_open(const char *what, const char *path, struct identity *id, const char *hint,
			 int *ret_fd, struct err *e);
