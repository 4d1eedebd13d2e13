/* Tests a line and its jobs with a fake pid 1, which hangs up, cuts frames in two, does not read,
 * sends garbage, or sends more than it may. */
#include "client/line.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "client/job.h"
#include "t.h"

#define TAG_VERSION 1
#define TAG_OLDEST 2
#define WAIT_NS (10 * NS_PER_SEC) /* longer than anything here takes */

/* --- the loop -------------------------------------------------------------------------------- */

static struct loop *loop;
static bool (*wanted)(void);
static uint64_t until_ns;

static void look(void *arg)
{
	if (wanted() || clock_mono_ns() > until_ns)
		loop_stop(loop);
	else
		loop_add_timer(loop, clock_mono_ns() + NS_PER_MS / 2, look, NULL);
}

/* Runs the loop until CONDITION holds, but at most for WAIT_NS. Returns true if it holds. */
static bool until(bool (*condition)(void))
{
	wanted = condition;
	until_ns = clock_mono_ns() + WAIT_NS;
	loop_add_timer(loop, clock_mono_ns(), look, NULL);
	T_INT(loop_run(loop), 0);
	return condition();
}

static unsigned turns_left;

static bool no_turn_left(void)
{
	return turns_left == 0 || --turns_left == 0;
}

/* Runs the loop for a while. A test calls this before it checks that something did not happen. */
static void turns(void)
{
	turns_left = 10;
	until(no_turn_left);
}

/* --- the peer -------------------------------------------------------------------------------- */

/* The fake pid 1, at the other end of the line. Like the real pid 1, it reads small pieces and has
 * room for the descriptors of one frame. */
struct peer {
	int fd;
	struct buf in;
	int fds[FRAME_FDS_MAX];
	unsigned n_fds;
	bool broken; /* more descriptors came than there is room for */
	/* `execs` counts the EXECs; the next three members describe the last EXEC */
	unsigned execs;
	uint32_t stream;
	int ends[FRAME_FDS_MAX];
	unsigned n_ends;
	bool wrong_ends; /* an EXEC came with too few or too many descriptors */
	unsigned signals, signal_flags, leaves, left, inputs;
	uint64_t signal;
	size_t input_bytes;
	bool closed;    /* the line hung up */
	bool greeted;   /* the peer said HELLO */
	unsigned pongs; /* PINGs not yet answered */
};

static struct peer peer;

static void close_all(int *fd, unsigned *n)
{
	while (*n > 0)
		close(fd[--*n]);
}

static int peer_frame(void *arg, const struct frame *f)
{
	switch (f->type) {
	case FRAME_EXEC: {
		struct exec_message m;

		T_INT(exec_decode(f->body, &m), 0);
		close_all(peer.ends, &peer.n_ends);
		memcpy(peer.ends, peer.fds, sizeof(peer.fds));
		peer.n_ends = peer.n_fds;
		peer.n_fds = 0;
		if (peer.n_ends != (m.flags & EXEC_TTY ? 0 : m.flags & EXEC_JOINED ? 2 : 3))
			peer.wrong_ends = true;
		peer.execs++;
		peer.stream = f->stream;
		exec_message_done(&m);
		break;
	}
	case FRAME_PING:
		peer.pongs += f->stream == 0;
		break;
	case FRAME_SIGNAL:
		peer.signals++;
		peer.signal_flags = f->flags;
		T_INT(number_decode(f->body, &peer.signal), 0);
		break;
	case FRAME_STDIN:
		peer.inputs++;
		peer.input_bytes += f->body.n;
		break;
	case FRAME_LEAVE:
		peer.leaves++;
		peer.left = peer.n_fds;
		close_all(peer.fds, &peer.n_fds);
		break;
	default:
		break;
	}
	return 0;
}

/* Reads what has come. Answers PINGs if the peer has said HELLO. */
static void peer_read(void)
{
	char chunk[8192];

	for (;;) {
		unsigned got = 0;
		ssize_t n = fdpass_recv(peer.fd, chunk, sizeof(chunk), peer.fds + peer.n_fds,
					FRAME_FDS_MAX - peer.n_fds, &got);

		peer.n_fds += got;
		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			peer.broken |= n == -EPROTO;
			peer.closed = true;
			return;
		}
		T_INT(frame_feed(&peer.in, chunk, (size_t)n, peer_frame, NULL), 0);
	}
	for (; peer.greeted && peer.pongs > 0; peer.pongs--) {
		AUTO_BUF b = BUF_INIT(64);

		frame_put(&b, FRAME_PONG, 0, 0, NULL, 0);
		/* if this fails, the test fails, because no job ends */
		IGNORE(fdpass_send(peer.fd, b.p, b.n, NULL, 0));
	}
}

static void say(const struct buf *b)
{
	T_INT(fdpass_send(peer.fd, b->p, b->n, NULL, 0), 0);
}

static void add_hello(struct buf *b, unsigned version)
{
	size_t at = frame_begin(b, FRAME_HELLO, 0, 0);

	field_put_u64(b, TAG_VERSION, version);
	field_put_u64(b, TAG_OLDEST, 1);
	frame_end(b, at);
}

static void add_started(struct buf *b, uint32_t stream)
{
	size_t at = frame_begin(b, FRAME_STARTED, 0, stream);

	started_encode(b, 77);
	frame_end(b, at);
}

static void add_exit(struct buf *b, uint32_t stream, const struct exit_message *m)
{
	size_t at = frame_begin(b, FRAME_EXIT, 0, stream);

	exit_encode(b, m);
	frame_end(b, at);
}

static void say_hello(unsigned version)
{
	AUTO_BUF b = BUF_INIT(256);

	add_hello(&b, version);
	say(&b);
	peer.greeted = true;
}

static void say_exit(uint32_t stream, const struct exit_message *m)
{
	AUTO_BUF b = BUF_INIT(256);

	add_exit(&b, stream, m);
	say(&b);
}

static const struct exit_message code_3 = { .code = 3, .alone = true };

/* --- the owner ------------------------------------------------------------------------------- */

enum free_at { FREE_LATER, FREE_JOB_AT_OUTPUT, FREE_LINE_AT_OUTPUT, FREE_ALL_AT_END };

struct owned {
	struct job *job;
	struct buf out, err;
	bool stop; /* the owner takes no more output */
	unsigned rooms, ends;
	enum free_at when;
	struct job_end end;
	enum err_code code;
};

static struct line *line;
static unsigned gone;
static enum err_code gone_code;
static struct owned one, two;

static bool on_output(void *arg, enum job_output which, const char *p, size_t n)
{
	struct owned *o = arg;

	T_INT(o->ends, 0);
	buf_add(which == JOB_STDOUT ? &o->out : &o->err, p, n);
	if (o->when == FREE_JOB_AT_OUTPUT) {
		job_free(o->job);
		o->job = NULL;
	} else if (o->when == FREE_LINE_AT_OUTPUT) {
		line_free(line);
		line = NULL;
	}
	return !o->stop;
}

static void on_room(void *arg)
{
	((struct owned *)arg)->rooms++;
}

static void on_end(void *arg, const struct job_end *end)
{
	struct owned *o = arg;

	o->ends++;
	o->end = *end;
	o->code = end->err ? end->err->code : ERR_NONE;
	if (o->when == FREE_ALL_AT_END || o->when == FREE_LINE_AT_OUTPUT) {
		job_free(o->job);
		o->job = NULL;
		line_free(line);
		line = NULL;
	}
}

static void on_gone(void *arg, const struct err *why)
{
	gone++;
	gone_code = why->code;
}

static bool one_ended(void)
{
	peer_read();
	return one.ends > 0;
}

static bool both_ended(void)
{
	peer_read();
	return one.ends > 0 && two.ends > 0;
}

static bool is_gone(void)
{
	peer_read();
	return gone > 0;
}

static bool exec_came(void)
{
	peer_read();
	return peer.execs > 0;
}

static bool second_exec_came(void)
{
	peer_read();
	return peer.execs > 1;
}

static bool signal_came(void)
{
	peer_read();
	return peer.signals > 0;
}

static bool line_closed(void)
{
	peer_read();
	return peer.closed;
}

static void owned_init(struct owned *o)
{
	*o = (struct owned){ 0 };
	buf_init(&o->out, 4 << 20);
	buf_init(&o->err, 4 << 20);
}

static void begin(void)
{
	struct err e = { 0 };
	int s[2];

	T_INT(loop_new(&loop), 0);
	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
	peer = (struct peer){ .fd = s[1] };
	T_INT(fcntl(s[1], F_SETFL, O_NONBLOCK), 0);
	buf_init(&peer.in, 16 << 20);
	gone = 0;
	gone_code = ERR_NONE;
	owned_init(&one);
	owned_init(&two);
	T_INT(line_new(loop, "box", s[0], on_gone, NULL, &line, &e), 0);
}

static void hang_up(void)
{
	fd_closep(&peer.fd);
	peer.closed = true;
}

static void end(void)
{
	job_free(one.job);
	job_free(two.job);
	line_free(line);
	line = NULL;
	T_TRUE(!peer.broken);
	T_TRUE(!peer.wrong_ends);
	close_all(peer.fds, &peer.n_fds);
	close_all(peer.ends, &peer.n_ends);
	fd_closep(&peer.fd);
	buf_done(&peer.in);
	buf_done(&one.out);
	buf_done(&one.err);
	buf_done(&two.out);
	buf_done(&two.err);
	loop_free(loop);
}

static void start_with(struct owned *o, unsigned flags, bool input, uint64_t timeout_ms)
{
	const char *argv[] = { "true", NULL };
	struct exec_message m = {
		.argv = argv, .n_argv = 1, .flags = flags, .timeout_ms = timeout_ms
	};
	struct job_owner owner = { .output = on_output, .room = on_room, .end = on_end, .arg = o };
	struct err e = { 0 };

	T_INT(job_start(line, &m, input, &owner, &o->job, &e), 0);
}

static void start(struct owned *o, unsigned flags)
{
	start_with(o, flags, false, 0);
}

static void print(unsigned which, const char *text)
{
	T_INT(write(peer.ends[which], text, strlen(text)), (ssize_t)strlen(text));
}

/* --- cases ----------------------------------------------------------------------------------- */

static void a_command_from_start_to_end(void)
{
	AUTO_BUF b = BUF_INIT(512);

	begin();
	start(&one, 0);
	T_TRUE(until(exec_came));
	T_INT(line_version(line), 0);
	print(1, "out");
	print(2, "err");
	add_hello(&b, 2);
	add_started(&b, peer.stream);
	add_exit(&b, peer.stream, &code_3);
	say(&b);
	T_TRUE(until(one_ended));
	T_INT(line_version(line), 2);
	/* the job ends although the pipes are open, because the command left no process behind */
	T_STR(buf_str(&one.out), "out");
	T_STR(buf_str(&one.err), "err");
	T_INT(one.code, ERR_NONE);
	T_INT(one.end.end.code, 3);
	T_INT(one.end.id, 77);
	say_exit(peer.stream, &code_3); /* a second EXIT is ignored */
	turns();
	T_INT(one.ends, 1);
	T_TRUE(line_is_up(line));
	end();
}

static void streams_are_kept_apart(void)
{
	uint32_t first;
	int out;

	begin();
	start(&one, EXEC_JOINED);
	T_TRUE(until(exec_came));
	first = peer.stream;
	out = dup(peer.ends[1]);
	start(&two, 0);
	T_TRUE(until(second_exec_came));
	T_INT(write(out, "one", 3), 3);
	print(1, "two");
	say_hello(2);
	say_exit(peer.stream, &code_3);
	say_exit(first, &(struct exit_message){ .signal = 9, .alone = true });
	T_TRUE(until(both_ended));
	T_STR(buf_str(&one.out), "one");
	T_STR(buf_str(&two.out), "two");
	T_INT(one.end.end.signal, 9);
	T_INT(two.end.end.code, 3);
	close(out);
	end();
}

/* The peer hangs up before its first byte. In the next round it hangs up after one byte, then after
 * two bytes, and so on. */
static void a_hang_up_at_every_step(void)
{
	for (size_t cut = 0, total = 1; cut <= total; cut++) {
		AUTO_BUF b = BUF_INIT(512);

		begin();
		start(&one, 0);
		T_TRUE(until(exec_came));
		start(&two, EXEC_TTY);
		add_hello(&b, 2);
		add_started(&b, peer.stream);
		add_exit(&b, peer.stream, &code_3);
		total = b.n;
		if (cut > 0)
			T_INT(fdpass_send(peer.fd, b.p, cut, NULL, 0), 0);
		hang_up();
		T_TRUE(until(both_ended));
		T_TRUE(until(is_gone));
		T_INT(one.code, cut == total ? ERR_NONE : ERR_NOT_RUNNING);
		T_INT(two.code, ERR_NOT_RUNNING);
		turns();
		T_INT(one.ends + two.ends, 2);
		T_INT(gone, 1);
		T_INT(gone_code, ERR_NOT_RUNNING);
		T_TRUE(!line_is_up(line));
		end();
	}
}

static void a_hang_up_before_anything_was_read(void)
{
	struct err e = { 0 };
	struct owned late = { 0 };
	const char *argv[] = { "true", NULL };
	struct exec_message m = { .argv = argv, .n_argv = 1 };
	struct job_owner owner = { .output = on_output, .end = on_end, .arg = &late };

	begin();
	hang_up();
	/* The job starts after pid 1 has hung up, but the line has not noticed that yet. */
	start(&one, 0);
	T_TRUE(until(one_ended));
	T_INT(one.code, ERR_NOT_RUNNING);
	T_INT(job_start(line, &m, false, &owner, &late.job, &e), -1);
	T_INT(e.code, ERR_NOT_RUNNING);
	end();
}

static void frames_in_single_bytes(void)
{
	AUTO_BUF b = BUF_INIT(512);

	begin();
	start(&one, 0);
	T_TRUE(until(exec_came));
	add_hello(&b, 2);
	add_started(&b, peer.stream);
	add_exit(&b, peer.stream, &code_3);
	for (size_t i = 0; i < b.n; i++) {
		T_INT(one.ends, 0);
		T_INT(fdpass_send(peer.fd, b.p + i, 1, NULL, 0), 0);
		line_hear(line);
	}
	T_TRUE(until(one_ended));
	T_INT(one.end.end.code, 3);
	end();
}

static void garbage_ends_the_line(void)
{
	for (int with_hello = 0; with_hello < 2; with_hello++) {
		AUTO_BUF b = BUF_INIT(512);

		begin();
		start(&one, 0);
		start(&two, 0);
		T_TRUE(until(second_exec_came));
		if (with_hello)
			say_hello(2);
		buf_add_fill(&b, (char)0xff, 100);
		say(&b);
		T_TRUE(until(both_ended));
		T_INT(one.code, ERR_PROTOCOL);
		T_INT(two.code, ERR_PROTOCOL);
		T_TRUE(until(line_closed));
		T_INT(gone, 1);
		end();
	}
}

static void frames_before_the_hello_end_the_line(void)
{
	begin();
	start(&one, 0);
	T_TRUE(until(exec_came));
	say_exit(peer.stream, &code_3);
	T_TRUE(until(one_ended));
	T_INT(one.code, ERR_PROTOCOL);
	end();
}

static void a_refusal_is_passed_on(void)
{
	AUTO_BUF b = BUF_INIT(512);
	size_t at;

	begin();
	start(&one, 0);
	T_TRUE(until(exec_came));
	add_hello(&b, 2);
	at = frame_begin(&b, FRAME_ERROR, 0, peer.stream);
	error_encode(&b, ERR_LIMIT, "too many commands");
	frame_end(&b, at);
	say(&b);
	T_TRUE(until(one_ended));
	T_INT(one.code, ERR_LIMIT);
	turns();
	T_TRUE(line_is_up(line)); /* only that command failed */
	buf_clear(&b);
	at = frame_begin(&b, FRAME_ERROR, 0, 0);
	error_encode(&b, ERR_DENIED, "go away");
	frame_end(&b, at);
	say(&b);
	T_TRUE(until(is_gone));
	T_INT(gone_code, ERR_DENIED);
	end();
}

/* While the peer does not read, the queue must stay bounded. When the peer reads again, each EXEC
 * must come with its own descriptors. */
static void a_peer_that_does_not_read(void)
{
	static struct job *job[LINE_STREAMS_MAX];
	static char big[100000];
	const char *env[] = { big, NULL }, *argv[] = { "true", NULL };
	struct exec_message m = { .argv = argv, .n_argv = 1, .env = env };
	struct job_owner owner = { .output = on_output, .end = on_end, .arg = &one };
	struct err e = { 0 };
	unsigned n = 0;

	begin();
	memset(big, 'x', sizeof(big) - 1);
	big[1] = '=';
	while (n < LINE_STREAMS_MAX) {
		/* some EXECs are large, have joined streams or have a terminal */
		m.n_env = n % 3 != 1;
		m.flags = n % 5 == 2 ? EXEC_TTY : n % 2 ? EXEC_JOINED : 0;
		if (job_start(line, &m, false, &owner, &job[n], &e) < 0)
			break;
		n++;
	}
	T_INT(e.code, ERR_LIMIT);
	T_TRUE(n > 100 && n < LINE_STREAMS_MAX); /* the queue holds 16 MiB */
	say_hello(2);
	for (unsigned i = 0; i < 2000 && peer.execs < n; i++)
		turns(), peer_read();
	T_INT(peer.execs, n);
	T_TRUE(!peer.closed);
	for (unsigned i = 0; i < n; i++)
		job_free(job[i]);
	T_TRUE(until(signal_came));
	end();
}

static void too_long_a_command(void)
{
	static char big[9 << 20];
	const char *argv[] = { big, NULL };
	struct exec_message m = { .argv = argv, .n_argv = 1 };
	struct job_owner owner = { .output = on_output, .end = on_end, .arg = &one };
	struct err e = { 0 };

	begin();
	memset(big, 'x', sizeof(big) - 1);
	T_INT(job_start(line, &m, false, &owner, &one.job, &e), -1);
	T_INT(e.code, ERR_LIMIT);
	start(&two, 0); /* the line still works */
	T_TRUE(until(exec_came));
	end();
}

static void too_many_commands(void)
{
	static struct owned many[LINE_STREAMS_MAX];
	const char *argv[] = { "true", NULL };
	struct exec_message m = { .argv = argv, .n_argv = 1, .flags = EXEC_TTY };
	struct job_owner owner = { .output = on_output, .end = on_end, .arg = &one };
	struct err e = { 0 };

	begin();
	for (unsigned i = 0; i < LINE_STREAMS_MAX; i++) {
		start(&many[i], EXEC_TTY);
		turns_left = 0;
	}
	T_INT(job_start(line, &m, false, &owner, &one.job, &e), -1);
	T_INT(e.code, ERR_LIMIT);
	for (unsigned i = 0; i < LINE_STREAMS_MAX; i++)
		job_free(many[i].job);
	end();
}

static void say_output(size_t n)
{
	static char body[FRAME_DATA_MAX_BYTES];
	AUTO_BUF b = BUF_INIT(1 << 20);

	memset(body, 'o', sizeof(body));
	frame_put(&b, FRAME_OUTPUT, FRAME_FLAG_JOINED, peer.stream, body, n);
	for (size_t at = 0; at < b.n;) {
		ssize_t k = fdpass_try(peer.fd, b.p + at, b.n - at, NULL, 0);

		at += k > 0 ? (size_t)k : 0;
		line_hear(line);
		if (k < 0 && k != -EAGAIN)
			return;
	}
}

static void output_beyond_the_credit(void)
{
	begin();
	one.stop = true;
	start(&one, EXEC_TTY);
	T_TRUE(until(exec_came));
	say_hello(2);
	for (unsigned i = 0; i < FRAME_CREDIT_BYTES / FRAME_DATA_MAX_BYTES; i++)
		say_output(FRAME_DATA_MAX_BYTES);
	T_INT(one.ends, 0);
	/* the owner takes the first piece and then no more; the job keeps the other pieces */
	T_INT(one.out.n, FRAME_DATA_MAX_BYTES);
	/* allowed, because the taken piece has given this much credit back */
	say_output(FRAME_DATA_MAX_BYTES);
	T_INT(one.ends, 0);
	say_output(1);
	T_TRUE(until(one_ended));
	T_INT(one.code, ERR_PROTOCOL);
	T_TRUE(until(is_gone));
	T_INT(gone_code, ERR_PROTOCOL);
	T_TRUE(until(line_closed));
	end();
}

static void output_of_a_terminal_waits_for_its_owner(void)
{
	begin();
	one.stop = true;
	start(&one, EXEC_TTY);
	T_TRUE(until(exec_came));
	say_hello(2);
	for (unsigned i = 0; i < 4; i++)
		say_output(10000);
	say_exit(peer.stream, &code_3);
	turns();
	T_INT(one.out.n, 10000);
	T_INT(one.ends, 0);
	one.stop = false;
	job_resume(one.job);
	T_INT(one.out.n, 10000); /* job_resume() calls no callback */
	T_TRUE(until(one_ended));
	T_INT(one.out.n, 40000);
	T_INT(one.end.end.code, 3);
	end();
}

static void input_of_a_terminal_waits_for_credit(void)
{
	static char bytes[FRAME_CREDIT_BYTES + 1000];
	AUTO_BUF b = BUF_INIT(64);
	size_t at;

	begin();
	start(&one, EXEC_TTY);
	T_TRUE(until(exec_came));
	say_hello(2);
	T_INT(job_input(one.job, bytes, sizeof(bytes)), FRAME_CREDIT_BYTES);
	T_INT(job_input(one.job, bytes, 1000), 0);
	for (unsigned i = 0; i < 20; i++)
		turns(), peer_read();
	T_INT(peer.input_bytes, FRAME_CREDIT_BYTES);
	T_INT(one.rooms, 0);
	at = frame_begin(&b, FRAME_CREDIT, 0, peer.stream);
	number_encode(&b, 1000);
	frame_end(&b, at);
	say(&b);
	turns();
	T_INT(one.rooms, 1);
	T_INT(job_input(one.job, bytes, 1000), 1000);
	job_input_end(one.job);
	turns();
	peer_read();
	T_INT(peer.input_bytes, sizeof(bytes));
	end();
}

static void grant(size_t n)
{
	AUTO_BUF b = BUF_INIT(64);
	size_t at = frame_begin(&b, FRAME_CREDIT, 0, peer.stream);

	number_encode(&b, n);
	frame_end(&b, at);
	say(&b);
}

static size_t typed; /* how many bytes of input the job has taken */

static bool no_input_waits(void)
{
	peer_read();
	return peer.input_bytes == typed;
}

/* Does this ROUNDS times: offers PIECE bytes of input to the job, lets the peer grant as much as
 * the job took, and calls HEAR, in which the line reads the grant. */
static void type_and_grant(unsigned rounds, size_t piece, void (*hear)(void))
{
	static char bytes[FRAME_CREDIT_BYTES];

	while (rounds-- > 0) {
		ssize_t n = job_input(one.job, bytes, piece);

		if (n < 0)
			return;
		typed += (size_t)n;
		if (n > 0)
			grant((size_t)n);
		hear();
	}
}

static void hear_only(void)
{
	line_hear(line);
}

static void turn_and_read(void)
{
	turns_left = 2;
	until(no_turn_left);
	peer_read();
}

/* The peer grants credit for every byte of input, but reads none. What the line queues is bounded.
 * When the peer reads again, the job learns that there is room. */
static void a_peer_that_grants_but_does_not_read(void)
{
	const size_t pieces[] = { FRAME_CREDIT_BYTES, 1 };

	for (unsigned i = 0; i < ARRAY_SIZE(pieces); i++) {
		size_t most = LINE_INPUT_QUEUE_BYTES_MAX + FRAME_CREDIT_BYTES + (256u << 10);

		begin();
		start(&one, EXEC_TTY);
		T_TRUE(until(exec_came));
		say_hello(2);
		turns();
		peer_read();
		typed = 0;
		type_and_grant(pieces[i] == 1 ? 5000 : 100, pieces[i], hear_only);
		T_TRUE(typed > 0 && typed < (pieces[i] == 1 ? 5000 : most));
		T_TRUE(line_is_up(line));
		T_INT(one.rooms, 0);
		type_and_grant(200, FRAME_CREDIT_BYTES, turn_and_read);
		T_TRUE(one.rooms > 0);
		T_TRUE(typed > most);
		turns();
		peer_read();
		T_TRUE(until(no_input_waits));
		T_INT(peer.input_bytes, typed);
		T_INT(one.ends, 0);
		end();
	}
}

/* The peer sends output and does not read the credit that it gets for the output. */
static void a_peer_that_sends_but_does_not_read(void)
{
	begin();
	start(&two, 0);
	T_TRUE(until(exec_came));
	start(&one, EXEC_TTY);
	T_TRUE(until(second_exec_came));
	say_hello(2);
	turns();
	peer_read();
	for (unsigned i = 0; i < LINE_QUEUE_FOLLOW_UPS_MAX + 2000 && line_is_up(line); i++)
		say_output(FRAME_DATA_MAX_BYTES);
	T_TRUE(!line_is_up(line));
	T_TRUE(until(both_ended));
	T_INT(one.code, ERR_PROTOCOL);
	T_INT(two.code, ERR_PROTOCOL);
	T_TRUE(until(is_gone));
	T_INT(gone_code, ERR_PROTOCOL);
	end();
}

static bool room_came(void)
{
	return one.rooms > 0;
}

static void input_waits_for_the_command(void)
{
	static char bytes[1 << 20];
	ssize_t k;

	begin();
	start_with(&one, 0, true, 0);
	T_TRUE(until(exec_came));
	k = job_input(one.job, bytes, sizeof(bytes));
	T_TRUE(k > 0 && (size_t)k < sizeof(bytes));
	T_INT(job_input(one.job, bytes, 1), 0);
	turns();
	T_INT(one.rooms, 0);
	T_INT(read(peer.ends[0], bytes, (size_t)k), k);
	T_TRUE(until(room_came));
	T_INT(one.rooms, 1);
	T_INT(job_input(one.job, bytes, 10), 10);
	turns();
	T_INT(one.rooms, 1); /* the pipe took all input, so the job does not wait for room */
	job_input_end(one.job);
	T_INT(read(peer.ends[0], bytes, 100), 10);
	T_INT(read(peer.ends[0], bytes, 100), 0);
	T_INT(job_input(one.job, bytes, 1), -EPIPE);
	end();
}

static void input_that_the_command_does_not_read(void)
{
	static char bytes[1 << 20];

	begin();
	start_with(&one, 0, true, 0);
	T_TRUE(until(exec_came));
	T_TRUE(job_input(one.job, bytes, sizeof(bytes)) > 0);
	close_all(peer.ends, &peer.n_ends);
	T_TRUE(until(room_came));
	T_INT(job_input(one.job, bytes, 1), -EPIPE);
	T_INT(one.ends, 0);
	end();
}

static void output_waits_for_its_owner(void)
{
	begin();
	one.stop = true;
	start(&one, 0);
	T_TRUE(until(exec_came));
	print(1, "first");
	turns();
	T_STR(buf_str(&one.out), "first");
	print(1, "second");
	close_all(peer.ends, &peer.n_ends);
	say_hello(2);
	say_exit(peer.stream, &code_3);
	turns();
	T_STR(buf_str(&one.out), "first");
	T_INT(one.ends, 0);
	one.stop = false;
	job_resume(one.job);
	T_TRUE(until(one_ended));
	T_STR(buf_str(&one.out), "firstsecond");
	T_INT(one.end.end.code, 3);
	end();
}

/* After EXIT the owner must still get the command's output, even if the sandbox has ended
 * meanwhile. */
static void a_hang_up_while_output_waits(void)
{
	begin();
	one.stop = true;
	start(&one, 0);
	T_TRUE(until(exec_came));
	print(1, "first");
	turns();
	print(2, "second");
	say_hello(2);
	say_exit(peer.stream, &code_3);
	hang_up();
	T_TRUE(until(is_gone));
	T_INT(one.ends, 0);
	one.stop = false;
	job_resume(one.job);
	T_TRUE(until(one_ended));
	T_STR(buf_str(&one.err), "second");
	T_INT(one.code, ERR_NONE);
	T_INT(one.end.end.code, 3);
	end();
}

static void pipes_of_background_processes_are_left_to_pid_1(void)
{
	begin();
	start(&one, 0);
	T_TRUE(until(exec_came));
	print(1, "out");
	say_hello(2);
	say_exit(peer.stream, &(struct exit_message){ .code = 3 });
	T_TRUE(until(one_ended));
	T_STR(buf_str(&one.out), "out");
	T_INT(one.end.end.code, 3);
	turns();
	peer_read();
	T_INT(peer.leaves, 1);
	T_INT(peer.left, 2);
	end();
}

static void cancelled(void)
{
	begin();
	start(&one, 0);
	start(&two, 0);
	T_TRUE(until(second_exec_came));
	say_hello(2);
	turns();
	job_cancel(two.job);
	job_cancel(two.job);
	T_TRUE(until(signal_came));
	turns();
	peer_read();
	T_INT(peer.signals, 1);
	T_INT(peer.signal, SIGKILL);
	T_INT(peer.signal_flags, FRAME_FLAG_SCOPE);
	say_exit(peer.stream, &(struct exit_message){ .signal = 9, .alone = true });
	wanted = NULL;
	while (!two.ends)
		turns();
	T_INT(one.ends, 0);
	T_TRUE(two.end.cancelled);
	T_INT(two.end.end.signal, 9);
	T_TRUE(line_is_up(line));
	end();
}

/* A pid 1 of protocol 1 knows no frame that kills one command. It kills a command when the client
 * closes the connection. So the line closes the connection to cancel the job. */
static void cancelled_with_an_older_pid_1(void)
{
	struct err e = { 0 };

	for (int early = 0; early < 2; early++) {
		begin();
		start(&one, 0);
		start(&two, 0);
		T_TRUE(until(second_exec_came));
		if (early)
			job_cancel(one.job);
		say_hello(1);
		turns();
		if (!early) {
			T_INT(job_signal(one.job, SIGTERM, false, &e), -1);
			T_INT(e.code, ERR_UNSUPPORTED);
			T_TRUE(line_is_up(line));
			job_cancel(one.job);
			T_TRUE(!line_is_up(line)); /* the line is down at once */
			/* but no callback ran yet */
			T_INT(one.ends, 0);
		}
		T_TRUE(until(both_ended));
		T_TRUE(until(line_closed));
		T_TRUE(one.end.cancelled);
		T_INT(one.code, ERR_UNSUPPORTED);
		T_INT(two.code, ERR_UNSUPPORTED);
		T_INT(gone, 1);
		end();
	}
}

static void signalled(void)
{
	struct err e = { 0 };

	begin();
	start(&one, 0);
	T_TRUE(until(exec_came));
	T_INT(job_signal(one.job, SIGTERM, false, &e), 0);
	T_TRUE(until(signal_came));
	T_INT(peer.signal, SIGTERM);
	T_INT(peer.signal_flags, 0);
	end();
}

/* If the owner calls job_free() while the command runs, the command must be killed, and the line
 * must not call `end` of the owner. */
static void freed_while_it_runs(void)
{
	begin();
	start(&one, 0);
	T_TRUE(until(exec_came));
	say_hello(2);
	turns();
	job_free(TAKE(one.job));
	T_TRUE(until(signal_came));
	T_INT(peer.signal, SIGKILL);
	say_exit(peer.stream, &code_3);
	turns();
	T_INT(one.ends, 0);
	T_TRUE(line_is_up(line));
	end();
}

static void freed_from_callbacks(void)
{
	for (enum free_at when = FREE_JOB_AT_OUTPUT; when <= FREE_ALL_AT_END; when++)
		for (unsigned tty = 0; tty < 2; tty++) {
			begin();
			one.when = when;
			start(&one, tty ? EXEC_TTY : 0);
			T_TRUE(until(exec_came));
			say_hello(2);
			if (tty)
				say_output(100);
			else
				print(1, "out");
			turns();
			if (when != FREE_LINE_AT_OUTPUT)
				say_exit(peer.stream, &code_3);
			turns();
			T_INT(one.ends, when != FREE_JOB_AT_OUTPUT);
			T_TRUE(!one.job);
			end();
		}
}

/* line_free() must end the running jobs of the line: it calls `end` of each job once, with
 * ERR_NOT_RUNNING. It must not call the callback `gone` of the line. */
static void a_freed_line_ends_its_jobs(void)
{
	begin();
	start(&one, 0);
	start(&two, EXEC_TTY);
	line_free(TAKE(line));
	T_INT(one.ends + two.ends, 2);
	T_INT(one.code, ERR_NOT_RUNNING);
	T_INT(gone, 0);
	turns();
	T_INT(one.ends + two.ends, 2);
	end();
}

/* The first command has a timeout, and the second command is cancelled. So for each there is a time
 * by which pid 1 must answer. Both times pass while the loop does not run. The answer to the first
 * command arrives before the loop runs again; the answer to the second never arrives. Only the
 * second command may count as timed out. */
static void a_pid_1_that_does_not_answer(void)
{
	uint32_t first;

	begin();
	start_with(&one, 0, false, 1);
	T_TRUE(until(exec_came));
	first = peer.stream;
	start(&two, 0);
	T_TRUE(until(second_exec_came));
	say_hello(2);
	job_cancel(two.job);
	while (clock_mono_ns() < until_ns - WAIT_NS + 3 * NS_PER_SEC + 10 * NS_PER_MS)
		usleep(1000); /* the loop does not run meanwhile */
	say_exit(first, &code_3);
	T_TRUE(until(both_ended));
	T_INT(one.end.end.code, 3);
	T_TRUE(!one.end.hung && !one.end.end.timed_out);
	T_TRUE(two.end.hung && two.end.end.timed_out && two.end.cancelled);
	T_INT(two.code, ERR_NONE);
	T_TRUE(until(line_closed));
	T_TRUE(until(is_gone));
	T_INT(gone_code, ERR_TIMEOUT);
	end();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	T_RUN(a_command_from_start_to_end);
	T_RUN(streams_are_kept_apart);
	T_RUN(a_hang_up_at_every_step);
	T_RUN(a_hang_up_before_anything_was_read);
	T_RUN(frames_in_single_bytes);
	T_RUN(garbage_ends_the_line);
	T_RUN(frames_before_the_hello_end_the_line);
	T_RUN(a_refusal_is_passed_on);
	T_RUN(a_peer_that_does_not_read);
	T_RUN(too_long_a_command);
	T_RUN(too_many_commands);
	T_RUN(output_beyond_the_credit);
	T_RUN(output_of_a_terminal_waits_for_its_owner);
	T_RUN(input_of_a_terminal_waits_for_credit);
	T_RUN(a_peer_that_grants_but_does_not_read);
	T_RUN(a_peer_that_sends_but_does_not_read);
	T_RUN(input_waits_for_the_command);
	T_RUN(input_that_the_command_does_not_read);
	T_RUN(output_waits_for_its_owner);
	T_RUN(a_hang_up_while_output_waits);
	T_RUN(pipes_of_background_processes_are_left_to_pid_1);
	T_RUN(cancelled);
	T_RUN(cancelled_with_an_older_pid_1);
	T_RUN(signalled);
	T_RUN(freed_while_it_runs);
	T_RUN(freed_from_callbacks);
	T_RUN(a_freed_line_ends_its_jobs);
	T_RUN(a_pid_1_that_does_not_answer);
	return t_end();
}
