#include "cli/cells.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "spec/cpus.h"
#include "spec/grammar.h"

#define PORT_MAX_BYTES 128          /* enough for the longest address and two ports */
#define NAMES_MAX_BYTES (64u << 20) /* enough for half a million names of sandboxes */

const char *cell_image(struct buf *room, const struct spec *s)
{
	AUTO_FREE char *word = image_word(&s->image);

	buf_clear(room);
	buf_add_str(room, word);
	return buf_str(room);
}

void cell_mib(struct buf *out, uint64_t mib)
{
	if (mib >= 1024 && mib % 1024 == 0)
		buf_addf(out, "%llu GiB", (unsigned long long)(mib / 1024));
	else
		buf_addf(out, "%llu MiB", (unsigned long long)mib);
}

void cell_bytes(struct buf *out, uint64_t bytes)
{
	uint64_t mib = 1ull << 20;

	if (bytes < mib)
		buf_addf(out, "%llu KiB", (unsigned long long)((bytes + 1023) / 1024));
	else
		cell_mib(out, (bytes + mib - 1) / mib);
}

void cell_memory(struct buf *out, const struct spec *s)
{
	cell_mib(out, s->memory_mib);
	buf_add_str(out, " / ");
	cell_mib(out, s->max_memory_mib);
}

void cell_cpus(struct buf *out, const struct spec *s)
{
	char text[CPUS_TEXT_BYTES];

	buf_add_str(out, cpus_text(s->cpu_milli, text));
	buf_addf(out, " / %s", cpus_text(s->max_cpu_milli, text));
}

static void add_words(struct buf *out, const struct strv *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (out->n > 1) /* OUT already holds a word behind the opening quote */
			buf_add_char(out, ' ');
		buf_add_str(out, l->v[i]);
	}
}

void cell_command(struct buf *out, const struct spec *s)
{
	if (s->entrypoint.n + s->cmd.n == 0) {
		buf_add_char(out, '-');
		return;
	}
	buf_add_char(out, '"');
	add_words(out, &s->entrypoint);
	add_words(out, &s->cmd);
	buf_add_char(out, '"');
}

void cell_port(struct buf *out, const struct spec_port *p)
{
	bool v6 = strchr(p->bind, ':') != NULL;

	buf_addf(out, "%s%s%s:%u->%u/%s", v6 ? "[" : "", p->bind, v6 ? "]" : "", p->host_port,
		 p->guest_port, p->udp ? "udp" : "tcp");
}

void cells_write_command(struct json_writer *w, const struct spec *s)
{
	json_begin_array(w);
	for (size_t i = 0; i < s->entrypoint.n; i++)
		json_str(w, s->entrypoint.v[i]);
	for (size_t i = 0; i < s->cmd.n; i++)
		json_str(w, s->cmd.v[i]);
	json_end_array(w);
}

static void write_port_text(struct json_writer *w, const struct spec_port *p)
{
	AUTO_BUF cell = BUF_INIT(PORT_MAX_BYTES);

	cell_port(&cell, p);
	json_str(w, buf_str(&cell));
}

void cells_write_ports(struct json_writer *w, const struct record *r, bool texts)
{
	const struct spec *s = record_in_force(r);

	json_begin_array(w);
	for (size_t i = 0; i < s->n_ports; i++) {
		struct spec_port port = record_port(r, i);

		if (texts)
			write_port_text(w, &port);
		else
			port_write_json(w, &port);
	}
	json_end_array(w);
}

int cells_print_names(const struct record *r, size_t n)
{
	AUTO_BUF b = BUF_INIT(NAMES_MAX_BYTES);

	for (size_t i = 0; i < n; i++)
		buf_addf(&b, "%s\n", r[i].spec.name);
	return say_output(&b);
}
