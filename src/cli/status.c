#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/say.h"
#include "base/table.h"
#include "cli/cells.h"
#include "cli/commands.h"
#include "cli/targets.h"
#include "spec/cpus.h"
#include "spec/grammar.h"

#define OUTPUT_MAX_BYTES (64u << 20)
#define CELL_MAX_BYTES (4u << 20) /* longer than a command line may be by default (2 MiB) */
enum { IMAGE_WIDTH = 36, COMMAND_WIDTH = 40, PORTS_WIDTH = 32 };

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct record *)a)->spec.name, ((const struct record *)b)->spec.name);
}

/* Writes one sandbox. If MSB is true, writes the command and the ports as texts, as in the
 * table. */
static void write_json(struct json_writer *w, const struct record *r, bool msb)
{
	const struct spec *s = record_in_force(r);
	AUTO_BUF image = BUF_INIT(CELL_IMAGE_MAX_BYTES);
	AUTO_BUF cell = BUF_INIT(CELL_MAX_BYTES);

	json_begin_object(w);
	json_key(w, "command");
	cell_command(&cell, s);
	if (msb)
		json_str(w, buf_str(&cell));
	else
		cells_write_command(w, s);
	cpus_write_json(w, "cpus", s->cpu_milli);
	json_key_str(w, "image", cell_image(&image, s));
	cpus_write_json(w, "max_cpus", s->max_cpu_milli);
	json_key_int(w, "max_memory_mib", (int64_t)s->max_memory_mib);
	json_key_int(w, "memory_mib", (int64_t)s->memory_mib);
	json_key_str(w, "name", s->name);
	json_key(w, "ports");
	cells_write_ports(w, r, msb);
	json_key_str(w, "status", status_name(r->status));
	json_key_str(w, "thp", s->thp);
	json_end_object(w);
}

static int print_json(const struct record *r, size_t n, bool one, bool msb)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 2);
	if (one) {
		write_json(&w, r, msb);
	} else {
		json_begin_array(&w);
		for (size_t i = 0; i < n; i++)
			write_json(&w, &r[i], msb);
		json_end_array(&w);
	}
	buf_add_char(&b, '\n');
	return say_output(&b);
}

static void add_cut(struct table *t, const char *s, unsigned width)
{
	AUTO_BUF cut = BUF_INIT(CELL_MAX_BYTES);

	buf_add_cut(&cut, s, width);
	table_add(t, buf_str(&cut));
}

static void add_row(struct table *t, const struct record *r, bool whole)
{
	const struct spec *s = record_in_force(r);
	AUTO_BUF cell = BUF_INIT(CELL_MAX_BYTES);

	table_add(t, s->name);
	add_cut(t, cell_image(&cell, s), IMAGE_WIDTH);
	buf_clear(&cell);
	cell_command(&cell, s);
	add_cut(t, buf_str(&cell), COMMAND_WIDTH);
	buf_clear(&cell);
	cell_cpus(&cell, s);
	table_add(t, buf_str(&cell));
	buf_clear(&cell);
	cell_memory(&cell, s);
	table_add(t, buf_str(&cell));
	table_add(t, status_lower(r->status));
	buf_clear(&cell);
	for (size_t i = 0; i < s->n_ports; i++) {
		struct spec_port port = record_port(r, i);

		if (i)
			buf_add_str(&cell, ", ");
		cell_port(&cell, &port);
	}
	/* WHOLE says that a program reads the table: it needs every port, so the cell is not cut.
	 * If a person reads the table, the cell is cut. If we were called as msb, the cell is
	 * always cut. */
	if (whole)
		table_add(t, s->n_ports ? buf_str(&cell) : "-");
	else
		add_cut(t, s->n_ports ? buf_str(&cell) : "-", PORTS_WIDTH);
}

static int print_table(const struct record *r, size_t n, bool whole)
{
	struct table t;

	TABLE_BEGIN(&t, "NAME", "IMAGE", "COMMAND", "CPUS", "MEM", "STATUS", "PORTS");
	for (size_t i = 0; i < n; i++)
		add_row(&t, &r[i], whole);
	return table_print(&t);
}

static int print(const struct args *a, const struct record *r, size_t n)
{
	if (args_has(a, "format"))
		return print_json(r, n, a->word.n > 0, args_as_msb(a));
	if (args_has(a, "quiet"))
		return cells_print_names(r, n);
	if (n)
		return print_table(r, n, !args_as_msb(a) && isatty(STDOUT_FILENO) != 1);
	say_note(args_has(a, "all") ? "No sandboxes found." : "No running sandboxes.");
	return 0;
}

static int print_all(const struct args *a, const struct home *h)
{
	AUTO_SANDBOX_LIST all = { 0 };
	struct record *chosen;
	struct err e = { 0 };
	size_t n = 0;
	int status;

	if (targets_load(h, &all, &e) < 0)
		return say_error(&e);
	/* the array borrows the records; the list owns them */
	chosen = xcalloc(all.n + 1, sizeof(*chosen));
	for (size_t i = 0; i < all.n; i++)
		if ((args_has(a, "all") || sandbox_is_up(&all.item[i])) &&
		    spec_matches_labels(&all.item[i].spec, args_list(a, "label")))
			chosen[n++] = all.item[i];
	qsort(chosen, n, sizeof(*chosen), by_name);
	status = print(a, chosen, n);
	free(chosen);
	return status;
}

int cmd_status(const struct args *a)
{
	AUTO_RECORD r = RECORD_NONE;
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };

	if (home_open(&home, &e) < 0)
		return say_error(&e);
	if (a->word.n == 0)
		return print_all(a, &home);
	if (record_load(&home, a->word.v[0], &r, &e) < 0)
		return say_error(&e);
	return print(a, &r, 1);
}
