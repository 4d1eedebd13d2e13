/* Changes of the configuration of a sandbox. */
#pragma once

#include "base/err.h"
#include "wire/message.h"

struct home;
struct record;
struct spec;

/* Replaces the configuration of R, which was loaded before, by NEXT. ACTIVE is the configuration that a running sandbox
 * has until its next start, or NULL if that is NEXT too. LIVE (enum update_what) is the part of the change that a
 * running sandbox takes over now. A failure changes nothing. ERR_BUSY: the configuration changed since R was loaded. */
MUST_USE int sandbox_update(const struct home *h, const struct record *r, const struct spec *next,
			    const struct spec *active, unsigned live, struct err *e);
