/*
 * The project file cordon.yaml, and the record of the project files that a person has allowed.
 *
 * A command in a sandbox can usually write to the project, as its owner. So a project file has no effect before a
 * person has allowed it. The home keeps, for the path of each allowed file, a digest of everything that the file means:
 * its text, the text of every file that it names as text (env_file, patch_files), and the canonical path of every
 * source that it names. If any of these changes, also because a link in the project leads elsewhere now, the digest
 * changes too, and a person must allow the file again.
 *
 * Each file is opened once. What was read from the descriptor is digested, shown and used; nothing is read twice.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

struct home;
struct spec;

#define PROJECT_FILE "cordon.yaml"
#define PROJECT_FILE_MAX_BYTES (1u << 20) /* the most that cordon-yaml accepts */
#define PROJECT_FILES_MAX \
	32u /* the project file, env_file and patch files; each holds a descriptor */

struct project {
	char *dir; /* canonical path of the directory of the project file; NULL: there is no project */
	char *above; /* another project file further up, which is not used; or NULL */
	struct project_text {
		char *path;        /* canonical */
		int fd;            /* O_PATH */
	} file[PROJECT_FILES_MAX]; /* the first is the project file itself */
	size_t n_files;
	struct buf text; /* of the project file */
	struct sha256 sum;
};
#define PROJECT_NONE ((struct project){ .text = BUF_INIT(PROJECT_FILE_MAX_BYTES) })
void project_done(struct project *p);

/* Looks for the project file in the current directory and the directories above it, and reads the first one. If there
 * is none, P stays as it is. Fails if the file is a link, belongs to another user, or others may write to it. */
MUST_USE int project_find(struct project *p, struct err *e);
/* Reads the file PATH, which the project file names, with the same checks. */
MUST_USE int project_read(struct project *p, const char *path, struct buf *out, struct err *e);
/* Looks up every host path of S, which holds only what the project file says, and adds the paths to the digest. From
 * now on S names the objects that were found, even if the paths change. Call this function once, after all files were
 * read. */
MUST_USE int project_hold(struct project *p, struct spec *s, struct err *e);

enum project_state {
	PROJECT_NEW,     /* nobody has allowed a file at this path */
	PROJECT_CHANGED, /* a file at this path was allowed, but its meaning has changed since */
	PROJECT_ALLOWED,
};
/* Compares the digest with the record in the home. */
MUST_USE int project_look(const struct project *p, const struct home *h, enum project_state *ret,
			  struct err *e);
/* Records that a person has allowed what P means now. */
MUST_USE int project_allow(const struct project *p, const struct home *h, struct err *e);
/* Removes the record. *RET_WAS says whether there was one. */
MUST_USE int project_forget(const struct project *p, const struct home *h, bool *ret_was,
			    struct err *e);

/* Covers each file of P with a read-only mount, wherever a volume or the root directory of S shows the file. No process
 * inside can then write, rename or replace the file: the kernel refuses to rename or remove a mount point. S must
 * already have all its mounts, also those of options. This function looks up their sources. */
MUST_USE int project_cover(const struct project *p, struct spec *s, struct err *e);
