/*
 * Who may open a connection: what the headers of an HTTP request must say before it is upgraded.
 *
 * A current peer names its instance, and the shared secret if there is one. The server belongs to one
 * instance: the configured one, or that of the first peer that came over /rpc/ws. A legacy peer has no
 * headers at all, so anybody on the machine could be one: it is let in only as the policy says, never
 * with an Origin (a web page) and never under a host name that is not ours (DNS rebinding).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "service/tenant.h"
#include "wire/http.h"

#define HANDSHAKE_TOKEN_MIN 32u /* characters */

enum handshake_legacy {
	HANDSHAKE_LEGACY_AUTO, /* on loopback, from our own user, while nobody has pinned the server */
	HANDSHAKE_LEGACY_ALWAYS, /* also from elsewhere */
	HANDSHAKE_LEGACY_NEVER,
};

struct handshake_trust {
	char *token;     /* owned; NULL: none */
	char *instance;  /* owned; NULL: nobody has pinned the server yet */
	bool configured; /* the instance is from the configuration, not from a peer */
	bool admission;  /* grants are enforced: no legacy peers */
	enum handshake_legacy legacy;
	const char *const *
		host_names; /* names of ours besides localhost, up to NULL; borrowed; may be NULL */
};

struct handshake_peer {
	bool loopback;
	bool own_user; /* its socket is our user's; counts on loopback */
};

enum handshake_verdict { HANDSHAKE_REFUSED, HANDSHAKE_CURRENT, HANDSHAKE_LEGACY };

void handshake_trust_done(struct handshake_trust *t);
/* Takes a secret from the environment, with blanks around it cut off. NULL and "" mean none. 0, or -1
 * with ERR_INVALID when it is too short or has blanks inside. */
MUST_USE int handshake_set_token(struct handshake_trust *t, const char *text, struct err *e);
/* Configures the instance. 0, or -1 with ERR_INVALID. NULL and "" mean none. */
MUST_USE int handshake_set_instance(struct handshake_trust *t, const char *text, struct err *e);
/* "auto", "1", "0", "true" …; NULL and "" mean auto. 0, or -1 with ERR_INVALID. */
MUST_USE int handshake_set_legacy(struct handshake_trust *t, const char *text, struct err *e);

/* A request for /rpc/ws. HANDSHAKE_CURRENT pins the instance if none is pinned. */
MUST_USE enum handshake_verdict
handshake_rpc(struct handshake_trust *t, const struct http_request *r, struct handshake_peer peer);
/* A request for a relay: never pins, and names a tenant. */
MUST_USE enum handshake_verdict handshake_relay(const struct handshake_trust *t,
						const struct http_request *r,
						struct handshake_peer peer, struct tenant *ret);
/* Would a legacy peer be let in over pipes? */
bool handshake_legacy_stdio(const struct handshake_trust *t);
