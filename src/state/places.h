/*
 * Parts of the state directory that live elsewhere: `paths` in config.json.
 *
 * HOME/sandboxes, for example, becomes a link to the directory that the user named. So programs open files below the
 * home without reading the configuration, and an exec does not become slower. The commands that create something apply
 * the configuration. A part moves only while it is empty, so no existing file gets lost.
 *
 * A file in such a directory says which home the directory belongs to. Without it, two homes could use one directory
 * and delete each other's images and volumes.
 */
#pragma once

#include "spec/config.h"
#include "state/home.h"

/* Moves each part to where C says. Parts that C does not mention stay where they are. */
MUST_USE int places_apply(const struct home *h, const struct config *c, struct err *e);
/* Reads the configuration and calls places_apply(). */
MUST_USE int places_follow(const struct home *h, struct err *e);
/* Adds the canonical paths of the home and of the parts that live elsewhere. */
void places_list(const struct home *h, struct strv *ret);
/* Opens the directory that HOME/NAME leads to. Returns -1 if HOME/NAME is no link, or if that directory is not
 * ours. */
int places_open_moved(const struct home *h, const char *name);
/* the names of the parts that can live elsewhere, NULL at the end */
extern const char *const places_names[];

/* Makes PATH and the directories above it, mode 0700, as far as they are missing. */
MUST_USE int path_make(const char *path, struct err *e);
