/* A Box server that we start as a child process. We talk to the server over its standard input
 * and output. The server ends when we end. */
#pragma once

#include "base/spawn.h"
#include "endpoint/link.h"
#include "service/service_config.h"

/* Starts the configured command, or cordon-box if no command is configured. *RET is the link to
 * this server. The environment of the server has a random token and the instance id. */
MUST_USE int child_open(const struct runtime_config *c, struct interrupt *i,
			struct child *ret_child, struct link *ret, struct fault *f);
/* Closes the child's input. Sends SIGTERM if the child still runs after 2 seconds, and SIGKILL
 * after 2 more seconds. */
void child_end(struct child *c, struct link *l);
