#include "service/boxconfig.h"

#include "base/cleanup.h"
#include "t.h"

/* Merges TEXT and returns the whole message, or "" on success. */
static const char *merge(struct box_config *c, const char *text)
{
	static char out[512];
	AUTO_JSON d = NULL;
	AUTO_FAULT f = { 0 };
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct err e = { 0 };

	if (json_parse(text, strlen(text), &d, &e) < 0)
		T_FAIL("%s: %s", text, e.msg);
	else if (box_config_merge(c, json_root(d), &f) < 0)
		fault_print(&f, &b);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static const char *shown(const struct box_config *c)
{
	static char out[4096];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	if (c->doc)
		json_value_copy(&w, json_root(c->doc));
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void limits_have_bounds(void)
{
	static const struct {
		const char *name;
		int64_t min, max;
	} c[] = {
		{ "max_sessions", 0, 5000 },
		{ "max_managed_processes", 0, 1024 },
		{ "max_completed_processes", 0, 10000 },
		{ "max_admission_records", 1, 250000 },
		{ "max_rpc_file_bytes", 1, 104857600 },
		{ "completed_process_retention_sec", 0, 86400 },
	};
	static const char *const bad[] = { "true", "false", "1.0", "\"5\"", "null", "[]" };

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		const int64_t values[] = { c[i].min, c[i].max, c[i].min - 1, c[i].max + 1 };
		char text[128], want[128];
		struct box_config config;

		box_config_init(&config);
		for (unsigned k = 0; k < 4; k++) {
			snprintf(text, sizeof(text), "{\"limits\":{\"%s\":%" PRId64 "}}", c[i].name,
				 values[k]);
			snprintf(want, sizeof(want),
				 "ValueError: box.limits.%s must be between %" PRId64
				 " and %" PRId64,
				 c[i].name, c[i].min, c[i].max);
			T_STR(merge(&config, text), k < 2 ? "" : want);
		}
		for (size_t k = 0; k < ARRAY_SIZE(bad); k++) {
			snprintf(text, sizeof(text), "{\"limits\":{\"%s\":%s}}", c[i].name, bad[k]);
			snprintf(want, sizeof(want), "ValueError: box.limits.%s must be an integer",
				 c[i].name);
			T_STR(merge(&config, text), want);
		}
		box_config_done(&config);
	}
}

static void defaults_and_what_is_shown(void)
{
	struct box_config c;
	AUTO_BUF b = BUF_INIT(1024);
	struct json_writer w;

	box_config_init(&c);
	T_INT(c.limits.completed_process_retention_sec, 300);
	json_writer_init(&w, &b, 0);
	box_limits_encode(&c.limits, &w);
	T_STR(buf_str(&b), "{\"max_sessions\":64,\"max_managed_processes\":64,"
			   "\"max_completed_processes\":256,\"max_admission_records\":100000,"
			   "\"max_rpc_file_bytes\":20971520}");
	T_STR(merge(&c, "{\"limits\":[]}"), "ValueError: box.limits must be an object");
	T_STR(merge(&c, "{\"limits\":null}"), "ValueError: box.limits must be an object");
	T_STR(merge(&c, "{\"limits\":{\"max_sessions\":1,\"max_workspace_entries\":\"x\"}}"), "");
	T_INT(c.limits.max_sessions, 1);
	T_INT(c.limits.max_managed_processes, 64);
	/* the section is replaced as a whole: missing limits get their defaults again */
	T_STR(merge(&c, "{\"limits\":{\"max_managed_processes\":2}}"), "");
	T_INT(c.limits.max_sessions, 64);
	T_INT(c.limits.max_managed_processes, 2);
	box_config_done(&c);
}

static void sessions_fit_into_the_limit_of_open_files(void)
{
	static const struct {
		uint64_t descriptors;
		int64_t sessions, processes, want;
	} c[] = {
		{ 0, 64, 64, 1 },
		{ 48, 64, 64, 1 },
		{ 48, 0, 64, 0 },
		/* A server with 256 descriptors keeps 64 for peers and 32 for itself, so 160 are
		 * left for sessions. A session needs 4, and 3 more if it has a process. Here every
		 * session has a process: 160 / 7 */
		{ 256, 64, 64, 22 },
		{ 256, 64, 0, 40 },  /* no session has a process: 160 / 4 */
		{ 256, 64, 10, 32 }, /* ten sessions have a process: (160 - 10 * 3) / 4 */
		{ 1024, 64, 64, 64 },
		{ 9056, 5000, 1000, 1250 }, /* at most 1024 descriptors are kept for peers */
		{ 8056, 1000, 1000, 1000 },
		{ UINT64_MAX, 5000, 1024, 5000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct box_limits l = { .max_sessions = c[i].sessions,
					.max_managed_processes = c[i].processes };

		T_INT(box_limits_fit(&l, c[i].descriptors), c[i].want != c[i].sessions);
		T_INT(l.max_sessions, c[i].want);
		T_INT(l.max_managed_processes, c[i].processes);
	}
}

static void sections_are_replaced(void)
{
	struct box_config c;

	box_config_init(&c);
	T_STR(merge(&c, "{}"), "");
	T_STR(shown(&c), "{}");
	T_STR(merge(&c,
		    "{\"backend\":\"local\",\"local\":{\"host_root\":\"/a\",\"profile\":\"x\"}}"),
	      "");
	T_STR(merge(&c, "{\"local\":{\"host_root\":\"/b\"},\"enabled\":true}"), "");
	T_STR(shown(&c),
	      "{\"backend\":\"local\",\"local\":{\"host_root\":\"/b\"},\"enabled\":true}");
	/* a bad section changes nothing */
	T_STR(merge(&c, "{\"backend\":\"docker\",\"limits\":{\"max_sessions\":-1}}"),
	      "ValueError: box.limits.max_sessions must be between 0 and 5000");
	T_STR(shown(&c),
	      "{\"backend\":\"local\",\"local\":{\"host_root\":\"/b\"},\"enabled\":true}");
	T_STR(merge(&c, "[1]"), "ValueError: box configuration must be an object");
	T_STR(merge(&c, "{\"a\\u0000b\":1}"), "ValueError: box configuration must be an object");
	T_TRUE(str_eq(box_config_text(&c, "", "backend"), "local"));
	T_STR(merge(&c, "{\"local\":null}"), "");
	T_TRUE(!box_config_get(&c, "local", "host_root"));
	box_config_done(&c);
}

static void configurations_have_a_size(void)
{
	AUTO_BUF text = BUF_INIT(2u << 20);
	struct box_config c;

	box_config_init(&c);
	buf_add_str(&text, "{\"a\":\"");
	buf_add_fill(&text, 'x', BOX_CONFIG_MAX_BYTES / 2);
	buf_add_str(&text, "\"}");
	T_STR(merge(&c, text.p), "");
	/* this replaces the key "a" by the same value, so the configuration does not grow */
	T_STR(merge(&c, text.p), "");
	text.p[2] = 'b';
	T_STR(merge(&c, text.p), "ValueError: box configuration exceeds 1048576 bytes");
	T_TRUE(!box_config_get(&c, "", "b"));
	box_config_done(&c);
}

static void values(void)
{
	struct box_config c;
	struct model_texts t;
	AUTO_FAULT f = { 0 };
	int64_t n = 0;

	box_config_init(&c);
	T_TRUE(box_config_text(&c, "local", "host_root").n == 0);
	T_TRUE(box_config_flag(&c, "docker", "cpu_limit_enabled", true));
	T_TRUE(!box_config_list(&c, "local", "allowed_mount_roots", &t));
	T_STR(merge(&c, "{\"local\":{\"host_root\":\" /srv \",\"skills_root\":\" "
			"\",\"default_workspace\":5,"
			"\"allowed_mount_roots\":[\" /a \",\"\",7,\"/b,c\"]},"
			"\"docker\":{\"cpu_limit_enabled\":\"False\"},"
			"\"cordon\":{\"log_output\":0,\"net\":\"public, private "
			",,\",\"memory_ceiling_mb\":64,"
			"\"x\":\"maybe\",\"empty\":[],\"none\":null}}"),
	      "");
	T_TRUE(str_eq(box_config_text(&c, "local", "host_root"), "/srv"));
	T_TRUE(str_eq(box_config_text(&c, "local", "skills_root"), ""));
	T_TRUE(str_eq(box_config_text(&c, "local", "default_workspace"), ""));
	T_TRUE(!box_config_flag(&c, "docker", "cpu_limit_enabled", true));
	T_TRUE(!box_config_flag(&c, "cordon", "log_output", true));
	T_TRUE(box_config_flag(&c, "cordon", "x", true));
	T_TRUE(box_config_list(&c, "local", "allowed_mount_roots", &t));
	T_INT(t.n, 2);
	T_STR(t.n == 2 ? t.item[0] : "", "/a");
	T_STR(t.n == 2 ? t.item[1] : "", "/b,c");
	model_texts_done(&t);
	T_TRUE(box_config_list(&c, "cordon", "net", &t));
	T_INT(t.n, 2);
	T_STR(t.n == 2 ? t.item[1] : "", "private");
	model_texts_done(&t);
	T_TRUE(box_config_list(&c, "cordon", "empty", &t) && t.n == 0);
	model_texts_done(&t);
	T_TRUE(!box_config_list(&c, "cordon", "none", &t));
	T_INT(box_config_int(&c, "cordon", "memory_ceiling_mb", 512, 16, 1000, &n, &f), 0);
	T_INT(n, 64);
	T_INT(box_config_int(&c, "cordon", "absent", 512, 16, 1000, &n, &f), 0);
	T_INT(n, 512);
	T_INT(box_config_int(&c, "cordon", "memory_ceiling_mb", 512, 65, 1000, &n, &f), -1);
	T_STR(f.text, "box.cordon.memory_ceiling_mb must be between 65 and 1000");
	T_INT(box_config_int(&c, "cordon", "x", 512, 65, 1000, &n, &f), -1);
	T_STR(f.text, "box.cordon.x must be an integer");
	T_INT(f.class, FAULT_VALUE);
	box_config_done(&c);
}

int main(void)
{
	T_RUN(limits_have_bounds);
	T_RUN(defaults_and_what_is_shown);
	T_RUN(sessions_fit_into_the_limit_of_open_files);
	T_RUN(sections_are_replaced);
	T_RUN(configurations_have_a_size);
	T_RUN(values);
	return t_end();
}
