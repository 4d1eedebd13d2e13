/*
 * Files that a peer uploads piece by piece before an action uses them. The files are in memory,
 * belong to the connection and count against the server's ceiling. Each file has a key. An action
 * names a file by this key and takes the file over.
 */
#pragma once

#include "base/json.h"
#include "service/ceiling.h"
#include "service/fault.h"
#include "service/skills.h"

#define UPLOAD_KEYS_MAX 128u
#define UPLOAD_CHUNK_BYTES 16384u
#define UPLOAD_CHUNK_CHARS 21848u /* UPLOAD_CHUNK_BYTES in base64 */

struct uploads {
	struct upload *first;
	unsigned n;
	struct ceiling *ceiling;
	uint64_t max_bytes; /* largest size of one file */
};

void uploads_init(struct uploads *u, struct ceiling *ceiling, uint64_t max_bytes);
void uploads_done(struct uploads *u);
/* Adds a chunk. DATA is the data of the action. Returns 0, or -1 with a fault in F. */
MUST_USE int uploads_add(struct uploads *u, const struct json_value *data, struct fault *f);
/* Hands over the file that an action names in DATA. The file's bytes count against the ceiling
 * until the new owner gives them back. Returns 0, or -1 with a fault in F. */
MUST_USE int uploads_take(struct uploads *u, const struct json_value *data, struct skills_file *ret,
			  struct fault *f);
