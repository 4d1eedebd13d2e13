/* A Box server of our own: a child that speaks on its standard input and output, and that ends with us. */
#pragma once

#include "base/spawn.h"
#include "endpoint/link.h"
#include "service/service_config.h"

/* Starts the command of the configuration, or our own server if there is none, and opens *RET to it. The child learns
 * a random token and the instance id by its environment. */
MUST_USE int child_open(const struct runtime_config *c, struct interrupt *i,
			struct child *ret_child, struct link *ret, struct fault *f);
/* Closes the child's input and waits 2 seconds for its end; then sends SIGTERM, waits as long, and kills it. */
void child_end(struct child *c, struct link *l);
