/*
 * The backend that makes sandboxes: our own engine, under the name `nsjail` or `cordon`. It counts as available when one
 * sandbox has been made and has run a command; that is kept while it works and tried again after a failure.
 */
#pragma once

#include "service/sessions.h"

enum backend_name { BACKEND_NONE, BACKEND_NSJAIL, BACKEND_CORDON };

struct backend;

/* Tells whether there is a backend. WHY is the reason if not, borrowed. */
typedef void backend_told_fn(void *arg, bool available, const char *why);

struct backend *backend_new(struct loop *loop, struct sessions *sessions);
void backend_free(struct backend *b);
/* WANTED is `box.backend`. Forgets what was found out. */
void backend_select(struct backend *b, const char *wanted);
const char *backend_shown(const struct backend *b); /* NULL: there is none */
void backend_ask(struct backend *b, backend_told_fn *fn, void *arg);
/* A sandbox could not be made: the next question tries again. */
void backend_failed(struct backend *b);
