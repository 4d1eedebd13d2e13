/*
 * The hold takes the bytes of the guest's segments and acknowledges them to the guest, as if the
 * server had received them. A name in the bytes is judged as soon as it is complete. From the bytes
 * that were judged and may pass, we make new segments for the stack.
 *
 * We cannot rely on the stack (libslirp) to tell us when its window opens again: libslirp sends a
 * window update only if the window has room for two more segments. On a link with large segments
 * this never happens, because two segments of TRAIN_MSS bytes (firewall.c) are more than the
 * largest window. So while a hold has bytes that may pass, and the window is closed, probe() asks
 * the stack for its window once in each turn of the loop.
 */
#include "gateway/held_flow.h"

#include "base/cleanup.h"
#include "gateway/firewall.h"
#include "gateway/verdict.h"

/* Sends the stack a segment of N bytes that may pass. After this call F may have been freed. */
static void give(struct gateway *g, struct flow *f, uint8_t flags, size_t n)
{
	uint8_t frame[ETH_BYTES + 64 + HOLD_GIVE_MAX_BYTES];
	struct packet_ends ends = firewall_ends(g, &f->key, true);
	struct tcp_fields tcp;
	size_t most, len;

	hold_fill_tcp(f->hold, true, &tcp);
	tcp.flags |= flags;
	len = packet_make_tcp(frame, &ends, &tcp, hold_bytes(f->hold, &most), n);
	hold_gave(f->hold, n);
	if (n > 0)
		f->probed_ns = 0;
	if (flags & TCP_FIN)
		hold_gave_end(f->hold);
	stack_input(g->stack, frame, len);
}

static void acknowledge(struct gateway *g, const struct flow *f, uint8_t flags)
{
	struct packet_ends ends = firewall_ends(g, &f->key, false);
	uint8_t frame[REPLY_MAX_BYTES];
	struct tcp_fields tcp;

	hold_fill_tcp(f->hold, false, &tcp);
	tcp.flags |= flags;
	firewall_send(g, frame, packet_make_tcp(frame, &ends, &tcp, NULL, 0));
}

static void cut_off(struct gateway *g, struct flow *f)
{
	acknowledge(g, f, TCP_RST);
	firewall_end_flow(g, f, 0, 0);
}

/* Gives the stack the bytes that may pass. Returns the flow, or NULL if it has ended. */
static struct flow *work_hold(struct gateway *g, struct flow *f)
{
	struct flow_key key = f->key;
	struct hello h;
	size_t n;

	while (f && f->hold) {
		switch (hold_next(f->hold, &h)) {
		case HOLD_WAIT:
			return f;
		case HOLD_JUDGE:
			if (!verdict_on_hello(g, &key, &h)) {
				cut_off(g, f);
				return NULL;
			}
			hold_allow(f->hold, &h);
			break;
		case HOLD_GIVE:
			IGNORE(hold_bytes(f->hold, &n));
			give(g, f, TCP_PSH, n);
			f = flow_find(&g->flows, &key);
			break;
		}
	}
	return f;
}

/* Handles the guest's FIN. If only a part of a name was sent, the name counts as unreadable. */
static void end_of_held(struct gateway *g, struct flow *f)
{
	struct hello unfinished = { .kind = HELLO_BAD };

	if (hold_is_unfinished(f->hold)) {
		if (!verdict_on_hello(g, &f->key, &unfinished)) {
			cut_off(g, f);
			return;
		}
		hold_allow(f->hold, &unfinished);
		f = work_hold(g, f);
	}
	if (f && f->hold && !hold_has_bytes(f->hold))
		give(g, f, TCP_FIN, 0);
}

void held_flow_from_guest(struct gateway *g, struct flow *f, const struct packet *p)
{
	if (!packet_checksum_ok(p)) {
		/* the stack would ignore this segment, so we must not read it */
		g->counters.dropped++;
		return;
	}
	if (flow_track(f, p, true)) {
		firewall_end_flow(g, f, 0, 0);
		return;
	}
	if (!f->open) {
		g->counters.dropped++; /* the stack has not sent its first sequence number yet */
		return;
	}
	hold_take(f->hold, p);
	f = work_hold(g, f);
	if (!f)
		return;
	if (!f->hold) {
		/* The hold is over, so the stack now gets the guest's own segments. It gets P too,
		 * because P may have bytes that the hold did not take, or a FIN. */
		stack_input(g->stack, p->frame, p->n);
		return;
	}
	if (p->data_n > 0 || p->seq != hold_taken(f->hold))
		acknowledge(g, f, 0);
	if (p->flags & TCP_FIN && p->seq + (uint32_t)p->data_n == hold_taken(f->hold)) {
		end_of_held(g, f);
		return;
	}
	g->holds_wait |= hold_is_passing(f->hold);
	give(g, f, 0, 0); /* passes the guest's acknowledgement on */
}

/* Asks the stack how large its window is (see the top of this file). After this call F may have
 * been freed. */
static void probe(struct gateway *g, struct flow *f)
{
	struct packet_ends ends = firewall_ends(g, &f->key, true);
	uint8_t frame[REPLY_MAX_BYTES];
	struct tcp_fields tcp;

	f->probed_ns = g->now_ns;
	hold_fill_tcp(f->hold, true, &tcp);
	/* This sequence number is too old, so the stack answers with an acknowledgement. The header
	 * of this acknowledgement says how large the stack's window is. */
	tcp.seq--;
	stack_input(g->stack, frame, packet_make_tcp(frame, &ends, &tcp, NULL, 0));
}

/* Gives the stack as many bytes of each hold as the stack's window allows. If the window of a flow
 * is closed, calls probe() once in each turn of the loop. */
void held_flows_go_on(struct gateway *g)
{
	g->holds_wait = false;
	for (unsigned i = 0; i < FLOW_BUCKETS; i++) {
		struct flow *f = g->flows.bucket[i];

		while (f) {
			if (!f->hold || !hold_is_passing(f->hold)) {
				f = f->next;
				continue;
			}
			if (hold_can_give(f->hold)) {
				f = work_hold(g, f);
				/* tell the guest that the hold has room again */
				if (f && f->hold)
					acknowledge(g, f, 0);
			} else if (f->probed_ns != g->now_ns) {
				probe(g, f);
			} else {
				g->holds_wait = true;
				f = f->next;
				continue;
			}
			/* start over, because other flows may have been removed */
			f = g->flows.bucket[i];
		}
	}
}
