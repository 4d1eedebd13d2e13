/*
 * What config.json says about registries:
 *
 *   "registries": { "ca_certs": FILE, "hosts": { HOST: {
 *       "insecure": true,                     plain HTTP
 *       "mirrors": ["mirror:5000", …],        asked first, in this order
 *       "auth": { "username": U,
 *                 "password_env": VARIABLE | "secret_name": NAME | "store": … } } } }
 *
 * A struct settings owns the parsed file. All strings that the functions return are part of it.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

#define SETTINGS_MAX_BYTES (1u << 20)

struct settings {
	struct json_doc *doc; /* NULL if there is no file */
};

/* Reads the file that $MSB_CONFIG_PATH names, or HOME/config.json if the variable is not set. A
 * missing file counts as an empty file. */
MUST_USE int settings_read(int home_fd, struct settings *ret, struct err *e);
void settings_done(struct settings *s);

const char *settings_ca_certs(const struct settings *s);
/* Returns the settings of HOST, or NULL when there are none. */
const struct json_value *settings_host(const struct settings *s, const char *host);
