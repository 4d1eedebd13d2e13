#include "box/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/say.h"
#include "box/confine.h"
#include "box/peer.h"
#include "box/rpc.h"
#include "box/socket_owner.h"
#include "box/stdio_peer.h"

static void on_signal(void *arg, int sig)
{
	server_stop(arg);
}

/* Stops the server, because without the parent no process would start hands again. */
static void on_parent_gone(void *arg)
{
	server_stop(arg);
}

static bool relieve(void *arg)
{
	return peers_relieve(arg);
}

/* Called if a handler of the loop has waited, which must never happen. Only used if
 * CORDON_BOX_WATCH_LOOP is set. */
static void on_waited(void *arg, const void *handler)
{
	log_line(LOG_WARN, "the handler at serve%+td waited",
		 (const char *)handler - (const char *)serve);
}

static void on_looked(void *arg, bool ready, struct str body)
{
	/* nothing to do: the backend has already written the result to the log */
}

/* Returns the limit of open files, which the parent has raised as far as it may. */
static uint64_t open_files_max(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_NOFILE, &l) == 0 ? l.rlim_cur : 1024;
}

static int complain(const char *what, const char *why)
{
	say_errorf(ERR_SYSTEM, "%s: %s", what, why);
	return 1;
}

static int open_doors(struct server *s, bool stdio)
{
	int r = s->listener < 0 ? 0 : server_listen(s);

	if (r == 0 && stdio)
		r = stdio_peer_open(s, !s->trust.instance);
	return r;
}

static void cut(void *arg, const struct tenant *t, const struct fault *why)
{
	rpc_cut(arg, t, why);
}

static void on_advanced(void *arg, const struct tenant *newer)
{
	rpc_end_stale(arg, newer);
}

/* Returns false if grants are enforced and the peer on standard input is a legacy peer, which
 * cannot have a grant. */
static bool is_open_to(const struct server *s, bool stdio)
{
	return !stdio || s->trust.instance || !grant_gate_is_on(runtime_gate(s->runtime));
}

int serve(struct settings *settings)
{
	struct ceiling ceiling = { .max = CEILING_DEFAULT_BYTES };
	struct server s = { .trust = settings->trust,
			    .ceiling = &ceiling,
			    .listener =
				    fcntl(SERVE_FD_LISTENER, F_GETFD) < 0 ? -1 : SERVE_FD_LISTENER,
			    .uid = geteuid(),
			    .ping_ms = settings->ping_ms };
	AUTO_FAULT f = { 0 };
	AUTO_FREE char *directory = getcwd(NULL, 0);
	struct runtime_parts parts = { .ceiling = &ceiling,
				       .directory = directory ? directory : "/",
				       .home = getenv("HOME") ? getenv("HOME") : "/",
				       .descriptors = open_files_max(),
				       .unsafe_storage = settings->unsafe_storage,
				       .cut = cut,
				       .advanced = on_advanced };
	struct namespaces namespaces;
	char own_name[HOST_NAME_MAX + 1] = "";
	const char *const names[] = { settings->host, own_name, NULL };
	struct err e;
	int r = loop_new(&s.loop);

	if (r < 0)
		return complain("loop", strerror(-r));
	/* if this fails, the name stays empty */
	IGNORE(gethostname(own_name, sizeof(own_name) - 1));
	s.trust.host_names = names;
	ceiling.relieve = relieve;
	ceiling.arg = &s;
	namespaces_read(&namespaces);
	parts.namespaces = &namespaces;
	parts.loop = s.loop;
	parts.arg = &s;
	if (hands_new(s.loop, SERVE_FD_HANDS, on_parent_gone, &s, &parts.hands, &e) < 0)
		return complain("hands", e.msg);
	r = skills_new(s.loop, SERVE_FD_SKILLS, &ceiling, &parts.skills);
	if (r < 0)
		return complain("skills", strerror(-r));
	s.diag = socket_owner_open();
	settings->trust = (struct handshake_trust){ 0 };
	if (runtime_new(&parts, settings->config ? json_root(settings->config) : NULL, &s.runtime,
			&f) < 0)
		return complain("LANGBOT_BOX_CONFIG", f.text);
	sessions_set_ttl(runtime_sessions(s.runtime), settings->ttl_sec);
	if (settings->watch_loop)
		loop_watch_blocking(s.loop, on_waited, NULL);
	if (!is_open_to(&s, settings->stdio))
		return complain("stdio", "admission grants need LANGBOT_BOX_TRUSTED_INSTANCE_UUID");
	if (!loop_add_signal(s.loop, SIGTERM, on_signal, &s) ||
	    !loop_add_signal(s.loop, SIGINT, on_signal, &s))
		return complain("signals", strerror(errno));
	if (server_confine(&e) < 0)
		return complain("server", e.msg);
	r = open_doors(&s, settings->stdio);
	if (r == 0) {
		/* check readiness now, so that the log says from the start whether sandboxes
		 * work on this machine */
		runtime_readiness(s.runtime, on_looked, NULL);
		r = loop_run(s.loop);
	}
	runtime_free(s.runtime);
	handshake_trust_done(&s.trust);
	fd_closep(&s.diag);
	loop_free(s.loop);
	return r < 0 ? complain("serve", strerror(-r)) : 0;
}
