/*
 * Judges whether a writable layer whose size nothing else bounds is still within it. A state machine
 * without a clock and without files: the caller says what the file system has left, how large the
 * layer was when a child measured it and how much its commands wrote, and is told when to look again,
 * whether to measure, whether to ask pid 1, and whether to end the commands.
 *
 * Looking costs 2 us, measuring as long as the tree is large. So the layer is measured only when the file
 * system has lost more, since the last time, than the layer may still grow: until then it cannot have
 * become too large, whoever took the space. What that misses, files that are in no tree because they
 * were deleted while open, ends at the floor: a part of the file system that no sandbox takes.
 * A measurement that takes long, because hostile processes starve it or the tree is huge, is not
 * waited for while the file system goes on losing and the sandbox goes on writing.
 *
 * A layer that is too large stays, or nobody could clean it up: commands that start afterwards run on,
 * but may not write to files until it is smaller, and are ended again when it has grown nevertheless and they
 * wrote (fuse-overlayfs writes what it kept after the commands have ended). The
 * same holds below the floor for the sandbox that wrote there, until there is space again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/message.h"

#define WATCH_FLOOR_BYTES (1ull << 30) /* kept free, or one part in … where that is less */
#define WATCH_FLOOR_PART 20
#define WATCH_SLACK_PART 64 /* of its size a layer may be larger before it is measured again */
#define WATCH_BYTES_PER_MS (4ull << 20) /* nothing writes faster: 4 GiB/s … */
#define WATCH_FILES_PER_MS 200          /* … or makes more files */
#define WATCH_SOONEST_MS 10
#define WATCH_LATEST_MS 1000
#define WATCH_BYTES_PER_FILE 4096     /* a layer has at most so many files as it has blocks */
#define WATCH_FALL_BYTES (1ull << 20) /* below the floor, less is noise: a log, a journal */
#define WATCH_FALL_FILES 64
#define WATCH_LAST_LOOKS 20
#define WATCH_PATIENCE_PART 8 /* of its size may be lost while it is being measured */

/* What a file system has. */
struct watch_space {
	uint64_t free, total;
	uint64_t files_free, files_total; /* total 0: it does not count them */
};

/* What a layer takes. */
struct watch_size {
	uint64_t bytes, files;
};

struct watch {
	struct watch_size most; /* what it may take */
	struct watch_size size; /* what it took when it was last measured … */
	bool known;             /* … if it ever was */
	bool measuring;
	bool again;                  /* … and once more: commands were ended since that began */
	bool over;                   /* it is too large */
	struct watch_size over_size; /* and is not to grow beyond this … */
	bool grew;                   /* … which it did: by its commands? */
	bool ended;                  /* commands were, because of it */
	unsigned last_writes;        /* looks until those that were ended have written their last */
	uint64_t over_written;       /* by commands, when that was over */
	uint64_t high, files_high;   /* the most that was free since it was last measured */
	uint64_t then, files_then;   /* what was free when the measuring began */
	bool asked;                  /* pid 1, who has not answered yet */
	/* what commands had written when the measuring began, once that is known */
	bool then_counted;
	uint64_t then_written;
	bool late; /* the file system lost much since */
	/* below the floor */
	bool low, counted;
	uint64_t written;  /* by its commands, when pid 1 was last asked */
	uint64_t low_free; /* what was free then */
	bool low_files, based;
	uint64_t low_files_size; /* how many files it had when that began */
	uint64_t low_files_free;
	bool starved; /* its commands were ended for that */
};

/* What to do now. */
struct watch_order {
	unsigned next_ms; /* look again then, if anything runs */
	bool measure;     /* and tell watch_measured() */
	bool ask;         /* pid 1, and tell watch_counted() */
};

/* FRESH: the layer is empty. NOW is what is free before the first command. */
void watch_init(struct watch *w, uint64_t most_bytes, bool fresh, const struct watch_space *now);
/* IDLE: nothing runs any more. */
struct watch_order watch_look(struct watch *w, const struct watch_space *now, bool idle);
/* The child counted SIZE. Why the commands are to be ended, if they are. */
enum end_reason watch_measured(struct watch *w, const struct watch_size *size);
/* Nobody can measure any more: what the layer takes must be taken for too much. */
enum end_reason watch_unmeasured(struct watch *w);
/* Commands wrote WRITTEN bytes so far. */
enum end_reason watch_counted(struct watch *w, uint64_t written);
/* Commands that start may not write to files. */
bool watch_is_full(const struct watch *w);
