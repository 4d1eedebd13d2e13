#include "service/admission.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "service/readiness.h"
#include "t.h"

#define NOW 1785576600ull /* seconds: 2026-08-01T09:30:00Z */
#define AT(seconds) ((NOW + (seconds)) * NS_PER_SEC)

static struct json_doc *doc; /* document of the last value() */

static const struct json_value *value(const char *text)
{
	struct err e = { 0 };

	json_free(doc);
	doc = NULL;
	if (json_parse(text, strlen(text), &doc, &e) < 0)
		T_FAIL("%s: %s", text, e.msg);
	return doc ? json_root(doc) : NULL;
}

static const char *message(const struct fault *f)
{
	static char out[1024];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);

	fault_print(f, &b);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static struct admission active(size_t max)
{
	struct admission a;

	admission_init(&a, max);
	admission_configure(&a, value("{\"required\":true}"));
	T_TRUE(a.active && !a.error);
	return a;
}

/* --- policy ----------------------------------------------------------------------------------- */

static void policies(void)
{
	static const struct {
		const char *text, *error; /* NULL if accepted */
	} c[] = {
		{ "{\"required\":true,\"logical_session_id\":\"global\",\"required_backend\":"
		  "\"nsjail\","
		  "\"max_sessions\":0,\"max_managed_processes\":0,\"max_grant_ttl_sec\":1,"
		  "\"max_timeout_sec\":1,\"cpus\":0.5,\"memory_mb\":32,\"pids_limit\":1,"
		  "\"read_only_rootfs\":false,\"workspace_quota_mb\":5,\"readiness_cache_sec\":0}",
		  NULL },
		{ "[]", "admission must be an object" },
		{ "true", "admission must be an object" },
		{ "{\"required\":\"maybe\"}", "required must be a boolean" },
		{ "{\"required\":false,\"other\":1}", "unknown field 'other'" },
		{ "{\"logical_session_id\":\"x\"}", "logical_session_id must be one of global" },
		{ "{\"required_backend\":\"docker\"}", "required_backend must be one of nsjail" },
		{ "{\"max_sessions\":2}", "max_sessions must be 0 or 1" },
		{ "{\"max_sessions\":-1}", "max_sessions must be greater than or equal to 0" },
		{ "{\"max_managed_processes\":1}", "max_managed_processes must be 0" },
		{ "{\"max_grant_ttl_sec\":0}", "max_grant_ttl_sec must be greater than 0" },
		{ "{\"max_timeout_sec\":0}", "max_timeout_sec must be greater than 0" },
		{ "{\"cpus\":0}", "cpus must be greater than 0" },
		{ "{\"memory_mb\":31}", "memory_mb must be greater than or equal to 32" },
		{ "{\"pids_limit\":0}", "pids_limit must be greater than 0" },
		{ "{\"read_only_rootfs\":7}", "read_only_rootfs must be a boolean" },
		{ "{\"workspace_quota_mb\":-1}",
		  "workspace_quota_mb must be greater than or equal to 0" },
		{ "{\"readiness_cache_sec\":-1}",
		  "readiness_cache_sec must be greater than or equal to 0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_FAULT f = { 0 };
		AUTO_BUF want = BUF_INIT(256);
		struct admission a;

		admission_init(&a, 10);
		admission_configure(&a, value(c[i].text));
		/* a bad section also turns the policy on, because an error must not switch the
		 * policy off */
		T_TRUE(a.active);
		T_INT(admission_check_config(&a, &f), c[i].error ? -1 : 0);
		if (c[i].error) {
			buf_addf(&want,
				 "BoxReadinessError: Invalid sandbox admission configuration: %s",
				 c[i].error);
			T_STR(message(&f), want.p);
			T_INT(a.policy.max_sessions, 1);
			T_INT(a.policy.memory_mb, 512);
		} else {
			T_INT(a.policy.max_sessions, 0);
			T_INT(a.policy.memory_mb, 32);
			T_INT(a.policy.readiness_cache_sec, 0);
			T_TRUE(a.policy.cpus == 0.5 && !a.policy.read_only_rootfs);
		}
		admission_done(&a);
	}
}

static void enforcement_stays(void)
{
	static const char *const off[] = { "{\"required\":false}", "{}", "null", "" };
	struct admission a;
	AUTO_FAULT f = { 0 };

	admission_init(&a, 10);
	for (size_t i = 0; i < ARRAY_SIZE(off); i++) {
		admission_configure(&a, *off[i] ? value(off[i]) : NULL);
		T_TRUE(!a.active && !a.error);
	}
	admission_configure(&a, value("{\"required\":true,\"memory_mb\":64}"));
	T_TRUE(a.active && !a.error);
	for (size_t i = 0; i < ARRAY_SIZE(off); i++) {
		admission_configure(&a, *off[i] ? value(off[i]) : NULL);
		T_TRUE(a.active);
		T_INT(a.policy.memory_mb, 64);
		T_INT(admission_check_config(&a, &f), -1);
		T_STR(message(&f),
		      "BoxReadinessError: Invalid sandbox admission configuration: Sandbox "
		      "admission enforcement cannot be disabled without restarting the Box "
		      "Runtime");
	}
	admission_configure(&a, value("{\"required\":true,\"memory_mb\":128}"));
	T_TRUE(a.active && !a.error);
	T_INT(a.policy.memory_mb, 128);
	admission_configure(&a, value("{\"required\":true,\"memory_mb\":1}"));
	T_TRUE(a.active && a.error);
	T_INT(a.policy.memory_mb, 512); /* a bad section resets all values to their defaults */
	admission_done(&a);
}

/* --- models ----------------------------------------------------------------------------------- */

#define GRANT(instance, workspace, generation, revision, expires, sessions, processes)  \
	"{\"instance_uuid\":\"" instance "\",\"workspace_uuid\":\"" workspace           \
	"\",\"execution_generation\":" generation ",\"entitlement_revision\":" revision \
	",\"expires_at\":\"" expires "\",\"max_sessions\":" sessions                    \
	",\"max_managed_processes\":" processes "}"
#define IN_A_MINUTE "2026-08-01T09:31:00Z"

static void grants_are_decoded(void)
{
	static const struct {
		const char *text, *want;
	} c[] = {
		{ "{}", "instance_uuid is required" },
		{ GRANT(" ", "w", "1", "1", IN_A_MINUTE, "1", "0"),
		  "instance_uuid must not be empty" },
		{ GRANT("i", "", "1", "1", IN_A_MINUTE, "1", "0"),
		  "workspace_uuid must not be empty" },
		{ GRANT("i", "w", "0", "1", IN_A_MINUTE, "1", "0"),
		  "execution_generation must be greater than 0" },
		{ GRANT("i", "w", "true", "1", IN_A_MINUTE, "1", "0"),
		  "execution_generation must be an integer" },
		{ GRANT("i", "w", "1", "\"1\"", IN_A_MINUTE, "1", "0"),
		  "entitlement_revision must be an integer" },
		{ GRANT("i", "w", "1", "1.0", IN_A_MINUTE, "1", "0"),
		  "entitlement_revision must be an integer" },
		{ GRANT("i", "w", "1", "1", "2026-08-01T09:31:00", "1", "0"),
		  "expires_at must be an ISO 8601 time with a zone" },
		{ GRANT("i", "w", "1", "1", "soon", "1", "0"),
		  "expires_at must be an ISO 8601 time with a zone" },
		{ GRANT("i", "w", "1", "1", IN_A_MINUTE, "-1", "0"),
		  "max_sessions must be greater than or equal to 0" },
		{ GRANT("i", "w", "1", "1", IN_A_MINUTE, "1", "false"),
		  "max_managed_processes must be an integer" },
		{ "{\"instance_uuid\":\"i\",\"workspace_uuid\":\"w\",\"execution_generation\":1,"
		  "\"entitlement_revision\":1,\"expires_at\":\"" IN_A_MINUTE
		  "\",\"max_sessions\":1,"
		  "\"max_managed_processes\":0,\"more\":1}",
		  "unknown field 'more'" },
	};
	struct admission_grant g;
	AUTO_FAULT f = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		T_INT(admission_grant_decode(value(c[i].text), &g, &f), -1);
		T_INT(f.class, FAULT_VALIDATION);
		T_STR(f.text, c[i].want);
	}
	T_INT(admission_grant_decode(
		      value(GRANT(" i ", "w", "3", "4", "2026-08-01T11:31:00.5+02:00", "1", "0")),
		      &g, &f),
	      0);
	T_STR(g.instance, "i");
	T_INT(g.generation, 3);
	T_INT(g.revision, 4);
	T_TRUE(g.expires_ns == AT(60) + NS_PER_SEC / 2);
	admission_grant_done(&g);
	T_INT(admission_revocation_decode(value("{\"instance_uuid\":\"i\",\"workspace_uuid\":\"w\","
						"\"entitlement_revision\":2}"),
					  &g, &f),
	      0);
	T_INT(g.revision, 2);
	admission_grant_done(&g);
	T_INT(admission_revocation_decode(value("{\"instance_uuid\":\"i\",\"workspace_uuid\":\"w\","
						"\"entitlement_revision\":2,\"expires_at\":\"x\"}"),
					  &g, &f),
	      -1);
	T_STR(f.text, "unknown field 'expires_at'");
	T_INT(admission_revocation_decode(value("{\"instance_uuid\":\"i\",\"workspace_uuid\":\"w\","
						"\"entitlement_revision\":0}"),
					  &g, &f),
	      -1);
	T_STR(f.text, "entitlement_revision must be greater than 0");
}

/* --- grants ----------------------------------------------------------------------------------- */

static char instance[] = "inst-7", workspace[] = "w-blue";

/* Returns a grant for w-blue that expires SECONDS after NOW. */
static struct admission_grant grant(uint64_t generation, uint64_t revision, uint64_t seconds,
				    int64_t sessions)
{
	return (struct admission_grant){ .instance = instance,
					 .workspace = workspace,
					 .generation = generation,
					 .revision = revision,
					 .expires_ns = AT(seconds),
					 .max_sessions = sessions };
}

/* Installs the grant. Returns its effect as a word, or the message. */
static const char *install_by(struct admission *a, struct admission_grant g, const char *trusted,
			      uint64_t fenced)
{
	static const char *const words[] = { [ADMISSION_NONE] = "none",
					     [ADMISSION_KEEP_ONE] = "keep one",
					     [ADMISSION_DROP_SESSIONS] = "drop" };
	AUTO_FAULT f = { 0 };
	enum admission_effect effect;
	const struct admission_record *r;

	if (admission_install(a, &g, str_of(trusted), fenced, AT(0), &effect, &r, &f) < 0)
		return message(&f);
	T_TRUE(r->granted);
	return words[effect];
}

static const char *install(struct admission *a, struct admission_grant g)
{
	return install_by(a, g, "inst-7", 0);
}

static const char *take_back_by(struct admission *a, uint64_t revision, const char *trusted)
{
	struct admission_grant g = { .instance = instance,
				     .workspace = workspace,
				     .revision = revision };
	AUTO_FAULT f = { 0 };

	return admission_revoke(a, &g, str_of(trusted), &f) < 0 ? message(&f) : "revoked";
}

static const char *take_back(struct admission *a, uint64_t revision)
{
	return take_back_by(a, revision, "inst-7");
}

static const char *require(struct admission *a, uint64_t generation, enum admission_use use,
			   uint64_t seconds, bool *expired)
{
	AUTO_FAULT f = { 0 };
	struct tenant t;

	tenant_init(&t, STR("inst-7"), STR("w-blue"), generation);
	return admission_require(a, &t, use, AT(seconds), expired, &f) < 0 ? message(&f) : "fine";
}

static void while_inactive(void)
{
	struct admission a;

	admission_init(&a, 10);
	T_STR(install(&a, grant(1, 1, 60, 1)),
	      "BoxAdmissionError: Sandbox admission enforcement is not enabled");
	T_STR(take_back(&a, 1), "BoxAdmissionError: Sandbox admission enforcement is not enabled");
	admission_configure(&a, value("{\"required\":true,\"x\":1}"));
	T_STR(install(&a, grant(1, 1, 60, 1)),
	      "BoxReadinessError: Invalid sandbox admission configuration: unknown field 'x'");
	admission_done(&a);
}

static void grants_are_bounded(void)
{
	struct admission a = active(10);
	struct admission_grant g = grant(1, 1, 60, 1);

	T_STR(install_by(&a, g, "inst-8", 0),
	      "PermissionError: Sandbox admission grant does not match the trusted instance");
	T_STR(install(&a, grant(1, 1, 0, 1)),
	      "BoxAdmissionError: Cannot install an expired sandbox admission grant");
	T_STR(install(&a, grant(1, 1, 301, 1)),
	      "BoxAdmissionError: Sandbox admission grant lifetime exceeds the configured maximum");
	T_STR(install(&a, grant(1, 1, 60, 2)),
	      "BoxAdmissionError: Sandbox admission grant exceeds the session cap");
	g.max_managed_processes = 1;
	T_STR(install(&a, g),
	      "BoxAdmissionError: Sandbox admission grant exceeds the managed-process cap");
	T_INT(a.workspaces.n, 0); /* a refused grant adds no workspace to the table */
	T_STR(install(&a, grant(1, 1, 300, 1)), "drop");
	T_INT(a.workspaces.n, 1);
	admission_done(&a);
}

static void grants_follow_each_other(void)
{
	struct admission a = active(10);
	bool expired;

	T_STR(install(&a, grant(3, 5, 60, 1)), "drop");
	/* a shorter grant of the same revision is ignored */
	T_STR(install(&a, grant(3, 5, 30, 1)), "none");
	T_STR(require(&a, 3, ADMISSION_SESSIONS, 50, &expired), "fine");
	T_STR(install(&a, grant(3, 5, 90, 1)), "keep one");
	T_STR(require(&a, 3, ADMISSION_SESSIONS, 80, &expired), "fine");
	T_STR(install(&a, grant(3, 6, 70, 1)), "keep one"); /* a new revision may be shorter */
	T_STR(install(&a, grant(3, 6, 90, 1)), "keep one");
	T_STR(install(&a, grant(3, 5, 90, 1)),
	      "BoxAdmissionError: Sandbox admission grant revision is stale");
	T_STR(install(&a, grant(2, 6, 90, 1)),
	      "BoxAdmissionError: Sandbox admission execution generation is stale");
	T_STR(install_by(&a, grant(3, 6, 90, 1), "inst-7", 4),
	      "BoxAdmissionError: Sandbox admission execution generation is stale");
	T_STR(install_by(&a, grant(3, 6, 90, 1), "inst-7", 3), "keep one");
	T_STR(install(&a, grant(3, 6, 90, 0)), "BoxAdmissionError: Sandbox admission limits "
					       "changed without a new entitlement revision");
	T_STR(install(&a, grant(3, 7, 90, 0)), "drop");
	T_STR(install(&a, grant(3, 8, 90, 1)), "keep one");
	T_STR(install(&a, grant(4, 8, 90, 1)), "drop"); /* a new generation drops all sessions */
	admission_done(&a);
}

static void revocations(void)
{
	struct admission a = active(10);
	bool expired;

	T_STR(install(&a, grant(1, 5, 60, 1)), "drop");
	T_STR(take_back_by(&a, 5, "inst-8"),
	      "PermissionError: Sandbox admission revocation does not match the trusted instance");
	T_STR(take_back(&a, 4), "BoxAdmissionError: Sandbox admission revocation is stale");
	T_STR(require(&a, 1, ADMISSION_SESSIONS, 1, &expired), "fine");
	T_STR(take_back(&a, 5), "revoked");
	T_STR(require(&a, 1, ADMISSION_SESSIONS, 1, &expired),
	      "BoxAdmissionError: Sandbox admission grant is missing");
	T_STR(install(&a, grant(1, 5, 60, 1)),
	      "BoxAdmissionError: Sandbox admission grant revision was revoked");
	T_STR(take_back(&a, 5), "revoked");
	T_STR(take_back(&a, 9), "revoked");
	T_STR(take_back(&a, 8), "BoxAdmissionError: Sandbox admission revocation is stale");
	T_STR(install(&a, grant(1, 9, 60, 1)),
	      "BoxAdmissionError: Sandbox admission grant revision was revoked");
	T_STR(install(&a, grant(1, 10, 60, 1)), "drop");
	admission_done(&a);
}

static void records_are_bounded(void)
{
	static const char full[] = "BoxAdmissionError: Sandbox admission record capacity reached; "
				   "refusing an unbounded Workspace fence allocation";
	struct admission a = active(100);
	static char name[32];
	char *kept = workspace;
	struct admission_grant g = grant(1, 1, 60, 1), r = { .instance = instance, .revision = 1 };
	AUTO_FAULT f = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "w%u", i);
		g.workspace = r.workspace = name;
		if (i % 2)
			T_STR(install(&a, g), "drop");
		else
			T_INT(admission_revoke(&a, &r, STR("inst-7"), &f), 0);
	}
	T_INT(a.workspaces.n, 100);
	g.workspace = r.workspace = kept;
	T_STR(install(&a, g), full);
	/* if the table of workspaces is full, the message says so, even if the generation of the
	 * grant is too old as well */
	T_STR(install_by(&a, g, "inst-7", 9), full);
	T_INT(admission_revoke(&a, &r, STR("inst-7"), &f), -1);
	T_STR(message(&f), full);
	g.workspace = name; /* a known workspace is still served */
	T_STR(install(&a, g), "keep one");
	a.max = 101;
	g.workspace = kept;
	T_STR(install(&a, g), "drop");
	admission_done(&a);
}

static void requirements(void)
{
	struct admission a = active(10);
	bool expired;

	T_STR(require(&a, 1, ADMISSION_SESSIONS, 0, &expired),
	      "BoxAdmissionError: Sandbox admission grant is missing");
	T_STR(install(&a, grant(2, 1, 60, 1)), "drop");
	T_STR(require(&a, 1, ADMISSION_SESSIONS, 0, &expired),
	      "BoxAdmissionError: Sandbox admission grant belongs to another execution generation");
	T_STR(require(&a, 3, ADMISSION_SESSIONS, 0, &expired),
	      "BoxAdmissionError: Sandbox admission grant belongs to another execution generation");
	T_STR(require(&a, 2, ADMISSION_SESSIONS, 59, &expired), "fine");
	T_STR(require(&a, 2, ADMISSION_PROCESSES, 0, &expired),
	      "BoxAdmissionError: Sandbox admission grant does not permit managed processes");
	T_STR(require(&a, 2, ADMISSION_RELAY, 0, &expired),
	      "BoxAdmissionError: Sandbox admission grant does not permit managed process relay");
	admission_configure(&a, value("{\"required\":true,\"max_sessions\":0}"));
	T_STR(require(&a, 2, ADMISSION_SESSIONS, 0, &expired),
	      "BoxAdmissionError: Sandbox admission grant exceeds the active runtime policy");
	admission_configure(&a, value("{\"required\":true}"));
	T_TRUE(!expired);
	T_STR(require(&a, 2, ADMISSION_SESSIONS, 60, &expired),
	      "BoxAdmissionError: Sandbox admission grant has expired");
	T_TRUE(expired);
	T_STR(require(&a, 2, ADMISSION_SESSIONS, 0, &expired),
	      "BoxAdmissionError: Sandbox admission grant is missing");
	T_TRUE(!expired);
	T_STR(install(&a, grant(2, 2, 60, 0)), "drop");
	T_STR(require(&a, 2, ADMISSION_SESSIONS, 0, &expired),
	      "BoxAdmissionError: Sandbox admission grant does not permit sessions");
	admission_done(&a);
}

static void session_limits(void)
{
	struct admission a = active(10);
	struct tenant t;
	AUTO_FAULT f = { 0 };

	tenant_init(&t, STR("inst-7"), STR("w-blue"), 1);
	T_INT(admission_check_sessions(&a, &t, 0, &f), -1);
	T_STR(install(&a, grant(1, 1, 60, 1)), "drop");
	T_INT(admission_check_sessions(&a, &t, 0, &f), 0);
	T_INT(admission_check_sessions(&a, &t, 1, &f), -1);
	T_STR(message(&f), "BoxAdmissionError: Sandbox admission session limit reached");
	T_INT(admission_check_session_id(STR("global"), &f), 0);
	T_INT(admission_check_session_id(STR("Global"), &f), -1);
	T_STR(message(&f), "BoxAdmissionError: Managed sandbox session_id is runtime-owned");
	admission_done(&a);
}

static unsigned n_expired;

static void count_expired(void *arg, const unsigned char key[TENANT_KEY_BYTES])
{
	struct tenant t;

	tenant_init(&t, STR("inst-7"), STR("w-blue"), 1);
	T_TRUE(memcmp(t.key, key, TENANT_KEY_BYTES) == 0);
	n_expired++;
}

static void the_reaper_removes_grants(void)
{
	static char other[] = "w-red";
	struct admission a = active(10);
	struct admission_grant g = grant(1, 1, 100, 1);
	bool expired;

	g.workspace = other;
	T_STR(install(&a, g), "drop");
	T_STR(install(&a, grant(1, 1, 60, 1)), "drop");
	admission_expire(&a, AT(59), count_expired, NULL);
	T_INT(n_expired, 0);
	admission_expire(&a, AT(60), count_expired, NULL);
	T_INT(n_expired, 1);
	admission_expire(&a, AT(61), count_expired, NULL);
	T_INT(n_expired, 1);
	T_STR(require(&a, 1, ADMISSION_SESSIONS, 61, &expired),
	      "BoxAdmissionError: Sandbox admission grant is missing");
	admission_done(&a);
}

static void receipts(void)
{
	struct admission a = active(10);
	struct admission_grant g = grant(3, 5, 60, 1), shorter = grant(3, 5, 30, 1);
	enum admission_effect effect;
	const struct admission_record *r;
	AUTO_FAULT f = { 0 };
	AUTO_BUF b = BUF_INIT(1024);
	struct json_writer w;

	T_INT(admission_install(&a, &g, STR("inst-7"), 0, AT(0), &effect, &r, &f), 0);
	T_INT(admission_install(&a, &shorter, STR("inst-7"), 0, AT(0), &effect, &r, &f), 0);
	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	admission_encode_receipt(&shorter, r, &w);
	json_end_object(&w);
	T_STR(buf_str(&b),
	      "{\"installed\":true,\"workspace_uuid\":\"w-blue\",\"execution_generation\":3,"
	      "\"entitlement_revision\":5,\"max_sessions\":1,\"max_managed_processes\":0,"
	      "\"expires_at\":\"2026-08-01T09:31:00.000Z\"}");
	buf_clear(&b);
	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	admission_encode_revoked(&g, &w);
	json_end_object(&w);
	T_STR(buf_str(&b),
	      "{\"revoked\":true,\"workspace_uuid\":\"w-blue\",\"entitlement_revision\":5}");
	admission_done(&a);
}

/* --- specs ------------------------------------------------------------------------------------ */

/* Returns the rewritten spec, or the message. */
static const char *rewritten(const char *text, const char *skill_root)
{
	static char out[4096];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	AUTO_FAULT f = { 0 };
	struct admission a = active(10);
	struct box_spec s;
	struct json_writer w;

	if (box_spec_decode(value(text), &s, &f) < 0) {
		T_FAIL("%s: %s", text, f.text);
		return "";
	}
	if (admission_rewrite(&a, &s, "/srv/box/default/tenants/ws-1", skill_root, &f) < 0) {
		fault_print(&f, &b);
	} else {
		json_writer_init(&w, &b, 0);
		box_spec_encode(&s, &w);
	}
	box_spec_done(&s);
	admission_done(&a);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void specs_are_refused(void)
{
	static const struct {
		const char *members, *want;
	} c[] = {
		{ "\"network\":\"on\"", "network access is disabled" },
		{ "\"extra_mounts\":[{\"host_path\":\"/a\",\"mount_path\":\"/"
		  "b\",\"mode\":\"none\"}]",
		  "additional host mounts are disabled" },
		{ "\"mount_path\":\"/x\"", "mount_path is runtime-owned" },
		{ "\"workdir\":\"/tmp\"", "workdir must stay under /workspace" },
		{ "\"workdir\":\"/workspacex\"", "workdir must stay under /workspace" },
		{ "\"workdir\":\"/workspace/../etc\"", "workdir must stay under /workspace" },
		{ "\"host_path\":\"/srv/other\"", "host_path is runtime-owned" },
		{ "\"skill_name\":\"csv\"", "skill is unavailable in this Workspace" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_BUF text = BUF_INIT(1024), want = BUF_INIT(256);

		buf_addf(&text, "{\"session_id\":\"s\",%s}", c[i].members);
		buf_addf(&want, "BoxAdmissionError: Managed sandbox %s", c[i].want);
		T_STR(rewritten(text.p, NULL), want.p);
	}
}

static void specs_are_rewritten(void)
{
#define FORCED                                                                       \
	"\"host_path\":\"/srv/box/default/tenants/ws-1\",\"host_path_mode\":\"rw\"," \
	"\"mount_path\":\"/workspace\","
	T_STR(rewritten("{\"session_id\":\"person_ann\",\"cmd\":\"x\",\"timeout_sec\":999,"
			"\"image\":\"i\","
			"\"host_path\":\"/srv/box/default/tenants/ws-1\",\"host_path_mode\":\"ro\","
			"\"workdir\":\"/workspace/a/../b\",\"cpus\":4,\"memory_mb\":4096,"
			"\"pids_limit\":9999,\"read_only_rootfs\":false,\"workspace_quota_mb\":7,"
			"\"env\":{\"A\":\"1\"}}",
			NULL),
	      "{\"session_id\":\"global\",\"cmd\":\"x\",\"workdir\":\"/workspace/a/../b\","
	      "\"timeout_sec\":120,\"network\":\"off\",\"env\":{\"A\":\"1\"},"
	      "\"image\":\"rockchin/langbot-sandbox:latest\"," FORCED "\"extra_mounts\":[],"
	      "\"skill_name\":null,\"persistent\":true,\"cpus\":1.0,\"memory_mb\":512,"
	      "\"pids_limit\":128,\"read_only_rootfs\":true,\"workspace_quota_mb\":0}");
	T_STR(rewritten("{\"session_id\":\"s\",\"timeout_sec\":5,\"skill_name\":\"csv\","
			"\"extra_mounts\":[]}",
			"/srv/skills/csv"),
	      "{\"session_id\":\"global\",\"cmd\":\"\",\"workdir\":\"/"
	      "workspace\",\"timeout_sec\":5,"
	      "\"network\":\"off\",\"env\":{},\"image\":\"rockchin/langbot-sandbox:latest\"," FORCED
	      "\"extra_mounts\":[{\"host_path\":\"/srv/skills/csv\",\"mount_path\":"
	      "\"/workspace/.skills/csv\",\"mode\":\"ro\"}],\"skill_name\":\"csv\","
	      "\"persistent\":true,\"cpus\":1.0,\"memory_mb\":512,\"pids_limit\":128,"
	      "\"read_only_rootfs\":true,\"workspace_quota_mb\":0}");
}

/* --- readiness -------------------------------------------------------------------------------- */

static const char *readiness(const struct readiness *r)
{
	static char out[2048];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	readiness_members(r, &w);
	json_end_object(&w);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void put_details(void *arg, struct json_writer *w)
{
	json_key_str(w, "engine", arg);
}

static void readiness_is_shown(void)
{
	static char engine[] = "process";
	struct readiness r = { 0 };
	AUTO_FAULT f = { 0 };

	T_STR(readiness(&r), "{\"ready\":false,\"mode\":\"standard\",\"backend\":{\"name\":null,"
			     "\"available\":false},\"checks\":{\"backend_available\":false}}");
	r.met[READY_BACKEND_AVAILABLE] = true;
	r.backend_name = "nsjail";
	T_TRUE(readiness_is_ready(&r));
	T_STR(readiness(&r),
	      "{\"ready\":true,\"mode\":\"standard\",\"backend\":{\"name\":\"nsjail\","
	      "\"available\":true},\"checks\":{\"backend_available\":true}}");
	r.strict = true;
	r.error = "x";
	r.details = put_details;
	r.arg = engine;
	for (unsigned i = 0; i < READY_CHECK_COUNT; i++)
		r.met[i] = true;
	r.met[READY_CGROUP_V2] = r.met[READY_INODE_QUOTA] = r.met[READY_HARD_WORKSPACE_QUOTA] =
		false;
	T_TRUE(!readiness_is_ready(&r));
	T_INT(readiness_fault(&r, &f), -1);
	T_STR(message(&f),
	      "BoxReadinessError: Managed sandbox isolation is not ready (failed checks: "
	      "cgroup_v2, hard_workspace_quota, inode_quota)");
	/* the operator may accept unsafe storage, and nothing else */
	r.unsafe_storage = true;
	T_INT(readiness_fault(&r, &f), -1);
	T_STR(f.text, "Managed sandbox isolation is not ready (failed checks: cgroup_v2)");
	T_STR(readiness(&r),
	      "{\"ready\":false,\"mode\":\"grant_enforced\",\"backend\":{\"name\":\"nsjail\","
	      "\"available\":true,\"details\":{\"engine\":\"process\"}},\"checks\":{"
	      "\"configuration\":true,\"required_backend\":true,\"workspace_mount\":true,"
	      "\"backend_available\":true,\"cgroup_v2\":false,\"namespace_isolation\":true,"
	      "\"mount_isolation\":true,\"network_isolation\":true,\"hard_workspace_quota\":true,"
	      "\"hard_skill_storage_quota\":true,\"bounded_ephemeral_storage\":true,"
	      "\"inode_quota\":true,\"session_cap\":true,\"managed_process_cap\":true},"
	      "\"unsafe_soft_storage_limits\":true,\"error\":\"x\"}");
	r.met[READY_CGROUP_V2] = true;
	T_TRUE(readiness_is_ready(&r));
	for (unsigned i = 0; i < READY_CHECK_COUNT; i++) {
		bool storage = i >= READY_HARD_WORKSPACE_QUOTA && i <= READY_INODE_QUOTA;

		r.met[i] = false;
		T_INT(readiness_is_ready(&r), storage);
		r.met[i] = true;
	}
}

int main(void)
{
	T_RUN(policies);
	T_RUN(enforcement_stays);
	T_RUN(grants_are_decoded);
	T_RUN(while_inactive);
	T_RUN(grants_are_bounded);
	T_RUN(grants_follow_each_other);
	T_RUN(revocations);
	T_RUN(records_are_bounded);
	T_RUN(requirements);
	T_RUN(session_limits);
	T_RUN(the_reaper_removes_grants);
	T_RUN(receipts);
	T_RUN(specs_are_refused);
	T_RUN(specs_are_rewritten);
	T_RUN(readiness_is_shown);
	json_free(doc);
	return t_end();
}
