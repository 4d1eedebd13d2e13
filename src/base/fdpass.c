#include "base/fdpass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
};

static ssize_t send_first(int sock, const void *p, size_t n, const int *fds, unsigned n_fds,
			  int flags)
{
	union control c = { 0 };
	struct iovec iov = { (void *)p, n };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t k;

	if (n_fds > FDPASS_MAX)
		return -EINVAL;
	if (n_fds) {
		m.msg_control = &c;
		m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c.head.cmsg_level = SOL_SOCKET;
		c.head.cmsg_type = SCM_RIGHTS;
		c.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&c.head), fds, n_fds * sizeof(int));
	}
	do
		k = sendmsg(sock, &m, MSG_NOSIGNAL | flags);
	while (k < 0 && errno == EINTR);
	return k < 0 ? -errno : k;
}

ssize_t fdpass_try(int sock, const void *p, size_t n, const int *fds, unsigned n_fds)
{
	return send_first(sock, p, n, fds, n_fds, MSG_DONTWAIT);
}

int fdpass_send(int sock, const void *p, size_t n, const int *fds, unsigned n_fds)
{
	const char *rest;
	ssize_t k = send_first(sock, p, n, fds, n_fds, 0);

	/* ETOOMANYREFS means that the sent descriptors that nobody has received yet have reached
	 * the limit of open files. We return -EMFILE instead, because the C library has no fitting
	 * text for ETOOMANYREFS */
	if (k < 0)
		return k == -ETOOMANYREFS ? -EMFILE : (int)k;
	rest = (const char *)p + k;
	n -= (size_t)k;
	while (n > 0) {
		k = send(sock, rest, n, MSG_NOSIGNAL);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		rest += k;
		n -= (size_t)k;
	}
	return 0;
}

ssize_t fdpass_recv(int sock, void *p, size_t n, int *fds, unsigned max_fds, unsigned *ret_n_fds)
{
	union control c;
	struct iovec iov = { p, n };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &c,
		.msg_controllen = sizeof(c),
	};
	unsigned got = 0;
	bool too_many;
	ssize_t k;

	*ret_n_fds = 0;
	do
		k = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (k < 0 && errno == EINTR);
	if (k < 0)
		return -errno;
	too_many = m.msg_flags & MSG_CTRUNC;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
			if (got < max_fds) {
				fds[got++] = fd;
			} else {
				too_many = true;
				close(fd);
			}
		}
	}
	if (too_many) {
		while (got > 0)
			close(fds[--got]);
		return -EPROTO;
	}
	*ret_n_fds = got;
	return k;
}
