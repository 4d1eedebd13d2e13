#include "cli/execution.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/say.h"
#include "cli/console.h"
#include "cli/script.h"
#include "client/call.h"
#include "client/sandbox.h"
#include "spec/env_file.h"
#include "spec/grammar.h"

#define DEFAULT_DETACH_KEYS "ctrl-]"

/* Returns true if A and B are the same file, as with `2>&1`. In this case the command gets one
 * pipe for both, which keeps the order of its writes. */
static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino && x.st_rdev == y.st_rdev;
}

static int add_env(struct execution *x, const struct args *a, struct err *e)
{
	const struct strv *l = args_list(a, "env"), *files = args_list(a, "env-file");
	struct spec_env *env = NULL;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < files->n; i++)
		r = env_file_read(&env, &n, "--env-file", files->v[i], e);
	for (size_t i = 0; r == 0 && i < l->n; i++)
		r = spec_add_env(&env, &n, "--env", l->v[i], e);
	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *kv = xasprintf("%s=%s", env[i].key, env[i].value);

		strv_add(&x->env, kv);
		free(env[i].key);
		free(env[i].value);
	}
	free(env);
	return r;
}

/* Returns the slot of RESOURCE. If the user gives a limit twice, the second value replaces the
 * first. It would be wrong to set both, one after the other: the first would lower the hard limit,
 * and the kernel would refuse a second value above it. */
static struct exec_rlimit *limit_slot(struct exec_message *m, uint32_t resource)
{
	size_t i = 0;

	while (i < m->n_rlimits && m->rlimit[i].resource != resource)
		i++;
	if (i == m->n_rlimits)
		m->n_rlimits++; /* there is a slot for every resource that has a name */
	return &m->rlimit[i];
}

static int add_limits(struct exec_message *m, const struct args *a, struct err *e)
{
	const struct strv *l = args_list(a, "rlimit");
	const char *v = args_str(a, "timeout");
	struct spec_rlimit limit;

	for (size_t i = 0; i < l->n; i++) {
		if (parse_rlimit(l->v[i], &limit, e) < 0)
			return -1;
		*limit_slot(m, (uint32_t)limit.resource) =
			(struct exec_rlimit){ (uint32_t)limit.resource, limit.soft, limit.hard };
	}
	return v ? parse_duration_ms("--timeout", v, &m->timeout_ms, e) : 0;
}

static void set_terminal(struct exec_message *m)
{
	struct winsize w;

	m->flags |= EXEC_TTY;
	m->term = getenv("TERM");
	if (ioctl(0, TIOCGWINSZ, &w) == 0 || ioctl(1, TIOCGWINSZ, &w) == 0) {
		m->rows = w.ws_row;
		m->cols = w.ws_col;
	}
}

/* Returns true if the options allow a terminal. If not, the command gets no terminal even if
 * stdin is a terminal. */
static bool wants_terminal(const struct args *a)
{
	return !args_has(a, "no-tty") && (args_has(a, "tty") || !args_has(a, "interactive"));
}

int execution_options(struct execution *x, const struct args *a, struct err *e)
{
	struct exec_message *m = &x->request.message;
	const char *keys = args_str(a, "detach-keys");
	const char *user = NULL;

	*x = (struct execution){ .request = { .in = 0, .out = 1, .err = 2, .log = true } };
	x->interactive = isatty(0) && wants_terminal(a);
	x->tells_refused = !args_as_msb(a) && !say_is_quiet();
	x->unnamed = strcmp(a->command->name, "run") == 0 && !args_has(a, "name");
	if (add_limits(m, a, e) < 0)
		return -1;
	if (parse_detach_keys(keys ? keys : DEFAULT_DETACH_KEYS, x->request.detach_keys,
			      &x->request.n_detach_keys, e) < 0)
		return -1;
	x->scripted = !args_as_msb(a);
	x->shell = strcmp(a->command->name, "run") != 0;
	if (x->shell) {
		/* read the options that set the command's environment, directory and user. `run`
		 * has the same options, but applies them to the sandbox */
		if (add_env(x, a, e) < 0)
			return -1;
		m->cwd = args_str(a, "workdir");
		if (m->cwd && m->cwd[0] != '/')
			return err_set(e, ERR_INVALID, "--workdir: '%s' is not an absolute path",
				       m->cwd);
		user = args_str(a, "user");
		if (user && parse_user(user, e) < 0)
			return -1;
		m->user = user;
	}
	m->flags |= EXEC_LAST;
	m->env = (const char **)x->env.v;
	m->n_env = x->env.n;
	if (x->interactive || args_has(a, "tty"))
		set_terminal(m);
	else if (same_file(1, 2))
		m->flags |= EXEC_JOINED;
	return 0;
}

void execution_done(struct execution *x)
{
	strv_done(&x->env);
	free_p(&x->argv);
}

bool execution_command(struct execution *x, const struct spec *s, const struct strv *command,
		       bool with_entrypoint)
{
	const struct strv *tail = command->n ? command : &s->cmd;
	bool entry = with_entrypoint && s->has_entrypoint;
	bool nothing = !command->n && !entry && !s->cmd.n;
	struct exec_message *m = &x->request.message;

	if (x->interactive ? nothing || (x->shell && !command->n)
			   : nothing && x->scripted && script_waits()) {
		x->argv = xcalloc(2, sizeof(*x->argv));
		x->argv[m->n_argv++] = s->shell ? s->shell : SPEC_DEFAULT_SHELL;
	} else if (entry) {
		x->argv = xcalloc(s->entrypoint.n + tail->n + 1, sizeof(*x->argv));
		for (size_t i = 0; i < s->entrypoint.n; i++)
			x->argv[m->n_argv++] = s->entrypoint.v[i];
		for (size_t i = 0; i < tail->n; i++)
			x->argv[m->n_argv++] = tail->v[i];
	} else {
		m->n_argv = tail->n;
	}
	m->argv = x->argv ? x->argv : (const char **)tail->v;
	return m->n_argv > 0;
}

int execution_nothing(const struct args *a)
{
	if (!args_as_msb(a))
		return say_errorf(ERR_INVALID, "nothing to run\n"
					       "give a command, or a script on standard input");
	say_warn("nothing to run: give a command after --");
	return 0;
}

/* Reports that the memory limit was reached, because the exit status 137 alone does not say so. */
static void report_memory(const struct home *h, const char *name)
{
	AUTO_RECORD record = RECORD_NONE;
	struct err e;

	if (record_load(h, name, &record, &e) == 0)
		say_errorf(ERR_LIMIT,
			   "the memory limit of sandbox '%s' (%llu MiB) was reached and the kernel "
			   "killed "
			   "the command; give it more with --memory",
			   name, (unsigned long long)record_in_force(&record)->memory_mib);
	else
		say_errorf(ERR_LIMIT, "the memory limit of sandbox '%s' was reached", name);
}

/* Reports that a sandbox was stopped after the time SECONDS, which the user set by OPTION. SECONDS
 * is 0 if it is not known, because the record of an ephemeral sandbox is already gone. */
static void report_time(const char *name, const char *what, unsigned long long seconds,
			const char *option)
{
	if (seconds)
		say_errorf(ERR_TIMEOUT,
			   "sandbox '%s' %s (%llu s) and was stopped, so its commands were ended; "
			   "%s sets this time",
			   name, what, seconds, option);
	else
		say_errorf(ERR_TIMEOUT,
			   "sandbox '%s' %s and was stopped, so its commands were ended; %s sets "
			   "this time",
			   name, what, option);
}

/* Reports why the supervisor ended everything in the sandbox. */
static void report_end(const struct home *h, const char *name, enum end_reason why)
{
	static const char until[] =
		"the sandbox's commands were ended, and new ones cannot write to files until";
	AUTO_RECORD record = RECORD_NONE;
	unsigned long long mib = 0, longest = 0, idle = 0;
	struct err e;

	if (record_load(h, name, &record, &e) == 0) {
		const struct spec *s = record_in_force(&record);

		mib = spec_root_disk_mib(s);
		longest = s->max_duration_s;
		idle = s->idle_timeout_s;
	}
	switch (why) {
	case END_LAYER:
		say_errorf(ERR_LIMIT,
			   "the writable layer of sandbox '%s' is larger than %llu MiB; %s files "
			   "are removed",
			   name, mib, until);
		break;
	case END_FILES:
		say_errorf(ERR_LIMIT,
			   "the writable layer of sandbox '%s' has more files than a layer of %llu "
			   "MiB may have; %s files are removed",
			   name, mib, until);
		break;
	case END_SPACE:
		say_errorf(
			ERR_LIMIT,
			"the file system with the writable layer of sandbox '%s' is nearly full; "
			"%s there is more space",
			name, until);
		break;
	case END_INODES:
		say_errorf(ERR_LIMIT,
			   "the file system with the writable layer of sandbox '%s' has nearly no "
			   "inodes left; %s there are more",
			   name, until);
		break;
	case END_DURATION:
		report_time(name, "has run for its longest time", longest, "--max-duration");
		break;
	case END_IDLE:
		report_time(name, "had nothing to do for its idle time", idle, "--idle-timeout");
		break;
	case END_NONE:
	case END_REASON_COUNT:
		break;
	}
}

/* Prints which connections were refused while the command ran, and the option that would allow
 * them. All commands of a sandbox share one network, so another command may have tried these
 * connections. */
static void report_refused(const char *name, bool unnamed, const struct refused *r)
{
	AUTO_BUF b = BUF_INIT(4096);

	buf_addf(&b, "%u connection%s refused:", r->n, r->n == 1 ? "" : "s");
	for (unsigned i = 0; i < r->shown; i++) {
		const struct refusal *one = &r->item[i];

		buf_add_str(&b, i ? ", " : " ");
		buf_add_clean(&b, one->what);
		if (!*one->rule)
			continue;
		if (unnamed)
			buf_add_str(&b, " → --net-rule ");
		else
			buf_addf(&b, " → cordon modify %s --net-rule-add ", name);
		buf_add_clean(&b, one->rule);
	}
	if (r->shown == REFUSALS_SHOWN && r->n > r->shown)
		buf_add_str(&b, ", …");
	say_note("note: %s", buf_str(&b));
}

static void report_failure(const struct execution *x, const struct home *h, const char *name,
			   const struct exit_message *m)
{
	AUTO_RECORD record = RECORD_NONE;
	bool cwd = m->failure == EXEC_BAD_CWD, user = m->failure == EXEC_USER;
	const char *on = cwd ? x->request.message.cwd : user ? x->request.message.user : NULL;
	const char *why = strerror(m->sys);
	struct err e;

	/* if no option was given, the directory and the user come from the sandbox's
	 * configuration */
	if ((cwd || user) && !on && record_load(h, name, &record, &e) == 0)
		on = cwd ? record_in_force(&record)->workdir : record_in_force(&record)->user;
	if (user && m->sys == EINVAL)
		why = "the sandbox has no such id";
	if (m->failure == EXEC_RESOURCE && m->sys == EPERM) /* the limit is above the hard limit */
		why = "--rlimit asks for more than the sandbox may have";
	if (on)
		say_errorf(ERR_SYSTEM, "failed to exec \"%s\"\n%s: '%s': %s",
			   x->request.message.argv[0], exec_failure_text(m->failure), on, why);
	else
		say_errorf(ERR_SYSTEM, "failed to exec \"%s\"\n%s: %s", x->request.message.argv[0],
			   exec_failure_text(m->failure), why);
}

int execution_run(struct execution *x, struct client *c, struct exec_result *ret, struct err *e)
{
	int r;

	unsigned flags = x->request.message.flags;

	x->request.resized = console_begin(flags & EXEC_TTY && !(flags & EXEC_DETACHED));
	x->request.screen_changed = x->request.resized >= 0 && isatty(1) ? console_screen : NULL;
	if (x->attaches)
		r = client_attach(c, &x->request, ret, e);
	else
		r = client_exec(c, &x->request, ret, e);
	if (x->request.screen_changed &&
	    (r < 0 || ret->detached || ret->hung_up || ret->end.signal))
		console_leave();
	console_end(x->request.resized);
	return r;
}

int execution_report(const struct execution *x, const struct home *h, const char *name,
		     const struct exec_result *r)
{
	const struct exit_message *m = &r->end;

	log_line(LOG_DEBUG, "session %llu of sandbox '%s': status %d%s%s",
		 (unsigned long long)r->id, name, exec_exit_status(m), r->detached ? ", left" : "",
		 r->broken_output ? ", our output is closed" : "");
	if (r->broken_output)
		return 0;
	if (r->hung_up)
		return 128 + SIGHUP;
	if (r->detached) {
		say_note("detached from session %llu; return with: cordon attach %s %llu",
			 (unsigned long long)r->id, name, (unsigned long long)r->id);
		return 0;
	}
	if (m->failure) {
		report_failure(x, h, name, m);
		return exec_exit_status(m);
	}
	if (m->swept)
		say_warn("everything in sandbox '%s' was ended to stop this command", name);
	if (m->timed_out)
		say_errorf(ERR_TIMEOUT, "exec timed out after %gs",
			   (double)x->request.message.timeout_ms / 1000);
	else if (m->ended)
		report_end(h, name, m->ended);
	else if (m->out_of_memory)
		report_memory(h, name);
	if (x->tells_refused && m->refused.n)
		report_refused(name, x->unnamed, &m->refused);
	return exec_exit_status(m);
}
