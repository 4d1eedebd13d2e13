#include "gateway/hold.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct hold {
	struct sniff sniff;
	struct buf held; /* bytes from the guest that the stack has not got yet */
	size_t judged;   /* how many bytes of `held` were judged and may be given */
	size_t wanted;   /* how many bytes are needed before a name can be read */
	uint32_t given, heard, acked;
	uint32_t takes; /* the sequence number up to which the stack accepts bytes */
	uint32_t guest_ack;
	uint16_t guest_window;
};

struct hold *hold_new(uint32_t start, bool http)
{
	struct hold *g = xcalloc(1, sizeof(*g));

	buf_init(&g->held, HELLO_MAX_BYTES);
	g->sniff.http = http;
	g->given = g->acked = g->takes = start;
	return g;
}

void hold_free(struct hold *g)
{
	if (g)
		buf_done(&g->held);
	free(g);
}

static uint16_t hold_window(const struct hold *g)
{
	return (uint16_t)(HELLO_MAX_BYTES - g->held.n);
}

static bool is_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

void hold_hear_stack(struct hold *g, const struct packet *p)
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

void hold_mark_to_guest(const struct hold *g, struct packet *p)
{
	/* Leave an acknowledgement beyond hold_taken() as it is. Such an acknowledgement includes
	 * the guest's FIN, whose number follows the number of the last byte. */
	if (p->flags & TCP_ACK && !is_after(p->ack, hold_taken(g)))
		packet_set_ack(p, hold_taken(g), hold_window(g));
}

void hold_take(struct hold *g, const struct packet *p)
{
	uint32_t again = hold_taken(g) - p->seq;
	size_t n = p->data_n;

	if (p->flags & TCP_ACK && !is_after(p->ack, g->heard) && !is_after(g->guest_ack, p->ack)) {
		g->guest_ack = p->ack;
		g->guest_window = p->window;
	}
	if (again >= n)
		/* we already have all bytes of this segment, or bytes before them are missing */
		return;
	n -= again;
	buf_add(&g->held, p->frame + p->data + again, n < hold_window(g) ? n : hold_window(g));
}

enum hold_step hold_next(struct hold *g, struct hello *ret_hello)
{
	const uint8_t *p = (const uint8_t *)g->held.p;
	size_t n;

	while (g->judged < g->held.n && g->held.n - g->judged >= g->wanted) {
		switch (sniff_next(&g->sniff, p + g->judged, g->held.n - g->judged, &n,
				   ret_hello)) {
		case SNIFF_PASS:
			g->judged += n;
			g->wanted = 0;
			continue;
		case SNIFF_JUDGE:
			return HOLD_JUDGE;
		case SNIFF_WAIT:
			g->wanted = ret_hello->n;
			break;
		}
		break;
	}
	return hold_can_give(g) ? HOLD_GIVE : HOLD_WAIT;
}

void hold_allow(struct hold *g, const struct hello *h)
{
	sniff_allow(&g->sniff, h);
	g->wanted = 0;
}

const uint8_t *hold_bytes(const struct hold *g, size_t *ret_n)
{
	uint32_t room = is_after(g->takes, g->given) ? g->takes - g->given : 0;
	size_t n = g->judged < room ? g->judged : room;

	*ret_n = n < HOLD_GIVE_MAX_BYTES ? n : HOLD_GIVE_MAX_BYTES;
	return (const uint8_t *)g->held.p;
}

void hold_gave(struct hold *g, size_t n)
{
	buf_drop(&g->held, n);
	g->judged -= n;
	g->given += (uint32_t)n;
}

void hold_gave_end(struct hold *g)
{
	g->given++;
}

bool hold_can_give(const struct hold *g)
{
	size_t n;

	IGNORE(hold_bytes(g, &n));
	return n > 0;
}

bool hold_has_bytes(const struct hold *g)
{
	return g->held.n > 0;
}

bool hold_is_passing(const struct hold *g)
{
	return g->judged > 0;
}

bool hold_is_unfinished(const struct hold *g)
{
	return g->judged < g->held.n;
}

bool hold_is_over(const struct hold *g)
{
	return g->sniff.state == SNIFF_OVER && g->sniff.left == 0 && g->held.n == 0 &&
	       !is_after(g->given, g->acked);
}

void hold_fill_tcp(const struct hold *g, bool to_stack, struct tcp_fields *ret)
{
	*ret = (struct tcp_fields){
		.seq = g->given, .ack = g->guest_ack, .window = g->guest_window, .flags = TCP_ACK
	};
	if (!to_stack)
		*ret = (struct tcp_fields){ .seq = g->heard,
					    .ack = hold_taken(g),
					    .window = hold_window(g),
					    .flags = TCP_ACK };
}

uint32_t hold_taken(const struct hold *g)
{
	return g->given + (uint32_t)g->held.n;
}
