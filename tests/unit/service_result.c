#include "service/result.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "t.h"

#define CREATED_NS 1785576600120394000ull /* 2026-08-01T09:30:00.120394Z */

static void sessions(void)
{
	AUTO_JSON d = NULL;
	AUTO_FAULT f = { 0 };
	AUTO_BUF b = BUF_INIT(4096);
	struct box_spec spec;
	struct json_writer w;
	struct err e = { 0 };
	static const char text[] =
		"{\"session_id\":\"mcp-shared\",\"network\":\"on\",\"persistent\":true,"
		"\"read_only_rootfs\":false,\"memory_mb\":1536,\"cmd\":\"x\"}";

	T_INT(json_parse(text, sizeof(text) - 1, &d, &e), 0);
	T_INT(box_spec_decode(json_root(d), &spec, &f), 0);
	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	session_info_members(
		&(struct session_info){
			.session_id = STR("mcp-shared"),
			.backend_name = "nsjail",
			.backend_session_id = "box-1",
			.spec = &spec,
			.created_ns = CREATED_NS,
			.last_used_ns = CREATED_NS + 2000000000,
		},
		&w);
	json_end_object(&w);
	T_STR(buf_str(&b),
	      "{\"session_id\":\"mcp-shared\",\"backend_name\":\"nsjail\",\"backend_session_id\":"
	      "\"box-1\","
	      "\"image\":\"rockchin/langbot-sandbox:latest\",\"network\":\"on\",\"host_path\":null,"
	      "\"host_path_mode\":\"rw\",\"mount_path\":\"/"
	      "workspace\",\"persistent\":true,\"cpus\":1.0,"
	      "\"memory_mb\":1536,\"pids_limit\":128,\"read_only_rootfs\":false,"
	      "\"workspace_quota_mb\":0,\"created_at\":\"2026-08-01T09:30:00.120Z\","
	      "\"last_used_at\":\"2026-08-01T09:30:02.120Z\"}");
	box_spec_done(&spec);
}

static const char *execution(const struct execution *x)
{
	static char out[1024];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	execution_encode(x, &w);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void executions(void)
{
	struct execution x = { .session_id = STR("person_ann"),
			       .backend_name = "nsjail",
			       .timeout_sec = 20,
			       .out = STR("42"),
			       .err = STR(""),
			       .duration_ms = 61 };

	T_STR(execution(&x),
	      "{\"session_id\":\"person_ann\",\"backend_name\":\"nsjail\","
	      "\"status\":\"completed\",\"exit_code\":0,\"stdout\":\"42\",\"stderr\":\"\","
	      "\"duration_ms\":61}");
	x.exit_code = 137;
	x.err = (struct str){ "a\0b", 3 };
	T_STR(execution(&x), "{\"session_id\":\"person_ann\",\"backend_name\":\"nsjail\","
			     "\"status\":\"completed\",\"exit_code\":137,\"stdout\":\"42\","
			     "\"stderr\":\"a\\u0000b\",\"duration_ms\":61}");
	x.timed_out = true;
	T_STR(execution(&x), "{\"session_id\":\"person_ann\",\"backend_name\":\"nsjail\","
			     "\"status\":\"timed_out\",\"exit_code\":null,\"stdout\":\"42\","
			     "\"stderr\":\"a\\u0000b\",\"duration_ms\":61}");
	x.err = STR("");
	T_STR(execution(&x),
	      "{\"session_id\":\"person_ann\",\"backend_name\":\"nsjail\","
	      "\"status\":\"timed_out\",\"exit_code\":null,\"stdout\":\"42\","
	      "\"stderr\":\"Command timed out after 20 seconds.\",\"duration_ms\":61}");
}

static void processes(void)
{
	static char id[] = "srv-1", command[] = "uvx", arg[] = "mcp-server-time",
		    cwd[] = "/workspace";
	static char tz[] = "TZ", utc[] = "UTC", a[] = "A", secret[] = "secret", *args[] = { arg };
	struct model_variable env[] = { { tz, utc }, { a, secret } };
	struct process_spec spec = { .process_id = id,
				     .command = command,
				     .args = { 1, args },
				     .env = { 2, env },
				     .cwd = cwd };
	struct process_info p = { .session_id = STR("mcp-shared"),
				  .spec = &spec,
				  .running = true,
				  .started_ns = CREATED_NS,
				  .stderr_preview = STR("") };
	AUTO_BUF b = BUF_INIT(4096);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	process_info_encode(&p, &w);
	T_STR(buf_str(&b),
	      "{\"session_id\":\"mcp-shared\",\"process_id\":\"srv-1\",\"status\":\"running\","
	      "\"command\":\"uvx\",\"args\":[\"mcp-server-time\"],\"cwd\":\"/workspace\","
	      "\"env_keys\":[\"A\",\"TZ\"],\"attached\":false,"
	      "\"started_at\":\"2026-08-01T09:30:00.120Z\",\"exited_at\":null,\"exit_code\":null,"
	      "\"stderr_preview\":\"\"}");
	p.running = false;
	p.exited_ns = CREATED_NS + NS_PER_SEC;
	p.exit_code = 1;
	p.attached = true;
	p.stderr_preview = STR("oops");
	buf_clear(&b);
	json_writer_init(&w, &b, 0);
	process_info_encode(&p, &w);
	T_TRUE(strstr(b.p, "\"status\":\"exited\"") != NULL);
	T_TRUE(strstr(b.p,
		      "\"attached\":true,\"started_at\":\"2026-08-01T09:30:00.120Z\",\"exited_at\":"
		      "\"2026-08-01T09:30:01.120Z\",\"exit_code\":1,\"stderr_preview\":"
		      "\"oops\"}") != NULL);
}

int main(void)
{
	T_RUN(sessions);
	T_RUN(executions);
	T_RUN(processes);
	return t_end();
}
