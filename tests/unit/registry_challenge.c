#include "registry/challenge.h"

#include <errno.h>

#include "t.h"

static void bearer(void)
{
	struct challenge c;

	T_INT(challenge_parse(
		      "Bearer "
		      "realm=\"https://auth.example/token\",service=\"reg\",scope=\"a:b:pull\"",
		      &c),
	      0);
	T_INT(c.kind, CHALLENGE_BEARER);
	T_STR(c.realm, "https://auth.example/token");
	T_STR(c.service, "reg");
	T_STR(c.scope, "a:b:pull");
	T_INT(challenge_parse("bearer  realm = plain , error=\"x\\\"y\"", &c), 0);
	T_STR(c.realm, "plain");
	T_STR(c.service, "");
}

static void the_first_supported_scheme_is_chosen(void)
{
	struct challenge c;

	T_INT(challenge_parse("Negotiate, Basic realm=\"r\"", &c), 0);
	T_INT(c.kind, CHALLENGE_BASIC);
	T_INT(challenge_parse("Digest a=b, nonce=\"c,d\", Bearer realm=\"x\"", &c), 0);
	T_INT(c.kind, CHALLENGE_BEARER);
	T_STR(c.realm, "x");
	T_INT(challenge_parse("Basic", &c), 0);
}

static void refused(void)
{
	static const char *const bad[] = { "",
					   "Negotiate",
					   "Bearer",
					   "Bearer service=\"x\"",
					   "Bearer realm=\"x",
					   "Bearer realm=\"a\nb\"",
					   "=x",
					   ", ," };
	char long_realm[CHALLENGE_FIELD_BYTES + 32];
	struct challenge c;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (challenge_parse(bad[i], &c) != -EINVAL)
			T_FAIL("accepted: %s", bad[i]);
	memset(long_realm, 'x', sizeof(long_realm));
	memcpy(long_realm, "Bearer realm=", 13);
	long_realm[sizeof(long_realm) - 1] = '\0';
	T_INT(challenge_parse(long_realm, &c), -EINVAL);
}

int main(void)
{
	T_RUN(bearer);
	T_RUN(the_first_supported_scheme_is_chosen);
	T_RUN(refused);
	return t_end();
}
