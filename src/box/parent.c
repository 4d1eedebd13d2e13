#include "box/parent.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program.h"
#include "base/say.h"
#include "base/spawn.h"
#include "base/str.h"
#include "box/serve.h"
#include "box/skill_starter.h"
#include "client/foreman.h"
#include "client/source_rules.h"

#define BACKLOG 256

extern char **environ;

struct family {
	struct loop *loop;
	struct child server;
	int status; /* the server's exit status, if it has ended */
	bool ended;
};

/* --- the port -------------------------------------------------------------------------------- */

static int listen_at(const struct addrinfo *a, struct err *e)
{
	AUTO_FD fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(e, errno, "listen");
	return fd_take(&fd);
}

/* Prints the address for people, and for tests in which the kernel chooses the port. */
static void say_where(int fd)
{
	struct sockaddr_storage a = { 0 };
	char host[NI_MAXHOST], port[NI_MAXSERV];
	socklen_t n = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &n) == 0 &&
	    getnameinfo((struct sockaddr *)&a, n, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		say_note("cordon-box: listening on %s port %s", host, port);
}

static int open_port(const struct settings *s, struct err *e)
{
	const struct addrinfo wanted = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
					 .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char port[8];
	int fd, r;

	snprintf(port, sizeof(port), "%u", s->port);
	r = getaddrinfo(s->host, port, &wanted, &found);
	if (r != 0)
		return err_set(e, ERR_INVALID, "--host '%s': %s", s->host, gai_strerror(r));
	fd = listen_at(found, e);
	freeaddrinfo(found);
	if (fd < 0)
		return err_wrap(e, "%s port %u", s->host, s->port);
	say_where(fd);
	return fd;
}

static void warn_of_open_address(const struct settings *s)
{
	if (s->trust.token || starts_with(s->host, "127.") || strcmp(s->host, "localhost") == 0 ||
	    strcmp(s->host, "::1") == 0)
		return;
	say_warn("listening on %s without LANGBOT_BOX_CONTROL_TOKEN: anyone who reaches this port "
		 "can run commands in sandboxes and read and write the directories that they may "
		 "mount",
		 s->host);
}

/* --- processes ------------------------------------------------------------------------------- */

static int start_server(struct family *f, int argc, char **argv, int listener, int hands,
			int skills, struct err *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_FREE const char **args = xcalloc((size_t)argc + 2, sizeof(*args));
	struct spawn s = {
		.argv = args, .envp = (const char *const *)environ, .cwd_fd = -1, .tied = true
	};

	if (program_ours("cordon-box", &path, e) < 0)
		return -1;
	memcpy(args, argv, (size_t)argc * sizeof(*args));
	args[argc] = "--serve";
	s.path = path;
	s.fd[s.n_fds++] = (struct spawn_fd){ 0, 0 };
	s.fd[s.n_fds++] = (struct spawn_fd){ 1, 1 };
	s.fd[s.n_fds++] = (struct spawn_fd){ 2, 2 };
	s.fd[s.n_fds++] = (struct spawn_fd){ hands, SERVE_FD_HANDS };
	s.fd[s.n_fds++] = (struct spawn_fd){ skills, SERVE_FD_SKILLS };
	if (listener >= 0)
		s.fd[s.n_fds++] = (struct spawn_fd){ listener, SERVE_FD_LISTENER };
	return spawn(&s, &f->server, e);
}

static void on_child(void *arg, int sig)
{
	struct family *f = arg;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == f->server.pid) {
			f->status =
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			f->ended = true;
			loop_stop(f->loop);
		}
}

static void on_signal(void *arg, int sig)
{
	struct family *f = arg;

	kill(f->server.pid, SIGTERM);
}

static void on_server_gone(void *arg)
{
	/* SIGCHLD follows, and on_child() handles it */
}

/* The hands enforce these bounds whatever the configuration says, even if a peer has taken over the
 * server process. */
static const struct hand_bounds hand_bounds = { .refused = source_rules_system,
						.n_refused = SOURCE_RULES_SYSTEM,
						.sessions_only = true };

static int run(const struct settings *s, uint64_t nofile, int argc, char **argv, struct err *e)
{
	struct family f = { 0 };
	struct foreman *foreman;
	struct skill_starter *starter;
	AUTO_FD listener = open_port(s, e);
	int hands[2], skills[2], r;

	if (listener < 0 && !s->stdio)
		return -1;
	if (listener < 0)
		say_warn("%s; relays cannot be reached", e->msg);
	warn_of_open_address(s);
	r = loop_new(&f.loop);
	if (r < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, hands) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, skills) < 0)
		return err_sys(e, r < 0 ? -r : errno, "prepare");
	if (!loop_add_signal(f.loop, SIGCHLD, on_child, &f) ||
	    !loop_add_signal(f.loop, SIGTERM, on_signal, &f) ||
	    !loop_add_signal(f.loop, SIGINT, on_signal, &f))
		return err_sys(e, errno, "signals");
	if (start_server(&f, argc, argv, listener, hands[1], skills[1], e) < 0)
		return -1;
	fd_closep(&hands[1]);
	fd_closep(&skills[1]);
	fd_closep(&listener);
	/* only the server keeps stdin and stdout, so that both close when the server ends */
	if (s->stdio) {
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
	}
	if (foreman_new(f.loop, hands[0], foreman_usual_hands(), nofile, &hand_bounds,
			on_server_gone, &f, &foreman, e) < 0 ||
	    skill_starter_new(f.loop, skills[0], &starter, e) < 0)
		return -1;
	r = loop_run(f.loop);
	skill_starter_free(starter);
	foreman_free(foreman);
	loop_free(f.loop);
	return r < 0 ? err_sys(e, -r, "loop") : f.status;
}

int parent(const struct settings *s, uint64_t nofile, int argc, char **argv)
{
	struct err e = { 0 };
	int r = run(s, nofile, argc, argv, &e);

	if (r >= 0)
		return r;
	say_error(&e);
	return 1;
}
