/*
 * Requests of a server to its hands (the program cordon-hand), and the answers of the hands.
 * Requests are the bodies of FRAME_HAND_REQUEST, answers are the bodies of FRAME_HAND_ANSWER. A
 * hand handles one request at a time, so an answer needs no number. If HAND_CREATE or HAND_START
 * succeeded, two descriptors come with the answer: the sandbox's leash and a connection to its pid
 * 1.
 *
 * Decoded strings are borrowed from the frame. Decoders return -EPROTO for bad bodies.
 */
#pragma once

#include "wire/frame.h"

/* the most paths in each list of a request; a server's configuration has a few */
#define HAND_PATHS_MAX 64u
#define HAND_FDS 2u
/* hand_answer.mount has this value if the error is about the path hand_request.judged, which is not
 * a mount */
#define HAND_MOUNT_JUDGED UINT32_MAX

enum hand_task {
	HAND_CREATE = 1,    /* prepare and launch the sandbox of this spec */
	HAND_START = 2,     /* start the sandbox of this name, which is stopped */
	HAND_SWEEP = 3,     /* erase the files that killed commands left behind */
	HAND_SIZE = 4,      /* count the bytes and entries of the directory at this path */
	HAND_WORKSPACE = 5, /* look up the directory at this path; `makeable`: make it if missing */
	HAND_MARKER = 6,    /* read a small file in the directory at this path */
	HAND_TASK_COUNT
};

struct hand_request {
	enum hand_task task;
	struct str spec;  /* CREATE: JSON, as spec/ writes it */
	const char *name; /* START: the sandbox. MARKER: the file, without a directory */
	/* SIZE, MARKER: an absolute and canonical path, in which no link is followed. WORKSPACE: an
	 * absolute path */
	const char *path;
	/* SIZE: the count may stop when it exceeds one of these limits; 0 for no limit */
	uint64_t max_bytes, max_entries;
	/* CREATE: these lists say which paths of the host may be mounted (client/sources.h).
	 * WORKSPACE: the workspace may be made only in one of the roots */
	const char *refused[HAND_PATHS_MAX], *root[HAND_PATHS_MAX];
	size_t n_refused, n_roots;
	/* CREATE: the first `makeable` mounts may have missing sources, which are made as
	 * directories. WORKSPACE: if this is not 0, a missing directory is made */
	uint64_t makeable;
	bool literal; /* CREATE: no path of a mount may have a link in it */
	bool erase;   /* MARKER: remove the file after reading it */
	/* CREATE: a path that is not mounted but must obey the rules for mounts; or NULL */
	const char *judged;
};
void hand_request_encode(struct buf *b, const struct hand_request *m);
MUST_USE int hand_request_decode(struct str body, struct hand_request *ret);

struct hand_answer {
	unsigned code;        /* enum err_code; 0 for success */
	const char *text;     /* text of the error; never NULL */
	const char *hint;     /* hint of the error, or NULL */
	const char *warnings; /* CREATE, START: lines of warnings about the sandbox; never NULL */
	/* CREATE: the mount of the spec that caused the error, counted from 1; or 0 */
	uint64_t mount;
	/* CREATE, START: how soft limits are enforced, as in wire/leash.h. Empty if the limits are
	 * not soft; never NULL */
	const char *held;
	/* SIZE: the two counts. MARKER: `bytes` is the size of the file */
	uint64_t bytes, entries;
	/* WORKSPACE: the canonical path. MARKER: the SHA-256 of the file in hex. Never NULL */
	const char *found;
	/* WORKSPACE: the directory is in a root, and we may read, write and enter it */
	bool usable;
};
void hand_answer_encode(struct buf *b, const struct hand_answer *m);
MUST_USE int hand_answer_decode(struct str body, struct hand_answer *ret);
