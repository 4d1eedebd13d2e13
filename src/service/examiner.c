#include "service/examiner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sha256.h"

#define PROOF_ID "proof"
/* The time limit of the temporary sandbox. Usually it needs only 0.1 s, but a busy machine may need
 * longer. */
#define PROOF_SECONDS 10
#define RANDOM_BYTES 16
#define RANDOM_HEX_BYTES (2 * RANDOM_BYTES + 1)

struct asker {
	struct asker *next;
	examiner_told_fn *fn;
	void *arg;
};

struct examiner {
	struct examiner_parts parts;
	struct asker *askers, **last;
	bool busy;
	bool outdated; /* the configuration changed during the examination */
	uint64_t fresh_until_ns;
	struct readiness result;
	char *error;              /* the text of result.error */
	struct namespaces inside; /* the namespaces of the temporary sandbox */
	char token[RANDOM_HEX_BYTES], marker[sizeof(WORKPLACE_MARKER) + RANDOM_HEX_BYTES];
};

static void begin(struct examiner *x);

static void set_error(struct examiner *x, const char *text)
{
	free(x->error);
	x->error = text ? xstrdup(text) : NULL;
	x->result.error = x->error;
}

/* --- the end --------------------------------------------------------------------------------- */

static void write_details(void *arg, struct json_writer *w)
{
	const struct enforcement_words *e = ((struct examiner *)arg)->parts.enforced;

	json_key_str(w, "engine", "cordon");
	json_key_str(w, "memory", e->known ? e->memory : NULL);
	json_key_str(w, "cpus", e->known ? e->cpus : NULL);
	json_key_str(w, "pids", e->known ? e->pids : NULL);
	json_key_str(w, "layer", e->known ? e->layer : NULL);
}

/* Sets the results of the checks that concern limits. The newest sandbox has reported how its
 * limits are enforced. The caps of the policy must not be larger than the limits of the server. */
static void look_at_limits(struct examiner *x)
{
	const struct examiner_parts *p = &x->parts;
	bool *met = x->result.met;

	met[READY_CGROUP_V2] = p->enforced->known && enforcement_by_groups(p->enforced);
	met[READY_BOUNDED_EPHEMERAL_STORAGE] = met[READY_INODE_QUOTA] =
		p->enforced->known && enforcement_of_layer(p->enforced);
	met[READY_SESSION_CAP] = p->admission->policy.max_sessions <= p->limits->max_sessions;
	met[READY_MANAGED_PROCESS_CAP] =
		p->admission->policy.max_managed_processes <= p->limits->max_managed_processes;
}

static void finish(struct examiner *x)
{
	struct readiness told;
	AUTO_FREE char *error = NULL;
	struct asker *a;

	x->busy = false;
	if (x->outdated) {
		begin(x);
		return;
	}
	if (x->result.strict) {
		look_at_limits(x);
		x->fresh_until_ns =
			clock_mono_ns() +
			(uint64_t)x->parts.admission->policy.readiness_cache_sec * NS_PER_SEC;
	}
	/* pass a copy, because a callback may begin a new examination, which changes x->result */
	told = x->result;
	error = x->error ? xstrdup(x->error) : NULL;
	told.error = error;
	a = x->askers;
	x->askers = NULL;
	x->last = &x->askers;
	while (a) {
		struct asker *next = a->next;

		a->fn(a->arg, &told);
		free(a);
		a = next;
	}
}

/* --- a temporary sandbox --------------------------------------------------------------------- */

static void fill_random(char out[RANDOM_HEX_BYTES])
{
	unsigned char random[RANDOM_BYTES];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		out_of_memory();
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(out + 2 * i, 3, "%02x", random[i]);
}

static void on_marker(void *arg, const struct fault *fault, const char *digest, uint64_t size)
{
	struct examiner *x = arg;
	char wanted[SHA256_HEX_BYTES];

	sha256_hex(x->token, strlen(x->token), wanted);
	x->result.met[READY_MOUNT_ISOLATION] =
		!fault && strcmp(digest, wanted) == 0 &&
		namespaces_differ(x->parts.own, &x->inside, NAMESPACE_MNT);
	if (fault)
		set_error(x, fault->text);
	finish(x);
}

static void on_proved(void *arg, const struct fault *fault, struct buf *printed)
{
	struct examiner *x = arg;
	const struct namespaces *own = x->parts.own;

	if (fault) {
		log_line(LOG_WARN, "cannot prove the isolation of sandboxes: %s", fault->text);
		set_error(x, fault->text);
		finish(x);
		return;
	}
	namespaces_parse((struct str){ buf_str(printed), printed->n }, &x->inside);
	x->result.met[READY_NAMESPACE_ISOLATION] =
		namespaces_differ(own, &x->inside, NAMESPACE_PID) &&
		namespaces_differ(own, &x->inside, NAMESPACE_USER);
	x->result.met[READY_NETWORK_ISOLATION] = namespaces_differ(own, &x->inside, NAMESPACE_NET);
	workplace_read_marker(x->parts.workplace, x->marker, true, on_marker, x);
}

static void prove(struct examiner *x)
{
	AUTO_FREE char *command = NULL;
	char random[RANDOM_HEX_BYTES];
	const struct reply r = { on_proved, x };

	fill_random(random);
	fill_random(x->token);
	snprintf(x->marker, sizeof(x->marker), "%s%s", WORKPLACE_MARKER, random);
	command = xasprintf("printf %%s %s > /workspace/%s && %s", x->token, x->marker,
			    namespaces_command);
	const struct session_trial t = { .id = PROOF_ID,
					 .command = command,
					 .host_path = x->parts.workplace->found,
					 .seconds = PROOF_SECONDS };
	sessions_try(x->parts.sessions, &t, &r);
}

/* --- the first steps ------------------------------------------------------------------------- */

static void on_place(void *arg, const struct fault *fault)
{
	struct examiner *x = arg;

	x->result.met[READY_WORKSPACE_MOUNT] = !fault && x->parts.workplace->usable;
	if (fault)
		set_error(x, fault->text);
	if (x->result.met[READY_WORKSPACE_MOUNT] && x->result.met[READY_BACKEND_AVAILABLE])
		prove(x);
	else
		finish(x);
}

static void on_backend(void *arg, bool available, const char *why)
{
	struct examiner *x = arg;
	const char *name = backend_public_name(x->parts.backend);

	x->result.backend_name = available ? name : NULL;
	x->result.met[READY_BACKEND_AVAILABLE] = available;
	x->result.met[READY_REQUIRED_BACKEND] = name && strcmp(name, "nsjail") == 0;
	x->result.met[READY_CONFIGURATION] = !x->parts.admission->error;
	if (!available)
		set_error(x, why);
	if (x->parts.admission->error)
		set_error(x, x->parts.admission->error);
	if (x->result.strict)
		workplace_find(x->parts.workplace, false, on_place, x);
	else
		finish(x);
}

static void begin(struct examiner *x)
{
	x->busy = true;
	x->outdated = false;
	x->result = (struct readiness){ .strict = x->parts.admission->active,
					.unsafe_storage = x->parts.unsafe_storage,
					.details = write_details,
					.arg = x };
	set_error(x, NULL);
	backend_ask(x->parts.backend, on_backend, x);
}

/* --- callers --------------------------------------------------------------------------------- */

void examiner_ask(struct examiner *x, examiner_told_fn *fn, void *arg)
{
	struct asker *a;

	if (!x->busy && x->result.strict && clock_mono_ns() < x->fresh_until_ns) {
		fn(arg, &x->result);
		return;
	}
	a = xcalloc(1, sizeof(*a));
	*a = (struct asker){ .fn = fn, .arg = arg };
	*x->last = a;
	x->last = &a->next;
	if (!x->busy)
		begin(x);
}

void examiner_forget(struct examiner *x)
{
	x->fresh_until_ns = 0;
	x->outdated = x->busy;
}

struct examiner *examiner_new(const struct examiner_parts *parts)
{
	struct examiner *x = xcalloc(1, sizeof(*x));

	x->parts = *parts;
	x->last = &x->askers;
	return x;
}

void examiner_free(struct examiner *x)
{
	while (x->askers) {
		struct asker *a = x->askers;

		x->askers = a->next;
		free(a);
	}
	free(x->error);
	free(x);
}
