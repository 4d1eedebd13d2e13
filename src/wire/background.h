/*
 * Background commands (protocol 2). These are commands that pid 1 keeps without a client. Any
 * client of the sandbox can list them. By a command's number, a client can look at the command's
 * output and status, give it input and send it signals. Several clients can do so at the same time,
 * but only one client can be attached (ATTACH).
 *
 * Pid 1 keeps the last BACKGROUND_OUTPUT_BYTES of a command's output. Bytes of output are numbered
 * from 0. So a client that remembers an offset gets each byte only once, and learns how many bytes
 * it missed.
 *
 * This file declares the bodies of the frames LOOK, FEED and COMMAND, and the fields that STARTED
 * has only as the answer to ATTACH. Decoded strings are borrowed from the frame. Decoders return
 * -EPROTO for values out of range.
 */
#pragma once

#include "wire/message.h"
#include "wire/screen.h"

#define BACKGROUND_MAX 64u                     /* the most commands, running or ended */
#define BACKGROUND_OUTPUT_BYTES (256u << 10)   /* output that is kept of each command */
#define BACKGROUND_INPUT_BYTES (256u << 10)    /* input that is kept until a command reads it */
#define BACKGROUND_WORDS_MAX_BYTES 1024u       /* part of a command line that a list shows */
#define BACKGROUND_KEEP_MAX_MS (1800u * 1000u) /* how long a command is kept after its end */

enum look_flag {
	/* If none of the first three flags is set, pid 1 answers at once. */
	LOOK_UNTIL_OUTPUT = 1 << 0, /* answer when there is output at or after the offset */
	LOOK_UNTIL_END = 1 << 1,    /* answer when the command has ended */
	LOOK_UNTIL_ROOM = 1 << 2,   /* answer when FEED would take some input */
	LOOK_TAIL = 1 << 3,         /* send the last bytes; ignore the offset */
	LOOK_TAKE = 1 << 4,         /* forget the command if it has ended */
};

/* LOOK asks for the state of a command and for its output. When the command ends, pid 1 answers
 * every LOOK that waits. A second LOOK on the same stream replaces the first.
 *
 * For a command that is no background command, a LOOK waits only if it has the flag LOOK_UNTIL_END.
 * Pid 1 does not keep the status of such a command. So when the command ends, the answer is
 * ERR_NOT_FOUND. */
struct look_message {
	uint64_t id;
	uint64_t flags; /* enum look_flag */
	uint64_t offset;
	uint64_t most; /* the answer has at most this many bytes of output */
};
void look_encode(struct buf *b, const struct look_message *m);
MUST_USE int look_decode(struct str body, struct look_message *ret);

/* FEED carries input for a command. The answer says how many bytes pid 1 took. `end` has an effect
 * only if pid 1 took all bytes. */
struct feed_message {
	uint64_t id;
	bool end;        /* no more input follows */
	struct str data; /* at most FRAME_DATA_MAX_BYTES */
};
void feed_encode(struct buf *b, const struct feed_message *m);
MUST_USE int feed_decode(struct str body, struct feed_message *ret);

/* If STARTED is the answer to ATTACH, it also has these fields. After STARTED the client first gets
 * `kept` bytes of earlier output. The last `fresh` bytes of this output are new: no client has got
 * them before. `screen` is text that brings a terminal from its default modes into the modes of the
 * command's terminal (wire/screen.h). An older pid 1 sends none of these fields. */
struct attached_message {
	uint64_t kept, fresh;
	struct str screen; /* at most SCREEN_TEXT_MAX_BYTES; empty if the command has no terminal */
};
/* Adds the fields to a body that started_encode() has begun. */
void attached_encode(struct buf *b, const struct attached_message *m);
MUST_USE int attached_decode(struct str body, struct attached_message *ret);

enum command_flag {
	/* a background command; other commands end with their client */
	COMMAND_BACKGROUND = 1 << 0,
	COMMAND_TERMINAL = 1 << 1,
	COMMAND_ATTACHED = 1 << 2, /* a client is attached */
	COMMAND_ENDED = 1 << 3,
	COMMAND_NO_INPUT = 1 << 4, /* the command takes no input from FEED */
	COMMAND_CUT = 1 << 5,      /* `words` is only the beginning of the command line */
};

/* COMMAND is the answer to LOOK and FEED, and to a SIGNAL that names a command by its number. The
 * answer to LIST is one COMMAND for each command. */
struct command_message {
	uint64_t id;
	uint64_t flags; /* enum command_flag */
	uint64_t pid;   /* in the sandbox's pid namespace; 0 if unknown or ended */
	uint64_t age_ms;
	uint64_t ended_ms;       /* COMMAND_ENDED: how long ago the command ended */
	struct exit_message end; /* COMMAND_ENDED: status of the command */
	struct str words;        /* the command line, each word with its terminator */
	uint64_t total;          /* bytes of output so far */
	uint64_t first;          /* offset of the oldest byte of output that is kept */
	uint64_t room;           /* bytes that FEED would take */
	uint64_t report;         /* length of the report (FRAME_REPORT) that pid 1 keeps */
	uint64_t offset;         /* LOOK: offset of `data` in the output */
	struct str data;         /* LOOK: output, at most BACKGROUND_OUTPUT_BYTES */
	uint64_t taken;          /* FEED: bytes that were taken */
};
void command_encode(struct buf *b, const struct command_message *m);
MUST_USE int command_decode(struct str body, struct command_message *ret);
