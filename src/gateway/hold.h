/*
 * A hold keeps the bytes that a guest sends on a connection until the host names in these bytes are
 * judged.
 *
 * Root in the guest can write segments by hand. Such segments may come out of order, or twice with
 * different bytes. For example, the first copy of a segment has a good name and a wrong checksum,
 * and the second copy has a bad name. We would judge the first copy, but the stack would ignore the
 * first copy and take the second. So the hold takes each byte once and in order, and acknowledges
 * the byte to the guest. The hold makes new segments from the bytes that were judged, and gives the
 * stack as many bytes as the stack's window allows. Until the hold is over, the stack gets no other
 * data of the guest.
 */
#pragma once

#include "gateway/packet.h"
#include "wire/sniff.h"

#define HOLD_GIVE_MAX_BYTES 16384u /* the most bytes of data in one segment to the stack */

struct hold;

enum hold_step {
	HOLD_WAIT, /* the caller waits until the guest sends more or the stack takes more */
	/* the caller judges *RET_HELLO, then calls hold_allow() or ends the connection */
	HOLD_JUDGE,
	/* the caller gives the stack the bytes of hold_bytes(), then calls hold_gave() */
	HOLD_GIVE,
};

/* Makes a hold for a new connection. START is the sequence number of the first byte of data. If
 * HTTP is true, the header `Host` of HTTP requests is judged, too. */
struct hold *hold_new(uint32_t start, bool http);
void hold_free(struct hold *g);

/* Learns from a segment of the stack which bytes the stack has sent, which bytes of the guest it
 * has acknowledged, and how large the stack's window is. */
void hold_hear_stack(struct hold *g, const struct packet *p);
/* Changes a segment that the stack sends to the guest: the segment then acknowledges the bytes that
 * the hold took, and its window is the free space of the hold. Leaves the segment as it is if it
 * acknowledges the guest's FIN. */
void hold_mark_to_guest(const struct hold *g, struct packet *p);
/* Takes the data of a segment of the guest. The caller must have checked the checksum. Drops data
 * that is out of order or does not fit; the guest will send this data again. Ignores an
 * acknowledgement of bytes that were never sent. */
void hold_take(struct hold *g, const struct packet *p);
enum hold_step hold_next(struct hold *g, struct hello *ret_hello);
void hold_allow(struct hold *g, const struct hello *h);
const uint8_t *hold_bytes(const struct hold *g, size_t *ret_n);
void hold_gave(struct hold *g, size_t n);
/* Notes that the stack got a FIN, which takes one sequence number. */
void hold_gave_end(struct hold *g);

/* Returns true if there are bytes that may pass, and the stack's window has room. */
bool hold_can_give(const struct hold *g);
/* hold_has_bytes() returns true if the hold has any bytes. hold_is_passing() returns true if bytes
 * were judged and only wait for the stack. hold_is_unfinished() returns true if bytes are not
 * judged yet. */
bool hold_has_bytes(const struct hold *g);
bool hold_is_passing(const struct hold *g);
bool hold_is_unfinished(const struct hold *g);
/* Returns true if no further name can come and the stack has acknowledged all bytes. The caller can
 * then free the hold. */
bool hold_is_over(const struct hold *g);

/* Returns the sequence number of the next byte that the hold takes from the guest. */
uint32_t hold_taken(const struct hold *g);
/* Fills in the sequence number, the acknowledgement number and the window of a segment. The segment
 * goes to the stack if TO_STACK is true, otherwise to the guest. */
void hold_fill_tcp(const struct hold *g, bool to_stack, struct tcp_fields *ret);
