/*
 * What a server asks of its hands (the program cordon-hand), and what a hand answers: the bodies of
 * FRAME_HAND_REQUEST and FRAME_HAND_ANSWER. A hand has one request at a time, so an answer needs no number. If
 * HAND_CREATE or HAND_START succeeded, two descriptors come with the answer: the sandbox's leash and a connection to its
 * pid 1.
 *
 * Decoded strings are borrowed from the frame. Decoders answer -EPROTO.
 */
#pragma once

#include "wire/frame.h"

#define HAND_PATHS_MAX 64u /* in each list of a request; a server's configuration has a few */
#define HAND_FDS 2u
#define HAND_MOUNT_JUDGED UINT32_MAX /* in place of a mount: the error is about `judged` */

enum hand_task {
	HAND_CREATE = 1, /* prepare and launch the sandbox of this spec */
	HAND_START = 2,  /* start the sandbox of this name, which is stopped */
	HAND_SWEEP = 3,  /* erase the files that killed commands left behind */
	HAND_SIZE = 4,   /* count what is in the directory at this path */
	HAND_TASK_COUNT
};

struct hand_request {
	enum hand_task task;
	struct str spec;  /* CREATE: JSON, as spec/ writes it */
	const char *name; /* START */
	const char *path; /* SIZE: absolute and canonical; no link in it is followed */
	/* SIZE: the count may stop when one of these is exceeded; 0: no limit */
	uint64_t max_bytes, max_entries;
	/* CREATE: which paths of the host the sandbox may have (client/sources.h) */
	const char *refused[HAND_PATHS_MAX], *root[HAND_PATHS_MAX];
	size_t n_refused, n_roots;
	uint64_t
		makeable; /* the directories of so many mounts, the first ones, are made if they are missing */
	const char *
		judged; /* a path that must pass the rules too, though it is not mounted; or NULL */
};
void hand_request_encode(struct buf *b, const struct hand_request *m);
MUST_USE int hand_request_decode(struct str body, struct hand_request *ret);

struct hand_answer {
	unsigned code;        /* enum err_code; 0: success */
	const char *text;     /* text of the error; never NULL */
	const char *hint;     /* hint of the error, or NULL */
	const char *warnings; /* lines about a sandbox that was started; never NULL */
	uint64_t
		mount; /* CREATE: the error is about this mount of the spec, counted from 1; 0: none */
	/* SIZE: the result */
	uint64_t bytes, entries;
};
void hand_answer_encode(struct buf *b, const struct hand_answer *m);
MUST_USE int hand_answer_decode(struct str body, struct hand_answer *ret);
