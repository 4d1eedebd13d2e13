/*
 * Holds the bytes that a guest sends on a connection until the names in them are judged.
 *
 * Root in the guest can write segments by hand: out of order, twice, with other bytes the second time,
 * or with checksums and acknowledgements that make the stack behind us ignore the copy that we read. So
 * the hold takes each byte once and in order, and acknowledges it itself. It gives the stack segments
 * that are made of the very bytes that were judged, and no more than the stack's window takes. Until
 * the hold is over, the stack gets no other data of the guest.
 */
#pragma once

#include "gateway/packet.h"
#include "wire/sniff.h"

#define HOLD_GIVE_MAX_BYTES 16384u /* in one segment */

struct hold;

enum hold_step {
	HOLD_WAIT, /* until the guest sends more, or the stack takes more */
	HOLD_JUDGE, /* the caller judges *RET_HELLO, then calls hold_allow() or ends the connection */
	HOLD_GIVE, /* the caller gives the stack the bytes of hold_bytes(), then calls hold_gave() */
};

/* START is the sequence number of the first byte of data. HTTP: the Host of requests matters
 * too. */
struct hold *hold_new(uint32_t start, bool http);
void hold_free(struct hold *g);

/* Notes what a segment of the stack says: how far it has sent, and how much it takes. */
void hold_hear_stack(struct hold *g, const struct packet *p);
/* Changes such a segment on its way to the guest: it acknowledges the bytes that we took, and
 * offers the room that we have. */
void hold_mark_to_guest(const struct hold *g, struct packet *p);
/* Takes the data of a segment whose checksum is right. Data that is not next, or has no room, is
 * not taken: the guest will repeat it. An acknowledgement of what was never sent is ignored. */
void hold_take(struct hold *g, const struct packet *p);
enum hold_step hold_next(struct hold *g, struct hello *ret_hello);
void hold_allow(struct hold *g, const struct hello *h);
const uint8_t *hold_bytes(const struct hold *g, size_t *ret_n);
void hold_gave(struct hold *g, size_t n);
/* We sent the stack a FIN, which takes one sequence number. */
void hold_gave_end(struct hold *g);

/* True if there are bytes to give, and the stack takes some. */
bool hold_can_give(const struct hold *g);
/* True if there are any bytes; bytes that wait for the stack only; bytes that are not judged
 * yet. */
bool hold_has_bytes(const struct hold *g);
bool hold_is_passing(const struct hold *g);
bool hold_is_unfinished(const struct hold *g);
/* True if no name can follow, and the stack has acknowledged all bytes: the hold is no longer
 * needed. */
bool hold_is_over(const struct hold *g);

/* The sequence number of the guest's next byte. */
uint32_t hold_taken(const struct hold *g);
/* Fills in the numbers of a segment: from the guest to the stack, or from the peer to the guest. */
void hold_fill_tcp(const struct hold *g, bool to_stack, struct tcp_fields *ret);
