/*
 * cordon shows a person what the project file grants, and asks whether to allow the file. But the
 * file may come from another person, or from a command in a sandbox, and may try to deceive the
 * person who reads the question. So:
 *
 *   - Every text of the file is cleaned of control characters, line feeds included.
 *   - If a line is longer than the terminal is wide, we break it and indent the rest. If the
 *     terminal broke the line, a long value could look like another line of the question.
 *   - Paths outside of the project come last, directly above the question, so that no long list can
 *     move them off the screen.
 *   - If a list is too long for a person to read, this is an error. A list is never cut.
 */
#include "cli/grants.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "base/str.h"
#include "spec/cpus.h"

/* about a thousand lines; no person reads more before they answer */
#define GRANTS_MAX_BYTES (64u << 10)
/* limit for the text after fold(), which adds a line feed and an indent at each break */
#define FOLDED_MAX_BYTES (4 * GRANTS_MAX_BYTES)
#define WIDTH_MIN 40u
#define WIDTH_DEFAULT 80u /* for a terminal that does not know its size */
#define OUTSIDE "  OUTSIDE THE PROJECT"
#define KEY_WIDTH 12
#define INDENT (2u + KEY_WIDTH)
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

/* Adds the path PATH of the host, and what the sandbox does with the path. If OUTSIDE is true,
 * skips paths in the project; otherwise skips paths outside of the project. */
static void add_source(struct buf *b, const struct project *p, bool outside, const char *key,
		       const char *path, const char *to, const char *how)
{
	if (path_is_within(path, p->dir) == outside)
		return;
	begin(b, key);
	buf_add_clean(b, path);
	if (to) {
		buf_add_str(b, " → ");
		buf_add_clean(b, to);
	}
	if (how)
		buf_addf(b, " (%s)", how);
	if (outside)
		say_add_coloured(b, YELLOW, OUTSIDE);
	buf_add_char(b, '\n');
}

/* Returns a text that says what the sandbox may do with the source of a mount. Two cases are
 * dangerous, so the text mentions them. With stat-virt=off, a command can give files of the mount
 * to any user of this machine. The kernel itself reads a disk image, and this image may come from
 * the same stranger as the project file. */
static const char *how_mounted(const struct spec_mount *m)
{
	if (m->kind == MOUNT_DISK)
		return m->readonly ? "disk image that the kernel reads"
				   : "disk image that the kernel reads, writable";
	if (m->readonly)
		return "read-only";
	return m->stat_virt == STAT_VIRT_OFF ? "writable; files there may get any owner, root too"
					     : "writable";
}

static void add_image(struct buf *b, const struct spec *s)
{
	const struct spec_image *i = &s->image;

	if (i->kind == IMAGE_HOST && i->reference)
		add_line(b, "image", "host (the programs of this machine)");
	else if (i->kind != IMAGE_DIR && i->kind != IMAGE_DISK)
		add_line(b, "image", i->reference ? i->reference : "(none)");
	for (size_t k = 0; k < s->n_mounts; k++) {
		const struct spec_mount *m = &s->mount[k];

		if (m->kind == MOUNT_NAMED) {
			AUTO_FREE char *text = xasprintf("named volume %s → %s (%s)", m->source,
							 m->guest, how_mounted(m));

			add_line(b, "volume", text);
		}
	}
}

/* Adds the paths of this machine that the sandbox gets. If OUTSIDE is true, adds the paths outside
 * of the project, otherwise the paths in the project. */
static void add_sources(struct buf *b, const struct project *p, const struct spec *s, bool outside)
{
	const struct spec_image *i = &s->image;

	for (size_t k = 1; k < p->n_files; k++)
		add_source(b, p, outside, "reads", p->file[k].path, NULL, NULL);
	if (i->kind == IMAGE_DIR)
		add_source(b, p, outside, "image", i->reference, NULL,
			   !spec_image_in_place(i) ? "copy-on-write"
			   : s->read_only          ? "read-only"
						   : "used in place, writable");
	else if (i->kind == IMAGE_DISK)
		add_source(b, p, outside, "image", i->reference, NULL,
			   "disk image that the kernel reads");
	if (i->root_disk.kind == ROOT_DISK_PATH)
		add_source(b, p, outside, "root disk", i->root_disk.path, NULL,
			   "disk image that the kernel reads, writable");
	for (size_t k = 0; k < s->n_patches; k++)
		if (s->patch[k].source)
			add_source(b, p, outside, "copy", s->patch[k].source, s->patch[k].path,
				   NULL);
	for (size_t k = 0; k < s->n_mounts; k++) {
		const struct spec_mount *m = &s->mount[k];

		if (m->kind != MOUNT_TMPFS && m->kind != MOUNT_NAMED)
			add_source(b, p, outside, "volume", m->source, m->guest, how_mounted(m));
	}
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
	if (x->no_rebind_protection)
		add_line(b, "resolver", "public names may lead to private addresses");
	if (x->trust_host_cas)
		add_line(b, "trusts", "the certificate authorities of this machine");
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

static void add_names(struct buf *b, const struct spec *s, const struct conf_extra *x)
{
	struct strv here = { 0 }, scripts = { 0 };

	for (size_t i = 0; i < s->n_env; i++)
		if (!has_word(&x->env_file_names, s->env[i].key))
			strv_add(&here, s->env[i].key);
	for (size_t i = 0; i < s->n_scripts; i++)
		strv_add(&scripts, s->script[i].name);
	add_words(b, "variables", &here);
	add_words(b, "from files", &x->env_file_names);
	add_words(b, "scripts", &scripts);
	add_words(b, "entrypoint", &s->entrypoint);
	add_words(b, "command", &s->cmd);
	if (s->user)
		add_line(b, "user", s->user);
	strv_done(&here);
	strv_done(&scripts);
}

/* Returns how many columns of a terminal the character at *AT takes at most, and moves *AT to the
 * next character. The values were cleaned, so an escape sequence can only be a colour of ours. */
static unsigned columns(const char **at)
{
	unsigned char c = (unsigned char)*(*at)++;

	if (c == '\033') {
		*at += strcspn(*at, "m");
		*at += **at == 'm';
		return 0;
	}
	while (((unsigned char)**at & 0xc0) == 0x80)
		(*at)++;
	return c < 0x80 ? 1 : 2;
}

/* Copies TEXT to OUT and breaks lines, so that each line has fewer than WIDTH columns. Breaks a
 * line after a blank in the second half of the line. If there is no such blank, breaks the line
 * anywhere. */
static void fold(const char *text, unsigned width, struct buf *out)
{
	unsigned column = 0, word_column = 0;
	size_t word = 0; /* where in OUT the last word begins */

	while (*text) {
		const char *from = text;
		unsigned wide = columns(&text);

		if (*from != '\n' && column + wide >= width) {
			size_t at = word_column > width / 2 ? word : out->n;
			AUTO_FREE char *tail = xstrdup(buf_str(out) + at);

			column = INDENT + (at == word ? column - word_column : 0);
			buf_cut(out, at);
			buf_add_char(out, '\n');
			buf_add_fill(out, ' ', INDENT);
			buf_add_str(out, tail);
			word_column = 0;
		}
		buf_add(out, from, (size_t)(text - from));
		column = *from == '\n' ? 0 : column + wide;
		if (*from == '\n' || *from == ' ') {
			word = out->n;
			word_column = column;
		}
	}
}

static unsigned width_of_terminal(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
		return WIDTH_DEFAULT;
	return w.ws_col < WIDTH_MIN ? WIDTH_MIN : w.ws_col;
}

int grants_show(const struct project *p, const struct spec *s, const struct conf_extra *x,
		struct err *e)
{
	AUTO_BUF b = BUF_INIT(GRANTS_MAX_BYTES), folded = BUF_INIT(FOLDED_MAX_BYTES);
	bool terminal = isatty(STDERR_FILENO) == 1;

	buf_add_clean(&b, p->file[0].path);
	buf_add_str(&b, " grants its sandboxes:\n");
	add_names(&b, s, x);
	add_limits(&b, s);
	add_network(&b, s, x);
	add_image(&b, s);
	add_sources(&b, p, s, false);
	if (p->above) {
		buf_add_str(&b, "Another project file further up is not used: ");
		buf_add_clean(&b, p->above);
		buf_add_char(&b, '\n');
	}
	add_sources(&b, p, s, true);
	if (terminal)
		fold(buf_str(&b), width_of_terminal(), &folded);
	if (buf_failed(&b) || buf_failed(&folded))
		return err_set(e, ERR_LIMIT,
			       "'%s' grants more than a person can read (more than %u KiB of text)",
			       p->file[0].path, GRANTS_MAX_BYTES >> 10);
	say_to_stderr(terminal ? &folded : &b);
	return 0;
}
