#include "box/skill_starter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "base/program.h"
#include "base/spawn.h"
#include "client/source_rules.h"
#include "service/skills.h"

struct skill_starter {
	struct loop *loop; /* borrowed */
	int channel;
	loop_id watch;
	char *program;
	int last; /* the pidfd of the newest worker, or -1 */
};

/* Splits a request of the server: the path of a root and perhaps the path of a source, each with
 * a NUL at its end. Sets *SOURCE to NULL if there is no source. Returns 0 or -EPROTO. */
static int read_ask(const char *p, size_t n, const char **root, const char **source)
{
	size_t k = strnlen(p, n);

	if (k == 0 || k == n)
		return -EPROTO;
	*root = p;
	*source = NULL;
	if (k + 1 == n)
		return 0;
	*source = p + k + 1;
	n -= k + 1;
	return strnlen(*source, n) == n - 1 ? 0 : -EPROTO;
}

/* Starts the worker with an empty environment, because ours holds a secret. *RET_SOCK is the
 * server's end of the worker's socket. */
static int start(const struct skill_starter *s, const char *root, const char *source,
		 struct child *ret, int *ret_sock, struct err *e)
{
	const char *argv[3 + SOURCE_RULES_SYSTEM + 1] = { "cordon-skills", root,
							  source ? source : "" };
	struct spawn p = {
		.path = s->program, .argv = argv, .new_session = true, .tied = true, .cwd_fd = -1
	};
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	AUTO_FD ours = -1;
	AUTO_FD theirs = -1;
	int pair[2];

	if (null < 0)
		return err_sys(e, errno, "open '/dev/null'");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make a socket for the skill worker");
	memcpy(argv + 3, source_rules_system, sizeof(source_rules_system));
	ours = pair[0];
	theirs = pair[1];
	p.fd[p.n_fds++] = (struct spawn_fd){ theirs, 0 };
	p.fd[p.n_fds++] = (struct spawn_fd){ null, 1 };
	if (spawn(&p, ret, e) < 0)
		return -1;
	*ret_sock = fd_take(&ours);
	return 0;
}

/* A server drops its worker before it asks for another worker. A server that an attacker controls
 * could keep its workers and fill the machine with them. So the parent kills the last worker before
 * it starts another. */
static void end_last(struct skill_starter *s)
{
	if (s->last >= 0)
		IGNORE(sys_pidfd_send_signal(s->last, SIGKILL)); /* the worker may have ended */
	fd_closep(&s->last);
}

static void answer(struct skill_starter *s, const char *root, const char *source)
{
	struct child c = { -1, -1 };
	AUTO_FD sock = -1;
	struct err e;
	ssize_t r;

	end_last(s);
	if (start(s, root, source, &c, &sock, &e) == 0)
		r = fdpass_try(s->channel, SKILLS_WORKER, 1, (int[]){ sock, c.pidfd }, 2);
	else
		r = fdpass_try(s->channel, e.msg, strlen(e.msg), NULL, 0);
	/* sending fails if the server has ended or does not read its answers. The parent does not
	 * wait for such a server. When the parent closes SOCK, the worker ends */
	IGNORE(r);
	s->last = c.pidfd;
}

static void on_ask(void *arg, int fd, uint32_t events)
{
	struct skill_starter *s = arg;
	char ask[SKILLS_ASK_MAX];
	const char *root, *source;
	unsigned n_fds = 0;
	ssize_t n = fdpass_recv(fd, ask, sizeof(ask), NULL, 0, &n_fds);

	if (n > 0 && read_ask(ask, (size_t)n, &root, &source) == 0)
		answer(s, root, source);
	else
		loop_remove(s->loop, &s->watch); /* the server has ended, or sent garbage */
}

int skill_starter_new(struct loop *loop, int channel, struct skill_starter **ret, struct err *e)
{
	struct skill_starter *s = xcalloc(1, sizeof(*s));

	*s = (struct skill_starter){ .loop = loop, .channel = channel, .last = -1 };
	s->watch = loop_add_fd(loop, channel, LOOP_READ, on_ask, s);
	if (!s->watch || program_ours("cordon-skills", &s->program, e) < 0) {
		if (!s->watch)
			err_sys(e, errno, "watch the server");
		skill_starter_free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

void skill_starter_free(struct skill_starter *s)
{
	if (!s)
		return;
	loop_remove(s->loop, &s->watch);
	fd_closep(&s->channel);
	fd_closep(&s->last);
	free(s->program);
	free(s);
}
