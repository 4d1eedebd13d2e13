/* A file or directory that a model names. It lies in a mounted directory of this machine, or in the
 * sandbox only. */
#pragma once

#include <sys/stat.h>

#include "base/str.h"
#include "tool/file_tools.h"

struct place {
	bool all_skills; /* the directory of all skills; of the other members only `shown` is set */
	bool in_session; /* the file exists in the sandbox only; `top` and `path` are not set */
	int top;         /* the mounted directory */
	bool read_only;
	char *path;  /* relative to `top`, without `.` and `..`; "" is `top` itself */
	char *shown; /* the path in the sandbox */
};

#define AUTO_PLACE __attribute__((cleanup(place_done))) struct place

/* Finds the mount that PATH lies in. If the mount is a directory of this machine, opens that
 * directory as `top`, but nothing below it. Fails if PATH leads out of /workspace, or lies in a
 * skill that the session does not show. */
MUST_USE int place_find(struct file_call *c, struct str path, struct place *ret, struct fault *f);
void place_done(struct place *p);
/* Fails if the place is read-only, lies in a skill that is not activated, or is the directory of
 * all skills. */
MUST_USE int place_check_writable(struct file_call *c, const struct place *p, struct fault *f);
/* ERROR is the -errno of a failed call on the place. Turns ERROR into a message for a model.
 * Returns -1. */
int place_error(struct file_call *c, const struct place *p, int error, struct fault *f);
/* Sets the fault that there is nothing to search. Returns -1. */
int place_no_tree(struct file_call *c, const struct place *p, struct fault *f);
/* Opens the place, which must lie in a mounted directory of this machine, for a search. Returns a
 * descriptor or -1. */
MUST_USE int place_open_tree(struct file_call *c, const struct place *p, mode_t *ret_kind,
			     struct fault *f);
/* Sets the fault that PATH leads out of the workspace. Returns -1. */
int place_escapes(struct file_call *c, struct str path, struct fault *f);
