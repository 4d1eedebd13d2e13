#include "client/tap.h"

#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* if this much output has come and the command's number is still unknown, the client stops
 * reading */
#define HELD_BYTES 65536
/* The limit of the member `early`. The client looks at HELD_BYTES only before it reads. So `early`
 * can hold almost HELD_BYTES, and then get another 64 KiB of standard output and 64 KiB of standard
 * error. */
#define EARLY_MAX_BYTES (4 * HELD_BYTES)
/* Logging may take 1/8 of the command's time. If it takes more, records are dropped. */
#define LOG_SHARE_DIVISOR 8
#define LOG_FREE_NS (100 * NS_PER_MS) /* logging may take this long before any record is dropped */

void tap_init(struct tap *t, const struct home *h, const char *name, bool on)
{
	*t = (struct tap){ .home = h, .name = name, .on = on, .early = BUF_INIT(EARLY_MAX_BYTES) };
}

struct held {
	enum execlog_source source;
	size_t n;
};

bool tap_is_full(const struct tap *t)
{
	return !t->on || (t->spent > LOG_FREE_NS &&
			  t->spent > (clock_mono_ns() - t->start) / LOG_SHARE_DIVISOR);
}

/* Holds a piece of output until pid 1 tells the command's number. If there is no room, drops the
 * whole piece. */
static void tap_hold(struct tap *t, enum execlog_source source, const char *p, size_t n)
{
	struct held h = { source, n };

	if (!buf_room(&t->early, sizeof(h) + n)) {
		t->lost = true;
		return;
	}
	buf_add(&t->early, &h, sizeof(h));
	buf_add(&t->early, p, n);
}

/* If records were dropped, says so in the log. */
static void tap_mark(struct tap *t, enum execlog_source source)
{
	static const char marker[] = "[output lost: the log was slower than the command]\n";

	if (!t->lost)
		return;
	t->lost = false;
	execlog_add(&t->log, t->id, source, marker, sizeof(marker) - 1);
}

void tap_add(struct tap *t, enum execlog_source source, const char *p, size_t n)
{
	uint64_t before;

	if (!t->on)
		return;
	if (!t->numbered) {
		tap_hold(t, source, p, n);
		return;
	}
	if (tap_is_full(t)) {
		t->lost = true;
		return;
	}
	before = clock_mono_ns();
	if (!t->open) {
		AUTO_FREE char *path = xasprintf("sandboxes/%s", t->name);

		t->dir = openat(t->home->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (t->dir < 0) {
			t->on = false;
			return;
		}
		execlog_open(&t->log, t->dir);
		t->open = true;
		t->start = before;
	}
	tap_mark(t, source);
	execlog_add(&t->log, t->id, source, p, n);
	t->spent += clock_mono_ns() - before;
}

bool tap_waits(const struct tap *t)
{
	return t->on && !t->numbered && t->early.n >= HELD_BYTES;
}

void tap_number(struct tap *t, uint64_t id)
{
	AUTO_BUF early = t->early;
	struct held h;

	buf_init(&t->early, 0);
	t->id = id;
	t->numbered = true;
	for (size_t at = 0; at < early.n; at += h.n) {
		memcpy(&h, early.p + at, sizeof(h));
		at += sizeof(h);
		tap_add(t, h.source, early.p + at, h.n);
	}
}

void tap_done(struct tap *t)
{
	if (!t->numbered)
		tap_number(t, 0); /* pid 1 never told the number, so the records have none */
	if (t->open) {
		tap_mark(t, LOG_OUTPUT);
		execlog_close(&t->log);
		fd_closep(&t->dir);
	}
}

void tap_missed(struct tap *t)
{
	t->lost = true;
}
