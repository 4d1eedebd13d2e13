/*
 * Who we are to a registry. Asked in this order: what this one command was given, what `registry
 * login` stored, config.json, Docker's configuration (a login, or the helper it names), nobody.
 *
 * Logins are kept in HOME/secrets/registries.json, 0600 in a 0700 directory. Nothing here is ever
 * printed or logged, and memory that held a secret is wiped.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "registry/settings.h"

#define CREDENTIALS_MAX_BYTES (1u << 20)
#define CREDENTIAL_SECRET_MAX_BYTES (64u << 10) /* some clouds' passwords are long tokens */
#define CREDENTIAL_HELPER_SECONDS 30            /* a helper that asks nobody answers at once */

struct credentials {
	char *username; /* NULL: anonymous */
	char *password; /* a password, or with TOKEN what is exchanged for one */
	bool token;
	const char *source; /* "given", "login", "config", "docker"; NULL: anonymous */
};

MUST_USE int credentials_find(int home_fd, const struct settings *s, const char *host,
			      struct credentials *ret, struct err *e);
/* For one command: the password is in an environment variable. */
MUST_USE int credentials_given(const char *username, const char *variable, struct credentials *ret,
			       struct err *e);
void credentials_done(struct credentials *c);

MUST_USE int credentials_store(int home_fd, const char *host, const char *username,
			       const char *password, struct err *e);
/* *RET_KNOWN is false when there was nothing to forget. */
MUST_USE int credentials_forget(int home_fd, const char *host, bool *ret_known, struct err *e);

struct credential_line {
	char *host, *username;
	const char *source;
};
/* Every host we know a login for, by name. */
MUST_USE int credentials_list(int home_fd, const struct settings *s, struct credential_line **ret,
			      size_t *ret_n, struct err *e);
void credential_lines_free(struct credential_line *l, size_t n);
