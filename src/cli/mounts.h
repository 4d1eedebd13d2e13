/* Mounts from creation options and from `modify`. client/sources looks them up and checks them. */
#pragma once

#include "base/buf.h"
#include "cli/args.h"
#include "client/sandbox.h"
#include "spec/spec.h"

/* Adds the mounts of the options. */
MUST_USE int mounts_from_args(const struct args *a, struct spec *s, struct err *e);
/* Reads --identity, which 'install' writes into its scripts. It says which file or directory each
 * path of S must be. */
MUST_USE int mounts_expect(const struct args *a, struct spec *s, struct err *e);
/* Writes the value of --identity for PATH, which is canonical. */
void mounts_write_identity(const struct identity *id, const char *path, struct buf *out);
/* `modify --volume`: replaces the mounts with the same target, or adds new ones. */
MUST_USE int mounts_change(const struct args *a, const struct home *h, struct spec *s,
			   struct err *e);
