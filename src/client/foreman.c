#include "client/foreman.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "base/program.h"
#include "base/spawn.h"
#include "wire/hand.h"

/* The shortest time between two starts of one hand, so that a hand that always fails does not keep
 * the machine busy. */
#define RESTART_NS (100 * NS_PER_MS)

extern char **environ;

struct started {
	struct foreman *foreman;
	struct child child; /* the pid is -1 if the hand has ended */
	loop_id watch, timer;
};

struct foreman {
	struct loop *loop; /* borrowed */
	int channel;
	loop_id watch;
	uint64_t nofile;
	const struct hand_bounds *bounds; /* borrowed */
	char *program;
	foreman_gone_fn *gone;
	void *arg;
	struct started hand[FOREMAN_HANDS_MAX];
};

unsigned foreman_usual_hands(void)
{
	cpu_set_t set;
	unsigned n =
		sched_getaffinity(0, sizeof(set), &set) == 0 ? 2 * (unsigned)CPU_COUNT(&set) : 2;

	return n < FOREMAN_HANDS_MAX ? n : FOREMAN_HANDS_MAX;
}

/* Starts the program cordon-hand. *RET_SOCK is the server's end of the hand's socket. */
static int spawn_hand(const struct foreman *f, struct child *ret, int *ret_sock, struct err *e)
{
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	AUTO_FD ours = -1;
	AUTO_FD theirs = -1;
	char nofile[24];
	const char *argv[3 + HAND_PATHS_MAX + 1] = { "cordon-hand", nofile,
						     f->bounds->sessions_only ? HAND_SESSIONS
									      : HAND_ANYTHING };
	struct spawn s = { .path = f->program,
			   .argv = argv,
			   .envp = (const char *const *)environ,
			   /* a new session, so that Ctrl-C at the server's terminal reaches only
			    * the server */
			   .new_session = true,
			   .tied = true,
			   .cwd_fd = -1 };
	int pair[2];

	if (null < 0)
		return err_sys(e, errno, "open '/dev/null'");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make a socket for a hand");
	ours = pair[0];
	theirs = pair[1];
	snprintf(nofile, sizeof(nofile), "%llu", (unsigned long long)f->nofile);
	assert(f->bounds->n_refused <= HAND_PATHS_MAX);
	for (size_t i = 0; i < f->bounds->n_refused; i++)
		argv[3 + i] = f->bounds->refused[i];
	s.fd[s.n_fds++] = (struct spawn_fd){ null, 0 };
	s.fd[s.n_fds++] = (struct spawn_fd){ null, 1 };
	s.fd[s.n_fds++] = (struct spawn_fd){ theirs, HAND_FD };
	if (spawn(&s, ret, e) < 0)
		return -1;
	*ret_sock = fd_take(&ours);
	return 0;
}

static void on_ended(void *arg, int fd, uint32_t events);

static int start(struct started *h, struct err *e)
{
	struct foreman *f = h->foreman;
	AUTO_FD sock = -1;
	ssize_t r;

	if (spawn_hand(f, &h->child, &sock, e) < 0)
		return -1;
	h->watch = loop_add_fd(f->loop, h->child.pidfd, LOOP_READ, on_ended, h);
	if (!h->watch)
		out_of_memory();
	/* do not wait, because a server that an attacker controls may never read the channel */
	r = fdpass_try(f->channel, "h", 1, (int[]){ sock, h->child.pidfd }, 2);
	/* If the server has ended, the loop calls on_channel(). If the server lives but could not
	 * take the socket, this function closes it. Then the hand ends, and on_ended() arranges
	 * that it is started again. */
	if (r < 0)
		log_line(LOG_WARN, "a hand did not reach the server: %zd", -r);
	return 0;
}

static void on_restart(void *arg)
{
	struct started *h = arg;
	struct err e;

	h->timer = 0;
	if (start(h, &e) == 0)
		return;
	log_line(LOG_ERROR, "cannot start a hand: %s", e.msg);
	h->timer = loop_add_timer(h->foreman->loop, clock_mono_ns() + RESTART_NS, on_restart, h);
	if (!h->timer)
		out_of_memory();
}

static void on_ended(void *arg, int fd, uint32_t events)
{
	struct started *h = arg;
	int status;

	loop_remove(h->foreman->loop, &h->watch);
	IGNORE(child_wait(&h->child, &status)); /* the hand is started again, however it ended */
	h->timer = loop_add_timer(h->foreman->loop, clock_mono_ns() + RESTART_NS, on_restart, h);
	if (!h->timer)
		out_of_memory();
}

/* The server never sends anything on the channel, so an event means that the server has ended. */
static void on_channel(void *arg, int fd, uint32_t events)
{
	struct foreman *f = arg;

	loop_remove(f->loop, &f->watch);
	f->gone(f->arg);
}

int foreman_new(struct loop *loop, int channel, unsigned n, uint64_t nofile,
		const struct hand_bounds *bounds, foreman_gone_fn *gone, void *arg,
		struct foreman **ret, struct err *e)
{
	struct foreman *f = xcalloc(1, sizeof(*f));
	int r;

	*f = (struct foreman){ .loop = loop,
			       .channel = channel,
			       .nofile = nofile,
			       .bounds = bounds,
			       .gone = gone,
			       .arg = arg };
	for (unsigned i = 0; i < FOREMAN_HANDS_MAX; i++)
		f->hand[i] = (struct started){ .foreman = f, .child = { -1, -1 } };
	f->watch = loop_add_fd(loop, channel, LOOP_READ, on_channel, f);
	r = f->watch ? program_ours("cordon-hand", &f->program, e)
		     : err_sys(e, errno, "watch the server");
	for (unsigned i = 0; r == 0 && i < n && i < FOREMAN_HANDS_MAX; i++)
		r = start(&f->hand[i], e);
	if (r < 0) {
		foreman_free(f);
		return -1;
	}
	*ret = f;
	return 0;
}

void foreman_free(struct foreman *f)
{
	if (!f)
		return;
	loop_remove(f->loop, &f->watch);
	for (unsigned i = 0; i < FOREMAN_HANDS_MAX; i++) {
		loop_remove(f->loop, &f->hand[i].watch);
		loop_remove(f->loop, &f->hand[i].timer);
		fd_closep(&f->hand[i].child.pidfd);
	}
	fd_closep(&f->channel);
	free(f->program);
	free(f);
}
