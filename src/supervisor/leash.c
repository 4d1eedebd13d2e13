/* What the command that started us is told on the leash, and what it says (wire/leash.h). */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "supervisor/supervisor.h"
#include "wire/leash.h"

#define REPORT_USUAL_BYTES 512
#define REPORT_TRIES 100
#define REPORT_RETRY_MS 10

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

/* False if the command cannot be told. The leash is closed then: the command and on_leash() both see that. */
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

	if (s->failure.code != ERR_EXISTS) /* no stage of ours has failed then */
		buf_addf(&text, "%s: ", s->stage);
	buf_add_str(&text, s->failure.msg);
	if (s->failure.hint)
		buf_addf(&text, "\n%s", s->failure.hint);
	error_encode(&body, (unsigned)s->failure.code, buf_str(&text));
	IGNORE(!report(s, FRAME_ERROR, body.p, body.n)); /* the command sees our end */
}

void leash_tell_up(struct supervisor *s)
{
	bool told = report(s, FRAME_OK, buf_str(&s->warnings), s->warnings.n);

	buf_clear(&s->warnings); /* each is told once */
	if (told || s->record.state.boots > 1)
		return;
	s->unsettled = true;
	s->record.state.booted_once = false;
}

static void on_leash(void *arg, int fd, uint32_t events)
{
	struct supervisor *s = arg;
	char word = 0;
	ssize_t n = recv(fd, &word, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == 1 && word == LEASH_SETTLED) {
		if (s->life == LIFE_RUNNING)
			supervisor_settle(s);
		if (s->life == LIFE_RUNNING && s->record.state.booted_once)
			leash_tell_up(s);
		return;
	}
	loop_remove(s->loop, &s->leash_watch);
	if (word == LEASH_RELEASE)
		return; /* `run -d`: the sandbox lives as long as its command */
	if (s->record.spec.ephemeral || s->life == LIFE_STARTING || s->unsettled)
		supervisor_stop(s, 0, "the command that owned it ended");
}

bool leash_watch(struct supervisor *s)
{
	s->leash_watch = loop_add_fd(s->loop, s->leash, LOOP_READ, on_leash, s);
	return s->leash_watch != 0;
}
