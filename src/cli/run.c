/*
 * `run` runs one command in a new sandbox or in an existing sandbox. A new sandbox without a name
 * is ephemeral.
 *
 * If the sandbox is new, `run` usually makes a connection first and sends the command on it before
 * the supervisor has answered. Pid 1 reads the command from the socket as soon as pid 1 runs. So
 * `run` then needs no more round trips than `start`. run_new() shows when `run` waits for the
 * supervisor instead.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/creation.h"
#include "cli/execution.h"
#include "cli/options.h"
#include "cli/start.h"
#include "client/removal.h"
#include "client/sandbox.h"
#include "client/stop.h"
#include "image/reference.h"
#include "spec/grammar.h"

/* One call of `run`. */
struct invocation {
	const struct args *args;
	struct home home;
	struct spec spec;     /* for a new sandbox */
	struct record record; /* for an existing sandbox */
	struct execution x;
	const char *shell[2]; /* --open-shell: the spec's shell as argv; x.request points to it */
	struct launch launch;
	bool started; /* `run` started the sandbox and has to stop it */
	bool ran;
	struct exec_result result;
};

/* If the sandbox did not start, replaces the error "connection lost" in E by the reason. */
static void explain(struct invocation *v, struct err *e)
{
	AUTO_BUF warnings = BUF_INIT(65536);
	struct err why = { 0 };

	if (v->started && !v->launch.answered && launch_wait(&v->launch, &warnings, &why) < 0)
		*e = why;
}

static int execute(struct invocation *v, const char *name, struct err *e)
{
	struct client c;
	int r = 0;

	if (v->launch.connection >= 0)
		client_adopt(&c, &v->home, name, fd_take(&v->launch.connection));
	else
		r = client_open(&c, &v->home, name, e);
	if (r == 0)
		r = execution_run(&v->x, &c, &v->result, e);
	client_done(&c);
	if (r < 0)
		explain(v, e);
	v->ran = r == 0;
	return r;
}

/* Returns true if the supervisor may warn about S, for instance about a limit that is enforced only
 * in part. */
static bool may_warn(const struct spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (s->mount[i].kind == MOUNT_BIND)
			return true;
	return s->memory_set;
}

static int run_new(struct invocation *v, struct err *e)
{
	/* With `--detach` always wait for the supervisor. Otherwise wait if files have to be copied
	 * or ports have to be bound, because copying and binding may fail. */
	bool waits =
		v->x.request.message.flags & EXEC_DETACHED || v->spec.n_patches || v->spec.n_ports;

	if (creation_replace(v->args, &v->home, v->spec.name, e) < 0 ||
	    launch_create(&v->home, &v->spec, !waits, &v->launch, e) < 0)
		return -1;
	v->started = true;
	if ((waits || may_warn(&v->spec)) && start_wait(&v->launch, "Creating", &v->spec, e) < 0)
		return -1;
	return execute(v, v->spec.name, e);
}

/* Returns the name of the first given option that has a meaning only for a new sandbox, or NULL. */
static const char *ignored_option(const struct args *a)
{
	static const struct opt_set sets[] = { CREATION_SETS, { NULL, NULL } };
	static const char *const heeded[] = { "name", "quiet", NULL };

	for (const struct opt_set *s = sets; s->opt; s++)
		for (const struct opt *o = s->opt; o->name; o++)
			if (args_has(a, o->name) && word_index(heeded, o->name) < 0)
				return o->name;
	return NULL;
}

/* Returns true if the command line names another image than the sandbox has. */
static bool other_image(const struct args *a, const struct spec *has)
{
	const char *word = a->word.n ? a->word.v[0] : NULL;
	char key[2][REFERENCE_KEY_BYTES];
	struct spec_image given = { 0 };
	AUTO_FREE char *real = NULL;
	struct reference r[2];
	struct err ignored;
	bool same;

	if (!word)
		return false;
	same = parse_image(word, &given, &ignored) == 0 && given.kind == has->image.kind &&
	       given.cow == has->image.cow;
	if (same && given.kind == IMAGE_OCI) {
		same = reference_parse(word, &r[0], &ignored) == 0 &&
		       reference_parse(has->image.reference, &r[1], &ignored) == 0;
		for (int i = 0; same && i < 2; i++)
			reference_key(&r[i], key[i]);
		same = same && strcmp(key[0], key[1]) == 0;
	} else if (same && given.kind != IMAGE_HOST) {
		real = realpath(given.reference, NULL);
		same = real && strcmp(real, has->image.reference) == 0;
	}
	spec_image_done(&given);
	return !same;
}

/* Runs the command in the existing sandbox. Options for a new sandbox have no effect. */
static int run_existing(struct invocation *v, struct err *e)
{
	const struct record *r = &v->record;
	const char *name = r->spec.name, *option = ignored_option(v->args);
	AUTO_FREE char *image = image_word(&r->spec.image);

	if (option)
		say_warn("sandbox '%s' exists: --%s and other options of a new sandbox are ignored",
			 name, option);
	else if (other_image(v->args, &r->spec))
		say_warn("sandbox '%s' exists with the image '%s': '%s' is ignored", name, image,
			 v->args->word.v[0]);
	if (!sandbox_is_up(r)) {
		if (launch_start(&v->home, name, &v->launch, e) < 0 ||
		    start_wait(&v->launch, "Starting", NULL, e) < 0)
			return -1;
		v->started = true;
	} else if (v->x.request.message.flags & EXEC_DETACHED) {
		say_warn("sandbox '%s' was running before and goes on when the command ends", name);
	}
	return execute(v, name, e);
}

/* Chooses the words to run. With `--open-shell`, chooses the shell that S names, for example
 * because the project file names it. If S names no shell or the default shell, chooses bash, or
 * /bin/sh if the sandbox has no bash. Returns false if there is nothing to run. */
static bool choose_command(struct invocation *v, const struct spec *s)
{
	static const char *best[] = { "/bin/sh", "-c",
				      "command -v bash >/dev/null 2>&1 && exec bash; exec /bin/sh",
				      NULL };
	bool chosen = s->shell && strcmp(s->shell, SPEC_DEFAULT_SHELL) != 0;
	const struct strv words = { (char **)(chosen ? v->shell : best), chosen ? 1 : 3 };

	v->shell[0] = s->shell;
	if (!args_has(v->args, "open-shell"))
		return execution_command(&v->x, s, &v->args->rest, true);
	return execution_command(&v->x, s, &words, false);
}

static int run(struct invocation *v, const char **ret_name, struct err *e)
{
	const struct args *a = v->args;
	const char *name = args_str(a, "name");
	bool replace = args_has(a, "replace") || args_has(a, "replace-with-timeout");
	bool exists = false;

	if (name && !replace) {
		exists = record_load(&v->home, name, &v->record, e) == 0;
		if (!exists && e->code != ERR_NOT_FOUND && e->code != ERR_INVALID)
			return -1;
	}
	if (!exists && creation_spec(a, &v->home, &v->spec, e) < 0)
		return -1;
	*ret_name = name ? name : v->spec.name;
	v->spec.ephemeral |= !name;
	/* the log of an ephemeral sandbox is erased with the sandbox, so write none */
	v->x.request.log = exists || name;
	v->x.scripted &= !args_has(a, "detach");
	if (!choose_command(v, exists ? &v->record.spec : &v->spec))
		/* nothing to run: v->ran stays false, so cmd_run() calls execution_nothing() */
		return 0;
	/* if `run` starts the sandbox, the sandbox ends with its command, even if this process
	 * ends earlier */
	if (!exists || !sandbox_is_up(&v->record))
		v->x.request.message.flags |= EXEC_MAIN;
	if (args_has(a, "detach")) {
		/* the command does not use our terminal. With `--tty` it gets a terminal of its
		 * own, which `attach` can use */
		v->x.request.message.flags &=
			~(unsigned)(args_has(a, "tty") ? EXEC_JOINED : EXEC_TTY | EXEC_JOINED);
		/* pid 1 keeps the command, so that `ps`, `attach` and `stop --id` can find it */
		v->x.request.message.flags |= EXEC_DETACHED | EXEC_BACKGROUND |
					      (args_has(a, "interactive") ? 0 : EXEC_NO_INPUT);
	}
	return exists ? run_existing(v, e) : run_new(v, e);
}

/* Ends a sandbox that `run` started, unless a detached command still runs in it. If the sandbox is
 * ephemeral, other commands no longer see it when this function returns. */
static void finish(struct invocation *v, const char *name)
{
	struct err ignored;

	if (!v->started)
		return;
	if (v->ran && !v->result.end.failure &&
	    ((v->x.request.message.flags & EXEC_DETACHED) || v->result.detached)) {
		launch_release(&v->launch); /* the sandbox lives as long as its detached command */
		return;
	}
	if (!v->spec.ephemeral) {
		IGNORE(sandbox_stop(&v->home, name, STOP_GRACE_DEFAULT, &ignored));
		return;
	}
	sandbox_retire(&v->home, name);
	/* the supervisor of an ordinary user cannot delete files that belong to other ids of the
	 * sandbox; we can, with newuidmap */
	if (v->spec.image.root_disk.on_disk && geteuid() != 0) {
		launch_end(&v->launch);
		leftovers_sweep(&v->home);
	}
}

int cmd_run(const struct args *a)
{
	struct invocation v = {
		.args = a, .home = { .fd = -1 }, .record = RECORD_NONE, .launch = LAUNCH_NONE
	};
	const char *name = NULL;
	struct err e = { 0 };
	int status = 0;

	if (execution_options(&v.x, a, &e) < 0 || home_open(&v.home, &e) < 0 ||
	    run(&v, &name, &e) < 0) {
		status = say_error(&e);
	} else if (v.ran) {
		if ((v.x.request.message.flags & EXEC_DETACHED) && !v.result.end.failure)
			status = say_name(name);
		else
			status = execution_report(&v.x, &v.home, name, &v.result);
	} else {
		status = execution_nothing(a);
	}
	if (name)
		finish(&v, name);
	launch_done(&v.launch);
	execution_done(&v.x);
	spec_done(&v.spec);
	record_done(&v.record);
	home_done(&v.home);
	return status;
}
