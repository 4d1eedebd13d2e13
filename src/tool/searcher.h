/*
 * One run of cordon-search, the confined program that matches regular expressions. A hostile file
 * may hijack cordon-search. So its answer may be anything, and it may stop reading or never answer.
 * Every wait has a deadline.
 */
#pragma once

#include "base/buf.h"
#include "base/spawn.h"
#include "base/str.h"
#include "service/fault.h"

struct searcher {
	struct child child;
	int answer;  /* the pipe of the answer; -1 before the start and after the end */
	int stream;  /* the stream of files; -1 if cordon-search reads a directory or a file */
	bool closed; /* cordon-search wants no more files, or the stream is broken */
};

enum searcher_end { SEARCHER_DONE, SEARCHER_INVALID, SEARCHER_LATE };

/* Starts a search in FD, a directory or a regular file. If FD is -1, the caller passes the files to
 * searcher_send(). INCLUDE is a pattern of file names, or empty. */
MUST_USE int searcher_start(struct searcher *s, int fd, struct str expression, struct str include,
			    struct fault *f);
/* Sends a file. Returns false if the search wants no more files. */
bool searcher_send(struct searcher *s, const char *path, struct str content);
/* Waits for the end of the search and appends the answer to ANSWER. If the result is SEARCHER_DONE,
 * the answer is a JSON object. If it is SEARCHER_INVALID, the answer is the reason. Returns how the
 * search ended (enum searcher_end), or -1. */
MUST_USE int searcher_end(struct searcher *s, struct buf *answer, struct fault *f);
/* Ends the search early. Does nothing after searcher_end(). */
void searcher_stop(struct searcher *s);
#define AUTO_SEARCHER __attribute__((cleanup(searcher_stop))) struct searcher
#define SEARCHER_NONE                                                \
	{                                                            \
		.child = { .pidfd = -1 }, .answer = -1, .stream = -1 \
	}
