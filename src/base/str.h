/* Slices, and functions for texts, paths, numbers and UTF-8. A slice is a length and a pointer into
 * memory that another object owns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })

static inline struct str str_of(const char *s)
{
	return (struct str){ s, strlen(s) };
}

static inline bool str_eq(struct str a, const char *b)
{
	return a.n == strlen(b) && memcmp(a.p, b, a.n) == 0;
}

static inline bool starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Returns true if PATH is DIR or lies below it. Both paths are canonical. */
bool path_is_within(const char *path, const char *dir);

/* Cuts REST at its first SEP. Returns the part before SEP; REST becomes the part after SEP. If
 * there is no SEP, returns all of REST and sets rest->p to NULL. */
struct str str_cut(struct str *rest, char sep);

/* Returns the part of PATH behind its last slash, or PATH if it has no slash. */
const char *path_leaf(const char *path);

/* Parses a number within [min, max] that is written in decimal digits only. Returns 0, -EINVAL or
 * -ERANGE. */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
int parse_u64_str(struct str s, uint64_t min, uint64_t max, uint64_t *ret);

/* Returns true for well-formed UTF-8 without surrogates or over-long forms. NUL is allowed. */
bool utf8_valid(const char *p, size_t n);
/* Returns the place in S after its first N code points, or the end of S if S is shorter. */
const char *utf8_skip(const char *s, size_t n);
/* Returns the number of code points in S. */
size_t utf8_width(const char *s);
/* Looks at the first character of N bytes; N is not 0. If the character is well formed, returns its
 * length. Otherwise returns a negative number: -K means that one U+FFFD replaces the first K
 * bytes. */
int utf8_step(const char *p, size_t n);
/* Returns how many of the N bytes are whole, well-formed characters. Up to 3 further bytes may be
 * the beginning of a character that more input completes. If *RET_BAD is true, the next bytes are
 * not UTF-8. */
size_t utf8_prefix(const char *p, size_t n, bool *ret_bad);
/* Returns the Damerau-Levenshtein distance of two short words, or CAP + 1 if the distance is
 * larger than CAP. */
unsigned str_distance(const char *a, const char *b, unsigned cap);
