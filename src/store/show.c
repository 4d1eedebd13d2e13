/* The commands list and inspect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/say.h"
#include "base/table.h"
#include "image/store.h"
#include "store/commands.h"

#define SHOW_MAX_BYTES (256u << 20) /* room for every record of the largest store */
#define DIGEST_SHOWN (sizeof(DIGEST_PREFIX) - 1 + 12)

static void add_mib(struct buf *b, uint64_t bytes)
{
	buf_addf(b, "%.1f MiB", (double)bytes / (1 << 20));
}

/* --- list ----------------------------------------------------------------------------------- */

/* All functions of this file write the members of a JSON object in alphabetical order. */

static void write_time(struct json_writer *w, uint64_t ns)
{
	char time[CLOCK_RFC3339_BYTES];

	clock_rfc3339_ns(ns, time);
	json_key_str(w, "created_at", time);
}

static void write_list_item(struct json_writer *w, const struct image_record *r)
{
	json_begin_object(w);
	json_key_str(w, "architecture", r->architecture);
	write_time(w, r->created_at_ns);
	json_key_str(w, "digest", r->manifest_digest);
	json_key_int(w, "layer_count", (int64_t)r->n_layers);
	json_key_str(w, "os", r->os);
	json_key_str(w, "reference", r->reference);
	json_key_int(w, "size_bytes", (int64_t)r->size_bytes);
	json_end_object(w);
}

static void add_list_table(struct buf *out, const struct image_record *r, size_t n)
{
	struct table t;

	TABLE_BEGIN(&t, "REFERENCE", "DIGEST", "SIZE", "CREATED");
	for (size_t i = 0; i < n; i++) {
		AUTO_BUF size = BUF_INIT(64);
		char time[CLOCK_LOCAL_BYTES], digest[DIGEST_SHOWN + 1];

		add_mib(&size, r[i].size_bytes);
		clock_local(r[i].created_at_ns, time);
		snprintf(digest, sizeof(digest), "%s", r[i].manifest_digest);
		TABLE_ROW(&t, r[i].reference, digest, buf_str(&size), time);
	}
	table_end(&t, out);
}

/* Adds the size of the flat form to the size of R. The size that we show counts all files that the
 * image uses, even if other images use them too. */
static void add_flat(int home, struct image_record *r)
{
	uint64_t mib;

	r->size_bytes += image_store_flat(home, r, &mib);
}

int run_list(const struct options *o, struct err *e)
{
	AUTO_BUF out = BUF_INIT(SHOW_MAX_BYTES);
	struct image_record *r;
	struct json_writer w;
	AUTO_FD home = -1;
	bool json;
	size_t n;

	if (options_want_json(o, &json, e) < 0 || options_open_home(o, &home, e) < 0 ||
	    image_store_list(home, &r, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		add_flat(home, &r[i]);
	if (json) {
		json_writer_init(&w, &out, 2);
		json_begin_array(&w);
		for (size_t i = 0; i < n; i++)
			write_list_item(&w, &r[i]);
		json_end_array(&w);
		buf_add_char(&out, '\n');
	} else if (o->quiet) {
		for (size_t i = 0; i < n; i++)
			buf_addf(&out, "%s\n", r[i].reference);
	} else if (n == 0) {
		say_note("No images found.");
	} else {
		add_list_table(&out, r, n);
	}
	image_records_free(r, n);
	return say_data(&out, e);
}

/* --- inspect -------------------------------------------------------------------------------- */

struct view {
	const struct image_record *record;
	const struct image_config *config;
	struct image_layer_info *info; /* one element per layer */
	uint64_t flat_bytes;           /* 0: there is no flat form */
};

static void write_strings(struct json_writer *w, const char *key, const struct image_strings *l,
			  bool null_when_empty)
{
	json_key(w, key);
	if (l->n == 0 && null_when_empty) {
		json_null(w);
		return;
	}
	json_begin_array(w);
	for (size_t i = 0; i < l->n; i++)
		json_str(w, l->v[i]);
	json_end_array(w);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct image_label *)a)->key, ((const struct image_label *)b)->key);
}

static void write_config(struct json_writer *w, const struct view *v)
{
	const struct image_config *c = v->config;

	json_begin_object(w);
	write_strings(w, "cmd", &c->cmd, true);
	json_key_str(w, "digest", v->record->config_digest);
	write_strings(w, "entrypoint", &c->entrypoint, true);
	write_strings(w, "env", &c->env, false);
	json_key(w, "labels");
	json_begin_object(w);
	for (size_t i = 0; i < c->n_labels; i++)
		json_key_str(w, c->label[i].key, c->label[i].value);
	json_end_object(w);
	json_key_str(w, "stop_signal", c->stop_signal);
	json_key_str(w, "user", c->user);
	json_key_str(w, "working_dir", c->working_dir);
	json_end_object(w);
}

static void write_layers(struct json_writer *w, const struct view *v)
{
	json_begin_array(w);
	for (size_t i = 0; i < v->record->n_layers; i++) {
		const struct image_layer *l = &v->record->layer[i];

		json_begin_object(w);
		json_key_str(w, "blob_digest", l->digest);
		json_key_int(w, "compressed_size_bytes", (int64_t)l->size_bytes);
		json_key_str(w, "diff_id", l->diff_id);
		/* this member has the name that the msb of microsandbox uses; the value is the size
		 * of the unpacked tree */
		json_key_int(w, "erofs_size_bytes", (int64_t)v->info[i].disk_bytes);
		json_key_str(w, "media_type", l->media_type);
		json_key_int(w, "position", (int64_t)i);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_inspect(struct buf *out, const struct view *v)
{
	const struct image_record *r = v->record;
	struct json_writer w;

	json_writer_init(&w, out, 2);
	json_begin_object(&w);
	json_key_str(&w, "architecture", r->architecture);
	json_key(&w, "config");
	write_config(&w, v);
	write_time(&w, r->created_at_ns);
	json_key_str(&w, "digest", r->manifest_digest);
	if (v->flat_bytes)
		json_key_int(&w, "flat_size_bytes", (int64_t)v->flat_bytes);
	json_key_int(&w, "layer_count", (int64_t)r->n_layers);
	json_key(&w, "layers");
	write_layers(&w, v);
	json_key_str(&w, "os", r->os);
	json_key_str(&w, "reference", r->reference);
	json_key_int(&w, "size_bytes", (int64_t)r->size_bytes);
	json_end_object(&w);
	buf_add_char(out, '\n');
}

static void add_line(struct buf *b, const char *key, const char *value)
{
	buf_addf(b, "%-16s", key);
	buf_add_clean(b, value && *value ? value : "-");
	buf_add_char(b, '\n');
}

static void add_words(struct buf *b, const char *key, const struct image_strings *l)
{
	AUTO_BUF words = BUF_INIT(1u << 20);

	for (size_t i = 0; i < l->n; i++)
		buf_addf(&words, "%s%s", i ? " " : "", l->v[i]);
	add_line(b, key, buf_str(&words));
}

static void add_item(struct buf *b, const char *key, const char *value)
{
	buf_add_str(b, "  ");
	buf_add_clean(b, key);
	buf_add_str(b, value ? "=" : "");
	buf_add_clean(b, value ? value : "");
	buf_add_char(b, '\n');
}

static void add_section(struct buf *b, const char *name, const struct image_strings *l)
{
	if (l->n == 0)
		return;
	buf_addf(b, "\n%s:\n", name);
	for (size_t i = 0; i < l->n; i++)
		add_item(b, l->v[i], NULL);
}

static void add_text(struct buf *b, const struct view *v)
{
	const struct image_record *r = v->record;
	const struct image_config *c = v->config;
	AUTO_BUF size = BUF_INIT(64);
	char time[CLOCK_LOCAL_BYTES];

	clock_local(r->created_at_ns, time);
	add_mib(&size, r->size_bytes);
	add_line(b, "Reference:", r->reference);
	add_line(b, "Digest:", r->manifest_digest);
	add_line(b, "Architecture:", r->architecture);
	add_line(b, "OS:", r->os);
	add_line(b, "Size:", buf_str(&size));
	add_line(b, "Created:", time);
	buf_add_str(b, "\nConfig:\n");
	add_line(b, "  Digest:", r->config_digest);
	add_words(b, "  Entrypoint:", &c->entrypoint);
	add_words(b, "  Cmd:", &c->cmd);
	add_line(b, "  User:", c->user);
	add_line(b, "  Workdir:", c->working_dir);
	add_line(b, "  Stop signal:", c->stop_signal);
	add_section(b, "Environment", &c->env);
	add_section(b, "Volumes", &c->volumes);
	add_section(b, "Ports", &c->exposed_ports);
	if (c->n_labels)
		buf_add_str(b, "\nLabels:\n");
	for (size_t i = 0; i < c->n_labels; i++)
		add_item(b, c->label[i].key, c->label[i].value);
	buf_add_str(b, "\nLayers:\n");
	if (v->flat_bytes)
		buf_addf(b, "  all in one file system: %.1f MiB\n",
			 (double)v->flat_bytes / (1 << 20));
	for (size_t i = 0; i < r->n_layers; i++)
		buf_addf(b, "  %zu  %s  %.1f MiB (%.1f MiB unpacked)\n", i, r->layer[i].digest,
			 (double)r->layer[i].size_bytes / (1 << 20),
			 (double)v->info[i].disk_bytes / (1 << 20));
}

static int show_image(int home, const struct image_record *r, bool json, struct err *e)
{
	AUTO_BUF out = BUF_INIT(SHOW_MAX_BYTES);
	struct image_config c;
	AUTO_FREE struct image_layer_info *info = xcalloc(r->n_layers + 1, sizeof(*info));
	uint64_t mib;
	const struct view v = { r, &c, info, image_store_flat(home, r, &mib) };
	int rc = 0;

	if (image_store_config(home, r, &c, e) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < r->n_layers; i++)
		rc = image_store_layer_info(home, r->layer[i].digest, "", &info[i], e);
	if (rc == 0) {
		if (c.n_labels > 1)
			qsort(c.label, c.n_labels, sizeof(*c.label), by_key);
		(json ? write_inspect : add_text)(&out, &v);
		rc = say_data(&out, e);
	}
	image_config_done(&c);
	return rc;
}

int run_inspect(const struct options *o, struct err *e)
{
	struct image_record r;
	AUTO_FD home = -1;
	bool json;
	int rc;

	if (options_want_json(o, &json, e) < 0 || options_open_home(o, &home, e) < 0 ||
	    image_store_find(home, o->arg[0], &r, e) < 0)
		return -1;
	add_flat(home, &r);
	rc = show_image(home, &r, json, e);
	image_record_done(&r);
	return rc;
}
