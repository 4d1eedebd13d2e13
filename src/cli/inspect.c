/*
 * `inspect` shows one sandbox, as text for people or as JSON with the whole configuration. Both
 * show the limits that the user asked for, and whether and how this host enforces each limit.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "cli/cells.h"
#include "cli/changes.h"
#include "cli/commands.h"
#include "cli/network.h"
#include "client/sandbox.h"

#define OUTPUT_MAX_BYTES (16u << 20) /* enough for a record's file with indentation */
#define KEY_WIDTH 16
#define INDENT 2
#define HIDDEN "(hidden; --show-env shows it)"

/* The limits of a sandbox. `offset` is the place in struct enforcement that says how the limit
 * is enforced. */
static const struct {
	const char *key;   /* the limit's name in JSON; the rows are sorted by it */
	const char *title; /* the limit's name for people */
	size_t offset;
} limits[] = {
	// clang-format off
	{ "cpus",      "CPUs",      offsetof(struct enforcement, cpus) },
	{ "ids",       "User ids",  offsetof(struct enforcement, ids) },
	{ "memory",    "Memory",    offsetof(struct enforcement, memory) },
	{ "pids",      "Processes", offsetof(struct enforcement, pids) },
	{ "root_disk", "Root disk", offsetof(struct enforcement, root_disk) },
	{ "volumes",   "Volumes",   offsetof(struct enforcement, volumes) },
	// clang-format on
};

/* Returns how the limit with the index I is enforced. Returns NULL before the first start,
 * when this is not known yet. */
static const char *limit_text(const struct record *r, size_t i)
{
	const char *text = (const char *)&r->state.enforced + limits[i].offset;

	return *text ? text : NULL;
}

static const char *engine_in_force(const struct spec *s)
{
	return spec_engine_words[s->engine == ENGINE_VM ? ENGINE_VM : ENGINE_PROCESS];
}

static uint64_t updated_ns(const struct record *r)
{
	return r->state.updated_ns > r->updated_ns ? r->state.updated_ns : r->updated_ns;
}

/* Writes the changes that a live sandbox gets at its next start. */
static void write_pending(struct json_writer *w, const struct changes *pending, bool msb)
{
	json_begin_array(w);
	for (size_t i = 0; i < pending->n; i++) {
		const struct change *c = &pending->v[i];

		json_begin_object(w);
		json_key(w, "after");
		change_write_after(w, c, msb);
		json_key(w, "before");
		change_write_before(w, c, msb);
		json_key_str(w, "change", change_word(c));
		json_key_str(w, "disposition", "next start");
		json_key_str(w, "field", c->field);
		json_key_str(w, "kind", change_kind(c));
		if (!msb)
			json_key_str(w, "unit", c->unit);
		json_end_object(w);
	}
	json_end_array(w);
}

static int print_json(const struct record *r, const struct changes *pending, bool msb)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_writer w;
	char when[CLOCK_RFC3339_BYTES];

	json_writer_init(&w, &b, 2);
	json_begin_object(&w);
	json_key(&w, "active_config");
	if (pending->n)
		spec_write_json(&r->active, &w);
	else
		json_null(&w);
	json_key(&w, "config");
	spec_write_json(&r->spec, &w);
	clock_rfc3339_ns(r->created_ns, when);
	json_key_str(&w, "created_at", when);
	json_key_str(&w, "engine", engine_in_force(&r->spec));
	json_key(&w, "limits");
	json_begin_object(&w);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		json_key_str(&w, limits[i].key, limit_text(r, i));
	json_end_object(&w);
	json_key_str(&w, "name", r->spec.name);
	json_key(&w, "pending_changes");
	write_pending(&w, pending, msb);
	json_key(&w, "ports");
	cells_write_ports(&w, r, msb);
	json_key_str(&w, "root", *r->state.root ? r->state.root : NULL);
	json_key_str(&w, "status", status_name(r->status));
	clock_rfc3339_ns(updated_ns(r), when);
	json_key_str(&w, "updated_at", when);
	json_end_object(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

/* --- text ------------------------------------------------------------------------------------ */

/* Writes "Key:            value". All values are in one column, whatever INDENT is. */
static void line(struct buf *b, unsigned indent, const char *key, const char *value)
{
	size_t at = b->n;

	buf_add_fill(b, ' ', indent);
	buf_add_clean(b, key);
	buf_add_char(b, ':');
	buf_add_fill(b, ' ', b->n - at < KEY_WIDTH ? KEY_WIDTH - (b->n - at) : 1);
	buf_add_clean(b, value);
	buf_add_char(b, '\n');
}

static void PRINTF_LIKE(4, 5)
	linef(struct buf *b, unsigned indent, const char *key, const char *fmt, ...)
{
	va_list ap;
	char *value;

	va_start(ap, fmt);
	value = xvasprintf(fmt, ap);
	va_end(ap);
	line(b, indent, key, value);
	free(value);
}

static void add_read_only(struct buf *b, const struct spec *s)
{
	AUTO_BUF text = BUF_INIT(OUTPUT_MAX_BYTES);

	if (!s->read_only)
		return;
	buf_add_str(&text, "yes");
	for (size_t i = 0; i < s->writable.n; i++)
		buf_addf(&text, "%s%s", i ? ", " : ", but for ", s->writable.v[i]);
	line(b, 0, "Read-only", buf_str(&text));
}

static void add_head(struct buf *b, const struct record *r, const struct spec *s)
{
	char created[CLOCK_LOCAL_BYTES], updated[CLOCK_LOCAL_BYTES];
	AUTO_BUF image = BUF_INIT(CELL_IMAGE_MAX_BYTES);
	AUTO_FREE char *network = network_text(s);

	clock_local(r->created_ns, created);
	clock_local(updated_ns(r), updated);
	line(b, 0, "Name", s->name);
	line(b, 0, "Status", status_lower(r->status));
	if (r->status != STATUS_RUNNING && r->state.stop_reason[0])
		line(b, 0, "Reason", r->state.stop_reason);
	line(b, 0, "Image", cell_image(&image, s));
	line(b, 0, "Engine", engine_in_force(s));
	if (*r->state.root)
		line(b, 0, "Root", r->state.root);
	add_read_only(b, s);
	line(b, 0, "Created", created);
	line(b, 0, "Updated", updated);
	linef(b, 0, "Security", "%s%s", s->restricted ? "restricted" : "default",
	      s->own_filters ? ", own filters" : "");
	line(b, 0, "Network", network);
	if (s->ephemeral)
		line(b, 0, "Ephemeral", "yes");
	if (s->idle_timeout_s)
		linef(b, 0, "Idle timeout", "%llus", (unsigned long long)s->idle_timeout_s);
	if (s->max_duration_s)
		linef(b, 0, "Max duration", "%llus", (unsigned long long)s->max_duration_s);
}

static void add_runtime(struct buf *b, const struct record *r)
{
	const struct spec *s = record_in_force(r);
	AUTO_BUF command = BUF_INIT(OUTPUT_MAX_BYTES);

	cell_command(&command, s);
	line(b, 0, "Command", buf_str(&command));
	line(b, 0, "Workdir", s->workdir ? s->workdir : "/");
	line(b, 0, "User", s->user ? s->user : "root");
	line(b, 0, "Shell", s->shell ? s->shell : SPEC_DEFAULT_SHELL);
	if (s->hostname)
		line(b, 0, "Hostname", s->hostname);
	for (size_t i = 0; i < s->n_ports; i++) {
		struct spec_port port = record_port(r, i);
		AUTO_BUF cell = BUF_INIT(256);

		cell_port(&cell, &port);
		line(b, 0, "Port", buf_str(&cell));
	}
}

static void add_root_disk(struct buf *b, const struct spec *s)
{
	const struct spec_root_disk *d = &s->image.root_disk;
	AUTO_BUF size = BUF_INIT(128);

	if (spec_image_in_place(&s->image))
		return;
	cell_mib(&size, spec_root_disk_mib(s));
	if (d->kind == ROOT_DISK_FLAT)
		buf_add_str(&size, ", flat");
	if (d->on_disk)
		buf_add_str(&size, ", on disk");
	line(b, INDENT, "Root disk", d->kind == ROOT_DISK_PATH ? d->path : buf_str(&size));
}

static void add_resources(struct buf *b, const struct spec *s)
{
	AUTO_BUF memory = BUF_INIT(128);
	AUTO_BUF cpus = BUF_INIT(128);

	cell_memory(&memory, s);
	cell_cpus(&cpus, s);
	buf_add_str(b, "Resources:\n");
	line(b, INDENT, "CPUs", buf_str(&cpus));
	line(b, INDENT, "Memory", buf_str(&memory));
	linef(b, INDENT, "Processes", "%llu", (unsigned long long)s->pids_limit);
	add_root_disk(b, s);
}

static void add_limits(struct buf *b, const struct record *r)
{
	buf_add_str(b, record_in_force(r)->soft_limits ? "Limits (soft):\n" : "Limits:\n");
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		const char *text = limit_text(r, i);

		line(b, INDENT, limits[i].title, text ? text : "unknown until it has run");
	}
}

/* Writes the pairs of LIST below TITLE. If hide_env() has hidden a value, the value is NULL. */
static void add_pairs(struct buf *b, const char *title, const struct spec_env *list, size_t n)
{
	if (!n)
		return;
	buf_addf(b, "%s:\n", title);
	for (size_t i = 0; i < n; i++) {
		buf_add_fill(b, ' ', INDENT);
		buf_add_clean(b, list[i].key);
		buf_add_char(b, '=');
		buf_add_clean(b, list[i].value ? list[i].value : HIDDEN);
		buf_add_char(b, '\n');
	}
}

static const char *mount_source(const struct spec_mount *m)
{
	return m->kind == MOUNT_TMPFS ? "tmpfs" : m->source;
}

static void add_mounts(struct buf *b, const struct spec *s)
{
	if (!s->n_mounts)
		return;
	buf_add_str(b, "Mounts:\n");
	for (size_t i = 0; i < s->n_mounts; i++) {
		const struct spec_mount *m = &s->mount[i];

		buf_add_fill(b, ' ', INDENT);
		buf_add_clean(b, mount_source(m));
		buf_add_str(b, " -> ");
		buf_add_clean(b, m->guest);
		buf_addf(b, " (%s%s%s%s", m->readonly ? "ro" : "rw", m->noexec ? ", noexec" : "",
			 m->nosuid ? ", nosuid" : "", m->nodev ? ", nodev" : "");
		if (m->has_owner)
			buf_addf(b, ", uid %u, gid %u", m->uid, m->gid);
		if (m->quota_mib) {
			buf_add_str(b, ", quota ");
			cell_mib(b, m->quota_mib);
		}
		buf_add_str(b, ")\n");
	}
}

static void add_pending(struct buf *b, const struct changes *pending)
{
	if (pending->n)
		buf_add_str(b, "At the next start:\n");
	for (size_t i = 0; i < pending->n; i++) {
		const struct change *c = &pending->v[i];

		linef(b, INDENT, c->field, "%s -> %s", c->before ? c->before : "-",
		      c->after ? c->after : "-");
	}
}

static int print_text(const struct record *r, const struct changes *pending)
{
	const struct spec *s = record_in_force(r);
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);

	add_head(&b, r, s);
	add_runtime(&b, r);
	add_resources(&b, s);
	add_limits(&b, r);
	add_pairs(&b, "Environment", s->env, s->n_env);
	add_pairs(&b, "Labels", s->label, s->n_labels);
	add_mounts(&b, s);
	add_pending(&b, pending);
	return say_output(&b);
}

/* Hides the values of environment variables. They often hold keys and passwords, and people copy
 * what `inspect` prints into messages to others. */
static void hide_env(struct spec *s)
{
	for (size_t i = 0; i < s->n_env; i++) {
		free(s->env[i].value);
		s->env[i].value = NULL;
	}
}

static void hide(char **text)
{
	if (!*text)
		return;
	free(*text);
	*text = xstrdup(HIDDEN);
}

static void hide_changes(struct changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].what != CHANGE_ENV)
			continue;
		hide(&c->v[i].before);
		hide(&c->v[i].after);
	}
}

int cmd_inspect(const struct args *a)
{
	AUTO_RECORD r = RECORD_NONE;
	AUTO_HOME home = { .fd = -1 };
	AUTO_CHANGES pending = { 0 };
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || record_load(&home, a->word.v[0], &r, &e) < 0 ||
	    changes_between(record_in_force(&r), &r.spec, &pending, &e) < 0)
		return say_error(&e);
	if (!args_has(a, "show-env") && !args_as_msb(a)) {
		hide_env(&r.spec);
		hide_env(&r.active);
		hide_changes(&pending);
	}
	return args_has(a, "format") ? print_json(&r, &pending, args_as_msb(a))
				     : print_text(&r, &pending);
}
