/* What image/passed.h knows about an image, for the root of a sandbox. */
#pragma once

#include "image/store.h"
#include "process/rootfs.h"
#include "supervisor/supervisor.h"

/* R has the image's layers, above one of ours: its root must be told of the directories they pass. */
void passed_find(const struct supervisor *s, const struct image_record *record, struct rootfs *r);
