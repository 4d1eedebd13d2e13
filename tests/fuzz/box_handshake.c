/* Checks any bytes as the head of a request for the RPC and for a relay, on a server with or
 * without a token, and with or without an instance id. A request with an Origin header, or without
 * the server's token, must be refused. If handshake_relay() returns HANDSHAKE_CURRENT, the server
 * must have an instance id, and the tenant must have a generation and not be a legacy tenant. If
 * handshake_rpc() returns HANDSHAKE_CURRENT, the server must have an instance id afterwards. If it
 * returns HANDSHAKE_LEGACY, the peer must belong to our own user, and the server must have neither
 * a token nor an instance id. No request may change the instance id that the server already had. */
#include "box/handshake.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "0123456789abcdef0123456789abcdef"

static bool is_sent(const struct http_request *r, const char *name, const char *value)
{
	struct str got;

	int n = http_header_one(&r->headers, name, &got);

	return value ? n == 1 && str_eq(got, value) : n != 0;
}

static void judge(const struct http_request *r, const char *token, const char *instance,
		  struct handshake_peer peer)
{
	static const char *const names[] = { "box.example", NULL };
	struct handshake_trust t = { .host_names = names };
	enum handshake_verdict rpc, relay;
	struct tenant tenant;
	struct err e;

	if (handshake_set_token(&t, token, &e) < 0 || handshake_set_instance(&t, instance, &e) < 0)
		abort();
	relay = handshake_relay(&t, r, peer, &tenant);
	if (relay == HANDSHAKE_CURRENT && (!instance || tenant.legacy || tenant.generation == 0))
		abort();
	rpc = handshake_rpc(&t, r, peer);
	if (rpc == HANDSHAKE_CURRENT && !t.instance)
		abort();
	if (instance && (!t.instance || strcmp(t.instance, instance) != 0))
		abort();
	if (rpc == HANDSHAKE_LEGACY && (token || instance || !peer.own_user))
		abort();
	if ((rpc != HANDSHAKE_REFUSED || relay != HANDSHAKE_REFUSED) &&
	    (is_sent(r, "Origin", NULL) ||
	     (token && !is_sent(r, "X-LangBot-Box-Control-Token", token))))
		abort();
	handshake_trust_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_request r; /* static, because it is too large for the stack */
	struct str in = { (const char *)data, size };
	size_t seen = 0;

	if (http_request_next(&in, &seen, 0, &r) != 1)
		return 0;
	for (unsigned i = 0; i < 16; i++)
		judge(&r, i & 1 ? TOKEN : NULL, i & 2 ? "inst-7" : NULL,
		      (struct handshake_peer){ .loopback = i & 4, .own_user = (i & 12) == 12 });
	return 0;
}
