/* The supervisor's end of the leash (wire/leash.h): reports to the command that started the supervisor, and handles
 * requests of that command. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "supervisor/supervisor.h"
#include "wire/leash.h"

#define REPORT_USUAL_BYTES 512
#define REPORT_TRIES 100
#define REPORT_RETRY_MS 10
/* a LIMITS request has three numbers, and several requests may come at once */
#define REQUEST_MAX_BYTES 256u
#define REQUESTS_MAX_BYTES (4u << 10)

static bool send_all(const struct supervisor *s, const struct buf *b)
{
	for (unsigned tries = 0; !buf_failed(b) && tries < REPORT_TRIES;) {
		if (send(s->leash, b->p, b->n, MSG_NOSIGNAL) >= 0)
			return true;
		if (errno == EINTR)
			continue;
		if (errno != ENOBUFS && errno != ENOMEM)
			return false;
		tries++;
		IGNORE(poll(NULL, 0, REPORT_RETRY_MS)); /* the machine is short of memory */
	}
	return false;
}

/* Sends a frame to the command. If that fails, shuts down the leash and returns false. The command and on_leash() see
 * the shutdown. */
static bool report(struct supervisor *s, enum frame_type type, const void *p, size_t n)
{
	char room[REPORT_USUAL_BYTES];
	AUTO_BUF b = BUF_IN(room, 65536);

	frame_put(&b, type, 0, 0, p, n);
	if (send_all(s, &b))
		return true;
	IGNORE(shutdown(s->leash, SHUT_RDWR));
	return false;
}

void leash_tell_failure(struct supervisor *s)
{
	AUTO_BUF text = BUF_INIT(4096), body = BUF_INIT(8192);

	/* if the name is taken, no stage of the start has failed */
	if (s->failure.code != ERR_EXISTS)
		buf_addf(&text, "%s: ", s->stage);
	buf_add_str(&text, s->failure.msg);
	if (s->failure.hint)
		buf_addf(&text, "\n%s", s->failure.hint);
	error_encode(&body, (unsigned)s->failure.code, buf_str(&text));
	/* if this fails, the command sees that the leash is closed */
	IGNORE(!report(s, FRAME_ERROR, body.p, body.n));
}

/* Adds how soft limits are enforced, which a server shows to its clients. */
static void add_held(const struct supervisor *s, struct buf *b)
{
	const struct enforcement *f = &s->record.state.enforced;

	if (!s->record.spec.soft_limits)
		return;
	buf_add(b, "", 1);
	buf_addf(b, "%s\n%s\n%s\n%s", f->memory, f->cpus, f->pids, f->root_disk);
}

void leash_tell_up(struct supervisor *s)
{
	bool told;

	add_held(s, &s->warnings);
	told = report(s, FRAME_OK, buf_str(&s->warnings), s->warnings.n);
	buf_clear(&s->warnings); /* each warning is sent once */
	if (told || s->record.state.boots > 1)
		return;
	s->unsettled = true;
	s->record.state.booted_once = false;
}

/* Answers without waiting: if the command does not read its answers, the leash is shut down. */
static void answer_limits(struct supervisor *s, const struct frame *f)
{
	AUTO_BUF body = BUF_INIT(1024), b = BUF_INIT(1024 + FRAME_HEADER_BYTES);
	struct limits_message m;
	struct err e = { 0 };
	bool good = false;

	if (f->type != FRAME_LIMITS || limits_decode(f->body, &m) < 0)
		err_set(&e, ERR_PROTOCOL, "the request is malformed");
	else
		good = supervisor_limit(s, &m, &e) == 0;
	if (!good)
		error_encode(&body, (unsigned)e.code, e.msg);
	frame_put(&b, good ? FRAME_OK : FRAME_ERROR, 0, 0, body.p, body.n);
	if (send(s->leash, b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)b.n)
		IGNORE(shutdown(s->leash, SHUT_RDWR));
}

static void on_settled(struct supervisor *s)
{
	if (s->life == LIFE_RUNNING && !s->unsettled)
		return; /* the command has sent another request, and may not read a second answer */
	if (s->life == LIFE_RUNNING)
		supervisor_settle(s);
	if (s->life == LIFE_RUNNING && s->record.state.booted_once)
		leash_tell_up(s);
}

/* Takes one request off the front of the received bytes. Returns how many bytes the request had,
 * 0 if it is not complete yet, or -1 if it is malformed. */
static int take_request(struct supervisor *s)
{
	const struct buf *in = &s->leash_in;
	struct str rest = { in->p + 1, in->n - 1 };
	struct frame f;
	int r;

	switch (in->p[0]) {
	case LEASH_SETTLED:
		on_settled(s);
		return 1;
	case LEASH_LIMITS:
		r = frame_next(&rest, &f);
		if (r <= 0)
			return r;
		answer_limits(s, &f);
		return (int)(in->n - rest.n);
	default:
		return -1;
	}
}

/* Gives the leash up, because the command has closed its end or has sent a malformed request. */
static void let_go(struct supervisor *s)
{
	loop_remove(s->loop, &s->leash_watch);
	if (s->record.spec.ephemeral || s->life == LIFE_STARTING || s->unsettled)
		supervisor_stop(s, 0, "the command that owned it ended");
}

static void on_leash(void *arg, int fd, uint32_t events)
{
	struct supervisor *s = arg;
	char chunk[REQUEST_MAX_BYTES];
	ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	int used = 1;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		return let_go(s);
	buf_add(&s->leash_in, chunk, (size_t)n);
	while (!buf_failed(&s->leash_in) && s->leash_in.n > 0 && used > 0) {
		if (s->leash_in.p[0] == LEASH_RELEASE) {
			/* `run -d`: the sandbox lives as long as its command */
			loop_remove(s->loop, &s->leash_watch);
			return;
		}
		used = take_request(s);
		if (used > 0)
			buf_drop(&s->leash_in, (size_t)used);
	}
	if (buf_failed(&s->leash_in) || used < 0)
		let_go(s);
}

bool leash_watch(struct supervisor *s)
{
	buf_init(&s->leash_in, REQUESTS_MAX_BYTES);
	s->leash_watch = loop_add_fd(s->loop, s->leash, LOOP_READ, on_leash, s);
	return s->leash_watch != 0;
}
