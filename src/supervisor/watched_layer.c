#include "supervisor/watched_layer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/surveyor.h"
#include "supervisor/watch.h"

#define MIB (1ull << 20)
#define STARVED_MS 1000 /* time between two looks while no process runs and space is short */

struct watched_layer {
	int layer;
	bool fresh;
	bool busy;      /* a process runs in the sandbox */
	bool full;      /* what the last FULL frame said to pid 1 */
	bool uncounted; /* the kernel counts no writes to this file system */
	uint64_t looks; /* grows at each look; if `uncounted`, stands for the bytes written */
	struct watch watch;
	struct surveyor surveyor;
	loop_id timer, answer_watch;
};

/* The texts of the reasons for which the layer's watch ends commands. */
static const char *const reason_text[] = {
	// clang-format off
	[END_NONE]   = "",
	[END_LAYER]  = "the writable layer is larger than it may be",
	[END_FILES]  = "the writable layer has more files than it may have",
	[END_SPACE]  = "the file system of the writable layer is nearly full",
	[END_INODES] = "the file system of the writable layer has nearly no inodes left",
	// clang-format on
};
static_assert(ARRAY_SIZE(reason_text) == END_DURATION, "a reason of the watch has no text");

static int read_space(const struct watched_layer *y, struct watch_space *ret, long *ret_type)
{
	struct statfs f;

	if (fstatfs(y->layer, &f) < 0)
		return -errno;
	*ret = (struct watch_space){
		.free = (uint64_t)f.f_bavail * (uint64_t)f.f_bsize,
		.total = (uint64_t)f.f_blocks * (uint64_t)f.f_bsize,
		.files_free = f.f_ffree,
		.files_total = f.f_files,
	};
	if (ret_type)
		*ret_type = (long)f.f_type;
	return 0;
}

static void tell(struct supervisor *s, enum frame_type type, uint64_t number)
{
	/* if pid 1 takes no frame, it is broken, and its commands must not run unwatched */
	if (!supervisor_tell(s, type, number))
		s->engine->kill(s);
}

/* Does what watch.h decided: tells pid 1 if the layer is full or no longer full, and ends all
 * commands if WHY is a reason. */
static void carry_out(struct supervisor *s, enum end_reason why)
{
	struct watched_layer *y = s->watched;
	bool full = watch_is_full(&y->watch);

	if (full != y->full) {
		y->full = full;
		tell(s, FRAME_FULL, full);
	}
	if (why == END_NONE || s->life != LIFE_RUNNING)
		return;
	log_line(LOG_INFO, "ending all commands: %s", reason_text[why]);
	supervisor_note(s, reason_text[why]);
	tell(s, FRAME_END, (uint64_t)why);
}

static void look(struct supervisor *s, bool idle);

static void on_due(void *arg)
{
	struct supervisor *s = arg;

	s->watched->timer = 0;
	look(s, false);
}

static void order_survey(struct supervisor *s)
{
	if (!surveyor_order(&s->watched->surveyor))
		carry_out(s, watch_unmeasured(&s->watched->watch));
}

static void look(struct supervisor *s, bool idle)
{
	struct watched_layer *y = s->watched;
	struct watch_space now;
	struct watch_order o;

	loop_remove(s->loop, &y->timer);
	if (s->life != LIFE_RUNNING || read_space(y, &now, NULL) < 0)
		return;
	y->looks++;
	o = watch_look(&y->watch, &now, idle);
	carry_out(s, END_NONE); /* there may be space again: tell pid 1 that commands may write */
	if (o.ask && y->uncounted)
		carry_out(s, watch_counted(&y->watch, y->looks));
	else if (o.ask)
		tell(s, FRAME_COUNT, 0);
	if (o.measure)
		order_survey(s);
	if (y->busy || y->watch.starved)
		y->timer = loop_add_timer(
			s->loop, clock_mono_ns() + (y->busy ? o.next_ms : STARVED_MS) * NS_PER_MS,
			on_due, s);
}

static void on_answer(void *arg, int fd, uint32_t events)
{
	struct supervisor *s = arg;
	struct watched_layer *y = s->watched;
	struct survey found;
	int r = surveyor_answer(&y->surveyor, &found);

	if (r == 0)
		return;
	if (r < 0) {
		loop_remove(s->loop, &y->answer_watch);
		log_line(LOG_WARN, "the task that measures the writable layer has ended");
		if (y->watch.measuring)
			carry_out(s, watch_unmeasured(&y->watch));
		return;
	}
	log_line(LOG_DEBUG, "the writable layer has %llu MiB in %llu files",
		 (unsigned long long)(found.bytes / MIB), (unsigned long long)found.files);
	carry_out(s, watch_measured(&y->watch, &(struct watch_size){ found.bytes, found.files }));
}

int watched_layer_new(struct supervisor *s, int layer, bool fresh, struct err *e)
{
	struct watched_layer *y = xcalloc(1, sizeof(*y));

	s->watched = y;
	y->surveyor = SURVEYOR_NONE;
	y->fresh = fresh;
	y->layer = fcntl(layer, F_DUPFD_CLOEXEC, 3);
	return y->layer < 0 ? err_sys(e, errno, "open the writable layer") : 0;
}

int watched_layer_start(struct supervisor *s, struct err *e)
{
	uint64_t most = spec_root_disk_mib(&s->record.spec) * MIB;
	struct watched_layer *y = s->watched;
	struct watch_space now;
	long type = 0;
	int r;

	if (!y)
		return 0;
	r = read_space(y, &now, &type);
	if (r < 0)
		return err_sys(e, -r,
			       "ask how much space the file system of the writable layer has");
	y->uncounted = type == TMPFS_MAGIC || type == RAMFS_MAGIC;
	watch_init(&y->watch, most, y->fresh, &now);
	if (surveyor_start(&y->surveyor, y->layer, s->instance->pidfd, y->watch.most.files, e) < 0)
		return -1;
	y->answer_watch = loop_add_fd(s->loop, y->surveyor.socket, LOOP_READ, on_answer, s);
	return y->answer_watch ? 0 : err_sys(e, errno, "watch the writable layer");
}

void watched_layer_presence(struct supervisor *s, bool busy)
{
	if (!s->watched)
		return;
	log_line(LOG_DEBUG, "the writable layer is %s", busy ? "in use" : "at rest");
	s->watched->busy = busy;
	look(s, !busy);
}

void watched_layer_counted(struct supervisor *s, struct str body)
{
	uint64_t written;

	if (s->watched && number_decode(body, &written) == 0)
		carry_out(s, watch_counted(&s->watched->watch, written));
}

void watched_layer_stop(struct supervisor *s)
{
	struct watched_layer *y = s->watched;

	if (!y)
		return;
	loop_remove(s->loop, &y->timer);
	loop_remove(s->loop, &y->answer_watch);
	surveyor_end(&y->surveyor);
	fd_closep(&y->layer);
	free_p(&s->watched);
}
