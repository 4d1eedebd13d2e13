/* Option sets that several commands share, and macros that write rows of options. */
#pragma once

#include "cli/args.h"

// clang-format off
#define FLAG(l, n, h, ...)             { .name = n, .letter = l, .kind = OPT_FLAG, .help = h, __VA_ARGS__ }
#define VALUE(l, n, v, h, ...)         { .name = n, .letter = l, .kind = OPT_STR, .value = v, .help = h, __VA_ARGS__ }
#define LIST(l, n, v, h, ...)          { .name = n, .letter = l, .kind = OPT_LIST, .value = v, .help = h, __VA_ARGS__ }
#define NUMBER(l, n, v, lo, hi, h, ...) { .name = n, .letter = l, .kind = OPT_UINT, .value = v, .min = lo, .max = hi, .help = h, __VA_ARGS__ }
#define CPUS(l, n, h, ...)             { .name = n, .letter = l, .kind = OPT_CPUS, .value = "N", .max = SPEC_CPUS_MAX, .help = h, __VA_ARGS__ }
#define OPT_END                        { .name = NULL }
#define ENV_FILE                       LIST(0, "env-file", "FILE", "Set the variables of a file", \
	.more = "Each line is K=V, or K to copy the value from your environment if it has one. Empty lines and lines " \
		"that begin with '#' have no meaning. Nothing is quoted. --env overrides a file.")
#define NOT_YET                        .marks = OPT_UNSUPPORTED
// clang-format on

extern const char *const format_choices[]; /* json */

extern const struct opt quiet_opts[]; /* the form of `-q` that hides progress and warnings */
/* the form of `-q` that also hides the errors of single sandboxes */
extern const struct opt silent_opts[];
extern const struct opt names_only_opts[]; /* the form of `-q` that prints names only */
extern const struct opt format_opts[];     /* --format json */
extern const struct opt label_opts[];      /* `--label`, which chooses sandboxes */
extern const struct opt command_opts[];    /* how a command runs: --timeout, --rlimit */
extern const struct opt tty_opts[];        /* -t and --no-tty */

extern const struct opt create_opts[];
extern const struct opt resource_opts[];
extern const struct opt storage_opts[];
extern const struct opt mount_opts[];
extern const struct opt runtime_opts[];
extern const struct opt script_opts[];
extern const struct opt network_opts[];
extern const struct opt tls_opts[];
extern const struct opt conf_opts[];

/* The options of a new sandbox, in the order in which help shows them. */
#define CREATION_SETS                                                                    \
	{ NULL, create_opts }, { "Resources", resource_opts }, { "Mounts", mount_opts }, \
		{ "Root file system", storage_opts }, { "Runtime", runtime_opts },       \
		{ "Scripts", script_opts }, { "Network", network_opts },                 \
		{ "Secrets and TLS", tls_opts },                                         \
	{                                                                                \
		"Configuration files", conf_opts                                         \
	}

#define CREATION_CONFLICTS                                                                    \
	{ "oci-upper-size", "root-disk" }, { "net", "no-net" }, { "net", "net-default" },     \
		{ "network", "net" }, { "network", "no-net" }, { "network", "net-default" },  \
		{ "network", "net-default-egress" }, { "network", "net-default-ingress" },    \
		{ "net", "net-default-egress" }, { "net", "net-default-ingress" },            \
		{ "no-net", "net-default" }, { "no-net", "net-default-egress" },              \
		{ "no-net", "net-default-ingress" }, { "net-default", "net-default-egress" }, \
	{                                                                                     \
		"net-default", "net-default-ingress"                                          \
	}
#define CREATION_REQUIRES                                                   \
	{ "init-arg", "init" }, { "init-env", "init" },                     \
		{ "net-egress-bandwidth-burst", "net-egress-bandwidth" },   \
		{ "net-ingress-bandwidth-burst", "net-ingress-bandwidth" }, \
		{ "net-egress-ops-burst", "net-egress-ops" },               \
	{                                                                   \
		"net-ingress-ops-burst", "net-ingress-ops"                  \
	}
