/* Tests a call with the frames of an honest and of a hostile pid 1, and two helpers of a client:
 * client/drain.h and client/keys.h. */
#include "client/call.h"

#include "base/clock.h"
#include "client/drain.h"
#include "client/keys.h"
#include "t.h"

#define STREAM 7u

static struct call call;
static struct err err;

/* Passes the frames in B to the call. Returns the call's result for the last frame. */
static int hear(const struct buf *b)
{
	struct str in = { b->p, b->n };
	struct frame f;
	int said = CALL_NOTHING;

	while (frame_next(&in, &f) > 0)
		said = call_take(&call, &f, &err);
	return said;
}

static int hear_number(enum frame_type type, uint32_t stream, uint64_t number)
{
	AUTO_BUF b = BUF_INIT(256);
	size_t at = frame_begin(&b, type, 0, stream);

	if (type == FRAME_STARTED)
		started_encode(&b, number);
	else
		number_encode(&b, number);
	frame_end(&b, at);
	return hear(&b);
}

static int hear_exit(const struct exit_message *m)
{
	AUTO_BUF b = BUF_INIT(256);
	size_t at = frame_begin(&b, FRAME_EXIT, 0, STREAM);

	exit_encode(&b, m);
	frame_end(&b, at);
	return hear(&b);
}

static int hear_output(uint32_t stream, size_t n)
{
	AUTO_BUF b = BUF_INIT(1 << 20);
	AUTO_BUF body = BUF_INIT(1 << 20);

	while (body.n < n)
		buf_add_char(&body, 'x');
	frame_put(&b, FRAME_OUTPUT, FRAME_FLAG_JOINED, stream, body.p, body.n);
	return hear(&b);
}

/* Returns the type of the frame in B, or 0 if B is not exactly one frame of our stream. */
static unsigned sent(const struct buf *b, struct frame *ret)
{
	struct str in = { b->p, b->n };

	return frame_next(&in, ret) > 0 && in.n == 0 && ret->stream == STREAM ? ret->type : 0;
}

static void a_command_from_start_to_end(void)
{
	const char *argv[] = { "true", NULL };
	struct exec_message m = { .argv = argv, .n_argv = 1 };
	AUTO_BUF b = BUF_INIT(4096);
	struct frame f;

	call_init(&call, "box", STREAM);
	call_exec(&call, &m, 0, &b);
	T_INT(sent(&b, &f), FRAME_EXEC);
	T_INT(call.deadline, 0);
	T_INT(hear_number(FRAME_STARTED, STREAM, 12), CALL_STARTED);
	T_INT(call.id, 12);
	T_INT(hear_exit(&(struct exit_message){ .code = 3 }), CALL_ENDED);
	T_TRUE(call.ended);
	T_INT(exec_exit_status(&call.end), 3);
}

static void a_number_is_told_once(void)
{
	call_init(&call, "box", STREAM);
	T_INT(hear_number(FRAME_STARTED, STREAM, 0), CALL_NOTHING);
	T_INT(hear_number(FRAME_STARTED, STREAM, 12), CALL_STARTED);
	T_INT(hear_number(FRAME_STARTED, STREAM, 13), CALL_NOTHING);
	T_INT(call.id, 12);
}

static void frames_of_other_streams_are_ignored(void)
{
	AUTO_BUF b = BUF_INIT(256);
	size_t at = frame_begin(&b, FRAME_ERROR, 0, STREAM + 1);

	error_encode(&b, ERR_BUSY, "somebody else's");
	frame_end(&b, at);
	call_init(&call, "box", STREAM);
	T_INT(hear(&b), CALL_NOTHING);
	T_INT(hear_number(FRAME_STARTED, 0, 12), CALL_NOTHING);
	T_INT(hear_output(STREAM + 1, 100000), CALL_NOTHING);
	T_INT(call.id, 0);
}

static void a_refusal_ends_the_call(void)
{
	AUTO_BUF b = BUF_INIT(256);
	/* stream 0: an error of the whole connection */
	size_t at = frame_begin(&b, FRAME_ERROR, 0, 0);

	error_encode(&b, ERR_NOT_FOUND, "no such session");
	frame_end(&b, at);
	call_init(&call, "box", STREAM);
	T_INT(hear(&b), -1);
	T_INT(err.code, ERR_NOT_FOUND);
	T_STR(err.msg, "no such session");
}

static void nothing_counts_after_the_end(void)
{
	call_init(&call, "box", STREAM);
	T_INT(hear_exit(&(struct exit_message){ .signal = 9 }), CALL_ENDED);
	T_INT(hear_exit(&(struct exit_message){ .code = 0 }), CALL_NOTHING);
	T_INT(hear_output(STREAM, 10), CALL_NOTHING);
	T_INT(exec_exit_status(&call.end), 137);
}

static void output_stays_within_what_was_granted(void)
{
	AUTO_BUF b = BUF_INIT(256);
	struct frame f;

	call_init(&call, "box", STREAM);
	for (unsigned n = 0; n < FRAME_CREDIT_BYTES; n += FRAME_DATA_MAX_BYTES)
		T_INT(hear_output(STREAM, FRAME_DATA_MAX_BYTES), CALL_OUTPUT);
	/* as soon as a quarter of the credit has been taken, one frame grants this quarter again */
	T_TRUE(!call_took(&call, FRAME_CREDIT_BYTES / 4 - 1, &b));
	T_TRUE(call_took(&call, 1, &b));
	T_INT(sent(&b, &f), FRAME_CREDIT);
	T_INT(hear_output(STREAM, FRAME_CREDIT_BYTES / 4), CALL_OUTPUT);
	T_INT(hear_output(STREAM, 1), -1);
	T_INT(err.code, ERR_PROTOCOL);
	T_STR(err.msg, "sandbox 'box' sent more output than it may");
	call_init(&call, "box", STREAM);
	T_INT(hear_output(STREAM, FRAME_DATA_MAX_BYTES + 1), -1);
	T_STR(err.msg, "sandbox 'box' sent an oversized frame");
}

static void input_stays_within_the_credit(void)
{
	AUTO_BUF b = BUF_INIT(1 << 20);
	static char bytes[FRAME_CREDIT_BYTES + 1];
	size_t n, all = 0;

	call_init(&call, "box", STREAM);
	while ((n = call_input(&call, bytes + all, sizeof(bytes) - all, &b)) > 0) {
		T_TRUE(n <= FRAME_DATA_MAX_BYTES);
		all += n;
	}
	T_INT(all, FRAME_CREDIT_BYTES);
	T_INT(hear_number(FRAME_CREDIT, STREAM, FRAME_CREDIT_BYTES + 1), CALL_NOTHING);
	T_INT(call.credit, 0); /* a grant beyond the maximum is ignored */
	T_INT(hear_number(FRAME_CREDIT, STREAM, 5), CALL_NOTHING);
	T_INT(call_input(&call, bytes, 10, &b), 5);
}

static void a_silent_pid_1_is_a_time_out(void)
{
	const char *argv[] = { "sleep", NULL };
	struct exec_message m = { .argv = argv, .n_argv = 1, .timeout_ms = 1000 };
	AUTO_BUF b = BUF_INIT(4096);
	uint64_t at = 5 * NS_PER_SEC, late = at + NS_PER_SEC + CALL_BACKSTOP_NS;

	call_init(&call, "box", STREAM);
	call_exec(&call, &m, at, &b);
	T_TRUE(!call_is_late(&call, late - 1));
	T_TRUE(call_is_late(&call, late));
	call_give_up(&call);
	T_TRUE(!call_is_late(&call, late));
	T_INT(exec_exit_status(&call.end), 124);
}

static void a_signal_names_its_target(void)
{
	AUTO_BUF b = BUF_INIT(256), other = BUF_INIT(256);
	struct frame f;
	uint64_t n;

	call_init(&call, "box", STREAM);
	call_signal(&call, 15, true, &b);
	T_INT(sent(&b, &f), FRAME_SIGNAL);
	T_INT(f.flags, FRAME_FLAG_SCOPE);
	T_INT(number_decode(f.body, &n), 0);
	T_INT(n, 15);
	call_signal(&call, 9, false, &other);
	T_INT(sent(&other, &f), FRAME_SIGNAL);
	T_INT(f.flags, 0);
}

/* --- background commands --------------------------------------------------------------------- */

static int hear_command(const struct command_message *m)
{
	AUTO_BUF b = BUF_INIT(1 << 20);
	size_t at = frame_begin(&b, FRAME_COMMAND, 0, STREAM);

	command_encode(&b, m);
	frame_end(&b, at);
	return hear(&b);
}

static void a_list_ends_with_a_pong(void)
{
	AUTO_BUF b = BUF_INIT(256), pong = BUF_INIT(256);
	struct frame f;

	call_init(&call, "box", STREAM);
	call_list(&call, &b);
	T_INT(sent(&b, &f), FRAME_LIST);
	T_INT(hear_command(&(struct command_message){ .id = 4 }), CALL_COMMAND);
	T_INT(call.command.id, 4);
	T_INT(hear_command(&(struct command_message){ .id = 9, .flags = COMMAND_ATTACHED }),
	      CALL_COMMAND);
	T_INT(call.command.flags, COMMAND_ATTACHED);
	frame_put(&pong, FRAME_PONG, 0, STREAM, NULL, 0);
	T_INT(hear(&pong), CALL_TOLD);
}

static void a_list_without_an_end(void)
{
	call_init(&call, "box", STREAM);
	for (unsigned i = 0; i < CALL_TOLD_MAX; i++)
		if (hear_command(&(struct command_message){ .id = i + 1 }) != CALL_COMMAND)
			T_FAIL("command %u", i);
	T_INT(hear_command(&(struct command_message){ .id = 1 }), -1);
	T_STR(err.msg, "sandbox 'box' sent a list without an end");
}

static void questions_name_their_command(void)
{
	AUTO_BUF look = BUF_INIT(256), feed = BUF_INIT(256), kill = BUF_INIT(256);
	struct signal_message s;
	struct look_message l;
	struct feed_message d;
	struct frame f;

	call_init(&call, "box", STREAM);
	call_look(&call, &(struct look_message){ .id = 5, .flags = LOOK_UNTIL_END, .most = 10 },
		  &look);
	T_INT(sent(&look, &f), FRAME_LOOK);
	T_INT(look_decode(f.body, &l), 0);
	T_INT(l.id, 5);
	call_feed(&call, &(struct feed_message){ .id = 5, .data = { "yes\n", 4 } }, &feed);
	T_INT(sent(&feed, &f), FRAME_FEED);
	T_INT(feed_decode(f.body, &d), 0);
	T_TRUE(d.id == 5 && !d.end && str_eq(d.data, "yes\n"));
	call_signal_to(&call, 5, 15, FRAME_FLAG_SCOPE, &kill);
	T_INT(sent(&kill, &f), FRAME_SIGNAL);
	T_INT(f.flags, FRAME_FLAG_SCOPE);
	T_INT(signal_decode(f.body, &s), 0);
	T_TRUE(s.id == 5 && s.signal == 15);
}

static void a_bad_answer_fails_the_call(void)
{
	call_init(&call, "box", STREAM);
	T_INT(hear_command(&(struct command_message){ .id = 0 }), -1);
	T_INT(err.code, ERR_PROTOCOL);
}

static void only_one_report_is_taken(void)
{
	AUTO_BUF b = BUF_INIT(256), much = BUF_INIT(FRAME_BODY_MAX_BYTES),
		 long_one = BUF_INIT(FRAME_BODY_MAX_BYTES);

	call_init(&call, "box", STREAM);
	frame_put(&b, FRAME_REPORT, 0, STREAM, "state", 5);
	T_INT(hear(&b), CALL_REPORT);
	T_INT(hear(&b), -1);
	T_STR(err.msg, "sandbox 'box' sent more reports than it may");
	call_init(&call, "box", STREAM);
	buf_add_fill(&much, 'x', REPORT_MAX_BYTES + 1);
	frame_put(&long_one, FRAME_REPORT, 0, STREAM, much.p, much.n);
	T_INT(hear(&long_one), -1);
}

/* --- what is read after the end -------------------------------------------------------------- */

static void a_command_without_children_is_read_to_what_it_left(void)
{
	struct drain d;

	drain_begin(&d, true, 0, 10, 0);
	T_TRUE(drain_hears(&d, 0));
	drain_read(&d, DRAIN_OUT, 4, 0);
	T_TRUE(drain_hears(&d, 0));
	/* these are more bytes than the command left in the pipe, so another process wrote the
	 * rest */
	drain_read(&d, DRAIN_OUT, 60, 0);
	T_TRUE(!drain_hears(&d, 0));
	T_TRUE(drain_is_silent(&d, 0));
}

static void background_processes_are_read_for_a_short_time(void)
{
	uint64_t now = 100 * NS_PER_SEC;
	struct drain d;

	drain_begin(&d, false, now, 0, 0);
	T_TRUE(drain_hears(&d, now) && !drain_is_silent(&d, now));
	T_TRUE(drain_is_silent(&d, now + DRAIN_SILENCE_NS));
	drain_read(&d, DRAIN_ERR, 1, now + DRAIN_SILENCE_NS - 1);
	T_TRUE(!drain_is_silent(&d, now + DRAIN_SILENCE_NS));
	T_TRUE(!drain_hears(&d, now + DRAIN_NS)); /* output still comes, but the time is over */
}

/* --- detach keys ----------------------------------------------------------------------------- */

static const unsigned char aab[] = "aab";

/* Types TEXT byte by byte. Returns the bytes that reach the command, with '!' where the keys
 * were complete. */
static const char *typed(const char *text, bool end)
{
	static char got[64];
	struct keys k = { .key = aab, .n = 3 };
	AUTO_BUF out = BUF_INIT(64);

	for (; *text; text++)
		if (keys_scan(&k, text, 1, &out))
			buf_add_char(&out, '!');
	if (end)
		keys_flush(&k, &out);
	snprintf(got, sizeof(got), "%.*s", (int)out.n, out.n ? out.p : "");
	return got;
}

static void detach_keys(void)
{
	T_STR(typed("x", false), "x");
	T_STR(typed("a", false), "");
	T_STR(typed("a", true), "a");
	T_STR(typed("ac", false), "ac");
	T_STR(typed("aaab", false), "a!"); /* the first "a" is input, "aab" are the keys */
	T_STR(typed("xaab", false), "x!");
}

int main(void)
{
	T_RUN(a_command_from_start_to_end);
	T_RUN(a_number_is_told_once);
	T_RUN(frames_of_other_streams_are_ignored);
	T_RUN(a_refusal_ends_the_call);
	T_RUN(nothing_counts_after_the_end);
	T_RUN(output_stays_within_what_was_granted);
	T_RUN(input_stays_within_the_credit);
	T_RUN(a_silent_pid_1_is_a_time_out);
	T_RUN(a_signal_names_its_target);
	T_RUN(a_list_ends_with_a_pong);
	T_RUN(a_list_without_an_end);
	T_RUN(questions_name_their_command);
	T_RUN(a_bad_answer_fails_the_call);
	T_RUN(only_one_report_is_taken);
	T_RUN(a_command_without_children_is_read_to_what_it_left);
	T_RUN(background_processes_are_read_for_a_short_time);
	T_RUN(detach_keys);
	return t_end();
}
