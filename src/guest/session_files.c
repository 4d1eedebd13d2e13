/* Sessions that run a file agent (guest/agent.h) instead of a command. */
#include "guest/session.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "guest/agent.h"
#include "wire/file.h"

/* Starts the agent behind the same walls as a command that runs as root of the sandbox. The agent
 * has the same namespaces, control groups and filter as such a command, and a scope of its own. */
static void run_agent(struct connection *c, uint32_t stream, const struct file_message *m,
		      int pair[2])
{
	static const struct user root = { .home = "/" };
	struct guest *g = c->guest;
	const struct agent_args agent = { m, g->boot.owner_uid, g->boot.owner_gid };
	struct session *s = session_new(c, stream, 0);
	struct exec_args a = {
		.walls = &g->walls,
		.cwd = "/",
		.user = &root,
		.stdio = { pair[1], pair[1], pair[1] },
		.agent = agent_main,
		.agent_arg = &agent,
	};
	int r;

	r = start_begin(&s->start, &a, 0);
	fd_closep(&pair[1]);
	if (r < 0) {
		connection_send_exit(c, stream,
				     &(struct exit_message){ .failure = s->start.report.failure,
							     .sys = s->start.report.err });
		session_free(s);
		return;
	}
	session_relay(s, fd_take(&pair[0]), true);
	session_send_started(s, c);
	session_began(s);
}

void session_files(struct connection *c, uint32_t stream, struct str body)
{
	struct file_message m;
	int pair[2] = { -1, -1 };
	int r = file_decode(body, &m);

	if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		r = -errno;
	if (r == 0 && fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r < 0)
		connection_send_exit(c, stream,
				     &(struct exit_message){ .failure = EXEC_INTERNAL, .sys = -r });
	else
		run_agent(c, stream, &m, pair);
	fd_closep(&pair[0]);
	fd_closep(&pair[1]);
}
