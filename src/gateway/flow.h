/*
 * The table of flows that policy allowed. A flow is a TCP connection or a UDP conversation.
 *
 * A packet is passed on only if it belongs to a flow or begins a new flow. The table looks at the
 * flags of TCP segments to know when a connection is over, so that `--max-connections` counts only
 * live connections. The table has no clock; the caller passes the time.
 */
#pragma once

#include "gateway/hold.h"
#include "gateway/packet.h"

struct flow_key {
	enum packet_kind kind; /* PACKET_TCP or PACKET_UDP */
	struct addr peer;
	uint16_t peer_port, guest_port;
};

struct flow {
	struct flow_key key;
	struct flow *next; /* the next flow in the same hash bucket */
	bool ingress;
	bool open;        /* the side that did not begin the flow has answered */
	uint64_t last_ns; /* when the last packet passed, in either direction */
	uint32_t start;   /* TCP: sequence number of the first SYN */
	/* TCP: the stack's socket for this connection, or -1; borrowed, and valid only until
	 * `open` is set */
	int dial;
	unsigned mss; /* TCP: the largest segment that the guest takes; 0 if unknown */
	bool guest_fin, host_fin;
	bool guest_fin_acked, host_fin_acked;
	uint32_t guest_end, host_end; /* the sequence number after the FIN of each side */
	bool minds_names;             /* UDP: a name in a datagram may change the verdict */
	uint64_t probed_ns;           /* TCP with a hold: when the stack's window was last probed */
	struct hold *hold; /* owned; NULL if no name in the guest's bytes can change the verdict */
};

#define FLOW_BUCKETS 1024u
/* A flow is removed if no packet has passed for this long. The limit depends on the protocol, and
 * on whether the other side has answered (the member `open`). */
#define FLOW_OPENING_NS (80ull * 1000000000)    /* libslirp gives up a connect after 75 s */
#define FLOW_TCP_IDLE_NS (9000ull * 1000000000) /* longer than libslirp's keep-alive of two hours */
#define FLOW_UDP_IDLE_NS (60ull * 1000000000)   /* while no reply has come */
#define FLOW_UDP_OPEN_NS (180ull * 1000000000)
/* if the table is full, a new flow replaces the UDP conversation that was idle longest, but only if
 * no packet of this conversation has passed for this long */
#define FLOW_UDP_EVICT_NS (5ull * 1000000000)

struct flow_table {
	struct flow *bucket[FLOW_BUCKETS];
	unsigned n, max;
};

void flow_table_init(struct flow_table *t, unsigned max);
void flow_table_done(struct flow_table *t);

struct flow *flow_find(struct flow_table *t, const struct flow_key *key);
/* Adds a flow. Returns NULL if the table is full and no idle flow can be removed. */
struct flow *flow_add(struct flow_table *t, const struct flow_key *key, uint64_t now_ns);
void flow_remove(struct flow_table *t, struct flow *f);
/* Removes the flows that were idle for too long. */
void flow_expire(struct flow_table *t, uint64_t now_ns);

/* Updates the flow by a segment of either side. Returns true if the segment ended the
 * connection. */
bool flow_track(struct flow *f, const struct packet *p, bool from_guest);
