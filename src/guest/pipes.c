/*
 * Pipes that no client reads any more: the pipes of background processes whose client has left, and
 * the pipes of detached commands. pid 1 reads these pipes, so that no writer gets SIGPIPE, and
 * sends the data to the supervisor. The supervisor writes the data to the log under the command's
 * number.
 */
#include "guest/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/connection.h"

#define READ_CHUNK_BYTES 16384

struct left_pipe {
	struct left_pipe *next;
	struct guest *guest;
	int fd;
	loop_id watch;
	uint64_t id;
	unsigned flags;
};

static void drop(struct left_pipe *p)
{
	struct left_pipe **at = &p->guest->left_pipes;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->guest->n_left_pipes--;
	loop_remove(p->guest->loop, &p->watch);
	fd_closep(&p->fd);
	server_has_room(p->guest);
	free(p);
}

static void on_readable(void *arg, int fd, uint32_t events)
{
	struct left_pipe *p = arg;
	char chunk[READ_CHUNK_BYTES];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n > 0)
		channel_log(p->guest, p->id, p->flags, chunk, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		drop(p);
}

void pipes_adopt(struct guest *g, int fd, uint64_t id, unsigned flags)
{
	struct left_pipe *p;

	if (g->n_left_pipes >= GUEST_LEFT_PIPES_MAX) {
		close(fd);
		return;
	}
	p = xcalloc(1, sizeof(*p));
	*p = (struct left_pipe){ .guest = g, .fd = fd, .id = id, .flags = flags };
	IGNORE(fcntl(fd, F_SETFL, O_NONBLOCK)); /* cannot fail on a pipe */
	p->watch = loop_add_fd(g->loop, fd, LOOP_READ, on_readable, p);
	if (!p->watch) {
		close(fd); /* FD cannot be polled, so it is no pipe */
		free(p);
		return;
	}
	p->next = g->left_pipes;
	g->left_pipes = p;
	g->n_left_pipes++;
}
