/* Owners and modes of directories that the layers of an image only imply (image/implied.h). */
#pragma once

#include "image/store.h"
#include "process/rootfs.h"
#include "supervisor/supervisor.h"

/* R has the layers of the image RECORD above one layer of ours. Lists the implied directories in R. */
void implied_find(const struct supervisor *s, const struct image_record *record, struct rootfs *r);
