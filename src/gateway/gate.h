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

#define GATE_GIVE_MAX_BYTES 16384u /* in one segment */

struct gate;

enum gate_step {
	GATE_WAIT,  /* for the guest, or for the stack to take more */
	GATE_JUDGE, /* decide about what is shown, then gate_allow() or end the connection */
	GATE_GIVE,  /* give the stack the bytes of gate_bytes(), then gate_gave() */
};

/* START is the sequence number of the first byte of data. HTTP: the Host of requests counts. */
struct gate *gate_new(uint32_t start, bool http);
void gate_free(struct gate *g);

/* A segment of the stack: what it has sent and what it takes. */
void gate_hear(struct gate *g, const struct packet *p);
/* The same on its way to the guest: it acknowledges what we took, and offers the room that we have. */
void gate_mark(const struct gate *g, struct packet *p);
/* A segment of the guest, whose checksum is right. Data that is not next, or has no room, is left for it to
 * repeat; an acknowledgement of what was never sent does not count. */
void gate_take(struct gate *g, const struct packet *p);
enum gate_step gate_next(struct gate *g, struct hello *ret_hello);
void gate_allow(struct gate *g, const struct hello *h);
const uint8_t *gate_bytes(const struct gate *g, size_t *ret_n);
void gate_gave(struct gate *g, size_t n);
/* The stack was told that no more follows: that takes a number too. */
void gate_gave_end(struct gate *g);

/* There is something to give, and the stack takes it. */
bool gate_can_give(const struct gate *g);
/* Some bytes wait: for the stack (passing), or for more of them (unfinished). */
bool gate_holds(const struct gate *g);
bool gate_is_passing(const struct gate *g);
bool gate_is_unfinished(const struct gate *g);
/* Nothing more is to be read, and the stack has acknowledged all it was given: the gate has done its work. */
bool gate_is_over(const struct gate *g);

/* The sequence number of the next byte of the guest. */
uint32_t gate_taken(const struct gate *g);
/* The numbers of a segment to the stack in the guest's name, or to the guest in the name of its peer. */
void gate_speak(const struct gate *g, bool to_stack, struct tcp_fields *ret);
