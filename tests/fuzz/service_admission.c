/* Reads each line as JSON: as a policy, as a grant, as a revocation and as a spec. Enforcement,
 * once on, must stay on. A refused request must have a fault with a text. A grant that was
 * installed must not have expired, and must stay within the policy. An admitted spec must have the
 * prescribed form. */
#include "service/admission.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS (1785576600ull * NS_PER_SEC) /* 2026-08-01T09:30:00Z */

static void check_fault(const struct fault *f)
{
	if (f->class == FAULT_NONE || !f->text || !utf8_valid(f->text, f->n))
		abort();
}

static void use(struct admission *a, const struct admission_grant *g)
{
	AUTO_FAULT f = { 0 };
	struct tenant t;
	bool expired;

	tenant_init(&t, STR("inst-7"), str_of(g->workspace), g->generation);
	if (admission_require(a, &t, ADMISSION_SESSIONS, NOW_NS, &expired, &f) < 0)
		check_fault(&f);
}

static void on_expired(void *arg, const unsigned char key[TENANT_KEY_BYTES])
{
	abort(); /* admission_install() refuses expired grants */
}

static void grant(struct admission *a, const struct json_value *v)
{
	const struct admission_record *r;
	struct admission_grant g;
	enum admission_effect effect;
	AUTO_FAULT f = { 0 };

	if (admission_grant_decode(v, &g, &f) < 0) {
		check_fault(&f);
		return;
	}
	if (admission_install(a, &g, STR("inst-7"), 0, NOW_NS, &effect, &r, &f) < 0)
		check_fault(&f);
	else if (strcmp(g.instance, "inst-7") != 0 || r->expires_ns <= NOW_NS ||
		 r->max_sessions > a->policy.max_sessions)
		abort();
	use(a, &g);
	admission_grant_done(&g);
}

static void revoke(struct admission *a, const struct json_value *v)
{
	struct admission_grant g;
	AUTO_FAULT f = { 0 };

	if (admission_revocation_decode(v, &g, &f) < 0) {
		check_fault(&f);
		return;
	}
	if (admission_revoke(a, &g, STR("inst-7"), &f) < 0)
		check_fault(&f);
	admission_grant_done(&g);
}

static void rewrite(const struct admission *a, const struct json_value *v)
{
	struct box_spec s;
	AUTO_FAULT f = { 0 };

	if (box_spec_decode(v, &s, &f) < 0)
		return;
	if (admission_rewrite(a, &s, "/own", NULL, &f) < 0)
		check_fault(&f);
	else if (s.network != BOX_OFFLINE || strcmp(s.host_path, "/own") != 0 ||
		 strcmp(s.session_id, ADMISSION_SESSION) != 0 || s.memory_mb != a->policy.memory_mb)
		abort();
	box_spec_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct admission a;

	admission_init(&a, 4);
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		AUTO_JSON d = NULL;
		struct err e = { 0 };
		bool was = a.active;

		if (json_parse_lenient(line.p, line.n, &d, &e) < 0)
			continue;
		if (a.active) {
			grant(&a, json_root(d));
			revoke(&a, json_root(d));
		}
		rewrite(&a, json_root(d));
		admission_configure(&a, json_root(d));
		if (was && !a.active)
			abort();
		admission_expire(&a, NOW_NS, on_expired, NULL);
	}
	admission_done(&a);
	return 0;
}
