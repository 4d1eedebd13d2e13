/*
 * What a registry asks for when it says 401: the value of WWW-Authenticate.
 * A server's text: bounded and fuzzed.
 */
#pragma once

#include "base/err.h"

#define CHALLENGE_FIELD_BYTES 1024 /* realm, service and scope; the longest seen have 150 */

enum challenge_kind { CHALLENGE_BASIC, CHALLENGE_BEARER };

struct challenge {
	enum challenge_kind kind;
	char realm[CHALLENGE_FIELD_BYTES]; /* of BEARER: an address */
	char service[CHALLENGE_FIELD_BYTES];
	char scope[CHALLENGE_FIELD_BYTES];
};

/* 0, or -EINVAL when it asks for neither or makes no sense. The first that we can do counts. */
MUST_USE int challenge_parse(const char *value, struct challenge *ret);
