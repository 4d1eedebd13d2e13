/* The skills of one store: all of them, or one by its name. */
#pragma once

#include "skills/package.h"
#include "skills/store.h"

/* limit for the texts of all skills of a listing together */
#define CATALOG_TEXT_MAX_BYTES (16u << 20)

struct catalog {
	struct skill *skill; /* sorted: the skill that was modified last comes first */
	size_t n;
};

#define AUTO_CATALOG __attribute__((cleanup(catalog_done))) struct catalog

/* Loads all packages, except those that cannot be read. */
MUST_USE int catalog_load(const struct store *s, struct catalog *ret, struct why *y);
void catalog_done(struct catalog *c);
/* Returns the skill called NAME, or NULL. The skill belongs to *C. */
struct skill *catalog_find(struct catalog *c, struct str name);
/* Loads the skill called NAME. Fails if there is no such skill. */
MUST_USE int catalog_get(const struct store *s, struct str name, struct skill *ret, struct why *y);

/* Opens the directory of the skill *K. */
MUST_USE int catalog_open(const struct store *s, const struct skill *k, int *ret_fd, struct why *y);
/* Loads the package at PATH, which is relative to the store. */
MUST_USE int catalog_load_at(const struct store *s, const char *path, struct skill *ret,
			     struct why *y);
/* Writes the skill *K in the form that peers see. */
void catalog_write_skill(const struct store *s, const struct skill *k, struct json_writer *w);
