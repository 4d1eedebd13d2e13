/* Names of skills, of the directories made for uploads, and paths inside a package. Pure functions. */
#pragma once

#include "base/str.h"
#include "skills/why.h"

#define SKILL_NAME_MAX_CHARS 64u

/* Trims RAW and checks that it is a valid name for a skill. */
MUST_USE int name_check(struct str raw, char **ret, struct why *y);
/* Returns true if S consists of letters and digits of any script, `-` and `_`. */
bool name_is_word(struct str s);
/* Makes a name for skills from FILE, the name of an uploaded file: removes directory and extension, and replaces
 * characters that names may not have by `-`. The result is allocated and never empty. */
char *name_stem(struct str file);

/* Does what Python's posixpath.normpath() does: removes `//`, `.` and `dir/..`, keeps `..` at the front, and turns ""
 * into ".". The result is allocated. */
char *path_normalise(struct str path);
/* Trims and normalises RAW, a path inside a package. Fails if the path is absolute or leads out of the package. ""
 * becomes ".". */
MUST_USE int path_check(struct str raw, char **ret, struct why *y);
/* Returns true if PATH is DIR or lies below it. Both must be normalised. Every relative path is below "" and ".".
 * *RET_REST points to the part of PATH behind DIR, and is "" for DIR itself. */
bool path_is_below(const char *path, const char *dir, const char **ret_rest);
