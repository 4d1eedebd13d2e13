#include "spec/grammar.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "spec/bad.h"

#define SIZE_DECIMALS_MAX 9u /* with so few decimals, the fraction times the unit cannot overflow */

/* Returns the number of KiB in one UNIT, or 0 if UNIT is unknown. Accepts K, KB, Ki, KiB and so on,
 * in upper or lower case. */
static uint64_t unit_kib(const char *unit)
{
	static const char letters[] = "kmgt";
	const char *at;

	if (!*unit)
		return 1024; /* a number without a unit means MiB */
	at = strchr(letters, tolower((unsigned char)*unit++));
	if (!at || !*at)
		return 0;
	if (*unit == 'i' || *unit == 'I')
		unit++;
	if (*unit == 'B' || *unit == 'b')
		unit++;
	return *unit ? 0 : 1ull << (10 * (at - letters));
}

int parse_size_mib(const char *flag, const char *s, uint64_t *ret, struct err *e)
{
	size_t n_whole = strspn(s, "0123456789");
	const char *fraction = s[n_whole] == '.' ? s + n_whole + 1 : "";
	size_t n_fraction = strspn(fraction, "0123456789");
	const char *unit = *fraction ? fraction + n_fraction : s + n_whole;
	uint64_t whole = 0, part = 0, scale = 1, kib = unit_kib(unit), mib;

	if (n_whole == 0 || (s[n_whole] == '.' && n_fraction == 0))
		return bad_value(e, flag, "size", s, "expected a number such as 512M or 1.5G");
	if (kib == 0)
		return bad_value(e, flag, "size", s, "unknown unit '%.16s', use K, M, G or T",
				 unit);
	if (n_fraction > SIZE_DECIMALS_MAX)
		return bad_value(e, flag, "size", s, "at most %u decimals", SIZE_DECIMALS_MAX);
	if (parse_u64_str((struct str){ s, n_whole }, 0, SPEC_SIZE_MAX_MIB * 1024 / kib, &whole) <
	    0)
		return bad_value(e, flag, "size", s, "too large, at most 1048576T");
	for (size_t i = 0; i < n_fraction; i++, scale *= 10)
		part = part * 10 + (uint64_t)(fraction[i] - '0');
	part *= kib;
	kib = whole * kib + part / scale + (part % scale != 0);
	mib = (kib + 1023) / 1024;
	if (mib == 0)
		return bad_value(e, flag, "size", s, "must be greater than 0");
	if (mib > SPEC_SIZE_MAX_MIB)
		return bad_value(e, flag, "size", s, "too large, at most 1048576T");
	*ret = mib;
	return 0;
}
