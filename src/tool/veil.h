/* Hides the paths of this machine from a model, which knows the sandbox's paths only. */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "service/service_config.h"

/* Appends TEXT. Replaces the workspace and the directories of skills by their paths in the sandbox. Replaces the file
 * CONFIG, which may be NULL, and the other directories that the service knows by words in brackets. */
void veil_write(const struct service_config *c, const char *config, struct str text,
		struct buf *out);
