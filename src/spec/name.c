#include "spec/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "spec/bad.h"
#include "spec/grammar.h"

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
/* with "-" and 8 hex digits this makes 64 bytes, the kernel's limit */
#define HOSTNAME_KEPT_BYTES 55

/* Returns NULL if NAME is not empty and has allowed characters only, else a text that says what is
 * wrong. */
static const char *alphabet_fault(const char *name)
{
	if (!*name)
		return "it is empty";
	if (!strchr(ALNUM, *name))
		return "it must start with a letter or digit";
	if (name[strspn(name, ALNUM "._-")])
		return "only letters, digits, '.', '_' and '-' are allowed";
	return NULL;
}

int spec_check_name(const char *what, const char *name, struct err *e)
{
	const char *fault = alphabet_fault(name);

	if (fault)
		return bad_value(e, what, "name", name, "%s", fault);
	if (strlen(name) > SPEC_NAME_MAX_BYTES)
		return bad_value(e, what, "name", name, "longer than %d bytes",
				 SPEC_NAME_MAX_BYTES);
	return 0;
}

char *spec_random_name(void)
{
	uint32_t bits;

	if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
		abort(); /* getrandom() does not fail for so few bytes */
	return xasprintf("msb-%08x", bits);
}

int parse_hostname(const char *s, struct err *e)
{
	const char *fault = alphabet_fault(s);

	if (fault)
		return bad_value(e, "--hostname", "host name", s, "%s", fault);
	if (strlen(s) > SPEC_HOSTNAME_MAX_BYTES)
		return bad_value(e, "--hostname", "host name", s, "longer than %d bytes",
				 SPEC_HOSTNAME_MAX_BYTES);
	return 0;
}

void spec_default_hostname(const char *name, char out[SPEC_HOSTNAME_MAX_BYTES + 1])
{
	size_t n = strlen(name);
	char hex[SHA256_HEX_BYTES];

	if (n <= SPEC_HOSTNAME_MAX_BYTES) {
		memcpy(out, name, n + 1);
		return;
	}
	sha256_hex(name, n, hex);
	snprintf(out, SPEC_HOSTNAME_MAX_BYTES + 1, "%.*s-%.8s", HOSTNAME_KEPT_BYTES, name, hex);
}
