/*
 * The flows that policy let through: one entry per TCP connection or UDP conversation.
 *
 * A packet that belongs to no flow and does not begin one goes nowhere. The table follows TCP far
 * enough to know when a connection is over, so that --max-connections counts what is alive. Nothing
 * here reads a clock: times are given.
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
	struct flow *next; /* in its bucket */
	bool ingress;
	bool open;        /* TCP: the other side answered; UDP: a reply was seen */
	uint64_t last_ns; /* last packet either way */
	uint32_t start;   /* TCP: sequence number of the SYN that began it */
	int dial; /* TCP: the socket with which the stack dials, or -1; borrowed until it is open */
	unsigned mss; /* TCP: what the guest takes per segment; 0: not known */
	bool guest_fin, host_fin;
	bool guest_fin_acked, host_fin_acked;
	uint32_t guest_end, host_end; /* sequence number after the FIN */
	bool minds_names;             /* UDP: what a datagram shows may change the verdict */
	uint64_t probed_ns; /* TCP with a gate: when the stack was last asked what it takes */
	struct hold *hold;  /* owned; NULL when nothing needs to be read */
};

#define FLOW_BUCKETS 1024u
#define FLOW_OPENING_NS (80ull * 1000000000)    /* libslirp gives up a connect after 75 s */
#define FLOW_TCP_IDLE_NS (9000ull * 1000000000) /* beyond its keep-alive of two hours */
#define FLOW_UDP_IDLE_NS (60ull * 1000000000)   /* until a reply came */
#define FLOW_UDP_OPEN_NS (180ull * 1000000000)
#define FLOW_UDP_EVICT_NS (5ull * 1000000000) /* a full table gives up quiet conversations */

struct flow_table {
	struct flow *bucket[FLOW_BUCKETS];
	unsigned n, max;
};

void flow_table_init(struct flow_table *t, unsigned max);
void flow_table_done(struct flow_table *t);

struct flow *flow_find(struct flow_table *t, const struct flow_key *key);
/* NULL when the table is full and nothing idle can be given up. */
struct flow *flow_add(struct flow_table *t, const struct flow_key *key, uint64_t now_ns);
void flow_remove(struct flow_table *t, struct flow *f);
/* Forgets what has been idle too long. */
void flow_expire(struct flow_table *t, uint64_t now_ns);

/* Notes a segment of either side; true when the connection is over with it. */
bool flow_track(struct flow *f, const struct packet *p, bool from_guest);
