#include "endpoint/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/program.h"
#include "spec/list.h"

#define OUR_SERVER "cordon-box"
#define TOKEN_VARIABLE "LANGBOT_BOX_CONTROL_TOKEN"
#define INSTANCE_VARIABLE "LANGBOT_BOX_TRUSTED_INSTANCE_UUID"
#define TOKEN_BYTES 32 /* bytes of the random token, which is written in hex */
#define END_WAIT_NS (2 * NS_PER_SEC)

extern char **environ;

/* --- starting -------------------------------------------------------------------------------- */

/* Makes the child's environment: our own environment, with new values for the two variables that
 * the server reads. */
static int make_environment(const struct runtime_config *c, char ***ret, struct fault *f)
{
	unsigned char token[TOKEN_BYTES];
	char hex[2 * TOKEN_BYTES + 1];
	char **env = NULL;
	size_t n = 0;

	if (getrandom(token, sizeof(token), 0) != (ssize_t)sizeof(token))
		return fault_set(f, FAULT_BOX, "no random numbers");
	for (size_t i = 0; i < sizeof(token); i++)
		snprintf(hex + 2 * i, 3, "%02x", token[i]);
	for (char **p = environ; *p; p++)
		if (!starts_with(*p, TOKEN_VARIABLE "=") && !starts_with(*p, INSTANCE_VARIABLE "="))
			*LIST_ADD(env, n) = xstrdup(*p);
	*LIST_ADD(env, n) = xasprintf(TOKEN_VARIABLE "=%s", hex);
	*LIST_ADD(env, n) =
		xasprintf(INSTANCE_VARIABLE "=%s", c->instance ? c->instance : SERVICE_INSTANCE_ID);
	*LIST_ADD(env, n) = NULL;
	*ret = env;
	return 0;
}

static void free_words(char **words)
{
	for (char **p = words; p && *p; p++)
		free(*p);
	free(words);
}

static int find_program(const struct runtime_config *c, char **ret, struct fault *f)
{
	const char *name = c->command.n ? c->command.item[0] : OUR_SERVER;
	struct err e = { 0 };

	if (!c->command.n) {
		if (program_ours(OUR_SERVER, ret, &e) == 0)
			return 0;
		return fault_set(f, FAULT_BOX, "%s", e.msg);
	}
	*ret = strchr(name, '/') ? xstrdup(name) : program_of_user(name);
	return *ret ? 0 : fault_set(f, FAULT_BOX, "box.runtime.command: no program '%s'", name);
}

/* Returns the words of the command. The caller frees the array, but not the words. If we start our
 * own server, it listens only on loopback, so that no other machine can reach it. */
static const char **make_words(const struct runtime_config *c)
{
	static const char *const ours[] = { OUR_SERVER, "--stdio-control", "--host=127.0.0.1",
					    "--ws-control-port=0" };
	const char **words = NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->command.n; i++)
		*LIST_ADD(words, n) = c->command.item[i];
	for (size_t i = 0; !c->command.n && i < ARRAY_SIZE(ours); i++)
		*LIST_ADD(words, n) = ours[i];
	*LIST_ADD(words, n) = NULL;
	return words;
}

static int start(const struct runtime_config *c, int in, int out, struct child *ret,
		 struct fault *f)
{
	AUTO_FREE char *program = NULL;
	AUTO_FREE const char **words = make_words(c);
	char **env = NULL;
	struct err e = { 0 };
	int r = -1;

	if (find_program(c, &program, f) == 0 && make_environment(c, &env, f) == 0) {
		/* the server gets its own session, so that Ctrl-C does not reach it before we end
		 * it */
		const struct spawn s = { .path = program,
					 .argv = words,
					 .envp = (const char *const *)env,
					 .fd = { { in, 0 }, { out, 1 } },
					 .n_fds = 2,
					 .new_session = true,
					 .tied = true,
					 .cwd_fd = -1 };

		r = spawn(&s, ret, &e);
		if (r < 0)
			fault_set(f, FAULT_BOX, "the Box runtime cannot be started: %s", e.msg);
	}
	free_words(env);
	return r;
}

int child_open(const struct runtime_config *c, struct interrupt *i, struct child *ret_child,
	       struct link *ret, struct fault *f)
{
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };
	int r;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		r = fault_set(f, FAULT_BOX, "pipe: %s", strerror(errno));
	else
		r = start(c, to[0], from[1], ret_child, f);
	fd_closep(&to[0]);
	fd_closep(&from[1]);
	if (r < 0 || fcntl(to[1], F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(from[0], F_SETFL, O_NONBLOCK) < 0) {
		fd_closep(&to[1]);
		fd_closep(&from[0]);
		return r < 0 ? -1 : fault_set(f, FAULT_BOX, "pipe: %s", strerror(errno));
	}
	link_init(ret, from[0], to[1], false, i);
	return 0;
}

/* --- ending ---------------------------------------------------------------------------------- */

/* Waits until the child has ended, and drops its output. Returns false after END_WAIT_NS. */
static bool wait_end(const struct child *c, int out)
{
	uint64_t until = clock_mono_ns() + END_WAIT_NS;
	char bytes[4096];

	while (clock_mono_ns() < until) {
		struct pollfd p[2] = { { .fd = c->pidfd, .events = POLLIN },
				       { .fd = out, .events = POLLIN } };

		if (poll(p, 2, clock_poll_ms(until)) < 0 && errno != EINTR)
			return false;
		if (p[0].revents)
			return true;
		if (p[1].revents && read(out, bytes, sizeof(bytes)) == 0)
			out = -1;
	}
	return false;
}

void child_end(struct child *c, struct link *l)
{
	int ignored;

	link_finish(l);
	if (!wait_end(c, l->in)) {
		IGNORE(sys_pidfd_send_signal(c->pidfd, SIGTERM)); /* the child may have ended */
		if (!wait_end(c, l->in))
			IGNORE(sys_pidfd_send_signal(c->pidfd, SIGKILL));
	}
	IGNORE(child_wait(c, &ignored)); /* the status is not needed */
	fd_closep(&c->pidfd);
}
