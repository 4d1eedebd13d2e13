/*
 * The agent protocol: frames between a sandbox's pid 1, its clients and its supervisor.
 *
 * A frame is a 12-byte header (u32 body length, u8 type, u8 flags, u16 zero, u32 stream; all little
 * endian) and a body. Bodies of control frames are fields (u8 tag, u32 length, bytes), except that
 * the body of OK is a text. A decoder skips tags that it does not know, so a newer client can talk
 * to an older guest. Data frames carry bare bytes. A stream is called framed if its input and
 * output travel in data frames, and not in pipes whose descriptors came with EXEC. This code only
 * encodes and decodes: it uses no descriptors and no clock, and does not trust its input.
 *
 * Versions: each side begins with HELLO {version, oldest}. Both sides then speak the smaller of
 * their two versions. If this version is below the `oldest` of one side, pid 1 refuses the
 * connection with an ERROR that names the versions of both sides.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define WIRE_VERSION 2u
#define WIRE_OLDEST 1u

#define FRAME_HEADER_BYTES 12u
/* the most bytes of a body: more than an EXEC with the kernel's largest argument list needs */
#define FRAME_BODY_MAX_BYTES (8u << 20)
#define FRAME_DATA_MAX_BYTES 65536u /* of a data frame; as much as one pipe holds */
#define FRAME_FDS_MAX 3u            /* descriptors of one frame: stdin, stdout, stderr */
/* bytes that may be sent per stream and direction before a CREDIT comes */
#define FRAME_CREDIT_BYTES (256u << 10)

enum frame_type {
	FRAME_HELLO = 1,
	/* client: a command; descriptors come with the frame, unless the message has the flag
	 * EXEC_TTY, EXEC_DETACHED or EXEC_BACKGROUND */
	FRAME_EXEC = 2,
	FRAME_STARTED = 3, /* guest: the command runs under this session number */
	FRAME_EXIT = 4,    /* guest: the command's own process ended, or never started */
	FRAME_STDIN = 5,   /* client: data for a framed stream; an empty body is the end of input */
	FRAME_OUTPUT = 6,  /* guest: data of a framed stream; flags say stdout or stderr */
	FRAME_CREDIT = 7,  /* both: the other side may send this many more bytes on this stream */
	FRAME_RESIZE = 8,  /* client: terminal size */
	FRAME_DETACH = 9,  /* client: the client leaves, but the session goes on */
	FRAME_ATTACH = 10, /* client: attach to a command that has no client */
	/* client: the command has ended and the client ends now, but other processes still hold the
	 * command's output pipes open. The client's ends of these pipes come with this frame, and
	 * pid 1 goes on reading them */
	FRAME_LEAVE = 11,
	FRAME_PING = 12,
	FRAME_PONG = 13,
	FRAME_TOUCH = 14, /* client: only counts as activity */
	FRAME_ERROR = 15, /* guest or supervisor: the request failed; fields code, text */
	FRAME_FILE = 16,  /* client: a file operation on a framed stream; see wire/file.h */
	/* client: end the sandbox when its commands have ended. Pid 1 answers with a PONG that has
	 * the number of running commands */
	FRAME_QUIT = 17,
	/* client: a signal for the stream's command, or for all processes that this command
	 * started */
	FRAME_SIGNAL = 18,
	/* Pid 1 keeps some bytes for clients (struct state_message). A PUT that names the current
	 * version of the bytes replaces them and gives them a new version. Pid 1 refuses any other
	 * PUT */
	FRAME_STATE_GET = 19, /* client: asks for the kept bytes */
	FRAME_STATE_PUT = 20, /* client: new bytes, and the version that they replace */
	FRAME_STATE = 21,     /* guest: answer to STATE_GET and STATE_PUT, with the kept version */
	/* background commands, by number; see wire/background.h */
	FRAME_LIST = 22, /* client: asks for all commands; a PONG ends the answer */
	FRAME_LOOK = 23, /* client: asks for the state of a command and its output */
	FRAME_FEED = 24, /* client: input for a command */
	/* guest: state of a command. Answers LIST, LOOK, FEED, and a SIGNAL that names a command
	 * by its number */
	FRAME_COMMAND = 25,
	/* guest: the report of the stream's command: bytes that the command sent to pid 1
	 * (EXEC_REPORTS). This frame comes before EXIT */
	FRAME_REPORT = 26,
	/* supervisor to guest */
	FRAME_BOOT = 32,
	FRAME_SHUTDOWN = 33,
	FRAME_END = 34,   /* end every command; the body is the reason (enum end_reason) */
	FRAME_FULL = 35,  /* body: 1 if later commands cannot write to files, 0 if they can again */
	FRAME_COUNT = 36, /* asks how much commands have written so far */
	/* guest to supervisor */
	FRAME_READY = 40,
	FRAME_ACTIVITY = 41, /* flags: busy or idle */
	/* output that belongs into the sandbox's log: from detached commands, and from the pipes of
	 * a LEAVE. A server also sends LOG to the supervisor, on the leash (wire/leash.h) */
	FRAME_LOG = 42,
	FRAME_PRESENCE = 43, /* flags: busy while any process of the payload exists */
	FRAME_COUNTED = 44,  /* answer to COUNT */
	/* client to supervisor */
	FRAME_STOP = 48,
	FRAME_STOPPED = 49,
	FRAME_UPDATE = 50, /* changed settings; also supervisor to guest; see enum update_what */
	FRAME_OK = 51,
	FRAME_USAGE = 56,        /* asks what the sandbox uses */
	FRAME_USAGE_ANSWER = 57, /* supervisor: the answer */
	FRAME_LIMITS = 58,       /* on the leash (wire/leash.h): new limits of the sandbox */
	/* between a server and its hands; see wire/hand.h */
	FRAME_HAND_REQUEST = 64,
	FRAME_HAND_ANSWER = 65,
};

enum frame_flag {
	FRAME_FLAG_STDERR = 1 << 0, /* OUTPUT, LOG: from stderr, not stdout */
	FRAME_FLAG_JOINED = 1 << 1, /* OUTPUT, LOG: stdout and stderr are one (a terminal, 2>&1) */
	/* ACTIVITY: commands are running. PRESENCE: a process of the payload exists */
	FRAME_FLAG_BUSY = 1 << 2,
	/* Do not use 1 << 3 and 1 << 4. When a client older than version 0.1 sends EXEC and gets an
	 * ERROR, it looks at these two flags of the ERROR. */
	/* OUTPUT: earlier output that pid 1 kept. It is in the log already, so the client does not
	 * log it again */
	FRAME_FLAG_KEPT = 1 << 5,
	FRAME_FLAG_SCOPE = 1 << 6, /* SIGNAL: for all processes that the command started */
	/* SIGNAL by number: when the command ends, pid 1 kills the processes that the command left
	 * behind */
	FRAME_FLAG_WHOLE = 1 << 7,
};

struct frame {
	enum frame_type type;
	unsigned flags;
	uint32_t stream;
	struct str body; /* borrowed from the input */
};

/* Cuts one frame off the front of IN. Returns 1 and *RET, 0 if more bytes are needed, or -EPROTO if
 * the header is not valid. */
MUST_USE int frame_next(struct str *in, struct frame *ret);

/* Adds the N bytes at P to IN, calls FN for every complete frame, and keeps the rest in IN. FN
 * returns 0 to go on. If FN returns anything except 0 and FRAME_PAUSE, frame_feed() returns the
 * same value at once and does not touch IN any more, so FN may free IN. If FN returns FRAME_PAUSE,
 * frame_feed() returns 0 and keeps the frames after the current frame in IN. The next call goes on
 * with these frames; the N of that call may be 0. Returns 0, or -EPROTO if a header is not valid or
 * IN grows too large. */
#define FRAME_PAUSE 256
typedef int frame_fn(void *arg, const struct frame *f);
MUST_USE int frame_feed(struct buf *in, const void *p, size_t n, frame_fn *fn, void *arg);

/* To write a frame into B: call frame_begin(), append fields or bytes to B, and call
 * frame_end(). */
size_t frame_begin(struct buf *b, enum frame_type type, unsigned flags, uint32_t stream);
void frame_end(struct buf *b, size_t at);
void frame_put(struct buf *b, enum frame_type type, unsigned flags, uint32_t stream, const void *p,
	       size_t n);

/* --- fields ---------------------------------------------------------------------------------- */

void field_put(struct buf *b, uint8_t tag, const void *p, size_t n);
void field_put_str(struct buf *b, uint8_t tag, const char *s); /* with its terminator */
void field_put_u64(struct buf *b, uint8_t tag, uint64_t v);

struct field {
	uint8_t tag;
	struct str value;
};
/* Returns 1 and *RET, 0 at the end, or -EPROTO. */
MUST_USE int field_next(struct str *body, struct field *ret);
/* Returns the value as a C string. Returns NULL unless the value has exactly one NUL, at its
 * end. */
const char *field_str(const struct field *f);
/* Returns false unless the value has exactly 8 bytes. */
MUST_USE bool field_u64(const struct field *f, uint64_t *ret);
