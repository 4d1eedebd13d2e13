/* Stops sandboxes, through their supervisor or by force. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct home;

#define STOP_GRACE_DEFAULT UINT32_MAX

/* Asks the supervisor for a stop and waits until the sandbox is down. GRACE_MS 0 kills at once. Succeeds if the
 * sandbox does not run. */
MUST_USE int sandbox_stop(const struct home *h, const char *name, uint32_t grace_ms, struct err *e);
/* Does the same for a caller that started the sandbox for one command. While other commands run, the sandbox goes on
 * until the last of them ends. */
MUST_USE int sandbox_quit(const struct home *h, const char *name, struct err *e);
