/*
 * A conversation on the caller's own message bus, which his systemd answers. Every step ends at one
 * deadline that is given at the start. What comes in is a peer's: wire/dbus.h reads it.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/dbus.h"

struct bus {
	int fd;
	uint64_t deadline_ns; /* monotonic */
	uint32_t serial;      /* of the last call */
	struct buf in;
	size_t used; /* bytes of IN that were read already */
};
// clang-format off
#define BUS_NONE { .fd = -1 }
// clang-format on
#define AUTO_BUS __attribute__((cleanup(bus_done))) struct bus

/* Connects to $XDG_RUNTIME_DIR/bus, else to /run/user/UID/bus, and logs in. */
MUST_USE int bus_open(struct bus *b, uint64_t deadline_ns, struct err *e);
void bus_done(struct bus *b);
/* Calls, and waits for the answer, which may be an error of the other side: RET is of type DBUS_RETURN or
 * DBUS_ERROR and borrows from B until the next call. C's serial is chosen here. */
MUST_USE int bus_call(struct bus *b, const struct dbus_call *c, const struct buf *body,
		      struct dbus_message *ret, struct err *e);
/* The next message of whatever kind; borrows likewise. */
MUST_USE int bus_next(struct bus *b, struct dbus_message *ret, struct err *e);
