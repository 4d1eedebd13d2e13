/* The JSON form of a root disk, which records and config.json use. Private to spec/. */
#pragma once

#include "spec/spec.h"

/* Reads {"kind": …, "size_mib": …, …}, in which `kind` is required. A disk at a path also needs
 * `path`. *D must be zeroed. After a failure *D may be partly filled. PATH is for messages. */
MUST_USE int root_disk_read_json(const struct json_value *v, const char *path,
				 struct spec_root_disk *d, struct err *e);
