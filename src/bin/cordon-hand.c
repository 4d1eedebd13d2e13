/*
 * A hand: a process that does requests for a server, one after another (client/hands.h). A hand may
 * block, so that the server need not block. client/foreman.c starts hands. The arguments are: the
 * soft limit of open files; HAND_SESSIONS or HAND_ANYTHING; then any number of directories of the
 * host that the hand must not share with a sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/str.h"
#include "client/hand.h"
#include "loop/loop.h"

#define READ_BYTES 65536
#define ANSWER_MAX_BYTES (256u << 10) /* the same limit as in client/hands.c */
#define CROWDED_WAIT_MS 10

struct hand {
	struct loop *loop;
	struct hand_bounds bounds;
	struct buf in;
};

/* Reaps our children: the supervisors of sandboxes that have ended. */
static void reap(void *arg, int sig)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* fdpass_send() fails with EMFILE while this user has sent too many descriptors that nobody has
 * received yet. The receivers usually take them soon, so we wait and send again. If the sending
 * takes too long, the server kills us. */
static int send_answer(const struct buf *b, const int *fds, unsigned n)
{
	int r;

	while ((r = fdpass_send(HAND_FD, b->p, b->n, fds, n)) == -EMFILE)
		IGNORE(poll(NULL, 0, CROWDED_WAIT_MS)); /* poll() without descriptors only waits */
	return r;
}

/* Does one request. Returns an error if the server broke the protocol or is gone; on_server() then
 * stops the loop, and this process ends. */
static int on_frame(void *arg, const struct frame *f)
{
	const struct hand *h = arg;
	AUTO_BUF answer = BUF_INIT(ANSWER_MAX_BYTES);
	unsigned n = 0;
	int fds[HAND_FDS], r;

	if (f->type != FRAME_HAND_REQUEST || hand_do(&h->bounds, f->body, &answer, fds, &n) < 0)
		return -EPROTO;
	r = send_answer(&answer, fds, n);
	while (n > 0)
		fd_closep(&fds[--n]);
	reap(NULL, SIGCHLD); /* reap the supervisors that ended while we did the request */
	return r;
}

static void on_server(void *arg, int fd, uint32_t events)
{
	struct hand *h = arg;
	char chunk[READ_BYTES];
	ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || frame_feed(&h->in, chunk, (size_t)n, on_frame, h) != 0)
		loop_stop(h->loop);
}

/* The program that starts hands has raised its soft limit of open files, and we inherit the raised
 * limit. SOFT is the soft limit from before it was raised. We lower our limit to SOFT, so that the
 * supervisors that we start inherit SOFT. */
static void set_open_files(uint64_t soft)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || soft > l.rlim_max)
		return;
	l.rlim_cur = soft;
	IGNORE(setrlimit(RLIMIT_NOFILE, &l)); /* lowering cannot fail */
}

int main(int argc, char **argv)
{
	struct hand h = { .in = BUF_INIT(FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES + READ_BYTES) };
	uint64_t soft;

	if (argc < 3 || parse_u64(argv[1], 1, UINT64_MAX, &soft) < 0 ||
	    fcntl(HAND_FD, F_SETFD, FD_CLOEXEC) < 0) {
		fputs("cordon-hand: started by a server of cordon, not by hand\n", stderr);
		return 2;
	}
	set_open_files(soft);
	h.bounds = (struct hand_bounds){ .sessions_only = strcmp(argv[2], HAND_ANYTHING) != 0,
					 .refused = (const char *const *)argv + 3,
					 .n_refused = (size_t)argc - 3 };
	if (loop_new(&h.loop) < 0 || !loop_add_fd(h.loop, HAND_FD, LOOP_READ, on_server, &h) ||
	    !loop_add_signal(h.loop, SIGCHLD, reap, NULL) || loop_run(h.loop) < 0)
		return 1;
	loop_free(h.loop);
	buf_done(&h.in);
	return 0;
}
