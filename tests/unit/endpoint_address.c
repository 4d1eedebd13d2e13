#include "endpoint/address.h"

#include "t.h"

static void check(const char *text, bool tls, const char *name, unsigned port, const char *host)
{
	struct address a = { 0 };
	AUTO_FAULT f = { 0 };

	T_INT(address_read(str_of(text), &a, &f), 0);
	T_INT(a.tls, tls);
	T_STR(a.name, name);
	T_INT(a.port, port);
	T_STR(a.host, host);
	address_done(&a);
}

static void addresses_are_read(void)
{
	check("wss://box", true, "box", 5410, "box:5410");
	check("HTTPS://box:443/", true, "box", 443, "box:443");
	check("ws://box", false, "box", 5410, "box:5410");
	check("WS://box:80/rpc/ws", false, "box", 80, "box:80");
	check("http://127.0.0.1:5411/x/y", false, "127.0.0.1", 5411, "127.0.0.1:5411");
	check("ws://[::1]", false, "::1", 5410, "[::1]:5410");
	check("ws://[::1]:9/", false, "::1", 9, "[::1]:9");
}

static void other_texts_are_refused(void)
{
	static const char *const bad[] = { "",          "box",      "box:5410", "://box",
					   "ftp://box", "wss//box", "tls://x",  "wss://",
					   "ws:///",    "ws://a b", "ws://a:0", "ws://a:65536",
					   "ws://[::1", "ws://u@h" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct address a = { 0 };
		AUTO_FAULT f = { 0 };

		T_INT(address_read(str_of(bad[i]), &a, &f), -1);
		T_INT(f.class, FAULT_VALIDATION);
		address_done(&a);
	}
}

int main(void)
{
	T_RUN(addresses_are_read);
	T_RUN(other_texts_are_refused);
	return t_end();
}
