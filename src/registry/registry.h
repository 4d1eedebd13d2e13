/*
 * A registry (distribution API v2) is a list of endpoints: first its mirrors, then the registry
 * itself.
 *
 * A struct endpoint holds the scheme, our login and the last token of the endpoint. A request
 * follows redirects to other hosts, but these hosts get no credentials. Every request uses TLS,
 * also after a redirect, unless the user asked for plain HTTP. Requests obey the usual proxy
 * variables and are repeated after errors that are likely to be temporary.
 *
 * Credentials go to the endpoint itself and to the token server that the endpoint names (its
 * realm). If an endpoint redirects us to another server, that other server cannot name a token
 * server: if the other server answers 401, the request fails. A request that posts a token to a
 * token server follows no redirect, because curl would post the token to the new address too.
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
/* the number of attempts at one request; the first pause between two attempts is 0.25 s, and each
 * further pause is twice as long as the pause before */
#define REGISTRY_TRIES_MAX 5
#define REGISTRY_PAUSE_MS 250u
/* if a server asks for a longer pause, the request fails at once */
#define REGISTRY_RETRY_AFTER_MAX_S 60
#define REGISTRY_REDIRECTS_MAX 10
#define REGISTRY_CONNECT_SECONDS 15
#define REGISTRY_STALL_SECONDS 30 /* a transfer fails after this time without a byte */
#define REGISTRY_TOKEN_MAX_BYTES (256u << 10)
/* limit for the headers of one request and of all its redirects together */
#define REGISTRY_HEADERS_MAX_BYTES (256u << 10)
/* limit for the body of an error or of a redirect */
#define REGISTRY_REST_MAX_BYTES (1u << 20)

struct endpoint {
	char *host; /* the host as an image's reference names it: "localhost:5000" */
	char *base; /* "https://localhost:5000" */
	bool plain; /* the user asked for plain HTTP */
	struct credentials credentials;
	bool basic;  /* the server asked for a password with each request */
	char *token; /* bearer token, or NULL */
};

struct registry {
	struct reference reference;
	struct endpoint endpoint[REGISTRY_MIRRORS_MAX + 1];
	size_t n_endpoints;
	const char *ca_certs; /* borrowed; NULL if only the system's certificates count */
};

struct registry_options {
	bool insecure;
	const char *ca_certs;
	/* the login for the registry, but not for its mirrors; or NULL */
	const char *username, *password_env;
};

MUST_USE int registry_open(int home_fd, const struct settings *s, const struct reference *ref,
			   const struct registry_options *o, struct registry *ret, struct err *e);
void registry_done(struct registry *r);

/* Gets the manifest from the first endpoint that has it, and sets *RET_ENDPOINT to the number of
 * that endpoint. TARGET is a tag or a digest. If TARGET is a digest, the bytes are checked against
 * it. */
MUST_USE int registry_get_manifest(struct registry *r, const char *target, struct buf *ret,
				   size_t *ret_endpoint, struct err *e);

/* Makes a handle for a GET of the blob DIGEST at one endpoint. The caller sets the function that
 * takes the bytes. If FROM > 0, the request asks only for the bytes from offset FROM on. Returns
 * NULL when there is no memory. */
CURL *registry_blob_request(struct registry *r, size_t endpoint, const char *digest, uint64_t from);

/* What the calling code must do after a transfer has ended. */
enum registry_verdict {
	REGISTRY_DONE,
	REGISTRY_AGAIN,  /* try again after *RET_PAUSE_MS */
	REGISTRY_FAILED, /* *E holds the error */
};
/* Decides what to do after a transfer that ended with RESULT. N_TRIES is the number of attempts so
 * far. After the first 401 (*AUTHENTICATED is false) this function sets *AUTHENTICATED, and gets a
 * token or decides to send the password. If this works, returns REGISTRY_AGAIN. A second 401 is a
 * failure. */
enum registry_verdict registry_judge(struct registry *r, size_t endpoint, CURL *easy,
				     CURLcode result, unsigned n_tries, bool *authenticated,
				     unsigned *ret_pause_ms, struct err *e);

/* Asks the registry itself, not its mirrors, whether it accepts this login. Fails with ERR_DENIED
 * if the registry refuses the login. */
MUST_USE int registry_try_login(struct registry *r, const char *username, const char *password,
				struct err *e);
