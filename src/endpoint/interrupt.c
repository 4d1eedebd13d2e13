#include "endpoint/interrupt.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"

int interrupt_signal(const struct interrupt *i)
{
	struct signalfd_siginfo s;

	return read(i->fd, &s, sizeof(s)) == (ssize_t)sizeof(s) ? (int)s.ssi_signo : 0;
}

int interrupt_wait(const struct interrupt *i, uint64_t until_ns)
{
	struct pollfd p = { .fd = i->fd, .events = POLLIN };

	while (clock_mono_ns() < until_ns)
		if (poll(&p, 1, clock_poll_ms(until_ns)) > 0)
			return interrupt_signal(i);
	return 0;
}
