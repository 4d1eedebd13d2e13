/* `prune` erases stopped sandboxes, volumes that no sandbox names, and layers that belong to no
 * image. */
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "cli/cells.h"
#include "cli/commands.h"
#include "cli/targets.h"
#include "client/imager.h"
#include "client/removal.h"
#include "client/space.h"
#include "client/volumes.h"

#define OUTPUT_MAX_BYTES (16u << 20)

struct plan {
	struct space sandboxes, volumes, images;
};

/* What was erased in the end, which may be less than the plan. */
struct result {
	struct strv sandboxes, volumes;
	size_t layers;
	uint64_t bytes;
	bool failed;
};

static int make_plan(const struct home *h, struct plan *p, struct err *e)
{
	AUTO_SANDBOX_LIST all = { 0 };

	if (targets_load(h, &all, e) < 0 || space_sandboxes(h, &all, &p->sandboxes, e) < 0 ||
	    space_volumes(h, &all, &p->volumes, e) < 0)
		return -1;
	if (all.n_unread)
		say_warn("no volume %sis removed: a sandbox that cannot be read may use it",
			 sandbox_list_has_newer(&all) ? "and no layer " : "");
	return space_images(h, &all, &p->images, e);
}

static void add_lines(struct buf *b, const char *kind, const struct space *s)
{
	for (size_t i = 0; i < s->unused.n; i++) {
		buf_addf(b, "  %s %s, ", kind, s->unused.v[i]);
		cell_bytes(b, s->unused_each[i]);
		buf_add_char(b, '\n');
	}
}

/* Shows what `prune` would erase, with sizes, and asks whether to erase it. Returns true if the
 * answer is yes. */
static bool agreed(const struct plan *p)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	char line[16] = "";

	buf_add_str(&b, "This will be deleted:\n");
	add_lines(&b, "sandbox", &p->sandboxes);
	add_lines(&b, "volume", &p->volumes);
	if (p->images.n_layers) {
		buf_addf(&b, "  %zu layer(s) of no image, ", p->images.n_layers);
		cell_bytes(&b, p->images.unused_bytes);
		buf_add_char(&b, '\n');
	}
	buf_add_str(&b, "Delete ");
	cell_bytes(&b,
		   p->sandboxes.unused_bytes + p->volumes.unused_bytes + p->images.unused_bytes);
	buf_add_str(&b, "? [y/N] ");
	/* keys that were typed before the question must not count as the answer */
	tcflush(STDIN_FILENO, TCIFLUSH);
	say_to_stderr(&b);
	return fgets(line, sizeof(line), stdin) &&
	       (strcmp(line, "y\n") == 0 || strcmp(line, "Y\n") == 0 || strcmp(line, "yes\n") == 0);
}

static void erase_unused(const struct home *h, const struct space *s, struct strv *done,
			 struct result *ret, bool sandboxes)
{
	for (size_t i = 0; i < s->unused.n; i++) {
		uint64_t begin = clock_mono_ns();
		const char *name = s->unused.v[i];
		struct err e = { 0 };

		/* both functions check once more that NAME is not in use */
		if ((sandboxes ? sandbox_remove(h, name, false, &e) : volumes_remove(h, name, &e)) <
		    0) {
			ret->failed = true;
			say_error(&e);
			continue;
		}
		say_done("Removed", name, clock_mono_ns() - begin);
		strv_add(done, name);
		ret->bytes += s->unused_each[i];
	}
}

/* Lets cordon-image erase the layers that belong to no image. cordon-image first takes the lock of
 * the store, and then looks again which layers are unused. */
static void sweep_layers(const struct home *h, const struct space *s, struct result *ret)
{
	char hint[IMAGER_HINT_BYTES];
	struct strv argv = { 0 };
	struct err e = { 0 };

	if (s->n_layers == 0)
		return;
	imager_words(&argv, "prune", h->path);
	strv_add(&argv, "--yes");
	strv_add(&argv, "--dangling");
	strv_add(&argv, "--quiet");
	if (imager_run(&argv, hint, &e) < 0) {
		ret->failed = true;
		say_error(&e);
	} else {
		ret->layers = s->n_layers;
		ret->bytes += s->unused_bytes;
	}
	strv_done(&argv);
}

static void write_names(struct json_writer *w, const char *key, const struct strv *names)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < names->n; i++)
		json_str(w, names->v[i]);
	json_end_array(w);
}

static int report(const struct args *a, const struct result *r)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_writer w;

	if (!args_has(a, "format")) {
		cell_bytes(&b, r->bytes);
		say_done("Pruned", buf_str(&b), 0);
		return 0;
	}
	json_writer_init(&w, &b, 2);
	json_begin_object(&w);
	json_key_int(&w, "bytes_reclaimed", (int64_t)r->bytes);
	json_key_int(&w, "layers_removed", (int64_t)r->layers);
	write_names(&w, "sandboxes_removed", &r->sandboxes);
	write_names(&w, "volumes_removed", &r->volumes);
	json_end_object(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

static int prune(const struct args *a, const struct home *h, const struct plan *p)
{
	bool nothing = !p->sandboxes.unused.n && !p->volumes.unused.n && !p->images.n_layers;
	struct result r = { 0 };
	int status;

	if (!nothing && !args_has(a, "yes")) {
		if (!isatty(STDIN_FILENO))
			return say_errorf(
				ERR_DENIED,
				"cannot ask whether to remove anything: standard input is no "
				"terminal\n"
				"answer in advance with --yes");
		if (!agreed(p)) {
			say_note("Nothing was removed.");
			return 0;
		}
	}
	erase_unused(h, &p->sandboxes, &r.sandboxes, &r, true);
	erase_unused(h, &p->volumes, &r.volumes, &r, false);
	sweep_layers(h, &p->images, &r);
	status = report(a, &r);
	strv_done(&r.sandboxes);
	strv_done(&r.volumes);
	return r.failed ? 1 : status;
}

int cmd_prune(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	struct plan p = { 0 };
	struct err e = { 0 };
	int status;

	if (home_open(&home, &e) < 0 || make_plan(&home, &p, &e) < 0)
		status = say_error(&e);
	else
		status = prune(a, &home, &p);
	space_done(&p.sandboxes);
	space_done(&p.volumes);
	space_done(&p.images);
	return status;
}
