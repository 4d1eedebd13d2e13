/*
 * The supervisor's own socket, for the requests `stop`, `touch`, `usage` and `update`. Its clients
 * are commands of the same user, because the home has mode 0700. A client that asked for a stop
 * keeps its connection open until the sandbox is down.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/supervisor.h"

#define REQUEST_MAX_BYTES 4096
#define GRACE_MAX_MS (24u * 3600 * 1000)
/* if accept() fails because descriptors or memory are short, the supervisor tries again after this
 * time */
#define ACCEPT_RETRY_NS (100 * NS_PER_MS)

struct control_client {
	struct control_client *next;
	struct supervisor *supervisor;
	int fd;
	loop_id watch;
	struct buf in;
	bool waits_for_stop;
};

static void drop(struct control_client *c)
{
	struct supervisor *s = c->supervisor;
	struct control_client **at = &s->clients;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	s->n_clients--;
	loop_remove(s->loop, &c->watch);
	fd_closep(&c->fd);
	buf_done(&c->in);
	free(c);
}

static void answer(struct control_client *c, enum frame_type type, const void *p, size_t n)
{
	AUTO_BUF b = BUF_INIT(1024);

	frame_put(&b, type, 0, 0, p, n);
	/* this fails if the client has closed its connection */
	IGNORE(send(c->fd, b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0);
}

static void answer_usage(struct control_client *c)
{
	const struct supervisor *s = c->supervisor;
	struct usage_message m;
	uint64_t now = clock_real_ns(), started = s->record.state.started_ns;
	AUTO_BUF body = BUF_INIT(256);

	m = (struct usage_message){
		.uptime_ns = now > started ? now - started : 0,
		/* the client reads these numbers itself (client/usage.c) */
		.disk_read_bytes = USAGE_UNKNOWN,
		.disk_write_bytes = USAGE_UNKNOWN,
		.supervisor = (uint64_t)getpid(),
		.pid_1 = (uint64_t)s->instance->pid,
	};
	s->engine->usage(s, &m);
	link_count(s, &m);
	usage_encode(&body, &m);
	answer(c, FRAME_USAGE_ANSWER, body.p, body.n);
}

/* Answers OK with an empty body, or with the reason why the update failed. */
static void answer_update(struct control_client *c, struct str body)
{
	struct err e = { 0 };
	uint64_t what;
	const char *why = "";

	if (number_decode(body, &what) < 0 || what > UPDATE_ALL)
		why = "the request is malformed";
	else if (supervisor_update(c->supervisor, (unsigned)what, &e) < 0)
		why = e.msg;
	answer(c, FRAME_OK, why, strlen(why));
}

/* Stops the sandbox. If the sandbox is still starting, its start fails: the command that started it
 * gets ERR_EXISTS. This error means that the name is taken, which is true if the stop comes from a
 * command that replaces the sandbox. */
static void stop(struct supervisor *s, unsigned grace_ms)
{
	if (s->life == LIFE_STARTING && !s->failure.code)
		err_set(&s->failure, ERR_EXISTS,
			"sandbox already exists: another command stopped or replaced '%s' while it "
			"started",
			s->record.spec.name);
	supervisor_stop(s, grace_ms, "stopped by command");
}

static int on_request(void *arg, const struct frame *f)
{
	struct control_client *c = arg;
	uint64_t grace;

	log_line(LOG_DEBUG, "request %u of a client", (unsigned)f->type);
	switch (f->type) {
	case FRAME_STOP:
		c->waits_for_stop = true;
		if (number_decode(f->body, &grace) < 0)
			grace = STOP_USUAL;
		else if (grace > GRACE_MAX_MS)
			grace = GRACE_MAX_MS;
		stop(c->supervisor, (unsigned)grace);
		break;
	case FRAME_TOUCH:
		supervisor_touch(c->supervisor);
		answer(c, FRAME_OK, NULL, 0);
		break;
	case FRAME_USAGE:
		answer_usage(c);
		break;
	case FRAME_UPDATE:
		answer_update(c, f->body);
		break;
	default:
		break;
	}
	return 0;
}

static void on_client(void *arg, int fd, uint32_t events)
{
	struct control_client *c = arg;
	char chunk[REQUEST_MAX_BYTES];
	ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || frame_feed(&c->in, chunk, (size_t)n, on_request, c) < 0)
		drop(c);
}

static void listen_again(void *arg)
{
	struct supervisor *s = arg;

	loop_change_fd(s->loop, s->control_watch, LOOP_READ);
}

static void on_listener(void *arg, int fd, uint32_t events)
{
	struct supervisor *s = arg;
	AUTO_FD sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	struct control_client *c;

	/* after a failure, do not watch the socket until listen_again(): a waiting client would
	 * wake the loop again and again */
	if (sock < 0 && loop_add_timer(s->loop, clock_mono_ns() + ACCEPT_RETRY_NS, listen_again, s))
		loop_change_fd(s->loop, s->control_watch, 0);
	if (sock < 0 || s->n_clients >= CONTROL_CLIENTS_MAX)
		return;
	c = xcalloc(1, sizeof(*c));
	c->supervisor = s;
	c->fd = fd_take(&sock);
	buf_init(&c->in, REQUEST_MAX_BYTES + FRAME_HEADER_BYTES);
	c->watch = loop_add_fd(s->loop, c->fd, LOOP_READ, on_client, c);
	c->next = s->clients;
	s->clients = c;
	s->n_clients++;
	if (!c->watch)
		drop(c);
}

int control_open(struct supervisor *s)
{
	s->control_watch = loop_add_fd(s->loop, s->control, LOOP_READ, on_listener, s);
	return s->control_watch ? 0 : err_sys(&s->failure, errno, "watch the control socket");
}

void control_stopped(struct supervisor *s)
{
	for (struct control_client *c = s->clients; c; c = c->next)
		if (c->waits_for_stop)
			answer(c, FRAME_STOPPED, NULL, 0);
}

void control_hang_up(struct supervisor *s)
{
	for (struct control_client *c = s->clients; c; c = c->next)
		IGNORE(shutdown(c->fd, SHUT_RDWR)); /* this fails if the client has left */
}
