/*
 * Parts of the state directory that live elsewhere: `paths` in config.json.
 *
 * HOME/sandboxes is then a link to the directory that was named, so whoever opens something below
 * the home finds it without reading a configuration: an exec pays nothing, and other programs need
 * not be told. Commands that make something put the configuration into force; a part that holds
 * something is never left behind, so nothing that exists can get out of sight.
 *
 * Such a directory belongs to one home. A file in it says to which; two homes would delete each
 * other's images and volumes.
 */
#pragma once

#include "spec/config.h"
#include "state/home.h"

/* Makes every part lie where C says. Parts that C does not mention stay where they are. */
MUST_USE int places_apply(const struct home *h, const struct config *c, struct err *e);
/* The same, reading the configuration. */
MUST_USE int places_follow(const struct home *h, struct err *e);
/* Adds the canonical paths of the home and of the parts that live elsewhere. */
void places_list(const struct home *h, struct strv *ret);
/* Opens the directory that HOME/NAME leads to; -1 where it is no link, or not to one of ours. */
int places_open_moved(const struct home *h, const char *name);
/* The names of parts that can live elsewhere, NULL at the end. */
extern const char *const places_names[];

/* Makes PATH and what it lies in, mode 0700, where they are not there. */
MUST_USE int path_make(const char *path, struct err *e);
/* PATH is DIR or below it; both are canonical. */
bool path_is_within(const char *path, const char *dir);
