/* The skills in an uploaded archive, before any file of the archive is on disk. */
#pragma once

#include "skills/package.h"
#include "skills/zip.h"

struct candidate {
	struct skill skill;
	char *prefix; /* where the package lies in the archive, "" for its top */
	/* The path `prefix` as peers see it. If one top directory holds all entries of the archive,
	 * the path is relative to this directory, which is called the base. */
	char *source;
	char *target; /* the directory in the store that an installation would make */
};

struct candidates {
	struct candidate *candidate; /* sorted by source */
	size_t n;
};

#define AUTO_CANDIDATES __attribute__((cleanup(candidates_done))) struct candidates

/* The names in an upload request, from which the names of the skills are made. */
struct upload_names {
	const char *file;   /* the file's name as the peer wrote it, for messages */
	const char *stem;   /* the result of name_stem() for `file` */
	const char *suffix; /* may be empty */
	struct str subdir;  /* search only this directory below the base; may be empty */
};

/* Finds all packages. Fails if a package cannot be read, or if the archive has no package. */
MUST_USE int candidates_find(const struct zip *z, const struct upload_names *names,
			     struct candidates *ret, struct why *y);
void candidates_done(struct candidates *c);
/* Turns a path from a peer into the form that paths in an archive have: trimmed, with `/` instead
 * of `\`, without a slash at either end. The result is allocated. */
char *candidate_path(struct str raw);
