#include "endpoint/address.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/http.h"

#define SCHEME_END "://"
#define SCHEMES "' must begin with ws://, wss://, http:// or https://"

void address_done(struct address *a)
{
	free(a->name);
	free(a->host);
	*a = (struct address){ 0 };
}

static int refuse(struct fault *f, struct str text, const char *why)
{
	return fault_about(f, FAULT_VALIDATION, "box.runtime.endpoint '", text, why);
}

int address_read(struct str text, struct address *ret, struct fault *f)
{
	const char *end = text.n ? memmem(text.p, text.n, SCHEME_END, strlen(SCHEME_END)) : NULL;
	struct str scheme, host, name;
	size_t skipped;
	uint16_t port;

	if (!end)
		return refuse(f, text, SCHEMES);
	scheme = (struct str){ text.p, (size_t)(end - text.p) };
	skipped = scheme.n + strlen(SCHEME_END);
	host = (struct str){ text.p + skipped, text.n - skipped };
	host = str_cut(&host, '/');
	ret->tls = http_same_word(scheme, "wss") || http_same_word(scheme, "https");
	if (!ret->tls && !http_same_word(scheme, "ws") && !http_same_word(scheme, "http"))
		return refuse(f, text, SCHEMES);
	if (http_host_split(host, &name, &port) < 0)
		return refuse(f, text, "' has no valid host and port");
	if (!port)
		port = ADDRESS_PORT;
	ret->port = port;
	ret->name = xstrndup(name.p, name.n);
	ret->host = strchr(ret->name, ':') ? xasprintf("[%s]:%u", ret->name, port)
					   : xasprintf("%s:%u", ret->name, port);
	return 0;
}
