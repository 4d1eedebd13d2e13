/*
 * A session is one command: from EXEC to EXIT, on a stream of a connection or detached.
 *
 *   piped     the client holds the other ends of the command's pipes; we only watch the process
 *   terminal  we hold the master; output flows as frames within the client's credit, and into a
 *             ring while nobody is attached
 *   detached  we hold the pipes; output goes to the log
 *   files     our own file agent instead of a program; we relay between its socket and the client
 *             within credits, exactly as for a terminal, but never without the client
 *
 * A session ends when its direct child does. If it must be ended (time-out, client gone), its scope
 * is killed first and the end is reported when the child is reaped.
 */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/agent.h"
#include "guest/environ.h"
#include "guest/pipes.h"
#include "guest/terminal.h"
#include "wire/file.h"

#define TERMINAL_CHUNK_BYTES 16384
#define TURNS 16
#define LAST_TURNS 64 /* 1 MiB: more than a terminal or a socket holds */
#define TERMINAL_EOF "\x04"

static void on_master(void *arg, int fd, uint32_t events);

/* --- reporting ------------------------------------------------------------------------------- */

static void send_exit(struct connection *c, uint32_t stream, const struct exit_message *m)
{
	AUTO_BUF b = BUF_INIT(4096);

	exit_encode(&b, m);
	connection_send(c, FRAME_EXIT, 0, stream, b.p, b.n);
}

static void send_error(struct connection *c, uint32_t stream, const struct err *e)
{
	AUTO_BUF b = BUF_INIT(4096);

	error_encode(&b, (unsigned)e->code, e->msg);
	connection_send(c, FRAME_ERROR, 0, stream, b.p, b.n);
}

static void add_started(const struct session *s, struct connection *c)
{
	AUTO_BUF b = BUF_INIT(64);

	started_encode(&b, s->id);
	connection_add(c, FRAME_STARTED, 0, s->stream, b.p, b.n);
}

static void send_started(const struct session *s, struct connection *c)
{
	add_started(s, c);
	connection_flush(c);
}

static void report_activity(struct guest *g)
{
	if (g->boot.report_activity)
		channel_send(g, FRAME_ACTIVITY, g->n_running ? FRAME_FLAG_BUSY : 0, 0, NULL, 0);
}

/* True when the kernel killed for memory since we last looked. */
static bool memory_was_short(struct guest *g)
{
	char text[512] = "";
	uint64_t n = 0;
	char *at;

	if (g->oom_fd < 0 || pread(g->oom_fd, text, sizeof(text) - 1, 0) <= 0)
		return false;
	at = strstr(text, "oom_kill ");
	for (at = at ? at + 9 : text; *at >= '0' && *at <= '9'; at++)
		n = n * 10 + (uint64_t)(*at - '0');
	if (n <= g->oom_seen)
		return false;
	g->oom_seen = n;
	return true;
}

/* --- end ------------------------------------------------------------------------------------- */

static void drop_held(struct session *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->held); i++)
		fd_closep(&s->held[i]);
}

/* Everything is over, and nobody has yet to take what came last. */
static void quit_if_idle(struct guest *g)
{
	const struct session *s = g->sessions;

	while (s && !s->connection)
		s = s->next;
	if (g->quits && !g->n_running && !s)
		channel_send(g, FRAME_EXIT, 0, 0, NULL, 0);
}

/* The supervisor ends the sandbox, and us. */
static void tell_supervisor(struct session *s)
{
	AUTO_BUF b = BUF_INIT(4096);

	exit_encode(&b, &s->end);
	channel_send(s->guest, FRAME_EXIT, 0, (uint32_t)s->id, b.p, b.n);
	s->flags &= ~(unsigned)EXEC_MAIN; /* once */
}

static void session_free(struct session *s)
{
	struct guest *g = s->guest;
	struct session **at = &g->sessions;

	if (s->finished && s->flags & EXEC_MAIN)
		tell_supervisor(s);
	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
	loop_remove(g->loop, &s->timer);
	loop_remove(g->loop, &s->order_timer);
	loop_remove(g->loop, &s->kill_timer);
	loop_remove(g->loop, &s->master_watch);
	fd_closep(&s->master);
	drop_held(s);
	scope_close(&g->scopes, &s->scope);
	buf_done(&s->input);
	buf_done(&s->ring);
	free(s);
	quit_if_idle(g);
}

/* Frees a session that nobody needs any more. */
static void session_release(struct session *s)
{
	if (s->finished && !s->connection && !s->kill_timer)
		session_free(s);
}

/* The child is reaped and its output passed on. The session stays while passes over its scope go
 * on, and until the client shows that it took the news: a client's death breaks the pipes too, and
 * the command may die of that before the hang-up comes. That was no normal end. */
static void session_finish(struct session *s)
{
	if (s->connection)
		send_exit(s->connection, s->stream, &s->end);
	/* while something waits for a slow client, it could not be told any more: session_free() does it */
	if (s->flags & EXEC_MAIN && !(s->connection && s->connection->out.n))
		tell_supervisor(s);
	loop_remove(s->guest->loop, &s->master_watch);
	fd_closep(&s->master);
	drop_held(s);
	s->finished = true;
	session_release(s);
}

static void rest_if_idle(struct guest *g)
{
	if (g->n_running)
		return;
	report_activity(g);
	quit_if_idle(g);
}

/* The command is over, and so is what it left behind if that was asked for: passes on the last output and
 * tells the end. */
static void session_conclude(struct session *s)
{
	struct guest *g = s->guest;

	s->emptying = false;
	g->n_running--;
	s->end.timed_out = s->timed_out;
	s->end.swept = s->swept;
	s->end.alone = s->held[1] >= 0 && scope_is_over(&g->scopes, &s->scope);
	if (!s->end.alone) /* else the client need not be woken by the ends of its pipes */
		drop_held(s);
	if (s->master >= 0)
		on_master(s, s->master, LOOP_READ); /* pass on what is there, then finish */
	else
		session_finish(s);
	rest_if_idle(g);
}

static void session_kill(struct session *s);

static void session_ended(struct session *s, int status)
{
	struct guest *g = s->guest;

	s->ended = true;
	s->pid = -1;
	if (WIFSIGNALED(status))
		s->end.signal = (uint32_t)WTERMSIG(status);
	else
		s->end.code = (uint32_t)WEXITSTATUS(status);
	if (s->end.signal == SIGKILL || s->end.code == 128 + SIGKILL)
		s->end.out_of_memory = memory_was_short(g);
	loop_remove(g->loop, &s->timer);
	loop_remove(g->loop, &s->order_timer);
	if (!(s->flags & EXEC_WHOLE) || scope_is_over(&g->scopes, &s->scope)) {
		session_conclude(s);
		return;
	}
	s->emptying = true;
	session_kill(s);
}

/* The program could not be executed: such a command has no number. */
static void session_failed(struct session *s, struct connection *c, enum exec_failure failure,
			   int err)
{
	struct guest *g = s->guest;

	if (s->pid > 0)
		IGNORE(waitpid(s->pid, NULL, __WALL)); /* it exited at once */
	if (c)
		send_exit(c, s->stream, &(struct exit_message){ .failure = failure, .sys = err });
	if (g->next_session == s->id)
		g->next_session--;
	session_free(s);
}

/* --- what a launcher was told to start ------------------------------------------------------- */

static pid_t command_of(const struct session *s)
{
	return s->ordered && s->pid == 0 ? launcher_command(s->scope.launcher) : s->pid;
}

static void ordered_failed(struct session *s, enum exec_failure failure, int err)
{
	struct guest *g = s->guest;

	g->n_running--;
	session_failed(s, s->connection, failure, err);
	rest_if_idle(g);
}

static void on_order_overdue(void *arg);

/* Finds out whether there is a command. If not, and if its launcher had time enough, starts it here. */
static void settle_order(struct session *s, bool had_time)
{
	struct guest *g = s->guest;
	enum exec_failure failure = EXEC_OK;
	int err = 0;

	loop_remove(g->loop, &s->order_timer);
	if (s->connection)
		connection_flush(s->connection);
	s->pid = launcher_command(s->scope.launcher);
	if (s->pid == 0 && !had_time && launcher_tries(s->scope.launcher)) {
		s->order_timer = loop_add_timer(
			g->loop, clock_mono_ns() + GUEST_ORDER_PATIENCE_MS * NS_PER_MS,
			on_order_overdue, s);
		return;
	}
	if (s->pid == 0)
		s->pid = launcher_end(s->scope.launcher);
	if (s->pid == 0 && (s->scope.killed || s->swept || s->end.ended || g->stopping)) {
		session_ended(s, SIGKILL); /* as a status of wait() */
		return;
	}
	if (s->pid == 0)
		s->pid = scope_start_ordered(&g->scopes, &s->scope, &failure, &err);
	s->ordered = s->scope.launcher;
	if (failure) {
		ordered_failed(s, failure, err);
		return;
	}
	fd_closep(&s->held[0]); /* or the client would not see that the command closed it */
	if (s->early_signal && s->pid > 0)
		kill(s->pid, s->early_signal);
	s->early_signal = 0;
}

static void on_order_due(void *arg)
{
	settle_order(arg, false);
}

static void on_order_overdue(void *arg)
{
	settle_order(arg, true);
}

static bool is_in_use(const struct connection *c)
{
	const struct session *s = c->guest->sessions;

	while (s && (s->connection != c || s->finished))
		s = s->next;
	return s != NULL;
}

static void command_ended(struct session *s, int status)
{
	const struct exec_job *j = s->ordered ? launcher_job(s->scope.launcher) : NULL;
	struct connection *last = s->flags & EXEC_LAST ? s->connection : NULL;

	s->pid = -1;
	if (j && j->failure) {
		ordered_failed(s, j->failure, j->err);
		return;
	}
	session_ended(s, status);
	if (last && s->end.alone && !is_in_use(last)) /* a session with a client is not freed */
		connection_end(last);
}

/* The deputy does not count: it was born without a signal for its end, as nobody else is. */
static bool has_children(void)
{
	return waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT) == 0 ||
	       errno != ECHILD;
}

static void reaped(struct guest *g, pid_t pid, int status)
{
	scopes_reaped(&g->scopes, pid);
	for (struct session *s = g->sessions; s; s = s->next) {
		if (command_of(s) == pid) { /* ended ones have -1 */
			command_ended(s, status);
			return;
		}
		if (!s->scope.launcher || launcher_pid(s->scope.launcher) != pid)
			continue;
		launcher_reaped(s->scope.launcher, pid);
		if (s->ordered && s->pid == 0)
			settle_order(s, true);
		return;
	}
}

void sessions_reap(struct guest *g)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0 || (pid < 0 && errno == EINTR))
		if (pid > 0)
			reaped(g, pid, status);
	if (g->stopping && !has_children())
		_exit(0);
	presence_may_end(g);
}

/* --- killing --------------------------------------------------------------------------------- */

static void kill_pass(void *arg)
{
	struct session *s = arg;

	s->kill_timer = 0;
	switch (scope_kill(&s->guest->scopes, &s->scope)) {
	case SCOPE_AGAIN:
		s->kill_timer = loop_add_timer(s->guest->loop, clock_mono_ns(), kill_pass, s);
		return;
	case SCOPE_SWEPT:
		for (struct session *o = s->guest->sessions; o; o = o->next)
			o->swept = true;
		break;
	case SCOPE_DONE:
		break;
	}
	if (s->emptying)
		session_conclude(s); /* may free it */
	else
		session_release(s);
}

static void session_kill(struct session *s)
{
	pid_t pid = command_of(s);

	if (pid > 0)
		kill(pid, SIGKILL);
	if (!s->kill_timer)
		kill_pass(s);
}

void sessions_end(struct guest *g, enum end_reason why)
{
	for (struct session *s = g->sessions; s; s = s->next)
		if (!s->ended)
			s->end.ended = why;
	scopes_kill(&g->scopes);
}

void session_signal(struct session *s, unsigned flags, struct str body)
{
	pid_t pid = command_of(s);
	uint64_t sig;

	if (s->ended || number_decode(body, &sig) < 0 || sig == 0 || sig > (uint64_t)SIGRTMAX)
		return;
	if (flags & FRAME_FLAG_SCOPE && sig == SIGKILL)
		session_kill(s);
	else if (pid == 0)
		s->early_signal = (int)sig; /* its launcher is about to start it */
	else if (flags & FRAME_FLAG_SCOPE)
		scope_signal(&s->scope, (int)sig);
	else
		kill(pid, (int)sig);
}

static void on_timeout(void *arg)
{
	struct session *s = arg;

	s->timer = 0;
	s->timed_out = true;
	session_kill(s);
}

/* --- terminal -------------------------------------------------------------------------------- */

static void watch_master(struct session *s)
{
	bool may_read = !s->connection || s->credit > 0;
	uint32_t events = (may_read ? LOOP_READ : 0) | (s->input.n ? LOOP_WRITE : 0) |
			  (s->hung_up ? LOOP_EDGE : 0); /* else told again and again */

	if (s->master_watch)
		loop_change_fd(s->guest->loop, s->master_watch, events);
	else if (events)
		s->master_watch = loop_add_fd(s->guest->loop, s->master, events, on_master, s);
}

static void keep_in_ring(struct session *s, const char *p, size_t n)
{
	buf_add(&s->ring, p, n);
	if (s->ring.n > 2 * GUEST_RING_BYTES - TERMINAL_CHUNK_BYTES) /* seldom: moving it costs */
		buf_drop(&s->ring, s->ring.n - GUEST_RING_BYTES);
}

static void pass_output(struct session *s, const char *p, size_t n)
{
	if (s->connection) {
		s->credit -= (uint32_t)n;
		connection_send(s->connection, FRAME_OUTPUT, FRAME_FLAG_JOINED, s->stream, p, n);
	} else if (!s->files) {
		keep_in_ring(s, p, n);
		channel_log(s->guest, s->id, FRAME_FLAG_JOINED, p, n);
	}
}

static void feed_terminal(struct session *s)
{
	AUTO_BUF grant = BUF_INIT(64);
	size_t before = s->input.n;

	while (s->input.n) {
		ssize_t n = write(s->master, s->input.p, s->input.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		buf_drop(&s->input, (size_t)n);
	}
	if (s->connection && before > s->input.n) {
		number_encode(&grant, before - s->input.n);
		connection_send(s->connection, FRAME_CREDIT, 0, s->stream, grant.p, grant.n);
	}
	if (s->files && s->input_closed && s->input.n == 0)
		IGNORE(shutdown(s->master, SHUT_WR)); /* it may have gone already */
}

static void on_master(void *arg, int fd, uint32_t events)
{
	struct session *s = arg;
	char chunk[TERMINAL_CHUNK_BYTES];
	bool gone = false;

	if (events & LOOP_WRITE)
		feed_terminal(s);
	/* the last time takes what was there at the end, and not what others may add for ever */
	for (unsigned turn = 0; turn < (s->ended ? LAST_TURNS : TURNS); turn++) {
		size_t room = !s->connection              ? sizeof(chunk)
			      : s->credit < sizeof(chunk) ? s->credit
							  : sizeof(chunk);
		ssize_t n = room ? read(fd, chunk, room) : -1;

		if (room == 0) { /* more when the client grants credit, also after the end */
			if (events & LOOP_HANGUP) /* told again and again, whatever is asked for */
				loop_remove(s->guest->loop, &s->master_watch);
			else
				watch_master(s);
			return;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			gone = n == 0 || errno != EAGAIN; /* EIO: nobody holds the slave */
			break;
		}
		pass_output(s, chunk, (size_t)n);
	}
	if (s->ended && !s->emptying) { /* else session_conclude() comes here again */
		session_finish(s);
		return;
	}
	s->hung_up = gone; /* not for good: who has it as controlling terminal can open it again */
	watch_master(s);
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r' || c == TERMINAL_EOF[0];
}

void session_input(struct session *s, struct str data)
{
	if (s->master < 0 || s->ended || s->input_closed)
		return;
	if (data.n == 0) {
		s->input_closed = true;
		if (s->within_line) /* this one only hands over what there is of it */
			buf_add_str(&s->input, TERMINAL_EOF);
		buf_add_str(&s->input, s->files ? "" : TERMINAL_EOF);
	} else {
		buf_add(&s->input, data.p, data.n);
		s->within_line = !s->files && !ends_line(data.p[data.n - 1]);
	}
	if (buf_failed(&s->input)) { /* beyond its credit: a broken client */
		session_kill(s);
		return;
	}
	feed_terminal(s);
	watch_master(s);
}

void session_credit(struct session *s, struct str body)
{
	uint64_t n;

	if (s->master < 0 || number_decode(body, &n) < 0 || n > FRAME_CREDIT_BYTES ||
	    s->credit + n > FRAME_CREDIT_BYTES)
		return;
	s->credit += (uint32_t)n;
	if (s->ended)
		on_master(s, s->master, LOOP_READ);
	else
		watch_master(s);
}

void session_resize(struct session *s, struct str body)
{
	uint32_t rows, cols;

	if (s->master >= 0 && !s->files && size_decode(body, &rows, &cols) == 0)
		terminal_resize(s->master, rows, cols);
}

void session_detach(struct session *s)
{
	if (s->master < 0 || s->files)
		return;
	s->connection = NULL;
	watch_master(s);
	if (s->ended)
		on_master(s, s->master, LOOP_READ);
}

void session_attach(struct connection *c, uint32_t stream, struct str body)
{
	struct session *found = NULL;
	struct err e;
	uint64_t id;

	if (number_decode(body, &id) < 0)
		id = 0;
	for (struct session *s = c->guest->sessions; s; s = s->next)
		if (s->master >= 0 && !s->files && !s->ended &&
		    (id ? s->id == id : !s->connection) && (!found || s->id > found->id))
			found = s;
	if (!found || found->connection) {
		if (found)
			err_set(&e, ERR_BUSY, "session %llu is attached elsewhere",
				(unsigned long long)id);
		else if (id)
			err_set(&e, ERR_NOT_FOUND, "session not found: %llu",
				(unsigned long long)id);
		else
			err_set(&e, ERR_NOT_FOUND, "no detached session");
		send_error(c, stream, &e);
		return;
	}
	found->connection = c;
	found->stream = stream;
	found->credit = FRAME_CREDIT_BYTES;
	if (found->ring.n > GUEST_RING_BYTES)
		buf_drop(&found->ring, found->ring.n - GUEST_RING_BYTES);
	send_started(found, c);
	for (size_t at = 0; at < found->ring.n; at += FRAME_DATA_MAX_BYTES) {
		size_t n = found->ring.n - at;

		if (n > FRAME_DATA_MAX_BYTES)
			n = FRAME_DATA_MAX_BYTES;
		found->credit -= (uint32_t)n;
		connection_send(c, FRAME_OUTPUT, FRAME_FLAG_JOINED | FRAME_FLAG_KEPT, stream,
				found->ring.p + at, n);
	}
	buf_clear(&found->ring);
	watch_master(found);
}

/* --- start ----------------------------------------------------------------------------------- */

struct ends {
	int child[3];           /* what the command gets; closed by us after the clone */
	int read_out, read_err; /* detached: ours to read */
	int master;
};

static void ends_done(struct ends *f)
{
	for (int i = 0; i < 3; i++)
		fd_closep(&f->child[i]);
	fd_closep(&f->read_out);
	fd_closep(&f->read_err);
	fd_closep(&f->master);
}

/* Descriptors from the client, a terminal, or pipes of our own. -errno. */
static int open_ends(struct connection *c, const struct exec_message *m, const struct user *u,
		     struct ends *f)
{
	unsigned want = m->flags & (EXEC_TTY | EXEC_DETACHED) ? 0 : m->flags & EXEC_JOINED ? 2 : 3;
	int r;

	*f = (struct ends){ { -1, -1, -1 }, -1, -1, -1 };
	if (c->n_fds != want)
		return -EPROTO;
	if (m->flags & EXEC_TTY) {
		r = terminal_open(u->uid + c->guest->boot.id_shift, m->rows, m->cols, &f->master,
				  &f->child[0]);
		for (int i = 1; r == 0 && i < 3; i++) {
			f->child[i] = fcntl(f->child[0], F_DUPFD_CLOEXEC, 3);
			r = f->child[i] < 0 ? -errno : 0;
		}
		return r;
	}
	if (m->flags & EXEC_DETACHED) {
		int out[2] = { -1, -1 }, err[2] = { -1, -1 };

		f->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		r = f->child[0] < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0
			    ? -errno
			    : 0;
		f->read_out = out[0];
		f->child[1] = out[1];
		f->read_err = err[0];
		f->child[2] = err[1];
		/* the command reopens /dev/stdout as whoever it becomes */
		if (r == 0 && (fchmod(out[1], 0666) < 0 || fchmod(err[1], 0666) < 0))
			r = -errno;
		return r;
	}
	for (unsigned i = 0; i < want; i++)
		f->child[i] = c->fds[i];
	c->n_fds = 0;
	if (want == 2) {
		f->child[2] = fcntl(f->child[1], F_DUPFD_CLOEXEC, 3);
		return f->child[2] < 0 ? -errno : 0;
	}
	return 0;
}

static struct session *session_new(struct connection *c, uint32_t stream, unsigned flags)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->guest = c->guest;
	s->connection = flags & EXEC_DETACHED ? NULL : c;
	s->stream = stream;
	s->flags = flags;
	s->id = ++c->guest->next_session;
	s->master = -1;
	s->held[0] = s->held[1] = s->held[2] = -1;
	s->credit = FRAME_CREDIT_BYTES;
	buf_init(&s->input, FRAME_CREDIT_BYTES + 2); /* and the ends of file */
	buf_init(&s->ring, 2 * GUEST_RING_BYTES);
	s->next = c->guest->sessions;
	c->guest->sessions = s;
	return s;
}

/* The command runs: watch it. */
static void session_running(struct session *s, struct connection *c, struct ends *f,
			    const struct exec_message *m)
{
	struct guest *g = s->guest;

	if (m->flags & EXEC_TTY) {
		s->master = fd_take(&f->master);
		s->master_watch = loop_add_fd(g->loop, s->master, LOOP_READ, on_master, s);
	}
	if (m->timeout_ms)
		s->timer = loop_add_timer(g->loop, clock_mono_ns() + m->timeout_ms * NS_PER_MS,
					  on_timeout, s);
	if (m->flags & (EXEC_TTY | EXEC_DETACHED))
		send_started(s, c);
	else if (g->n_running < GUEST_HELD_MAX) /* in a crowd descriptors are worth more */
		for (int i = 0; i < 3; i++)
			s->held[i] = fd_take(&f->child[i]);
	if (s->ordered)
		s->order_timer = loop_add_timer(
			g->loop, clock_mono_ns() + GUEST_ORDER_MS * NS_PER_MS, on_order_due, s);
	else
		fd_closep(&s->held[0]); /* or the client would not see that the command closed it */
	if (f->read_out >= 0) {
		pipes_adopt(g, fd_take(&f->read_out), s->id, 0);
		pipes_adopt(g, fd_take(&f->read_err), s->id, FRAME_FLAG_STDERR);
	}
	if (g->n_running++ == 0)
		report_activity(g);
	presence_began(g);
}

static void run_command(struct connection *c, uint32_t stream, const struct exec_message *m,
			const struct user *u, struct ends *f)
{
	struct guest *g = c->guest;
	struct environ_list env, paths;
	struct session *s = session_new(c, stream, m->flags);
	struct exec_job j = {
		.walls = &g->walls,
		.argv = m->argv,
		.cwd = m->cwd            ? m->cwd
		       : g->boot.workdir ? g->boot.workdir
					 : "/",
		.user = u,
		.stdio = { f->child[0], f->child[1], f->child[2] },
		.tty = m->flags & EXEC_TTY,
		.rlimit = m->rlimit,
		.n_rlimits = m->n_rlimits,
	};

	environ_compose(&env, &g->boot, m, u);
	environ_candidates(&paths, &env, m->argv[0]);
	j.envp = (const char *const *)env.v;
	j.paths = (const char *const *)paths.v;
	if (!(m->flags & (EXEC_TTY | EXEC_DETACHED))) {
		add_started(s, c);
		/* now, while the client is awake: later it would wake for it */
		if (!(m->flags & EXEC_PATIENT))
			connection_flush(c);
		/* others need the descriptors, or the success, at once */
		s->ordered = g->n_running < GUEST_HELD_MAX &&
			     scope_order(&g->scopes, &s->scope, &j, c->served);
		c->served = true;
		if (!s->ordered)
			connection_flush(c); /* nothing tells us when such a one takes its time */
	}
	if (!s->ordered)
		s->pid = scope_start(&g->scopes, &s->scope, &j);
	if (j.failure)
		session_failed(s, c, j.failure, j.err);
	else
		session_running(s, c, f, m);
	environ_done(&env);
	environ_done(&paths);
}

void session_start(struct connection *c, uint32_t stream, struct str body)
{
	struct guest *g = c->guest;
	struct exec_message m;
	struct user u;
	struct ends f;
	struct err e;
	int r = exec_decode(body, &m);

	if (r < 0) {
		send_exit(c, stream, &(struct exit_message){ .failure = EXEC_BAD_ARGS, .sys = -r });
		return;
	}
	if (user_find(&g->users, m.user ? m.user : g->boot.user, &u, &e) < 0) {
		send_error(c, stream, &e);
	} else if ((r = open_ends(c, &m, &u, &f)) < 0) {
		send_exit(c, stream,
			  &(struct exit_message){ .failure = m.flags & EXEC_TTY ? EXEC_PTY
										: EXEC_INTERNAL,
						  .sys = -r });
		ends_done(&f);
	} else {
		run_command(c, stream, &m, &u, &f);
		ends_done(&f);
	}
	exec_message_done(&m);
}

/* --- files ----------------------------------------------------------------------------------- */

/* The agent is a command of the sandbox's root: same namespace, groups, filter and kill scope. */
static void run_agent(struct connection *c, uint32_t stream, const struct file_message *m,
		      int pair[2])
{
	static const struct user root = { .home = "/" };
	struct guest *g = c->guest;
	struct session *s = session_new(c, stream, 0);
	struct exec_job j = {
		.walls = &g->walls,
		.cwd = "/",
		.user = &root,
		.stdio = { pair[1], pair[1], pair[1] },
		.agent = agent_main,
		.agent_arg = m,
	};

	s->files = true;
	s->pid = scope_start(&g->scopes, &s->scope, &j);
	fd_closep(&pair[1]);
	if (s->pid < 0) {
		send_exit(c, stream, &(struct exit_message){ .failure = j.failure, .sys = j.err });
		session_free(s);
		return;
	}
	s->master = fd_take(&pair[0]);
	s->master_watch = loop_add_fd(g->loop, s->master, LOOP_READ, on_master, s);
	send_started(s, c);
	if (g->n_running++ == 0)
		report_activity(g);
	presence_began(g);
}

void session_files(struct connection *c, uint32_t stream, struct str body)
{
	struct file_message m;
	int pair[2] = { -1, -1 };
	int r = file_decode(body, &m);

	if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		r = -errno;
	if (r == 0 && fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r < 0)
		send_exit(c, stream, &(struct exit_message){ .failure = EXEC_INTERNAL, .sys = -r });
	else
		run_agent(c, stream, &m, pair);
	fd_closep(&pair[0]);
	fd_closep(&pair[1]);
}

struct session *session_find(struct guest *g, struct connection *c, uint32_t stream)
{
	for (struct session *s = g->sessions; s; s = s->next)
		if (s->connection == c && s->stream == stream && !s->finished)
			return s;
	return NULL;
}

void session_leave(struct connection *c, const struct frame *f, const int *fds, unsigned n)
{
	/* the session itself is gone by now: its number travels in the stream's place */
	for (unsigned i = 0; i < n; i++)
		pipes_adopt(c->guest, fds[i], f->stream, i ? FRAME_FLAG_STDERR : f->flags);
}

void sessions_settle(struct connection *c)
{
	if (c->out.n) /* it said so before it could hear of the last ones */
		return;
	for (struct session *s = c->guest->sessions, *next; s; s = next) {
		next = s->next;
		if (s->connection != c || !s->finished)
			continue;
		s->connection = NULL;
		session_release(s);
	}
}

void sessions_drop(struct connection *c, bool unread)
{
	struct guest *g = c->guest;
	bool quits = false;

	if (!unread)
		sessions_settle(c);
	for (struct session *s = g->sessions, *next; s; s = next) {
		next = s->next;
		if (s->connection != c)
			continue;
		/* for credit, which nobody will grant now */
		bool waits = s->ended && !s->finished && !s->emptying;

		quits |= (s->flags & EXEC_QUITS) != 0;
		s->connection = NULL;
		session_kill(s);
		if (waits)
			session_finish(s);
	}
	g->quits |= quits;
	quit_if_idle(g); /* or the last of them does */
}
