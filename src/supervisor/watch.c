#include "supervisor/watch.h"

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t floor_of(uint64_t total, uint64_t most)
{
	uint64_t part = total / WATCH_FLOOR_PART;

	return part < most ? part : most;
}

void watch_init(struct watch *w, uint64_t most_bytes, bool fresh, const struct watch_space *now)
{
	*w = (struct watch){ .most = { most_bytes, most_bytes / WATCH_BYTES_PER_FILE },
			     .known = fresh,
			     .high = now->free,
			     .files_high = now->files_free };
}

/* Returns how much the free space of the file system may shrink before the layer must be
 * measured. */
static uint64_t bytes_left(const struct watch *w)
{
	uint64_t slack = w->most.bytes / WATCH_SLACK_PART;

	return max(w->known ? less(w->most.bytes, w->size.bytes) : 0, slack);
}

static uint64_t files_left(const struct watch *w)
{
	uint64_t slack = w->most.files / WATCH_SLACK_PART;

	return max(w->known ? less(w->most.files, w->size.files) : 0, slack);
}

/* Returns true if a layer that was too large may be smaller now, because its files were deleted. */
static bool may_be_smaller(const struct watch *w, const struct watch_space *now, bool idle)
{
	return w->over && (idle || less(now->free, w->then) > w->most.bytes / WATCH_SLACK_PART);
}

static void begin_measuring(struct watch *w, const struct watch_space *now)
{
	w->measuring = true;
	w->then = now->free;
	w->files_then = now->files_free;
	w->then_counted = w->late = w->again = false;
}

/* Returns true if the free space is a reason to ask pid 1 how much the commands have written. Above
 * the floor it is no reason. Below the floor there are two cases. If there is no earlier answer to
 * compare with (`counted` is false), pid 1 is asked at once. If there is one, pid 1 is asked each
 * time the free space has shrunk by WATCH_FALL_BYTES more. watch_counted() compares the new answer
 * with the earlier one. */
static bool judge_space(struct watch *w, const struct watch_space *now)
{
	bool low = now->free < floor_of(now->total, WATCH_FLOOR_BYTES);

	if (!low) {
		w->low = w->counted = false;
		return false;
	}
	if (w->low && w->counted && less(w->low_free, now->free) < WATCH_FALL_BYTES) {
		w->low_free = max(w->low_free, now->free);
		return false;
	}
	w->low = true;
	w->low_free = now->free;
	return true;
}

/* Returns true if the free inodes are below the floor and the layer must be measured. Making an
 * empty file writes no bytes, so pid 1 cannot say whether a command made the file. */
static bool judge_files(struct watch *w, const struct watch_space *now)
{
	bool low =
		now->files_total && now->files_free < floor_of(now->files_total, now->files_total);

	if (!low) {
		w->low_files = w->based = false;
		return false;
	}
	if (w->low_files && w->based &&
	    less(w->low_files_free, now->files_free) < WATCH_FALL_FILES) {
		w->low_files_free = max(w->low_files_free, now->files_free);
		return false;
	}
	w->low_files = true;
	w->low_files_free = now->files_free;
	return true;
}

/* Returns the shortest time in milliseconds in which BYTES or FILES can be used up, but at least
 * WATCH_SOONEST_MS and at most WATCH_LATEST_MS. */
static unsigned time_for(uint64_t bytes, uint64_t files)
{
	uint64_t ms = bytes / WATCH_BYTES_PER_MS, for_files = files / WATCH_FILES_PER_MS;

	ms = for_files < ms ? for_files : ms;
	return ms < WATCH_SOONEST_MS  ? WATCH_SOONEST_MS
	       : ms > WATCH_LATEST_MS ? WATCH_LATEST_MS
				      : (unsigned)ms;
}

/* N is what the file system has left. Returns how much of it can be used before the next event:
 * until FLOOR is reached, or, if N is not above FLOOR, until nothing is left. */
static uint64_t until_floor(uint64_t n, uint64_t floor)
{
	return n > floor ? n - floor : n;
}

static unsigned next_look(const struct watch *w, const struct watch_space *now, uint64_t lost,
			  uint64_t files_lost, bool waits)
{
	uint64_t bytes = less(bytes_left(w), lost), files = less(files_left(w), files_lost);
	uint64_t free = until_floor(now->free, floor_of(now->total, WATCH_FLOOR_BYTES));
	uint64_t files_free =
		until_floor(now->files_free, floor_of(now->files_total, now->files_total));

	if (waits)
		return WATCH_SOONEST_MS; /* the next step needs an answer that we still wait for */
	return time_for(bytes < free ? bytes : free,
			!now->files_total || files < files_free ? files : files_free);
}

struct watch_order watch_look(struct watch *w, const struct watch_space *now, bool idle)
{
	struct watch_order o = { 0 };
	uint64_t lost, files_lost;
	bool must;

	w->high = max(w->high, now->free);
	w->files_high = max(w->files_high, now->files_free);
	lost = w->high - now->free;
	files_lost = w->files_high - now->files_free;
	o.ask = judge_space(w, now) || (w->over && w->grew) || w->last_writes;
	if (w->last_writes)
		w->last_writes--;
	must = judge_files(w, now) || lost > bytes_left(w) || files_lost > files_left(w) ||
	       may_be_smaller(w, now, idle) || w->again;
	if (must && !w->measuring) {
		begin_measuring(w, now);
		o.measure = o.ask = true;
	}
	w->late = w->measuring && less(w->then, now->free) > w->most.bytes / WATCH_PATIENCE_PART;
	o.ask = (o.ask || w->late) && !w->asked;
	w->asked |= o.ask;
	w->starved &= w->low || w->low_files;
	o.next_ms = next_look(w, now, lost, files_lost, w->asked || must);
	return o;
}

static bool exceeds(const struct watch_size *a, const struct watch_size *b)
{
	return a->bytes > b->bytes || a->files > b->files;
}

/* Notes that the layer is too large, and that the commands are ended for the reason WHY. If WHY is
 * END_NONE, no command is ended. After commands were ended, the next measurement sets `over_size`,
 * because it includes what they wrote before they ended. */
static enum end_reason become_over(struct watch *w, enum end_reason why)
{
	w->over = true;
	w->over_size = (struct watch_size){ UINT64_MAX / 2, UINT64_MAX / 2 };
	w->grew = false;
	w->ended |= why != END_NONE;
	w->again = w->measuring;
	w->last_writes = WATCH_LAST_LOOKS;
	return why;
}

/* Handles a layer that is too large. If it was too large when the sandbox started, no command is
 * ended until the layer grows. */
static enum end_reason judge_over(struct watch *w, bool knew)
{
	struct watch_size grown = { w->over_size.bytes + w->most.bytes / WATCH_SLACK_PART,
				    w->over_size.files + w->most.files / WATCH_SLACK_PART };

	if (!w->over && knew && !w->ended)
		return become_over(w, w->size.bytes > w->most.bytes ? END_LAYER : END_FILES);
	if (w->over)
		w->grew |= exceeds(&w->size, &grown);
	/* the layer may have grown by writes of commands that were ended before */
	else if (w->ended)
		w->over = w->grew = true;
	else
		become_over(w, END_NONE);
	if (w->size.bytes < w->over_size.bytes)
		w->over_size.bytes = w->size.bytes;
	if (w->size.files < w->over_size.files)
		w->over_size.files = w->size.files;
	return END_NONE;
}

enum end_reason watch_measured(struct watch *w, const struct watch_size *size)
{
	bool knew = w->known, files_grew;

	if (w->again) {
		w->measuring = false;
		return END_NONE;
	}
	files_grew = w->low_files && w->based && size->files > w->low_files_size;
	if (w->low_files) {
		/* If files_grew is true, the commands are ended now, but they go on making files
		 * until they are dead. These files are in the next measurement. So `based` becomes
		 * false: the next measurement is stored, but not compared with this one. */
		w->based = !files_grew;
		w->low_files_size = size->files;
	}
	w->measuring = false;
	w->known = true;
	w->size = *size;
	w->high = w->then;
	w->files_high = w->files_then;
	if (exceeds(size, &w->most))
		return judge_over(w, knew);
	w->over = false;
	w->starved |= files_grew;
	return files_grew ? END_INODES : END_NONE;
}

enum end_reason watch_unmeasured(struct watch *w)
{
	w->measuring = false;
	w->high = w->then;
	w->files_high = w->files_then;
	return become_over(w, END_LAYER);
}

/* Returns true if a layer that is too large has grown, and commands have written since it became
 * too large. */
static bool judge_growth(struct watch *w, uint64_t written)
{
	bool wrote = !w->last_writes && written != w->over_written;
	bool grew = w->grew;

	/* no command has written since the layer became too large, so it grew by earlier writes
	 * that arrived late */
	if (grew && !wrote)
		w->over_size = w->size;
	w->grew = false;
	return grew && wrote;
}

enum end_reason watch_counted(struct watch *w, uint64_t written)
{
	bool wrote = w->counted && written != w->written;
	bool late = w->late && w->then_counted && !w->over && !w->last_writes &&
		    written != w->then_written;

	w->asked = false;
	if (w->measuring && !w->then_counted) {
		w->then_counted = true;
		w->then_written = written;
	}
	if (w->last_writes)
		w->over_written = written;
	if (w->over && judge_growth(w, written))
		return become_over(w, END_LAYER);
	/* the measurement takes long, and the commands go on writing meanwhile */
	if (late)
		return become_over(w, END_LAYER);
	if (!w->low)
		return END_NONE;
	/* If `wrote` is true, the commands are ended now, but they go on writing until they are
	 * dead. So `counted` becomes false: the next answer is stored, but not compared with this
	 * one. */
	w->counted = !wrote;
	w->written = written;
	w->starved |= wrote;
	return wrote ? END_SPACE : END_NONE;
}

bool watch_is_full(const struct watch *w)
{
	return w->over || w->starved;
}
