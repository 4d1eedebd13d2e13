/* Named volumes as front ends see them. Front ends reach state/ only through this file. */
#pragma once

#include "spec/spec.h"
#include "state/volume.h"

/* Fails if the volume that M names is not what M asks for. A missing volume fits, because it is made later. A mount that
 * does not say which kind it wants gets the kind of the volume. */
MUST_USE int volumes_check(const struct home *h, struct spec_mount *m, struct err *e);
/* Makes the volumes of S that are missing and adds their names to MADE. While *RET_LOCK is open, no volume can be
 * removed. The caller closes the lock when a record names the volumes. After a failure the caller still has to remove
 * the volumes in MADE. */
MUST_USE int volumes_prepare(const struct home *h, const struct spec *s, int *ret_lock,
			     struct strv *made, struct err *e);
/* Removes a volume, with the help of newuidmap if files in it belong to other ids of the user's range. */
MUST_USE int volumes_remove(const struct home *h, const char *name, struct err *e);
