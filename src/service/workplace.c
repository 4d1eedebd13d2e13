#include "service/workplace.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define KEY "box.local.default_workspace"
#define ROOTS_TEXT_MAX_BYTES (1u << 20) /* more than a whole configuration has */
#define DEADLINE_NS (15 * NS_PER_SEC)   /* peers wait this long for the answer to box_init */

/* A question to a hand. */
struct question {
	struct workplace *workplace;
	unsigned serial;
	workplace_told_fn *told;
	workplace_marker_fn *read;
	void *arg;
};

void workplace_init(struct workplace *w, struct hands *hands, const struct model_texts *roots)
{
	*w = (struct workplace){ .hands = hands, .roots = roots };
}

static void forget(struct workplace *w)
{
	free(w->found);
	w->found = NULL;
	w->usable = false;
}

void workplace_done(struct workplace *w)
{
	forget(w);
	free(w->path);
	w->path = NULL;
}

void workplace_configure(struct workplace *w, char *path)
{
	forget(w);
	free(w->path);
	w->path = path;
	w->serial++;
}

/* --- looking up ------------------------------------------------------------------------------ */

static void add_roots(const struct workplace *w, struct buf *out)
{
	for (size_t i = 0; i < w->roots->n; i++)
		buf_addf(out, "%s%s", i ? ", " : "", w->roots->item[i]);
}

/* Sets *F to say why the default workspace was not found. The Box protocol prescribes the texts for
 * mistakes in the configuration. */
static void explain(const struct workplace *w, const struct err *why, struct fault *f)
{
	AUTO_BUF list = BUF_INIT(ROOTS_TEXT_MAX_BYTES);

	add_roots(w, &list);
	if (why->code == ERR_INVALID)
		fault_set(f, FAULT_VALIDATION,
			  KEY " must point to a directory on the Box runtime host");
	else if (why->code == ERR_NOT_FOUND && w->roots->n == 0)
		fault_set(f, FAULT_VALIDATION,
			  KEY " cannot be created because no allowed_mount_roots are configured");
	else if (why->code == ERR_DENIED)
		fault_set(f, FAULT_VALIDATION, KEY " is outside allowed_mount_roots: %s",
			  buf_str(&list));
	else
		fault_set(f, FAULT_VALIDATION, KEY ": %s", why->msg);
}

static void on_found(void *arg, const struct hands_answer *a)
{
	struct question *q = arg;
	struct workplace *w = q->workplace;
	AUTO_FAULT f = { 0 };

	if (a->err)
		explain(w, a->err, &f);
	if (q->serial == w->serial) {
		forget(w);
		w->found = a->err ? NULL : xstrdup(a->found);
		w->usable = !a->err && a->usable;
	}
	q->told(q->arg, a->err ? &f : NULL);
	free(q);
}

static struct question *question_new(struct workplace *w, void *arg)
{
	struct question *q = xcalloc(1, sizeof(*q));

	*q = (struct question){ .workplace = w, .serial = w->serial, .arg = arg };
	return q;
}

void workplace_find(struct workplace *w, bool make, workplace_told_fn *fn, void *arg)
{
	struct hand_request m = { .task = HAND_WORKSPACE, .path = w->path, .makeable = make };
	struct hands_request *ignored;
	struct question *q;
	AUTO_FAULT f = { 0 };
	struct err e;

	if (!w->path) {
		fn(arg, NULL);
		return;
	}
	for (size_t i = 0; i < w->roots->n && i < HAND_PATHS_MAX; i++)
		m.root[m.n_roots++] = w->roots->item[i];
	q = question_new(w, arg);
	q->told = fn;
	if (hands_ask(w->hands, &m, clock_mono_ns() + DEADLINE_NS, on_found, q, &ignored, &e) == 0)
		return;
	explain(w, &e, &f);
	fn(arg, &f);
	free(q);
}

/* --- markers --------------------------------------------------------------------------------- */

static void on_read(void *arg, const struct hands_answer *a)
{
	struct question *q = arg;
	AUTO_FAULT f = { 0 };

	if (a->err)
		fault_set(&f, FAULT_READINESS, "%s", a->err->msg);
	q->read(q->arg, a->err ? &f : NULL, a->err ? "" : a->found, a->err ? 0 : a->bytes);
	free(q);
}

void workplace_read_marker(struct workplace *w, const char *name, bool erase,
			   workplace_marker_fn *fn, void *arg)
{
	const struct hand_request m = {
		.task = HAND_MARKER, .path = w->found, .name = name, .erase = erase
	};
	struct hands_request *ignored;
	AUTO_FAULT f = { 0 };
	struct question *q;
	struct err e;

	if (!w->found) {
		fault_set(&f, FAULT_READINESS, "there is no default workspace");
		fn(arg, &f, "", 0);
		return;
	}
	q = question_new(w, arg);
	q->read = fn;
	if (hands_ask(w->hands, &m, clock_mono_ns() + DEADLINE_NS, on_read, q, &ignored, &e) == 0)
		return;
	fault_set(&f, FAULT_READINESS, "%s", e.msg);
	fn(arg, &f, "", 0);
	free(q);
}
