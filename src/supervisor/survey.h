/*
 * Counts the bytes and files of a tree while hostile processes change it. This code calls no
 * function of the C library, and makes system calls through base/raw.h, because the task that runs
 * this code shares the memory of the supervisor, which runs at the same time.
 *
 * If a file has N names, each name counts as one file, but only as one N-th of the file's size. So
 * all names together count the size once. The walk always ends, because the number of files and the
 * depth are bounded (each level holds a descriptor). A tree beyond either bound counts as having
 * too many files.
 */
#pragma once

#include <stdint.h>

#define SURVEY_DEPTH_MAX 256
/* room for the names that one getdents64() reads, for each level */
#define SURVEY_CHUNK_BYTES 4096
#define SURVEY_TOO_MANY UINT64_MAX

/* Memory for the walk, with a level for each nested directory. The walk does not touch the levels
 * that the tree does not have, so the kernel need not provide pages for them. */
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

/* Adds to RET the bytes and files of the directory NAME in DIR with everything below. If RET->files
 * then exceeds MOST, or if the tree is too deep, RET->files becomes SURVEY_TOO_MANY. */
void survey_tree(int dir, const char *name, uint64_t most, struct survey_room *room,
		 struct survey *ret);
