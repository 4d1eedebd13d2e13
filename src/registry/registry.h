/*
 * A registry (distribution API v2) as one or more endpoints: its mirrors, then itself.
 *
 * Each endpoint knows its scheme, who we are there and the token it last gave us. Requests follow
 * redirects to other hosts without taking credentials along, refuse to leave TLS unless plain HTTP
 * was asked for, honour the usual proxy variables, and are tried again when the trouble is likely
 * to pass.
 *
 * Credentials go to the endpoint itself and to the token server that the endpoint names (its realm).
 * A server that an endpoint redirected us to may name nothing: its 401 is an error. A token that is
 * posted follows no redirect, because curl would post it again.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "image/reference.h"
#include "registry/credentials.h"
#include "registry/settings.h"

#define REGISTRY_MIRRORS_MAX 8
#define REGISTRY_TRIES_MAX 5 /* of one request, with pauses of 0.25 s doubling each time */
#define REGISTRY_PAUSE_MS 250u
#define REGISTRY_RETRY_AFTER_MAX_S 60 /* a server that wants longer gets an error instead */
#define REGISTRY_REDIRECTS_MAX 10
#define REGISTRY_CONNECT_SECONDS 15
#define REGISTRY_STALL_SECONDS 30 /* without a byte */
#define REGISTRY_TOKEN_MAX_BYTES (256u << 10)
#define REGISTRY_HEADERS_MAX_BYTES (256u << 10) /* of one request with all its redirects */
#define REGISTRY_REST_MAX_BYTES \
	(1u << 20) /* body of an answer that is no content: error, redirect */

struct endpoint {
	char *host; /* as in references: "localhost:5000" */
	char *base; /* "https://localhost:5000" */
	bool plain; /* HTTP was asked for */
	struct credentials credentials;
	bool basic;  /* the server asked for a password with each request */
	char *token; /* bearer, or NULL */
};

struct registry {
	struct reference reference;
	struct endpoint endpoint[REGISTRY_MIRRORS_MAX + 1];
	size_t n_endpoints;
	const char *ca_certs; /* borrowed from options or settings; NULL: the system's alone */
};

struct registry_options {
	bool insecure;
	const char *ca_certs;
	const char *username, *password_env; /* for the registry itself, not its mirrors; or NULL */
};

MUST_USE int registry_open(int home_fd, const struct settings *s, const struct reference *ref,
			   const struct registry_options *o, struct registry *ret, struct err *e);
void registry_done(struct registry *r);

/* The manifest's bytes, from the first endpoint that has it; *RET_ENDPOINT says which. TARGET is a
 * tag or a digest; with a digest the bytes are checked against it. */
MUST_USE int registry_get_manifest(struct registry *r, const char *target, struct buf *ret,
				   size_t *ret_endpoint, struct err *e);

/* A handle for GET of BLOB at one endpoint with everything set but what to do with the bytes.
 * FROM > 0 asks for the rest only. NULL when there is no memory. */
CURL *registry_blob_request(struct registry *r, size_t endpoint, const char *digest, uint64_t from);

/* What to do about a finished transfer. */
enum registry_verdict {
	REGISTRY_DONE,
	REGISTRY_AGAIN,  /* after *RET_PAUSE_MS */
	REGISTRY_FAILED, /* E is filled */
};
/* Judges the N-th try (from 1) of a transfer with this result. A 401 is answered here by getting
 * a token, whence AGAIN. */
enum registry_verdict registry_judge(struct registry *r, size_t endpoint, CURL *easy,
				     CURLcode result, unsigned n_tries, bool *authenticated,
				     unsigned *ret_pause_ms, struct err *e);
