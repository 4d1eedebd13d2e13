#include "guest/endpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rotation.h"
#include "base/cleanup.h"
#include "guest/connection.h"
#include "guest/terminal.h"

void endpoints_done(struct endpoints *f)
{
	for (int i = 0; i < 3; i++)
		fd_closep(&f->child[i]);
	fd_closep(&f->write_in);
	fd_closep(&f->read_out);
	fd_closep(&f->read_err);
	fd_closep(&f->master);
}

/* Makes a pipe that every user of the sandbox may open again by a name such as /dev/stdout.
 * Returns 0 or -errno. */
static int open_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_read = fds[0];
	*ret_write = fds[1];
	return fchmod(fds[1], 0666) < 0 ? -errno : 0;
}

/* Makes the pipes of a detached command, and keeps pid 1's ends in F. A background command gets a
 * pipe for its input if EXEC_NO_INPUT is not set. Every other command here gets /dev/null as its
 * input. */
static int open_pipes(unsigned flags, struct endpoints *f)
{
	int r = 0;

	if (flags & EXEC_BACKGROUND && !(flags & EXEC_NO_INPUT))
		r = open_pipe(&f->child[0], &f->write_in);
	else if ((f->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		r = -errno;
	if (r == 0)
		r = open_pipe(&f->read_out, &f->child[1]);
	if (r == 0 && !(flags & EXEC_JOINED))
		return open_pipe(&f->read_err, &f->child[2]);
	f->child[2] = r == 0 ? fcntl(f->child[1], F_DUPFD_CLOEXEC, 3) : -1;
	return r == 0 && f->child[2] < 0 ? -errno : r;
}

/* Returns the id that the payload's user UID has in our namespace. */
static uint32_t outer_uid(const struct boot_message *b, uint32_t uid)
{
	return b->id_shift + rotation_place(b->rotated ? b->owner_uid : 0, uid);
}

/* Opens /dev/null at the first call, and keeps it for all commands without input. If
 * /dev/null cannot be opened, returns -1, and the command keeps the client's empty pipe. */
static int empty_input(struct guest *g)
{
	if (g->null < 0)
		g->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return g->null;
}

int endpoints_open(struct connection *c, const struct exec_message *m, const struct user *u,
		   struct endpoints *f)
{
	unsigned want = m->flags & (EXEC_TTY | EXEC_DETACHED) ? 0 : m->flags & EXEC_JOINED ? 2 : 3;
	int r;

	*f = (struct endpoints){ { -1, -1, -1 }, -1, -1, -1, -1, -1 };
	if (c->n_fds != want)
		return -EPROTO;
	if (m->flags & EXEC_TTY) {
		r = terminal_open(outer_uid(&c->guest->boot, u->uid), m->rows, m->cols, &f->master,
				  &f->child[0]);
		for (int i = 1; r == 0 && i < 3; i++) {
			f->child[i] = fcntl(f->child[0], F_DUPFD_CLOEXEC, 3);
			r = f->child[i] < 0 ? -errno : 0;
		}
		return r;
	}
	if (m->flags & EXEC_DETACHED)
		return open_pipes(m->flags, f);
	for (unsigned i = 0; i < want; i++)
		f->child[i] = c->fds[i];
	c->n_fds = 0;
	if (m->flags & EXEC_NO_INPUT)
		f->input = empty_input(c->guest);
	if (want == 2) {
		f->child[2] = fcntl(f->child[1], F_DUPFD_CLOEXEC, 3);
		return f->child[2] < 0 ? -errno : 0;
	}
	return 0;
}
