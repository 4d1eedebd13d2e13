#include "tool/searcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program.h"

/* The deadline of the answer, counted from searcher_end(). By then the search may still have to
 * read 50 MiB from a slow disk. Also the deadline for sending one file. */
#define DEADLINE_SEC 10
#define SEND_SEC 5 /* stop sending if cordon-search reads nothing for this long */

enum { STATUS_INVALID = 2, STATUS_LATE = 3 }; /* exit statuses of cordon-search */

static int spawn_search(int in, int out, const char *expression, const char *include,
			struct child *ret, struct err *e)
{
	AUTO_FREE char *program = NULL;
	const char *argv[] = { "cordon-search", expression, include, NULL };
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct spawn s = { .argv = argv,
			   .fd = { { null, 0 }, { out, 1 }, { in, 3 } },
			   .n_fds = 3,
			   .tied = true,
			   .cwd_fd = -1 };

	if (null < 0)
		return err_sys(e, errno, "open '/dev/null'");
	if (program_ours("cordon-search", &program, e) < 0)
		return -1;
	s.path = program;
	return spawn(&s, ret, e);
}

int searcher_start(struct searcher *s, int fd, struct str expression, struct str include,
		   struct fault *f)
{
	AUTO_FREE char *pattern = xstrndup(expression.p, expression.n);
	AUTO_FREE char *names = xstrndup(include.p, include.n);
	int out[2] = { -1, -1 }, in[2] = { -1, -1 }, r;
	struct err e = { 0 };

	if (pipe2(out, O_CLOEXEC) < 0 || (fd < 0 && pipe2(in, O_CLOEXEC) < 0))
		r = err_sys(&e, errno, "make a pipe");
	else
		r = spawn_search(fd < 0 ? in[0] : fd, out[1], pattern, names, &s->child, &e);
	fd_closep(&out[1]);
	fd_closep(&in[0]);
	s->answer = out[0];
	s->stream = in[1];
	if (r == 0 && s->stream >= 0 && fcntl(s->stream, F_SETFL, O_NONBLOCK) < 0)
		r = err_sys(&e, errno, "set up a pipe");
	return r < 0 ? fault_set(f, FAULT_BOX, "The search cannot start: %s.", strerror(e.sys)) : 0;
}

static bool send_bytes(struct searcher *s, const char *p, size_t n, uint64_t until)
{
	while (n > 0 && !s->closed) {
		struct pollfd wait = { .fd = s->stream, .events = POLLOUT };
		ssize_t k = clock_mono_ns() < until ? write(s->stream, p, n) : 0;

		if (k == 0) {
			s->closed = true; /* a hijacked cordon-search reads ever so slowly */
		} else if (k > 0) {
			p += k;
			n -= (size_t)k;
		} else if (errno == EAGAIN) {
			s->closed = poll(&wait, 1, SEND_SEC * 1000) == 0;
		} else if (errno != EINTR) {
			s->closed = true; /* EPIPE: cordon-search wants no more files */
		}
	}
	return !s->closed;
}

bool searcher_send(struct searcher *s, const char *path, struct str content)
{
	AUTO_FREE char *line = xasprintf("%zu %s\n", content.n, path);
	uint64_t until = clock_mono_ns() + DEADLINE_SEC * NS_PER_SEC;

	return send_bytes(s, line, strlen(line), until) &&
	       send_bytes(s, content.p, content.n, until);
}

/* Reads the answer until it ends. Returns 0, -ETIME at the deadline, or another -errno. */
static int read_answer(int in, struct buf *answer)
{
	uint64_t until = clock_mono_ns() + DEADLINE_SEC * NS_PER_SEC;

	for (;;) {
		struct pollfd p = { .fd = in, .events = POLLIN };
		uint64_t now = clock_mono_ns();
		char *room = buf_room(answer, 65536);
		ssize_t n;

		if (!room)
			return -EFBIG;
		if (now >= until || poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) == 0)
			return -ETIME;
		n = read(in, room, 65536);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		answer->n += n > 0 ? (size_t)n : 0;
	}
}

int searcher_end(struct searcher *s, struct buf *answer, struct fault *f)
{
	bool reaped;
	int r, status = 0;

	fd_closep(&s->stream);
	r = read_answer(s->answer, answer);
	/* the child is not reaped yet, so no other process can have its pid */
	if (r < 0)
		IGNORE(kill(s->child.pid, SIGKILL));
	fd_closep(&s->answer);
	reaped = child_wait(&s->child, &status) == 0;
	if (r == -ETIME)
		return SEARCHER_LATE;
	if (r == 0 && reaped && WIFEXITED(status))
		switch (WEXITSTATUS(status)) {
		case 0:
			return SEARCHER_DONE;
		case STATUS_INVALID:
			return SEARCHER_INVALID;
		case STATUS_LATE:
			return SEARCHER_LATE;
		default:
			break;
		}
	return fault_set(f, FAULT_BOX, "The search failed.");
}

void searcher_stop(struct searcher *s)
{
	int status;

	fd_closep(&s->stream);
	if (s->answer < 0)
		return;
	fd_closep(&s->answer);
	if (s->child.pidfd < 0)
		return; /* cordon-search was never started */
	/* the child is not reaped yet, so no other process can have its pid */
	IGNORE(kill(s->child.pid, SIGKILL));
	IGNORE(child_wait(&s->child, &status)); /* the status does not matter */
}
