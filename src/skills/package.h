/* One skill: a directory with an entry file, SKILL.md, and whatever else belongs to the skill. */
#pragma once

#include <time.h>

#include "base/json.h"
#include "base/str.h"
#include "skills/why.h"

#define PACKAGE_ENTRY "SKILL.md"
#define PACKAGE_TEXT_MAX_BYTES \
	(1u << 20) /* of an entry file, and of a file that is read or written */

/* How many directories below the place where a search begins a package may lie. */
#define PACKAGE_DEPTH_SCAN 2u
#define PACKAGE_DEPTH_STORE 6u

#define PACKAGE_ENTRIES 2u
#define PACKAGE_PROJECT_FILES 4u
/* The names of entry files; the first one that is there counts. */
extern const char *const package_entries[PACKAGE_ENTRIES];
/* Files that make a package a Python project; a directory .venv does, too. */
extern const char *const package_project_files[PACKAGE_PROJECT_FILES];

struct skill {
	char *name, *display_name, *description, *instructions;
	size_t instructions_n;
	char *path; /* relative to the directory that was searched, "" for that directory itself */
	const char *entry; /* static */
	bool python_project;
	struct timespec changed, modified; /* ctime and mtime of the entry file */
};

#define AUTO_SKILL __attribute__((cleanup(skill_done))) struct skill

void skill_done(struct skill *s);
/* Reads the text of an entry file. PATH is where the package lies, DIR_NAME is its name if the text has none. The
 * caller sets python_project and the times. */
MUST_USE int skill_read(struct str text, const char *entry, const char *path, const char *dir_name,
			struct skill *ret, struct why *y);

/* The name of DIR's entry file, or NULL if DIR is no package. Static. */
const char *package_entry(int dir);
/* Loads the package in DIR; arguments as above. */
MUST_USE int package_load(int dir, const char *entry, const char *path, const char *dir_name,
			  struct skill *ret, struct why *y);
/* Writes DIR's SKILL.md. */
MUST_USE int package_write(int dir, const char *name, const char *display_name,
			   const char *description, struct str instructions, struct why *y);

/* Writes S as the peer sees it. PACKAGE_ROOT is the package's absolute path. SOURCE is where it lies in an
 * uploaded archive, or NULL. */
void skill_write_json(const struct skill *s, const char *package_root, const char *source,
		      struct json_writer *w);
/* How many bytes of text that writes, roughly: what the limit of a listing counts. */
size_t skill_text_bytes(const struct skill *s);
