/*
 * The user name and password that we send to a registry. The first of these sources that has a
 * login for the host is used: the options of this command, the login that `registry login` stored,
 * config.json, Docker's configuration (its stored login or its credential helper). Without a login,
 * requests are anonymous.
 *
 * Logins are kept in HOME/secrets/registries.json, 0600 in a 0700 directory. No function here
 * prints or logs a secret, and memory that held a secret is wiped.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "registry/settings.h"

#define CREDENTIALS_MAX_BYTES (1u << 20)
#define CREDENTIAL_SECRET_MAX_BYTES (64u << 10) /* some clouds' passwords are long tokens */
#define CREDENTIAL_HELPER_SECONDS 30 /* a helper answers at once unless it asks the user */

struct credentials {
	char *username; /* NULL for anonymous requests */
	/* a password, or (if TOKEN is set) an identity token for the token server */
	char *password;
	bool token;
	const char *source; /* "given", "login", "config", "docker", or NULL */
};

MUST_USE int credentials_find(int home_fd, const struct settings *s, const char *host,
			      struct credentials *ret, struct err *e);
/* Takes the login from the command's options. The environment variable VARIABLE holds the
 * password. */
MUST_USE int credentials_given(const char *username, const char *variable, struct credentials *ret,
			       struct err *e);
void credentials_done(struct credentials *c);

MUST_USE int credentials_store(int home_fd, const char *host, const char *username,
			       const char *password, struct err *e);
/* Sets *RET_KNOWN to false when no login was stored for HOST. */
MUST_USE int credentials_remove(int home_fd, const char *host, bool *ret_known, struct err *e);

struct credential_line {
	char *host, *username;
	const char *source;
};
/* Lists every host that has a login, sorted by name. */
MUST_USE int credentials_list(int home_fd, const struct settings *s, struct credential_line **ret,
			      size_t *ret_n, struct err *e);
void credential_lines_free(struct credential_line *l, size_t n);
