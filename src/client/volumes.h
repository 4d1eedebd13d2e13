/* Named volumes as front ends see them; state/ is reached through here. */
#pragma once

#include "spec/spec.h"
#include "state/volume.h"

/* Does the volume that M names fit what it asks of it? A missing one does: it is made later. A mount
 * that does not say what kind it wants learns it from the volume. */
MUST_USE int volumes_check(const struct home *h, struct spec_mount *m, struct err *e);
/* Makes those that are missing and adds their names to MADE. *RET_LOCK keeps all of them there; let
 * it go when a record names them. After a failure what is in MADE is still the caller's. */
MUST_USE int volumes_prepare(const struct home *h, const struct spec *s, int *ret_lock,
			     struct strv *made, struct err *e);
/* volume_remove(), with help where files belong to a sub-range. */
MUST_USE int volumes_remove(const struct home *h, const char *name, struct err *e);
