/*
 * Decides by the headers of an HTTP request whether the peer may open a WebSocket.
 *
 * There are two kinds of peers. A peer of today's protocol (HANDSHAKE_CURRENT) sends its instance
 * id and the shared secret, if there is one. If there is no secret, a peer on loopback must belong
 * to our own user. The server is pinned to one instance: the configured instance, or the instance
 * of the first peer of today's protocol on /rpc/ws. A legacy peer (HANDSHAKE_LEGACY) sends neither
 * an id nor a secret, so any process on the machine could pretend to be a legacy peer. A server
 * that has a secret or a configured instance, or that enforces grants, refuses legacy peers. For
 * other servers the policy (enum handshake_legacy) says whether legacy peers are accepted. A
 * request with the header `Origin` comes from a web page and is refused. The header `Host` of a
 * legacy peer must be an IP address (any address) or a name of this server. This stops DNS
 * rebinding, where `Host` is the name of a web site.
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
	/* accept legacy peers on loopback, from our own user, until an instance is pinned */
	HANDSHAKE_LEGACY_AUTO,
	/* accept legacy peers also from other machines, and also after a peer has pinned an
	 * instance */
	HANDSHAKE_LEGACY_ALWAYS,
	HANDSHAKE_LEGACY_NEVER,
};

struct handshake_trust {
	char *token;     /* the shared secret; owned; NULL if there is none */
	char *instance;  /* owned; NULL until an instance is pinned */
	bool configured; /* the instance is from the configuration, not from a peer */
	bool admission;  /* grants are enforced, so legacy peers are refused */
	enum handshake_legacy legacy;
	/* our names besides localhost; ends with NULL; borrowed; may be NULL */
	const char *const *host_names;
};

struct handshake_peer {
	bool loopback;
	bool own_user; /* our user owns the peer's socket; only known on loopback */
};

enum handshake_verdict { HANDSHAKE_REFUSED, HANDSHAKE_CURRENT, HANDSHAKE_LEGACY };

void handshake_trust_done(struct handshake_trust *t);
/* Trims and sets the secret. NULL and "" mean no secret. Returns 0, or -1 with ERR_INVALID if the
 * secret is too short or contains blanks. */
MUST_USE int handshake_set_token(struct handshake_trust *t, const char *text, struct err *e);
/* Sets the configured instance. NULL and "" mean no instance. Returns 0, or -1 with ERR_INVALID. */
MUST_USE int handshake_set_instance(struct handshake_trust *t, const char *text, struct err *e);
/* Sets the policy from "auto", "1", "0", "true" …. NULL and "" mean auto. Returns 0, or -1 with
 * ERR_INVALID. */
MUST_USE int handshake_set_legacy(struct handshake_trust *t, const char *text, struct err *e);

/* Judges a request for /rpc/ws. If the result is HANDSHAKE_CURRENT and no instance is pinned,
 * pins the peer's instance. */
MUST_USE enum handshake_verdict
handshake_rpc(struct handshake_trust *t, const struct http_request *r, struct handshake_peer peer);
/* Judges a request for a relay. Unless the request is refused, sets *RET to the tenant that its
 * headers name, or to the legacy tenant. Never pins an instance. */
MUST_USE enum handshake_verdict handshake_relay(const struct handshake_trust *t,
						const struct http_request *r,
						struct handshake_peer peer, struct tenant *ret);
/* Returns true if a legacy peer may use standard input and output. */
bool handshake_legacy_stdio(const struct handshake_trust *t);
