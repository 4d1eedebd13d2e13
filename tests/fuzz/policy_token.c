/* Parses any bytes as the token of a rule. rule_format() must write an accepted rule as a token
 * that rule_parse() accepts again, and the second rule must give the same token. */
#include "policy/rule.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[RULE_TEXT_BYTES], again[RULE_TEXT_BYTES];
	struct rule r, r2;
	struct err e = { 0 };

	if (rule_parse((struct str){ (const char *)data, size }, &r, &e) < 0)
		return 0;
	rule_format(&r, text);
	if (rule_parse(str_of(text), &r2, &e) < 0)
		abort();
	rule_format(&r2, again);
	if (!str_eq(str_of(text), again))
		abort();
	return 0;
}
