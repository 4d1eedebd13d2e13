/*
 * WebSocket (RFC 6455) for servers and clients: the handshake on top of wire/http, a decoder that
 * takes bytes as they arrive and returns whole messages, and an encoder. This code uses no
 * descriptors and no clock, and does not trust its input. It makes no random numbers: the caller
 * passes the nonce and the masks.
 *
 * The decoder never allocates memory for bytes that have not arrived. When the peer breaks a rule,
 * the decoder fails, also in all later calls, and w->failed is a close code. The caller sends this
 * code and closes the connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/http.h"

#define WEBSOCKET_MESSAGE_MAX_BYTES (16u << 20) /* the limit that LangBot uses, too */
#define WEBSOCKET_FRAGMENTS_MAX 4096u           /* the most frames of one message */
#define WEBSOCKET_CONTROL_MAX_BYTES 125u        /* payload of ping, pong and close, by the RFC */
#define WEBSOCKET_HEAD_MAX_BYTES 14u
/* memory that a decoder keeps from one message to the next */
#define WEBSOCKET_KEEP_BYTES (64u << 10)
#define WEBSOCKET_MASK_BYTES 4u
#define WEBSOCKET_NONCE_BYTES 16u
#define WEBSOCKET_KEY_BYTES 25u    /* base64 of a nonce, with the terminator */
#define WEBSOCKET_ACCEPT_BYTES 29u /* base64 of a SHA-1, with the terminator */

enum websocket_code {
	WEBSOCKET_NORMAL = 1000,
	WEBSOCKET_GOING_AWAY = 1001,
	WEBSOCKET_PROTOCOL_ERROR = 1002,
	WEBSOCKET_UNSUPPORTED_DATA = 1003,
	WEBSOCKET_NO_CODE = 1005, /* a close frame without a code; never sent */
	WEBSOCKET_BAD_TEXT = 1007,
	WEBSOCKET_POLICY = 1008,
	WEBSOCKET_TOO_BIG = 1009,
	WEBSOCKET_INTERNAL = 1011,
};

enum websocket_opcode {
	WEBSOCKET_CONTINUATION = 0,
	WEBSOCKET_TEXT = 1,
	WEBSOCKET_BINARY = 2,
	WEBSOCKET_CLOSE = 8,
	WEBSOCKET_PING = 9,
	WEBSOCKET_PONG = 10,
};

/* --- handshake ------------------------------------------------------------------------------- */

/* Computes the value of Sec-WebSocket-Accept for KEY. */
void websocket_accept(struct str key, char out[WEBSOCKET_ACCEPT_BYTES]);
/* For servers: checks the client's request. Returns 0 and the key, -400 if the request is no valid
 * upgrade, or -426 if the request asks for another version of the protocol. The answer to -426 must
 * have Sec-WebSocket-Version: 13. */
MUST_USE int websocket_check_request(const struct http_request *r, struct str *ret_key);
/* Returns true if the client offers this subprotocol. Upper and lower case differ. */
bool websocket_offers(const struct http_request *r, const char *protocol);
/* For servers: writes the answer that accepts the upgrade. PROTOCOL is a subprotocol that the
 * client offers, or NULL. */
void websocket_put_agreement(struct buf *b, struct str key, const char *protocol);

/* For clients: writes the request, but not the empty line at its end. NONCE is random. The caller
 * may add headers with http_put_header(), and then calls http_put_end(). */
void websocket_put_request(struct buf *b, struct str host, struct str target,
			   const unsigned char nonce[WEBSOCKET_NONCE_BYTES]);
/* For clients: checks the answer. Returns true only if the server accepts the upgrade, without an
 * extension and without a subprotocol other than PROTOCOL. PROTOCOL is NULL if the client offered
 * none. */
MUST_USE bool websocket_check_response(const struct http_response *r,
				       const unsigned char nonce[WEBSOCKET_NONCE_BYTES],
				       const char *protocol);

/* --- decoder --------------------------------------------------------------------------------- */

enum websocket_role { WEBSOCKET_SERVER, WEBSOCKET_CLIENT };

struct websocket {
	enum websocket_role role;
	enum websocket_code failed; /* the code to close with; 0 if the decoder has not failed */
	bool closed;                /* the peer's close frame has come; later bytes are ignored */
	bool delivered;             /* the last call returned `message`; the next call drops it */
	/* the head of the frame that is being read */
	unsigned char head[WEBSOCKET_HEAD_MAX_BYTES];
	unsigned head_have, head_need;
	uint64_t left;      /* payload bytes of the frame that have not come yet */
	unsigned mask_at;   /* index of the next byte of the mask */
	struct buf control; /* payload of a control frame */
	/* the payload so far of the message that is being read */
	struct buf message;
	enum websocket_opcode type; /* WEBSOCKET_CONTINUATION while no message is being read */
	unsigned fragments;
	size_t checked; /* bytes of `message` that are known to be UTF-8 */
};

struct websocket_event {
	enum websocket_opcode type; /* TEXT, BINARY, PING, PONG or CLOSE */
	struct str payload;         /* valid until the next call; for CLOSE, the reason */
	enum websocket_code code;   /* for CLOSE; WEBSOCKET_NO_CODE if the frame has none */
};

/* Initialises W. A message longer than MESSAGE_MAX bytes makes the decoder fail with 1009. */
void websocket_init(struct websocket *w, enum websocket_role role, size_t message_max);
void websocket_done(struct websocket *w);
/* Reads bytes and cuts them off the front of IN. Returns 1 and *RET for an event, 0 when all of IN
 * was read, or -EPROTO when the peer broke a rule (w->failed is the close code). The caller repeats
 * the call while the result is 1. The caller may also stop earlier and keep the rest of IN for
 * later. */
MUST_USE int websocket_next(struct websocket *w, struct str *in, struct websocket_event *ret);
/* Returns how many bytes of memory the decoder holds. */
size_t websocket_held_bytes(const struct websocket *w);

/* --- encoder --------------------------------------------------------------------------------- */

/* Writes a message as one frame. MASK is WEBSOCKET_MASK_BYTES random bytes for a client, and NULL
 * for a server. */
void websocket_put(struct buf *b, enum websocket_opcode type, const unsigned char *mask,
		   const void *p, size_t n);
/* Writes one frame of a message. FIRST says whether the frame begins the message, and LAST whether
 * it ends the message. */
void websocket_put_fragment(struct buf *b, enum websocket_opcode type, bool first, bool last,
			    const unsigned char *mask, const void *p, size_t n);
/* Writes only the head of an unmasked, unfragmented frame, so that a server need not copy the
 * payload. Returns the length of the head. */
size_t websocket_head(enum websocket_opcode type, uint64_t n,
		      unsigned char out[WEBSOCKET_HEAD_MAX_BYTES]);
/* Writes a close frame. If CODE is WEBSOCKET_NO_CODE, the frame is empty. A REASON that is too long
 * is cut. */
void websocket_put_close(struct buf *b, const unsigned char *mask, enum websocket_code code,
			 const char *reason);
/* Copies N bytes and masks them. The first byte is masked with byte AT of MASK. FROM and TO may be
 * the same. */
void websocket_mask(void *to, const void *from, size_t n, const unsigned char *mask, unsigned at);
