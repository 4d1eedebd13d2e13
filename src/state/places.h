/*
 * Parts of the state directory that live elsewhere: `paths` in config.json.
 *
 * HOME/sandboxes, for example, is then a link to the directory that the user named. So a program that opens
 * something below the home finds it without reading a configuration: an exec pays nothing, and other programs need
 * not be told. The commands that create something apply the configuration. A part moves only while it is empty, so
 * nothing that exists can get out of sight.
 *
 * Such a directory belongs to one home, and a file in it says to which. Two homes would delete each other's images
 * and volumes.
 */
#pragma once

#include "spec/config.h"
#include "state/home.h"

/* Makes each part lie where C says. Parts that C does not mention stay where they are. */
MUST_USE int places_apply(const struct home *h, const struct config *c, struct err *e);
/* Reads the configuration and does the same. */
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
/* True if PATH is DIR or lies below it. Both are canonical. */
bool path_is_within(const char *path, const char *dir);
