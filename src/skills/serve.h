/* Reads requests (wire/skills.h) from the socket of the worker's owner, and answers one at a time. */
#pragma once

#include "base/err.h"
#include "skills/store.h"

/* Tells the owner that the worker is ready or, if E is not NULL, why it failed to start. */
MUST_USE int serve_hello(int sock, const struct places *p, const struct err *e);
/* Serves until the owner closes the socket, then returns 0. Returns -1 if the owner breaks the protocol. */
MUST_USE int serve(int sock, const struct places *p, struct err *e);
