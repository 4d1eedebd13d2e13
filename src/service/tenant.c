#include "service/tenant.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/sha256.h"
#include "service/python.h"

static void put_hex(const unsigned char *p, size_t n, char *out)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digit[p[i] >> 4];
		out[2 * i + 1] = digit[p[i] & 15];
	}
	out[2 * n] = '\0';
}

void tenant_init(struct tenant *t, struct str instance, struct str workspace, uint64_t generation)
{
	unsigned char sum[SHA256_BYTES];
	char hex[2 * TENANT_KEY_BYTES + 1];
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, instance.p, instance.n);
	sha256_add(&h, "", 1);
	sha256_add(&h, workspace.p, workspace.n);
	sha256_end(&h, sum);
	*t = (struct tenant){ .generation = generation };
	memcpy(t->key, sum, sizeof(t->key));
	put_hex(t->key, sizeof(t->key), hex);
	snprintf(t->persistent, sizeof(t->persistent), "ws-%s", hex);
	snprintf(t->placement, sizeof(t->placement), "%s-g%" PRIu64, t->persistent, generation);
}

void tenant_init_legacy(struct tenant *t)
{
	*t = (struct tenant){ .legacy = true };
}

/* --- session ids ------------------------------------------------------------------------------ */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-';
}

/* Appends S. Replaces each run of characters that are not plain by one '-', and drops '-' at both
 * ends. */
static void add_clean(struct str s, struct buf *out)
{
	size_t from = out->n;

	for (size_t i = 0; i < s.n; i++) {
		if (is_plain(s.p[i]) && (s.p[i] != '-' || out->n > from))
			buf_add_char(out, s.p[i]);
		else if (out->n > from && i > 0 && is_plain(s.p[i - 1]))
			buf_add_char(out, '-');
	}
	while (out->n > from && out->p[out->n - 1] == '-')
		buf_cut(out, out->n - 1);
}

int tenant_clean_id(const struct tenant *t, struct str id, struct buf *out, struct fault *f)
{
	size_t from = out->n;

	id = python_trim(id);
	if (t->legacy)
		buf_add(out, id.p, id.n);
	else
		add_clean(id, out);
	if (out->n == from)
		return fault_set(f, FAULT_VALUE,
				 "session_id must contain letters, digits, '_' or '.'");
	return 0;
}

void tenant_physical_id(const struct tenant *t, struct str cleaned, struct buf *out)
{
	if (!t->legacy)
		buf_addf(out, "%s-", t->placement);
	buf_add(out, cleaned.p, cleaned.n);
}

bool tenant_owns(const struct tenant *t, struct str physical, struct str *ret_cleaned)
{
	size_t n = t->legacy ? 0 : strlen(t->placement) + 1;

	if (physical.n <= n ||
	    (n && (memcmp(physical.p, t->placement, n - 1) != 0 || physical.p[n - 1] != '-')))
		return false;
	*ret_cleaned = (struct str){ physical.p + n, physical.n - n };
	return true;
}

void tenant_session_digest(const struct tenant *t, struct str cleaned,
			   char out[TENANT_DIGEST_BYTES])
{
	unsigned char sum[SHA256_BYTES];
	struct sha256 h;

	/* this works for the legacy tenant too: its placement is "", which no other tenant has */
	sha256_init(&h);
	sha256_add(&h, t->placement, strlen(t->placement) + 1);
	sha256_add(&h, cleaned.p, cleaned.n);
	sha256_end(&h, sum);
	put_hex(sum, TENANT_DIGEST_BYTES / 2, out);
}

/* --- what headers carry ----------------------------------------------------------------------- */

bool tenant_is_instance(struct str s)
{
	if (s.n == 0 || s.n > 128 || strchr("._:-", s.p[0]))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!is_plain(s.p[i]) && s.p[i] != ':')
			return false;
	return true;
}

bool tenant_is_workspace(struct str s)
{
	s = python_trim(s);
	return s.n > 0 && python_length(s) <= TENANT_WORKSPACE_MAX;
}

bool tenant_parse_generation(struct str s, uint64_t *ret)
{
	return s.n > 0 && s.p[0] != '0' && parse_u64_str(s, 1, INT64_MAX, ret) == 0;
}
