/* A package is the directory of one skill. It has an entry file (SKILL.md) and the other files of
 * the skill. */
#pragma once

#include <time.h>

#include "base/json.h"
#include "base/str.h"
#include "skills/why.h"

#define PACKAGE_ENTRY "SKILL.md"
/* the limit for each entry file and for each file that peers read or write */
#define PACKAGE_TEXT_MAX_BYTES (1u << 20)

/* How many levels a search for packages descends below a directory that a peer names, and below a
 * store. */
#define PACKAGE_DEPTH_SCAN 2u
#define PACKAGE_DEPTH_STORE 6u

#define PACKAGE_ENTRIES 2u
#define PACKAGE_PROJECT_FILES 4u
/* The names of entry files, in the order in which they are tried. */
extern const char *const package_entries[PACKAGE_ENTRIES];
/* A package with one of these files, or with a directory .venv, is a Python project. */
extern const char *const package_project_files[PACKAGE_PROJECT_FILES];

struct skill {
	char *name, *display_name, *description, *instructions;
	size_t instructions_n;
	/* relative to the directory in which the search began; "" for that directory itself */
	char *path;
	const char *entry; /* static */
	bool python_project;
	struct timespec changed, modified; /* ctime and mtime of the entry file */
};

#define AUTO_SKILL __attribute__((cleanup(skill_done))) struct skill

void skill_done(struct skill *s);
/* Reads the text of an entry file. PATH is the path of the package. If the text has no name,
 * DIR_NAME becomes the skill's name. The calling code sets python_project and the times. */
MUST_USE int skill_read(struct str text, const char *entry, const char *path, const char *dir_name,
			struct skill *ret, struct why *y);

/* Returns the name of the entry file in DIR, as a static string. Returns NULL if DIR is no
 * package. */
const char *package_entry(int dir);
/* Loads the package in DIR. The other arguments are those of skill_read(). */
MUST_USE int package_load(int dir, const char *entry, const char *path, const char *dir_name,
			  struct skill *ret, struct why *y);
/* Writes the file SKILL.md in DIR. */
MUST_USE int package_write(int dir, const char *name, const char *display_name,
			   const char *description, struct str instructions, struct why *y);

/* Writes the skill *S in the form that peers see. PACKAGE_ROOT is the package's absolute path.
 * SOURCE is the package's path in an uploaded archive, or NULL. */
void skill_write_json(const struct skill *s, const char *package_root, const char *source,
		      struct json_writer *w);
/* Returns roughly how many bytes skill_write_json() writes. These bytes count towards the limit
 * CATALOG_TEXT_MAX_BYTES of a listing. */
size_t skill_text_bytes(const struct skill *s);
