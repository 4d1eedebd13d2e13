#include "endpoint/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

int interrupt_open(struct interrupt *i, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, &i->before) < 0)
		return err_sys(e, errno, "block signals");
	i->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (i->fd >= 0)
		return 0;
	err_sys(e, errno, "watch signals");
	IGNORE(sigprocmask(SIG_SETMASK, &i->before, NULL)); /* the caller gets the error above */
	return -1;
}

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

void interrupt_close(struct interrupt *i)
{
	while (interrupt_signal(i))
		;
	fd_closep(&i->fd);
	IGNORE(sigprocmask(SIG_SETMASK, &i->before, NULL)); /* cannot fail */
}
