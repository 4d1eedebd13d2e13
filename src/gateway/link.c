#include "gateway/link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(sizeof(struct virtio_net_hdr) == VNET_HEADER_BYTES, "the short virtio header");

static int init_tap(struct link *l, struct err *e)
{
	struct ifreq ifr = { 0 };

	if (ioctl(l->fd, TUNGETIFF, &ifr) < 0)
		return err_sys(e, errno, "the link is neither a tap device nor a packet socket");
	if (!(ifr.ifr_flags & IFF_TAP) || !(ifr.ifr_flags & IFF_NO_PI))
		return err_set(e, ERR_INVALID,
			       "the link must be a tap device without packet information");
	l->vnet = ifr.ifr_flags & IFF_VNET_HDR;
	return 0;
}

static int init_packet(struct link *l, struct err *e)
{
	int vnet = 0;
	socklen_t n = sizeof(vnet);

	if (getsockopt(l->fd, SOL_PACKET, PACKET_VNET_HDR, &vnet, &n) < 0)
		return err_sys(e, errno, "the link is not a packet socket");
	l->packet = true;
	l->vnet = vnet != 0;
	return 0;
}

int link_init(struct link *l, int fd, struct err *e)
{
	struct stat st;
	int flags;

	l->fd = fd;
	l->vnet = l->packet = false;
	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "the link");
	if ((S_ISSOCK(st.st_mode) ? init_packet(l, e) : init_tap(l, e)) < 0)
		return -1;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(e, errno, "the link");
	return 0;
}

/* Completes the checksum that the guest's kernel left to its device. Returns false if the header
 * says that the checksum is outside of the frame. */
static bool finish_checksum(const struct virtio_net_hdr *h, uint8_t *frame, size_t n)
{
	size_t start = h->csum_start, at = start + h->csum_offset;
	uint16_t sum;

	if (start > n || at > n || n - at < 2)
		return false;
	/* the field of the checksum already holds the sum of the pseudo header, so we include
	 * the field in the sum */
	sum = checksum(frame + start, n - start, 0);
	frame[at] = (uint8_t)(sum >> 8);
	frame[at + 1] = (uint8_t)sum;
	return true;
}

int link_read(struct link *l, uint8_t **ret_frame, size_t *ret_n)
{
	size_t skip = l->vnet ? VNET_HEADER_BYTES : 0;
	struct virtio_net_hdr h;
	ssize_t n;

	/* the supervisor has set PACKET_IGNORE_OUTGOING on a packet socket, so the socket does
	 * not receive what we send */
	do
		n = l->packet ? recv(l->fd, l->buf, sizeof(l->buf), 0)
			      : read(l->fd, l->buf, sizeof(l->buf));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN || errno == ENETDOWN || errno == ENOBUFS ? 0 : -errno;
	if ((size_t)n < skip)
		return n == 0 ? -ENOLINK : 0;
	*ret_frame = l->buf + skip;
	*ret_n = (size_t)n - skip;
	if (l->vnet) {
		memcpy(&h, l->buf, sizeof(h));
		if (h.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM &&
		    !finish_checksum(&h, *ret_frame, *ret_n))
			*ret_n =
				/* the virtio header is wrong; the parser drops an empty frame, so
				 * the frame is lost */
				0;
	}
	return 1;
}

/* If the frame is a large TCP segment, tells the guest's kernel how to cut the segment, and that it
 * must complete the checksum. */
static void mark_train(struct virtio_net_hdr *h, uint8_t *frame, size_t n, unsigned mss)
{
	struct packet p;
	uint32_t sum;

	if (packet_parse(frame, n, &p) != FAULT_NONE || p.kind != PACKET_TCP || p.data_n <= mss)
		return;
	sum = checksum_pseudo(&p.src, &p.dst, 6, p.n - p.l4);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	frame[p.l4 + 16] = (uint8_t)(sum >> 8);
	frame[p.l4 + 17] = (uint8_t)sum;
	h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->gso_type = p.dst.family == ADDR_V4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6;
	h->hdr_len = (uint16_t)p.data;
	h->gso_size = (uint16_t)mss;
	h->csum_start = (uint16_t)p.l4;
	h->csum_offset = 16;
}

void link_write(struct link *l, uint8_t *frame, size_t n, unsigned mss)
{
	struct virtio_net_hdr h = { 0 };
	struct iovec v[2] = { { &h, sizeof(h) }, { frame, n } };

	if (l->vnet && mss)
		mark_train(&h, frame, n, mss);
	/* if the queue is full, the frame is lost and TCP repeats it */
	IGNORE(writev(l->fd, l->vnet ? v : v + 1, l->vnet ? 2 : 1) < 0);
}
