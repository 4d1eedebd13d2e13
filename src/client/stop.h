/* Stops sandboxes. Asks the supervisor of a sandbox, and kills a supervisor that does not
 * answer. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct home;

#define STOP_GRACE_DEFAULT UINT32_MAX

/* Asks the supervisor for a stop and waits until the sandbox is down. If GRACE_MS is 0, the sandbox
 * is killed at once. If the sandbox is not running, succeeds. */
MUST_USE int sandbox_stop(const struct home *h, const char *name, uint32_t grace_ms, struct err *e);
/* Does the same as sandbox_stop(), but only to the sandbox whose record is the directory DIR.
 * Succeeds also if NAME belongs to another sandbox by now, and leaves that sandbox alone. */
MUST_USE int sandbox_stop_this(const struct home *h, const char *name, int dir, uint32_t grace_ms,
			       struct err *e);
/* Does the same as sandbox_stop(), for a caller that started the sandbox for one command. If other
 * commands run in the sandbox, the sandbox stops when the last of them ends. */
MUST_USE int sandbox_quit(const struct home *h, const char *name, struct err *e);
