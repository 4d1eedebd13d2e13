/* Tests which connections may report, and which bytes are a report. */
#include "guest/report.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "t.h"
#include "wire/message.h"

static int listener, hold[2];
static char name[64];

/* Connects by name, as a command in a sandbox does. */
static int connect_here(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(at);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (getsockname(listener, (struct sockaddr *)&at, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&at, len) < 0)
		return -1;
	return fd;
}

/* Starts a child that connects and waits until its input ends. With GRANDCHILD a child of the
 * child connects. */
static pid_t start(bool grandchild)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	close(hold[1]);
	if (grandchild && (pid = fork()) != 0) {
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	connect_here();
	IGNORE(read(hold[0], &(char){ 0 }, 1)); /* waits for the end of the pipe */
	_exit(0);
}

/* Returns the next connection. */
static int take(void)
{
	int fd = -1;

	while (fd < 0 && (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0 && errno == EAGAIN)
		usleep(1000);
	return fd;
}

static bool has_peer_pidfd(void)
{
	int pair[2], fd = -1;
	socklen_t len = sizeof(fd);
	bool has;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return false;
	has = getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0;
	if (has)
		close(fd);
	close(pair[0]);
	close(pair[1]);
	return has;
}

static void a_connection_of_our_child_is_recognised(void)
{
	int other, sock;
	pid_t child, parent;

	T_INT(pipe(hold), 0);
	child = start(false);
	sock = take();
	T_INT(report_sender(sock), child);
	parent = start(true);
	other = take();
	T_TRUE(report_sender(other) != parent && report_sender(other) != child);
	T_TRUE(!has_peer_pidfd() || report_sender(other) == 0); /* the sender is no child of ours */
	close(hold[1]);
	close(hold[0]);
	/* the child has ended but is not reaped yet: until it is reaped, the sender is known */
	T_INT(waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	T_INT(report_sender(sock), child);
	T_INT(waitpid(child, NULL, 0), child);
	/* after the process is reaped, another process may have its pid */
	T_TRUE(!has_peer_pidfd() || report_sender(sock) == 0);
	T_INT(waitpid(parent, NULL, 0), parent);
	close(sock);
	close(other);
}

static void a_connection_of_ourselves_is_not_a_childs(void)
{
	int fd = connect_here(), sock = take();

	T_TRUE(!has_peer_pidfd() || report_sender(sock) == 0);
	close(fd);
	close(sock);
}

static void the_queue_of_connections_is_bounded(void)
{
	unsigned n = 0;
	int fds[4 * REPORT_QUEUE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct sockaddr_un at = { .sun_family = AF_UNIX };
		socklen_t len = sizeof(at);

		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		T_INT(getsockname(listener, (struct sockaddr *)&at, &len), 0);
		n += connect(fds[i], (struct sockaddr *)&at, len) == 0;
	}
	T_INT(n, REPORT_QUEUE_MAX);
	for (unsigned i = 0; i < REPORT_QUEUE_MAX; i++)
		close(take());
	T_INT(accept4(listener, NULL, NULL, 0), -1);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void the_name_can_be_bound_once(void)
{
	T_INT(report_listen(name), -EADDRINUSE);
}

static void a_report_may_come_in_pieces(void)
{
	static const char bytes[] = "\5\0\0\0state and more";

	for (size_t piece = 1; piece < sizeof(bytes); piece++) {
		struct report r = { 0 };
		struct pool pool = { 0 };
		size_t n = 0;
		char *got;

		for (size_t at = 0; at < sizeof(bytes) - 1; at += piece)
			report_add(&r, &pool, bytes + at,
				   sizeof(bytes) - 1 - at < piece ? sizeof(bytes) - 1 - at : piece);
		T_INT(r.state, REPORT_WHOLE);
		T_INT(pool.used, 5);
		got = report_take(&r, &n);
		T_INT(n, 5);
		T_INT(memcmp(got, "state", 5), 0);
		free(got);
		report_done(&r, &pool);
		/* report_done() gives nothing back to the pool after report_take(): the caller of
		 * report_take() must do that */
		T_INT(pool.used, 5);
	}
}

static void a_partial_report_is_no_report(void)
{
	struct report r = { 0 };
	struct pool pool = { 0 };
	size_t n;

	T_INT(report_add(&r, &pool, "\5\0\0", 3), REPORT_MORE);
	T_TRUE(report_take(&r, &n) == NULL);
	T_INT(report_add(&r, &pool, "\0sta", 4), REPORT_MORE);
	T_TRUE(report_take(&r, &n) == NULL);
	report_done(&r, &pool);
	T_INT(pool.used, 0);
}

static void a_report_is_bounded(void)
{
	struct report r = { 0 };
	struct pool pool = { 0 };

	T_INT(report_add(&r, &pool, "\1\0\x40\0x", 5), REPORT_BAD); /* 4 MiB and one byte */
	report_done(&r, &pool);
	r = (struct report){ 0 };
	T_INT(report_add(&r, &pool, "\0\0\x40\0", 4), REPORT_MORE);
	T_INT(pool.used, REPORT_MAX_BYTES);
	report_done(&r, &pool);
	pool.used = POOL_BYTES - 4;
	r = (struct report){ 0 };
	T_INT(report_add(&r, &pool, "\5\0\0\0state", 9), REPORT_BAD);
	report_done(&r, &pool);
	T_INT(pool.used, POOL_BYTES - 4);
	r = (struct report){ 0 };
	/* an empty report is allowed */
	T_INT(report_add(&r, &pool, "\0\0\0\0", 4), REPORT_WHOLE);
	report_done(&r, &pool);
}

int main(void)
{
	/* a name that no other test uses */
	snprintf(name, sizeof(name), "cordon/report/%d", (int)getpid());
	listener = report_listen(name);
	if (listener < 0)
		return 1;
	T_RUN(a_connection_of_our_child_is_recognised);
	T_RUN(a_connection_of_ourselves_is_not_a_childs);
	T_RUN(the_queue_of_connections_is_bounded);
	T_RUN(the_name_can_be_bound_once);
	T_RUN(a_report_may_come_in_pieces);
	T_RUN(a_partial_report_is_no_report);
	T_RUN(a_report_is_bounded);
	return t_end();
}
