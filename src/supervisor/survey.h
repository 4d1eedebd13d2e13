/*
 * Counts what a file tree takes that hostile processes change meanwhile. System calls only, by base/raw.h:
 * the caller may share its memory with somebody who runs.
 *
 * Of a file with several names each name counts for its part, so that all together are the file once.
 * Every tree ends: the number of files is bounded, and so is the depth, because each level holds a
 * descriptor. A tree beyond either counts as having more files than anybody allows.
 */
#pragma once

#include <stdint.h>

#define SURVEY_DEPTH_MAX 256
#define SURVEY_CHUNK_BYTES 4096 /* of names, per level */
#define SURVEY_TOO_MANY UINT64_MAX

/* Touched no deeper than the tree is. */
struct survey_room {
	struct {
		int fd;
		unsigned at, n;
		_Alignas(8) char names[SURVEY_CHUNK_BYTES];
	} level[SURVEY_DEPTH_MAX];
};

struct survey {
	uint64_t bytes, files;
};

/* Adds what is below the directory NAME in DIR, itself included, to RET. FILES of it become SURVEY_TOO_MANY
 * when there are more than MOST. */
void survey_tree(int dir, const char *name, uint64_t most, struct survey_room *room,
		 struct survey *ret);
