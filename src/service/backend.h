/*
 * The backend that makes sandboxes: our own engine, under the name `nsjail` or `cordon`. A probe
 * makes a sandbox and runs a command in it. If the probe succeeds, the backend is available. A
 * success is remembered until a sandbox cannot be made. A failure is remembered for
 * BACKEND_RETRY_SEC seconds. If failures were not remembered, each request for /readyz, which needs
 * no token, could make the server start a sandbox. At most one probe runs at a time.
 */
#pragma once

#include "service/sessions.h"

/* when an operator has repaired the host, the server notices it after at most this time */
#define BACKEND_RETRY_SEC 5u

enum backend_name { BACKEND_NONE, BACKEND_NSJAIL, BACKEND_CORDON };

/* Returns the backend that the setting `box.backend` names, or BACKEND_NONE if the name is not
 * ours. */
enum backend_name backend_parse(const char *wanted);
/* Returns the name that peers see, or NULL for BACKEND_NONE. */
const char *backend_word(enum backend_name name);

struct backend;

/* backend_ask() calls this function with its answer: at once if the answer is known, otherwise
 * after a probe. If the backend is not available, WHY is the reason. WHY is borrowed. */
typedef void backend_told_fn(void *arg, bool available, const char *why);

struct backend *backend_new(struct loop *loop, struct sessions *sessions);
void backend_free(struct backend *b);
/* Selects the backend that the configuration names in `box.backend`, and forgets the result of the
 * last probe. Calls of backend_ask() that still wait get the result of a new probe. */
void backend_select(struct backend *b, const char *wanted);
const char *backend_public_name(const struct backend *b); /* the name for peers, or NULL */
void backend_ask(struct backend *b, backend_told_fn *fn, void *arg);
/* Must be called when a sandbox could not be made. The next backend_ask() then probes again. */
void backend_failed(struct backend *b);
