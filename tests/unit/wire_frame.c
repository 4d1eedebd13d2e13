#include "wire/frame.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "wire/message.h"
#include "t.h"

static void frames_survive_any_cut(void)
{
	AUTO_BUF b = BUF_INIT(1 << 16);
	struct frame f;

	frame_put(&b, FRAME_OUTPUT, FRAME_FLAG_STDERR, 7, "hello", 5);
	for (size_t n = 0; n < b.n; n++) {
		struct str in = { b.p, n };

		T_INT(frame_next(&in, &f), 0);
		T_INT(in.n, n);
	}
	struct str in = { b.p, b.n };
	T_INT(frame_next(&in, &f), 1);
	T_INT(in.n, 0);
	T_INT(f.type, FRAME_OUTPUT);
	T_INT(f.flags, FRAME_FLAG_STDERR);
	T_INT(f.stream, 7);
	T_TRUE(str_eq(f.body, "hello"));
}

struct fed {
	unsigned frames, stop_at;
	size_t bytes;
};

static int count(void *arg, const struct frame *f)
{
	struct fed *c = arg;

	c->frames++;
	c->bytes += f->body.n;
	return c->frames == c->stop_at ? 7 : 0;
}

static void a_fed_stream_gives_its_frames_whatever_the_pieces(void)
{
	for (size_t piece = 1; piece <= 20; piece++) {
		AUTO_BUF stream = BUF_INIT(1024), in = BUF_INIT(64);
		struct fed c = { 0 };

		frame_put(&stream, FRAME_LOG, 0, 1, "twelve bytes", 12);
		frame_put(&stream, FRAME_PING, 0, 1, NULL, 0);
		frame_put(&stream, FRAME_LOG, 0, 1, "x", 1);
		for (size_t at = 0; at < stream.n; at += piece)
			T_INT(frame_feed(&in, stream.p + at,
					 stream.n - at < piece ? stream.n - at : piece, count, &c),
			      0);
		T_INT(c.frames, 3);
		T_INT(c.bytes, 13);
		T_INT(in.n, 0);
	}
}

static void feeding_stops_at_a_stop_or_an_error(void)
{
	AUTO_BUF stream = BUF_INIT(1024), in = BUF_INIT(64), small = BUF_INIT(16);
	struct fed c = { .stop_at = 2 };

	for (unsigned i = 0; i < 3; i++)
		frame_put(&stream, FRAME_PING, 0, 1, NULL, 0);
	T_INT(frame_feed(&in, stream.p, stream.n, count, &c), 7);
	T_INT(c.frames, 2);
	/* the frames do not fit into SMALL */
	T_INT(frame_feed(&small, stream.p, stream.n, count, &c), -EPROTO);
	buf_clear(&in);
	T_INT(frame_feed(&in, "\xff\xff\xff\xff\1\0\0\0\0\0\0\0", 12, count, &c), -EPROTO);
	T_INT(c.frames, 2);
}

static int pause_after_each(void *arg, const struct frame *f)
{
	IGNORE(count(arg, f));
	return FRAME_PAUSE;
}

static void what_was_paused_goes_on_later(void)
{
	AUTO_BUF stream = BUF_INIT(1024), in = BUF_INIT(256);
	struct fed c = { 0 };

	for (unsigned i = 0; i < 3; i++)
		frame_put(&stream, FRAME_LOG, 0, 1, "body", 4);
	T_INT(frame_feed(&in, stream.p, stream.n - 1, pause_after_each, &c), 0);
	T_INT(c.frames, 1);
	T_INT(frame_feed(&in, NULL, 0, pause_after_each, &c), 0);
	T_INT(c.frames, 2);
	/* the third frame is not complete */
	T_INT(frame_feed(&in, NULL, 0, pause_after_each, &c), 0);
	T_INT(c.frames, 2);
	T_INT(frame_feed(&in, stream.p + stream.n - 1, 1, pause_after_each, &c), 0);
	T_INT(c.frames, 3);
	T_INT(c.bytes, 12);
	T_INT(in.n, 0);
}

static void oversized_frames_are_refused_before_their_body(void)
{
	char head[FRAME_HEADER_BYTES] = { (char)0xff, (char)0xff, (char)0xff, 0x7f, FRAME_EXEC };
	struct str in = { head, sizeof(head) };
	struct frame f;

	T_INT(frame_next(&in, &f), -EPROTO);
}

static void exec_round_trip(void)
{
	const char *argv[] = { "sh", "-c", "", NULL }, *env[] = { "A=b c", NULL };
	struct exec_message m = { .flags = EXEC_TTY,
				  .argv = argv,
				  .n_argv = 3,
				  .env = env,
				  .n_env = 1,
				  .cwd = "/root",
				  .rows = 24,
				  .cols = 80,
				  .timeout_ms = 1500,
				  .rlimit = { { 7, 10, UINT64_MAX } },
				  .n_rlimits = 1 };
	AUTO_BUF b = BUF_INIT(1 << 16);
	struct exec_message got;

	exec_encode(&b, &m);
	T_INT(exec_decode((struct str){ b.p, b.n }, &got), 0);
	T_INT(got.n_argv, 3);
	T_STR(got.argv[2], "");
	T_TRUE(got.argv[3] == NULL);
	T_STR(got.env[0], "A=b c");
	T_STR(got.cwd, "/root");
	T_TRUE(got.user == NULL);
	T_INT(got.timeout_ms, 1500);
	T_TRUE(got.rlimit[0].hard == UINT64_MAX);
	exec_message_done(&got);
}

static void strings_with_nul_inside_are_refused(void)
{
	AUTO_BUF b = BUF_INIT(1 << 16);
	struct exec_message got;

	field_put(&b, 4, "a\0b", 4);
	T_INT(exec_decode((struct str){ b.p, b.n }, &got), -EPROTO);
	buf_clear(&b);
	field_put(&b, 4, "ab", 2); /* no terminating NUL */
	T_INT(exec_decode((struct str){ b.p, b.n }, &got), -EPROTO);
	buf_clear(&b);
	T_INT(exec_decode((struct str){ b.p, b.n }, &got), -EPROTO);
}

static void unknown_fields_are_skipped(void)
{
	AUTO_BUF b = BUF_INIT(1 << 16);
	struct exit_message got;

	field_put_str(&b, 250, "from the future");
	exit_encode(&b, &(struct exit_message){ .code = 42, .timed_out = true });
	T_INT(exit_decode((struct str){ b.p, b.n }, &got), 0);
	T_INT(got.code, 42);
	T_TRUE(got.timed_out);
}

/* With a refused connection, EXIT names the rule that would allow it. A person may paste this rule
 * into a shell, so the client refuses text that has a special meaning in a shell. */
static void rules_are_safe_in_a_shell(void)
{
	static const struct {
		const char *sent, *got;
	} rules[] = {
		{ "allow@[2001:db8::1]:tcp:443", "allow@[2001:db8::1]:tcp:443" },
		{ "allow@domain=a_b-c:udp+tcp:53", "allow@domain=a_b-c:udp+tcp:53" },
		{ "allow@10.0.0.0/8", "allow@10.0.0.0/8" },
		{ "allow@x;id", "" },
		{ "allow@x id", "" },
		{ "allow@$(id)", "" },
		{ "allow@`id`", "" },
		{ "allow@x\nid", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		AUTO_BUF b = BUF_INIT(1 << 16);
		struct exit_message m = { .refused = { .n = 1, .shown = 1 } }, got;

		snprintf(m.refused.item[0].what, REFUSAL_WHAT_BYTES, "x");
		snprintf(m.refused.item[0].rule, REFUSAL_RULE_BYTES, "%s", rules[i].sent);
		exit_encode(&b, &m);
		T_INT(exit_decode((struct str){ b.p, b.n }, &got), 0);
		T_STR(got.refused.item[0].rule, rules[i].got);
	}
}

static void versions_agree_on_the_smaller(void)
{
	T_INT(hello_agree(&(struct hello){ WIRE_VERSION, WIRE_OLDEST }), WIRE_VERSION);
	T_INT(hello_agree(&(struct hello){ WIRE_VERSION + 5, 1 }), WIRE_VERSION);
	T_INT(hello_agree(&(struct hello){ WIRE_VERSION + 5, WIRE_VERSION + 1 }), 0);
}

static void limits(void)
{
	struct limits_message in = { 512, 0, 64 }, out;
	AUTO_BUF b = BUF_INIT(256);

	limits_encode(&b, &in);
	T_INT(limits_decode((struct str){ b.p, b.n }, &out), 0);
	T_TRUE(out.memory_mib == 512 && out.cpu_milli == 0 && out.pids == 64);
	T_INT(limits_decode((struct str){ b.p, b.n - 1 }, &out), -EPROTO);
	T_INT(limits_decode((struct str){ NULL, 0 }, &out), 0);
	T_TRUE(out.memory_mib == 0 && out.cpu_milli == 0 && out.pids == 0);
}

static void usage(void)
{
	struct usage_message in = { 7, USAGE_UNKNOWN, 0, 1, USAGE_UNKNOWN, UINT64_MAX - 1 }, out;
	AUTO_BUF b = BUF_INIT(1024);

	usage_encode(&b, &in);
	T_INT(usage_decode((struct str){ b.p, b.n }, &out), 0);
	T_INT(memcmp(&in, &out, sizeof(in)), 0);
	T_INT(usage_decode((struct str){ NULL, 0 }, &out), 0);
	T_TRUE(out.uptime_ns == USAGE_UNKNOWN && out.pids == USAGE_UNKNOWN);
	b.p[1] = 7; /* a number of seven bytes */
	T_INT(usage_decode((struct str){ b.p, b.n }, &out), -EPROTO);
}

int main(void)
{
	T_RUN(frames_survive_any_cut);
	T_RUN(a_fed_stream_gives_its_frames_whatever_the_pieces);
	T_RUN(feeding_stops_at_a_stop_or_an_error);
	T_RUN(what_was_paused_goes_on_later);
	T_RUN(oversized_frames_are_refused_before_their_body);
	T_RUN(exec_round_trip);
	T_RUN(strings_with_nul_inside_are_refused);
	T_RUN(unknown_fields_are_skipped);
	T_RUN(rules_are_safe_in_a_shell);
	T_RUN(versions_agree_on_the_smaller);
	T_RUN(usage);
	T_RUN(limits);
	return t_end();
}
