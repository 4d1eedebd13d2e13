#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "base/table.h"
#include "cli/cells.h"
#include "cli/commands.h"
#include "client/sandbox.h"
#include "client/volumes.h"
#include "spec/grammar.h"

#define OUTPUT_MAX_BYTES (16u << 20)
#define KEY_WIDTH 16
#define MIB (1ull << 20)

/* --- create ---------------------------------------------------------------------------------- */

static int create(const struct args *a, const struct home *h, const char *name, struct err *e)
{
	const char *kind = args_str(a, "kind"), *size = args_str(a, "size");
	bool disk = kind && strcmp(kind, "disk") == 0;
	uint64_t size_mib = 0;

	if (size && parse_size_mib("--size", size, &size_mib, e) < 0)
		return -1;
	if (disk && !size)
		return err_set(e, ERR_INVALID, "--size: a disk volume needs a size");
	if (!disk && size)
		return err_set(e, ERR_INVALID,
			       "--size: only disk volumes have one; add --kind disk");
	return volume_create(h, name,
			     &(struct volume_form){ .kind = disk ? VOLUME_DISK : VOLUME_DIR,
						    .size_mib = size_mib },
			     e);
}

int cmd_volume_create(const struct args *a)
{
	const char *option = args_str(a, "name");
	const char *name = a->word.n ? a->word.v[0] : option;
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };

	if (option && strcmp(option, name) != 0)
		return say_errorf(ERR_INVALID, "--name: '%s' and '%s' are two names for one volume",
				  option, name);
	if (spec_check_name("volume", name, &e) < 0 || home_open(&home, &e) < 0 ||
	    places_follow(&home, &e) < 0 || create(a, &home, name, &e) < 0)
		return say_error(&e);
	return args_has(a, "quiet") ? 0 : say_name(name);
}

/* --- list ------------------------------------------------------------------------------------ */

static int print_json(const struct volume_list *l)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 2);
	json_begin_array(&w);
	for (size_t i = 0; i < l->n; i++) {
		const struct volume *v = &l->item[i];
		bool disk = v->kind == VOLUME_DISK;
		char created[CLOCK_RFC3339_BYTES];

		clock_rfc3339_ns(v->created_ns, created);
		json_begin_object(&w);
		if (disk)
			json_key_int(&w, "capacity_bytes", (int64_t)(v->size_mib * MIB));
		else
			json_key_null(&w, "capacity_bytes");
		json_key_str(&w, "created_at", created);
		json_key_str(&w, "disk_format", disk ? "raw" : NULL);
		json_key_str(&w, "disk_fstype", disk ? "ext4" : NULL);
		json_key_str(&w, "kind", volume_kind_name(v->kind));
		json_key_str(&w, "name", v->name);
		if (v->quota_mib)
			json_key_int(&w, "quota_mib", (int64_t)v->quota_mib);
		else
			json_key_null(&w, "quota_mib");
		json_key_int(&w, "used_bytes", (int64_t)volume_used_bytes(v));
		json_end_object(&w);
	}
	json_end_array(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

static int print_table(const struct volume_list *l)
{
	AUTO_BUF size = BUF_INIT(256);
	char created[CLOCK_LOCAL_BYTES];
	struct table t;

	TABLE_BEGIN(&t, "NAME", "KIND", "SIZE", "CREATED");
	for (size_t i = 0; i < l->n; i++) {
		const struct volume *v = &l->item[i];

		buf_clear(&size);
		cell_bytes(&size,
			   v->kind == VOLUME_DISK ? v->size_mib * MIB : volume_used_bytes(v));
		clock_local(v->created_ns, created);
		TABLE_ROW(&t, v->name, volume_kind_name(v->kind), buf_str(&size), created);
	}
	return table_print(&t);
}

static int print_names(const struct volume_list *l)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);

	for (size_t i = 0; i < l->n; i++)
		buf_addf(&b, "%s\n", l->item[i].name);
	return say_output(&b);
}

int cmd_volume_list(const struct args *a)
{
	AUTO_VOLUME_LIST all = { 0 };
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || volume_list_load(&home, &all, &e) < 0)
		return say_error(&e);
	volumes_sweep(&home);
	if (args_has(a, "format"))
		return print_json(&all);
	if (args_has(a, "quiet"))
		return print_names(&all);
	if (all.n)
		return print_table(&all);
	say_note("No volumes found.");
	return 0;
}

/* --- inspect --------------------------------------------------------------------------------- */

static void line(struct buf *b, const char *key, const char *value)
{
	size_t at = b->n;

	buf_addf(b, "%s:", key);
	buf_add_fill(b, ' ', KEY_WIDTH - (b->n - at));
	buf_add_clean(b, value);
	buf_add_char(b, '\n');
}

int cmd_volume_inspect(const struct args *a)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES), cell = BUF_INIT(256);
	AUTO_HOME home = { .fd = -1 };
	AUTO_VOLUME v = { 0 };
	char created[CLOCK_LOCAL_BYTES];
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || volume_load(&home, a->word.v[0], &v, &e) < 0)
		return say_error(&e);
	line(&b, "Name", v.name);
	line(&b, "Kind", volume_kind_name(v.kind));
	if (v.kind == VOLUME_DISK) {
		cell_mib(&cell, v.size_mib);
		line(&b, "Format", "raw");
		line(&b, "Filesystem", "ext4");
		line(&b, "Capacity", buf_str(&cell));
	} else {
		if (v.quota_mib)
			cell_mib(&cell, v.quota_mib);
		line(&b, "Quota", v.quota_mib ? buf_str(&cell) : "none");
	}
	buf_clear(&cell);
	cell_bytes(&cell, volume_used_bytes(&v));
	line(&b, "Used", buf_str(&cell));
	line(&b, "Path", v.path);
	clock_local(v.created_ns, created);
	line(&b, "Created", created);
	line(&b, "Labels", "none");
	return say_output(&b);
}

/* --- remove ---------------------------------------------------------------------------------- */

int cmd_volume_remove(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };
	int status = 0;

	if (home_open(&home, &e) < 0)
		return say_error(&e);
	for (size_t i = 0; i < a->word.n; i++) {
		uint64_t begin = clock_mono_ns();

		if (volumes_remove(&home, a->word.v[i], &e) == 0) {
			say_done("Removed", a->word.v[i], clock_mono_ns() - begin);
			continue;
		}
		status = 1;
		if (!args_has(a, "quiet"))
			say_error(&e);
	}
	return status;
}
