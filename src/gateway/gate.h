/*
 * The first bytes a guest sends on a connection, held still until the name in them was judged.
 *
 * Guest root writes segments by hand: out of order, twice, with other bytes the second time, with
 * checksums or acknowledgements that make the stack behind us ignore the copy we read. So bytes
 * that were looked at are kept until that stack has acknowledged them, whatever arrives again for
 * the same place must be the same bytes, and nothing passes out of order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/hello.h"

struct gate;

enum gate_step {
	GATE_PASS,  /* let the segment through */
	GATE_DROP,  /* not now, or not these bytes: the sender will repeat itself */
	GATE_JUDGE, /* the hello is complete: decide, then let it through or end the connection */
};

/* START is the sequence number of the first byte of data. */
struct gate *gate_new(uint32_t start);
void gate_free(struct gate *g);

/* With GATE_JUDGE, KIND and NAME say what was seen; KIND is never HELLO_MORE. */
enum gate_step gate_feed(struct gate *g, uint32_t seq, const uint8_t *p, size_t n,
			 enum hello_kind *ret_kind, char ret_name[HELLO_NAME_BYTES]);
/* True once everything that was judged is acknowledged: the gate has done its work. */
bool gate_is_over(const struct gate *g, uint32_t ack);
