/*
 * When to keep a child ready for the next command (exec.h says what it is).
 *
 * One is made after a command has started, while pid 1 has nothing else to do, and ended when no command
 * came for STANDBY_IDLE_NS: an agent at work finds it, a sandbox that only lives costs nothing for it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "guest/exec.h"
#include "guest/scope.h"
#include "loop/loop.h"

#define STANDBY_IDLE_NS (10 * 1000000000ull)

struct guest;

struct standby {
	struct exec_standby child;
	struct scope scope;
	loop_id timer;
};

/* A command has started: have one ready for the next. */
void standby_renew(struct guest *g);
/* True when there is one: its scope is the caller's now, and its child must be used. */
bool standby_take(struct guest *g, struct scope *ret_scope);
/* PID ended. */
void standby_reaped(struct guest *g, pid_t pid);
void standby_end(struct guest *g);
