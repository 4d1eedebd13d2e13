/*
 * What pid 1 keeps of background commands (wire/background.h): the last of their output, how they ended, what they
 * reported, and what a list says of them. An entry is made before its command starts and stays until a client has
 * taken the status, or for a while after the end.
 *
 * Pure state: no descriptor and no clock, the time is an argument. Every byte is taken from the pool of the table
 * before it is allocated, so an entry is either whole or refused with ERR_LIMIT.
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
	uint64_t sent;     /* an attached client was sent all output before this offset */
	bool holds_input;  /* BACKGROUND_INPUT_BYTES are taken for it */
	struct str report; /* owned */
	uint64_t began_ns, ended_ns, keep_ns;
	bool ended;
	struct exit_message end;
	size_t cost; /* taken from the pool, without input and report */
	/* the client that was told the end and has not shown yet that it heard; or NULL */
	const struct connection *taker;
};

struct backgrounds {
	struct background *first; /* the latest comes first */
	unsigned n;
	struct pool pool; /* shared with the state blob */
};

struct background_spec {
	uint64_t id;
	bool terminal;
	bool joined;               /* standard output and error are one stream */
	uint64_t keep_ms;          /* 0: as long as possible */
	const struct words *words; /* copied */
	uint64_t began_ns;
};

/* ERR_LIMIT: there are BACKGROUND_MAX commands, or the pool has not enough left. */
MUST_USE int background_new(struct backgrounds *t, const struct background_spec *s,
			    struct background **ret, struct err *e);
void background_free(struct backgrounds *t, struct background *b);
struct background *background_find(const struct backgrounds *t, uint64_t id);

/* May pid 1 hold BACKGROUND_INPUT_BYTES of input for B? They stay taken until background_let_go(). */
MUST_USE bool background_hold(struct backgrounds *t, struct background *b);
void background_let_go(struct backgrounds *t, struct background *b);
/* Keeps the N bytes at P, which were taken from the pool already and are the table's from here on. */
void background_report(struct backgrounds *t, struct background *b, char *p, size_t n);

/* The command has ended. */
void background_end(struct background *b, const struct exit_message *end, uint64_t now_ns);
/* When the next entry is due to be dropped; 0: none is. */
uint64_t backgrounds_due(const struct backgrounds *t);
/* Drops what nobody fetched in time. */
void backgrounds_expire(struct backgrounds *t, uint64_t now_ns);

/* What is known of B without its process; the strings are borrowed from it. */
void background_tell(const struct background *b, uint64_t now_ns, struct command_message *ret);
/* The part of B's output that M asks for: an offset in *RET_AT and a length. */
size_t background_part(const struct background *b, const struct look_message *m, uint64_t *ret_at);
