/*
 * The protocol between cordon-skills (the worker) and the process that owns it, on a stream socket.
 *
 * A message is a length N (u32, little endian) and N bytes of JSON. The owner sends requests, one
 * at a time; the worker answers each with one reply. Before the first request the worker sends one
 * reply to say that it is ready.
 *
 *   request {"op":"read","tenant":"ws-…","data":{…}}
 *           tenant is null if the peer has no tenants; data is as the peer sent it. The archive of
 *           preview_zip and install_zip comes as a descriptor with the first byte.
 *
 *   reply   {"ok":true,"data":{…}}
 *           the peer gets data
 *           {"ok":false,"class":"ValueError","text":"…"}
 *           the peer gets the error "class: text"
 *           {"again":"source"}
 *           the owner must start another worker, with the path in the request as its second
 *           argument (skill.package_root of create, path of scan), and send it the request again
 *           {"again":"root"}
 *           the skills root was deleted: the owner must start another worker and send it the
 *           request again
 *
 * This file encodes and decodes only lengths; base/json does the rest.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define SKILLS_HEAD_BYTES 4u
/* A request holds a peer's message of at most 16 MiB, and a few members that the owner adds. */
#define SKILLS_REQUEST_MAX_BYTES (17u << 20)
/* A reply holds a list with up to 16 MiB of text. JSON writes a quote or a line end with two bytes.
 * Even if half of the text are such characters, the text takes only 24 MiB. */
#define SKILLS_REPLY_MAX_BYTES (32u << 20)

/* Makes room for the length in the empty buffer B. The caller then appends the JSON. */
void skills_message_begin(struct buf *b);
/* Writes the length of the JSON into the room at the beginning of B. */
void skills_message_end(struct buf *b);
/* Reads the length in HEAD. Returns 0, or -EMSGSIZE if the length is 0 or larger than MAX. */
MUST_USE int skills_message_size(const unsigned char head[SKILLS_HEAD_BYTES], size_t max,
				 size_t *ret);
