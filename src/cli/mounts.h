/* Reads mounts from the options of `create`, `run` and `modify`. client/sources.h looks up and
 * checks the paths of the host. */
#pragma once

#include "base/buf.h"
#include "cli/args.h"
#include "client/sandbox.h"
#include "spec/spec.h"

/* Adds the mounts that the options name to S. */
MUST_USE int mounts_from_args(const struct args *a, struct spec *s, struct err *e);
/* Reads the option `--identity`, which `install` writes into the scripts that it makes. For each
 * host path of S, the option holds the identity of the file or directory that `install` saw there.
 * The start later fails if the path leads to another file or directory. */
MUST_USE int mounts_expect(const struct args *a, struct spec *s, struct err *e);
/* Writes the value of the option `--identity` for PATH, which is canonical. */
void mounts_write_identity(const struct identity *id, const char *path, struct buf *out);
/* Does `modify --volume`: each new mount replaces the mount with the same target, if there is
 * one. */
MUST_USE int mounts_change(const struct args *a, const struct home *h, struct spec *s,
			   struct err *e);
