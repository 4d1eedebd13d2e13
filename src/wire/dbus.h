/*
 * The part of D-Bus that a client of a service manager needs. This code writes the login and method
 * calls. It reads the answer to the login, replies, errors and signals.
 *
 * A message is a fixed header, an array of header fields, padding to 8 bytes, and a body whose
 * types the signature names. Values are aligned to their size, counted from the start of the
 * message. A body starts at a multiple of 8, so its values can be aligned as if the body began at
 * 0. We write little endian and read both byte orders. This file only encodes and decodes: it has
 * no descriptors and no clock, and does not trust its input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define DBUS_MESSAGE_MAX_BYTES 65536u /* real answers have some hundred bytes */
#define DBUS_LOGIN_LINE_MAX_BYTES 512u

enum dbus_type { DBUS_CALL = 1, DBUS_RETURN = 2, DBUS_ERROR = 3, DBUS_SIGNAL = 4 };

/* --- login ----------------------------------------------------------------------------------- */

/* Writes the login. The bus compares UID with the credentials of the socket, and answers with one
 * line. */
void dbus_put_login(struct buf *b, uint32_t uid);
/* Cuts the answer off the front of IN. Returns 1 if the bus accepts us, 0 if more bytes are needed,
 * -EACCES if the bus refuses us, and -EPROTO for any other answer. */
MUST_USE int dbus_login_answer(struct str *in);
/* Ends the login; messages follow. */
void dbus_put_begin(struct buf *b);

/* --- out ------------------------------------------------------------------------------------- */

struct dbus_call {
	uint32_t serial; /* not 0; the reply carries the same number */
	const char *destination, *path, *interface, *member;
	const char *signature; /* of the body; "" if there is none */
};

/* These functions write arguments into a buffer that holds nothing else. */
void dbus_put_u32(struct buf *body, uint32_t v);
void dbus_put_string(struct buf *body, const char *s); /* also for object paths */
/* Writes the padding before a structure. Call it before each element of an array of structures. */
void dbus_put_struct(struct buf *body);
/* Writes the type of a variant; its value follows. TYPE is shorter than 256 bytes. */
void dbus_put_variant(struct buf *body, const char *type);
/* Begins an array whose elements are aligned to ALIGN bytes (4 for strings and numbers, 8 for
 * structures). The caller ends the array by dbus_end_array(), with the returned value as AT. */
size_t dbus_begin_array(struct buf *body, size_t align);
void dbus_end_array(struct buf *body, size_t at, size_t align);
/* Appends the call C with BODY. BODY must not have failed. If the called service does not run, the
 * bus does not start it: a flag of the call forbids that. */
void dbus_put_call(struct buf *b, const struct dbus_call *c, const struct buf *body);

/* --- in -------------------------------------------------------------------------------------- */

/* Slices point into the input. A field that the message does not have is empty. A string holds no
 * NUL, and a NUL follows it. */
struct dbus_message {
	unsigned type;         /* enum dbus_type, or a type that we do not know */
	uint32_t reply_serial; /* 0 if the message is no reply */
	struct str path, interface, member, error, sender, signature;
	struct str body;
	bool big_endian;
};

/* Cuts one message off the front of IN. Returns 1 if *RET has the message, 0 if more bytes are
 * needed, or -EPROTO. */
MUST_USE int dbus_next(struct str *in, struct dbus_message *ret);

/* Reads the values of a body in order. After a read beyond the end, or a read of a malformed
 * string, every further read fails. */
struct dbus_reader {
	struct str s;
	size_t at;
	bool big_endian, bad;
};
struct dbus_reader dbus_read(const struct dbus_message *m);
uint32_t dbus_get_u32(struct dbus_reader *r);
struct str dbus_get_string(struct dbus_reader *r);  /* also for object paths */
struct str dbus_get_variant(struct dbus_reader *r); /* returns the type; read the value next */
