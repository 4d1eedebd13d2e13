/*
 * The backend that makes sandboxes: our own engine, under the name `nsjail` or `cordon`. It is available if a probe
 * could make a sandbox and run a command in it. The answer is kept until a sandbox cannot be made; the next question
 * then probes again.
 */
#pragma once

#include "service/sessions.h"

enum backend_name { BACKEND_NONE, BACKEND_NSJAIL, BACKEND_CORDON };

/* Returns the backend that `box.backend` names. BACKEND_NONE: it is not ours. */
enum backend_name backend_parse(const char *wanted);

struct backend;

/* Called with the answer. If no backend is available, WHY is the reason, borrowed. */
typedef void backend_told_fn(void *arg, bool available, const char *why);

struct backend *backend_new(struct loop *loop, struct sessions *sessions);
void backend_free(struct backend *b);
/* Selects the backend that the configuration names in `box.backend`, and forgets the answer of the last probe. */
void backend_select(struct backend *b, const char *wanted);
const char *backend_shown(const struct backend *b); /* the name for peers, or NULL */
void backend_ask(struct backend *b, backend_told_fn *fn, void *arg);
/* Must be called when a sandbox could not be made: the next backend_ask() probes again. */
void backend_failed(struct backend *b);
