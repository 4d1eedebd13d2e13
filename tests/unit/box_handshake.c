#include "box/handshake.h"

#include "base/cleanup.h"
#include "t.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define INSTANCE "X-LangBot-Instance-Id: inst-7\r\n"
#define SECRET "X-LangBot-Box-Control-Token: " TOKEN "\r\n"
#define PLACE "X-LangBot-Workspace-Id: w-blue\r\nX-LangBot-Placement-Generation: 3\r\n"

static const struct handshake_peer ours = { .loopback = true, .own_user = true };
static const struct handshake_peer neighbour = { .loopback = true };
static const struct handshake_peer remote = { 0 };

static struct http_request request; /* too large for the stack */

static const struct http_request *head(const char *host, const char *headers)
{
	AUTO_BUF b = BUF_INIT(4096);
	static char text[4096];
	struct str in;
	size_t seen = 0;

	buf_addf(&b, "GET /rpc/ws HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, headers);
	snprintf(text, sizeof(text), "%s", b.p);
	in = str_of(text);
	T_INT(http_request_next(&in, &seen, 0, &request), 1);
	return &request;
}

static enum handshake_verdict rpc(struct handshake_trust *t, const char *headers,
				  struct handshake_peer peer)
{
	return handshake_rpc(t, head("localhost:5410", headers), peer);
}

/* Returns the trust settings of a server that has only the setting LEGACY for legacy peers. */
static struct handshake_trust plain(const char *legacy)
{
	struct handshake_trust t = { 0 };
	struct err e = { 0 };

	T_INT(handshake_set_legacy(&t, legacy, &e), 0);
	return t;
}

static void settings(void)
{
	static const char *const bad_tokens[] = { " ",
						  "short",
						  "0123456789abcdef0123456789abcde",
						  "0123456789abcdef 0123456789abcdef",
						  "0123456789abcdef\xc2\xa0"
						  "0123456789abcdef",
						  "0123456789abcdef0123456789abcde\xff" };
	static const char *const bad_instances[] = { " ", "-x", "a b", "a/b" };
	static const struct {
		const char *text;
		int want; /* -1 if refused */
	} legacy[] = {
		{ NULL, HANDSHAKE_LEGACY_AUTO },     { "", HANDSHAKE_LEGACY_AUTO },
		{ " AUTO ", HANDSHAKE_LEGACY_AUTO }, { "1", HANDSHAKE_LEGACY_ALWAYS },
		{ "True", HANDSHAKE_LEGACY_ALWAYS }, { "0", HANDSHAKE_LEGACY_NEVER },
		{ "no", HANDSHAKE_LEGACY_NEVER },    { "maybe", -1 },
	};
	struct handshake_trust t = { 0 };
	struct err e = { 0 };

	T_INT(handshake_set_token(&t, NULL, &e), 0);
	T_INT(handshake_set_token(&t, "", &e), 0);
	T_TRUE(!t.token);
	for (size_t i = 0; i < ARRAY_SIZE(bad_tokens); i++) {
		if (handshake_set_token(&t, bad_tokens[i], &e) == 0)
			T_FAIL("'%s' is accepted", bad_tokens[i]);
		T_INT(e.code, ERR_INVALID);
		T_TRUE(!strstr(e.msg, bad_tokens[i]) ||
		       *bad_tokens[i] == ' '); /* the message must not show the secret */
		T_TRUE(!t.token);
	}
	T_INT(handshake_set_token(&t, " \t" TOKEN "\n", &e), 0);
	T_STR(t.token, TOKEN);
	T_INT(handshake_set_instance(&t, NULL, &e), 0);
	T_INT(handshake_set_instance(&t, "", &e), 0);
	T_TRUE(!t.instance && !t.configured);
	for (size_t i = 0; i < ARRAY_SIZE(bad_instances); i++)
		T_INT(handshake_set_instance(&t, bad_instances[i], &e), -1);
	T_INT(handshake_set_instance(&t, " inst-7 ", &e), 0);
	T_STR(t.instance, "inst-7");
	T_TRUE(t.configured);
	for (size_t i = 0; i < ARRAY_SIZE(legacy); i++) {
		T_INT(handshake_set_legacy(&t, legacy[i].text, &e), legacy[i].want < 0 ? -1 : 0);
		if (legacy[i].want >= 0)
			T_INT(t.legacy, legacy[i].want);
	}
	handshake_trust_done(&t);
}

static void the_first_peer_pins(void)
{
	struct handshake_trust t = plain("0");
	struct tenant tenant;

	T_INT(handshake_relay(&t, head("localhost", INSTANCE PLACE), ours, &tenant),
	      HANDSHAKE_REFUSED);
	T_TRUE(!t.instance); /* only /rpc/ws pins an instance, a relay never does */
	T_INT(rpc(&t, "", ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, "X-LangBot-Instance-Id: a b\r\n", ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, "X-LangBot-Instance-Id:\r\n", ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, INSTANCE INSTANCE, ours), HANDSHAKE_REFUSED);
	T_TRUE(!t.instance);
	T_INT(rpc(&t, INSTANCE, ours), HANDSHAKE_CURRENT);
	T_STR(t.instance, "inst-7");
	T_TRUE(!t.configured);
	T_INT(rpc(&t, "X-LangBot-Instance-Id: inst-8\r\n", ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, "x-langbot-instance-id: inst-7\r\n", remote), HANDSHAKE_CURRENT);
	T_INT(handshake_relay(&t, head("localhost", INSTANCE PLACE), ours, &tenant),
	      HANDSHAKE_CURRENT);
	T_STR(tenant.placement, "ws-54ad3400d9384ce8d10ae863-g3");
	handshake_trust_done(&t);
}

static void tokens_are_compared(void)
{
	static const char *const bad[] = {
		"",
		"X-LangBot-Box-Control-Token:\r\n",
		"X-LangBot-Box-Control-Token: 0123456789abcdef0123456789abcdee\r\n",
		"X-LangBot-Box-Control-Token: 1123456789abcdef0123456789abcdef\r\n",
		"X-LangBot-Box-Control-Token: 0123456789abcdef0123456789abcde\r\n",
		"X-LangBot-Box-Control-Token: 0123456789abcdef0123456789abcdef0\r\n",
		"X-LangBot-Box-Control-Token: " TOKEN TOKEN "\r\n",
		SECRET SECRET,
	};
	struct handshake_trust t = plain("1");
	struct err e = { 0 };

	T_INT(handshake_set_token(&t, TOKEN, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_BUF b = BUF_INIT(1024);

		buf_addf(&b, "%s%s", INSTANCE, bad[i]);
		T_INT(rpc(&t, b.p, ours), HANDSHAKE_REFUSED);
	}
	T_TRUE(!t.instance);
	/* if a token is set, a peer that sends no instance id is refused, even with the token */
	T_INT(rpc(&t, SECRET, ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, "", ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, INSTANCE SECRET, remote), HANDSHAKE_CURRENT);
	/* with the token, programs of other users get in, too */
	T_INT(rpc(&t, INSTANCE SECRET, neighbour), HANDSHAKE_CURRENT);
	handshake_trust_done(&t);
}

/* Web pages and other users of this machine must be refused. */
static void others_stay_out(void)
{
	struct handshake_trust t = plain("1");
	struct tenant tenant;

	T_INT(rpc(&t, INSTANCE "Origin: http://evil.example\r\n", ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, INSTANCE "Origin: null\r\n", remote), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, INSTANCE "origin:\r\n", ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, INSTANCE "Origin: a\r\nOrigin: b\r\n", ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, "Origin: http://localhost\r\n", ours), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, INSTANCE, neighbour), HANDSHAKE_REFUSED);
	T_TRUE(!t.instance);
	T_INT(rpc(&t, INSTANCE, ours), HANDSHAKE_CURRENT);
	T_INT(handshake_relay(&t, head("localhost", INSTANCE PLACE "Origin: x\r\n"), ours, &tenant),
	      HANDSHAKE_REFUSED);
	T_INT(handshake_relay(&t, head("localhost", INSTANCE PLACE), neighbour, &tenant),
	      HANDSHAKE_REFUSED);
	handshake_trust_done(&t);
}

static void legacy_peers(void)
{
	struct handshake_trust t = plain("auto");
	struct tenant tenant = { 0 };

	T_INT(rpc(&t, "", ours), HANDSHAKE_LEGACY);
	T_TRUE(!t.instance); /* a peer without an instance id pins no instance */
	T_INT(rpc(&t, "", neighbour), HANDSHAKE_REFUSED);
	T_INT(rpc(&t, "", remote), HANDSHAKE_REFUSED);
	T_INT(handshake_relay(&t, head("localhost", ""), ours, &tenant), HANDSHAKE_LEGACY);
	T_TRUE(tenant.legacy);
	T_INT(handshake_relay(&t, head("localhost", ""), remote, &tenant), HANDSHAKE_REFUSED);
	T_TRUE(handshake_legacy_stdio(&t));
	t.admission = true;
	T_INT(rpc(&t, "", ours), HANDSHAKE_REFUSED);
	T_TRUE(!handshake_legacy_stdio(&t));
	t.admission = false;
	/* HANDSHAKE_LEGACY_AUTO refuses legacy peers as soon as a peer with an instance id was
	 * accepted */
	T_INT(rpc(&t, INSTANCE, ours), HANDSHAKE_CURRENT);
	T_INT(rpc(&t, "", ours), HANDSHAKE_REFUSED);
	T_TRUE(!handshake_legacy_stdio(&t));
	t.legacy = HANDSHAKE_LEGACY_ALWAYS;
	T_INT(rpc(&t, "", ours), HANDSHAKE_LEGACY);
	T_INT(rpc(&t, "", remote), HANDSHAKE_LEGACY);
	T_INT(rpc(&t, "", neighbour), HANDSHAKE_REFUSED);
	t.configured = true;
	T_INT(rpc(&t, "", ours), HANDSHAKE_REFUSED);
	t.configured = false;
	t.legacy = HANDSHAKE_LEGACY_NEVER;
	T_INT(rpc(&t, "", ours), HANDSHAKE_REFUSED);
	handshake_trust_done(&t);
}

/* A web page whose name was rebound to 127.0.0.1 sends that name as the Host. */
static void host_names(void)
{
	static const char *const names[] = { "langbot_box", NULL };
	static const struct {
		const char *host;
		bool want;
	} c[] = {
		{ "localhost", true },       { "LocalHost:5410", true },
		{ "127.0.0.1:5410", true },  { "[::1]:5410", true },
		{ "10.1.2.3", true },        { "langbot_box:5410", true },
		{ "evil.example", false },   { "127.0.0.1.evil", false },
		{ "localhost.evil", false }, { "evil.example:5410", false },
		{ "127.1", false },          { "0x7f000001", false },
	};

	for (unsigned i = 0; i < 2; i++) {
		struct handshake_trust t = plain(i ? "1" : "auto");

		t.host_names = names;
		for (size_t k = 0; k < ARRAY_SIZE(c); k++)
			if (handshake_rpc(&t, head(c[k].host, ""), ours) !=
			    (c[k].want ? HANDSHAKE_LEGACY : HANDSHAKE_REFUSED))
				T_FAIL("'%s'", c[k].host);
		t.host_names = NULL;
		T_INT(handshake_rpc(&t, head("langbot_box", ""), ours), HANDSHAKE_REFUSED);
		handshake_trust_done(&t);
	}
}

static void relays_name_their_tenant(void)
{
	static const char *const bad[] = {
		"",
		"X-LangBot-Workspace-Id: w\r\n",
		"X-LangBot-Placement-Generation: 1\r\n",
		"X-LangBot-Workspace-Id:\r\nX-LangBot-Placement-Generation: 1\r\n",
		"X-LangBot-Workspace-Id: w\r\nX-LangBot-Placement-Generation: 01\r\n",
		"X-LangBot-Workspace-Id: w\r\nX-LangBot-Placement-Generation: +1\r\n",
		"X-LangBot-Workspace-Id: w\r\nX-LangBot-Placement-Generation: 1x\r\n",
		"X-LangBot-Workspace-Id: w\r\nX-LangBot-Placement-Generation: 0\r\n",
		"X-LangBot-Workspace-Id: \xff\r\nX-LangBot-Placement-Generation: 1\r\n",
		PLACE PLACE,
	};
	struct handshake_trust t = plain("auto");
	struct tenant tenant;

	T_INT(rpc(&t, INSTANCE, ours), HANDSHAKE_CURRENT);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_BUF b = BUF_INIT(1024);

		buf_addf(&b, "%s%s", INSTANCE, bad[i]);
		T_INT(handshake_relay(&t, head("localhost", b.p), ours, &tenant),
		      HANDSHAKE_REFUSED);
	}
	T_INT(handshake_relay(&t, head("localhost", "X-LangBot-Instance-Id: inst-8\r\n" PLACE),
			      ours, &tenant),
	      HANDSHAKE_REFUSED);
	T_INT(handshake_relay(&t, head("localhost", INSTANCE PLACE), ours, &tenant),
	      HANDSHAKE_CURRENT);
	handshake_trust_done(&t);
}

int main(void)
{
	T_RUN(settings);
	T_RUN(the_first_peer_pins);
	T_RUN(tokens_are_compared);
	T_RUN(others_stay_out);
	T_RUN(legacy_peers);
	T_RUN(host_names);
	T_RUN(relays_name_their_tenant);
	return t_end();
}
