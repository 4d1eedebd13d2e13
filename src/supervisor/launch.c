/*
 * Starts the sandbox of a record: calls the engine for each step, opens the sockets, and sends the
 * settings of the record to pid 1.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "host/hugepages.h"
#include "state/record_lock.h"
#include "supervisor/supervisor.h"

/* Returns true if the spec sets a variable that chooses the character encoding. */
static bool has_locale(const struct spec *spec)
{
	static const char *const keys[] = { "LANG", "LC_ALL", "LC_CTYPE" };

	for (size_t i = 0; i < spec->n_env; i++)
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			if (strcmp(spec->env[i].key, keys[k]) == 0)
				return true;
	return false;
}

const char **supervisor_env(const struct spec *spec, size_t *ret_n)
{
	const char **env = xcalloc(spec->image_env.n + spec->n_env + 2, sizeof(*env));
	size_t n = 0;

	/* an OCI image can set LANG in its configuration, but the image `host` has no
	 * configuration */
	if (spec->image.kind == IMAGE_HOST && !has_locale(spec))
		env[n++] = xstrdup("LANG=C.UTF-8");
	for (size_t i = 0; i < spec->image_env.n; i++)
		env[n++] = xstrdup(spec->image_env.v[i]);
	for (size_t i = 0; i < spec->n_env; i++)
		env[n++] = xasprintf("%s=%s", spec->env[i].key, spec->env[i].value);
	*ret_n = n;
	return env;
}

/* Returns the switches of the system call filter (enum boot_switch) that do not depend on mounts.
 * The engine adds the others later. */
static unsigned filter_switches(const struct supervisor *s)
{
	return (s->watched ? SWITCH_WATCHED : 0u) |
	       (s->record.spec.own_filters ? SWITCH_FILTERS : 0u) |
	       (hugepages_reserved() ? SWITCH_HUGEPAGES : 0u);
}

static int boot_guest(struct supervisor *s, const struct rlimit *nofile, struct err *e)
{
	const struct spec *spec = &s->record.spec;
	struct boot_message boot = {
		.workdir = spec->workdir,
		.user = spec->user,
		.shell = spec->shell ? spec->shell : SPEC_DEFAULT_SHELL,
		.restricted = spec->restricted,
		.switches = filter_switches(s),
		.report_activity = spec->idle_timeout_s > 0,
	};
	int r;

	boot.nofile_soft = nofile->rlim_cur;
	boot.nofile_hard = nofile->rlim_max;
	for (size_t i = 0; i < spec->n_rlimits && i < EXEC_RLIMITS_MAX; i++)
		boot.rlimit[boot.n_rlimits++] =
			(struct exec_rlimit){ (uint32_t)spec->rlimit[i].resource,
					      spec->rlimit[i].soft, spec->rlimit[i].hard };
	boot.env = supervisor_env(spec, &boot.n_env);
	r = s->engine->boot(s, &boot, e);
	for (size_t i = 0; i < boot.n_env; i++)
		free((char *)boot.env[i]);
	boot_message_done(&boot);
	return r;
}

static int open_sockets(struct supervisor *s, struct err *e)
{
	int r = home_listen(&s->home, s->record.spec.name, "sock", &s->guest_listener);

	if (r == 0)
		r = home_listen(&s->home, s->record.spec.name, "ctl", &s->control);
	return r < 0 ? err_sys(e, -r, "listen in '%s/run'", s->home.path) : 0;
}

/* Raises our limit of open files, because a start holds every layer and volume open. *RET is the
 * old limit, which commands in the sandbox get. */
static int raise_nofile(struct rlimit *ret, struct err *e)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, ret) < 0)
		return err_sys(e, errno, "read the limit of open files");
	most = (struct rlimit){ ret->rlim_max, ret->rlim_max };
	IGNORE(setrlimit(RLIMIT_NOFILE, &most) < 0); /* if this fails, fewer volumes fit */
	return 0;
}

int supervisor_launch(struct supervisor *s, struct err *e)
{
	struct rlimit nofile;
	int r;

	/* confine_core() sets RLIMIT_CORE, which all processes of the sandbox inherit. If the hard
	 * limit is 0, it must be raised. This needs a capability that we have if we are root, but
	 * that pid 1 never has. */
	if (confine_core(e) < 0 || raise_nofile(&nofile, e) < 0)
		return -1;
	s->stage = "network";
	r = link_prepare(s, e);
	if (r == 0)
		r = s->engine->prepare(s, e);
	if (r == 0) {
		s->stage = "other";
		r = s->engine->start(s, e);
	}
	/* we open the sockets while the child mounts its root */
	if (r == 0)
		r = open_sockets(s, e);
	record_start_ends(s->lock); /* commands that waited to talk to us can do so now */
	if (r == 0)
		r = boot_guest(s, &nofile, e);
	IGNORE(setrlimit(RLIMIT_NOFILE, &nofile) < 0); /* lowering cannot fail */
	fd_closep(&s->guest_listener);                 /* pid 1 has its own copies now */
	fd_closep(&s->connection);
	return r;
}
