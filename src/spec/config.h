/*
 * The installation's config.json: defaults of sandboxes, and paths of its directories.
 *
 * Every member is optional, and unknown members are ignored, so one file serves several versions. A
 * struct config owns its strings; 0, NULL and empty lists mean "not given".
 */
#pragma once

#include "spec/spec.h"

struct cidr; /* policy/addr.h */

#define CONFIG_HOST_ADDRESSES_MAX 64u /* the same limit as in gateway/config.h */

struct config_registry {
	char *host;
	bool insecure; /* plain HTTP, or TLS that is not verified */
	char *username;
	char *password_env; /* variable that holds the password */
	char *secret_name;  /* file below the secrets directory that holds the password */
	char *store;        /* "keyring" if the user's key store has the password */
};

struct config {
	char *log_level;
	enum spec_engine engine; /* CORDON_ENGINE overrides the file */
	bool shell_fallback;     /* MSB_SHELL_FALLBACK=1 also sets it */
	bool multi_tenant;

	/* sandbox_defaults */
	uint32_t cpu_milli;
	uint64_t memory_mib;
	char *shell, *workdir, *thp, *cpu_placement, *placement_profile;
	struct spec_root_disk
		root_disk; /* for OCI images; size_mib 0 with the kind managed means "not given" */
	int64_t metrics_interval_ms; /* -1 if not given */
	bool metrics_disabled;

	/* paths, absolute */
	char *cache, *sandboxes, *volumes, *snapshots, *logs, *secrets;

	/* addresses that a provider translates to this machine, though no interface has them */
	struct cidr *host_address;
	size_t n_host_addresses;

	char *ca_certs; /* PEM file for registries */
	struct config_registry *registry;
	size_t n_registries;
};

/* Reads the file that MSB_CONFIG_PATH names, else HOME/config.json, which may be missing. Fails with
 * ERR_INVALID for bad JSON and bad values; the message names the file and the place. Always
 * initialises RET. */
MUST_USE int config_load(const char *home, struct config *ret, struct err *e);
/* Does the same from a parsed document; relative paths are below HOME. */
MUST_USE int config_read(const struct json_value *v, const char *home, struct config *ret,
			 struct err *e);
void config_done(struct config *c);
/* Puts the defaults into a fresh spec, before configuration files and flags. A default is no explicit
 * request: if the host cannot enforce it, `inspect` shows that, and the start goes on. */
void config_apply(const struct config *c, struct spec *s);
/* Returns the entry for a registry's HOST[:PORT], or NULL. */
const struct config_registry *config_find_registry(const struct config *c, const char *host);
