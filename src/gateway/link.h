/*
 * The wire to the guest: a tap device, or a packet socket on a veth, as a descriptor we inherit.
 *
 * Where the device was set up with a virtio header (IFF_VNET_HDR, PACKET_VNET_HDR), checksums are
 * completed here and the guest's large TCP segments arrive whole; towards the guest, segments above
 * its MSS are marked for its kernel to treat as a train of ordinary ones. Without it frames are
 * what they are. The difference ends in this file.
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
	bool packet; /* a socket, not a tap */
	uint8_t buf[VNET_HEADER_BYTES + FRAME_MAX_BYTES];
};

MUST_USE int link_init(struct link *l, int fd, struct err *e);
/* 1 and a frame that is valid until the next call; 0 when there is none now; -errno: the link is gone. */
MUST_USE int link_read(struct link *l, uint8_t **ret_frame, size_t *ret_n);
/* Frames that the guest's queue has no room for are lost, as on any wire. MSS is the most TCP data
 * one frame may hold there, 0 when the frame is known to be small. */
void link_write(struct link *l, uint8_t *frame, size_t n, unsigned mss);
