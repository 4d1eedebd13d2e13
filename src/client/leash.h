/*
 * The leash of a sandbox that a server made (client/hands.h), on the server's loop. When the server
 * closes the leash, the sandbox ends. When the sandbox is gone, the supervisor closes its own end
 * of the leash. Over the leash the server also changes the limits of the running sandbox. For each
 * change the server sends one request and gets one answer. The server has no access to files. So it
 * also sends the output for the sandbox's log to the supervisor over the leash.
 *
 * Any function may be called from any callback, even leash_free().
 */
#pragma once

#include "base/err.h"
#include "loop/loop.h"
#include "wire/leash.h"
#include "wire/message.h"

struct leash;

/* the most requests that may wait for an answer; they are small, so the socket can hold all of
 * them */
#define LEASH_REQUESTS_MAX 64u
/* If the supervisor is slow, the server queues this many bytes of output for the log. Output beyond
 * this is lost. */
#define LEASH_LOG_QUEUE_BYTES (1u << 20)

/* Called when the sandbox is gone. The owner still has to free the leash. */
typedef void leash_gone_fn(void *arg);
/* Called with the answer. WHY is NULL if the new limits are in force. Otherwise WHY says why
 * they are not. WHY is valid only during the call. */
typedef void leash_answer_fn(void *arg, const struct err *why);

/* FD is the leash of a sandbox that is up. The function takes over FD, even if it fails. */
MUST_USE int leash_new(struct loop *loop, int fd, leash_gone_fn *gone, void *arg,
		       struct leash **ret, struct err *e);
/* Closes the leash, which ends the sandbox. Requests that still wait get no answer. */
void leash_free(struct leash *l);
/* Ends the sandbox. The callback GONE of leash_new() is called when the sandbox is gone. */
void leash_end(struct leash *l);
/* Asks the supervisor to set the limits that M names, all or none. FN is called later, exactly
 * once, unless the leash is freed first. Answers come in the order of the requests. Fails with
 * ERR_NOT_RUNNING if the sandbox is gone or is ending, and with ERR_LIMIT if LEASH_REQUESTS_MAX
 * requests wait already. */
MUST_USE int leash_set_limits(struct leash *l, const struct limits_message *m, leash_answer_fn *fn,
			      void *arg, struct err *e);

/* With these two functions the owner counts the bytes of output that wait for the supervisor. */
struct leash_meter {
	bool (*take)(void *arg,
		     size_t n); /* returns false if the leash may not hold N more bytes */
	void (*give)(void *arg, size_t n); /* the leash holds N bytes less */
	void *arg;
};
/* Must be called before leash_log(). */
void leash_set_meter(struct leash *l, const struct leash_meter *m);
/* Writes the N bytes at P into the sandbox's log, as output of the command with the number ID.
 * FLAGS are the flags of a frame LOG. Never waits. If the supervisor is slower than the output,
 * bytes are lost, and a marker in the log says so. */
void leash_log(struct leash *l, uint64_t id, unsigned flags, const char *p, size_t n);
