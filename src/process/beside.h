/*
 * Tasks that can run side by side with us. One that was just made or woken is often put on the CPU of whoever
 * did that, and waits for it, although another one idles: some kernels keep the CPUs of a virtual
 * machine together on purpose. For what we hand out while we go on ourselves that is the wrong choice.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* PID, which does not run yet, begins on another CPU than ours. False where there is none. */
bool beside_begin(pid_t pid, cpu_set_t *ret_before);
/* From there on it goes where it likes. */
void beside_free(pid_t pid, const cpu_set_t *before);
