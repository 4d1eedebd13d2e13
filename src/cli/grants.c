/*
 * The file may come from somebody else, or from a command in a sandbox. Every text of it is therefore cleaned of
 * control characters, line feeds included: no value can look like another line of the question.
 */
#include "cli/grants.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "base/str.h"
#include "spec/cpus.h"

#define GRANTS_MAX_BYTES (8u << 20) /* every byte of the file, written as \xNN */
#define OUTSIDE "  OUTSIDE THE PROJECT"
#define KEY_WIDTH 12
#define YELLOW "1;33"

static void begin(struct buf *b, const char *key)
{
	buf_addf(b, "  %-*s", KEY_WIDTH, key);
}

static void add_line(struct buf *b, const char *key, const char *value)
{
	begin(b, key);
	buf_add_clean(b, value);
	buf_add_char(b, '\n');
}

static void add_words(struct buf *b, const char *key, const struct strv *words)
{
	if (!words->n)
		return;
	begin(b, key);
	for (size_t i = 0; i < words->n; i++) {
		buf_add_str(b, i ? " " : "");
		buf_add_clean(b, words->v[i]);
	}
	buf_add_char(b, '\n');
}

/* Adds PATH of the host, what becomes of it, and whether it lies outside the project. */
static void add_source(struct buf *b, const struct project *p, const char *key, const char *path,
		       const char *to, const char *how)
{
	begin(b, key);
	buf_add_clean(b, path);
	if (to) {
		buf_add_str(b, " → ");
		buf_add_clean(b, to);
	}
	if (how)
		buf_addf(b, " (%s)", how);
	if (!path_is_within(path, p->dir))
		say_add_coloured(b, YELLOW, OUTSIDE);
	buf_add_char(b, '\n');
}

static void add_image(struct buf *b, const struct project *p, const struct spec *s)
{
	const struct spec_image *i = &s->image;

	if (i->kind == IMAGE_DIR)
		add_source(b, p, "image", i->reference, NULL,
			   s->read_only ? "read-only" : "used in place, writable");
	else if (i->kind == IMAGE_DISK)
		add_source(b, p, "image", i->reference, NULL, NULL);
	else if (i->kind == IMAGE_HOST && i->reference)
		add_line(b, "image", "host (the programs of this machine)");
	else
		add_line(b, "image", i->reference ? i->reference : "(none)");
	if (i->root_disk.kind == ROOT_DISK_PATH)
		add_source(b, p, "root disk", i->root_disk.path, NULL, "writable");
}

static void add_volumes(struct buf *b, const struct project *p, const struct spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++) {
		const struct spec_mount *m = &s->mount[i];
		const char *how = m->readonly ? "read-only" : "writable";

		if (m->kind == MOUNT_TMPFS)
			continue;
		if (m->kind != MOUNT_NAMED) {
			add_source(b, p, "volume", m->source, m->guest, how);
		} else {
			AUTO_FREE char *text =
				xasprintf("named volume %s → %s (%s)", m->source, m->guest, how);

			add_line(b, "volume", text);
		}
	}
	for (size_t i = 0; i < s->n_patches; i++)
		if (s->patch[i].source)
			add_source(b, p, "copy", s->patch[i].source, s->patch[i].path, NULL);
}

static void add_network(struct buf *b, const struct spec *s, const struct conf_extra *x)
{
	bool none = x->net && strcmp(x->net, "none") == 0;
	bool all = x->net && strcmp(x->net, "all") == 0;

	if (x->net_allow_list)
		add_line(b, "network", "only what a rule allows");
	else if (none)
		add_line(b, "network", "none");
	else if (all)
		add_line(b, "network", "everything, this machine and its network too");
	else
		add_line(b, "network", "public addresses; not this machine or its network");
	add_words(b, "rules", &x->net_rules);
	add_words(b, "resolvers", &x->nameservers);
	for (size_t i = 0; i < s->n_ports; i++) {
		const struct spec_port *port = &s->port[i];
		AUTO_FREE char *text = xasprintf("%s:%u → %u%s", port->bind, port->host_port,
						 port->guest_port, port->udp ? "/udp" : "");

		add_line(b, "port", text);
	}
	if (x->registry_password_env) {
		AUTO_FREE char *text = xasprintf("log in as %s with the password in your %s",
						 x->registry_username, x->registry_password_env);

		add_line(b, "registry", text);
	}
}

static void add_limits(struct buf *b, const struct spec *s)
{
	char cpus[CPUS_TEXT_BYTES];
	AUTO_FREE char *text = xasprintf(
		"%s CPUs, %llu MiB of memory, %llu processes%s", cpus_text(s->cpu_milli, cpus),
		(unsigned long long)s->memory_mib, (unsigned long long)s->pids_limit,
		s->soft_limits ? ", not enforced where that is impossible" : "");

	add_line(b, "limits", text);
	if (s->own_filters)
		add_line(b, "filters", "commands may install system call filters");
}

static bool has_word(const struct strv *l, const char *word)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], word) == 0)
			return true;
	return false;
}

static void add_names(struct buf *b, const struct project *p, const struct spec *s,
		      const struct conf_extra *x)
{
	struct strv here = { 0 }, scripts = { 0 };

	for (size_t i = 0; i < s->n_env; i++)
		if (!has_word(&x->env_file_names, s->env[i].key))
			strv_add(&here, s->env[i].key);
	for (size_t i = 0; i < s->n_scripts; i++)
		strv_add(&scripts, s->script[i].name);
	add_words(b, "variables", &here);
	add_words(b, "from files", &x->env_file_names);
	for (size_t i = 1; i < p->n_files; i++)
		add_source(b, p, "reads", p->file[i].path, NULL, NULL);
	add_words(b, "scripts", &scripts);
	add_words(b, "entrypoint", &s->entrypoint);
	add_words(b, "command", &s->cmd);
	if (s->user)
		add_line(b, "user", s->user);
	strv_done(&here);
	strv_done(&scripts);
}

void grants_show(const struct project *p, const struct spec *s, const struct conf_extra *x)
{
	AUTO_BUF b = BUF_INIT(GRANTS_MAX_BYTES);

	buf_add_clean(&b, p->file[0].path);
	buf_add_str(&b, " grants its sandboxes:\n");
	add_image(&b, p, s);
	add_volumes(&b, p, s);
	add_network(&b, s, x);
	add_limits(&b, s);
	add_names(&b, p, s, x);
	if (p->above) {
		buf_add_str(&b, "Another project file further up is not used: ");
		buf_add_clean(&b, p->above);
		buf_add_char(&b, '\n');
	}
	say_to_stderr(&b);
}
