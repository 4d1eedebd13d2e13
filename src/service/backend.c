#include "service/backend.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#define PROBE_SECONDS 5
#define UNSUPPORTED "not supported yet"

enum backend_state { BACKEND_UNKNOWN, BACKEND_WORKS, BACKEND_FAILS };

struct asker {
	struct asker *next;
	backend_told_fn *fn;
	void *arg;
};

struct backend {
	struct loop *loop;
	struct sessions *sessions;
	enum backend_name name;
	enum backend_state state;
	uint64_t retry_ns; /* the time until which a failure is remembered */
	bool probing;
	bool outdated; /* another backend was selected while the probe ran */
	char *why;     /* the reason why the backend does not work, or NULL */
	struct asker *askers;
};

struct backend *backend_new(struct loop *loop, struct sessions *sessions)
{
	struct backend *b = xcalloc(1, sizeof(*b));

	b->loop = loop;
	b->sessions = sessions;
	backend_select(b, "");
	return b;
}

void backend_free(struct backend *b)
{
	while (b->askers) {
		struct asker *a = b->askers;

		b->askers = a->next;
		free(a);
	}
	free(b->why);
	free(b);
}

static void set_state(struct backend *b, enum backend_state state, const char *why)
{
	free(b->why);
	b->why = why ? xstrdup(why) : NULL;
	b->state = state;
}

/* By default our engine is used, under the name `nsjail`. This is so even if Docker is installed
 * too, because people who install this server want our engine. */
enum backend_name backend_parse(const char *wanted)
{
	if (strcmp(wanted, "cordon") == 0)
		return BACKEND_CORDON;
	return strcmp(wanted, "") == 0 || strcmp(wanted, "local") == 0 ||
			       strcmp(wanted, "nsjail") == 0
		       ? BACKEND_NSJAIL
		       : BACKEND_NONE;
}

void backend_select(struct backend *b, const char *wanted)
{
	bool foreign = strcmp(wanted, "docker") == 0 || strcmp(wanted, "e2b") == 0;

	b->name = backend_parse(wanted);
	b->outdated = b->probing;
	set_state(b, b->name == BACKEND_NONE ? BACKEND_FAILS : BACKEND_UNKNOWN,
		  foreign                   ? UNSUPPORTED
		  : b->name == BACKEND_NONE ? "no backend has this name"
					    : NULL);
	if (b->name == BACKEND_NONE)
		log_line(LOG_WARN, "backend '%s': %s", wanted, b->why);
}

const char *backend_word(enum backend_name name)
{
	return name == BACKEND_NONE ? NULL : name == BACKEND_CORDON ? "cordon" : "nsjail";
}

const char *backend_public_name(const struct backend *b)
{
	return backend_word(b->name);
}

static void tell_all(struct backend *b)
{
	while (b->askers) {
		struct asker *a = b->askers;

		b->askers = a->next;
		a->fn(a->arg, b->state == BACKEND_WORKS, b->why ? b->why : "");
		free(a);
	}
}

/* Writes an error of several lines as one line of the log. */
static void log_failure(const char *text)
{
	AUTO_FREE char *line = xstrdup(text);

	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = ';';
	log_line(LOG_WARN, "no sandbox can be made: %s", line);
}

static void probe(struct backend *b);

static void on_probed(void *arg, const struct fault *fault, struct buf *data)
{
	struct backend *b = arg;

	b->probing = false;
	if (b->outdated && b->name != BACKEND_NONE) {
		probe(b);
		return;
	}
	if (b->outdated) {
		/* The newly selected backend is BACKEND_NONE. It always fails, so it needs no
		 * probe. backend_select() has already set the state and b->why. */
		tell_all(b);
		return;
	}
	b->retry_ns = clock_mono_ns() + BACKEND_RETRY_SEC * NS_PER_SEC;
	set_state(b, fault ? BACKEND_FAILS : BACKEND_WORKS, fault ? fault->text : NULL);
	if (fault)
		log_failure(fault->text);
	else
		log_line(LOG_INFO, "backend %s works", backend_public_name(b));
	tell_all(b);
}

static void probe(struct backend *b)
{
	static const struct session_trial trial = { .id = "probe",
						    .command = "true",
						    .seconds = PROBE_SECONDS };
	const struct reply r = { on_probed, b };

	b->probing = true;
	b->outdated = false;
	sessions_try(b->sessions, &trial, &r);
}

/* Returns true if the answer is known without a probe. */
static bool is_known(const struct backend *b)
{
	return b->state == BACKEND_WORKS || b->name == BACKEND_NONE ||
	       (b->state == BACKEND_FAILS && clock_mono_ns() < b->retry_ns);
}

void backend_ask(struct backend *b, backend_told_fn *fn, void *arg)
{
	struct asker *a;

	if (is_known(b)) {
		fn(arg, b->state == BACKEND_WORKS, b->why ? b->why : "");
		return;
	}
	a = xcalloc(1, sizeof(*a));
	a->fn = fn;
	a->arg = arg;
	a->next = b->askers;
	b->askers = a;
	if (!b->probing)
		probe(b);
}

void backend_failed(struct backend *b)
{
	if (b->state == BACKEND_WORKS)
		set_state(b, BACKEND_UNKNOWN, NULL);
}
