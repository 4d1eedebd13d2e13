#include "client/hand.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "client/connection.h"
#include "client/launch.h"
#include "client/prepare.h"
#include "client/removal.h"
#include "client/sandbox.h"
#include "client/source_rules.h"
#include "client/tree_size.h"
#include "client/workspace.h"
#include "spec/grammar.h"
#include "state/places.h"

#define WARNINGS_MAX_BYTES 65536
/* the most refused paths: those of the bounds and those of the request */
#define HAND_REFUSED_MAX (2 * HAND_PATHS_MAX)

struct work {
	const struct hand_bounds *bounds;
	const struct hand_request *request;
	const struct home *home;
	struct buf warnings;
	struct tree_size size;
	size_t mount; /* the mount that the failure is about, as in struct hand_answer */
	int leash, connection;
	char *held;  /* owned; as in struct hand_answer, or NULL */
	char *found; /* owned; as in struct hand_answer, or NULL */
	bool usable;
	char hint[IMAGER_HINT_BYTES];
};

/* Waits until the sandbox of L accepts commands, and opens a connection to the sandbox. S is the
 * spec if the sandbox is new, or NULL. */
static int bring_up(struct work *w, struct launch *l, const struct spec *s, struct err *e)
{
	struct client c;

	if (launch_wait(l, &w->warnings, e) < 0) {
		/* The server takes ERR_NOT_FOUND to mean that a path of the request does not exist.
		 * But these paths were found before the launch, so another file is missing here. */
		if (e->code == ERR_NOT_FOUND)
			e->code = ERR_SYSTEM;
		return -1;
	}
	if ((s && launch_settle(l, s, e) < 0) || client_open(&c, w->home, l->name, e) < 0)
		return -1;
	w->connection = fd_take(&c.fd);
	w->leash = fd_take(&l->leash);
	w->held = TAKE(l->held);
	client_done(&c);
	return 0;
}

static int read_spec(struct str text, struct spec *s, struct err *e)
{
	AUTO_JSON doc = NULL;

	if (json_parse(text.p, text.n, &doc, e) < 0 || spec_read_json(json_root(doc), s, e) < 0)
		return -1;
	if (!s->name)
		return err_set(e, ERR_INVALID, "the spec of a sandbox has no name");
	for (size_t i = 0; i < s->n_patches; i++)
		if (s->patch[i].source && !s->patch[i].name)
			s->patch[i].name = xstrdup(strrchr(s->patch[i].source, '/') + 1);
	return 0;
}

static int check_session(const struct spec *s, struct err *e)
{
	bool plain = s->ephemeral && s->n_ports == 0 &&
		     (s->image.kind == IMAGE_HOST || s->image.kind == IMAGE_OCI) &&
		     s->image.root_disk.kind != ROOT_DISK_PATH;

	for (size_t i = 0; i < s->n_mounts; i++)
		plain = plain &&
			(s->mount[i].kind == MOUNT_BIND || s->mount[i].kind == MOUNT_TMPFS) &&
			s->mount[i].stat_virt != STAT_VIRT_OFF;
	for (size_t i = 0; i < s->n_patches; i++)
		plain = plain && !s->patch[i].source;
	return plain ? 0 : err_set(e, ERR_DENIED, "this server may not make such a sandbox");
}

/* Writes all refused paths to OUT and returns their number. The paths of the bounds come first, so
 * that they fit, however many paths the request has. */
static size_t list_refused(const struct work *w, const char *out[HAND_REFUSED_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < w->bounds->n_refused && n < HAND_REFUSED_MAX; i++)
		out[n++] = w->bounds->refused[i];
	for (size_t i = 0; i < w->request->n_refused && n < HAND_REFUSED_MAX; i++)
		out[n++] = w->request->refused[i];
	return n;
}

static int prepare_spec(struct work *w, struct spec *s, struct err *e)
{
	const struct hand_request *q = w->request;
	const char *refused[HAND_REFUSED_MAX];
	const struct source_rules rules = { .refused = refused,
					    .n_refused = list_refused(w, refused),
					    .root = q->root,
					    .n_roots = q->n_roots,
					    .makeable = q->makeable,
					    .literal = q->literal };
	const struct preparation p = { .rules = &rules,
				       .ret_mount = &w->mount,
				       .fetch = { .quiet = true, .hint = w->hint } };

	if (w->bounds->sessions_only && check_session(s, e) < 0)
		return -1;
	if (q->judged && source_rules_judge(&rules, q->judged, e) < 0) {
		w->mount = HAND_MOUNT_JUDGED;
		return -1;
	}
	/* places_follow() moves parts of the home to the directories that the user's
	 * configuration names */
	return places_follow(w->home, e) < 0 ? -1 : prepare(w->home, &p, s, e);
}

static int do_create(struct work *w, struct err *e)
{
	struct launch l = LAUNCH_NONE;
	struct spec s;
	int r;

	spec_init(&s);
	r = read_spec(w->request->spec, &s, e);
	if (r == 0)
		r = prepare_spec(w, &s, e);
	if (r == 0)
		r = launch_create(w->home, &s, false, &l, e);
	if (r == 0)
		r = bring_up(w, &l, &s, e);
	launch_done(&l);
	spec_done(&s);
	return r;
}

static int do_start(struct work *w, struct err *e)
{
	struct launch l = LAUNCH_NONE;
	int r = w->bounds->sessions_only
			? err_set(e, ERR_DENIED, "this server may not start sandboxes of others")
			: launch_start(w->home, w->request->name, &l, e);

	if (r == 0)
		r = bring_up(w, &l, NULL, e);
	launch_done(&l);
	return r;
}

static int do_sweep(struct work *w, struct err *e)
{
	struct sandbox_list live;

	/* We need only a side effect: sandbox_list_load() erases each ephemeral sandbox whose
	 * supervisor was killed. A killed server can leave such sandboxes. */
	if (sandbox_list_load(w->home, &live, e) < 0)
		return -1;
	sandbox_list_done(&live);
	return 0;
}

/* Checks PATH against the refused paths of the bounds. Does not look for links in PATH, because the
 * code that opens PATH later follows no link. */
static int check_bounds(const struct hand_bounds *b, const char *path, struct err *e)
{
	const struct source_rules rules = { .refused = b->refused, .n_refused = b->n_refused };
	AUTO_FREE char *normal = path_normalise(path);

	if (b->n_refused == 0)
		return 0;
	if (!normal || strcmp(normal, path) != 0)
		return err_set(e, ERR_DENIED, "'%s' is not canonical", path);
	return source_rules_check(&rules, path, e);
}

static int do_workspace(struct work *w, struct err *e)
{
	const struct hand_request *q = w->request;
	const struct source_rules rules = { .refused = w->bounds->refused,
					    .n_refused = w->bounds->n_refused,
					    .root = q->root,
					    .n_roots = q->n_roots };

	return workspace_find(q->path, &rules, q->makeable > 0, &w->found, &w->usable, e);
}

static int do_marker(struct work *w, struct err *e)
{
	const struct hand_request *q = w->request;

	if (check_bounds(w->bounds, q->path, e) < 0)
		return -1;
	return workspace_read_marker(q->path, q->name, q->erase, &w->found, &w->size.bytes, e);
}

static int do_size(struct work *w, struct err *e)
{
	const struct hand_request *q = w->request;

	if (check_bounds(w->bounds, q->path, e) < 0)
		return -1;
	return tree_measure(q->path, q->max_bytes, q->max_entries, &w->size, e);
}

static int run(struct work *w, struct err *e)
{
	static int (*const tasks[])(struct work * w, struct err * e) = {
		[HAND_CREATE] = do_create,       [HAND_START] = do_start,
		[HAND_SWEEP] = do_sweep,         [HAND_SIZE] = do_size,
		[HAND_WORKSPACE] = do_workspace, [HAND_MARKER] = do_marker,
	};
	AUTO_HOME home = { .fd = -1 };

	static_assert(ARRAY_SIZE(tasks) == HAND_TASK_COUNT, "a task has no function");
	if (home_open(&home, e) < 0) {
		e->code = ERR_SYSTEM; /* ERR_SYSTEM, because no value of the request is the cause */
		return -1;
	}
	w->home = &home;
	return tasks[w->request->task](w, e);
}

int hand_do(const struct hand_bounds *bounds, struct str body, struct buf *answer,
	    int fds[HAND_FDS], unsigned *ret_n_fds)
{
	struct hand_request q;
	struct work w = { .bounds = bounds,
			  .request = &q,
			  .warnings = BUF_INIT(WARNINGS_MAX_BYTES),
			  .leash = -1,
			  .connection = -1 };
	struct err e = { 0 };
	size_t at;
	bool ok;

	if (hand_request_decode(body, &q) < 0)
		return -EPROTO;
	ok = run(&w, &e) == 0;
	at = frame_begin(answer, FRAME_HAND_ANSWER, 0, 0);
	hand_answer_encode(answer, &(struct hand_answer){ .code = ok ? ERR_NONE : e.code,
							  .text = ok ? NULL : e.msg,
							  .hint = ok ? NULL : e.hint,
							  .warnings = buf_str(&w.warnings),
							  .mount = w.mount,
							  .bytes = w.size.bytes,
							  .entries = w.size.entries,
							  .held = w.held,
							  .found = w.found,
							  .usable = w.usable });
	frame_end(answer, at);
	*ret_n_fds = 0;
	if (w.leash >= 0) {
		fds[0] = w.leash;
		fds[1] = w.connection;
		*ret_n_fds = HAND_FDS;
	}
	buf_done(&w.warnings);
	free(w.held);
	free(w.found);
	return 0;
}
