/* Changes the configuration of a sandbox. */
#pragma once

#include "base/err.h"
#include "wire/message.h"

struct home;
struct record;
struct spec;

/* Replaces the configuration of R, which was loaded before, by NEXT. ACTIVE is the configuration
 * that a running sandbox keeps until its next start; NULL means NEXT. LIVE (enum update_what) says
 * which parts of the change a running sandbox gets now. A failure changes nothing. Fails with
 * ERR_BUSY if the configuration has changed since R was loaded. */
MUST_USE int sandbox_update(const struct home *h, const struct record *r, const struct spec *next,
			    const struct spec *active, unsigned live, struct err *e);
