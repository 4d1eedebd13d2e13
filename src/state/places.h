/*
 * Parts of the home that are in other directories. The user names these directories by `paths` in
 * config.json.
 *
 * HOME/sandboxes, for example, becomes a link to the directory that the user named. So programs
 * open files below the home without reading the configuration, which keeps `cordon exec` fast. Only
 * `doctor` and the commands that create something apply the configuration. A part moves only while
 * it is empty, so no existing file is lost.
 *
 * A file in such a directory says to which home the directory belongs. Without this file, two homes
 * could use one directory and delete each other's images and volumes.
 */
#pragma once

#include "spec/config.h"
#include "state/home.h"

/* Moves each part to the directory that the configuration *C names. Parts that *C does not mention
 * stay where they are. */
MUST_USE int places_apply(const struct home *h, const struct config *c, struct err *e);
/* Reads the configuration and calls places_apply(). */
MUST_USE int places_follow(const struct home *h, struct err *e);
/* Adds the canonical paths of the home and of the parts that are elsewhere to *RET. */
void places_list(const struct home *h, struct strv *ret);
/* Opens the directory to which the link HOME/NAME leads. Returns -1 if HOME/NAME is no link, or if
 * that directory is not ours. */
int places_open_moved(const struct home *h, const char *name);
/* the names of the parts that can be elsewhere; the last element is NULL */
extern const char *const places_names[];

/* Makes the directory PATH and the directories above it, if they are missing, with mode 0700. */
MUST_USE int path_make(const char *path, struct err *e);
