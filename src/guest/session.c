/*
 * A session is one command or one file agent, from the frame EXEC or FILE to the frame EXIT. There
 * are five kinds:
 *
 *   piped       the client holds the other ends of the command's pipes; pid 1 only watches the
 *               process
 *   terminal    pid 1 holds the master; output goes to the client in frames, within its credit
 *   detached    pid 1 holds the pipes; output goes to the log
 *   background  pid 1 holds the pipes or the master, and keeps output and status for later clients
 *   files       a file agent runs instead of a program; pid 1 relays between the agent's socket and
 *               the client as for a terminal, but the agent is killed when the client leaves
 *
 * A session ends when the command's own process ends. If pid 1 must end the command, because of a
 * time-out or because the client is gone, pid 1 kills the scope. When pid 1 has reaped the
 * command's own process, it passes on the output that it still holds, and then reports the end.
 * With the flag EXEC_WHOLE, pid 1 first kills the rest of the scope.
 */
#include "guest/session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/endpoints.h"
#include "guest/environ.h"
#include "guest/inquiry.h"
#include "guest/pipes.h"

/* --- reporting ------------------------------------------------------------------------------- */

static void add_started(const struct session *s, struct connection *c)
{
	AUTO_BUF b = BUF_INIT(64);

	started_encode(&b, s->id);
	connection_add(c, FRAME_STARTED, 0, s->stream, b.p, b.n);
}

void session_send_started(const struct session *s, struct connection *c)
{
	add_started(s, c);
	connection_flush(c);
}

static void report_activity(struct guest *g)
{
	if (g->boot.report_activity)
		channel_send(g, FRAME_ACTIVITY, g->n_running ? FRAME_FLAG_BUSY : 0, 0, NULL, 0);
}

/* Returns true if the kernel has killed a process for lack of memory since the last call. */
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

/* If the sandbox shall end with its last command (g->quits), no command runs, and every client has
 * read how its commands ended, asks the supervisor to end the sandbox. */
static void quit_if_idle(struct guest *g)
{
	const struct session *s = g->sessions;

	while (s && !s->connection)
		s = s->next;
	if (g->quits && !g->n_running && !s)
		channel_send(g, FRAME_EXIT, 0, 0, NULL, 0);
}

/* Tells the supervisor that the main command has ended. The supervisor then ends the sandbox. */
static void tell_supervisor(struct session *s)
{
	AUTO_BUF b = BUF_INIT(4096);

	exit_encode(&b, &s->end);
	channel_send(s->guest, FRAME_EXIT, 0, (uint32_t)s->id, b.p, b.n);
	s->flags &= ~(unsigned)EXEC_MAIN; /* tell the supervisor only once */
}

void session_free(struct session *s)
{
	struct guest *g = s->guest;
	struct session **at = &g->sessions;

	if (s->finished && s->flags & EXEC_MAIN)
		tell_supervisor(s);
	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
	start_done(&s->start);
	loop_remove(g->loop, &s->timer);
	loop_remove(g->loop, &s->kill_timer);
	loop_remove(g->loop, &s->redraw.timer);
	session_end_relay(s);
	session_end_reporter(s);
	drop_held(s);
	scope_close(&g->scopes, &s->scope);
	buf_done(&s->input);
	words_done(&s->words);
	/* If the command has ended, keep_end() has set s->background to NULL. If the command never
	 * began, s->background is still set */
	background_free(&g->backgrounds, s->background);
	free(g->spare);
	g->spare = s;
	server_has_room(g);
	quit_if_idle(g);
}

void session_release(struct session *s)
{
	if (s->finished && !s->connection && !s->kill_timer)
		session_free(s);
}

static void on_expiry(void *arg);

static void set_expiry(struct guest *g)
{
	uint64_t due = backgrounds_due(&g->backgrounds);

	loop_remove(g->loop, &g->expiry_timer);
	if (due)
		g->expiry_timer = loop_add_timer(g->loop, due, on_expiry, g);
}

static void on_expiry(void *arg)
{
	struct guest *g = arg;

	g->expiry_timer = 0;
	backgrounds_expire(&g->backgrounds, clock_mono_ns());
	server_has_room(g);
	set_expiry(g);
}

/* Keeps the exit status for later clients. Returns the entry that has it, or NULL. */
static struct background *keep_end(struct session *s)
{
	struct background *b = s->background;

	if (b && b->hidden)
		background_free(&s->guest->backgrounds, TAKE(s->background));
	if (!s->background)
		return NULL;
	buf_done(&s->input);
	background_let_go(&s->guest->backgrounds, b, 0);
	background_end(b, &s->end, clock_mono_ns());
	b->taker = s->connection;
	s->background = NULL;
	set_expiry(s->guest);
	return b;
}

/* Sends EXIT to the client. B is the entry that has the exit status, or NULL. */
static void tell_exit(struct session *s, struct background *b)
{
	const struct refusals *r = s->guest->refusals;

	if (r)
		refusals_since(r, s->refused_before, &s->end.refused);
	connection_send_exit(s->connection, s->stream, &s->end);
	s->exit_end = connection_end_of_queue(s->connection);
	if (b)
		b->exit_end = s->exit_end;
}

void session_finish(struct session *s)
{
	struct background *kept;

	s->finished = true;
	session_send_report(s);
	session_end_reporter(s);
	kept = keep_end(s);
	looks_answer(s->guest, s->id);
	if (s->connection)
		tell_exit(s, kept); /* while KEPT has a taker, looks_answer() does not free it */
	/* if data still waits for a slow client, the sandbox must not end yet; session_free()
	 * then tells the supervisor later */
	if (s->flags & EXEC_MAIN && !(s->connection && s->connection->out.n))
		tell_supervisor(s);
	session_end_relay(s);
	drop_held(s);
	session_release(s);
}

static void rest_if_idle(struct guest *g)
{
	if (g->n_running)
		return;
	report_activity(g);
	quit_if_idle(g);
}

void session_conclude(struct session *s)
{
	struct guest *g = s->guest;

	s->emptying = false;
	g->n_running--;
	s->end.timed_out = s->timed_out;
	s->end.swept = s->swept;
	s->end.alone = s->held[1] >= 0 && scope_is_over(&g->scopes, &s->scope);
	/* if the command left no process behind, pid 1 keeps the pipes open until EXIT is sent, so
	 * that the client wakes up only once */
	if (!s->end.alone)
		drop_held(s);
	session_read_report(s);
	if (s->relay)
		session_pass_rest(s);
	else
		session_finish(s);
	server_has_room(g);
	rest_if_idle(g);
}

static void session_ended(struct session *s, int status)
{
	struct guest *g = s->guest;

	s->ended = true;
	if (WIFSIGNALED(status))
		s->end.signal = (uint32_t)WTERMSIG(status);
	else
		s->end.code = (uint32_t)WEXITSTATUS(status);
	if (s->end.signal == SIGKILL || s->end.code == 128 + SIGKILL)
		s->end.out_of_memory = memory_was_short(g);
	loop_remove(g->loop, &s->timer);
	if (!(s->flags & EXEC_WHOLE) || scope_is_over(&g->scopes, &s->scope)) {
		session_conclude(s);
		return;
	}
	s->emptying = true;
	session_kill(s);
}

/* Called if the program could not be executed. If the client has already got the command's number
 * in STARTED, EXIT now tells it that the command did not run. So the next command can have the same
 * number. */
static void session_failed(struct session *s, const struct exec_report *why)
{
	struct guest *g = s->guest;
	struct connection *c = s->asker ? s->asker : s->connection;

	if (c)
		connection_send_exit(
			c, s->stream,
			&(struct exit_message){ .failure = why->failure, .sys = why->err });
	if (g->next_session == s->id)
		g->next_session--;
	session_free(s);
}

/* --- what becomes of the start --------------------------------------------------------------- */

static void on_began(void *arg)
{
	struct session *s = arg;

	s->begun = true;
	fd_closep(&s->held[0]); /* from now on a write fails if the command has closed its input */
	if (s->asker)
		session_send_started(s, TAKE(s->asker));
	else if (s->connection)
		connection_flush(s->connection); /* sends the queued STARTED */
	if (s->relay)
		session_feed(s);
}

/* Called if the program of a terminal or detached command could not be executed, but pid 1 has
 * already taken the command for begun (START_SILENT), and has told the client its number. This
 * happens if the process was stopped before the exec. So the failure is kept and reported like any
 * other end, and no other command gets the number. */
static void session_failed_late(struct session *s, const struct exec_report *why)
{
	s->ended = true;
	s->end.failure = why->failure;
	s->end.sys = why->err;
	loop_remove(s->guest->loop, &s->timer);
	session_conclude(s);
}

static void on_failed(void *arg, const struct exec_report *why)
{
	struct session *s = arg;
	struct guest *g = s->guest;

	if (s->begun && s->flags & (EXEC_TTY | EXEC_DETACHED)) {
		session_failed_late(s, why);
		return;
	}
	g->n_running--;
	session_failed(s, why);
	rest_if_idle(g);
}

/* Returns true if pid 1 must know whether the client of this finished command reads EXIT: pid 1 may
 * have to kill processes that the command left behind, or to end the sandbox. */
static bool must_be_heard(const struct session *s)
{
	return s->flags & (EXEC_QUITS | EXEC_MAIN) || !(s->outlives || s->end.alone);
}

/* Returns true if the client has another command than BUT that runs, or whose EXIT the client must
 * still read. */
static bool is_in_use(const struct connection *c, const struct session *but)
{
	for (const struct background *b = c->guest->backgrounds.first; b; b = b->next)
		if (b->taker == c)
			return true;
	for (const struct session *s = c->guest->sessions; s; s = s->next)
		if (s->connection == c && s != but && (!s->finished || must_be_heard(s)))
			return true;
	return false;
}

static void on_ended(void *arg, int status)
{
	struct session *s = arg;
	struct connection *last = s->flags & EXEC_LAST ? s->connection : NULL;

	session_ended(s, status);
	/* session_ended() frees only sessions without a client. So if `last` is set, S still
	 * exists */
	if (last && s->end.alone && !is_in_use(last, s))
		connection_end(last);
}

static const struct start_calls calls = { on_began, on_failed, on_ended };

/* Returns true if pid 1 has a child other than the deputy. waitid() does not see the deputy,
 * because only the deputy was cloned without SIGCHLD. */
static bool has_children(void)
{
	return waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT) == 0 ||
	       errno != ECHILD;
}

static void reaped(struct guest *g, pid_t pid, int status)
{
	scopes_reaped(&g->scopes, pid);
	for (struct session *s = g->sessions; s; s = s->next)
		if (start_reaped(&s->start, pid, status))
			return; /* start_reaped() may have freed S */
}

/* Returns the pid of the ended child to reap next, -1 if any ended child may be next, or 0 if no
 * child has ended. A report is accepted only while the process of its command is not reaped, so pid
 * 1 first collects the reports. */
static pid_t next_to_reap(struct guest *g)
{
	siginfo_t si = { 0 };

	if (!g->reporters.n)
		return -1;
	if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
		return 0;
	if (si.si_pid > 0)
		reporters_collect(g);
	return si.si_pid;
}

void sessions_reap(struct guest *g)
{
	int status;
	pid_t pid, next;

	while ((next = next_to_reap(g)) != 0 &&
	       ((pid = waitpid(next, &status, WNOHANG | __WALL)) > 0 ||
		(pid < 0 && errno == EINTR)))
		if (pid > 0)
			reaped(g, pid, status);
	if (g->stopping && !has_children())
		_exit(0);
	presence_may_end(g);
}

/* --- start ----------------------------------------------------------------------------------- */

struct session *session_new(struct connection *c, uint32_t stream, unsigned flags)
{
	struct session *s = c->guest->spare ? TAKE(c->guest->spare) : xcalloc(1, sizeof(*s));

	*s = (struct session){ .guest = c->guest };
	s->connection = flags & EXEC_DETACHED ? NULL : c;
	s->outlives = flags & EXEC_DETACHED;
	s->stream = stream;
	s->flags = flags;
	s->id = ++c->guest->next_session;
	s->scope = SCOPE_NONE;
	s->out[0] = s->out[1] = (struct outlet){ .session = s, .fd = -1 };
	s->in = -1;
	s->held[0] = s->held[1] = s->held[2] = -1;
	s->credit = FRAME_CREDIT_BYTES;
	s->began_ns = clock_mono_ns();
	s->refused_before = s->guest->refusals ? refusals_count(s->guest->refusals) : 0;
	start_init(&s->start, s->guest->loop, &s->guest->scopes, &s->scope, &calls, s);
	buf_init(&s->input, SESSION_INPUT_MAX_BYTES + TERMINAL_EOFS_MAX);
	s->next = c->guest->sessions;
	c->guest->sessions = s;
	return s;
}

void session_began(struct session *s)
{
	struct guest *g = s->guest;

	if (g->n_running++ == 0)
		report_activity(g);
	presence_began(g);
}

/* Returns true if pid 1 keeps the command's descriptors open, so that the command starts faster.
 * Only GUEST_HELD_MAX commands get this, because pid 1 needs descriptors for new commands. */
static bool keeps_stdio(const struct guest *g, unsigned exec_flags)
{
	return !(exec_flags & (EXEC_TTY | EXEC_DETACHED)) && g->n_running < GUEST_HELD_MAX;
}

/* Called when the command was started. Takes from F the descriptors that the session must keep. */
static void session_running(struct session *s, struct endpoints *f, const struct exec_message *m)
{
	struct guest *g = s->guest;

	if (m->flags & EXEC_TTY)
		session_relay(s, fd_take(&f->master), false);
	else if (m->flags & EXEC_BACKGROUND)
		session_relay_pipes(s, fd_take(&f->write_in), fd_take(&f->read_out),
				    fd_take(&f->read_err));
	if (m->flags & EXEC_TTY)
		session_keep(s);
	if (m->timeout_ms)
		session_kill_after(s, m->timeout_ms);
	if (keeps_stdio(g, m->flags))
		for (int i = 0; i < 3; i++)
			s->held[i] = fd_take(&f->child[i]);
	if (f->read_out >= 0)
		pipes_adopt(g, fd_take(&f->read_out), s->id,
			    m->flags & EXEC_JOINED ? FRAME_FLAG_JOINED : 0);
	if (f->read_err >= 0)
		pipes_adopt(g, fd_take(&f->read_err), s->id, FRAME_FLAG_STDERR);
	session_began(s);
}

/* Makes the background entry and everything else that pid 1 needs for this command, except the
 * process. Returns 0 or -1. */
static int provide(struct session *s, const struct exec_message *m, struct err *e)
{
	struct background_spec spec = { .id = s->id,
					.terminal = m->flags & EXEC_TTY,
					.joined = m->flags & EXEC_JOINED,
					.keep_ms = m->keep_ms,
					.words = &s->words,
					.began_ns = s->began_ns };

	words_take(&s->words, m->argv);
	if (m->flags & EXEC_BACKGROUND &&
	    background_new(&s->guest->backgrounds, &spec, &s->background, e) < 0)
		return -1;
	return m->flags & EXEC_REPORTS ? session_may_report(s, e) : 0;
}

static void run_command(struct connection *c, uint32_t stream, const struct exec_message *m,
			const struct user *u, struct endpoints *f)
{
	struct guest *g = c->guest;
	struct environ_list env, paths;
	struct session *s = session_new(c, stream, m->flags);
	unsigned flags = keeps_stdio(g, m->flags) ? START_KEEPS_STDIO : 0;
	struct exec_args a = {
		.walls = &g->walls,
		.argv = m->argv,
		.cwd = m->cwd            ? m->cwd
		       : g->boot.workdir ? g->boot.workdir
					 : "/",
		.user = u,
		.stdio = { f->input >= 0 ? f->input : f->child[0], f->child[1], f->child[2] },
		.tty = m->flags & EXEC_TTY,
		.rlimit = m->rlimit,
		.n_rlimits = m->n_rlimits,
	};
	struct err e;

	if (provide(s, m, &e) < 0) {
		connection_send_error(c, stream, &e);
		g->next_session--;
		session_free(s);
		return;
	}
	environ_compose(&env, &g->boot, m, u);
	environ_candidates(&paths, &env, m->argv[0]);
	a.envp = (const char *const *)env.v;
	a.paths = (const char *const *)paths.v;
	if (m->flags & (EXEC_TTY | EXEC_DETACHED)) {
		s->asker = c;
	} else {
		add_started(s, c);
		/* send STARTED now, while the client is awake; a later STARTED would wake the
		 * client once more */
		if (!(m->flags & EXEC_PATIENT))
			connection_flush(c);
		flags |= c->served ? START_CLIENT_STAYS : 0;
		c->served = true;
	}
	if (start_begin(&s->start, &a, flags) < 0)
		session_failed(s, &s->start.report);
	else
		session_running(s, f, m);
	environ_done(&env);
	environ_done(&paths);
}

void session_start(struct connection *c, uint32_t stream, struct str body)
{
	struct guest *g = c->guest;
	struct exec_message m;
	struct user u;
	struct endpoints f;
	struct err e;
	int r = exec_decode(body, &m);

	if (r < 0) {
		connection_send_exit(c, stream,
				     &(struct exit_message){ .failure = EXEC_BAD_ARGS, .sys = -r });
		return;
	}
	if (m.flags & EXEC_BACKGROUND)
		m.flags |= EXEC_DETACHED; /* no client stays with the command */
	if (user_find(&g->users, m.user ? m.user : g->boot.user, &u, &e) < 0) {
		connection_send_error(c, stream, &e);
	} else if ((r = endpoints_open(c, &m, &u, &f)) < 0) {
		connection_send_exit(c, stream,
				     &(struct exit_message){ .failure = m.flags & EXEC_TTY
										? EXEC_PTY
										: EXEC_INTERNAL,
							     .sys = -r });
		endpoints_done(&f);
	} else {
		run_command(c, stream, &m, &u, &f);
		endpoints_done(&f);
	}
	exec_message_done(&m);
}

struct session *session_find(struct guest *g, struct connection *c, uint32_t stream)
{
	for (struct session *s = g->sessions; s; s = s->next)
		if (s->connection == c && s->stream == stream && !s->finished)
			return s;
	return NULL;
}

struct session *session_by_number(struct guest *g, uint64_t id)
{
	struct session *s = g->sessions;

	while (s && (s->id != id || s->finished || s->relay == RELAY_FILES ||
		     !start_may_have_begun(&s->start)))
		s = s->next;
	return s;
}

void session_leave(struct connection *c, const struct frame *f, const int *fds, unsigned n)
{
	/* In a LEAVE frame the field `stream` holds the number of the command. The log needs only
	 * this number: the session itself may be freed already */
	for (unsigned i = 0; i < n; i++)
		pipes_adopt(c->guest, fds[i], f->stream, i ? FRAME_FLAG_STDERR : f->flags);
}

bool sessions_must_be_heard(const struct connection *c)
{
	for (const struct background *b = c->guest->backgrounds.first; b; b = b->next)
		if (b->taker == c)
			return true;
	for (const struct session *s = c->guest->sessions; s; s = s->next)
		if (s->connection == c && s->finished && must_be_heard(s))
			return true;
	return false;
}

/* Forgets the background commands whose EXIT the client C has read. */
static void forget_heard(struct connection *c, uint64_t heard)
{
	struct backgrounds *all = &c->guest->backgrounds;

	for (struct background *b = all->first, *next; b; b = next) {
		next = b->next;
		if (b->taker != c || b->exit_end > heard)
			continue;
		background_free(all, b);
		server_has_room(c->guest);
	}
}

/* Keeps background commands for other clients, if their EXIT was sent to C but C may not have read
 * it. */
static void keep_unheard(struct connection *c)
{
	for (struct background *b = c->guest->backgrounds.first; b; b = b->next)
		if (b->taker == c)
			b->taker = NULL;
}

void sessions_release_known(struct connection *c, uint64_t heard)
{
	forget_heard(c, heard);
	for (struct session *s = c->guest->sessions, *next; s; s = next) {
		next = s->next;
		if (s->connection != c || !s->finished ||
		    s->exit_end > (must_be_heard(s) ? heard : c->sent))
			continue;
		s->connection = NULL;
		session_release(s);
	}
}

void sessions_drop(struct connection *c, uint64_t heard)
{
	struct guest *g = c->guest;
	bool quits = false;

	sessions_release_known(c, heard);
	for (struct session *s = g->sessions, *next; s; s = next) {
		next = s->next;
		if (s->asker == c)
			s->asker = NULL;
		if (s->connection != c)
			continue;
		if (s->outlives) {
			if (!s->finished) {
				session_part(s);
				continue;
			}
			s->connection = NULL;
			session_release(s);
			continue;
		}
		/* true if the session waits for credit, which no client will grant now */
		bool waits = s->ended && !s->finished && !s->emptying;

		quits |= (s->flags & EXEC_QUITS) != 0;
		s->connection = NULL;
		session_kill(s);
		if (waits)
			session_finish(s);
	}
	keep_unheard(c);
	g->quits |= quits;
	quit_if_idle(g); /* if a session is left, session_free() calls quit_if_idle() later */
}
