/*
 * A line is a connection to the pid 1 of one sandbox. The connection stays open. The owner of the
 * line has a loop. Several commands use the line at the same time, each with a stream of its own
 * (client/job.h). A line never waits. If the socket does not take a message now, the message is
 * queued with its descriptors, and the loop sends it later.
 *
 * When the sandbox ends, pid 1 closes the connection. The line then reports ERR_NOT_RUNNING to the
 * user of every stream, and after that to the owner of the line. pid 1 is not trusted: a frame that
 * makes no sense ends the line with ERR_PROTOCOL.
 *
 * Any function may be called from any callback, even line_free(): the memory is freed when the last
 * callback has returned.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"
#include "wire/frame.h"

struct line;

#define LINE_STREAMS_MAX 256u        /* the most commands that run at once on one line */
#define LINE_QUEUE_MESSAGES_MAX 512u /* a request is refused if this many messages wait already */
/* A request is refused if with it more bytes than this would wait for the socket. This is enough
 * for two of the largest requests. */
#define LINE_QUEUE_BYTES_MAX (16u << 20)
/* While more bytes than this wait for the socket, jobs take no input. So a pid 1 that grants credit
 * for input and does not read cannot make the queue longer. */
#define LINE_INPUT_QUEUE_BYTES_MAX (1u << 20)
/* The most messages that wait for the socket before the line gives up. A pid 1 that keeps to its
 * credit but has stopped reading causes fewer: its output makes at most 4 frames CREDIT due on each
 * of the 256 streams, and each command has a few other follow-ups. */
#define LINE_QUEUE_FOLLOW_UPS_MAX 4096u

/* The callbacks of the code that uses a stream. After line_close() none of them is called. */
struct line_user {
	void (*frame)(void *arg, const struct frame *f);
	/* Called when the line is down. The stream is already closed. WHY is valid only during
	 * the call. */
	void (*gone)(void *arg, const struct err *why);
	/* Called when line_takes_input() has returned false and would return true now. May be
	 * NULL. */
	void (*room)(void *arg);
	void *arg;
};

/* Called when the line is down for another reason than line_free(). The owner still has to free
 * the line. */
typedef void line_gone_fn(void *arg, const struct err *why);

/* Makes a line from FD, a connection to the pid 1 of sandbox NAME. Takes over FD, also after a
 * failure. LOOP must live longer than the line. */
MUST_USE int line_new(struct loop *loop, const char *name, int fd, line_gone_fn *gone, void *arg,
		      struct line **ret, struct err *e);
/* Frees the line. During this call, the users of open streams get ERR_NOT_RUNNING. The owner's
 * callback GONE is not called. */
void line_free(struct line *n);

const char *line_name(const struct line *n);
struct loop *line_loop(const struct line *n);
bool line_is_up(const struct line *n);
/* Returns the protocol version that both sides speak, or 0 until pid 1 has named its version. */
uint32_t line_version(const struct line *n);

/* Opens a stream. Fails with ERR_NOT_RUNNING if the line is down, or ERR_LIMIT if it has too many
 * streams. */
MUST_USE int line_open(struct line *n, const struct line_user *u, uint32_t *ret_stream,
		       struct err *e);
/* Closes a stream. Frames that still come for this stream are dropped. */
void line_close(struct line *n, uint32_t stream);

enum line_message {
	LINE_REQUEST, /* refused with ERR_LIMIT when the queue is full */
	/* Not refused when the queue is full. If LINE_QUEUE_FOLLOW_UPS_MAX messages wait, the line
	 * hangs up with ERR_PROTOCOL: pid 1 goes on sending or granting, but reads nothing. */
	LINE_FOLLOW_UP,
};

/* Queues the frames in B and sends what the socket takes. The line takes the memory of B and the
 * descriptors, even if this function fails. */
MUST_USE int line_send(struct line *n, enum line_message kind, struct buf *b, const int *fds,
		       unsigned n_fds, struct err *e);

/* Returns true if there is room in the queue for a follow-up with input for a command. If it
 * returns false, the users of all streams are told when there is room again. */
bool line_takes_input(struct line *n);

/* Queues the request in B, which has no descriptors. Only a pid 1 that speaks protocol VERSION or a
 * later one understands the request. Fails with ERR_UNSUPPORTED if pid 1 is older. While the
 * version of pid 1 is not known, the request waits. If it turns out that pid 1 is older, the
 * request is not sent, and the stream gets an ERROR frame with ERR_UNSUPPORTED. The line takes the
 * memory of B, even if this function fails. */
MUST_USE int line_ask(struct line *n, uint32_t version, struct buf *b, struct err *e);

/* Reads what pid 1 has sent until now, and runs callbacks. When the deadline of a stream's user has
 * passed, the user calls this function before it gives up, because the answer may have come in time
 * and only the loop is late. */
void line_hear(struct line *n);
/* Closes the connection at once, which makes pid 1 kill every command of this line. The users of
 * streams and the owner get WHY in a later turn of the loop. */
void line_hang_up(struct line *n, const struct err *why);
/* Call this if a command can only go on with protocol VERSION. If pid 1 speaks an older protocol,
 * the line closes the connection, at once or as soon as pid 1 names its version. */
void line_need(struct line *n, uint32_t version);
