/* Hides the paths of this machine from a model. A model knows only paths of the sandbox. */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "service/service_config.h"

/* Appends TEXT to OUT, with changed paths. The workspace and the directories of skills get their
 * paths in the sandbox. All other directories of the service, and the file CONFIG, are replaced by
 * words in brackets. CONFIG may be NULL. */
void path_mask_write(const struct service_config *c, const char *config, struct str text,
		     struct buf *out);
