#include "state/state.h"

#include <errno.h>

#include "base/buf.h"
#include "state_home.h"

static int dir = -1;

static int read_text(const char *text, struct state *ret)
{
	put(dir, "state.json", text);
	return state_read(dir, ret);
}

static void absent(void)
{
	struct state s;

	T_INT(state_read(dir, &s), -ENOENT);
	T_INT(s.status, STATUS_CREATED);
	T_TRUE(!s.booted_once);
	T_INT(s.uid_base, -1);
}

static void a_written_state_is_read_back(void)
{
	struct state in = { .status = STATUS_RUNNING,
			    .booted_once = true,
			    .boots = 3,
			    .supervisor = 4711,
			    .started_ns = 1700000000000000000u,
			    .wire = 2,
			    .uid_base = 4294901760,
			    .enforced = { "cgroup v2", "affinity", "none", "tmpfs", "watched",
					  "ids" },
			    .root = ROOT_SERVED,
			    .stop_reason = "\"idle\"\n",
			    .host_port = { 1, 65535 },
			    .n_ports = 2 };
	struct state s;
	struct err e;

	T_INT(state_write(dir, &in, &e), 0);
	T_INT(state_read(dir, &s), 0);
	T_INT(s.status, STATUS_RUNNING);
	T_TRUE(s.booted_once);
	T_INT(s.boots, 3);
	T_INT(s.supervisor, 4711);
	T_INT(s.started_ns, 1700000000000000000);
	T_TRUE(s.updated_ns > in.started_ns);
	T_INT(s.wire, 2);
	T_INT(s.uid_base, 4294901760);
	T_INT(memcmp(&s.enforced, &in.enforced, sizeof(s.enforced)), 0);
	T_STR(s.root, ROOT_SERVED);
	T_STR(s.stop_reason, "\"idle\"\n");
	T_INT(s.n_ports, 2);
	T_INT(s.host_port[1], 65535);
}

static void all_ports_fit(void)
{
	struct state in = { .n_ports = STATE_PORTS_MAX }, s;
	struct err e;

	for (size_t i = 0; i < STATE_PORTS_MAX; i++)
		in.host_port[i] = UINT16_MAX;
	T_INT(state_write(dir, &in, &e), 0);
	T_INT(state_read(dir, &s), 0);
	T_INT(s.n_ports, STATE_PORTS_MAX);
}

/* With the same format, older programs wrote fewer members, and later programs may write more. */
static void missing_and_unknown_members(void)
{
	struct state s;

	T_INT(read_text("{\"format\":1,\"status\":\"Stopped\",\"booted_once\":true}", &s), 0);
	T_INT(s.status, STATUS_STOPPED);
	T_INT(s.uid_base, -1);
	T_STR(s.enforced.memory, "");
	T_INT(read_text(
		      "{\"status\":\"Running\",\"limits\":{\"pids\":\"none\",\"more\":1},\"x\":[]}",
		      &s),
	      0);
	T_INT(s.status, STATUS_RUNNING);
	T_STR(s.enforced.pids, "none");
	T_INT(read_text("{\"format\":1,\"limits\":null,\"host_ports\":null}", &s), 0);
}

static void long_texts_are_cut(void)
{
	struct state s;

	T_INT(read_text("{\"root\":\"0123456789012345678901234567890123456789\"}", &s), 0);
	T_STR(s.root, "01234567890123456789012");
}

static void damaged(void)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{\"format\":\"1\",\"boots\":\"2\"}",
		"{\"format\":\"1\"}",
		"{\"format\":1.5}",
		"{\"format\":null}",
		"{\"format\":1,\"status\":7}",
		"{\"format\":1,\"status\":\"Sleeping\"}",
		"{\"format\":1,\"booted_once\":1}",
		"{\"format\":1,\"boots\":-1}",
		"{\"format\":1,\"supervisor\":4294967296}",
		"{\"format\":1,\"wire\":1.5}",
		"{\"format\":1,\"uid_base\":-2}",
		"{\"format\":1,\"limits\":[]}",
		"{\"format\":1,\"limits\":{\"pids\":1}}",
		"{\"format\":1,\"host_ports\":80}",
		"{\"format\":1,\"host_ports\":[80,65536]}",
		"{\"format\":1,\"host_ports\":[80,\"81\"]}",
		"{\"format\":1,\"stop_reason\":\"a\\u0000b\"}",
	};
	struct state s;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (read_text(texts[i], &s) != -EINVAL)
			T_FAIL("not refused as damaged: %s", texts[i]);
		/* booted_once must be true: otherwise the sandbox would look like the leftover of a
		 * killed create */
		if (!s.booted_once || s.boots != 1 || s.status != STATUS_CREATED || s.n_ports != 0)
			T_FAIL("the state tells more than that the sandbox ran: %s", texts[i]);
	}
}

static void too_many_ports(void)
{
	AUTO_BUF b = BUF_INIT(8192);
	struct state s;

	buf_addf(&b, "{\"host_ports\":[1");
	for (size_t i = 0; i < STATE_PORTS_MAX; i++)
		buf_addf(&b, ",1");
	buf_addf(&b, "]}");
	T_INT(read_text(buf_str(&b), &s), -EINVAL);
}

/* A newer format is refused, whatever else the file contains. */
static void newer(void)
{
	struct state s;

	T_INT(read_text("{\"format\":2,\"status\":\"Running\"}", &s), -ENOTSUP);
	T_TRUE(s.booted_once);
	T_INT(read_text("{\"format\":9000000000,\"status\":{},\"boots\":[]}", &s), -ENOTSUP);
}

static void names(void)
{
	T_STR(status_name(STATUS_DRAINING), "Draining");
	T_STR(status_lower(STATUS_DRAINING), "draining");
}

int main(void)
{
	T_RUN(begin_home);
	dir = open(home_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	T_RUN(absent);
	T_RUN(a_written_state_is_read_back);
	T_RUN(all_ports_fit);
	T_RUN(missing_and_unknown_members);
	T_RUN(long_texts_are_cut);
	T_RUN(damaged);
	T_RUN(too_many_ports);
	T_RUN(newer);
	T_RUN(names);
	fd_closep(&dir);
	T_RUN(end_home);
	return t_end();
}
