/*
 * What cordon-skills and the process that owns it say to each other, on a stream socket.
 *
 * A message is its length (u32, little endian) and as many bytes of JSON. The owner sends requests, one at a time; the
 * worker answers each with one reply. Before the first request the worker sends one reply to say that it is ready.
 *
 *   request  {"op":"read","tenant":"ws-…","data":{…}}      tenant null: the peer knows no tenants; data as the peer
 *                                                         sent it. The archive of preview_zip and install_zip comes
 *                                                         as a descriptor with the first byte.
 *   reply    {"ok":true,"data":{…}}                        for the peer
 *            {"ok":false,"class":"ValueError","text":"…"}  for the peer: "class: text"
 *            {"again":"source"}                            start a worker whose second argument is the path in the
 *                                                         request (skill.package_root of create, path of scan), and
 *                                                         send it the request again
 *            {"again":"root"}                              the skills root was deleted: start another worker, and
 *                                                         send it the request again
 *
 * Encode and decode of lengths only: base/json does the rest.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define SKILLS_HEAD_BYTES 4u
#define SKILLS_REQUEST_MAX_BYTES \
	(17u << 20) /* a message of a peer, 16 MiB, and what we put around it */
#define SKILLS_REPLY_MAX_BYTES \
	(32u << 20) /* a listing of 16 MiB of text, half of it quotes and line ends */

/* Leaves room for the length in the empty buffer B; append the JSON behind it. */
void skills_message_begin(struct buf *b);
/* Writes the length. */
void skills_message_end(struct buf *b);
/* The length that HEAD announces. -EMSGSIZE if it is 0 or larger than MAX. */
MUST_USE int skills_message_size(const unsigned char head[SKILLS_HEAD_BYTES], size_t max,
				 size_t *ret);
