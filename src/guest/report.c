#include "guest/report.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "wire/message.h"

int report_listen(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert(n < sizeof(at.sun_path));
	memcpy(at.sun_path + 1, name, n);
	n += offsetof(struct sockaddr_un, sun_path) + 1;
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, (socklen_t)n) < 0 ||
	    listen(fd, REPORT_BACKLOG) < 0)
		return -errno;
	return fd_take(&fd);
}

/* Returns true if PIDFD is a child of ours that was not reaped. As long as the child is not reaped,
 * no other process can have its pid. */
static bool is_our_child(int pidfd)
{
	siginfo_t si = { 0 };

	return waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

pid_t report_sender(int sock)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	AUTO_FD pidfd = -1;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return 0;
	len = sizeof(pidfd);
	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0) {
		pidfd = -1;
		return errno == ENOPROTOOPT
			       ? peer.pid
			       : 0; /* all other errors mean that the process is gone */
	}
	return is_our_child(pidfd) ? peer.pid : 0;
}

static size_t length(const unsigned char head[REPORT_HEAD_BYTES])
{
	return (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 |
	       (size_t)head[3] << 24;
}

/* Called when the length of the report is known. Takes memory for the bytes. Returns the new state
 * of the report: REPORT_BAD if the report is too long or there is no memory, REPORT_WHOLE if its
 * length is 0, and otherwise REPORT_MORE. */
static enum report_state begin(struct report *r, struct pool *pool)
{
	size_t want = length(r->head);

	if (want > REPORT_MAX_BYTES || !pool_take(pool, want))
		return REPORT_BAD;
	r->p = malloc(want ? want : 1);
	if (!r->p) {
		pool_give(pool, want);
		return REPORT_BAD;
	}
	r->want = want;
	return want ? REPORT_MORE : REPORT_WHOLE;
}

enum report_state report_add(struct report *r, struct pool *pool, const char *p, size_t n)
{
	while (r->state == REPORT_MORE && r->n_head < REPORT_HEAD_BYTES && n > 0) {
		r->head[r->n_head++] = (unsigned char)*p++;
		n--;
		if (r->n_head == REPORT_HEAD_BYTES)
			r->state = begin(r, pool);
	}
	if (r->state != REPORT_MORE || !r->p)
		return r->state;
	if (n > r->want - r->n)
		n = r->want - r->n;
	memcpy(r->p + r->n, p, n);
	r->n += n;
	if (r->n == r->want)
		r->state = REPORT_WHOLE;
	return r->state;
}

char *report_take(struct report *r, size_t *ret_n)
{
	if (r->state != REPORT_WHOLE)
		return NULL;
	*ret_n = r->n;
	r->n = r->want = 0;
	return TAKE(r->p);
}

void report_done(struct report *r, struct pool *pool)
{
	pool_give(pool, r->want);
	free(r->p);
	*r = (struct report){ .state = REPORT_BAD };
}
