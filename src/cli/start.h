/* Starting one stopped sandbox; shared with `restart`. */
#pragma once

#include "client/sandbox.h"

MUST_USE int start_one(const struct home *h, const char *name, bool quiet, struct err *e);
