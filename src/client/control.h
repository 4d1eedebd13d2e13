/*
 * Asks a live sandbox and waits for the answer until a deadline. Questions to the supervisor go
 * over the socket "ctl", questions to pid 1 over the socket "sock". control_lock() takes the lock
 * of a sandbox that is down.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/message.h"

struct home;

/* if a supervisor or pid 1 has not answered after this time, it is stuck */
#define CONTROL_ANSWER_MS 5000
/* how long to wait for a lock that another command holds for a short time */
#define CONTROL_LOCK_MS 10000

/* Connects to the supervisor. If the supervisor was started just now, waits until it listens.
 * Returns 0 or -errno. */
MUST_USE int control_connect(const struct home *h, const char *name, int *ret_fd);
/* Returns the pid of the process that was at the other end of FD when FD was connected, or 0. */
pid_t control_peer(int fd);
/* Reads frames until one of TYPE comes. Returns 1 and adds the body of that frame to BODY, unless
 * BODY is NULL. Returns 0 if the stream ended, -ETIMEDOUT if DEADLINE passed, or another -errno. */
MUST_USE int control_wait(int fd, enum frame_type type, uint64_t deadline, struct buf *body);
/* Sends pid 1 a frame of TYPE, which pid 1 answers with the frame PONG. Adds the body of the
 * answer to BODY, unless BODY is NULL. Returns 0 or -errno. */
MUST_USE int control_ask_pid_1(const struct home *h, const char *name, enum frame_type type,
			       struct buf *body);

/* Takes the lock of the record, for a command of ours that needs the sandbox to be down. STARTS
 * says that the command will start the sandbox. If a start is under way, waits for its end first.
 * If the sandbox is up, fails at once with ERR_BUSY. If the sandbox is stopping, or another command
 * holds the lock for a short time, waits. Returns 0, the directory of the record in *RET_DIR and
 * the locked file in *RET_LOCK; or -1. */
MUST_USE int control_lock(const struct home *h, const char *name, bool starts, int *ret_dir,
			  int *ret_lock, struct err *e);
/* Measures the round trip to pid 1 in nanoseconds. If TOUCH is true, the ping counts as activity
 * of the sandbox. */
MUST_USE int control_ping(const struct home *h, const char *name, bool touch, uint64_t *ret_ns,
			  struct err *e);
/* Asks the supervisor what the sandbox uses. Fails with ERR_NOT_RUNNING if there is no
 * supervisor. Fails with ERR_TIMEOUT if the supervisor does not answer, because it is stuck or
 * too old to know the question. */
MUST_USE int control_usage(const struct home *h, const char *name, struct usage_message *ret,
			   struct err *e);
