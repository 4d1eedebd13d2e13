/* Parses any bytes as a frame. Operations on the parsed frame must not read or write outside of the
 * frame. */
#include "gateway/packet.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t mac[MAC_BYTES];
	uint8_t out[REPLY_MAX_BYTES], *frame = malloc(size ? size : 1);
	struct packet p, again;
	enum packet_kind kind;
	struct addr peer;
	uint16_t a, b;

	if (size)
		memcpy(frame, data, size);
	if (packet_parse(frame, size, &p) == FAULT_NONE) {
		if (p.n > size || (p.kind != PACKET_ARP && p.data + p.data_n != p.n))
			abort();
		if (p.kind == PACKET_TCP) {
			bool ok = packet_checksum_ok(&p);

			packet_clear_urgent(&p);
			packet_take_mss(&p, 32768);
			/* in the changed packet a correct checksum must still be correct, and a
			 * wrong checksum must still be wrong */
			if (packet_checksum_ok(&p) != ok)
				abort();
			packet_make_reset(out, &p, mac);
		} else if (p.kind == PACKET_ICMP4 || p.kind == PACKET_ICMP6) {
			packet_quoted_flow(&p, &kind, &peer, &a, &b);
		}
		if (p.kind != PACKET_ARP) {
			size_t n = packet_make_unreachable(out, &p, UNREACHABLE_HOST, &p.dst, mac);

			if (packet_parse(out, n, &again) != FAULT_NONE)
				abort(); /* a packet that we make must parse */
		}
	}
	free(frame);
	return 0;
}
