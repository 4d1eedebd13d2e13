/*
 * Judges whether a writable layer is within its size, if nothing else limits the layer. This is a
 * state machine without a clock and without files. The caller passes three facts: how much space
 * the file system has left, how large the layer was when it was measured, and how much the commands
 * wrote. The answer says when to look again, and whether to measure, to ask pid 1, or to end the
 * commands.
 *
 * Reading the free space of the file system costs 2 us. Measuring a large layer takes long. So we
 * compare two numbers: how much free space the file system has lost since the last measurement, and
 * how much the layer may still grow. If the loss is smaller, the layer cannot be too large, and
 * needs no measurement. A measurement misses files that were deleted while open, because no
 * directory lists them. The floor limits how much space such files can take. The floor is a part of
 * the file system that no sandbox may use. A measurement can take long, because hostile processes
 * take its CPU time or because the tree is huge. If meanwhile the file system goes on losing space
 * and the sandbox goes on writing, the commands are ended before the measurement is complete.
 *
 * If a layer becomes too large, the commands are ended, but the layer is kept, so that it can be
 * cleaned up. New commands run, but may not write to files until the layer is smaller. If the layer
 * grows nevertheless, pid 1 is asked whether commands wrote, because fuse-overlayfs also writes
 * after commands have ended. If commands wrote, they are ended.
 *
 * If the file system is below the floor, it does not matter how large the layer is: if commands of
 * the sandbox write, they are ended. New commands then may not write to files until the file system
 * is above the floor again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/message.h"

/* the floor: this much of the file system must stay free, or 1/20 of the file system if that is
 * less */
#define WATCH_FLOOR_BYTES (1ull << 30)
#define WATCH_FLOOR_PART 20
#define WATCH_SLACK_PART 64 /* a loss up to 1/64 of the layer's limit needs no measurement */
#define WATCH_BYTES_PER_MS (4ull << 20) /* no process writes faster than 4 GiB/s */
#define WATCH_FILES_PER_MS 200          /* no process makes more files per millisecond */
/* the shortest and the longest time between two looks at the free space */
#define WATCH_SOONEST_MS 10
#define WATCH_LATEST_MS 1000
#define WATCH_BYTES_PER_FILE 4096     /* a layer of at most N bytes may have N / 4096 files */
#define WATCH_FALL_BYTES (1ull << 20) /* a smaller loss is noise: a log, a journal */
#define WATCH_FALL_FILES 64
#define WATCH_LAST_LOOKS 20
/* if the loss during a measurement is larger than 1/8 of the layer's limit, we do not wait for the
 * measurement any longer */
#define WATCH_PATIENCE_PART 8

/* What a file system has left. */
struct watch_space {
	uint64_t free, total;
	uint64_t files_free,
		files_total; /* files_total is 0 if the file system does not count files */
};

/* What a layer takes. */
struct watch_size {
	uint64_t bytes, files;
};

struct watch {
	struct watch_size most; /* what the layer may take */
	struct watch_size size; /* what the layer took at the last measurement */
	bool known;             /* `size` is known: the layer was measured, or is new and empty */
	bool measuring;
	/* commands were ended since the measurement began: measure again */
	bool again;
	bool over;                   /* the layer is too large */
	struct watch_size over_size; /* if `over`: the layer must not grow beyond this */
	/* the layer has grown beyond over_size; pid 1 must say whether commands wrote */
	bool grew;
	bool ended; /* commands were ended because the layer was too large */
	/* When commands are ended, this is set to WATCH_LAST_LOOKS, and each look lowers it by one.
	 * While it is above 0, writes are taken for late writes of the ended commands. */
	unsigned last_writes;
	/* the last answer of pid 1 that came while `last_writes` was above 0; if a later answer
	 * differs, new commands have written */
	uint64_t over_written;
	uint64_t high, files_high; /* the most that was free since the last measurement */
	uint64_t then, files_then; /* what was free when the measurement began */
	bool asked;                /* pid 1 was asked and has not answered yet */
	/* what commands had written when the measurement began, if that is known */
	bool then_counted;
	uint64_t then_written;
	bool late; /* the file system has lost much since the measurement began */
	/* `low`: the file system is below the floor; `counted`: compare the next answer with
	 * `written` */
	bool low, counted;
	uint64_t written;  /* what commands had written when pid 1 was last asked */
	uint64_t low_free; /* the most that was free since pid 1 was last asked */
	/* `low_files`: the free inodes are below the floor; `based`: compare the next measurement
	 * with `low_files_size` */
	bool low_files, based;
	/* the number of files in the layer, from the last measurement that ended while the free
	 * inodes were below the floor */
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

/* MOST_BYTES is the largest allowed size of the layer. FRESH says that the layer is new and empty.
 * NOW is the free space before the first command runs. */
void watch_init(struct watch *w, uint64_t most_bytes, bool fresh, const struct watch_space *now);
/* Judges the file system's free space NOW, and returns what to do. If IDLE is true, no process runs
 * in the sandbox any more. */
struct watch_order watch_look(struct watch *w, const struct watch_space *now, bool idle);
/* Judges the measured SIZE of the layer. Returns why the commands must be ended, or END_NONE. */
enum end_reason watch_measured(struct watch *w, const struct watch_size *size);
/* Notes that the layer can no longer be measured. Such a layer counts as too large, so the commands
 * must be ended. Returns the reason. */
enum end_reason watch_unmeasured(struct watch *w);
/* Judges the number of bytes that commands have written so far, as pid 1 reports it. Returns why
 * the commands must be ended, or END_NONE. */
enum end_reason watch_counted(struct watch *w, uint64_t written);
/* Returns true if new commands may not write to files. */
bool watch_is_full(const struct watch *w);
