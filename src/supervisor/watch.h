/*
 * Judges whether a writable layer is within its size, if nothing else bounds it. This is a state machine without a clock and
 * without files. The caller says what the file system has left, how large the layer was when it was measured, and how much
 * its commands wrote. It is told when to look again, whether to measure, whether to ask pid 1, and whether to end the
 * commands.
 *
 * Looking at the file system costs 2 us. Measuring the layer takes longer the larger the tree is.
 * So the layer is measured only if the file system has lost more since the last measurement than
 * the layer may still grow: as long as the loss is smaller, the layer cannot be too large,
 * whichever process took the space. A measurement misses files that were deleted while open,
 * because no tree shows them. The floor bounds these: it is a part of the file system that no
 * sandbox may take. A measurement can take long because hostile processes starve it, or because the
 * tree is huge. If the file system goes on losing space and the sandbox goes on writing, the
 * commands are ended before the measurement is complete.
 *
 * A layer that is too large is kept, so that it can be cleaned up. New commands run, but may not write to files until it is
 * smaller. They are ended if the layer has grown nevertheless and they wrote (fuse-overlayfs still writes after commands have
 * ended). The same holds below the floor for the sandbox that wrote there, until there is space again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/message.h"

/* this much stays free, or one part in 20 of the file system if that is less */
#define WATCH_FLOOR_BYTES (1ull << 30)
#define WATCH_FLOOR_PART 20
#define WATCH_SLACK_PART 64             /* one part in 64 of its size is not worth a measurement */
#define WATCH_BYTES_PER_MS (4ull << 20) /* nothing writes faster than 4 GiB/s … */
#define WATCH_FILES_PER_MS 200          /* … or makes more files than this */
#define WATCH_SOONEST_MS 10
#define WATCH_LATEST_MS 1000
#define WATCH_BYTES_PER_FILE 4096     /* a layer may have as many files as it has blocks */
#define WATCH_FALL_BYTES (1ull << 20) /* a smaller loss is noise: a log, a journal */
#define WATCH_FALL_FILES 64
#define WATCH_LAST_LOOKS 20
#define WATCH_PATIENCE_PART 8 /* one part in 8 of its size may be lost during a measurement */

/* What a file system has left. */
struct watch_space {
	uint64_t free, total;
	uint64_t files_free, files_total; /* files_total 0: the file system does not count files */
};

/* What a layer takes. */
struct watch_size {
	uint64_t bytes, files;
};

struct watch {
	struct watch_size most; /* what the layer may take */
	struct watch_size size; /* what it took at the last measurement */
	bool known;             /* SIZE is known: the layer was measured, or is new and empty */
	bool measuring;
	/* commands were ended since the measurement began: measure again */
	bool again;
	bool over;                   /* the layer is too large */
	struct watch_size over_size; /* if it is too large: it must not grow beyond this */
	/* the layer has grown beyond over_size; pid 1 must say whether commands wrote */
	bool grew;
	bool ended; /* commands were ended because it was too large */
	/* how many more looks may still find late writes of ended commands */
	unsigned last_writes;
	/* what commands had written when the last late writes of ended commands were counted */
	uint64_t over_written;
	uint64_t high, files_high; /* the most that was free since the last measurement */
	uint64_t then, files_then; /* what was free when the measurement began */
	bool asked;                /* pid 1 was asked and has not answered yet */
	/* what commands had written when the measurement began, if that is known */
	bool then_counted;
	uint64_t then_written;
	bool late; /* the file system has lost much since the measurement began */
	/* below the floor */
	bool low, counted;
	uint64_t written;  /* what commands had written when pid 1 was last asked */
	uint64_t low_free; /* what was free when pid 1 was last asked */
	bool low_files, based;
	/* how many files the layer had at the last measurement while inodes were below the floor */
	uint64_t low_files_size;
	uint64_t low_files_free;
	bool starved; /* commands were ended because the file system was below the floor */
};

/* What to do now. */
struct watch_order {
	unsigned next_ms; /* look again after this time, if anything runs */
	bool measure;     /* measure, and call watch_measured() */
	bool ask;         /* ask pid 1, and call watch_counted() */
};

/* FRESH: the layer is empty. NOW is what is free before the first command runs. */
void watch_init(struct watch *w, uint64_t most_bytes, bool fresh, const struct watch_space *now);
/* IDLE: nothing runs any more. */
struct watch_order watch_look(struct watch *w, const struct watch_space *now, bool idle);
/* The layer takes SIZE. Returns why the commands must be ended, or END_NONE. */
enum end_reason watch_measured(struct watch *w, const struct watch_size *size);
/* The layer can no longer be measured, so it counts as too large. */
enum end_reason watch_unmeasured(struct watch *w);
/* Pid 1 says that commands have written WRITTEN bytes so far. */
enum end_reason watch_counted(struct watch *w, uint64_t written);
/* True if new commands may not write to files. */
bool watch_is_full(const struct watch *w);
