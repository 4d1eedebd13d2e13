/*
 * The bytes a guest sends on a connection, held until the names in them were judged.
 *
 * Guest root writes segments by hand: out of order, twice, with other bytes the second time, with
 * checksums or acknowledgements that make the stack behind us ignore the copy we read. So the gate takes
 * bytes in order and once, acknowledges them itself, and what it gives to the stack are segments made of
 * the very bytes that were judged, within the window of that stack. The stack sees nothing else of the
 * guest's data until the gate is over.
 */
#pragma once

#include "gateway/packet.h"
#include "wire/sniff.h"

#define HOLD_GIVE_MAX_BYTES 16384u /* in one segment */

struct hold;

enum hold_step {
	HOLD_WAIT,  /* for the guest, or for the stack to take more */
	HOLD_JUDGE, /* decide about what is shown, then hold_allow() or end the connection */
	HOLD_GIVE,  /* give the stack the bytes of hold_bytes(), then hold_gave() */
};

/* START is the sequence number of the first byte of data. HTTP: the Host of requests counts. */
struct hold *hold_new(uint32_t start, bool http);
void hold_free(struct hold *g);

/* A segment of the stack: what it has sent and what it takes. */
void hold_hear_stack(struct hold *g, const struct packet *p);
/* The same on its way to the guest: it acknowledges what we took, and offers the room that we have. */
void hold_mark_to_guest(const struct hold *g, struct packet *p);
/* A segment of the guest, whose checksum is right. Data that is not next, or has no room, is left for it to
 * repeat; an acknowledgement of what was never sent does not count. */
void hold_take(struct hold *g, const struct packet *p);
enum hold_step hold_next(struct hold *g, struct hello *ret_hello);
void hold_allow(struct hold *g, const struct hello *h);
const uint8_t *hold_bytes(const struct hold *g, size_t *ret_n);
void hold_gave(struct hold *g, size_t n);
/* The stack was told that no more follows: that takes a number too. */
void hold_gave_end(struct hold *g);

/* There is something to give, and the stack takes it. */
bool hold_can_give(const struct hold *g);
/* Some bytes wait: for the stack (passing), or for more of them (unfinished). */
bool hold_has_bytes(const struct hold *g);
bool hold_is_passing(const struct hold *g);
bool hold_is_unfinished(const struct hold *g);
/* Nothing more is to be read, and the stack has acknowledged all it was given: the gate has done its work. */
bool hold_is_over(const struct hold *g);

/* The sequence number of the next byte of the guest. */
uint32_t hold_taken(const struct hold *g);
/* The numbers of a segment to the stack in the guest's name, or to the guest in the name of its peer. */
void hold_fill_tcp(const struct hold *g, bool to_stack, struct tcp_fields *ret);
