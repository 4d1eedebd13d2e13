/* The skills in an uploaded archive, before anything of it is on disk. */
#pragma once

#include "skills/package.h"
#include "skills/zip.h"

struct candidate {
	struct skill skill;
	char *prefix; /* where the package lies in the archive, "" for its top */
	char *source; /* the same relative to the base, for the peer */
	char *target; /* the name of the directory in the store that it would become */
};

struct candidates {
	struct candidate *candidate; /* sorted by source */
	size_t n;
};

#define AUTO_CANDIDATES __attribute__((cleanup(candidates_done))) struct candidates

/* How an upload names what becomes of it. */
struct upload_names {
	const char *file;   /* as the peer named it, for messages */
	const char *stem;   /* name_stem() of it */
	const char *suffix; /* may be empty */
	struct str subdir;  /* the directory below the base to search, may be empty */
};

/* Finds all packages. One that cannot be read is an error, and none at all is one, too. */
MUST_USE int candidates_find(const struct zip *z, const struct upload_names *names,
			     struct candidates *ret, struct why *y);
void candidates_done(struct candidates *c);
/* A path of an archive as peers spell it: trimmed, with `/` for `\`, without slashes at both ends. Allocated. */
char *candidate_path(struct str raw);
