/*
 * Background commands (protocol 2): commands that pid 1 keeps without a client. Any client of the sandbox can
 * list them, look at their output and status, feed them input and send them signals, each by the command's
 * number and without keeping other clients out. ATTACH is what keeps others out.
 *
 * Pid 1 keeps the last BACKGROUND_OUTPUT_BYTES of a command's output. Bytes of output are numbered from 0, so a
 * client that remembers an offset sees each byte once and learns how many were dropped before it came.
 *
 * Here are the bodies of LOOK, FEED and COMMAND, with tags of their own. Decoded strings are borrowed from the
 * frame; decoders refuse what is out of range with -EPROTO.
 */
#pragma once

#include "wire/message.h"

#define BACKGROUND_MAX 64u                     /* commands at once, with those that have ended */
#define BACKGROUND_OUTPUT_BYTES (256u << 10)   /* of each command's output are kept … */
#define BACKGROUND_INPUT_BYTES (256u << 10)    /* … and of its input, until it reads that */
#define BACKGROUND_WORDS_MAX_BYTES 1024u       /* of the words of a command that are listed */
#define BACKGROUND_KEEP_MAX_MS (1800u * 1000u) /* how long after its end a command is kept */

enum look_flag {
	LOOK_UNTIL_OUTPUT = 1 << 0, /* answer when there is output from the offset on … */
	LOOK_UNTIL_END = 1 << 1,    /* … or when the command has ended … */
	LOOK_UNTIL_ROOM = 1 << 2, /* … or when FEED would take some input. Else answer at once */
	LOOK_TAIL = 1 << 3,       /* the last bytes, wherever they begin */
	LOOK_TAKE = 1 << 4,       /* forget the command if it has ended */
};

/* LOOK: how is this command, and what did it print? A LOOK that waits is answered at the command's end in any
 * case; a second one on its stream takes its place. */
struct look_message {
	uint64_t id;
	uint64_t flags; /* enum look_flag */
	uint64_t offset;
	uint64_t most; /* bytes of output in the answer */
};
void look_encode(struct buf *b, const struct look_message *m);
MUST_USE int look_decode(struct str body, struct look_message *ret);

/* FEED: input for a command. The answer says how many bytes were taken; the end counts only if all were. */
struct feed_message {
	uint64_t id;
	bool end;
	struct str data; /* at most FRAME_DATA_MAX_BYTES */
};
void feed_encode(struct buf *b, const struct feed_message *m);
MUST_USE int feed_decode(struct str body, struct feed_message *ret);

enum command_flag {
	COMMAND_BACKGROUND = 1 << 0, /* kept by pid 1; else it ends with its client */
	COMMAND_TERMINAL = 1 << 1,
	COMMAND_ATTACHED = 1 << 2, /* a client has it */
	COMMAND_ENDED = 1 << 3,
	COMMAND_NO_INPUT = 1 << 4, /* FEED would find nobody who reads */
	COMMAND_CUT = 1 << 5,      /* there are more words, or longer ones, than are shown */
};

/* COMMAND: the answer to LOOK, FEED and a SIGNAL by number; LIST is answered by one for each command. */
struct command_message {
	uint64_t id;
	uint64_t flags; /* enum command_flag */
	uint64_t pid;   /* inside; 0: unknown, or ended */
	uint64_t age_ms;
	uint64_t ended_ms;       /* COMMAND_ENDED: how long ago */
	struct exit_message end; /* COMMAND_ENDED */
	struct str words;        /* of the command, each with its terminator */
	uint64_t total;          /* bytes of output so far */
	uint64_t first;          /* offset of the oldest that is kept: so many were dropped */
	uint64_t room;           /* bytes that FEED would take */
	uint64_t report;         /* bytes of the report that is kept */
	uint64_t offset;         /* LOOK: of the data */
	struct str data;         /* at most BACKGROUND_OUTPUT_BYTES */
	uint64_t taken;          /* FEED */
};
void command_encode(struct buf *b, const struct command_message *m);
MUST_USE int command_decode(struct str body, struct command_message *ret);
