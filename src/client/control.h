/*
 * Questions to a live sandbox: to its supervisor over "ctl", to its pid 1 over "sock". Every
 * question has a deadline; the caller waits for the answer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/message.h"

struct home;

#define CONTROL_ANSWER_MS 5000 /* a supervisor or pid 1 that has not answered by then is stuck */
#define CONTROL_LOCK_MS \
	10000 /* how long to wait for a lock that another command holds for a short time */

/* Connects to the supervisor. If the supervisor was started just now, waits until it listens. Returns 0 or -errno. */
MUST_USE int control_connect(const struct home *h, const char *name, int *ret_fd);
/* Returns the pid of the process that was at the other end of FD when it was connected, or 0. */
pid_t control_peer(int fd);
/* Reads frames until one of TYPE comes. Returns 1 and adds the body of that frame to BODY, unless BODY is NULL. Returns
 * 0 if the stream ended, -ETIMEDOUT if DEADLINE passed, or another -errno. */
MUST_USE int control_wait(int fd, enum frame_type type, uint64_t deadline, struct buf *body);
/* Asks pid 1 something that it answers with PONG. Returns 0 and adds the body to BODY, which may
 * be NULL; or -errno. */
MUST_USE int control_ask_pid_1(const struct home *h, const char *name, enum frame_type type,
			       struct buf *body);

/* Takes the lock of the record, for a command that needs the sandbox to be down. STARTS: the command will start the
 * sandbox. Fails with ERR_BUSY at once if the sandbox is up or coming up. Waits for a sandbox that is on its way down,
 * and for another short command. */
MUST_USE int control_lock(const struct home *h, const char *name, bool starts, int *ret_dir,
			  int *ret_lock, struct err *e);
/* Measures the round trip to pid 1 in nanoseconds. With TOUCH the ping counts as activity of the
 * sandbox. */
MUST_USE int control_ping(const struct home *h, const char *name, bool touch, uint64_t *ret_ns,
			  struct err *e);
/* Asks the supervisor what the sandbox uses. ERR_NOT_RUNNING: there is no supervisor.
 * ERR_TIMEOUT: the supervisor does not answer, because it is stuck or too old to know the
 * question. */
MUST_USE int control_usage(const struct home *h, const char *name, struct usage_message *ret,
			   struct err *e);
