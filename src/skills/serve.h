/* The main loop of a skills worker. It reads requests (wire/skills.h) from a socket and answers
 * them one at a time. The process at the other end of the socket is called the owner of the
 * worker. */
#pragma once

#include "base/err.h"
#include "skills/store.h"

/* Tells the owner that the worker is ready or, if E is not NULL, why it failed to start. */
MUST_USE int serve_hello(int sock, const struct places *p, const struct err *e);
/* Serves until the owner closes the socket, then returns 0. Returns -1 if the owner breaks the
 * protocol. */
MUST_USE int serve(int sock, const struct places *p, struct err *e);
