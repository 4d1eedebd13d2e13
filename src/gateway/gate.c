#include "gateway/gate.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct gate {
	struct sniff sniff;
	struct buf held; /* taken and not given */
	size_t passed;   /* of those, judged: may be given */
	size_t wanted;   /* bytes without which looking again is useless */
	uint32_t given, heard, acked;
	uint32_t takes; /* what the stack takes, as a sequence number */
	uint32_t guest_ack;
	uint16_t guest_window;
};

struct gate *gate_new(uint32_t start, bool http)
{
	struct gate *g = xcalloc(1, sizeof(*g));

	buf_init(&g->held, HELLO_MAX_BYTES);
	g->sniff.http = http;
	g->given = g->acked = g->takes = start;
	return g;
}

void gate_free(struct gate *g)
{
	if (g)
		buf_done(&g->held);
	free(g);
}

static uint16_t gate_window(const struct gate *g)
{
	return (uint16_t)(HELLO_MAX_BYTES - g->held.n);
}

static bool is_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

void gate_hear(struct gate *g, const struct packet *p)
{
	uint32_t end = p->seq + packet_seq_len(p);

	if (p->flags & TCP_SYN)
		g->heard = g->guest_ack = end;
	if (is_after(end, g->heard))
		g->heard = end;
	if (!(p->flags & TCP_ACK) || is_after(g->acked, p->ack))
		return;
	g->acked = p->ack;
	g->takes = p->ack + p->window;
}

void gate_mark(const struct gate *g, struct packet *p)
{
	/* an acknowledgement of the guest's end is beyond the bytes that we count */
	if (p->flags & TCP_ACK && !is_after(p->ack, gate_taken(g)))
		packet_set_ack(p, gate_taken(g), gate_window(g));
}

void gate_take(struct gate *g, const struct packet *p)
{
	uint32_t again = gate_taken(g) - p->seq;
	size_t n = p->data_n;

	if (p->flags & TCP_ACK && !is_after(p->ack, g->heard) && !is_after(g->guest_ack, p->ack)) {
		g->guest_ack = p->ack;
		g->guest_window = p->window;
	}
	if (again >= n)
		return; /* all of it was there before, or something before it is missing */
	n -= again;
	buf_add(&g->held, p->frame + p->data + again, n < gate_window(g) ? n : gate_window(g));
}

enum gate_step gate_next(struct gate *g, struct hello *ret_hello)
{
	const uint8_t *p = (const uint8_t *)g->held.p;
	size_t n;

	while (g->passed < g->held.n && g->held.n - g->passed >= g->wanted) {
		switch (sniff_next(&g->sniff, p + g->passed, g->held.n - g->passed, &n,
				   ret_hello)) {
		case SNIFF_PASS:
			g->passed += n;
			g->wanted = 0;
			continue;
		case SNIFF_JUDGE:
			return GATE_JUDGE;
		case SNIFF_WAIT:
			g->wanted = ret_hello->n;
			break;
		}
		break;
	}
	return gate_can_give(g) ? GATE_GIVE : GATE_WAIT;
}

void gate_allow(struct gate *g, const struct hello *h)
{
	sniff_allow(&g->sniff, h);
	g->wanted = 0;
}

const uint8_t *gate_bytes(const struct gate *g, size_t *ret_n)
{
	uint32_t room = is_after(g->takes, g->given) ? g->takes - g->given : 0;
	size_t n = g->passed < room ? g->passed : room;

	*ret_n = n < GATE_GIVE_MAX_BYTES ? n : GATE_GIVE_MAX_BYTES;
	return (const uint8_t *)g->held.p;
}

void gate_gave(struct gate *g, size_t n)
{
	buf_drop(&g->held, n);
	g->passed -= n;
	g->given += (uint32_t)n;
}

void gate_gave_end(struct gate *g)
{
	g->given++;
}

bool gate_can_give(const struct gate *g)
{
	size_t n;

	IGNORE(gate_bytes(g, &n));
	return n > 0;
}

bool gate_holds(const struct gate *g)
{
	return g->held.n > 0;
}

bool gate_is_passing(const struct gate *g)
{
	return g->passed > 0;
}

bool gate_is_unfinished(const struct gate *g)
{
	return g->passed < g->held.n;
}

bool gate_is_over(const struct gate *g)
{
	return g->sniff.state == SNIFF_OVER && g->sniff.left == 0 && g->held.n == 0 &&
	       !is_after(g->given, g->acked);
}

void gate_speak(const struct gate *g, bool to_stack, struct tcp_fields *ret)
{
	*ret = (struct tcp_fields){
		.seq = g->given, .ack = g->guest_ack, .window = g->guest_window, .flags = TCP_ACK
	};
	if (!to_stack)
		*ret = (struct tcp_fields){ .seq = g->heard,
					    .ack = gate_taken(g),
					    .window = gate_window(g),
					    .flags = TCP_ACK };
}

uint32_t gate_taken(const struct gate *g)
{
	return g->given + (uint32_t)g->held.n;
}
