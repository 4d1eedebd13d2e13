/*
 * The file config.json of an installation. This file has defaults for sandboxes, paths of the
 * installation's directories, settings of registries, and a few other settings.
 *
 * Every member is optional, and unknown members are ignored, so several versions of cordon can use
 * one file. A struct config owns its strings. 0, NULL and empty lists mean "not given".
 */
#pragma once

#include "spec/spec.h"

struct cidr; /* policy/addr.h */

#define CONFIG_HOST_ADDRESSES_MAX 64u /* must be the same limit as in gateway/config.h */

struct config_registry {
	char *host;
	bool insecure; /* use plain HTTP instead of TLS */
	char *username;
	char *password_env; /* the environment variable that holds the password */
	char *secret_name;  /* the file in the secrets directory that holds the password */
	char *store;        /* "keyring" if the user's key store has the password */
};

struct config {
	char *log_level;
	enum spec_engine engine; /* the variable CORDON_ENGINE overrides the file */
	bool shell_fallback;     /* the variable MSB_SHELL_FALLBACK=1 sets this member too */
	bool multi_tenant;

	/* from the section `sandbox_defaults` */
	uint32_t cpu_milli;
	uint64_t memory_mib;
	char *shell, *workdir, *thp, *cpu_placement, *placement_profile;
	/* for OCI images; the kind `managed` with size_mib 0 means "not given" */
	struct spec_root_disk root_disk;
	int64_t metrics_interval_ms; /* -1 if not given */
	bool metrics_disabled;

	/* from the section `paths`, made absolute */
	char *cache, *sandboxes, *volumes, *snapshots, *logs, *secrets;

	/* Addresses that lead to this machine although no interface has them, because a provider
	 * translates these addresses. */
	struct cidr *host_address;
	size_t n_host_addresses;

	char *ca_certs; /* PEM file with the certificates to trust for registries */
	struct config_registry *registry;
	size_t n_registries;
};

/* Reads the file that the variable MSB_CONFIG_PATH names. Without this variable, reads
 * HOME/config.json, which may be missing. Fails with ERR_INVALID for bad JSON and bad values; the
 * message names the file and the place. Always initialises *RET. */
MUST_USE int config_load(const char *home, struct config *ret, struct err *e);
/* Does the same as config_load() with the parsed document *V. Relative paths are below HOME. */
MUST_USE int config_read(const struct json_value *v, const char *home, struct config *ret,
			 struct err *e);
void config_done(struct config *c);
/* Puts the defaults into a new spec, before other configuration files and flags are applied. A
 * default limit is not a limit that the user set: if the host cannot enforce a default limit, the
 * start does not fail, but `inspect` shows that the limit is not enforced. */
void config_apply(const struct config *c, struct spec *s);
