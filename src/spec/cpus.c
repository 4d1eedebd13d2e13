#include "spec/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "spec/spec.h"

#define JSON_SLACK 1e-6 /* the allowed rounding error of a double, in thousandths of a CPU */

int cpus_parse(const char *s, uint32_t max, uint32_t *ret_milli)
{
	struct str rest = str_of(s);
	struct str whole = str_cut(&rest, '.');
	uint64_t cpus, part = 0, milli;

	if (rest.p && (rest.n == 0 || rest.n > CPUS_DECIMALS ||
		       parse_u64_str(rest, 0, CPUS_ONE - 1, &part) < 0))
		return -EINVAL;
	for (size_t i = rest.n; rest.p && i < CPUS_DECIMALS; i++)
		part *= 10;
	if (parse_u64_str(whole, 0, max, &cpus) < 0)
		return -EINVAL;
	milli = cpus * CPUS_ONE + part;
	if (milli > (uint64_t)max * CPUS_ONE)
		return -ERANGE;
	*ret_milli = (uint32_t)milli;
	return 0;
}

const char *cpus_text(uint32_t milli, char out[CPUS_TEXT_BYTES])
{
	size_t n;

	if (cpus_are_whole(milli)) {
		snprintf(out, CPUS_TEXT_BYTES, "%u", milli / CPUS_ONE);
		return out;
	}
	snprintf(out, CPUS_TEXT_BYTES, "%u.%03u", milli / CPUS_ONE, milli % CPUS_ONE);
	for (n = strlen(out); out[n - 1] == '0'; n--)
		out[n - 1] = '\0';
	return out;
}

void cpus_write_json(struct json_writer *w, const char *key, uint32_t milli)
{
	json_key(w, key);
	if (cpus_are_whole(milli))
		json_uint(w, milli / CPUS_ONE);
	else
		json_double(w, (double)milli / CPUS_ONE);
}

int cpus_read_json(const struct json_value *v, const char *path, uint32_t *ret_milli, struct err *e)
{
	double milli, off = 1;
	uint32_t nearest = 0;

	if (!v)
		return 0;
	milli = v->type == JSON_INT      ? (double)v->integer * CPUS_ONE
		: v->type == JSON_DOUBLE ? v->number * CPUS_ONE
					 : 0;
	if (milli >= CPUS_MIN_MILLI && milli <= (double)SPEC_CPUS_MAX * CPUS_ONE) {
		nearest = (uint32_t)(milli + 0.5);
		off = milli - nearest;
	}
	if (off > JSON_SLACK || off < -JSON_SLACK)
		return err_set(e, ERR_INVALID,
			       "%s: expected a number from 0.01 to %u with at most %u decimals",
			       path, SPEC_CPUS_MAX, CPUS_DECIMALS);
	*ret_milli = nearest;
	return 0;
}
