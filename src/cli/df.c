/* `df` shows what images, sandboxes and volumes occupy, and what `prune` would free. */
#include "base/say.h"
#include "base/table.h"
#include "cli/cells.h"
#include "cli/commands.h"
#include "cli/targets.h"
#include "client/space.h"

#define JSON_MAX_BYTES 4096u
#define KINDS 3

static const char *const kinds[KINDS] = { "images", "sandboxes", "volumes" };

static int measure(struct space space[KINDS], struct err *e)
{
	AUTO_SANDBOX_LIST all = { 0 };
	AUTO_HOME home = { .fd = -1 };

	if (home_open(&home, e) < 0 || targets_load(&home, &all, e) < 0 ||
	    space_images(&home, &all, &space[0], e) < 0 ||
	    space_sandboxes(&home, &all, &space[1], e) < 0)
		return -1;
	return space_volumes(&home, &all, &space[2], e);
}

static int print_json(const struct space *space)
{
	AUTO_BUF b = BUF_INIT(JSON_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 2);
	json_begin_array(&w);
	for (size_t i = 0; i < KINDS; i++) {
		json_begin_object(&w);
		json_key_int(&w, "in_use", (int64_t)space[i].n_used);
		json_key_int(&w, "reclaimable_bytes", (int64_t)space[i].unused_bytes);
		json_key_int(&w, "size_bytes", (int64_t)space[i].bytes);
		json_key_int(&w, "total", (int64_t)space[i].n);
		json_key_str(&w, "type", kinds[i]);
		json_end_object(&w);
	}
	json_end_array(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

static int print_table(const struct space *space)
{
	struct table t;

	TABLE_BEGIN(&t, "TYPE", "TOTAL", "IN USE", "SIZE", "RECLAIMABLE");
	for (size_t i = 0; i < KINDS; i++) {
		AUTO_BUF total = BUF_INIT(32), used = BUF_INIT(32), size = BUF_INIT(64),
			 unused = BUF_INIT(64);

		buf_addf(&total, "%zu", space[i].n);
		buf_addf(&used, "%zu", space[i].n_used);
		cell_bytes(&size, space[i].bytes);
		cell_bytes(&unused, space[i].unused_bytes);
		TABLE_ROW(&t, kinds[i], buf_str(&total), buf_str(&used), buf_str(&size),
			  buf_str(&unused));
	}
	return table_print(&t);
}

int cmd_df(const struct args *a)
{
	struct space space[KINDS] = { 0 };
	struct err e = { 0 };
	int status;

	if (measure(space, &e) < 0)
		status = say_error(&e);
	else
		status = args_has(a, "format") ? print_json(space) : print_table(space);
	for (size_t i = 0; i < KINDS; i++)
		space_done(&space[i]);
	return status;
}
