/* Answers requests (wire/skills.h), one after the other. */
#pragma once

#include "base/err.h"
#include "skills/store.h"

/* Tells the owner that the worker is ready, or that it is not because of E. E may be NULL. */
MUST_USE int serve_hello(int sock, const struct places *p, const struct err *e);
/* Serves until the owner closes the socket: 0. -1 if the owner sent what it must not. */
MUST_USE int serve(int sock, const struct places *p, struct err *e);
