/* Named volumes, for front ends. Front ends do not call the functions of state/ directly; they
 * use this header. */
#pragma once

#include "spec/spec.h"
#include "state/volume.h"

/* Fails if the volume that M names is not what M asks for. A missing volume is no failure, because
 * the volume is made later. If M does not say which kind of volume it wants, M gets the kind of the
 * existing volume. */
MUST_USE int volumes_check(const struct home *h, struct spec_mount *m, struct err *e);
/* Makes the volumes of S that are missing and adds their names to MADE. While the descriptor
 * *RET_LOCK is open, no volume can be removed. The caller closes this descriptor as soon as a
 * record names the volumes. After a failure the caller still has to remove the volumes in MADE. */
MUST_USE int volumes_prepare(const struct home *h, const struct spec *s, int *ret_lock,
			     struct strv *made, struct err *e);
/* Removes a volume, with the help of newuidmap if files in it belong to other ids of the user's
 * range. */
MUST_USE int volumes_remove(const struct home *h, const char *name, struct err *e);
