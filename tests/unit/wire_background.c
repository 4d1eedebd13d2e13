/* Encodes and decodes messages about background commands. */
#include "wire/background.h"

#include <errno.h>

#include "t.h"

static struct str all(const struct buf *b)
{
	return (struct str){ b->p, b->n };
}

static void a_look_arrives_as_it_was_sent(void)
{
	struct look_message m = { .id = 7,
				  .flags = LOOK_UNTIL_END | LOOK_TAIL,
				  .offset = 1ull << 40,
				  .most = 1000 },
			    got;
	AUTO_BUF b = BUF_INIT(256);

	look_encode(&b, &m);
	T_INT(look_decode(all(&b), &got), 0);
	T_INT(memcmp(&m, &got, sizeof(m)), 0);
	buf_clear(&b);
	m.most = BACKGROUND_OUTPUT_BYTES + 1;
	look_encode(&b, &m);
	T_INT(look_decode(all(&b), &got), -EPROTO);
}

static void input_arrives_byte_by_byte(void)
{
	struct feed_message m = { .id = 9, .end = true, .data = { "a\0b", 3 } }, got;
	AUTO_BUF b = BUF_INIT(1 << 20), most = BUF_INIT(1 << 20);

	feed_encode(&b, &m);
	T_INT(feed_decode(all(&b), &got), 0);
	T_INT(got.id, 9);
	T_TRUE(got.end && got.data.n == 3 && memcmp(got.data.p, "a\0b", 3) == 0);
	buf_clear(&b);
	buf_add_fill(&most, 'x', FRAME_DATA_MAX_BYTES + 1);
	feed_encode(&b, &(struct feed_message){ .id = 9, .data = all(&most) });
	T_INT(feed_decode(all(&b), &got), -EPROTO);
}

static void a_command_arrives_with_all_fields(void)
{
	struct command_message m = {
		.id = 3,
		.flags = COMMAND_BACKGROUND | COMMAND_ENDED | COMMAND_TERMINAL,
		.age_ms = 5000,
		.ended_ms = 20,
		.end = { .code = 4, .timed_out = true },
		.words = { "sh\0-c\0", 6 },
		.total = 600000,
		.first = 600000 - BACKGROUND_OUTPUT_BYTES,
		.room = 17,
		.report = 12,
		.offset = 599998,
		.data = { "ok", 2 },
		.taken = 5,
	};
	struct command_message got;
	AUTO_BUF b = BUF_INIT(4096);

	command_encode(&b, &m);
	T_INT(command_decode(all(&b), &got), 0);
	T_INT(got.end.code, 4);
	T_TRUE(got.end.timed_out);
	T_INT(got.words.n, 6);
	T_TRUE(str_eq(got.data, "ok"));
	T_INT(got.total, 600000);
	T_INT(got.first, m.first);
	T_INT(got.offset, 599998);
	T_INT(got.room, 17);
	T_INT(got.report, 12);
	T_INT(got.taken, 5);
	T_INT(got.age_ms, 5000);
	T_INT(got.ended_ms, 20);
}

/* Tests bad values that a hostile pid 1 could send, one value at a time. */
static void nonsense_about_a_command_is_refused(void)
{
	struct command_message bad[] = {
		{ .id = 0 },
		{ .id = 1, .first = 2, .total = 1 },
		{ .id = 1, .words = { "sh", 2 } },
		{ .id = 1, .pid = 1ull << 31 },
		{ .id = 1, .total = UINT64_MAX },
		{ .id = 1, .room = BACKGROUND_INPUT_BYTES + 1 },
		{ .id = 1, .report = REPORT_MAX_BYTES + 1 },
		{ .id = 1, .taken = FRAME_DATA_MAX_BYTES + 1 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct command_message got;
		AUTO_BUF b = BUF_INIT(4096);

		command_encode(&b, &bad[i]);
		T_INT(command_decode(all(&b), &got), -EPROTO);
	}
}

static void a_signal_has_a_number_or_a_stream(void)
{
	struct signal_message got;
	AUTO_BUF b = BUF_INIT(256);

	number_encode(&b, 15); /* older clients send a signal without an id */
	T_INT(signal_decode(all(&b), &got), 0);
	T_INT(got.signal, 15);
	T_INT(got.id, 0);
	buf_clear(&b);
	signal_encode(&b, &(struct signal_message){ 9, 12 });
	T_INT(signal_decode(all(&b), &got), 0);
	T_INT(got.id, 12);
	b.p[b.n - 8 - 4] = 7; /* the number is one byte too short */
	T_INT(signal_decode((struct str){ b.p, b.n - 1 }, &got), -EPROTO);
	T_INT(signal_decode((struct str){ NULL, 0 }, &got), -EPROTO);
}

static void attaching_may_name_an_offset(void)
{
	struct attach_message got;
	AUTO_BUF b = BUF_INIT(256);

	number_encode(&b, 4); /* a client of protocol 1 sends no offset */
	T_INT(attach_decode(all(&b), &got), 0);
	T_INT(got.id, 4);
	T_TRUE(!got.has_offset);
	buf_clear(&b);
	attach_encode(&b, &(struct attach_message){ 5, true, 0 });
	T_INT(attach_decode(all(&b), &got), 0);
	T_INT(got.id, 5);
	T_TRUE(got.has_offset && got.offset == 0);
}

static void a_background_start_says_how_long_to_keep_it(void)
{
	const char *argv[] = { "true", NULL };
	struct exec_message m = {
		.flags = EXEC_BACKGROUND | EXEC_REPORTS, .argv = argv, .n_argv = 1, .keep_ms = 500
	};
	struct exec_message got;
	AUTO_BUF b = BUF_INIT(1024);

	exec_encode(&b, &m);
	T_INT(exec_decode(all(&b), &got), 0);
	T_INT(got.flags, EXEC_BACKGROUND | EXEC_REPORTS);
	T_INT(got.keep_ms, 500);
	exec_message_done(&got);
}

int main(void)
{
	T_RUN(a_look_arrives_as_it_was_sent);
	T_RUN(input_arrives_byte_by_byte);
	T_RUN(a_command_arrives_with_all_fields);
	T_RUN(nonsense_about_a_command_is_refused);
	T_RUN(a_signal_has_a_number_or_a_stream);
	T_RUN(attaching_may_name_an_offset);
	T_RUN(a_background_start_says_how_long_to_keep_it);
	return t_end();
}
