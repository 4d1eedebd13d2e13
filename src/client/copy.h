/*
 * Files in, out and across. Paths are written by users. The names of the parameters say whether a
 * path is on the host or in a sandbox.
 *
 * A sandbox may send what it likes: see tree/build.h for what the host's side makes of it. Notes
 * are for people; the texts may hold hostile characters.
 */
#pragma once

#include "client/exec.h"
#include "spec/spec.h"
#include "wire/file.h"

struct copy_notes {
	void (*note)(void *arg, bool missed, const char *text);
	void *arg;
};

/* Each function returns 0 even if single entries could not be copied: N gets a note for each of them. */
MUST_USE int copy_in(struct client *c, const char *from, const char *to, const struct copy_notes *n,
		     struct err *e);
MUST_USE int copy_out(struct client *c, const char *from, const char *to,
		      const struct copy_notes *n, struct err *e);
MUST_USE int copy_across(struct client *a, const char *from, struct client *b, const char *to,
			 const struct copy_notes *n, struct err *e);
/* Makes one change of the sandbox's own files that a create option asks for. */
MUST_USE int copy_patch(struct client *c, const struct spec_patch *p, const struct copy_notes *n,
			struct err *e);
