/*
 * Measures the Box server. For comparison, after each request of `exec` and `create` this program
 * does the same work without the server, and measures both. Prints lines like those of spawn.c: an
 * index, nanoseconds, two numbers without a meaning, and a number of bytes. The usage below says
 * what each index measures.
 *
 * usage: boxed exec PORT SESSION SANDBOX SECONDS   0: a command through the server, 1: the same
 *                                                  command over a kept connection to pid 1
 *        boxed create PORT SECONDS CORDON          0: box_create_session, 1: `CORDON create`,
 *                                                  2: the start of CORDON alone
 *        boxed relay PORT SESSION PROCESS          0: all lines of a process through its relay
 *        boxed pipe COMMAND [ARG…]                 0: all output of a command through a pipe
 *
 * CORDON_HOME says where the sandboxes are.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"
#include "client/call.h"
#include "client/exec.h"
#include "state/home.h"
#include "wire/websocket.h"

#define WARM_UP 10 /* rounds that are not counted */
#define CHUNK_BYTES (256u << 10)

extern char **environ;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(2);
}

static void print(unsigned index, uint64_t ns, uint64_t bytes)
{
	printf("%u %llu 0 0 %llu\n", index, (unsigned long long)ns, (unsigned long long)bytes);
}

/* --- a peer ---------------------------------------------------------------------------------- */

struct peer {
	int fd;
	struct websocket ws;
	char chunk[CHUNK_BYTES];
	struct str in; /* bytes that were received but not decoded yet */
	unsigned number;
};

static void open_peer(struct peer *p, const char *port, const char *path)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	AUTO_BUF head = BUF_INIT(4096);
	size_t n = 0;
	char *end = NULL;

	a.sin_port = htons((uint16_t)atoi(port));
	*p = (struct peer){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	if (p->fd < 0 || connect(p->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		die("cannot connect");
	buf_addf(&head,
		 "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: "
		 "Upgrade\r\n"
		 "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n",
		 path);
	if (io_write_all(p->fd, head.p, head.n) < 0)
		die("cannot ask for a WebSocket");
	while (!end) {
		ssize_t k = read(p->fd, p->chunk + n, sizeof(p->chunk) - n);

		if (k <= 0)
			die("no WebSocket");
		n += (size_t)k;
		end = memmem(p->chunk, n, "\r\n\r\n", 4);
	}
	if (memcmp(p->chunk, "HTTP/1.1 101", 12) != 0)
		die("the server refused");
	p->in = (struct str){ end + 4, n - (size_t)(end + 4 - p->chunk) };
	websocket_init(&p->ws, WEBSOCKET_CLIENT, WEBSOCKET_MESSAGE_MAX_BYTES);
}

/* Waits for the next text message and sets *RET to it. Returns false when the server has closed the
 * connection. */
static bool next_message(struct peer *p, struct str *ret)
{
	struct websocket_event e;

	for (;;) {
		int r = websocket_next(&p->ws, &p->in, &e);
		ssize_t k;

		if (r < 0)
			die("bad frames");
		if (r > 0 && e.type == WEBSOCKET_CLOSE)
			return false;
		if (r > 0 && e.type == WEBSOCKET_TEXT) {
			*ret = e.payload;
			return true;
		}
		if (r > 0)
			continue;
		k = read(p->fd, p->chunk, sizeof(p->chunk));
		if (k <= 0)
			return false;
		p->in = (struct str){ p->chunk, (size_t)k };
	}
}

/* Sends one request and waits for its answer. */
static void ask(struct peer *p, const char *action, const char *data)
{
	static const unsigned char mask[WEBSOCKET_MASK_BYTES] = { 1, 2, 3, 4 };
	AUTO_BUF text = BUF_INIT(1 << 20);
	AUTO_BUF frame = BUF_INIT(1 << 20);
	struct str got;

	buf_addf(&text, "{\"seq_id\":%u,\"action\":\"%s\",\"data\":%s}", p->number++, action, data);
	websocket_put(&frame, WEBSOCKET_TEXT, mask, text.p, text.n);
	if (io_write_all(p->fd, frame.p, frame.n) < 0 || !next_message(p, &got))
		die("the server hung up");
	if (!memmem(got.p, got.n, "\"code\":0", 8)) {
		fprintf(stderr, "%.*s\n", (int)got.n, got.p);
		exit(2);
	}
}

/* --- exec ------------------------------------------------------------------------------------ */

static void exec_kept(struct client *c)
{
	static const char *argv[] = { "sh", "-lc",
				      "cd '/workspace' 2>/dev/null || { mkdir -p '/workspace' && "
				      "cd '/workspace'; } || exit\n"
				      "true" };
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct exec_request q = { .message = { .argv = argv,
					       .n_argv = 3,
					       .cwd = "/",
					       .flags = EXEC_WHOLE,
					       .timeout_ms = 30000 },
				  .in = -1,
				  .out = null,
				  .err = null };
	struct exec_result r;
	struct err e = { 0 };

	if (client_exec(c, &q, &r, &e) < 0)
		die(e.msg);
	if (exec_exit_status(&r.end) != 0)
		die("the command failed");
}

static void run_exec(char **argv)
{
	static struct peer p;
	AUTO_HOME home = { .fd = -1 };
	AUTO_BUF data = BUF_INIT(4096);
	struct client c;
	struct err e = { 0 };
	uint64_t deadline = clock_mono_ns() + (uint64_t)atoi(argv[3]) * NS_PER_SEC;

	open_peer(&p, argv[0], "/rpc/ws");
	buf_addf(&data, "{\"session_id\":\"%s\",\"cmd\":\"true\"}", argv[1]);
	if (home_open(&home, &e) < 0 || client_open(&c, &home, argv[2], &e) < 0)
		die(e.msg);
	for (unsigned round = 0; round <= WARM_UP || clock_mono_ns() < deadline; round++) {
		uint64_t t[3];

		t[0] = clock_mono_ns();
		ask(&p, "box_exec", buf_str(&data));
		t[1] = clock_mono_ns();
		exec_kept(&c);
		t[2] = clock_mono_ns();
		if (round < WARM_UP)
			continue;
		print(0, t[1] - t[0], 0);
		print(1, t[2] - t[1], 0);
	}
	client_done(&c);
}

/* --- create ---------------------------------------------------------------------------------- */

static uint64_t spawn_once(const char *const *argv)
{
	uint64_t start = clock_mono_ns();
	pid_t pid = vfork();
	int status;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		if (dup2(null, 0) == 0 && dup2(null, 1) == 1)
			execve(argv[0], (char *const *)argv, environ);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		die("a command failed");
	return clock_mono_ns() - start;
}

static void run_create(char **argv)
{
	static struct peer p;
	const char *cordon = argv[2], *name = "bench-boxed",
		   *data = "{\"session_id\":\"bench-boxed\"}";
	const char *const create[] = {
		cordon, "create", "-q", "-n", name, "--no-net", "host", NULL
	};
	const char *const remove[] = { cordon, "remove", "-f", "-q", name, NULL };
	const char *const start[] = { cordon, "version", NULL };
	uint64_t deadline = clock_mono_ns() + (uint64_t)atoi(argv[1]) * NS_PER_SEC;

	open_peer(&p, argv[0], "/rpc/ws");
	for (unsigned round = 0; round <= WARM_UP || clock_mono_ns() < deadline; round++) {
		uint64_t began = clock_mono_ns(), t[3];

		ask(&p, "box_create_session", data);
		t[0] = clock_mono_ns() - began;
		ask(&p, "box_delete_session", data);
		t[1] = spawn_once(create);
		spawn_once(remove);
		t[2] = spawn_once(start);
		for (unsigned i = 0; i < 3 && round >= WARM_UP; i++)
			print(i, t[i], 0);
	}
}

/* --- streams --------------------------------------------------------------------------------- */

static void run_relay(char **argv)
{
	static struct peer p;
	AUTO_BUF path = BUF_INIT(4096);
	uint64_t began = clock_mono_ns(), bytes = 0;
	struct str line;

	buf_addf(&path, "/v1/sessions/%s/managed-process/%s/ws", argv[1], argv[2]);
	open_peer(&p, argv[0], buf_str(&path));
	while (next_message(&p, &line))
		bytes += line.n + 1;
	print(0, clock_mono_ns() - began, bytes);
}

static void run_pipe(char **argv)
{
	static char chunk[CHUNK_BYTES];
	uint64_t began = clock_mono_ns(), bytes = 0;
	ssize_t n;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		die("no pipe");
	if (vfork() == 0) {
		if (dup2(fds[1], 1) == 1)
			execvp(argv[0], argv);
		_exit(127);
	}
	close(fds[1]);
	while ((n = read(fds[0], chunk, sizeof(chunk))) > 0)
		bytes += (uint64_t)n;
	print(0, clock_mono_ns() - began, bytes);
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "exec") == 0)
		run_exec(argv + 2);
	else if (argc == 5 && strcmp(argv[1], "create") == 0)
		run_create(argv + 2);
	else if (argc == 5 && strcmp(argv[1], "relay") == 0)
		run_relay(argv + 2);
	else if (argc > 2 && strcmp(argv[1], "pipe") == 0)
		run_pipe(argv + 2);
	else
		return 2;
	return 0;
}
