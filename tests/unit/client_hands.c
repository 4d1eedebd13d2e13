/* Tests a pool with fake hands. A fake hand answers well, sends its answer in pieces, sends
 * garbage, ends, or never answers. Each fake hand has a process that only sleeps, so that a test
 * sees whether the pool killed this process. */
#include "client/hands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "t.h"

#define WAIT_NS (10 * NS_PER_SEC) /* longer than anything here takes */
#define FAKES 2

static struct loop *loop;
static struct hands *pool;
static int channel; /* the foreman's end */
static unsigned gone;

/* --- the loop -------------------------------------------------------------------------------- */

static bool (*wanted)(void);
static uint64_t until_ns;

static void look(void *arg)
{
	if (wanted() || clock_mono_ns() > until_ns)
		loop_stop(loop);
	else
		loop_add_timer(loop, clock_mono_ns() + NS_PER_MS / 2, look, NULL);
}

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

/* --- fake hands --------------------------------------------------------------------- */

static struct fake {
	int sock;
	pid_t pid;
	bool killed;
	struct buf in;
	unsigned requests;
	char name[16]; /* name in the last START */
} fake[FAKES];

static void add_fake(struct fake *f)
{
	AUTO_FD pidfd = -1;
	int pair[2];

	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	*f = (struct fake){ .sock = pair[0], .in = BUF_INIT(FRAME_BODY_MAX_BYTES * 2) };
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	f->pid = fork();
	if (f->pid == 0) {
		/* close the inherited sockets, so that only the test and the pool hold them */
		close_range(3, ~0u, 0);
		pause();
		_exit(0);
	}
	pidfd = sys_pidfd_open(f->pid);
	T_INT(fdpass_send(channel, "h", 1, (int[]){ pair[1], pidfd }, 2), 0);
	close(pair[1]);
}

static int take_request(void *arg, const struct frame *f)
{
	struct fake *d = arg;
	struct hand_request q;

	T_INT(f->type, FRAME_HAND_REQUEST);
	T_INT(hand_request_decode(f->body, &q), 0);
	snprintf(d->name, sizeof(d->name), "%s", q.name ? q.name : "");
	d->requests++;
	return 0;
}

static void hear(struct fake *f)
{
	char chunk[8192];
	ssize_t n;

	while (f->sock >= 0 && (n = recv(f->sock, chunk, sizeof(chunk), MSG_DONTWAIT)) > 0)
		T_INT(frame_feed(&f->in, chunk, (size_t)n, take_request, f), 0);
}

static bool first_asked(void)
{
	hear(&fake[0]);
	return fake[0].requests > 0;
}

static bool second_asked(void)
{
	hear(&fake[1]);
	return fake[1].requests > 0;
}

static void answer_frame(struct buf *b, const struct hand_answer *a)
{
	size_t at = frame_begin(b, FRAME_HAND_ANSWER, 0, 0);

	hand_answer_encode(b, a);
	frame_end(b, at);
}

/* Answers with N descriptors, which are ends of pipes. KEPT gets the other ends. */
static void say(struct fake *f, const struct hand_answer *a, unsigned n, int *kept)
{
	AUTO_BUF b = BUF_INIT(65536);
	int fds[4], pair[2];

	for (unsigned i = 0; i < n; i++) {
		T_INT(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
		kept[i] = pair[0];
		fds[i] = pair[1];
	}
	answer_frame(&b, a);
	T_INT(fdpass_send(f->sock, b.p, b.n, fds, n), 0);
	while (n > 0)
		close(fds[--n]);
}

static const struct hand_answer good;

/* Returns true if the other end of the pipe FD is closed. */
static bool is_closed(int fd)
{
	char c;

	return read(fd, &c, 1) == 0;
}

static bool was_killed(struct fake *f)
{
	int status;

	if (f->pid > 0 && waitpid(f->pid, &status, WNOHANG) == f->pid) {
		f->pid = 0;
		f->killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	}
	return f->killed;
}

static bool first_killed(void)
{
	return was_killed(&fake[0]);
}

/* --- the owner ------------------------------------------------------------------------------- */

static struct owned {
	struct hands_request *request;
	unsigned answers;
	enum err_code code;
	char text[ERR_MSG_BYTES], warnings[32];
	int leash, connection;
	uint64_t bytes;
	bool frees_pool;
} one, two;

static void on_answer(void *arg, const struct hands_answer *a)
{
	struct owned *o = arg;

	o->answers++;
	o->code = a->err ? a->err->code : ERR_NONE;
	snprintf(o->text, sizeof(o->text), "%s", a->err ? a->err->msg : "");
	snprintf(o->warnings, sizeof(o->warnings), "%s", a->err ? "" : a->warnings);
	o->leash = a->leash;
	o->connection = a->connection;
	o->bytes = a->bytes;
	if (o->frees_pool) {
		hands_free(pool);
		pool = NULL;
	}
}

static void on_gone(void *arg)
{
	gone++;
}

static bool first_answered(void)
{
	return one.answers > 0;
}

static bool second_answered(void)
{
	return two.answers > 0;
}

static bool foreman_is_gone(void)
{
	return gone > 0;
}

static int ask_within(struct owned *o, const struct hand_request *q, uint64_t ns, struct err *e)
{
	*o = (struct owned){ .leash = -1, .connection = -1 };
	return hands_ask(pool, q, clock_mono_ns() + ns, on_answer, o, &o->request, e);
}

static void start(struct owned *o, const char *name)
{
	struct err e = { 0 };

	T_INT(ask_within(o, &(struct hand_request){ .task = HAND_START, .name = name }, WAIT_NS,
			 &e),
	      0);
}

static void sweep(struct owned *o, uint64_t ns)
{
	struct err e = { 0 };

	T_INT(ask_within(o, &(struct hand_request){ .task = HAND_SWEEP }, ns, &e), 0);
}

/* Makes a pool with N hands. */
static void begin(unsigned n)
{
	struct err e = { 0 };
	int pair[2];

	gone = 0;
	one = two = (struct owned){ .leash = -1, .connection = -1 };
	for (unsigned i = 0; i < FAKES; i++)
		fake[i] = (struct fake){ .sock = -1 };
	T_INT(loop_new(&loop), 0);
	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	channel = pair[0];
	T_INT(hands_new(loop, pair[1], on_gone, NULL, &pool, &e), 0);
	for (unsigned i = 0; i < n; i++)
		add_fake(&fake[i]);
}

static void end(void)
{
	hands_free(TAKE(pool));
	for (unsigned i = 0; i < FAKES; i++) {
		fd_closep(&fake[i].sock);
		buf_done(&fake[i].in);
		if (fake[i].pid > 0) {
			kill(fake[i].pid, SIGKILL);
			waitpid(fake[i].pid, NULL, 0);
		}
	}
	fd_closep(&channel);
	loop_free(loop);
}

/* --- tests ----------------------------------------------------------------------------------- */

static void a_request_and_its_answer(void)
{
	int kept[2];

	begin(1);
	start(&one, "a");
	T_TRUE(until(first_asked));
	T_STR(fake[0].name, "a");
	say(&fake[0], &(struct hand_answer){ .warnings = "careful" }, 2, kept);
	T_TRUE(until(first_answered));
	T_INT(one.code, ERR_NONE);
	T_STR(one.warnings, "careful");
	T_TRUE(one.leash >= 0 && one.connection >= 0);
	fd_closep(&one.leash);
	/* kept[0] belongs to the leash, which the line above closed */
	T_TRUE(is_closed(kept[0]) && !is_closed(kept[1]));
	fd_closep(&one.connection);
	T_TRUE(is_closed(kept[1]));
	close(kept[0]);
	close(kept[1]);
	end();
}

static void an_error_is_passed_on(void)
{
	begin(1);
	start(&one, "a");
	T_TRUE(until(first_asked));
	say(&fake[0], &(struct hand_answer){ .code = ERR_BUSY, .text = "not now" }, 0, NULL);
	T_TRUE(until(first_answered));
	T_INT(one.code, ERR_BUSY);
	T_STR(one.text, "not now");
	/* an error of a request does not end the hand: the hand gets the next request */
	start(&two, "b");
	T_TRUE(until(first_asked));
	end();
}

/* Each hand gets one request at a time, in the order of the requests. */
static void requests_wait_for_a_hand(void)
{
	begin(1);
	sweep(&one, WAIT_NS);
	start(&two, "later");
	T_TRUE(until(first_asked));
	turns();
	hear(&fake[0]);
	T_INT(fake[0].requests, 1);
	say(&fake[0], &good, 0, NULL);
	T_TRUE(until(first_answered));
	fake[0].requests = 0;
	T_TRUE(until(first_asked));
	T_STR(fake[0].name, "later");
	end();
}

static void hands_may_come_late(void)
{
	begin(0);
	sweep(&one, WAIT_NS);
	turns();
	add_fake(&fake[0]);
	T_TRUE(until(first_asked));
	say(&fake[0], &(struct hand_answer){ .bytes = 5 }, 0, NULL);
	T_TRUE(until(first_answered));
	T_INT(one.bytes, 5);
	end();
}

static void an_answer_in_single_bytes(void)
{
	AUTO_BUF b = BUF_INIT(256);

	begin(1);
	sweep(&one, WAIT_NS);
	T_TRUE(until(first_asked));
	answer_frame(&b, &(struct hand_answer){ .bytes = 77 });
	for (size_t i = 0; i < b.n; i++) {
		T_INT(one.answers, 0);
		T_INT(send(fake[0].sock, b.p + i, 1, 0), 1);
		turns();
	}
	T_TRUE(until(first_answered));
	T_INT(one.bytes, 77);
	end();
}

static void a_request_larger_than_a_socket_takes(void)
{
	AUTO_FREE char *name = xmalloc(4 << 20);
	struct hand_request q = { .task = HAND_START, .name = name };
	struct err e = { 0 };

	memset(name, 'x', (4 << 20) - 1);
	name[(4 << 20) - 1] = '\0';
	begin(1);
	T_INT(ask_within(&one, &q, WAIT_NS, &e), 0);
	T_TRUE(until(first_asked));
	T_STR(fake[0].name, "xxxxxxxxxxxxxxx");
	end();
}

/* If a hand ends, only the request that it was serving fails. The request of the other hand goes
 * on. */
static void a_hand_ends(void)
{
	begin(2);
	sweep(&one, WAIT_NS);
	sweep(&two, WAIT_NS);
	T_TRUE(until(first_asked));
	T_TRUE(until(second_asked));
	fd_closep(&fake[0].sock);
	T_TRUE(until(first_answered));
	T_INT(one.code, ERR_SYSTEM);
	T_STR(one.text, "a worker process (cordon-hand) ended before it answered");
	T_INT(two.answers, 0);
	say(&fake[1], &good, 0, NULL);
	T_TRUE(until(second_answered));
	T_INT(two.code, ERR_NONE);
	end();
}

static void a_hand_ends_during_its_answer(void)
{
	AUTO_BUF b = BUF_INIT(256);
	int pair[2];

	begin(1);
	start(&one, "a");
	T_TRUE(until(first_asked));
	answer_frame(&b, &good);
	T_INT(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
	T_INT(fdpass_send(fake[0].sock, b.p, b.n - 1, (int[]){ pair[1] }, 1), 0);
	close(pair[1]);
	turns();
	fd_closep(&fake[0].sock);
	T_TRUE(until(first_answered));
	T_INT(one.code, ERR_SYSTEM);
	T_TRUE(is_closed(pair[0])); /* the descriptors that arrived are closed */
	close(pair[0]);
	end();
}

/* A hand ends before the pool has sent it the request. Another hand must get the request. */
static void a_request_of_a_dead_hand_goes_to_another_hand(void)
{
	begin(1);
	turns();
	fd_closep(&fake[0].sock);
	start(&one, "a");
	add_fake(&fake[1]);
	T_TRUE(until(second_asked));
	T_STR(fake[1].name, "a");
	T_INT(one.answers, 0);
	end();
}

static void garbage_ends_a_hand(void)
{
	static const char huge[12] = { 0, 0, 0, 0x7f };
	AUTO_BUF other = BUF_INIT(256), bad = BUF_INIT(256);
	size_t at;

	frame_put(&other, FRAME_PONG, 0, 0, NULL, 0);
	at = frame_begin(&bad, FRAME_HAND_ANSWER, 0, 0);
	field_put_u64(&bad, 10, ERR_CODE_COUNT);
	frame_end(&bad, at);
	for (int i = 0; i < 4; i++) {
		begin(1);
		if (i < 3) {
			sweep(&one, WAIT_NS);
			T_TRUE(until(first_asked));
		} else {
			turns();
		}
		if (i == 0)
			T_INT(send(fake[0].sock, huge, sizeof(huge), 0), sizeof(huge));
		else if (i == 1)
			T_INT(send(fake[0].sock, other.p, other.n, 0), other.n);
		else if (i == 2)
			T_INT(send(fake[0].sock, bad.p, bad.n, 0), bad.n);
		else
			say(&fake[0], &good, 0, NULL); /* an answer without a request */
		if (i < 3) {
			T_TRUE(until(first_answered));
			T_INT(one.code, ERR_PROTOCOL);
		}
		T_TRUE(until(first_killed));
		end();
	}
}

/* The answer for a new sandbox must have two descriptors. Every other answer must have none. */
static void unexpected_descriptors_end_a_hand(void)
{
	static const struct {
		bool sandbox;
		unsigned code, n;
		enum err_code want;
	} cases[] = { { true, ERR_NONE, 0, ERR_PROTOCOL },
		      { true, ERR_NONE, 1, ERR_PROTOCOL },
		      { true, ERR_BUSY, 2, ERR_PROTOCOL },
		      { true, ERR_NONE, 3, ERR_SYSTEM },
		      { false, ERR_NONE, 2, ERR_PROTOCOL } };
	int kept[4];

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(1);
		if (cases[i].sandbox)
			start(&one, "a");
		else
			sweep(&one, WAIT_NS);
		T_TRUE(until(first_asked));
		say(&fake[0], &(struct hand_answer){ .code = cases[i].code }, cases[i].n, kept);
		T_TRUE(until(first_answered));
		T_INT(one.code, cases[i].want);
		for (unsigned k = 0; k < cases[i].n; k++) {
			T_TRUE(is_closed(kept[k]));
			close(kept[k]);
		}
		T_TRUE(until(first_killed));
		end();
	}
}

static void a_deadline_kills_the_hand(void)
{
	begin(1);
	sweep(&one, 20 * NS_PER_MS);
	sweep(&two, WAIT_NS);
	T_TRUE(until(first_answered));
	T_INT(one.code, ERR_TIMEOUT);
	T_STR(one.text, "it took too long and was given up");
	T_TRUE(until(first_killed));
	T_INT(two.answers, 0);
	add_fake(&fake[1]);
	T_TRUE(until(second_asked)); /* the next hand serves the queue */
	end();
}

static void a_deadline_in_the_queue_kills_no_hand(void)
{
	begin(1);
	sweep(&two, WAIT_NS);
	T_TRUE(until(first_asked));
	sweep(&one, 20 * NS_PER_MS);
	T_TRUE(until(first_answered));
	T_INT(one.code, ERR_TIMEOUT);
	T_STR(one.text, "too many requests were in front of this one");
	turns();
	T_TRUE(!first_killed());
	say(&fake[0], &good, 0, NULL);
	T_TRUE(until(second_answered));
	end();
}

static void dropped_requests(void)
{
	int kept[2];

	begin(1);
	start(&one, "a");
	sweep(&two, WAIT_NS);
	T_TRUE(until(first_asked));
	hands_drop(two.request); /* this request is queued */
	hands_drop(one.request); /* this request is being served */
	say(&fake[0], &good, 2, kept);
	turns();
	T_INT(one.answers + two.answers, 0);
	/* the pool closed the leash that came with the answer, so the new sandbox ends */
	T_TRUE(is_closed(kept[0]) && is_closed(kept[1]));
	close(kept[0]);
	close(kept[1]);
	hear(&fake[0]);
	T_INT(fake[0].requests, 1);
	end();
}

static void the_queue_is_bounded(void)
{
	static struct owned many[HANDS_QUEUE_MAX];
	AUTO_FREE char *name = xmalloc(7 << 20);
	struct hand_request large = { .task = HAND_START, .name = name };
	struct err e = { 0 };
	unsigned n = 0;

	begin(0);
	for (unsigned i = 0; i < HANDS_QUEUE_MAX; i++)
		sweep(&many[i], WAIT_NS);
	T_INT(ask_within(&one, &(struct hand_request){ .task = HAND_SWEEP }, WAIT_NS, &e), -1);
	T_INT(e.code, ERR_LIMIT);
	for (unsigned i = 0; i < HANDS_QUEUE_MAX; i++)
		hands_drop(many[i].request);
	memset(name, 'x', (7 << 20) - 1);
	name[(7 << 20) - 1] = '\0';
	while (n < 20 && ask_within(&many[n], &large, WAIT_NS, &e) == 0)
		n++;
	T_INT(n, HANDS_QUEUE_BYTES_MAX / (7 << 20));
	T_INT(e.code, ERR_LIMIT);
	end();
	begin(0);
	large.spec = (struct str){ name, 7 << 20 };
	T_INT(ask_within(&one, &large, WAIT_NS, &e), -1);
	T_STR(e.msg, "the request is too long");
	end();
}

static void freed_from_a_callback(void)
{
	for (int i = 0; i < 2; i++) {
		begin(2);
		sweep(&one, i ? 20 * NS_PER_MS : WAIT_NS);
		sweep(&two, WAIT_NS);
		one.frees_pool = true;
		T_TRUE(until(first_asked));
		if (i == 0)
			say(&fake[0], &good, 0, NULL);
		T_TRUE(until(first_answered));
		turns();
		T_INT(two.answers, 0);
		T_TRUE(until(first_killed));
		end();
	}
}

static void the_foreman_ends(void)
{
	begin(1);
	sweep(&one, WAIT_NS);
	T_TRUE(until(first_asked));
	fd_closep(&channel);
	T_TRUE(until(foreman_is_gone));
	say(&fake[0], &good, 0, NULL);
	T_TRUE(until(first_answered)); /* a hand that the foreman started earlier still answers */
	T_INT(gone, 1);
	end();
}

int main(void)
{
	T_RUN(a_request_and_its_answer);
	T_RUN(an_error_is_passed_on);
	T_RUN(requests_wait_for_a_hand);
	T_RUN(hands_may_come_late);
	T_RUN(an_answer_in_single_bytes);
	T_RUN(a_request_larger_than_a_socket_takes);
	T_RUN(a_hand_ends);
	T_RUN(a_hand_ends_during_its_answer);
	T_RUN(a_request_of_a_dead_hand_goes_to_another_hand);
	T_RUN(garbage_ends_a_hand);
	T_RUN(unexpected_descriptors_end_a_hand);
	T_RUN(a_deadline_kills_the_hand);
	T_RUN(a_deadline_in_the_queue_kills_no_hand);
	T_RUN(dropped_requests);
	T_RUN(the_queue_is_bounded);
	T_RUN(freed_from_a_callback);
	T_RUN(the_foreman_ends);
	return t_end();
}
