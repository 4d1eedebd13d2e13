#include "cli/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/network.h"
#include "spec/cpus.h"

#define MOUNT_TEXT_BYTES 8192u
#define PORTS_TEXT_BYTES (64u << 10) /* far more than the ports of one sandbox need */
#define VALUE_JSON_BYTES (1u << 20)  /* far more than a mount or the ports of a sandbox take */
#define CHANGES_MAX 4096u            /* far more than a person writes on one command line */

static const char *const kinds[] = {
	// clang-format off
	[CHANGE_CPUS]       = "resource",
	[CHANGE_MAX_CPUS]   = "resource",
	[CHANGE_MEMORY]     = "resource",
	[CHANGE_MAX_MEMORY] = "resource",
	[CHANGE_PIDS]       = "resource",
	[CHANGE_ROOT_DISK]  = "resource",
	[CHANGE_ENV]        = "env",
	[CHANGE_LABEL]      = "labels",
	[CHANGE_WORKDIR]    = "runtime",
	[CHANGE_NETWORK]    = "network",
	[CHANGE_VOLUME]     = "volumes",
	[CHANGE_PORT]       = "ports",
	// clang-format on
};

const char *change_kind(const struct change *c)
{
	return kinds[c->what];
}

const char *change_word(const struct change *c)
{
	return !c->before ? "add" : !c->after ? "remove" : "change";
}

void changes_done(struct changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].field);
		free(c->v[i].before);
		free(c->v[i].after);
		free(c->v[i].before_json);
		free(c->v[i].after_json);
	}
	free(c->v);
	*c = (struct changes){ 0 };
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static void write_value(struct json_writer *w, const char *text, const char *json)
{
	struct err ignored; /* parsing succeeds, because we have written this JSON */
	AUTO_JSON doc = NULL;

	if (json && json_parse(json, strlen(json), &doc, &ignored) == 0)
		json_value_copy(w, json_root(doc));
	else
		json_str(w, text);
}

void change_write_before(struct json_writer *w, const struct change *c, bool texts)
{
	write_value(w, c->before, texts ? NULL : c->before_json);
}

void change_write_after(struct json_writer *w, const struct change *c, bool texts)
{
	write_value(w, c->after, texts ? NULL : c->after_json);
}

static int put(struct changes *c, enum change_field what, const char *field, const char *before,
	       const char *after, struct err *e)
{
	if (c->n == CHANGES_MAX)
		return err_set(e, ERR_LIMIT, "more than %u changes", CHANGES_MAX);
	if (!c->v)
		c->v = xcalloc(CHANGES_MAX, sizeof(*c->v));
	c->v[c->n++] = (struct change){
		.what = what, .field = copy(field), .before = copy(before), .after = copy(after)
	};
	return 0;
}

/* If the last change in *C is a change of FIELD, sets its before_json, after_json and unit.
 * Otherwise FIELD has not changed, and this function does nothing. */
static void set_json(struct changes *c, const char *field, const char *before, const char *after,
		     const char *unit)
{
	struct change *last = c->n ? &c->v[c->n - 1] : NULL;

	if (!last || strcmp(last->field, field) != 0)
		return; /* nothing has changed */
	last->before_json = copy(before);
	last->after_json = copy(after);
	last->unit = unit;
}

static int add(struct changes *c, enum change_field what, const char *field, const char *before,
	       const char *after, struct err *e)
{
	if (before && after ? strcmp(before, after) == 0 : before == after)
		return 0;
	return put(c, what, field, before, after, e);
}

static int add_number(struct changes *c, enum change_field what, const char *field, uint64_t before,
		      uint64_t after, const char *unit, struct err *e)
{
	AUTO_FREE char *a = xasprintf("%llu", (unsigned long long)before);
	AUTO_FREE char *b = xasprintf("%llu", (unsigned long long)after);
	AUTO_FREE char *was = xasprintf("%s%s%s", a, unit ? " " : "", unit ? unit : "");
	AUTO_FREE char *now = xasprintf("%s%s%s", b, unit ? " " : "", unit ? unit : "");

	if (add(c, what, field, was, now, e) < 0)
		return -1;
	set_json(c, field, a, b, unit);
	return 0;
}

static int add_cpus(struct changes *c, enum change_field what, const char *field, uint32_t before,
		    uint32_t after, struct err *e)
{
	char a[CPUS_TEXT_BYTES], b[CPUS_TEXT_BYTES];

	if (add(c, what, field, cpus_text(before, a), cpus_text(after, b), e) < 0)
		return -1;
	set_json(c, field, a, b, NULL);
	return 0;
}

static const char *find(const struct spec_env *list, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].key, key) == 0)
			return list[i].value;
	return NULL;
}

/* Adds a change for each key whose value differs between the two lists. */
static int add_pairs(struct changes *c, enum change_field what, const struct spec_env *was,
		     size_t n_was, const struct spec_env *now, size_t n_now, struct err *e)
{
	for (size_t i = 0; i < n_was + n_now; i++) {
		const char *key = i < n_was ? was[i].key : now[i - n_was].key;
		AUTO_FREE char *field = xasprintf("%s.%s", kinds[what], key);

		if (i >= n_was && find(was, n_was, key))
			continue;
		if (add(c, what, field, find(was, n_was, key), find(now, n_now, key), e) < 0)
			return -1;
	}
	return 0;
}

static const struct spec_mount *mount_at(const struct spec *s, const char *guest)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (strcmp(s->mount[i].guest, guest) == 0)
			return &s->mount[i];
	return NULL;
}

static char *mount_text(const struct spec_mount *m)
{
	AUTO_BUF b = BUF_INIT(MOUNT_TEXT_BYTES);

	if (!m)
		return NULL;
	buf_add_str(&b, m->source ? m->source : "tmpfs");
	if (m->identity.known)
		buf_addf(&b, " (inode %llu)", (unsigned long long)m->identity.inode);
	buf_add_str(&b, m->readonly ? ", ro" : "");
	buf_add_str(&b, m->noexec ? ", noexec" : "");
	buf_add_str(&b, m->nosuid ? ", nosuid" : "");
	return xstrdup(buf_str(&b));
}

static char *mount_json(const struct spec_mount *m)
{
	AUTO_BUF b = BUF_INIT(VALUE_JSON_BYTES);
	struct json_writer w;

	if (!m)
		return NULL;
	json_writer_init(&w, &b, 0);
	mount_write_json(&w, m);
	return xstrdup(buf_str(&b));
}

/* A change adds a mount, or replaces the mount at the same target. If the user names a mount again,
 * this is a change even if the text is the same, because the path may lead to another object now,
 * or an option that the text does not show may differ. */
static int add_mounts(struct changes *c, const struct spec *was, const struct spec *now,
		      struct err *e)
{
	for (size_t i = 0; i < now->n_mounts; i++) {
		const struct spec_mount *m = &now->mount[i];
		AUTO_FREE char *field = xasprintf("%s.%s", kinds[CHANGE_VOLUME], m->guest);
		AUTO_FREE char *before = mount_text(mount_at(was, m->guest));
		AUTO_FREE char *after = mount_text(m);
		AUTO_FREE char *was_json = mount_json(mount_at(was, m->guest));
		AUTO_FREE char *now_json = mount_json(m);

		if ((m->origin || !before || strcmp(before, after) != 0) &&
		    put(c, CHANGE_VOLUME, field, before, after, e) < 0)
			return -1;
		set_json(c, field, was_json, now_json, NULL);
	}
	return 0;
}

/* Returns the host addresses at which the sandbox's port PORT is published, such as
 * "127.0.0.1:8080, 127.0.0.1:8081". Returns NULL if it is not published. */
static char *port_text(const struct spec *s, const struct spec_port *port)
{
	AUTO_BUF b = BUF_INIT(PORTS_TEXT_BYTES);

	for (size_t i = 0; i < s->n_ports; i++)
		if (s->port[i].guest_port == port->guest_port && s->port[i].udp == port->udp)
			buf_addf(&b, "%s%s:%u", b.n ? ", " : "", s->port[i].bind,
				 s->port[i].host_port);
	return b.n ? xstrdup(buf_str(&b)) : NULL;
}

static char *port_json(const struct spec *s, const struct spec_port *port)
{
	AUTO_BUF b = BUF_INIT(VALUE_JSON_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	json_begin_array(&w);
	for (size_t i = 0; i < s->n_ports; i++)
		if (s->port[i].guest_port == port->guest_port && s->port[i].udp == port->udp)
			port_write_json(&w, &s->port[i]);
	json_end_array(&w);
	return xstrdup(buf_str(&b));
}

static int add_ports(struct changes *c, const struct spec *was, const struct spec *now,
		     struct err *e)
{
	for (size_t i = 0; i < was->n_ports + now->n_ports; i++) {
		const struct spec_port *p =
			i < was->n_ports ? &was->port[i] : &now->port[i - was->n_ports];
		AUTO_FREE char *before = port_text(was, p);
		AUTO_FREE char *after = port_text(now, p);
		AUTO_FREE char *field = xasprintf("%s.%u/%s", kinds[CHANGE_PORT], p->guest_port,
						  p->udp ? "udp" : "tcp");

		AUTO_FREE char *was_json = port_json(was, p);
		AUTO_FREE char *now_json = port_json(now, p);

		if (i >= was->n_ports && before)
			continue; /* an earlier turn of the loop has handled this port of WAS */
		if (add(c, CHANGE_PORT, field, before, after, e) < 0)
			return -1;
		set_json(c, field, before ? was_json : NULL, after ? now_json : NULL, NULL);
	}
	return 0;
}

static int add_network(struct changes *c, const struct spec *was, const struct spec *now,
		       struct err *e)
{
	static const char field[] = "network.policy";
	AUTO_FREE char *before = network_text(was);
	AUTO_FREE char *after = network_text(now);
	AUTO_FREE char *was_json = network_json(was);
	AUTO_FREE char *now_json = network_json(now);

	if (add(c, CHANGE_NETWORK, field, before, after, e) < 0)
		return -1;
	set_json(c, field, was_json, now_json, NULL);
	return 0;
}

int changes_between(const struct spec *was, const struct spec *now, struct changes *ret,
		    struct err *e)
{
	struct changes *c = ret;

	*c = (struct changes){ 0 };
	if (add_cpus(c, CHANGE_CPUS, "cpus", was->cpu_milli, now->cpu_milli, e) == 0 &&
	    add_cpus(c, CHANGE_MAX_CPUS, "max_cpus", was->max_cpu_milli, now->max_cpu_milli, e) ==
		    0 &&
	    add_number(c, CHANGE_MEMORY, "memory", was->memory_mib, now->memory_mib, "MiB", e) ==
		    0 &&
	    add_number(c, CHANGE_MAX_MEMORY, "max_memory", was->max_memory_mib, now->max_memory_mib,
		       "MiB", e) == 0 &&
	    add_number(c, CHANGE_PIDS, "pids_limit", was->pids_limit, now->pids_limit, NULL, e) ==
		    0 &&
	    add_number(c, CHANGE_ROOT_DISK, "root_disk", spec_root_disk_mib(was),
		       spec_root_disk_mib(now), "MiB", e) == 0 &&
	    add_pairs(c, CHANGE_ENV, was->env, was->n_env, now->env, now->n_env, e) == 0 &&
	    add_pairs(c, CHANGE_LABEL, was->label, was->n_labels, now->label, now->n_labels, e) ==
		    0 &&
	    add(c, CHANGE_WORKDIR, "workdir", was->workdir, now->workdir, e) == 0 &&
	    add_network(c, was, now, e) == 0 && add_mounts(c, was, now, e) == 0 &&
	    add_ports(c, was, now, e) == 0)
		return 0;
	changes_done(c);
	return -1;
}
