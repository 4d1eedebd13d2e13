/*
 * The command line of cordon-image:
 *
 *   cordon-image COMMAND --home DIR [OPTION…] [--] [ARGUMENT…]
 *
 * All options are long, and the value of an option is the next word. Only `cordon` starts this
 * program, after `cordon` has checked the user's command line.
 *
 *   pull REF         --quiet --force --update --insecure --ca-certs FILE
 *                    --username USER --password-env VARIABLE
 *   flatten REF      --quiet                  (makes the flat form of an image in the store)
 *   own DIGEST       --owner UID:GID          (makes the layers with rotated owners, see own.c)
 *   load             --quiet --input FILE --tag REF…
 *   save REF…        --quiet --format docker|oci --output FILE
 *   list             --quiet --format json
 *   inspect REF      --format json
 *   remove REF…      --quiet --force
 *   prune            --quiet --yes --format json
 *                    --dangling               (keeps all images that have a reference)
 *   login HOST       --quiet --username USER --insecure --ca-certs FILE --no-check
 *                                             (reads the password from stdin)
 *   logout HOST      --quiet
 *   registries
 *
 * With --report-fd N, an error is written as {"code","error","hint"} to the descriptor N instead of
 * stderr. If the store has the image, `pull` asks no registry. With --update it asks the registry
 * and fetches what changed. With --force it also checks every blob again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define OPTIONS_TAGS_MAX 64 /* --tag options of one `load` */

struct options {
	const char *home;
	bool quiet, force, update, insecure, yes, no_check, dangling;
	const char *input, *output, *format, *ca_certs, *username, *password_env, *report_fd;
	const char *owner;
	const char *tag[OPTIONS_TAGS_MAX];
	size_t n_tags;
	/* the words that are no options; dispatch() removes the first, which is the command */
	const char **arg;
	size_t n_args;
};

/* *O must be zeroed. The strings in *O are borrowed from ARGV. */
MUST_USE int options_parse(int argc, char **argv, struct options *o, struct err *e);
void options_done(struct options *o);

/* Sets *RET to true if --format is `json`. Every other value of --format is an error. */
MUST_USE int options_want_json(const struct options *o, bool *ret, struct err *e);
MUST_USE int options_open_home(const struct options *o, int *ret_fd, struct err *e);
