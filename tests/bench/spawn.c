/*
 * Runs commands in turn, A B C B C A …, and prints how long each run took. The runs are
 * interleaved, so that other load hits all commands alike. The kernel frees namespaces and control
 * groups of one command while the next command runs. So each round has another order, and no
 * command is always slowed down by the same other command. This program is in C, so that the
 * measurement itself takes little time. A time is measured from before the spawn until after the
 * process is reaped.
 *
 * usage: spawn [-t SECONDS] [-n ROUNDS] [-o] <PLAN
 *
 * PLAN has a line for each command, with tabs between the fields: EVERY NS ARGV0 ARGV1 …
 *   EVERY  a number: the command runs only in each EVERYth round (above 1 for slow commands)
 *   NS     the file of a mount namespace for the command, or empty
 *   ARGVn  "{n}" in an argument is replaced by the round's number
 *
 * The output has a line for each run: COMMAND NANOSECONDS WAIT-STATUS MAX-RSS-KIB OUTPUT-BYTES.
 * COMMAND is the number of the command in the plan, counted from 0. With -o the output of commands
 * is read through a pipe and counted; otherwise it goes to /dev/null.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"

#define COMMANDS_MAX 16
#define ARGS_MAX 64
#define ARG_MAX_BYTES 1024
#define ROUNDS_MIN 10
#define READ_BYTES 65536

extern char **environ;

struct command {
	uint64_t every;
	int mount_ns; /* descriptor of a mount namespace, or -1 */
	unsigned n_args;
	struct str arg[ARGS_MAX];
};

struct options {
	uint64_t seconds, rounds;
	bool read_output;
};

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(2);
}

/* Copies ARG to OUT and replaces "{n}" by the number of the round. */
static void arg_expand(struct str arg, uint64_t round, char out[ARG_MAX_BYTES])
{
	AUTO_BUF b = BUF_INIT(ARG_MAX_BYTES - 1);

	for (size_t i = 0; i < arg.n; i++) {
		if (arg.n - i >= 3 && memcmp(arg.p + i, "{n}", 3) == 0) {
			buf_addf(&b, "%llu", (unsigned long long)round);
			i += 2;
		} else {
			buf_add_char(&b, arg.p[i]);
		}
	}
	if (buf_failed(&b))
		die("argument too long");
	memcpy(out, buf_str(&b), b.n + 1);
}

static unsigned plan_parse(struct str text, struct command *out)
{
	unsigned n = 0;

	while (text.p && n < COMMANDS_MAX) {
		struct str line = str_cut(&text, '\n');
		struct command *c = &out[n];
		char ns[ARG_MAX_BYTES];

		if (line.n == 0)
			continue;
		if (parse_u64_str(str_cut(&line, '\t'), 1, 1000, &c->every) < 0 || !line.p)
			die("bad plan");
		arg_expand(str_cut(&line, '\t'), 0, ns);
		c->mount_ns = ns[0] ? open(ns, O_RDONLY | O_CLOEXEC) : -1;
		if (ns[0] && c->mount_ns < 0)
			die(ns);
		for (c->n_args = 0; line.p && c->n_args < ARGS_MAX - 1; c->n_args++)
			c->arg[c->n_args] = str_cut(&line, '\t');
		if (line.p || c->n_args == 0)
			die("bad plan");
		n++;
	}
	return n;
}

static uint64_t drain(int fd)
{
	static char block[READ_BYTES];
	uint64_t total = 0;
	ssize_t k;

	while ((k = read(fd, block, sizeof(block))) > 0)
		total += (uint64_t)k;
	return total;
}

/* Runs in the child of a vfork, so it makes only system calls. */
static _Noreturn void become(const struct command *c, char **argv, int in, int out)
{
	if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 &&
	    (c->mount_ns < 0 || setns(c->mount_ns, CLONE_NEWNS) == 0))
		execve(argv[0], argv, environ);
	_exit(127);
}

static void run_once(const struct command *c, unsigned index, uint64_t round, bool read_output,
		     struct buf *out)
{
	static char text[ARGS_MAX][ARG_MAX_BYTES];
	static char *argv[ARGS_MAX];
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	AUTO_FD from = -1;
	AUTO_FD to = -1;
	uint64_t start, end, bytes = 0;
	struct rusage usage;
	int fds[2], status;
	pid_t pid;

	for (unsigned i = 0; i < c->n_args; i++) {
		arg_expand(c->arg[i], round, text[i]);
		argv[i] = text[i];
	}
	argv[c->n_args] = NULL;
	if (read_output) {
		if (pipe2(fds, O_CLOEXEC) < 0)
			die("pipe");
		from = fds[0];
		to = fds[1];
	}
	start = clock_mono_ns();
	pid = vfork();
	if (pid == 0)
		become(c, argv, null, read_output ? to : null);
	if (pid < 0)
		die("vfork");
	if (read_output) {
		close(fd_take(&to));
		bytes = drain(from);
	}
	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			die("wait4");
	end = clock_mono_ns();
	buf_addf(out, "%u %llu %d %ld %llu\n", index, (unsigned long long)(end - start), status,
		 usage.ru_maxrss, (unsigned long long)bytes);
}

/* Shuffles ORDER. Each run of this program shuffles in the same way, so that measurements can be
 * compared. */
static void shuffle(unsigned *order, unsigned n)
{
	/* xorshift may begin with any number except 0 */
	static uint64_t state = 0x9e3779b97f4a7c15;

	for (unsigned i = n; i > 1; i--) {
		unsigned k, kept = order[i - 1];

		state ^= state << 13; /* xorshift */
		state ^= state >> 7;
		state ^= state << 17;
		k = (unsigned)(state % i);
		order[i - 1] = order[k];
		order[k] = kept;
	}
}

static void options_parse(int argc, char **argv, struct options *o)
{
	int c;

	*o = (struct options){ .seconds = 10, .rounds = 1000000 };
	while ((c = getopt(argc, argv, "t:n:o")) != -1) {
		if (c == 't' && parse_u64(optarg, 1, 3600, &o->seconds) == 0)
			continue;
		if (c == 'n' && parse_u64(optarg, 1, 1000000, &o->rounds) == 0)
			continue;
		if (c != 'o')
			exit(2);
		o->read_output = true;
	}
}

int main(int argc, char **argv)
{
	static struct command command[COMMANDS_MAX];
	AUTO_BUF plan = BUF_INIT(1u << 20);
	AUTO_BUF out = BUF_INIT(64u << 20);
	struct options o;
	uint64_t deadline;
	unsigned n, order[COMMANDS_MAX];

	options_parse(argc, argv, &o);
	if (io_read_to_end(0, &plan) < 0)
		die("read plan");
	n = plan_parse((struct str){ plan.p, plan.n }, command);
	for (unsigned i = 0; i < n; i++)
		order[i] = i;
	deadline = clock_mono_ns() + o.seconds * NS_PER_SEC;
	for (uint64_t round = 0; round < o.rounds; round++) {
		if (round >= ROUNDS_MIN && clock_mono_ns() > deadline)
			break;
		shuffle(order, n);
		for (unsigned i = 0; i < n; i++)
			if (round % command[order[i]].every == 0)
				run_once(&command[order[i]], order[i], round, o.read_output, &out);
	}
	return io_write_all(1, out.p, out.n) < 0;
}
