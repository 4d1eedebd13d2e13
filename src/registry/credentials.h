/*
 * The user name and password that we send to a registry. We use the first of these sources that has
 * a login for the host: the options of the command, the login that `registry login` stored,
 * config.json, and Docker's configuration (a stored login or a credential helper). If no source has
 * a login, requests are anonymous.
 *
 * `registry login` stores logins in HOME/secrets/registries.json. The file has mode 0600 and its
 * directory has mode 0700. No function of this file prints or logs a secret. They overwrite the
 * memory in which they kept a secret before they free it, also after a failure. Copies that curl
 * makes, and variables of the environment, stay.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "registry/settings.h"

#define CREDENTIALS_MAX_BYTES (1u << 20)
#define CREDENTIAL_SECRET_MAX_BYTES (64u << 10) /* some clouds' passwords are long tokens */
/* how long we wait for a credential helper, which answers at once unless it asks the user first */
#define CREDENTIAL_HELPER_SECONDS 30

struct credentials {
	char *username; /* NULL for anonymous requests */
	/* a password; or, if `token` is true, an identity token for the token server */
	char *password;
	bool token;
	const char *source; /* "given", "login", "config", "docker", or NULL */
};

MUST_USE int credentials_find(int home_fd, const struct settings *s, const char *host,
			      struct credentials *ret, struct err *e);
/* Makes a login from the options of the command. The environment variable VARIABLE holds the
 * password. */
MUST_USE int credentials_given(const char *username, const char *variable, struct credentials *ret,
			       struct err *e);
void credentials_done(struct credentials *c);

MUST_USE int credentials_store(int home_fd, const char *host, const char *username,
			       const char *password, struct err *e);
/* Removes the stored login for HOST. Sets *RET_KNOWN to false if none was stored. */
MUST_USE int credentials_remove(int home_fd, const char *host, bool *ret_known, struct err *e);

struct credential_line {
	char *host, *username;
	const char *source;
};
/* Lists the hosts with a login in our store, in config.json or as `auth` in Docker's configuration,
 * sorted by name. Leaves out logins that only a credential helper or an identity token gives. */
MUST_USE int credentials_list(int home_fd, const struct settings *s, struct credential_line **ret,
			      size_t *ret_n, struct err *e);
void credential_lines_free(struct credential_line *l, size_t n);
