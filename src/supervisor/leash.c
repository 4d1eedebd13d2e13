/* The supervisor's end of the leash (wire/leash.h): reports to the command that started the
 * supervisor, and handles requests of that command. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "supervisor/supervisor.h"
#include "wire/leash.h"

#define REPORT_USUAL_BYTES 512
#define REPORT_TRIES 100
#define REPORT_RETRY_MS 10
#define CHUNK_BYTES 16384
/* room for an unfinished request (the largest is LEASH_LOG) and for one more chunk */
#define IN_MAX_BYTES (1 + FRAME_HEADER_BYTES + LEASH_LOG_MAX_BYTES + CHUNK_BYTES)

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
		IGNORE(poll(NULL, 0, REPORT_RETRY_MS)); /* wait: the machine is short of memory */
	}
	return false;
}

/* Sends a frame to the command. If that fails, shuts down the leash and returns false. The command
 * and on_leash() see the shutdown. */
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

/* Adds to B how soft limits are enforced, because a server shows this to its clients. */
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
	/* LEASH_SETTLED was not needed, or has come before. We send no answer now, because the
	 * command may not read it. */
	if (s->life == LIFE_RUNNING && !s->unsettled)
		return;
	if (s->life == LIFE_RUNNING)
		supervisor_settle(s);
	if (s->life == LIFE_RUNNING && s->record.state.booted_once)
		leash_tell_up(s);
}

/* Handles the request at the front of IN and removes it from IN. Returns 1 if there was a whole
 * request, 0 if more bytes must come first, or a negative number if the request is malformed. */
static int take_request(struct supervisor *s, struct str *in)
{
	struct str rest = { in->p + 1, in->n - 1 };
	enum leash_word word = (enum leash_word)in->p[0];
	struct frame f;
	int r = 1;

	if (word == LEASH_SETTLED)
		on_settled(s);
	else if (word == LEASH_LIMITS || word == LEASH_LOG)
		r = frame_next(&rest, &f);
	else
		return -1;
	if (r > 0 && word == LEASH_LOG && f.type != FRAME_LOG)
		return -1;
	if (r > 0 && word == LEASH_LIMITS)
		answer_limits(s, &f);
	else if (r > 0 && word == LEASH_LOG)
		supervisor_log(s, &f);
	if (r > 0)
		*in = rest;
	return r;
}

/* Called when the command has closed its end, or when its requests cannot be read. Gives the leash
 * up, and ends the sandbox if it must not live without the command. */
static void let_go(struct supervisor *s)
{
	loop_remove(s->loop, &s->leash_watch);
	if (s->record.spec.ephemeral || s->life == LIFE_STARTING || s->unsettled)
		supervisor_stop(s, 0, "the command that owned it ended");
}

static void on_leash(void *arg, int fd, uint32_t events)
{
	struct supervisor *s = arg;
	char chunk[CHUNK_BYTES];
	ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	struct str rest;
	int r = 1;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		return let_go(s);
	buf_add(&s->leash_in, chunk, (size_t)n);
	rest = (struct str){ s->leash_in.p, s->leash_in.n };
	while (!buf_failed(&s->leash_in) && rest.n > 0 && r > 0) {
		if (rest.p[0] == LEASH_RELEASE) {
			/* launch_release() sent this word, for example in `run -d`. From now on we
			 * ignore the leash, so the sandbox does not end when the command that
			 * called launch_release() ends. */
			loop_remove(s->loop, &s->leash_watch);
			return;
		}
		r = take_request(s, &rest);
	}
	buf_drop(&s->leash_in, s->leash_in.n - rest.n);
	if (buf_failed(&s->leash_in) || r < 0)
		let_go(s);
}

bool leash_watch(struct supervisor *s)
{
	buf_init(&s->leash_in, IN_MAX_BYTES);
	s->leash_watch = loop_add_fd(s->loop, s->leash, LOOP_READ, on_leash, s);
	return s->leash_watch != 0;
}
