/* Functions without side effects, for three kinds of names: names of skills, names of the
 * directories that uploads make, and paths in a package. */
#pragma once

#include "base/str.h"
#include "skills/why.h"

#define SKILL_NAME_MAX_CHARS 64u

/* Trims RAW and checks that the result is a valid name for a skill. *RET becomes an allocated copy
 * of the trimmed name. */
MUST_USE int name_check(struct str raw, char **ret, struct why *y);
/* Returns true if S consists of letters and digits of any script, `-` and `_`. */
bool name_is_word(struct str s);
/* Makes a name for skills from FILE, the name of an uploaded file. Removes the directory and the
 * extension, and replaces each character that names may not have by `-`. The result is allocated
 * and never empty. */
char *name_stem(struct str file);

/* Does what Python's posixpath.normpath() does: removes `//`, `.` and `dir/..`, keeps `..` at the
 * front, and turns "" into ".". The result is allocated. */
char *path_normalise(struct str path);
/* Trims and normalises RAW, a path inside a package. Fails if the path is absolute or leads out of
 * the package. "" becomes ".". */
MUST_USE int path_check(struct str raw, char **ret, struct why *y);
/* Returns true if PATH is DIR or lies below DIR. Both paths must be normalised. Every relative path
 * is below "" and ".". *RET_REST points to the part of PATH after DIR, which is "" if PATH is
 * DIR. */
bool path_is_below(const char *path, const char *dir, const char **ret_rest);
