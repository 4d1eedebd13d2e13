/*
 * Talks to the systemd instance of the user who runs this process, over that user's message bus.
 * One deadline covers the whole conversation: it is a parameter of bus_open(). The bytes from the
 * bus are not trusted, so wire/dbus.h checks them while it decodes.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/dbus.h"

struct bus {
	int fd;
	uint64_t deadline_ns; /* the deadline of the conversation, by the monotonic clock */
	uint32_t serial;      /* number of the last call */
	struct buf in;
	size_t used; /* how many bytes of IN have been decoded */
};
// clang-format off
#define BUS_NONE { .fd = -1 }
// clang-format on
#define AUTO_BUS __attribute__((cleanup(bus_done))) struct bus

/* Connects to $XDG_RUNTIME_DIR/bus, or to /run/user/UID/bus if that fails, and logs in. */
MUST_USE int bus_open(struct bus *b, uint64_t deadline_ns, struct err *e);
void bus_done(struct bus *b);
/* Sends the call C and waits for the answer. The type of RET is DBUS_RETURN, or DBUS_ERROR if the
 * call was refused. The strings of RET belong to B and are valid until the next bus_call() or
 * bus_next(). The function numbers the call itself and ignores the serial of C. */
MUST_USE int bus_call(struct bus *b, const struct dbus_call *c, const struct buf *body,
		      struct dbus_message *ret, struct err *e);
/* Waits for the next message of any kind. The strings of RET belong to B and are valid until the
 * next bus_call() or bus_next(). */
MUST_USE int bus_next(struct bus *b, struct dbus_message *ret, struct err *e);
