#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/session.h"

#define READ_CHUNK_BYTES 4096
#define SIGNAL_MAX 64 /* the kernel's highest signal number */

static size_t waiting(const struct guest *g)
{
	return g->channel_out.n - g->channel_sent;
}

static void flush(struct guest *g)
{
	while (waiting(g)) {
		ssize_t n = send(g->channel, g->channel_out.p + g->channel_sent, waiting(g),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		g->channel_sent += (size_t)n;
	}
	if (g->channel_sent >= GUEST_SUPERVISOR_QUEUE_BYTES / 2 || !waiting(g)) {
		buf_drop(&g->channel_out, g->channel_sent);
		g->channel_sent = 0;
	}
	loop_change_fd(g->loop, g->channel_watch, LOOP_READ | (waiting(g) ? LOOP_WRITE : 0));
}

void channel_send(struct guest *g, enum frame_type type, unsigned flags, uint32_t stream,
		  const void *p, size_t n)
{
	size_t before = g->channel_out.n;

	frame_put(&g->channel_out, type, flags, stream, p, n);
	if (buf_failed(&g->channel_out)) {
		if (type != FRAME_LOG)
			_exit(1); /* otherwise the supervisor would wait for ever */
		g->channel_out.n = before;
		g->channel_out.failed = false;
		g->channel_dropped = true;
	}
	flush(g);
}

/* Sends output for the log to the supervisor. Never blocks, and never lets the queue grow beyond
 * its limit. If the supervisor is slower than the output, output is lost, and a line in the log
 * says so. */
void channel_log(struct guest *g, uint64_t id, unsigned flags, const void *p, size_t n)
{
	static const char marker[] = "\n[output lost: the log was slower than the command]\n";

	if (waiting(g) + n > GUEST_SUPERVISOR_QUEUE_BYTES) {
		g->channel_dropped = true;
		return;
	}
	if (g->channel_dropped) {
		g->channel_dropped = false;
		channel_send(g, FRAME_LOG, flags, (uint32_t)id, marker, sizeof(marker) - 1);
	}
	channel_send(g, FRAME_LOG, flags, (uint32_t)id, p, n);
}

static void shut_down(struct guest *g, struct str body)
{
	uint64_t signal;

	if (number_decode(body, &signal) < 0 || signal < 1 || signal > SIGNAL_MAX)
		signal = SIGTERM;
	g->stopping = true;
	sessions_cancel(g);
	scopes_end(&g->scopes);
	kill(-1, (int)signal);
	kill(-1, SIGCONT); /* a stopped process gets the signal when it continues */
	sessions_reap(g);
}

/* Later commands get the new environment and directory. Running commands keep the old
 * environment and directory. */
static void update(struct guest *g, struct str body)
{
	struct boot_message now;
	struct buf kept;

	buf_init(&kept, FRAME_BODY_MAX_BYTES);
	buf_add(&kept, body.p, body.n); /* NOW will point into this copy */
	if (buf_failed(&kept) || boot_decode((struct str){ kept.p, kept.n }, &now) < 0) {
		buf_done(&kept);
		return;
	}
	boot_message_done(&g->boot);
	g->boot.env = now.env;
	g->boot.n_env = now.n_env;
	g->boot.workdir = now.workdir;
	buf_done(&g->update_body);
	g->update_body = kept;
}

static void end_commands(struct guest *g, struct str body)
{
	uint64_t why;

	if (number_decode(body, &why) == 0 && why > END_NONE && why < END_REASON_COUNT)
		sessions_end(g, (enum end_reason)why);
}

/* Handles the frame FULL. While the writable layer is full, new commands get a file size limit of
 * 0. If the client sets this limit for a command, the client's value is used, because the client is
 * no attacker. */
static void forbid_writing(struct guest *g, struct str body)
{
	struct boot_message *b = &g->boot;
	uint64_t full;

	if (number_decode(body, &full) < 0 || g->may_not_write == (full != 0))
		return;
	g->may_not_write = full != 0;
	if (g->may_not_write)
		b->rlimit[b->n_rlimits++] = (struct exec_rlimit){ .resource = RLIMIT_FSIZE };
	else
		b->n_rlimits--;
	g->walls.n_rlimits = b->n_rlimits;
}

static int on_frame(void *arg, const struct frame *f)
{
	struct guest *g = arg;

	switch (f->type) {
	case FRAME_SHUTDOWN:
		shut_down(g, f->body);
		break;
	case FRAME_UPDATE:
		update(g, f->body);
		break;
	case FRAME_END:
		end_commands(g, f->body);
		break;
	case FRAME_FULL:
		forbid_writing(g, f->body);
		break;
	case FRAME_COUNT:
		presence_count(g);
		break;
	default:
		break;
	}
	return 0;
}

static void on_channel(void *arg, int fd, uint32_t events)
{
	struct guest *g = arg;
	char chunk[READ_CHUNK_BYTES];
	ssize_t n;

	if (events & LOOP_WRITE)
		flush(g);
	if (!(events & (LOOP_READ | LOOP_HANGUP)))
		return;
	n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		/* the supervisor is gone, so pid 1 ends, and with it every process in the
		 * sandbox */
		_exit(1);
	if (frame_feed(&g->channel_in, chunk, (size_t)n, on_frame, g) < 0)
		_exit(1);
}

int channel_open(struct guest *g)
{
	buf_init(&g->channel_in, FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES);
	buf_init(&g->channel_out, 2 * GUEST_SUPERVISOR_QUEUE_BYTES);
	g->channel_watch = loop_add_fd(g->loop, g->channel, LOOP_READ, on_channel, g);
	return g->channel_watch ? 0 : -errno;
}
