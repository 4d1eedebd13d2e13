#include "service/tenant.h"

#include "base/cleanup.h"
#include "service/context.h"
#include "service/fence.h"
#include "t.h"

static struct tenant tenant(const char *instance, const char *workspace, uint64_t generation)
{
	struct tenant t;

	tenant_init(&t, str_of(instance), str_of(workspace), generation);
	return t;
}

/* The names are from the example in the description of the Box protocol. */
static void names(void)
{
	struct tenant t = tenant("inst-7", "w-blue", 3);
	AUTO_BUF id = BUF_INIT(256), physical = BUF_INIT(256);
	AUTO_FAULT f = { 0 };
	struct str back;

	T_STR(t.persistent, "ws-54ad3400d9384ce8d10ae863");
	T_STR(t.placement, "ws-54ad3400d9384ce8d10ae863-g3");
	T_INT(tenant_clean_id(&t, STR("group_42:alice smith"), &id, &f), 0);
	T_STR(id.p, "group_42-alice-smith");
	tenant_physical_id(&t, (struct str){ id.p, id.n }, &physical);
	T_STR(physical.p, "ws-54ad3400d9384ce8d10ae863-g3-group_42-alice-smith");
	T_TRUE(tenant_owns(&t, (struct str){ physical.p, physical.n }, &back));
	T_TRUE(str_eq(back, id.p));
	T_STR(tenant("inst-7", "w-blue", UINT64_MAX).placement,
	      "ws-54ad3400d9384ce8d10ae863-g18446744073709551615");
}

static void other_tenants_have_other_names(void)
{
	struct tenant t = tenant("a", "bc", 1), u = tenant("ab", "c", 1), v = tenant("a", "bc", 10);
	struct tenant old;
	char x[TENANT_DIGEST_BYTES], y[TENANT_DIGEST_BYTES];
	struct str back;

	tenant_init_legacy(&old);
	T_TRUE(strcmp(t.persistent, u.persistent) != 0);
	T_STR(t.persistent, v.persistent);
	T_TRUE(memcmp(t.key, v.key, sizeof(t.key)) == 0);
	T_TRUE(strcmp(t.placement, v.placement) != 0);
	for (unsigned i = 0; i < 2; i++) {
		AUTO_BUF physical = BUF_INIT(256);

		tenant_physical_id(i ? &v : &t, STR("x"), &physical);
		T_INT(tenant_owns(&t, (struct str){ physical.p, physical.n }, &back), !i);
		T_INT(tenant_owns(&v, (struct str){ physical.p, physical.n }, &back), i);
		T_TRUE(!tenant_owns(&u, (struct str){ physical.p, physical.n }, &back));
		T_TRUE(tenant_owns(&old, (struct str){ physical.p, physical.n }, &back));
		/* the prefix of the tenant alone is no session id */
		T_TRUE(!tenant_owns(i ? &v : &t, (struct str){ physical.p, physical.n - 1 },
				    &back));
		T_TRUE(!tenant_owns(i ? &v : &t, (struct str){ physical.p, physical.n - 2 },
				    &back));
		/* a legacy session id that looks like an id of another tenant has its own
		 * sandbox */
		tenant_session_digest(&old, (struct str){ physical.p, physical.n }, x);
		tenant_session_digest(i ? &v : &t, STR("x"), y);
		T_TRUE(strcmp(x, y) != 0);
	}
	tenant_session_digest(&t, STR("x"), x);
	tenant_session_digest(&v, STR("x"), y);
	T_TRUE(strcmp(x, y) != 0);
	T_INT(strlen(x), 16);
	T_TRUE(!tenant_owns(&old, STR(""), &back));
}

static void ids_are_cleaned(void)
{
	static const struct {
		const char *id, *want, *legacy; /* NULL if refused */
	} c[] = {
		{ "plain_1.x-y", "plain_1.x-y", "plain_1.x-y" },
		{ "  a  ", "a", "a" },
		{ "a - b", "a---b", "a - b" },
		{ "a::/b", "a-b", "a::/b" },
		{ "::a::", "a", "::a::" },
		{ "--a--", "a", "--a--" },
		{ "-:a", "a", "-:a" },
		{ "a:-", "a", "a:-" },
		{ "../../etc", "..-..-etc", "../../etc" },
		{ "..", "..", ".." },
		{ "\xe6\x8a\x80\xe8\x83\xbd"
		  "1",
		  "1",
		  "\xe6\x8a\x80\xe8\x83\xbd"
		  "1" },
		{ "a\xe6\x8a\x80\xe8\x83\xbd"
		  "b",
		  "a-b",
		  "a\xe6\x8a\x80\xe8\x83\xbd"
		  "b" },
		{ "\xe6\x8a\x80", NULL, "\xe6\x8a\x80" },
		{ "---", NULL, "---" },
		{ "", NULL, NULL },
		{ " \t\xc2\xa0", NULL, NULL },
	};
	struct tenant t = tenant("i", "w", 1), old;

	tenant_init_legacy(&old);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		for (unsigned k = 0; k < 2; k++) {
			AUTO_BUF out = BUF_INIT(256);
			AUTO_FAULT f = { 0 };
			const char *want = k ? c[i].legacy : c[i].want;
			int r = tenant_clean_id(k ? &old : &t, str_of(c[i].id), &out, &f);

			T_INT(r, want ? 0 : -1);
			if (want)
				T_STR(buf_str(&out), want);
			else
				T_INT(f.class, FAULT_VALUE);
		}
	}
}

static void long_ids(void)
{
	AUTO_BUF id = BUF_INIT(20000), out = BUF_INIT(20000);
	AUTO_FAULT f = { 0 };
	struct tenant t = tenant("i", "w", 1);

	buf_add_fill(&id, ':', 5000);
	buf_add_fill(&id, 'x', 10000);
	T_INT(tenant_clean_id(&t, (struct str){ id.p, id.n }, &out, &f), 0);
	T_INT(out.n, 10000);
}

static void headers(void)
{
	static const struct {
		const char *text;
		bool want;
	} instances[] = {
		{ "inst-7", true }, { "7", true },    { "A.b_c:d-e", true },  { "", false },
		{ "-a", false },    { ".a", false },  { "_a", false },        { ":a", false },
		{ "a b", false },   { "a/b", false }, { "a\xc3\xa9", false }, { "a\n", false },
	};
	static const struct {
		const char *text;
		uint64_t want; /* 0 if refused */
	} generations[] = {
		{ "1", 1 },   { "42", 42 }, { "9223372036854775807", INT64_MAX },
		{ "0", 0 },   { "01", 0 },  { "+1", 0 },
		{ "-1", 0 },  { " 1", 0 },  { "1x", 0 },
		{ "", 0 },    { "1.0", 0 }, { "9223372036854775808", 0 },
		{ "1_0", 0 },
	};
	char longest[130];

	for (size_t i = 0; i < ARRAY_SIZE(instances); i++)
		if (tenant_is_instance(str_of(instances[i].text)) != instances[i].want)
			T_FAIL("'%s'", instances[i].text);
	memset(longest, 'a', sizeof(longest));
	T_TRUE(tenant_is_instance((struct str){ longest, 128 }));
	T_TRUE(!tenant_is_instance((struct str){ longest, 129 }));
	T_TRUE(!tenant_is_instance((struct str){ "\0", 1 }));
	for (size_t i = 0; i < ARRAY_SIZE(generations); i++) {
		uint64_t got = 0;
		bool good = tenant_parse_generation(str_of(generations[i].text), &got);

		if (good != (generations[i].want > 0) || got != generations[i].want)
			T_FAIL("'%s' gives %" PRIu64, generations[i].text, got);
	}
	T_TRUE(tenant_is_workspace(STR("w-blue")));
	T_TRUE(!tenant_is_workspace(STR("")));
	T_TRUE(!tenant_is_workspace(STR(" ")));
	for (unsigned n = 256; n <= 257; n++) {
		AUTO_BUF b = BUF_INIT(1024);

		for (unsigned i = 0; i < n; i++)
			buf_add_str(&b, "\xc3\xa9");
		T_INT(tenant_is_workspace((struct str){ b.p, b.n }), n == 256);
	}
}

/* --- context ---------------------------------------------------------------------------------- */

/* Returns "instance/workspace/generation", "none", or the message of the failure. */
static const char *context(const char *text)
{
	static char out[1024];
	AUTO_JSON d = NULL;
	AUTO_FAULT f = { 0 };
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct context c;
	struct err e = { 0 };

	if (*text && json_parse(text, strlen(text), &d, &e) < 0)
		T_FAIL("%s: %s", text, e.msg);
	if (context_decode(d ? json_root(d) : NULL, &c, &f) < 0)
		fault_print(&f, &b);
	else if (c.given)
		buf_addf(&b, "%s/%s/%" PRIu64, c.instance, c.workspace, c.generation);
	else
		buf_add_str(&b, "none");
	context_done(&c);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

#define IDS "\"instance_uuid\":\" i \",\"workspace_uuid\":\"w\""
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void contexts(void)
{
	static const struct {
		const char *text, *want;
	} c[] = {
		{ "", "none" },
		{ "null", "none" },
		{ "{" IDS "}", "i/w/1" },
		{ "{" IDS ",\"placement_generation\":3}", "i/w/3" },
		{ "{" IDS ",\"placement_generation\":\"3\"}", "i/w/3" },
		{ "{" IDS ",\"placement_generation\":1785576600120}", "i/w/1785576600120" },
		{ "{" IDS ",\"installation_uuid\":\"x\"}", "i/w/1" },
		{ "{" IDS ",\"installation_uuid\":null}", "i/w/1" },
		{ "{" IDS ",\"installation_uuid\":\"x\",\"runtime_revision\":2,\"artifact_digest\":"
		  "\"" DIGEST "\"}",
		  "i/w/1" },
		{ "[]", "ValidationError: context must be an object" },
		{ "\"x\"", "ValidationError: context must be an object" },
		{ "{}", "ValidationError: context.instance_uuid is required" },
		{ "{\"instance_uuid\":\"i\"}",
		  "ValidationError: context.workspace_uuid is required" },
		{ "{\"instance_uuid\":7,\"workspace_uuid\":\"w\"}",
		  "ValidationError: context.instance_uuid must be a string" },
		{ "{\"instance_uuid\":\" \",\"workspace_uuid\":\"w\"}",
		  "ValidationError: context.instance_uuid must not be empty" },
		{ "{\"instance_uuid\":\"i\",\"workspace_uuid\":\"\\t\"}",
		  "ValidationError: context.workspace_uuid must not be empty" },
		{ "{" IDS ",\"placement_generation\":0}",
		  "ValidationError: context.placement_generation must be greater than 0" },
		{ "{" IDS ",\"placement_generation\":1.5}",
		  "ValidationError: context.placement_generation must be an integer" },
		{ "{" IDS ",\"placement_generation\":null}",
		  "ValidationError: context.placement_generation must be an integer" },
		{ "{" IDS ",\"installation_uuid\":\"\"}",
		  "ValidationError: context.installation_uuid must not be empty" },
		{ "{" IDS ",\"other\":1}", "ValidationError: unknown field 'other'" },
		{ "{" IDS ",\"installation_uuid\":\"x\",\"runtime_revision\":2}",
		  "ValidationError: context.artifact_digest is required" },
		{ "{" IDS ",\"installation_uuid\":\"x\",\"artifact_digest\":\"" DIGEST "\"}",
		  "ValidationError: context.runtime_revision is required" },
		{ "{" IDS ",\"runtime_revision\":2,\"artifact_digest\":\"" DIGEST "\"}",
		  "ValidationError: context.installation_uuid is required" },
		{ "{" IDS ",\"installation_uuid\":\"x\",\"runtime_revision\":0,\"artifact_digest\":"
		  "\"" DIGEST "\"}",
		  "ValidationError: context.runtime_revision must be greater than 0" },
		{ "{" IDS
		  ",\"installation_uuid\":\"x\",\"runtime_revision\":1,\"artifact_digest\":\"AB\"}",
		  "ValidationError: context.artifact_digest must be 64 lowercase hexadecimal "
		  "digits" },
		{ "{" IDS
		  ",\"installation_uuid\":\"x\",\"runtime_revision\":1,\"artifact_digest\":\"ab\"}",
		  "ValidationError: context.artifact_digest must be 64 lowercase hexadecimal "
		  "digits" },
		{ "{" IDS ",\"installation_uuid\":\"x\",\"runtime_revision\":2,\"artifact_digest\":"
		  "\"" DIGEST "\",\"more\":1}",
		  "ValidationError: unknown field 'more'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		T_STR(context(c[i].text), c[i].want);
}

static void who_may_act(void)
{
	static char instance[] = "inst-7", workspace[] = "w-blue";
	struct context none = { 0 }, some = { true, instance, workspace, 3 };
	struct tenant t;
	AUTO_FAULT f = { 0 };

	T_INT(context_check(&none, false, STR("inst-7"), &t, &f), 0);
	T_INT(context_check(&some, false, STR("inst-7"), &t, &f), 0);
	T_INT(context_check(&some, false, STR("inst-8"), &t, &f), -1);
	T_INT(f.class, FAULT_PERMISSION);
	T_STR(f.text, "Box action context does not match the trusted instance");
	T_INT(context_check(&none, true, STR("inst-7"), &t, &f), -1);
	T_INT(f.class, FAULT_PERMISSION);
	T_STR(f.text, "Box tenant action requires a trusted Workspace context");
	T_INT(context_check(&some, true, STR("inst-8"), &t, &f), -1);
	T_STR(f.text, "Box action context does not match the trusted instance");
	T_INT(context_check(&some, true, STR(""), &t, &f), -1); /* no instance is pinned yet */
	T_INT(context_check(&some, true, STR("inst-7"), &t, &f), 0);
	T_STR(t.placement, "ws-54ad3400d9384ce8d10ae863-g3");
}

/* --- fence ------------------------------------------------------------------------------------ */

static void generations_only_rise(void)
{
	struct tenant g1 = tenant("i", "w", 1), g2 = tenant("i", "w", 2),
		      other = tenant("i", "x", 1);
	struct fence f;
	AUTO_FAULT why = { 0 };

	fence_init(&f, 10);
	T_TRUE(!fence_is_current(&f, &g1));
	T_INT(fence_observe(&f, &g1), FENCE_ADVANCED);
	T_INT(fence_observe(&f, &g1), FENCE_CURRENT);
	T_TRUE(fence_is_current(&f, &g1));
	T_TRUE(!fence_is_current(&f, &g2));
	T_TRUE(!fence_is_current(&f, &other));
	T_INT(fence_observe(&f, &g2), FENCE_ADVANCED);
	T_INT(fence_observe(&f, &g1), FENCE_STALE);
	T_TRUE(!fence_is_current(&f, &g1));
	T_TRUE(fence_is_current(&f, &g2));
	T_INT(fence_observe(&f, &other), FENCE_ADVANCED);
	T_INT(f.workspaces.n, 2);
	T_INT(fence_generation(&f, &g1), 2);
	T_INT(fence_fault(FENCE_STALE, &why), -1);
	T_INT(why.class, FAULT_PERMISSION);
	T_STR(why.text, "Stale Box placement generation");
	T_INT(fence_fault(FENCE_FULL, &why), -1);
	T_STR(why.text, "Box generation fence capacity reached; refusing an unbounded Workspace "
			"allocation");
	fence_done(&f);
}

static void fences_have_a_capacity(void)
{
	enum { N = 5000 };
	struct fence f;

	fence_init(&f, N);
	for (unsigned i = 0; i <= N; i++) {
		char name[32];
		struct tenant t;

		snprintf(name, sizeof(name), "w%u", i);
		t = tenant("i", name, 7);
		T_INT(fence_observe(&f, &t), i < N ? FENCE_ADVANCED : FENCE_FULL);
	}
	T_INT(f.workspaces.n, N);
	T_TRUE(f.workspaces.cap <= 4 * N && f.cap <= 2 * N);
	/* the fence still knows every workspace that it accepted */
	for (unsigned i = 0; i < N; i++) {
		char name[32];
		struct tenant t;

		snprintf(name, sizeof(name), "w%u", i);
		t = tenant("i", name, 7);
		T_TRUE(fence_is_current(&f, &t));
		t = tenant("i", name, 6);
		T_INT(fence_observe(&f, &t), FENCE_STALE);
		t = tenant("i", name, 8);
		T_INT(fence_observe(&f, &t), FENCE_ADVANCED);
	}
	fence_done(&f);
}

int main(void)
{
	T_RUN(names);
	T_RUN(other_tenants_have_other_names);
	T_RUN(ids_are_cleaned);
	T_RUN(long_ids);
	T_RUN(headers);
	T_RUN(contexts);
	T_RUN(who_may_act);
	T_RUN(generations_only_rise);
	T_RUN(fences_have_a_capacity);
	return t_end();
}
