/*
 * A call is one command, one attachment, one file operation or one question about background
 * commands. It has one stream of a connection to pid 1. A call is only state: it has no descriptor
 * and no clock (the time is an argument). The owner sends the bytes that the call writes into a
 * buffer, and passes every frame of the stream to the call. The call tells the owner what the frame
 * means. The call also knows by which time pid 1 must report the end.
 *
 * pid 1 is not trusted. A call limits the size of every frame, accepts output only within the
 * credit that it granted, and ignores all frames after the end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/background.h"
#include "wire/file.h"
#include "wire/message.h"

struct call {
	const char *name; /* the name of the sandbox, for messages; borrowed */
	uint32_t stream;
	uint64_t id;       /* the number of the command; 0 until pid 1 tells it */
	uint64_t deadline; /* the time by which pid 1 must report the end; 0 means no limit */
	uint32_t credit;   /* how many bytes of input pid 1 still takes */
	uint32_t granted;  /* how many bytes of output pid 1 may still send */
	/* how many bytes of output the owner has taken since pid 1 last got credit */
	uint32_t taken;
	bool ended;
	struct exit_message end;
	bool reported; /* pid 1 has sent the command's report; it may send only one */
	uint32_t told; /* how many commands pid 1 has listed */
	/* the command that the last frame described, valid after CALL_COMMAND; the strings are
	 * borrowed from this frame */
	struct command_message command;
};

#define CALL_TOLD_MAX 65536u /* the most commands in one list: more than a sandbox can run */

/* The time that pid 1 has to answer after the command's time-out. If pid 1 does not answer in this
 * time, pid 1 hangs, or an attacker controls pid 1. */
#define CALL_BACKSTOP_NS 3000000000ull

void call_init(struct call *c, const char *name, uint32_t stream);

/* --- what the owner sends -------------------------------------------------------------------- */

/* Each of these functions adds frames to B. The owner checks B for failure. */

/* Adds the request to run a command. NOW_NS is used only if M has a time-out. */
void call_exec(struct call *c, const struct exec_message *m, uint64_t now_ns, struct buf *b);
void call_attach(struct call *c, const struct attach_message *m, struct buf *b);
void call_file(struct call *c, const struct file_message *m, struct buf *b);
/* Adds one frame with input for the command. If pid 1 accepts fewer than N bytes now, the frame has
 * only the first bytes of P. Returns how many bytes the frame has. */
size_t call_input(struct call *c, const void *p, size_t n, struct buf *b);
void call_input_end(const struct call *c, struct buf *b);
void call_resize(const struct call *c, uint32_t rows, uint32_t cols, struct buf *b);
void call_detach(const struct call *c, struct buf *b);
/* Signals the command itself, or, if SCOPE is true, everything that the command started. A pid 1 of
 * protocol 1 ignores the signal. */
void call_signal(const struct call *c, int sig, bool scope, struct buf *b);
/* The next four functions send questions about background commands. A pid 1 of protocol 1 does not
 * answer such questions. */
void call_list(const struct call *c, struct buf *b);
void call_look(const struct call *c, const struct look_message *m, struct buf *b);
void call_feed(const struct call *c, const struct feed_message *m, struct buf *b);
/* Signals the command with the number ID. FLAGS are FRAME_FLAG_SCOPE and FRAME_FLAG_WHOLE. */
void call_signal_to(const struct call *c, uint64_t id, int sig, unsigned flags, struct buf *b);
/* The owner calls this when it has taken N bytes of output. When enough bytes have been taken,
 * grants pid 1 credit for the same number of bytes. Returns true if B has something to send. */
bool call_took(struct call *c, size_t n, struct buf *b);
/* Call this after the end of the command. Asks pid 1 to go on reading the command's pipes. The
 * owner must send the descriptors of the pipes with this frame. FLAGS are the flags of
 * FRAME_LEAVE. */
void call_leave(const struct call *c, unsigned flags, struct buf *b);

/* --- what pid 1 says -------------------------------------------------------------------------- */

enum call_news {
	CALL_NOTHING, /* the frame is of another stream, or changes nothing for the owner */
	CALL_STARTED, /* the command has started; c->id is its number */
	CALL_OUTPUT,  /* the frame's body is output; the owner takes it and calls call_took() */
	CALL_ENDED,   /* the command has ended; c->end says how */
	CALL_REPORT,  /* the frame's body is what the command reported */
	/* c->command is the command that the question is about, or one command of the list */
	CALL_COMMAND,
	CALL_TOLD, /* the list is complete */
};

/* Returns an enum call_news, or -1 if the call failed and is over. */
MUST_USE int call_take(struct call *c, const struct frame *f, struct err *e);

/* Returns true if the deadline has passed and pid 1 has not reported the end. */
bool call_is_late(const struct call *c, uint64_t now_ns);
/* Ends the call as timed out. The owner must end the sandbox, because its pid 1 did not answer. */
void call_give_up(struct call *c);

/* Returns the exit status that the manual of `exec` promises: 128+N, 124, 126, 127 … */
int exec_exit_status(const struct exit_message *m);
