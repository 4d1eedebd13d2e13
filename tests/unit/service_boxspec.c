#include "service/boxspec.h"

#include "base/cleanup.h"
#include "service/processspec.h"
#include "t.h"

/* Decodes TEXT. On failure writes the message into OUT. */
static bool decode(const char *text, struct box_spec *s, struct buf *out)
{
	AUTO_JSON d = NULL;
	AUTO_FAULT f = { 0 };
	struct err e = { 0 };

	if (json_parse(text, strlen(text), &d, &e) < 0) {
		T_FAIL("%s: %s", text, e.msg);
		return false;
	}
	if (box_spec_decode(json_root(d), s, &f) == 0)
		return true;
	T_INT(f.class, FAULT_VALIDATION);
	buf_add(out, f.text, f.n);
	return false;
}

/* Decodes TEXT. Returns the spec with its defaults as JSON, or the error message. */
static const char *made_of(const char *text)
{
	static char out[16384];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct box_spec s;
	struct json_writer w;

	if (decode(text, &s, &b)) {
		json_writer_init(&w, &b, 0);
		box_spec_encode(&s, &w);
		T_TRUE(box_spec_held_bytes(&s) > 0);
		box_spec_done(&s);
	}
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void defaults(void)
{
	T_STR(made_of("{\"session_id\":\" s \"}"),
	      "{\"session_id\":\"s\",\"cmd\":\"\",\"workdir\":\"/workspace\",\"timeout_sec\":30,"
	      "\"network\":\"off\",\"env\":{},\"image\":\"rockchin/langbot-sandbox:latest\","
	      "\"host_path\":null,\"host_path_mode\":\"rw\",\"mount_path\":\"/workspace\","
	      "\"extra_mounts\":[],\"skill_name\":null,\"persistent\":false,\"cpus\":1.0,"
	      "\"memory_mb\":512,\"pids_limit\":128,\"read_only_rootfs\":true,"
	      "\"workspace_quota_mb\":0}");
}

static void every_field(void)
{
	static const char text[] =
		"{\"session_id\":\"a "
		"b\",\"cmd\":\"ls\\n-l\",\"workdir\":\"/w/x\",\"timeout_sec\":5,"
		"\"network\":\"on\",\"env\":{\"B\":\"2\",\"A\":\"\"},\"image\":\"i\","
		"\"host_path\":\"/srv\",\"host_path_mode\":\"ro\",\"mount_path\":\"/w\","
		"\"extra_mounts\":[{\"host_path\":\"/h\",\"mount_path\":\"/m\",\"mode\":\"none\"},"
		"{\"host_path\":\"/h2\",\"mount_path\":\"/m2\",\"mode\":\"rw\"}],"
		"\"skill_name\":\"csv-tools\",\"persistent\":true,\"cpus\":0.5,\"memory_mb\":32,"
		"\"pids_limit\":1,\"read_only_rootfs\":false,\"workspace_quota_mb\":7}";

	T_STR(made_of(text), text);
}

static void conversions(void)
{
	T_TRUE(strstr(made_of("{\"session_id\":\"s\",\"cmd\":\"\\u00a0 x "
			      "\\n\",\"timeout_sec\":\"1_000\","
			      "\"cpus\":\" 2 \",\"memory_mb\":64.0,\"pids_limit\":true,"
			      "\"persistent\":\"Yes\",\"read_only_rootfs\":0,\"extra\":1,"
			      "\"skill_name\":\"  \",\"host_path\":\" /h "
			      "\",\"workspace_quota_mb\":\"+3\"}"),
		      "\"cmd\":\"x\",\"workdir\":\"/workspace\",\"timeout_sec\":1000,") != NULL);
	T_TRUE(strstr(made_of("{\"session_id\":\"s\",\"skill_name\":\"  \",\"host_path\":\" /h \","
			      "\"cpus\":\"1e0\",\"memory_mb\":64.0,\"pids_limit\":true}"),
		      "\"host_path\":\"/h\",\"host_path_mode\":\"rw\",\"mount_path\":\"/"
		      "workspace\","
		      "\"extra_mounts\":[],\"skill_name\":null,\"persistent\":false,\"cpus\":1.0,"
		      "\"memory_mb\":64,\"pids_limit\":1,") != NULL);
}

static void workdir_and_mount_path(void)
{
	static const struct {
		const char *members, *want; /* the workdir, or a message */
	} c[] = {
		{ "", "/workspace" },
		{ "\"workdir\":\" /x \",", "/x" },
		{ "\"mount_path\":\"/p\",", "/p" },
		{ "\"mount_path\":\"/p\",\"workdir\":null,", "/p" },
		{ "\"mount_path\":\"/p\",\"workdir\":\"\",", "/p" },
		{ "\"mount_path\":\"/p\",\"workdir\":\"/q\",", "/q" },
		{ "\"mount_path\":\"/p\",\"workdir\":\" \",",
		  "workdir must be an absolute path inside the sandbox" },
		{ "\"workdir\":\"\",", "workdir must be an absolute path inside the sandbox" },
		{ "\"workdir\":null,", "workdir must be a string" },
		{ "\"workdir\":\"x\",", "workdir must be an absolute path inside the sandbox" },
		{ "\"mount_path\":\" \",\"workdir\":\"\",",
		  "workdir must be an absolute path inside the sandbox" },
		{ "\"mount_path\":\" \",",
		  "mount_path must be an absolute path inside the sandbox" },
		{ "\"mount_path\":7,", "mount_path must be a string" },
		{ "\"mount_path\":\"p\",", "workdir must be an absolute path inside the sandbox" },
		{ "\"mount_path\":\"p\",\"workdir\":\"/q\",",
		  "mount_path must be an absolute path inside the sandbox" },
		/* if host_path is mounted, the workdir must lie below mount_path */
		{ "\"host_path\":\"/h\",\"mount_path\":\"/project\",\"workdir\":\"/project\",",
		  "/project" },
		{ "\"host_path\":\"/h\",\"mount_path\":\"/project\",\"workdir\":\"/project/a\",",
		  "/project/a" },
		{ "\"host_path\":\"/h\",\"mount_path\":\"/project/\",\"workdir\":\"/project/a\",",
		  "/project/a" },
		{ "\"host_path\":\"/h\",\"mount_path\":\"/\",\"workdir\":\"/a\",", "/a" },
		{ "\"host_path\":\"/h\",\"mount_path\":\"/project\",\"workdir\":\"/projectx\",",
		  "workdir must stay under mount_path when host_path is provided" },
		{ "\"host_path\":\"/h\",\"host_path_mode\":\"ro\",\"workdir\":\"/tmp\",",
		  "workdir must stay under mount_path when host_path is provided" },
		{ "\"host_path\":\"/h\",\"host_path_mode\":\"none\",\"workdir\":\"/tmp\",",
		  "/tmp" },
		{ "\"host_path\":null,\"workdir\":\"/tmp\",", "/tmp" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_BUF text = BUF_INIT(4096), got = BUF_INIT(4096);
		struct box_spec s;

		buf_addf(&text, "{%s\"session_id\":\"s\"}", c[i].members);
		if (decode(text.p, &s, &got)) {
			buf_add_str(&got, s.workdir);
			box_spec_done(&s);
		}
		if (strcmp(buf_str(&got), c[i].want) != 0)
			T_FAIL("%s: got '%s', want '%s'", text.p, buf_str(&got), c[i].want);
	}
}

static void messages(void)
{
	static const struct {
		const char *member, *want;
	} c[] = {
		{ "\"session_id\":\"\"", "session_id must not be empty" },
		{ "\"session_id\":\" \\u2003\"", "session_id must not be empty" },
		{ "\"session_id\":7", "session_id must be a string" },
		{ "\"session_id\":null", "session_id must be a string" },
		{ "\"session_id\":\"a\\u0000b\"", "session_id must not contain NUL characters" },
		{ "\"cmd\":null", "cmd must be a string" },
		{ "\"cmd\":\"a\\u0000b\"", "cmd must not contain NUL characters" },
		{ "\"timeout_sec\":0", "timeout_sec must be greater than 0" },
		{ "\"timeout_sec\":-5", "timeout_sec must be greater than 0" },
		{ "\"timeout_sec\":2.5", "timeout_sec must be an integer" },
		{ "\"timeout_sec\":\"x\"", "timeout_sec must be an integer" },
		{ "\"timeout_sec\":null", "timeout_sec must be an integer" },
		{ "\"timeout_sec\":2147483648",
		  "timeout_sec must be less than or equal to 2147483647" },
		{ "\"network\":\"ON\"", "network must be one of off, on" },
		{ "\"network\":true", "network must be one of off, on" },
		{ "\"env\":[]", "env must be an object of strings" },
		{ "\"env\":{\"A\":1}", "env must be an object of strings" },
		{ "\"env\":{\"A\":null}", "env must be an object of strings" },
		{ "\"env\":{\"\":\"x\"}", "env has a name that is empty or contains '=' or NUL" },
		{ "\"env\":{\"A=B\":\"x\"}",
		  "env has a name that is empty or contains '=' or NUL" },
		{ "\"env\":{\"A\\u0000\":\"x\"}",
		  "env has a name that is empty or contains '=' or NUL" },
		{ "\"env\":{\"A\":\"\\u0000\"}", "env must not contain NUL characters" },
		{ "\"image\":null", "image must be a string" },
		{ "\"host_path\":\"srv\"", "host_path must be an absolute host path" },
		{ "\"host_path\":\"\"", "host_path must be an absolute host path" },
		{ "\"host_path\":\"C:\"", "host_path must be an absolute host path" },
		{ "\"host_path\":\"\\\\x\"", "host_path must be an absolute host path" },
		{ "\"host_path\":5", "host_path must be a string" },
		{ "\"host_path_mode\":\"wr\"", "host_path_mode must be one of none, ro, rw" },
		{ "\"extra_mounts\":{}", "extra_mounts must be a list of mounts" },
		{ "\"extra_mounts\":[1]", "extra_mounts must be a list of mounts" },
		{ "\"extra_mounts\":[{}]", "extra_mounts[0].host_path is required" },
		{ "\"extra_mounts\":[{\"host_path\":\"x\"}]",
		  "extra_mounts[0].host_path must be an absolute host path" },
		{ "\"extra_mounts\":[{\"host_path\":\"/x\"}]",
		  "extra_mounts[0].mount_path is required" },
		{ "\"extra_mounts\":[{\"host_path\":\"/x\",\"mount_path\":\"/y\"},"
		  "{\"host_path\":\"/x\",\"mount_path\":\"y\"}]",
		  "extra_mounts[1].mount_path must be an absolute path inside the sandbox" },
		{ "\"extra_mounts\":[{\"host_path\":\"/x\",\"mount_path\":\"/y\",\"mode\":\"w\"}]",
		  "extra_mounts[0].mode must be one of none, ro, rw" },
		{ "\"skill_name\":\"a b\"",
		  "skill_name can only contain letters, numbers, hyphens and underscores" },
		{ "\"skill_name\":"
		  "\"0123456789012345678901234567890123456789012345678901234567890123x\"",
		  "skill_name cannot exceed 64 characters" },
		{ "\"skill_name\":1", "skill_name must be a string" },
		{ "\"persistent\":2", "persistent must be a boolean" },
		{ "\"persistent\":null", "persistent must be a boolean" },
		{ "\"cpus\":0", "cpus must be greater than 0" },
		{ "\"cpus\":-1.5", "cpus must be greater than 0" },
		{ "\"cpus\":\"x\"", "cpus must be a number" },
		{ "\"cpus\":1e7", "cpus must be less than or equal to 1000000" },
		{ "\"memory_mb\":31", "memory_mb must be greater than or equal to 32" },
		{ "\"memory_mb\":10", "memory_mb must be greater than or equal to 32" },
		{ "\"pids_limit\":0", "pids_limit must be greater than 0" },
		{ "\"read_only_rootfs\":\"maybe\"", "read_only_rootfs must be a boolean" },
		{ "\"workspace_quota_mb\":-1",
		  "workspace_quota_mb must be greater than or equal to 0" },
		/* of several bad fields, the message names the one that comes first in the table of
		 * fields */
		{ "\"workspace_quota_mb\":-1,\"cmd\":1,\"cpus\":0", "cmd must be a string" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_BUF text = BUF_INIT(4096);
		bool has_id = strstr(c[i].member, "session_id") != NULL;

		buf_addf(&text, "{%s%s}", c[i].member, has_id ? "" : ",\"session_id\":\"s\"");
		T_STR(made_of(text.p), c[i].want);
	}
	T_STR(made_of("{}"), "session_id is required");
	T_TRUE(made_of("{\"session_id\":\"s\",\"host_path\":\"C:\\\\x\",\"workdir\":\"/"
		       "workspace\"}")[0] == '{');
	T_TRUE(made_of("{\"session_id\":\"s\",\"host_path\":\"\\\\\\\\srv\\\\x\"}")[0] == '{');
	T_TRUE(made_of("{\"session_id\":\"s\",\"skill_name\":\"\\u6280\\u80fd\"}")[0] == '{');
	T_TRUE(made_of("{\"session_id\":\"s\",\"skill_name\":"
		       "\"0123456789012345678901234567890123456789012345678901234567890123\"}")
		       [0] == '{');
}

static void too_many_entries(void)
{
	AUTO_BUF text = BUF_INIT(1 << 20), env = BUF_INIT(1 << 20);

	buf_add_str(&text, "{\"session_id\":\"s\",\"extra_mounts\":[1");
	for (unsigned i = 0; i < BOX_MOUNTS_MAX; i++)
		buf_add_str(&text, ",1");
	buf_add_str(&text, "]}");
	T_STR(made_of(text.p), "extra_mounts has too many entries");
	buf_add_str(&env, "{\"session_id\":\"s\",\"env\":{\"A\":\"\"");
	for (unsigned i = 0; i < MODEL_ENV_MAX; i++)
		buf_addf(&env, ",\"A%u\":\"\"", i);
	buf_add_str(&env, "}}");
	T_STR(made_of(env.p), "env has too many entries");
}

static void commands(void)
{
	AUTO_BUF out = BUF_INIT(64), text = BUF_INIT(2 << 20);
	AUTO_FAULT f = { 0 };
	struct box_spec s;

	T_TRUE(decode("{\"session_id\":\"s\",\"cmd\":\" \\t \"}", &s, &out));
	T_INT(box_spec_check_command(&s, &f), -1);
	T_STR(f.text, "cmd must not be empty");
	box_spec_done(&s);
	buf_add_str(&text, "{\"session_id\":\"s\",\"cmd\":\"");
	buf_add_fill(&text, 'x', BOX_COMMAND_MAX_BYTES);
	buf_add_str(&text, "\"}");
	T_TRUE(decode(text.p, &s, &out));
	T_INT(box_spec_check_command(&s, &f), 0);
	box_spec_done(&s);
	buf_cut(&text, text.n - 2);
	buf_add_str(&text, "x\"}");
	T_TRUE(decode(text.p, &s, &out));
	T_INT(box_spec_check_command(&s, &f), -1);
	T_STR(f.text, "cmd exceeds 1048576 bytes");
	box_spec_done(&s);
}

static void two_mounts_on_one_target(void)
{
	static const struct {
		const char *members, *want; /* "" if accepted */
	} c[] = {
		{ "", "" },
		{ "\"extra_mounts\":[{\"host_path\":\"/h\",\"mount_path\":\"/workspace\"}]", "" },
		{ "\"host_path\":\"/x\",\"extra_mounts\":[{\"host_path\":\"/h\",\"mount_path\":"
		  "\"/workspace\"}]",
		  "two mounts have the mount_path /workspace" },
		{ "\"host_path\":\"/"
		  "x\",\"host_path_mode\":\"none\",\"extra_mounts\":[{\"host_path\":"
		  "\"/h\",\"mount_path\":\"/workspace\"}]",
		  "" },
		{ "\"extra_mounts\":[{\"host_path\":\"/h\",\"mount_path\":\"/a/./b//\"},"
		  "{\"host_path\":\"/i\",\"mount_path\":\"/c\"},"
		  "{\"host_path\":\"/h\",\"mount_path\":\"/a/x/../b\"}]",
		  "two mounts have the mount_path /a/b" },
		{ "\"extra_mounts\":[{\"host_path\":\"/h\",\"mount_path\":\"/a\"},"
		  "{\"host_path\":\"/h\",\"mount_path\":\"/a\",\"mode\":\"none\"}]",
		  "" },
		{ "\"extra_mounts\":[{\"host_path\":\"/h\",\"mount_path\":\"/..\"},"
		  "{\"host_path\":\"/h\",\"mount_path\":\"//\"}]",
		  "two mounts have the mount_path /" },
		{ "\"extra_mounts\":[{\"host_path\":\"/h\",\"mount_path\":\"/a\"},"
		  "{\"host_path\":\"/h\",\"mount_path\":\"/a/b\"}]",
		  "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_BUF text = BUF_INIT(4096), out = BUF_INIT(256);
		AUTO_FAULT f = { 0 };
		struct box_spec s;

		buf_addf(&text, "{\"session_id\":\"s\"%s%s}", *c[i].members ? "," : "",
			 c[i].members);
		if (!decode(text.p, &s, &out)) {
			T_FAIL("%s", buf_str(&out));
			continue;
		}
		T_INT(box_spec_check_targets(&s, &f), *c[i].want ? -1 : 0);
		T_STR(f.text ? f.text : "", c[i].want);
		box_spec_done(&s);
	}
}

/* The message must name the first field that differs, in the order of the protocol, and print the
 * value that the existing session has, as Python prints it. */
static void conflicts(void)
{
	static const char base[] = "{\"session_id\":\"s\"}";
	static const struct {
		const char *has, *wants, *want;
	} c[] = {
		{ base, base, "" },
		{ base,
		  "{\"session_id\":\"s\",\"cmd\":\"x\",\"workdir\":\"/q\",\"timeout_sec\":9,"
		  "\"env\":{\"A\":\"1\"},\"skill_name\":\"k\"}",
		  "" },
		{ base, "{\"session_id\":\"s\",\"network\":\"on\",\"cpus\":3}", "network=off" },
		{ base, "{\"session_id\":\"s\",\"image\":\"x\",\"host_path\":\"/h\"}",
		  "image=rockchin/langbot-sandbox:latest" },
		{ base, "{\"session_id\":\"s\",\"host_path\":\"/h\",\"host_path_mode\":\"ro\"}",
		  "host_path=None" },
		{ "{\"session_id\":\"s\",\"host_path\":\"/h\"}", base, "host_path=/h" },
		{ "{\"session_id\":\"s\",\"host_path\":\"/h\"}",
		  "{\"session_id\":\"s\",\"host_path\":\"/h/\"}", "host_path=/h" },
		{ base, "{\"session_id\":\"s\",\"host_path_mode\":\"ro\",\"mount_path\":\"/p\"}",
		  "host_path_mode=rw" },
		{ base, "{\"session_id\":\"s\",\"mount_path\":\"/p\",\"persistent\":true}",
		  "mount_path=/workspace" },
		{ base, "{\"session_id\":\"s\",\"persistent\":true,\"cpus\":2}",
		  "persistent=False" },
		{ "{\"session_id\":\"s\",\"persistent\":true}", base, "persistent=True" },
		{ base, "{\"session_id\":\"s\",\"cpus\":2,\"memory_mb\":64}", "cpus=1.0" },
		{ "{\"session_id\":\"s\",\"cpus\":0.5}", base, "cpus=0.5" },
		{ base, "{\"session_id\":\"s\",\"memory_mb\":64,\"pids_limit\":3}",
		  "memory_mb=512" },
		{ base, "{\"session_id\":\"s\",\"pids_limit\":3,\"read_only_rootfs\":false}",
		  "pids_limit=128" },
		{ base,
		  "{\"session_id\":\"s\",\"read_only_rootfs\":false,\"workspace_quota_mb\":1}",
		  "read_only_rootfs=True" },
		{ base, "{\"session_id\":\"s\",\"workspace_quota_mb\":1}", "workspace_quota_mb=0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_BUF out = BUF_INIT(256), want = BUF_INIT(256);
		AUTO_FAULT f = { 0 };
		struct box_spec has, wants;

		if (!decode(c[i].has, &has, &out) || !decode(c[i].wants, &wants, &out)) {
			T_FAIL("%s", buf_str(&out));
			continue;
		}
		if (*c[i].want)
			buf_addf(&want, "Box session s-1 already exists with %s", c[i].want);
		T_INT(box_spec_compare(&has, &wants, STR("s-1"), &f), want.n ? -1 : 0);
		T_STR(f.text ? f.text : "", buf_str(&want));
		T_INT(f.class, want.n ? FAULT_SESSION_CONFLICT : FAULT_NONE);
		box_spec_done(&has);
		box_spec_done(&wants);
	}
}

static void mounts_are_a_set(void)
{
#define M(h, m, mode) "{\"host_path\":\"" h "\",\"mount_path\":\"" m "\",\"mode\":\"" mode "\"}"
	static const struct {
		const char *a, *b;
		bool same;
	} c[] = {
		{ "", "", true },
		{ M("/a", "/b", "rw"), M("/a", "/b", "rw"), true },
		{ M("/a", "/b", "rw") "," M("/c", "/d", "ro"),
		  M("/c", "/d", "ro") "," M("/a", "/b", "rw"), true },
		{ M("/a", "/b", "rw") "," M("/a", "/b", "rw"), M("/a", "/b", "rw"), true },
		{ M("/a", "/b", "none"), "", true },
		{ M("/a", "/b", "none"), M("/a", "/b", "ro"), false },
		{ M("/a", "/b", "rw"), "", false },
		{ "", M("/a", "/b", "rw"), false },
		{ M("/a", "/b", "rw"), M("/a", "/b", "ro"), false },
		{ M("/a", "/b", "rw"), M("/a", "/c", "rw"), false },
		{ M("/a", "/b", "rw"), M("/c", "/b", "rw"), false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_BUF a = BUF_INIT(1024), b = BUF_INIT(1024), out = BUF_INIT(256);
		struct box_spec x, y;

		buf_addf(&a, "{\"session_id\":\"s\",\"extra_mounts\":[%s]}", c[i].a);
		buf_addf(&b, "{\"session_id\":\"s\",\"extra_mounts\":[%s]}", c[i].b);
		if (!decode(a.p, &x, &out) || !decode(b.p, &y, &out)) {
			T_FAIL("%s", buf_str(&out));
			continue;
		}
		T_INT(box_spec_same_mounts(&x, &y), c[i].same);
		box_spec_done(&x);
		box_spec_done(&y);
	}
}

static const char *process_of(const char *text)
{
	static char out[1024];
	AUTO_JSON d = NULL;
	AUTO_FAULT f = { 0 };
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct process_spec s;
	struct err e = { 0 };

	if (json_parse(text, strlen(text), &d, &e) < 0) {
		T_FAIL("%s: %s", text, e.msg);
		return "";
	}
	if (process_spec_decode(json_root(d), &s, &f) < 0) {
		T_INT(f.class, FAULT_VALIDATION);
		buf_add(&b, f.text, f.n);
	} else {
		buf_addf(&b, "%s|%s|", s.process_id, s.command);
		for (size_t i = 0; i < s.args.n; i++)
			buf_addf(&b, "%s,", s.args.item[i]);
		buf_add_char(&b, '|');
		for (size_t i = 0; i < s.env.n; i++)
			buf_addf(&b, "%s=%s,", s.env.item[i].name, s.env.item[i].value);
		buf_addf(&b, "|%s|%" PRId64, s.cwd, s.memory_mb);
		process_spec_done(&s);
	}
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void processes(void)
{
	T_STR(process_of("{\"command\":\" uvx \"}"), "default|uvx|||/workspace|0");
	T_STR(process_of(
		      "{\"process_id\":\"srv-1\",\"command\":\"uvx\",\"args\":[\"a b\",\"\"],"
		      "\"env\":{\"TZ\":\"UTC\"},\"cwd\":\"/x\",\"memory_mb\":\"64\",\"other\":1}"),
	      "srv-1|uvx|a b,,|TZ=UTC,|/x|64");
	T_STR(process_of("{}"), "command is required");
	T_STR(process_of("{\"command\":\"  \"}"), "command must not be empty");
	T_STR(process_of("{\"command\":7}"), "command must be a string");
	T_STR(process_of("{\"command\":\"x\",\"process_id\":null}"), "process_id must be a string");
	T_STR(process_of("{\"command\":\"x\",\"args\":\"y\"}"), "args must be a list of strings");
	T_STR(process_of("{\"command\":\"x\",\"args\":[1]}"), "args must be a list of strings");
	T_STR(process_of("{\"command\":\"x\",\"args\":[\"\\u0000\"]}"),
	      "args must not contain NUL characters");
	T_STR(process_of("{\"command\":\"x\",\"env\":[]}"), "env must be an object of strings");
	T_STR(process_of("{\"command\":\"x\",\"cwd\":\"y\"}"),
	      "cwd must be an absolute path inside the sandbox");
	T_STR(process_of("{\"command\":\"x\",\"memory_mb\":-1}"),
	      "memory_mb must be greater than or equal to 0");
}

int main(void)
{
	T_RUN(defaults);
	T_RUN(every_field);
	T_RUN(conversions);
	T_RUN(workdir_and_mount_path);
	T_RUN(messages);
	T_RUN(too_many_entries);
	T_RUN(commands);
	T_RUN(two_mounts_on_one_target);
	T_RUN(conflicts);
	T_RUN(mounts_are_a_set);
	T_RUN(processes);
	return t_end();
}
