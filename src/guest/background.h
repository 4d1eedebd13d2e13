/*
 * What pid 1 keeps of background commands (wire/background.h): the last part of their output, how
 * they ended, what they reported, and what LIST shows of them. pid 1 makes an entry before the
 * command starts. When a client has got the exit status, pid 1 drops the entry. If no client
 * fetches the exit status, pid 1 drops the entry some time after the command's end (keep_ms).
 *
 * These functions use no descriptor and no clock; the caller passes the time. When an entry is
 * made, the bytes that it needs are taken from the table's pool (guest/pool.h). If the pool has too
 * few bytes left, the entry is refused with ERR_LIMIT. So every entry is complete.
 */
#pragma once

#include "base/err.h"
#include "guest/pool.h"
#include "guest/ring.h"
#include "guest/words.h"
#include "wire/background.h"

struct connection;

struct background {
	struct background *next;
	uint64_t id;
	unsigned flags; /* COMMAND_TERMINAL, COMMAND_CUT */
	struct words words;
	struct ring out;
	/* the modes of the terminal after all output; all zeros without a terminal */
	struct screen screen;
	/* True for a command that has a terminal and shall end with its client. pid 1 keeps the
	 * output only because the client may detach later. Until then no other client sees the
	 * entry. If the client never detaches, pid 1 drops the entry when the command ends. */
	bool hidden;
	uint64_t sent;     /* all output before this offset was sent to an attached client */
	size_t input_cost; /* bytes of the pool that are reserved for the command's input */
	struct str report; /* owned */
	uint64_t began_ns, ended_ns, keep_ns;
	bool ended;
	struct exit_message end;
	size_t cost; /* bytes taken from the pool, without input and report */
	/* the client to which pid 1 sent the frame EXIT, as long as pid 1 does not know whether
	 * the client has read it; or NULL */
	const struct connection *taker;
	/* where EXIT ends in the bytes to `taker`, as connection_end_of_queue() counts */
	uint64_t exit_end;
};

struct backgrounds {
	struct background *first; /* the latest comes first */
	unsigned n;
	struct pool pool; /* shared with the state blob (guest/state_blob.h) */
};

struct background_spec {
	uint64_t id;
	bool terminal;
	bool hidden;
	bool joined; /* standard output and error are one stream */
	/* how long the entry stays after the command's end; 0 and values above
	 * BACKGROUND_KEEP_MAX_MS mean BACKGROUND_KEEP_MAX_MS */
	uint64_t keep_ms;
	const struct words *words; /* copied */
	uint64_t began_ns;
};

/* background_new() refuses a hidden entry if it would leave fewer free places than this in the
 * table. So commands that a client starts in the background always find some places. */
#define BACKGROUND_RESERVED (BACKGROUND_MAX / 2)

/* Makes an entry. Fails with ERR_LIMIT if the pool has too few bytes left or if there are
 * BACKGROUND_MAX entries; a hidden entry already fails if there are BACKGROUND_MAX -
 * BACKGROUND_RESERVED entries. */
MUST_USE int background_new(struct backgrounds *t, const struct background_spec *s,
			    struct background **ret, struct err *e);
void background_free(struct backgrounds *t, struct background *b);
/* Returns the entry of the command with the number ID. Returns NULL if there is none, or if it
 * is hidden. */
struct background *background_find(const struct backgrounds *t, uint64_t id);
/* Adds N bytes of output. IS_ERROR says that they are from standard error. */
void background_add(struct background *b, const char *p, size_t n, bool is_error);

/* Reserves bytes of the pool for the input of B, until background_let_go(), so that N bytes are
 * reserved in all. Returns false if the pool has too few bytes left. */
MUST_USE bool background_hold(struct backgrounds *t, struct background *b, size_t n);
/* Gives back what is reserved for the input of B, except for N bytes. */
void background_let_go(struct backgrounds *t, struct background *b, size_t n);
/* Keeps the N bytes at P as the report of B. The caller has already taken N bytes from the pool. B
 * owns the memory after this call. */
void background_report(struct backgrounds *t, struct background *b, char *p, size_t n);

/* Records that the command has ended, and how. */
void background_end(struct background *b, const struct exit_message *end, uint64_t now_ns);
/* Returns the time at which the next entry must be dropped, or 0 if no entry has such a time. */
uint64_t backgrounds_due(const struct backgrounds *t);
/* Drops the entries whose exit status no client has fetched in time. */
void backgrounds_expire(struct backgrounds *t, uint64_t now_ns);

/* Fills RET from B alone and does not look at the process. The strings in RET belong to B. */
void background_tell(const struct background *b, uint64_t now_ns, struct command_message *ret);
/* Finds the part of B's output that M asks for. Returns the length of the part, and sets *RET_AT
 * to its offset. */
size_t background_part(const struct background *b, const struct look_message *m, uint64_t *ret_at);
