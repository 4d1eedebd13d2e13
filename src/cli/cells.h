/* How sandboxes look in tables and texts: the words several commands print for the same thing. */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "client/sandbox.h"
#include "spec/spec.h"

/* The image as its user named it; borrowed from the spec. */
const char *cell_image(const struct spec *s);
/* "512 MiB", "2 GiB" when it is whole. */
void cell_mib(struct buf *out, uint64_t mib);
/* Writes "512 MiB / 1 GiB": the size and the ceiling it may grow to. */
void cell_memory(struct buf *out, const struct spec *s);
/* Writes "0.5 / 2": the CPUs and their ceiling. */
void cell_cpus(struct buf *out, const struct spec *s);
/* Writes the command that the sandbox runs by itself, in double quotes, or "-". */
void cell_command(struct buf *out, const struct spec *s);
/* "127.0.0.1:8080->80/tcp" */
void cell_port(struct buf *out, const struct spec_port *p);
/* Writes an array of the published ports of the running sandbox. Where the user let us choose the
 * host's port, it shows the chosen one. */
void cells_write_ports(struct json_writer *w, const struct record *r);
/* What -q prints: one name per line, to stdout as say_output(). */
int cells_print_names(const struct record *r, size_t n);
