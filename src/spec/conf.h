/*
 * Configuration files: the files of --conf, and the files of --net-conf and similar options, which
 * hold only one part of the configuration.
 *
 * Files are read in the order of the command line. Maps of a later file are merged into the maps of
 * earlier files; lists and scalars replace earlier values. Each file is checked when it is read, so
 * that a message names the file. Relative paths in a file start at the directory of the file.
 * ${NAME} is replaced by the value of the environment variable NAME. The merged files are applied
 * to a spec before the flags, because flags override files.
 *
 * A project file (cordon.yaml) may have the keys of a --conf file, and also the key `env_file`. In
 * a project file ${NAME} is not replaced, because a project file must not read the variables of the
 * person who uses it.
 */
#pragma once

#include "spec/spec.h"

#define CONF_MAX_BYTES (4u << 20) /* limit for all files together, after ${NAME} is replaced */

enum conf_scope {
	CONF_ROOT,     /* --conf */
	CONF_NET,      /* --net-conf: the contents of `network` */
	CONF_RESOURCE, /* --resource-conf */
	CONF_RUNTIME,  /* --runtime-conf */
	CONF_FS,       /* --fs-conf */
	CONF_SECRET,   /* --secret-conf: the contents of `secrets` */
	CONF_SCRIPT,   /* --script-conf: the contents of `scripts` */
	CONF_PROJECT,  /* cordon.yaml */
};

/* `load` turns the YAML file PATH into JSON. The calling code provides this function, because the
 * program cordon-yaml does the work, and code in spec/ starts no programs. Errors name the file. */
struct conf_loader {
	int (*load)(void *arg, const char *path, struct json_doc **ret, struct err *e);
	/* `text` appends the contents of the env_file PATH to OUT. `text` may be NULL if no file is
	 * a project file. */
	int (*text)(void *arg, const char *path, struct buf *out, struct err *e);
	void *arg;
};

struct conf {
	struct json_doc *sum; /* the merged files; NULL before the first file */
};

void conf_done(struct conf *c);
MUST_USE int conf_add(struct conf *c, enum conf_scope scope, const char *path,
		      const struct conf_loader *l, struct err *e);

/* Settings in configuration files for which a struct spec has no member. */
struct conf_extra {
	char *registry_username, *registry_password_env;
	char *net; /* value for --net: "none", "public" or "all"; NULL if not given */
	/* outgoing traffic is denied unless a rule allows it, whatever `net` is */
	bool net_allow_list;
	struct strv net_rules; /* rules in the syntax of --net-rule; rules that deny come first */
	struct strv nameservers;
	struct strv env_file_names; /* the names of the variables that came from env_file */
	uint64_t query_timeout_ms;  /* 0 if not given */
	bool no_rebind_protection;
	bool trust_host_cas;
};
void conf_extra_done(struct conf_extra *x);

/* Applies the merged files to *S and *X. *X must be zeroed. SHELL is the value of --shell, or NULL.
 * As with --script, the shebang of scripts is made from SHELL. */
MUST_USE int conf_apply(const struct conf *c, const char *shell, struct spec *s,
			struct conf_extra *x, struct err *e);
