/* Reads any bytes from a bus: the login answer, messages, and bodies of the expected types. The
 * bytes after a message must not change how the message is read. All parts of a message must lie
 * inside of the message. */
#include "wire/dbus.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct str part, struct str whole)
{
	if (part.n &&
	    (part.p < whole.p || part.n > whole.n || (size_t)(part.p - whole.p) > whole.n - part.n))
		abort();
}

static void read_body(const struct dbus_message *m)
{
	struct dbus_reader r = dbus_read(m);

	for (unsigned i = 0; i < 64 && !r.bad; i++) {
		struct str text = { "", 0 };

		if (i % 4 == 0)
			(void)dbus_get_u32(&r);
		else
			text = dbus_get_string(&r);
		if (!r.bad)
			inside(text, m->body);
		if (strlen(text.p) != text.n)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size }, start;
	struct dbus_message m, again;

	if (dbus_login_answer(&rest) == 1)
		inside(rest, (struct str){ (const char *)data, size });
	start = rest;
	while (dbus_next(&rest, &m) == 1) {
		struct str whole = { start.p, start.n - rest.n }, alone = whole;

		if (whole.n == 0 || whole.n > DBUS_MESSAGE_MAX_BYTES)
			abort();
		if (dbus_next(&alone, &again) != 1 || alone.n || again.type != m.type ||
		    again.reply_serial != m.reply_serial || again.body.p != m.body.p)
			abort();
		inside(m.path, whole);
		inside(m.interface, whole);
		inside(m.member, whole);
		inside(m.error, whole);
		inside(m.sender, whole);
		inside(m.signature, whole);
		inside(m.body, whole);
		read_body(&m);
		start = rest;
	}
	return 0;
}
