/* The skills in an uploaded archive, before any file of the archive is on disk. */
#pragma once

#include "skills/package.h"
#include "skills/zip.h"

struct candidate {
	struct skill skill;
	char *prefix; /* where the package lies in the archive, "" for its top */
	/* The path `prefix` as peers see it: relative to the directory `subdir` of the request, or
	 * to the base if `subdir` is empty. The base is the top directory that holds all entries of
	 * the archive, or the top of the archive if there is no such directory. */
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
	const char *suffix; /* the end of each `target`, after a `-`; may be empty */
	struct str subdir;  /* search only this directory below the base; may be empty */
};

/* Finds the packages in the directory `subdir` and in PACKAGE_DEPTH_SCAN levels below it. Does not
 * look inside packages. Fails if `subdir` does not exist, if a package cannot be read, or if there
 * is no package. */
MUST_USE int candidates_find(const struct zip *z, const struct upload_names *names,
			     struct candidates *ret, struct why *y);
void candidates_done(struct candidates *c);
/* Turns a path from a peer into the form that paths in an archive have: trimmed, with `/` instead
 * of `\`, without a slash at either end. The result is allocated. */
char *candidate_path(struct str raw);
