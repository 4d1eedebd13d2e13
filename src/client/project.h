/*
 * The project file cordon.yaml, and the record of the project files that a person has allowed.
 *
 * A command in a sandbox can usually write to the project's directory, because the directory is
 * shared. So a project file has no effect before a person has allowed it. For the path of each
 * allowed project file, the home keeps a digest of everything that the file means. The digest
 * covers the text of the project file, the text of every file that it includes (`env_file`,
 * `patch_files`), and the canonical path of every source that it names. If any of these changes,
 * the digest changes too, and a person must allow the file again. The digest also changes if a link
 * in the project leads to another place than before.
 *
 * Each file is opened and read only once. The same bytes are digested, shown to the person and
 * used.
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
/* the project file and the files that it includes; each of them keeps a descriptor open */
#define PROJECT_FILES_MAX 32u

struct project {
	/* canonical path of the directory of the project file; NULL if there is no project file */
	char *dir;
	char *above; /* another project file further up, which is not used; or NULL */
	struct project_text {
		char *path;        /* the canonical path */
		int fd;            /* an O_PATH descriptor of the file */
	} file[PROJECT_FILES_MAX]; /* the first is the project file itself */
	size_t n_files;
	struct buf text; /* the text of the project file */
	struct sha256 sum;
};
#define PROJECT_NONE ((struct project){ .text = BUF_INIT(PROJECT_FILE_MAX_BYTES) })
void project_done(struct project *p);

/* Looks for a project file in the current directory and the directories above it, and reads the
 * first one. If there is none, does not change P. Fails if the file is a link, if it belongs to
 * another user, or if other users may write to it. */
MUST_USE int project_find(struct project *p, struct err *e);
/* Reads the file PATH, which the project file names. Makes the same checks as project_find(). */
MUST_USE int project_read(struct project *p, const char *path, struct buf *out, struct err *e);
/* Looks up every host path of S by spec_hold_sources(), and adds the canonical paths to the digest.
 * S must hold only what the project file says. From now on S has the identity of each file or
 * directory that was found, so another file at the same path is not accepted later. Call this
 * function once, after all files were read. */
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

/* Wherever a command could write to a file of P through a volume or through the root directory of
 * S, puts a read-only mount over the file. Then no process in the sandbox can write, rename or
 * replace the file, because the kernel refuses to rename or remove a mount point. S must already
 * have all its mounts, also the mounts that the command line asks for. This function calls
 * spec_hold_sources() for S. */
MUST_USE int project_cover(const struct project *p, struct spec *s, struct err *e);
