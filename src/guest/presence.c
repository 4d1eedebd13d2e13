/*
 * If a supervisor watches the size of the writable layer, pid 1 tells it whether any process runs
 * that could write, and how much was written.
 *
 * When a command begins, pid 1 does not tell the supervisor at once: a timer sends the message a
 * short time later. So the message delays no command, and many short commands cause only one
 * message. pid 1 sends the message even if the command has ended meanwhile, because otherwise many
 * short commands could write unseen. Every process counts, also a process that a command left
 * behind.
 */
#include "guest/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/session.h"

#define REPORT_AFTER_NS (50 * NS_PER_MS) /* at 2 GiB/s a command has written 100 MiB by then */
#define IO_MAX_BYTES 512                 /* /proc/PID/io has seven lines */

static void on_due(void *arg)
{
	struct guest *g = arg;
	bool present = g->n_running || !scopes_are_free(&g->scopes);

	g->presence_timer = 0;
	if (present && g->presence_told)
		return; /* pid 1 looks again when another process has ended */
	g->presence_told = present;
	channel_send(g, FRAME_PRESENCE, present ? FRAME_FLAG_BUSY : 0, 0, NULL, 0);
}

static void look_later(struct guest *g)
{
	if (!g->presence_timer)
		g->presence_timer =
			loop_add_timer(g->loop, clock_mono_ns() + REPORT_AFTER_NS, on_due, g);
}

void presence_began(struct guest *g)
{
	if (g->boot.switches & SWITCH_WATCHED && !g->presence_told)
		look_later(g);
}

void presence_may_end(struct guest *g)
{
	if (g->presence_told && !g->n_running)
		look_later(g);
}

/* --- how much was written -------------------------------------------------------------------- */

/* Reads /proc/PID/FILE. Returns the length of TEXT, or -errno. */
static int read_of(uint64_t pid, const char *file, char *text, size_t size)
{
	char path[48];
	AUTO_FD fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/%s", (unsigned)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return (int)n;
}

/* Returns true if the process has not executed its program yet. Such a process still has the
 * name of pid 1. */
static bool is_being_born(uint64_t pid)
{
	char ours[32], theirs[32];

	return read_of(1, "comm", ours, sizeof(ours)) > 0 &&
	       read_of(pid, "comm", theirs, sizeof(theirs)) > 0 && strcmp(ours, theirs) == 0;
}

/* Returns how many bytes the process wrote to storage, including the bytes of children that it has
 * waited for. If the process runs a program whose file its user may not read, /proc does not show
 * the count. pid 1 then assumes that the process writes all the time. */
static uint64_t written_by(uint64_t pid)
{
	static const char key[] = "\nwrite_bytes: ";
	char text[IO_MAX_BYTES];
	int r = read_of(pid, "io", text, sizeof(text));
	char *at = r > 0 ? strstr(text, key) : NULL;
	uint64_t v;

	if (r == -ENOENT || r == -ESRCH)
		return 0; /* the process has ended; its bytes are in its parent's count */
	if (!at)
		return is_being_born(pid) ? 0 : clock_mono_ns();
	at += strlen(key);
	at[strcspn(at, "\n")] = '\0';
	return parse_u64(at, 0, UINT64_MAX, &v) < 0 ? clock_mono_ns() : v;
}

static bool is_ours(const struct guest *g, uint64_t pid)
{
	for (const struct session *s = g->sessions; s; s = s->next)
		if (scope_owns(&s->scope, pid))
			return true;
	return scopes_own(&g->scopes, pid);
}

void presence_count(struct guest *g)
{
	DIR *proc = opendir("/proc");
	AUTO_BUF body = BUF_INIT(64);
	struct dirent *d;
	uint64_t pid, sum = 0;

	while (proc && (d = readdir(proc)))
		if (parse_u64(d->d_name, 1, INT32_MAX, &pid) == 0 && !is_ours(g, pid))
			sum += written_by(pid);
	if (proc)
		closedir(proc);
	number_encode(&body, sum);
	channel_send(g, FRAME_COUNTED, 0, 0, body.p, body.n);
}
