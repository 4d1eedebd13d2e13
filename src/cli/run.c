/*
 * `run` runs one command in a new sandbox or in an existing sandbox. A new sandbox without a name is ephemeral.
 *
 * If the sandbox is new, `run` makes a connection first and sends the command on it before the supervisor has
 * answered. pid 1 finds the command in the socket when it starts. So `run` needs no more round trips than `start`.
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

struct job {
	const struct args *args;
	struct home home;
	struct spec spec;     /* for a new sandbox */
	struct record record; /* for an existing sandbox */
	struct execution x;
	const char *shell[2]; /* the words of the project's shell; x points to them */
	struct launch launch;
	bool started; /* `run` started the sandbox and has to stop it */
	bool ran;
	struct exec_result result;
};

/* Replaces the error "connection lost" by the reason why the sandbox did not start. */
static void explain(struct job *j, struct err *e)
{
	AUTO_BUF warnings = BUF_INIT(65536);
	struct err why = { 0 };

	if (j->started && !j->launch.answered && launch_wait(&j->launch, &warnings, &why) < 0)
		*e = why;
}

static int execute(struct job *j, const char *name, struct err *e)
{
	struct client c;
	int r = 0;

	if (j->launch.connection >= 0)
		client_adopt(&c, &j->home, name, fd_take(&j->launch.connection));
	else
		r = client_open(&c, &j->home, name, e);
	if (r == 0)
		r = execution_run(&j->x, &c, &j->result, e);
	client_done(&c);
	if (r < 0)
		explain(j, e);
	j->ran = r == 0;
	return r;
}

/* Returns true if the supervisor may warn about S, for instance about a limit that is enforced only in part. */
static bool may_warn(const struct spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (s->mount[i].kind == MOUNT_BIND)
			return true;
	return s->memory_set;
}

static int run_new(struct job *j, struct err *e)
{
	/* wait until files are copied and ports are bound, because copying and binding may fail */
	bool waits =
		j->x.request.message.flags & EXEC_DETACHED || j->spec.n_patches || j->spec.n_ports;

	if (creation_replace(j->args, &j->home, j->spec.name, e) < 0 ||
	    launch_create(&j->home, &j->spec, !waits, &j->launch, e) < 0)
		return -1;
	j->started = true;
	if ((waits || may_warn(&j->spec)) && start_wait(&j->launch, "Creating", &j->spec, e) < 0)
		return -1;
	return execute(j, j->spec.name, e);
}

/* Returns the name of the first option that has a meaning only for a new sandbox, or NULL. */
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
static int run_existing(struct job *j, struct err *e)
{
	const struct record *r = &j->record;
	const char *name = r->spec.name, *option = ignored_option(j->args);
	AUTO_FREE char *image = image_word(&r->spec.image);

	if (option)
		say_warn("sandbox '%s' exists: --%s and other options of a new sandbox are ignored",
			 name, option);
	else if (other_image(j->args, &r->spec))
		say_warn("sandbox '%s' exists with the image '%s': '%s' is ignored", name, image,
			 j->args->word.v[0]);
	if (!sandbox_is_up(r)) {
		if (launch_start(&j->home, name, &j->launch, e) < 0 ||
		    start_wait(&j->launch, "Starting", NULL, e) < 0)
			return -1;
		j->started = true;
	} else if (j->x.request.message.flags & EXEC_DETACHED) {
		say_warn("sandbox '%s' was running before and goes on when the command ends", name);
	}
	return execute(j, name, e);
}

/* Chooses the words to run. With `--open-shell`, chooses the shell that the project file names. If
 * the file names none, chooses bash, or /bin/sh if the sandbox has no bash. */
static bool choose_command(struct job *j, const struct spec *s)
{
	static const char *best[] = { "/bin/sh", "-c",
				      "command -v bash >/dev/null 2>&1 && exec bash; exec /bin/sh",
				      NULL };
	bool chosen = s->shell && strcmp(s->shell, SPEC_DEFAULT_SHELL) != 0;
	const struct strv words = { (char **)(chosen ? j->shell : best), chosen ? 1 : 3 };

	j->shell[0] = s->shell;
	if (!args_has(j->args, "open-shell"))
		return execution_command(&j->x, s, &j->args->rest, true);
	return execution_command(&j->x, s, &words, false);
}

static int run(struct job *j, const char **ret_name, struct err *e)
{
	const struct args *a = j->args;
	const char *name = args_str(a, "name");
	bool replace = args_has(a, "replace") || args_has(a, "replace-with-timeout");
	bool exists = false;

	if (name && !replace) {
		exists = record_load(&j->home, name, &j->record, e) == 0;
		if (!exists && e->code != ERR_NOT_FOUND && e->code != ERR_INVALID)
			return -1;
	}
	if (!exists && creation_spec(a, &j->home, &j->spec, e) < 0)
		return -1;
	*ret_name = name ? name : j->spec.name;
	j->spec.ephemeral |= !name;
	/* the log of an ephemeral sandbox is erased with the sandbox, so write none */
	j->x.request.log = exists || name;
	j->x.scripted &= !args_has(a, "detach");
	if (!choose_command(j, exists ? &j->record.spec : &j->spec))
		return 0; /* j->ran stays false */
	/* if `run` starts the sandbox, the sandbox ends with its command, even if this process
	 * ends earlier */
	if (!exists || !sandbox_is_up(&j->record))
		j->x.request.message.flags |= EXEC_MAIN;
	if (args_has(a, "detach")) {
		/* the command does not use our terminal. With `--tty` it gets a terminal of its
		 * own, which `attach` can use */
		j->x.request.message.flags &=
			~(unsigned)(args_has(a, "tty") ? EXEC_JOINED : EXEC_TTY | EXEC_JOINED);
		/* pid 1 keeps the command, so that `ps`, `attach` and `stop --id` can find it */
		j->x.request.message.flags |= EXEC_DETACHED | EXEC_BACKGROUND |
					      (args_has(a, "interactive") ? 0 : EXEC_NO_INPUT);
	}
	return exists ? run_existing(j, e) : run_new(j, e);
}

/* Ends a sandbox that `run` started. When this returns, other commands no longer see an ephemeral sandbox. */
static void finish(struct job *j, const char *name)
{
	struct err ignored;

	if (!j->started)
		return;
	if (j->ran && !j->result.end.failure &&
	    ((j->x.request.message.flags & EXEC_DETACHED) || j->result.detached)) {
		launch_release(&j->launch); /* the sandbox lives as long as its detached command */
		return;
	}
	if (!j->spec.ephemeral) {
		IGNORE(sandbox_stop(&j->home, name, STOP_GRACE_DEFAULT, &ignored));
		return;
	}
	sandbox_retire(&j->home, name);
	/* the supervisor of an ordinary user cannot delete files that belong to other ids of the
	 * sandbox; we can, with newuidmap */
	if (j->spec.image.root_disk.on_disk && geteuid() != 0) {
		launch_end(&j->launch);
		leftovers_sweep(&j->home);
	}
}

int cmd_run(const struct args *a)
{
	struct job j = {
		.args = a, .home = { .fd = -1 }, .record = RECORD_NONE, .launch = LAUNCH_NONE
	};
	const char *name = NULL;
	struct err e = { 0 };
	int status = 0;

	if (execution_options(&j.x, a, &e) < 0 || home_open(&j.home, &e) < 0 ||
	    run(&j, &name, &e) < 0) {
		status = say_error(&e);
	} else if (j.ran) {
		if ((j.x.request.message.flags & EXEC_DETACHED) && !j.result.end.failure)
			status = say_name(name);
		else
			status = execution_report(&j.x, &j.home, name, &j.result);
	} else {
		status = execution_nothing(a);
	}
	if (name)
		finish(&j, name);
	launch_done(&j.launch);
	execution_done(&j.x);
	spec_done(&j.spec);
	record_done(&j.record);
	home_done(&j.home);
	return status;
}
