/* Writes the help texts and the tree of commands from the tables in cli/args.h. */
#pragma once

#include "base/buf.h"
#include "cli/args.h"

#define COMMAND_DEPTH_MAX 4 /* the longest path today, "cordon image prune", has three words */

/* The commands from the root down to one command: { root, image, prune }. */
struct command_path {
	const struct command *at[COMMAND_DEPTH_MAX];
	unsigned n;
};

static inline const struct command *command_path_end(const struct command_path *p)
{
	return p->at[p->n - 1];
}

/* Writes "cordon image prune": each command by its name, not by an alias. */
void help_add_path(struct buf *out, const char *program, const struct command_path *path);
/* Writes "cordon exec [OPTIONS] NAME [[--] COMMAND…]". */
void help_add_usage(struct buf *out, const char *program, const struct command_path *path);
/* Writes the text of `--help` if LONG_FORM is true, otherwise the shorter text of `-h`. */
void help_render(struct buf *out, const char *program, const struct command_path *path,
		 bool long_form);
void help_tree(struct buf *out, const char *program, const struct command_path *path);
