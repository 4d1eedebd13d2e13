#include "base/clock.h"
#include "base/say.h"
#include "base/table.h"
#include "cli/cells.h"
#include "cli/commands.h"
#include "cli/targets.h"
#include "spec/grammar.h"

#define JSON_MAX_BYTES (64u << 20) /* of output: enough for a hundred thousand sandboxes */

static bool wanted(const struct args *a, const struct record *r)
{
	bool running = args_has(a, "running"), stopped = args_has(a, "stopped");
	bool down = r->status == STATUS_STOPPED || r->status == STATUS_CRASHED;

	if (!spec_matches_labels(&r->spec, args_list(a, "label")))
		return false;
	return running == stopped || (running ? sandbox_is_up(r) : down);
}

/* Moves the sandboxes that the options choose to the front of the list, and returns their
 * number. */
static size_t choose(const struct args *a, struct sandbox_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (wanted(a, &l->item[i])) {
			struct record kept = l->item[i];

			l->item[i] = l->item[n];
			l->item[n++] = kept;
		}
	return n;
}

static int print_json(const struct record *r, size_t n)
{
	AUTO_BUF b = BUF_INIT(JSON_MAX_BYTES);
	AUTO_BUF image = BUF_INIT(CELL_IMAGE_MAX_BYTES);
	struct json_writer w;
	char created[CLOCK_RFC3339_BYTES];

	json_writer_init(&w, &b, 2);
	json_begin_array(&w);
	for (size_t i = 0; i < n; i++) {
		clock_rfc3339_ns(r[i].created_ns, created);
		json_begin_object(&w);
		json_key_str(&w, "created_at", created);
		json_key_str(&w, "image", cell_image(&image, &r[i].spec));
		json_key_str(&w, "name", r[i].spec.name);
		json_key_str(&w, "status", status_name(r[i].status));
		json_end_object(&w);
	}
	json_end_array(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

static int print_table(const struct record *r, size_t n)
{
	AUTO_BUF image = BUF_INIT(CELL_IMAGE_MAX_BYTES);
	char created[CLOCK_LOCAL_BYTES];
	struct table t;

	TABLE_BEGIN(&t, "NAME", "IMAGE", "STATUS", "CREATED");
	for (size_t i = 0; i < n; i++) {
		clock_local(r[i].created_ns, created);
		TABLE_ROW(&t, r[i].spec.name, cell_image(&image, &r[i].spec),
			  status_lower(r[i].status), created);
	}
	return table_print(&t);
}

int cmd_list(const struct args *a)
{
	AUTO_SANDBOX_LIST all = { 0 };
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };
	size_t n;

	if (home_open(&home, &e) < 0 || targets_load(&home, &all, &e) < 0)
		return say_error(&e);
	n = choose(a, &all);
	if (args_has(a, "format"))
		return print_json(all.item, n);
	if (args_has(a, "quiet"))
		return cells_print_names(all.item, n);
	if (n)
		return print_table(all.item, n);
	say_note("No sandboxes found.");
	return 0;
}
