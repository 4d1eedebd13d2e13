/*
 * A managed process: a command of a session that runs until it is stopped, for instance an MCP
 * server. Peers reach its input and output through attachments. Only the first attachment gets
 * output and may send input. The other attachments wait for their turn.
 *
 * While no peer is attached, the output is not read, so the process blocks when its pipe is full.
 * When the process has ended, the rest of the pipe is kept for the next attachment. The last part
 * of stderr is always kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "client/job.h"
#include "client/line.h"
#include "service/ceiling.h"
#include "service/processspec.h"
#include "wire/message.h"

#define PROCESS_LINE_MAX_BYTES (16u << 20) /* the largest message of the relay */
#define PROCESS_STOP_MS 5000u              /* the time between SIGTERM and SIGKILL */

struct process;

/* Callbacks to the session of a process. */
struct process_owner {
	void (*used)(void *arg); /* bytes went through an attachment */
	/* Called with N bytes of output of the process, which are valid until the callback returns.
	 * NUMBER is the number that pid 1 gave the process. */
	void (*printed)(void *arg, uint64_t number, enum job_output which, const char *p, size_t n);
	void (*ended)(void *arg, struct process *p); /* P ended by itself, or was stopped */
	void *arg;
};

struct attachment {
	/* Called with one line of output, without its newline. The last line may be unfinished. If
	 * `line` returns false, it is not called again until attachment_resume() is called. */
	bool (*line)(void *arg, const char *p, size_t n);
	/* Called when attachment_say() may be called again. */
	void (*room)(void *arg);
	/* Called when the attachment has ended. CODE is a WebSocket close code: 1000, or 1009 if a
	 * line was too long. */
	void (*over)(void *arg, unsigned code);
	void *arg;

	/* private */
	struct process *process;
	struct attachment *next;
	bool blocked;
};

/* Starts the process through the connection LINE. Takes ownership of *SPEC, also after a
 * failure. */
MUST_USE int process_start(struct line *line, struct process_spec *spec,
			   const struct process_owner *o, struct ceiling *ceiling,
			   struct process **ret, struct err *e);
/* Kills the process. Does not wait for its end and does not call `ended`. The attachments of the
 * process end. */
void process_free(struct process *p);

/* A session keeps its processes in a linked list. process_next() returns the process after P.
 * process_next_at() returns the address of P's pointer to that process. */
struct process *process_next(const struct process *p);
struct process **process_next_at(struct process *p);
const char *process_id(const struct process *p);
/* Returns the memory limit of the spec in megabytes. 0 means that the process has the session's
 * limit. */
int64_t process_memory_mb(const struct process *p);
bool process_is_running(const struct process *p);
/* Returns the monotonic time at which the process ended, or 0 while it runs. */
uint64_t process_ended_ns(const struct process *p);
/* Closes the input. Sends SIGTERM to the process and to everything that it started, and sends
 * SIGKILL after PROCESS_STOP_MS. Calls `ended` when the process is gone. */
void process_stop(struct process *p);
/* Writes a BoxManagedProcessInfo. SESSION_ID is the session's id as the peer knows it. */
void process_write_info(const struct process *p, const char *session_id, struct json_writer *w);

void process_attach(struct process *p, struct attachment *a);
/* Ends the attachment. Does nothing if it has ended already. */
void process_detach(struct attachment *a);
/* After `line` has returned false, lets `line` be called again. Call this when the attachment can
 * take more lines. */
void attachment_resume(struct attachment *a);
/* Sends N bytes and a newline to the process. If this returns false, the message is queued, and the
 * calling code must wait for `room` before it sends another message. Messages of an attachment that
 * waits for its turn are dropped. A message is also dropped if the memory ceiling of the server has
 * no room for it. In these cases the function returns true. */
bool attachment_say(struct attachment *a, const char *p, size_t n);
