/*
 * Receives the reports of commands (guest/report.h) in the loop of pid 1. The listener is made for
 * the first command that may report. The loop watches the listener while a command that may report
 * runs.
 *
 * A command that has ended may have left a connection in the queue, and bytes in the connection. So
 * pid 1 accepts the waiting connections after the command's end and before it reaps the process,
 * and reads the bytes before it sends EXIT. By then, everything that the command sent has arrived.
 */
#include "guest/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/report.h"

#define CHUNK_BYTES 16384
#define TURNS 16                                        /* reads in one turn of the loop */
#define LAST_TURNS (REPORT_MAX_BYTES / CHUNK_BYTES + 2) /* enough to read a whole report at once */
/* A client that leaves more bytes than this unread gets no report, because the report would only
 * make its queue longer. */
#define QUEUE_BYTES (8u << 20)

struct reporter {
	struct session *session;
	int fd; /* the connection, or -1 */
	loop_id watch;
	struct report report;
};

static struct pool *pool_of(const struct session *s)
{
	return &s->guest->backgrounds.pool;
}

static void hang_up(struct reporter *r)
{
	loop_remove(r->session->guest->loop, &r->watch);
	fd_closep(&r->fd);
}

static void read_some(struct reporter *r, unsigned turns)
{
	char chunk[CHUNK_BYTES];

	while (turns-- > 0 && r->fd >= 0) {
		ssize_t n = read(r->fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0 ||
		    report_add(&r->report, pool_of(r->session), chunk, (size_t)n) != REPORT_MORE)
			hang_up(r);
	}
}

static void on_report(void *arg, int fd, uint32_t events)
{
	read_some(arg, TURNS);
}

/* Finds the command that made this connection. Returns NULL if another process made the connection,
 * or a command that may not report. */
static struct reporter *find(struct guest *g, int sock)
{
	pid_t pid = report_sender(sock);

	for (struct session *s = g->sessions; s && pid > 1; s = s->next)
		/* start_pid() is -1 after the process was reaped */
		if (s->reporter && start_pid(&s->start) == pid)
			return s->reporter;
	return NULL;
}

static void take(struct guest *g, int sock)
{
	struct reporter *r = find(g, sock);

	if (!r || r->fd >= 0 || r->report.n_head > 0) { /* each command may send one report */
		close(sock);
		return;
	}
	r->fd = sock;
	r->watch = loop_add_fd(g->loop, sock, LOOP_READ, on_report, r);
	if (!r->watch)
		hang_up(r);
}

/* Accepts every waiting connection and finds its command. If NOBODY is true, no command may
 * report, and all connections are closed. */
static void take_all(struct guest *g, bool nobody)
{
	for (unsigned i = 0; i < REPORT_QUEUE_MAX; i++) {
		int sock = accept4(g->reporters.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (sock < 0)
			return;
		if (nobody)
			close(sock);
		else
			take(g, sock);
	}
}

void reporters_collect(struct guest *g)
{
	if (g->reporters.n)
		take_all(g, false);
}

static void on_listener(void *arg, int fd, uint32_t events)
{
	take_all(arg, false);
}

int session_may_report(struct session *s, struct err *e)
{
	struct guest *g = s->guest;
	struct reporters *all = &g->reporters;

	if (all->listener < 0) {
		int fd = report_listen(REPORT_SOCKET);

		if (fd == -EADDRINUSE)
			return err_set(
				e, ERR_BUSY,
				"a process inside has taken the name of the socket for reports");
		if (fd < 0)
			return err_sys(e, -fd, "listen for reports of commands");
		all->listener = fd;
	}
	/* Empties the queue. Connections of running commands are kept, and all others are closed.
	 * This command does not run yet, so no waiting connection can be its own. */
	take_all(g, all->n == 0);
	if (!all->watch)
		all->watch = loop_add_fd(g->loop, all->listener, LOOP_READ, on_listener, g);
	if (!all->watch)
		return err_sys(e, errno, "listen for reports of commands");
	s->reporter = xcalloc(1, sizeof(*s->reporter));
	*s->reporter = (struct reporter){ .session = s, .fd = -1 };
	all->n++;
	return 0;
}

void session_read_report(struct session *s)
{
	if (s->reporter)
		read_some(s->reporter, LAST_TURNS);
}

void session_send_report(struct session *s)
{
	size_t n = 0;
	char *p = s->reporter ? report_take(&s->reporter->report, &n) : NULL;

	if (!p)
		return;
	if (s->connection && s->connection->out.n <= QUEUE_BYTES)
		connection_add(s->connection, FRAME_REPORT, 0, s->stream, p, n);
	if (s->background) {
		background_report(&s->guest->backgrounds, s->background, p, n);
		return;
	}
	pool_give(pool_of(s), n);
	free(p);
}

void session_end_reporter(struct session *s)
{
	struct reporters *all = &s->guest->reporters;
	struct reporter *r = s->reporter;

	if (!r)
		return;
	s->reporter = NULL;
	hang_up(r);
	report_done(&r->report, pool_of(s));
	free(r);
	if (--all->n == 0)
		loop_remove(s->guest->loop, &all->watch);
}
