#include "guest/endpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/connection.h"
#include "guest/terminal.h"

void endpoints_done(struct endpoints *f)
{
	for (int i = 0; i < 3; i++)
		fd_closep(&f->child[i]);
	fd_closep(&f->read_out);
	fd_closep(&f->read_err);
	fd_closep(&f->master);
}

int endpoints_open(struct connection *c, const struct exec_message *m, const struct user *u,
		   struct endpoints *f)
{
	unsigned want = m->flags & (EXEC_TTY | EXEC_DETACHED) ? 0 : m->flags & EXEC_JOINED ? 2 : 3;
	int r;

	*f = (struct endpoints){ { -1, -1, -1 }, -1, -1, -1 };
	if (c->n_fds != want)
		return -EPROTO;
	if (m->flags & EXEC_TTY) {
		r = terminal_open(u->uid + c->guest->boot.id_shift, m->rows, m->cols, &f->master,
				  &f->child[0]);
		for (int i = 1; r == 0 && i < 3; i++) {
			f->child[i] = fcntl(f->child[0], F_DUPFD_CLOEXEC, 3);
			r = f->child[i] < 0 ? -errno : 0;
		}
		return r;
	}
	if (m->flags & EXEC_DETACHED) {
		int out[2] = { -1, -1 }, err[2] = { -1, -1 };

		f->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		r = f->child[0] < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0
			    ? -errno
			    : 0;
		f->read_out = out[0];
		f->child[1] = out[1];
		f->read_err = err[0];
		f->child[2] = err[1];
		/* the command reopens /dev/stdout as whoever it becomes */
		if (r == 0 && (fchmod(out[1], 0666) < 0 || fchmod(err[1], 0666) < 0))
			r = -errno;
		return r;
	}
	for (unsigned i = 0; i < want; i++)
		f->child[i] = c->fds[i];
	c->n_fds = 0;
	if (want == 2) {
		f->child[2] = fcntl(f->child[1], F_DUPFD_CLOEXEC, 3);
		return f->child[2] < 0 ? -errno : 0;
	}
	return 0;
}
