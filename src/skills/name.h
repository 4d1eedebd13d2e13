/* Names: of skills, of the directories that uploads become, and of paths inside a package. Pure functions. */
#pragma once

#include "base/str.h"
#include "skills/why.h"

#define SKILL_NAME_MAX_CHARS 64u

/* Trims RAW and checks that it can name a skill. */
MUST_USE int name_check(struct str raw, char **ret, struct why *y);
/* True for letters and digits of any script, `-` and `_`. */
bool name_is_word(struct str s);
/* What the skills of an uploaded FILE are called: its name without directory and extension, other characters
 * replaced by `-`. Allocated, never empty. */
char *name_stem(struct str file);

/* Python's posixpath.normpath(): no `//`, `.` or `dir/..` is left; `..` only in front. Allocated; "." for "". */
char *path_normalise(struct str path);
/* Trims and normalises RAW, a path inside a package; "" means ".". It must be relative and stay inside. */
MUST_USE int path_check(struct str raw, char **ret, struct why *y);
/* The part of PATH behind its last slash; PATH itself if there is none. */
const char *path_leaf(const char *path);
/* True if PATH is DIR or lies below it. Both are normalised; DIR "" or "." holds every relative path. *RET_REST
 * is PATH relative to DIR, "" for DIR itself; it points into PATH. */
bool path_is_below(const char *path, const char *dir, const char **ret_rest);
