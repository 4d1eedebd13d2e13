/*
 * `modify` makes a plan first, and then does all of it or nothing.
 *
 * It builds the wanted configuration as a second spec. Every difference between the two specs is a
 * change. The disposition of a change says when it takes effect. The supervisor of a running
 * sandbox applies live changes at once. If a change needs a restart, `modify` refuses the plan,
 * unless one of two options is given: `--restart` restarts the sandbox at once, and `--next-start`
 * only writes the changes to the record for the next start.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "base/table.h"
#include "cli/cells.h"
#include "cli/changes.h"
#include "cli/commands.h"
#include "cli/mounts.h"
#include "cli/network.h"
#include "cli/start.h"
#include "client/owner.h"
#include "client/sandbox.h"
#include "client/stop.h"
#include "client/update.h"
#include "client/volumes.h"
#include "spec/cpus.h"
#include "spec/grammar.h"

#define OUTPUT_MAX_BYTES (16u << 20)

enum disposition { LIVE, NEEDS_RESTART, NEXT_START };

static const char *const disposition_words[] = {
	[LIVE] = "live", [NEEDS_RESTART] = "requires restart", [NEXT_START] = "next start"
};

struct plan {
	const struct record *record;
	struct spec next; /* configuration from the next start on */
	/* configuration until the next start; set only if the record has an active configuration
	 * and the plan changes it */
	struct spec active;
	/* if the plan restarts nothing, the record has an active configuration afterwards, too */
	bool has_active;
	struct changes changes;
	bool up, next_start;
};

static void plan_done(struct plan *p)
{
	changes_done(&p->changes);
	spec_done(&p->next);
	spec_done(&p->active);
}

/* Returns true if a control group enforces the limit. Only such a limit can change while the
 * sandbox runs. */
static bool is_group(const char *how)
{
	return starts_with(how, "cgroup");
}

/* --- the plan -------------------------------------------------------------------------------- */

static int change_resources(struct spec *s, const struct args *a, struct err *e)
{
	const char *v;

	if (args_has(a, "cpus")) {
		s->cpu_milli = (uint32_t)args_uint(a, "cpus", 0);
		s->cpus_set = true;
		if (s->max_cpu_milli < s->cpu_milli && !args_has(a, "max-cpus"))
			s->max_cpu_milli = s->cpu_milli;
	}
	if (args_has(a, "max-cpus"))
		s->max_cpu_milli = (uint32_t)args_uint(a, "max-cpus", 0);
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
	if (args_has(a, "pids-limit")) {
		s->pids_limit = args_uint(a, "pids-limit", 0);
		s->pids_set = true;
	}
	return spec_validate(s, e);
}

/* Refuses a number of CPUs that the next start would refuse. Before the first start nothing is
 * refused, because it is not known how CPUs are enforced. */
static int check_cpus(const struct record *r, const struct spec *to, const struct args *a,
		      struct err *e)
{
	const char *how = r->state.enforced.cpus;
	char text[CPUS_TEXT_BYTES];

	if (!args_has(a, "cpus") || cpus_are_whole(to->cpu_milli) || to->soft_limits || !*how ||
	    is_group(how))
		return 0;
	err_set(e, ERR_UNSUPPORTED, "--cpus %s: no control group holds the CPUs of '%s'",
		cpus_text(to->cpu_milli, text), r->spec.name);
	return err_hint(e, "ask for whole CPUs, which hold by affinity");
}

/* Changes the size of the writable layer. The way in which the size is enforced stays the same, so
 * a layer that was made without a size cannot get one. If the layer is a loop image, it can only
 * grow. */
static int change_root_disk(const struct record *r, const struct args *a, struct spec *to,
			    struct err *e)
{
	const char *flag = args_has(a, "root-disk") ? "--root-disk" : "--oci-upper-size";
	const char *v = args_str(a, flag + 2);
	const struct spec_root_disk *was = &r->spec.image.root_disk;
	const char *how = r->state.enforced.root_disk;
	AUTO_ROOT_DISK next = { 0 };

	if (!v)
		return 0;
	if (parse_root_disk(flag, v, &next, e) < 0)
		return -1;
	if (spec_image_in_place(&r->spec.image))
		return err_set(e, ERR_INVALID,
			       "%s: the directory image of '%s' is used in place and takes no root "
			       "disk",
			       flag, r->spec.name);
	if (next.kind == ROOT_DISK_MANAGED && was->kind == ROOT_DISK_FLAT)
		/* the user gave only a size, so the kind of the disk stays */
		next.kind = ROOT_DISK_FLAT;
	if (next.fstype || next.clone || next.on_disk)
		return err_set(e, ERR_UNSUPPORTED,
			       "%s: 'fstype=', 'clone=' and 'disk' are only for a new sandbox",
			       flag);
	if (next.kind != was->kind || was->kind == ROOT_DISK_PATH)
		return err_set(e, ERR_UNSUPPORTED,
			       "%s: the kind of an existing root disk cannot be changed", flag);
	/* older versions wrote "not enforced" for "watched" */
	if (strcmp(how, "watched") == 0 || strcmp(how, "not enforced") == 0) {
		err_set(e, ERR_UNSUPPORTED,
			"%s: the writable layer of '%s' was made without a size", flag,
			r->spec.name);
		return err_hint(e, "create the sandbox anew with --root-disk");
	}
	if (next.size_mib)
		to->image.root_disk.size_mib = next.size_mib;
	if (strcmp(how, "loop image") == 0 && spec_root_disk_mib(to) < spec_root_disk_mib(&r->spec))
		return err_set(e, ERR_UNSUPPORTED, "%s: a root disk cannot be made smaller", flag);
	to->image.root_disk.explicit = true;
	return 0;
}

static bool forget(struct spec_env *list, size_t *n, const char *key)
{
	for (size_t i = 0; i < *n; i++) {
		if (strcmp(list[i].key, key) != 0)
			continue;
		free(list[i].key);
		free(list[i].value);
		memmove(&list[i], &list[i + 1], (*n - i - 1) * sizeof(*list));
		(*n)--;
		return true;
	}
	return false;
}

static int change_pairs(struct spec *s, const struct args *a, bool must_be_set, struct err *e)
{
	const struct strv *set = args_list(a, "env"), *rm = args_list(a, "env-rm");
	const struct strv *labels = args_list(a, "label"), *labels_rm = args_list(a, "label-rm");

	for (size_t i = 0; i < rm->n; i++)
		if (!forget(s->env, &s->n_env, rm->v[i]) && must_be_set)
			return err_set(e, ERR_INVALID, "--env-rm: '%s' is not set", rm->v[i]);
	for (size_t i = 0; i < set->n; i++)
		if (spec_add_env(&s->env, &s->n_env, "--env", set->v[i], e) < 0)
			return -1;
	for (size_t i = 0; i < labels_rm->n; i++)
		if (!forget(s->label, &s->n_labels, labels_rm->v[i]) && must_be_set)
			return err_set(e, ERR_INVALID, "--label-rm: '%s' is not set",
				       labels_rm->v[i]);
	for (size_t i = 0; i < labels->n; i++)
		if (spec_add_label(s, labels->v[i], e) < 0)
			return -1;
	return 0;
}

/* Makes the spec TO from FROM and the options. If MUST_BE_SET is true, it is an error to remove
 * a setting that does not exist. */
static int change_spec(const struct home *h, const struct spec *from, const struct args *a,
		       bool must_be_set, struct spec *to, struct err *e)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	const char *workdir = args_str(a, "workdir");
	AUTO_JSON doc = NULL;
	struct json_writer w;
	bool fixed = false;

	json_writer_init(&w, &b, 0);
	spec_write_json(from, &w);
	if (json_parse(buf_str(&b), b.n, &doc, e) < 0 ||
	    spec_read_json(json_root(doc), to, e) < 0 || change_resources(to, a, e) < 0 ||
	    change_pairs(to, a, must_be_set, e) < 0 || mounts_change(a, h, to, e) < 0 ||
	    owner_follow(h, to, &fixed, e) < 0)
		return -1;
	if (fixed && args_has(a, "volume"))
		say_warn("shared files will belong to root inside, not to user '%s': only 'create' "
			 "can give them to another user",
			 to->user);
	if (workdir && workdir[0] != '/')
		return err_set(e, ERR_INVALID, "--workdir: '%s' is not an absolute path", workdir);
	if (workdir) {
		free(to->workdir);
		to->workdir = xstrdup(workdir);
	}
	return network_change(a, must_be_set, to, e);
}

/* Plans a change of the configuration for the next start. Earlier changes that wait for the next
 * start are kept. If the sandbox is up and `--next-start` is not given, also plans the same change
 * of the running configuration. */
static int make_plan(struct plan *p, const struct args *a, const struct home *h, struct err *e)
{
	const struct record *r = p->record;
	bool live;

	p->up = sandbox_is_up(r);
	p->next_start = args_has(a, "next-start");
	live = p->up && !p->next_start;
	p->has_active = p->up && (p->next_start || r->has_active);
	if (change_spec(h, &r->spec, a, !live || !r->has_active, &p->next, e) < 0 ||
	    change_root_disk(r, a, &p->next, e) < 0 || check_cpus(r, &p->next, a, e) < 0)
		return -1;
	if (live && r->has_active)
		return change_spec(h, &r->active, a, true, &p->active, e) < 0
			       ? -1
			       : changes_between(&r->active, &p->active, &p->changes, e);
	return changes_between(&r->spec, &p->next, &p->changes, e);
}

/* Returns when C takes effect. New network rules apply to new connections at once. A network
 * interface can be made only at a start. */
static enum disposition disposition(const struct plan *p, const struct change *c)
{
	const struct spec *was = record_in_force(p->record);
	const struct spec *now = p->record->has_active ? &p->active : &p->next;
	const struct enforcement *how = &p->record->state.enforced;
	bool can = true;

	if (!p->up || p->next_start)
		return NEXT_START;
	switch (c->what) {
	case CHANGE_CPUS:
		can = now->cpu_milli <= was->max_cpu_milli && is_group(how->cpus);
		break;
	case CHANGE_MEMORY:
		can = now->memory_mib <= was->max_memory_mib && is_group(how->memory);
		break;
	case CHANGE_PIDS:
		can = is_group(how->pids);
		break;
	case CHANGE_MAX_CPUS:
	case CHANGE_MAX_MEMORY:
	case CHANGE_ROOT_DISK:
	case CHANGE_VOLUME:
	case CHANGE_PORT:
		can = false;
		break;
	case CHANGE_NETWORK:
		can = was->net_enabled;
		break;
	case CHANGE_ENV:
	case CHANGE_WORKDIR:
	case CHANGE_LABEL:
		break;
	}
	return can ? LIVE : NEEDS_RESTART;
}

/* Returns the UPDATE_… bits of all live changes: what the supervisor of the running sandbox must
 * update. */
static unsigned live_parts(const struct plan *p)
{
	static const unsigned parts[] = {
		[CHANGE_CPUS] = UPDATE_CPUS,       [CHANGE_MEMORY] = UPDATE_MEMORY,
		[CHANGE_ENV] = UPDATE_COMMANDS,    [CHANGE_WORKDIR] = UPDATE_COMMANDS,
		[CHANGE_NETWORK] = UPDATE_NETWORK, [CHANGE_PIDS] = UPDATE_PIDS,
	};
	unsigned live = 0;

	for (size_t i = 0; i < p->changes.n; i++)
		if (disposition(p, &p->changes.v[i]) == LIVE)
			live |= parts[p->changes.v[i].what];
	return live;
}

static bool needs_restart(const struct plan *p)
{
	for (size_t i = 0; i < p->changes.n; i++)
		if (disposition(p, &p->changes.v[i]) == NEEDS_RESTART)
			return true;
	return false;
}

/* --- showing the plan ------------------------------------------------------------------------ */

static int print_table(const struct plan *p)
{
	struct table t;

	TABLE_BEGIN(&t, "FIELD", "CHANGE", "BEFORE", "AFTER", "EFFECT");
	for (size_t i = 0; i < p->changes.n; i++) {
		const struct change *c = &p->changes.v[i];

		TABLE_ROW(&t, c->field, change_word(c), c->before, c->after,
			  disposition_words[disposition(p, c)]);
	}
	return table_print(&t);
}

static int print_json(const struct plan *p, const struct args *a, bool applied)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	bool msb = args_as_msb(a);
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
	for (size_t i = 0; i < p->changes.n; i++) {
		const struct change *c = &p->changes.v[i];

		json_begin_object(&w);
		json_key_str(&w, "kind", change_kind(c));
		json_key_str(&w, "field", c->field);
		json_key_str(&w, "change", change_word(c));
		json_key(&w, "before");
		change_write_before(&w, c, msb);
		json_key(&w, "after");
		change_write_after(&w, c, msb);
		if (!msb)
			json_key_str(&w, "unit", c->unit);
		json_key_str(&w, "disposition", disposition_words[disposition(p, c)]);
		json_end_object(&w);
	}
	json_end_array(&w);
	json_key(&w, "conflicts");
	json_begin_array(&w);
	for (size_t i = 0; i < p->changes.n && !args_has(a, "restart"); i++)
		if (disposition(p, &p->changes.v[i]) == NEEDS_RESTART)
			json_str(&w, p->changes.v[i].field);
	json_end_array(&w);
	json_key(&w, "warnings");
	json_begin_array(&w);
	json_end_array(&w);
	json_key(&w, "resize_status");
	json_begin_array(&w);
	json_end_array(&w);
	json_end_object(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

static int refuse(const struct plan *p, const struct args *a)
{
	AUTO_BUF text = BUF_INIT(65536);
	const char *name = p->record->spec.name;

	buf_addf(&text, "sandbox '%s' needs a restart for this", name);
	for (size_t i = 0; i < p->changes.n; i++)
		if (disposition(p, &p->changes.v[i]) == NEEDS_RESTART)
			buf_addf(&text, "\n%s: %s to %s", p->changes.v[i].field,
				 p->changes.v[i].before ? p->changes.v[i].before : "nothing",
				 p->changes.v[i].after);
	buf_addf(&text, "\nnow: %s modify %s … --restart\nlater: %s modify %s … --next-start",
		 a->program, name, a->program, name);
	return say_errorf(ERR_BUSY, "%s", buf_str(&text));
}

/* --- doing the plan -------------------------------------------------------------------------- */

/* Removes the volumes that a failed change has made. */
static void remove_volumes(const struct home *h, const struct strv *made)
{
	struct err ignored;

	for (size_t i = 0; i < made->n; i++)
		IGNORE(volumes_remove(h, made->v[i],
				      &ignored)); /* if this fails, only an empty volume is left */
}

static int apply(const struct plan *p, const struct args *a, const struct home *h, struct err *e)
{
	const char *name = p->record->spec.name;
	bool restart = args_has(a, "restart") && needs_restart(p);
	const struct spec *active = NULL;
	struct strv made = { 0 };
	AUTO_FD volumes = -1; /* a lock that is held until the record names the volumes */
	int r;

	if (p->has_active && !restart)
		active = p->record->has_active && !p->next_start ? &p->active
								 : record_in_force(p->record);
	r = args_has(a, "volume") ? volumes_prepare(h, &p->next, &volumes, &made, e) : 0;
	if (r == 0)
		r = sandbox_update(h, p->record, &p->next, active, restart ? 0 : live_parts(p), e);
	fd_closep(&volumes);
	if (r < 0)
		remove_volumes(h, &made);
	strv_done(&made);
	if (r < 0 || !restart)
		return r;
	return sandbox_stop(h, name, STOP_GRACE_DEFAULT, e) < 0 ? -1 : start_one(h, name, e);
}

static int modify(struct plan *p, const struct args *a, const struct home *h, struct err *e)
{
	uint64_t begin = clock_mono_ns();
	bool json = args_has(a, "format"), dry = args_has(a, "dry-run");

	if (make_plan(p, a, h, e) < 0)
		return -1;
	if (dry) {
		if (!json && p->changes.n == 0)
			say_note("Nothing would change.");
		else if (!json)
			say_note("Nothing was changed: this is only the plan.");
		return json ? print_json(p, a, false) : p->changes.n ? print_table(p) : 0;
	}
	if (needs_restart(p) && !args_has(a, "restart")) {
		if (json)
			IGNORE(print_json(p, a, false)); /* refuse() prints the error */
		return refuse(p, a);
	}
	if (p->changes.n && apply(p, a, h, e) < 0)
		return -1;
	if (json)
		return print_json(p, a, true);
	if (p->changes.n == 0)
		say_note("Nothing to change.");
	else
		say_done("Modified", p->record->spec.name, clock_mono_ns() - begin);
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
		return say_error(&e);
	spec_init(&p.next);
	spec_init(&p.active);
	status = modify(&p, a, &home, &e);
	plan_done(&p);
	return status < 0 ? say_error(&e) : status;
}
