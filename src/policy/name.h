/*
 * Host names in normal form, the only form that we compare, judge and resolve.
 *
 * The normal form has lower case letters, digits, hyphens and dots, and no trailing dot. When we
 * read a name, we make letters lower case and drop one trailing dot. We refuse a name that still
 * has no normal form (NUL, spaces, raw UTF-8, empty labels, more than 253 bytes). So the gateway
 * uses exactly the name about which the rules decided.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define NAME_MAX_BYTES 253 /* limit of RFC 1035 for a name in text form */
#define NAME_TEXT_BYTES (NAME_MAX_BYTES + 1)
#define NAME_LABEL_MAX_BYTES 63

enum name_kind {
	NAME_HOST,  /* a name that a rule may have */
	NAME_QUERY, /* a name in a DNS question, which may have underscores: _https._tcp */
};

/* Returns 0 or -EINVAL. */
MUST_USE int name_normalise(struct str s, enum name_kind kind, char out[NAME_TEXT_BYTES]);
/* Returns true if NAME is SUFFIX or is below SUFFIX: www.example.com is below example.com, but
 * evilexample.com is not. Both names must be in normal form. */
bool name_is_under(const char *name, const char *suffix);
/* Returns true if anybody may register a name below NAME (co.uk, github.io). NAME must be in normal
 * form. The list of public suffixes is part of the program. A name of a single label (com) is
 * always a public suffix. */
bool name_is_public_suffix(const char *name);
