/*
 * A managed process: a command of a session that runs until somebody stops it, for instance an MCP server. Peers reach
 * its input and output through attachments, one at a time: the first has the process, the others wait in line.
 *
 * While nobody is attached, the process's output is not read, so the process waits. When the process has ended, what its
 * pipe still held is kept for the next attachment. The end of its errors is always kept, for people who ask why it died.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "client/line.h"
#include "service/ceiling.h"
#include "service/processspec.h"
#include "wire/message.h"

#define PROCESS_LINE_MAX_BYTES (16u << 20) /* the largest message of the relay */
#define PROCESS_STOP_MS 5000u              /* between SIGTERM and SIGKILL */

struct process;

/* What the session of a process learns. */
struct process_owner {
	void (*used)(void *arg);                     /* bytes went through an attachment */
	void (*ended)(void *arg, struct process *p); /* it ended by itself, or was stopped */
	void *arg;
};

struct attachment {
	/* One line of output without its newline, or the last piece at the end. False: no more until attachment_resume(). */
	bool (*line)(void *arg, const char *p, size_t n);
	/* Input is taken again. */
	void (*room)(void *arg);
	/* The attachment is over, for good. CODE is a close code of WebSocket: 1000, or 1009 for a line that is too long. */
	void (*over)(void *arg, unsigned code);
	void *arg;

	/* private */
	struct process *process;
	struct attachment *next;
	bool blocked;
};

/* Starts the process over LINE and takes SPEC, also when it fails. */
MUST_USE int process_start(struct line *line, struct process_spec *spec,
			   const struct process_owner *o, struct ceiling *ceiling,
			   struct process **ret, struct err *e);
/* Ends what runs, without waiting, and without telling the owner; attachments are over. */
void process_free(struct process *p);

/* The next process of the same session; the session keeps its list by this. */
struct process *process_next(const struct process *p);
struct process **process_next_at(struct process *p);
const char *process_id(const struct process *p);
/* In megabytes, as the spec has it; 0: the session's. */
int64_t process_memory_mb(const struct process *p);
bool process_is_running(const struct process *p);
/* By the monotonic clock; 0 while it runs. */
uint64_t process_ended_ns(const struct process *p);
/* Closes the input, sends SIGTERM to everything that the process started, and SIGKILL after PROCESS_STOP_MS. The owner
 * hears of the end. */
void process_stop(struct process *p);
/* A BoxManagedProcessInfo; SESSION_ID is how the caller knows the session. */
void process_write_info(const struct process *p, const char *session_id, struct json_writer *w);

void process_attach(struct process *p, struct attachment *a);
/* Safe for an attachment that is over. */
void process_detach(struct attachment *a);
/* Output may come again. */
void attachment_resume(struct attachment *a);
/* Sends N bytes and a newline to the process. False: this message is kept, and no other is taken until `room`. A peer that
 * waits in line has its message dropped, as the contract says. */
bool attachment_say(struct attachment *a, const char *p, size_t n);
