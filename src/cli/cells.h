/* Writes properties of a sandbox as text or JSON, in the same form for all commands. Most of the
 * texts are cells of tables. */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "client/sandbox.h"
#include "spec/spec.h"

#define CELL_IMAGE_MAX_BYTES (64u << 10) /* limit for ROOM of cell_image(); longer than any path */

/* Writes the image to ROOM as the user named it, and returns the text, which ROOM owns. */
const char *cell_image(struct buf *room, const struct spec *s);
/* Writes "512 MiB", or "2 GiB" for a whole number of GiB. */
void cell_mib(struct buf *out, uint64_t mib);
/* Writes "12 KiB", or, from 1 MiB on, the same as cell_mib(). Rounds up. */
void cell_bytes(struct buf *out, uint64_t bytes);
/* Writes "512 MiB / 1 GiB": the memory and the maximum to which it may grow. */
void cell_memory(struct buf *out, const struct spec *s);
/* Writes "0.5 / 2": the CPUs and their maximum. */
void cell_cpus(struct buf *out, const struct spec *s);
/* Writes the main command of the sandbox (entrypoint and cmd), in double quotes, or "-". */
void cell_command(struct buf *out, const struct spec *s);
/* Writes "127.0.0.1:8080->80/tcp". */
void cell_port(struct buf *out, const struct spec_port *p);
/* Writes an array with the words of the main command of the sandbox. The array is empty if the
 * sandbox has no main command. */
void cells_write_command(struct json_writer *w, const struct spec *s);
/* Writes an array of the published ports of the sandbox. The items are objects, or, if TEXTS is
 * true (for msb), the texts of cell_port(). If we chose a host port for the user, the array shows
 * the chosen port while the sandbox runs. */
void cells_write_ports(struct json_writer *w, const struct record *r, bool texts);
/* Prints what a command shows with `-q`: one name per line, on stdout. Returns what say_output()
 * returns. */
int cells_print_names(const struct record *r, size_t n);
