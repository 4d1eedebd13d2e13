/*
 * The backend that makes sandboxes: our own engine, under the name `nsjail` or `cordon`. The backend is available if a
 * probe can make a sandbox and run a command in it. Success is remembered until a sandbox cannot be made. A failure is
 * remembered for BACKEND_RETRY_SEC: /readyz needs no token, so its callers must not make the server start sandboxes
 * as fast as they ask. At most one probe runs at a time.
 */
#pragma once

#include "service/sessions.h"

#define BACKEND_RETRY_SEC 5u /* an operator who repairs the host waits at most this long */

enum backend_name { BACKEND_NONE, BACKEND_NSJAIL, BACKEND_CORDON };

/* Returns the backend that `box.backend` names, or BACKEND_NONE for a name that is not ours. */
enum backend_name backend_parse(const char *wanted);
/* Returns the name for peers, or NULL for BACKEND_NONE. */
const char *backend_word(enum backend_name name);

struct backend;

/* Called with the answer. If no backend is available, WHY is the reason. WHY is borrowed. */
typedef void backend_told_fn(void *arg, bool available, const char *why);

struct backend *backend_new(struct loop *loop, struct sessions *sessions);
void backend_free(struct backend *b);
/* Selects the backend that the configuration names in `box.backend`, and forgets the answer of the last probe. Callers
 * that wait for a probe get the answer of a new probe. */
void backend_select(struct backend *b, const char *wanted);
const char *backend_public_name(const struct backend *b); /* the name for peers, or NULL */
void backend_ask(struct backend *b, backend_told_fn *fn, void *arg);
/* Must be called when a sandbox could not be made. The next backend_ask() then probes again. */
void backend_failed(struct backend *b);
