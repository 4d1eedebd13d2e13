/*
 * The files of --conf, and scoped files (--net-conf and so on), which hold one part of the configuration.
 *
 * Files are read in the order of the command line. Maps of a later file are merged into the maps of earlier files;
 * lists and scalars replace earlier values. Each file is checked when it is read, so that a message names the file.
 * Relative paths in a file start at its directory, and ${NAME} is replaced from the environment. The merged files are
 * applied to a spec before flags, because flags override files.
 *
 * A project file (cordon.yaml) has the keys of --conf, and `env_file`. ${NAME} stays as it is: a project file must not
 * read the variables of the person who uses it.
 */
#pragma once

#include "spec/spec.h"

#define CONF_MAX_BYTES (4u << 20) /* all files together, after expansion */

enum conf_scope {
	CONF_ROOT,     /* --conf */
	CONF_NET,      /* --net-conf: the inside of `network` */
	CONF_RESOURCE, /* --resource-conf */
	CONF_RUNTIME,  /* --runtime-conf */
	CONF_FS,       /* --fs-conf */
	CONF_SECRET,   /* --secret-conf: the inside of `secrets` */
	CONF_SCRIPT,   /* --script-conf: the inside of `scripts` */
	CONF_PROJECT,  /* cordon.yaml */
};

/* Turns the YAML file PATH into JSON. The caller gives this function, because the program
 * cordon-yaml does the work and spec/ starts no programs. Errors name the file. */
struct conf_loader {
	int (*load)(void *arg, const char *path, struct json_doc **ret, struct err *e);
	/* Appends the contents of PATH, an env_file, to OUT. May be NULL if no file is a project file. */
	int (*text)(void *arg, const char *path, struct buf *out, struct err *e);
	void *arg;
};

struct conf {
	struct json_doc *sum; /* the merged files; NULL before the first file */
};

void conf_done(struct conf *c);
MUST_USE int conf_add(struct conf *c, enum conf_scope scope, const char *path,
		      const struct conf_loader *l, struct err *e);

/* Settings in configuration files that no spec has. */
struct conf_extra {
	char *registry_username, *registry_password_env;
	char *net;             /* value for --net: "none", "public" or "all"; NULL if not given */
	bool net_allow_list;   /* egress is denied unless a rule allows it, whatever `net` is */
	struct strv net_rules; /* rules in the syntax of --net-rule, denials first */
	struct strv nameservers;
	struct strv env_file_names; /* the variables that came from env_file */
	uint64_t query_timeout_ms;  /* 0 if not given */
	bool no_rebind_protection;
	bool trust_host_cas;
};
void conf_extra_done(struct conf_extra *x);

/* Applies the merged files to S and X; X must be zeroed. SHELL is the value of --shell, or NULL;
 * scripts get their shebang from it, as with --script. */
MUST_USE int conf_apply(const struct conf *c, const char *shell, struct spec *s,
			struct conf_extra *x, struct err *e);
