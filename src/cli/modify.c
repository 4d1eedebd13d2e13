/*
 * `modify`: a plan first, then all of it or nothing.
 *
 * The wanted configuration is built as a second spec; every difference is a change with a
 * disposition. What a running sandbox can take over at once is told to its supervisor, the rest is
 * written to the record and counts from the next start, which --restart makes happen now.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cells.h"
#include "cli/commands.h"
#include "cli/network.h"
#include "cli/start.h"
#include "cli/ui.h"
#include "client/control.h"
#include "client/sandbox.h"
#include "spec/grammar.h"

#define OUTPUT_MAX_BYTES (16u << 20)
#define CHANGES_MAX 4096u /* far beyond any line a shell takes seriously */

enum disposition { LIVE, NEEDS_RESTART, NEXT_START };

static const char *const disposition_words[] = {
	[LIVE] = "live", [NEEDS_RESTART] = "requires restart", [NEXT_START] = "next start"
};

struct change {
	const char *kind;
	char *field, *before, *after; /* before, after: NULL when there is none */
	enum disposition disposition;
};

struct plan {
	const struct record *record;
	struct spec next;
	struct change *change;
	size_t n;
	unsigned live; /* enum update_what */
	bool up, next_start;
};

static void plan_done(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->change[i].field);
		free(p->change[i].before);
		free(p->change[i].after);
	}
	free(p->change);
	spec_done(&p->next);
}

/* --- the plan -------------------------------------------------------------------------------- */

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

/* WHAT a supervisor must be told for it to be live, 0: nothing. */
static int add_change(struct plan *p, const char *kind, const char *field, const char *before,
		      const char *after, bool can_live, unsigned what, struct err *e)
{
	struct change *c;

	if (before && after ? strcmp(before, after) == 0 : before == after)
		return 0;
	if (p->n == CHANGES_MAX)
		return err_set(e, ERR_LIMIT, "more than %u changes", CHANGES_MAX);
	if (!p->change)
		p->change = xcalloc(CHANGES_MAX, sizeof(*p->change));
	c = &p->change[p->n++];
	*c = (struct change){ kind, copy(field), copy(before), copy(after), LIVE };
	if (!p->up || p->next_start)
		c->disposition = NEXT_START;
	else if (!can_live)
		c->disposition = NEEDS_RESTART;
	else
		p->live |= what;
	return 0;
}

static int add_number(struct plan *p, const char *field, uint64_t before, uint64_t after,
		      const char *unit, bool can_live, unsigned what, struct err *e)
{
	char a[48], b[48];

	snprintf(a, sizeof(a), "%llu%s", (unsigned long long)before, unit);
	snprintf(b, sizeof(b), "%llu%s", (unsigned long long)after, unit);
	return add_change(p, "resource", field, a, b, can_live, what, e);
}

/* A limit can change live only where a group of the kernel holds it. */
static bool is_group(const char *how)
{
	return starts_with(how, "cgroup");
}

static int plan_resources(struct plan *p, const struct args *a, struct err *e)
{
	const struct spec *was = &p->record->spec;
	const struct enforcement *how = &p->record->state.enforced;
	struct spec *s = &p->next;
	const char *v;

	if (args_has(a, "cpus")) {
		s->cpus = (uint32_t)args_uint(a, "cpus", 0);
		s->cpus_set = true;
		if (s->max_cpus < s->cpus && !args_has(a, "max-cpus"))
			s->max_cpus = s->cpus;
	}
	if (args_has(a, "max-cpus"))
		s->max_cpus = (uint32_t)args_uint(a, "max-cpus", 0);
	if ((v = args_str(a, "memory"))) {
		if (parse_size_mib("--memory", v, &s->memory_mib, e) < 0)
			return -1;
		s->memory_set = true;
		if (s->max_memory_mib < s->memory_mib && !args_has(a, "max-memory"))
			s->max_memory_mib = s->memory_mib;
	}
	if ((v = args_str(a, "max-memory")) &&
	    parse_size_mib("--max-memory", v, &s->max_memory_mib, e) < 0)
		return -1;
	if (spec_validate(s, e) < 0)
		return -1;
	if (add_number(p, "cpus", was->cpus, s->cpus, "",
		       s->cpus <= was->max_cpus && is_group(how->cpus), UPDATE_CPUS, e) < 0 ||
	    add_number(p, "max_cpus", was->max_cpus, s->max_cpus, "", false, 0, e) < 0 ||
	    add_number(p, "memory", was->memory_mib, s->memory_mib, " MiB",
		       s->memory_mib <= was->max_memory_mib && is_group(how->memory), UPDATE_MEMORY,
		       e) < 0)
		return -1;
	return add_number(p, "max_memory", was->max_memory_mib, s->max_memory_mib, " MiB", false, 0,
			  e);
}

static uint64_t root_disk_mib(const struct spec *s)
{
	const struct spec_root_disk *d = &s->image.root_disk;

	if (d->size_mib)
		return d->size_mib;
	return d->kind == ROOT_DISK_TMPFS ? (s->memory_mib + 1) / 2 : SPEC_DEFAULT_ROOT_DISK_MIB;
}

/* A layer keeps what holds its size; what can be changed is the size, and a disk only grows. */
static int plan_root_disk(struct plan *p, const struct args *a, struct err *e)
{
	const char *flag = args_has(a, "root-disk") ? "--root-disk" : "--oci-upper-size";
	const char *v = args_str(a, flag + 2);
	const struct spec_root_disk *was = &p->record->spec.image.root_disk;
	const char *how = p->record->state.enforced.root_disk;
	AUTO_ROOT_DISK next = { 0 };

	if (!v)
		return 0;
	if (parse_root_disk(flag, v, &next, e) < 0)
		return -1;
	if (p->record->spec.image.kind == IMAGE_DIR)
		return err_set(e, ERR_INVALID, "%s does not go with a directory image", flag);
	if (next.kind != was->kind || was->kind == ROOT_DISK_PATH)
		return err_set(e, ERR_UNSUPPORTED,
			       "%s: the kind of an existing root disk cannot be changed", flag);
	if (strcmp(how, "not enforced") == 0) {
		err_set(e, ERR_UNSUPPORTED,
			"%s: the writable layer of '%s' was made without a size", flag,
			p->record->spec.name);
		return err_hint(e, "create the sandbox anew with --root-disk");
	}
	if (strcmp(how, "loop image") == 0 && next.size_mib < root_disk_mib(&p->record->spec))
		return err_set(e, ERR_UNSUPPORTED, "%s: a root disk cannot be made smaller", flag);
	if (next.size_mib)
		p->next.image.root_disk.size_mib = next.size_mib;
	p->next.image.root_disk.explicit = true;
	return add_number(p, "root_disk", root_disk_mib(&p->record->spec), root_disk_mib(&p->next),
			  " MiB", false, 0, e);
}

static const char *find(const struct spec_env *list, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].key, key) == 0)
			return list[i].value;
	return NULL;
}

static int forget(struct spec_env *list, size_t *n, const char *flag, const char *key,
		  struct err *e)
{
	for (size_t i = 0; i < *n; i++) {
		if (strcmp(list[i].key, key) != 0)
			continue;
		free(list[i].key);
		free(list[i].value);
		memmove(&list[i], &list[i + 1], (*n - i - 1) * sizeof(*list));
		(*n)--;
		return 0;
	}
	return err_set(e, ERR_INVALID, "%s: '%s' is not set", flag, key);
}

/* Every key of either list, once. */
static int compare(struct plan *p, const char *kind, const struct spec_env *was, size_t n_was,
		   const struct spec_env *now, size_t n_now, unsigned what, struct err *e)
{
	for (size_t i = 0; i < n_was + n_now; i++) {
		const char *key = i < n_was ? was[i].key : now[i - n_was].key;
		AUTO_FREE char *field = xasprintf("%s.%s", kind, key);

		if (i >= n_was && find(was, n_was, key))
			continue;
		if (add_change(p, kind, field, find(was, n_was, key), find(now, n_now, key), true,
			       what, e) < 0)
			return -1;
	}
	return 0;
}

static int plan_commands(struct plan *p, const struct args *a, struct err *e)
{
	const struct strv *set = args_list(a, "env"), *rm = args_list(a, "env-rm");
	const struct strv *labels = args_list(a, "label"), *labels_rm = args_list(a, "label-rm");
	const struct spec *was = &p->record->spec;
	const char *workdir = args_str(a, "workdir");
	struct spec *s = &p->next;

	for (size_t i = 0; i < rm->n; i++)
		if (forget(s->env, &s->n_env, "--env-rm", rm->v[i], e) < 0)
			return -1;
	for (size_t i = 0; i < set->n; i++)
		if (spec_add_env(&s->env, &s->n_env, "--env", set->v[i], e) < 0)
			return -1;
	for (size_t i = 0; i < labels_rm->n; i++)
		if (forget(s->label, &s->n_labels, "--label-rm", labels_rm->v[i], e) < 0)
			return -1;
	for (size_t i = 0; i < labels->n; i++)
		if (spec_add_label(s, labels->v[i], e) < 0)
			return -1;
	if (workdir && workdir[0] != '/')
		return err_set(e, ERR_INVALID, "--workdir: '%s' is not an absolute path", workdir);
	if (workdir) {
		free(s->workdir);
		s->workdir = xstrdup(workdir);
	}
	if (compare(p, "env", was->env, was->n_env, s->env, s->n_env, UPDATE_COMMANDS, e) < 0 ||
	    compare(p, "labels", was->label, was->n_labels, s->label, s->n_labels, 0, e) < 0)
		return -1;
	return add_change(p, "runtime", "workdir", was->workdir, s->workdir, true, UPDATE_COMMANDS,
			  e);
}

/* New rules hold for new connections at once; an interface is made only by a start. */
static int plan_network(struct plan *p, const struct args *a, struct err *e)
{
	AUTO_FREE char *before = network_text(&p->record->spec);
	AUTO_FREE char *after = NULL;

	if (network_change(a, &p->next, e) < 0)
		return -1;
	after = network_text(&p->next);
	return add_change(p, "network", "network.policy", before, after,
			  p->record->spec.net_enabled, UPDATE_NETWORK, e);
}

static int copy_spec(const struct spec *from, struct spec *to, struct err *e)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	spec_write_json(from, &w);
	if (json_parse(buf_str(&b), b.n, &doc, e) < 0)
		return -1;
	return spec_read_json(json_root(doc), to, e);
}

static int make_plan(struct plan *p, const struct args *a, struct err *e)
{
	p->up = sandbox_is_up(p->record);
	p->next_start = args_has(a, "next-start");
	if (copy_spec(&p->record->spec, &p->next, e) < 0 || plan_resources(p, a, e) < 0)
		return -1;
	return plan_root_disk(p, a, e) < 0 || plan_commands(p, a, e) < 0 ? -1
									 : plan_network(p, a, e);
}

static bool needs_restart(const struct plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->change[i].disposition == NEEDS_RESTART)
			return true;
	return false;
}

/* --- showing it ------------------------------------------------------------------------------ */

static const char *change_word(const struct change *c)
{
	return !c->before ? "add" : !c->after ? "remove" : "change";
}

static int print_table(const struct plan *p)
{
	struct ui_table t;

	ui_table_init(&t, 5);
	ui_table_add(&t, "FIELD");
	ui_table_add(&t, "CHANGE");
	ui_table_add(&t, "BEFORE");
	ui_table_add(&t, "AFTER");
	ui_table_add(&t, "EFFECT");
	for (size_t i = 0; i < p->n; i++) {
		ui_table_add(&t, p->change[i].field);
		ui_table_add(&t, change_word(&p->change[i]));
		ui_table_add(&t, p->change[i].before);
		ui_table_add(&t, p->change[i].after);
		ui_table_add(&t, disposition_words[p->change[i].disposition]);
	}
	return ui_table_print(&t);
}

static int print_json(const struct plan *p, const struct args *a, bool applied)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 2);
	json_begin_object(&w);
	json_key_str(&w, "sandbox", p->record->spec.name);
	json_key_str(&w, "status", status_name(p->record->status));
	json_key_bool(&w, "applied", applied);
	json_key_str(&w, "policy",
		     args_has(a, "restart") ? "restart"
		     : p->next_start        ? "next_start"
					    : "live");
	json_key(&w, "changes");
	json_begin_array(&w);
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->change[i];

		json_begin_object(&w);
		json_key_str(&w, "kind", c->kind);
		json_key_str(&w, "field", c->field);
		json_key_str(&w, "change", change_word(c));
		json_key_str(&w, "before", c->before);
		json_key_str(&w, "after", c->after);
		json_key_str(&w, "disposition", disposition_words[c->disposition]);
		json_end_object(&w);
	}
	json_end_array(&w);
	json_key(&w, "conflicts");
	json_begin_array(&w);
	for (size_t i = 0; i < p->n && !args_has(a, "restart"); i++)
		if (p->change[i].disposition == NEEDS_RESTART)
			json_str(&w, p->change[i].field);
	json_end_array(&w);
	json_key(&w, "warnings");
	json_begin_array(&w);
	json_end_array(&w);
	json_key(&w, "resize_status");
	json_begin_array(&w);
	json_end_array(&w);
	json_end_object(&w);
	buf_add_char(&b, '\n');
	return ui_write_stdout(&b);
}

static int refuse(const struct plan *p, const struct args *a)
{
	AUTO_BUF text = BUF_INIT(65536);
	const char *name = p->record->spec.name;

	buf_addf(&text, "sandbox '%s' needs a restart for this", name);
	for (size_t i = 0; i < p->n; i++)
		if (p->change[i].disposition == NEEDS_RESTART)
			buf_addf(&text, "\n%s: %s to %s", p->change[i].field, p->change[i].before,
				 p->change[i].after);
	buf_addf(&text, "\nnow: %s modify %s … --restart\nlater: %s modify %s … --next-start",
		 a->program, name, a->program, name);
	return ui_errorf(ERR_BUSY, "%s", buf_str(&text));
}

/* --- doing it -------------------------------------------------------------------------------- */

static int apply(const struct plan *p, const struct args *a, const struct home *h, struct err *e)
{
	const char *name = p->record->spec.name;
	bool restart = args_has(a, "restart") && needs_restart(p);

	if (control_update(h, p->record, &p->next, restart ? 0 : p->live, e) < 0)
		return -1;
	if (!restart)
		return 0;
	return control_stop(h, name, CONTROL_GRACE_DEFAULT, e) < 0 ? -1
								   : start_one(h, name, false, e);
}

static int modify(struct plan *p, const struct args *a, const struct home *h, struct err *e)
{
	uint64_t begin = clock_mono_ns();
	bool json = args_has(a, "format"), dry = args_has(a, "dry-run");

	if (make_plan(p, a, e) < 0)
		return -1;
	if (dry) {
		if (!json && p->n == 0)
			ui_note("Nothing would change.");
		else if (!json)
			ui_note("Nothing was changed: this is what would be.");
		return json ? print_json(p, a, false) : p->n ? print_table(p) : 0;
	}
	if (needs_restart(p) && !args_has(a, "restart")) {
		if (json)
			IGNORE(print_json(p, a, false)); /* the error follows */
		return refuse(p, a);
	}
	if (p->n && apply(p, a, h, e) < 0)
		return -1;
	if (json)
		return print_json(p, a, true);
	if (p->n == 0)
		ui_note("Nothing to change.");
	else
		ui_done("Modified", p->record->spec.name, clock_mono_ns() - begin);
	return 0;
}

int cmd_modify(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_RECORD record = RECORD_NONE;
	struct plan p = { .record = &record };
	struct err e = { 0 };
	int status;

	if (home_open(&home, &e) < 0 || record_load(&home, a->word.v[0], &record, &e) < 0)
		return ui_error(&e);
	spec_init(&p.next);
	status = modify(&p, a, &home, &e);
	plan_done(&p);
	return status < 0 ? ui_error(&e) : status;
}
