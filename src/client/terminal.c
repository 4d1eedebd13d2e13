/*
 * Runs a command with a terminal, or attaches to any running command. Input and output are frames,
 * and each side sends only as many bytes as the other side has granted. If our input is a terminal,
 * cli/console.h has already made it raw, and gives us a descriptor that becomes readable when the
 * size of this terminal changes.
 */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/keys.h"
#include "client/run.h"

#define READ_BYTES 2048 /* how much typed or pasted input one read takes */

static void send_size(struct run *r)
{
	AUTO_BUF b = BUF_INIT(64);
	struct signalfd_siginfo changes;
	struct winsize w;

	while (read(r->q->resized, &changes, sizeof(changes)) > 0)
		;
	if (ioctl(r->q->in, TIOCGWINSZ, &w) < 0)
		return;
	call_resize(&r->call, w.ws_row, w.ws_col, &b);
	client_send(r->c, &b);
}

static void read_keys(struct run *r, struct keys *keys)
{
	AUTO_BUF input = BUF_INIT(READ_BYTES + DETACH_KEYS_MAX);
	AUTO_BUF b = BUF_INIT(2 * READ_BYTES);
	char chunk[READ_BYTES];
	/* The last keys->matched bytes that the user typed are held back, because they may be the
	 * beginning of the detach keys. They may have to be sent together with this chunk, so keep
	 * credit for them. */
	size_t room = r->call.credit - keys->matched;
	ssize_t n = inlet_read(&r->in, chunk, room < sizeof(chunk) ? room : sizeof(chunk));
	bool leaves = false;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 && r->q->resized >= 0) {
		/* A raw terminal reports the end of input only if its window was closed. We do not
		 * pass this end on to the command, because a shell would exit. */
		r->result->hung_up = true;
		return;
	}
	if (n > 0)
		leaves = keys_scan(keys, chunk, (size_t)n, &input);
	else
		keys_flush(keys, &input);
	call_input(&r->call, input.p, input.n, &b); /* the credit is enough for all bytes */
	if (n <= 0) {
		r->in_open = false;
		call_input_end(&r->call, &b);
	}
	if (leaves)
		call_detach(&r->call, &b);
	if (b.n)
		r->result->detached = client_send(r->c, &b) && leaves;
}

int run_terminal(struct run *r)
{
	struct keys keys = { .key = r->q->detach_keys, .n = r->q->n_detach_keys };

	/* a script may attach with its stdin from /dev/null. The end of that stdin must not end the
	 * command's input */
	r->in_open = r->q->in >= 0 && !(r->attached && inlet_is_null(r->q->in));
	if (r->q->resized >= 0)
		send_size(r); /* the user may attach from another terminal than before */
	while (!r->call.ended && !r->result->detached && !r->result->hung_up &&
	       !r->result->broken_output) {
		struct pollfd p[] = {
			{ .fd = r->c->fd, .events = POLLIN },
			{ .fd = r->in_open && r->call.credit > keys.matched ? r->q->in : -1,
			  .events = POLLIN },
			{ .fd = r->q->resized, .events = POLLIN },
		};

		if (poll(p, ARRAY_SIZE(p), run_poll_ms(r, 0)) < 0) {
			if (errno == EINTR)
				continue;
			return err_sys(r->e, errno, "wait for the command");
		}
		if (run_check_deadline(r, p[0].revents) < 0)
			return -1;
		if (p[2].revents)
			send_size(r);
		if (p[0].revents && !r->call.ended && run_hear(r) < 0)
			return -1;
		if (!r->call.ended && p[1].revents)
			read_keys(r, &keys);
	}
	run_replay(r);
	return 0;
}
