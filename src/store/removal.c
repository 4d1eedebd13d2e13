/* The commands remove and prune. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/say.h"
#include "image/store.h"
#include "store/commands.h"
#include "store/store.h"
#include "store/sweep.h"
#include "store/usage.h"

#define PRUNE_WAIT_NS (10 * NS_PER_SEC) /* how long prune waits for a pull, load or create to end */
#define PRUNE_RETRY_NS (50 * NS_PER_MS)

/* --- remove --------------------------------------------------------------------------------- */

/* Fails if a sandbox uses the image, if there is no such image, or if a system error prevents the
 * reading of its record. If the record was read but is damaged, the image counts as unused, so that
 * it can be removed. */
static int check_unused(const struct store *store, const struct usage *u, const char *reference,
			struct err *e)
{
	AUTO_BUF names = BUF_INIT(ERR_MSG_BYTES);
	struct image_record r;
	bool used;

	if (image_store_find(store->home_fd, reference, &r, e) < 0)
		return e->code == ERR_NOT_FOUND || !e->hint ? -1 : 0;
	used = usage_of(u, r.manifest_digest, &names);
	image_record_done(&r);
	if (used)
		return err_set(e, ERR_BUSY, "image in use by sandbox(es): %s", buf_str(&names));
	return 0;
}

static int remove_one(const struct store *store, const struct usage *u, const char *reference,
		      bool force, struct err *e)
{
	char path[IMAGE_PATH_BYTES];

	if (image_record_path(reference, path, e) < 0 ||
	    (!force && check_unused(store, u, reference, e) < 0))
		return -1;
	if (unlinkat(store->home_fd, path, 0) == 0)
		return 0;
	if (errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "image not found: %s", reference);
	return err_sys(e, errno, "remove image '%s'", reference);
}

/* Erases the content that no image uses any more (sweep()). Does nothing if another process is
 * adding content. Then the unused content stays until the next removal. */
static void sweep_if_idle(const struct store *store)
{
	struct sweep_result ignored = { 0 };
	struct err e;

	if (store_try_exclusive(store) && sweep(store, false, &ignored, &e) < 0)
		say_warn("%s", e.msg);
}

int run_remove(const struct options *o, struct err *e)
{
	struct usage u;
	struct store store;
	size_t failed = 0;

	if (store_open(o->home, &store, e) < 0)
		return -1;
	if (usage_read(store.home_fd, &u, e) < 0) {
		store_done(&store);
		return -1;
	}
	for (size_t i = 0; i < o->n_args; i++) {
		struct err one;

		if (remove_one(&store, &u, o->arg[i], o->force, &one) == 0) {
			say_done("Removed", o->arg[i], 0);
			continue;
		}
		failed++;
		if (!o->quiet)
			say_error(&one);
	}
	if (failed < o->n_args)
		sweep_if_idle(&store);
	usage_done(&u);
	store_done(&store);
	if (failed == 0)
		return 0;
	e->code = ERR_NONE;
	if (!o->quiet)
		err_set(e, ERR_BUSY, "some images failed to remove");
	return -1;
}

/* --- prune ---------------------------------------------------------------------------------- */

static int confirm(bool *ret_agreed, struct err *e)
{
	char answer[8] = "";

	if (!isatty(STDIN_FILENO)) {
		err_set(e, ERR_DENIED,
			"cannot ask whether to remove images: standard input is no terminal");
		return err_hint(e, "answer in advance with --yes");
	}
	say_ask("Remove all images that no sandbox uses? [y/N]");
	*ret_agreed =
		fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
	return 0;
}

static int wait_exclusive(const struct store *store, struct err *e)
{
	const struct timespec pause = { 0, (long)PRUNE_RETRY_NS };
	uint64_t until_ns = clock_mono_ns() + PRUNE_WAIT_NS;

	while (!store_try_exclusive(store)) {
		if (clock_mono_ns() > until_ns)
			return err_set(e, ERR_BUSY,
				       "the image store is in use: a pull, load or create");
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int print_result(const struct sweep_result *s, bool json, struct err *e)
{
	AUTO_BUF out = BUF_INIT(4096);
	AUTO_BUF text = BUF_INIT(128);
	struct json_writer w;

	if (!json) {
		buf_addf(&text, "%zu image(s), %.1f MiB", s->references_removed,
			 (double)s->bytes_reclaimed / (1 << 20));
		say_done("Pruned", buf_str(&text), 0);
		return 0;
	}
	json_writer_init(&w, &out, 2);
	json_begin_object(&w);
	json_key_int(&w, "bytes_reclaimed", (int64_t)s->bytes_reclaimed);
	/* msb prints fsmeta_removed and vmdk_removed, so we print them too; cordon has no such
	 * files */
	json_key_int(&w, "fsmeta_removed", 0);
	json_key_int(&w, "image_refs_removed", (int64_t)s->references_removed);
	json_key_int(&w, "layers_removed", (int64_t)s->layers_removed);
	json_key_int(&w, "manifests_removed", (int64_t)s->manifests_removed);
	json_key_int(&w, "vmdk_removed", 0);
	json_end_object(&w);
	buf_add_char(&out, '\n');
	return say_data(&out, e);
}

int run_prune(const struct options *o, struct err *e)
{
	struct sweep_result s = { 0 };
	struct store store;
	bool agreed = o->yes;
	bool json;
	int r;

	if (options_want_json(o, &json, e) < 0 || (!agreed && confirm(&agreed, e) < 0))
		return -1;
	if (!agreed) {
		if (!o->quiet)
			say_note("Nothing was removed.");
		return 0;
	}
	if (store_open(o->home, &store, e) < 0)
		return -1;
	r = wait_exclusive(&store, e);
	if (r == 0 && !o->dangling)
		r = sweep_references(&store, &s, e);
	if (r == 0)
		r = sweep(&store, true, &s, e);
	store_done(&store);
	return r < 0 ? -1 : print_result(&s, json, e);
}
