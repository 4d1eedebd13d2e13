#include "box/handshake.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "service/python.h"

#define TOKEN_HEADER "X-LangBot-Box-Control-Token"
#define INSTANCE_HEADER "X-LangBot-Instance-Id"
#define WORKSPACE_HEADER "X-LangBot-Workspace-Id"
#define GENERATION_HEADER "X-LangBot-Placement-Generation"

void handshake_trust_done(struct handshake_trust *t)
{
	free(t->token);
	free(t->instance);
	t->token = t->instance = NULL;
}

/* --- configuration ---------------------------------------------------------------------------- */

int handshake_set_token(struct handshake_trust *t, const char *text, struct err *e)
{
	struct str s = python_trim(str_of(text ? text : ""));

	if (!text || !*text)
		return 0;
	if (!utf8_valid(s.p, s.n) || python_length(s) < HANDSHAKE_TOKEN_MIN || python_has_space(s))
		return err_set(e, ERR_INVALID,
			       "the control token must have at least %u characters and no blanks",
			       HANDSHAKE_TOKEN_MIN);
	free(t->token);
	t->token = xstrndup(s.p, s.n);
	return 0;
}

int handshake_set_instance(struct handshake_trust *t, const char *text, struct err *e)
{
	struct str s = python_trim(str_of(text ? text : ""));

	if (!text || !*text)
		return 0;
	if (!tenant_is_instance(s))
		return err_set(e, ERR_INVALID, "the trusted instance '%s' is no instance id", text);
	free(t->instance);
	t->instance = xstrndup(s.p, s.n);
	t->configured = true;
	return 0;
}

int handshake_set_legacy(struct handshake_trust *t, const char *text, struct err *e)
{
	struct json_value v = { .type = JSON_STRING };
	bool on;

	v.string = python_trim(str_of(text ? text : ""));
	if (v.string.n == 0 || http_same_word(v.string, "auto")) {
		t->legacy = HANDSHAKE_LEGACY_AUTO;
		return 0;
	}
	if (python_bool(&v, &on) < 0)
		return err_set(e, ERR_INVALID, "legacy clients: expected auto, 1 or 0, got '%s'",
			       text);
	t->legacy = on ? HANDSHAKE_LEGACY_ALWAYS : HANDSHAKE_LEGACY_NEVER;
	return 0;
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Returns true if A is the secret. Takes the same time wherever the first wrong character is, so
 * that a peer cannot guess the secret step by step. The length of the secret need not be hidden. */
static bool same_secret(struct str a, const char *secret)
{
	size_t n = strlen(secret);
	unsigned char differ = a.n != n;

	for (size_t i = 0; i < a.n; i++)
		differ |= (unsigned char)(a.p[i] ^ secret[i % n]);
	return differ == 0;
}

static bool has_origin(const struct http_request *r)
{
	struct str origin;

	return http_header_one(&r->headers, "Origin", &origin) != 0;
}

static bool token_fits(const struct handshake_trust *t, const struct http_request *r)
{
	struct str token;

	return !t->token || (http_header_one(&r->headers, TOKEN_HEADER, &token) == 1 &&
			     same_secret(python_trim(token), t->token));
}

/* Returns true if the header `Host` is an address, "localhost" or one of T->host_names. In an
 * attack by DNS rebinding, `Host` is the name of a web site. */
static bool host_is_ours(const struct handshake_trust *t, const struct http_request *r)
{
	struct in6_addr address;
	struct str name;
	uint16_t port;
	char text[INET6_ADDRSTRLEN];

	if (http_host_split(r->host, &name, &port) < 0)
		return false;
	if (http_same_word(name, "localhost"))
		return true;
	for (size_t i = 0; t->host_names && t->host_names[i]; i++)
		if (http_same_word(name, t->host_names[i]))
			return true;
	if (name.n >= sizeof(text))
		return false;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

/* Returns true if the policy allows peers without an instance id. */
static bool legacy_is_open(const struct handshake_trust *t)
{
	if (t->token || t->configured || t->admission || t->legacy == HANDSHAKE_LEGACY_NEVER)
		return false;
	return t->legacy == HANDSHAKE_LEGACY_ALWAYS || !t->instance;
}

bool handshake_legacy_stdio(const struct handshake_trust *t)
{
	return legacy_is_open(t);
}

static bool legacy_fits(const struct handshake_trust *t, const struct http_request *r,
			struct handshake_peer peer)
{
	if (!legacy_is_open(t) || !host_is_ours(t, r))
		return false;
	/* own_user is known only on loopback. A legacy peer of another machine needs
	 * HANDSHAKE_LEGACY_ALWAYS */
	return peer.loopback ? peer.own_user : t->legacy == HANDSHAKE_LEGACY_ALWAYS;
}

/* Judges a request by its headers, for handshake_rpc() and handshake_relay(). If the verdict is
 * HANDSHAKE_CURRENT, *RET_INSTANCE is the instance id that the peer sent. */
static enum handshake_verdict check(const struct handshake_trust *t, const struct http_request *r,
				    struct handshake_peer peer, struct str *ret_instance)
{
	int n = http_header_one(&r->headers, INSTANCE_HEADER, ret_instance);

	if (n < 0 || has_origin(r))
		return HANDSHAKE_REFUSED;
	if (n == 0)
		return legacy_fits(t, r, peer) ? HANDSHAKE_LEGACY : HANDSHAKE_REFUSED;
	if (!token_fits(t, r))
		return HANDSHAKE_REFUSED;
	/* an instance id is no secret, so without a token, other users of this machine must be
	 * refused */
	if (!t->token && peer.loopback && !peer.own_user)
		return HANDSHAKE_REFUSED;
	*ret_instance = python_trim(*ret_instance);
	if (!tenant_is_instance(*ret_instance) ||
	    (t->instance && !str_eq(*ret_instance, t->instance)))
		return HANDSHAKE_REFUSED;
	return HANDSHAKE_CURRENT;
}

enum handshake_verdict handshake_rpc(struct handshake_trust *t, const struct http_request *r,
				     struct handshake_peer peer)
{
	struct str instance;
	enum handshake_verdict v = check(t, r, peer, &instance);

	if (v == HANDSHAKE_CURRENT && !t->instance)
		t->instance = xstrndup(instance.p, instance.n);
	return v;
}

enum handshake_verdict handshake_relay(const struct handshake_trust *t,
				       const struct http_request *r, struct handshake_peer peer,
				       struct tenant *ret)
{
	struct str instance, workspace, number;
	enum handshake_verdict v = check(t, r, peer, &instance);
	uint64_t generation;

	if (v == HANDSHAKE_LEGACY)
		tenant_init_legacy(ret);
	if (v != HANDSHAKE_CURRENT)
		return v;
	if (!t->instance || http_header_one(&r->headers, WORKSPACE_HEADER, &workspace) != 1 ||
	    http_header_one(&r->headers, GENERATION_HEADER, &number) != 1)
		return HANDSHAKE_REFUSED;
	workspace = python_trim(workspace);
	if (!utf8_valid(workspace.p, workspace.n) || !tenant_is_workspace(workspace) ||
	    !tenant_parse_generation(number, &generation))
		return HANDSHAKE_REFUSED;
	tenant_init(ret, instance, workspace, generation);
	return HANDSHAKE_CURRENT;
}
