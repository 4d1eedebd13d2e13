/*
 * The WWW-Authenticate header of a registry's 401 answer: it says how cordon must log in. The
 * header comes from a server that we do not trust, so the size of every field is limited and the
 * parser is fuzzed.
 */
#pragma once

#include "base/err.h"

/* the length to which we accept a realm, service or scope; the longest that we saw has 150 bytes */
#define CHALLENGE_FIELD_BYTES 1024

enum challenge_kind { CHALLENGE_BASIC, CHALLENGE_BEARER };

struct challenge {
	enum challenge_kind kind;
	char realm[CHALLENGE_FIELD_BYTES]; /* for BEARER: the token server */
	char service[CHALLENGE_FIELD_BYTES];
	char scope[CHALLENGE_FIELD_BYTES];
};

/* Reads the first scheme in VALUE that we support. Returns 0, or -EINVAL when VALUE has no
 * supported scheme or is malformed. */
MUST_USE int challenge_parse(const char *value, struct challenge *ret);
