/*
 * The link to the guest: a tap device, or a packet socket on a veth. The supervisor passes the
 * descriptor to the gateway.
 *
 * If the device was set up with a virtio header (IFF_VNET_HDR, PACKET_VNET_HDR), this code
 * completes checksums, and the guest's large TCP segments arrive in one piece. If a segment to the
 * guest is larger than the guest's MSS, its virtio header says so, and the guest's kernel treats it
 * as several ordinary segments. Without the virtio header, frames are passed as they are. The other
 * files of the gateway need not know the difference.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "gateway/packet.h"

#define VNET_HEADER_BYTES 10u

struct link {
	int fd;      /* borrowed from main() */
	bool vnet;   /* frames carry a virtio header */
	bool packet; /* true for a packet socket, false for a tap device */
	uint8_t buf[VNET_HEADER_BYTES + FRAME_MAX_BYTES];
};

MUST_USE int link_init(struct link *l, int fd, struct err *e);
/* Reads a frame, which is valid until the next link_read(), and returns 1. Returns 0 if no frame
 * has arrived, or -errno if the link is gone. */
MUST_USE int link_read(struct link *l, uint8_t **ret_frame, size_t *ret_n);
/* Sends a frame. If the guest's queue is full, the frame is lost, as can happen in any network. MSS
 * is the guest's MSS (see above), or 0 if the virtio header shall not name one. */
void link_write(struct link *l, uint8_t *frame, size_t n, unsigned mss);
