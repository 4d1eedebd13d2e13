/*
 * Finds passwords in configuration files. Some files that every user of a machine can read hold the
 * password of a proxy or of a repository: /etc/wgetrc, Maven's settings.xml and others. A command
 * in a sandbox must not get this password.
 *
 * A file counts as secret if it assigns a value to a name such as "password", or has an address
 * with a password ("http://user:word@proxy/"). Comments do not count, because many files have
 * examples of settings in comments.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

bool host_secret_found(struct str text);
