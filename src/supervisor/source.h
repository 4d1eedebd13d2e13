/*
 * Paths of the host's that the record names: volumes, disk files, a root directory.
 *
 * A command that a person typed looked each of them up once and wrote down which object it is
 * (base/identity.h). A start opens them through here and nowhere else: no link is followed, and
 * another object is refused. A record that an older cordon made has no identities; its first start
 * learns them and writes them down.
 */
#pragma once

#include "supervisor/supervisor.h"

/* What a person can do who moved something. */
#define VOLUME_HINT                                                                           \
	"if you moved it yourself, name it again: cordon modify NAME --volume SOURCE:GUEST; " \
	"or create the sandbox anew"
#define ANEW_HINT "if you moved it yourself, create the sandbox anew"

/* Gives identities to the paths of an older record. No link is followed. */
MUST_USE int sources_learn(struct supervisor *s, struct err *e);
/* Opens PATH, which the record says is ID, with O_PATH. WHAT begins a complaint ("volume source"), HINT
 * (one of the above) ends it. */
MUST_USE int source_open(const char *what, const char *path, struct identity *id, const char *hint,
			 int *ret_fd, struct err *e);
