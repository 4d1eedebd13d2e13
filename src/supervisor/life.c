/*
 * STARTING → RUNNING → STOPPING → DEAD. When pid 1 ends, each state goes straight to DEAD.
 *
 * RUNNING begins when pid 1 has sent READY and, if ports are published, the gateway serves. If the
 * start fails or takes too long, pid 1 is killed. A stop during STARTING leads to STOPPING. The
 * supervisor reports the outcome of the start to the command that started it, on the leash
 * (wire/leash.h). In STOPPING the supervisor asks pid 1 to end its commands, and kills pid 1 when
 * the grace is over. In DEAD it cleans up. It deletes the record of an ephemeral sandbox, and of a
 * sandbox that has never been up. In any other record it writes Stopped if the stop was intended,
 * else Crashed. It releases the lock last.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/stack.h"
#include "spec/grammar.h"
#include "state/boot_error.h"
#include "state/removal.h"
#include "supervisor/confine.h"
#include "supervisor/supervisor.h"
#include "supervisor/watched_layer.h"

#define BIT(n) (1u << (n))
#define READ_CHUNK_BYTES 16384
/* on_late() runs this long after the start, unless the sandbox ends sooner */
#define LATE_AFTER_NS (20 * NS_PER_MS)

static const unsigned may_become[] = {
	[LIFE_STARTING] = BIT(LIFE_RUNNING) | BIT(LIFE_STOPPING) | BIT(LIFE_DEAD),
	[LIFE_RUNNING] = BIT(LIFE_STOPPING) | BIT(LIFE_DEAD),
	[LIFE_STOPPING] = BIT(LIFE_DEAD),
	[LIFE_DEAD] = 0,
};
static_assert(ARRAY_SIZE(may_become) == LIFE_COUNT, "a state of life has no row");

static void become(struct supervisor *s, enum life next)
{
	assert(may_become[s->life] & BIT(next));
	s->life = next;
}

static void save(struct supervisor *s, enum status status)
{
	struct err e;

	s->record.state.status = status;
	/* a full disk must not end a sandbox that works; the held lock still shows that it lives */
	IGNORE(state_write(s->record_dir, &s->record.state, &e));
}

void supervisor_note(struct supervisor *s, const char *text)
{
	if (s->record.spec.ephemeral)
		return; /* the log of this sandbox is deleted with its record */
	execlog_add(&s->log, 0, LOG_SYSTEM, text, strlen(text));
}

bool supervisor_tell(const struct supervisor *s, enum frame_type type, uint64_t number)
{
	AUTO_BUF body = BUF_INIT(16);
	AUTO_BUF b = BUF_INIT(64);

	number_encode(&body, number);
	frame_put(&b, type, 0, 0, body.p, body.n);
	return send(s->instance->channel, b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)b.n;
}

/* Returns true for an ephemeral sandbox whose first client waits for its command. Such a sandbox
 * usually ends before another command could ask about it. */
static bool is_brief(const struct supervisor *s)
{
	return s->record.spec.ephemeral && s->attended;
}

static void on_late(void *arg)
{
	struct supervisor *s = arg;

	s->late_timer = 0;
	if (s->life == LIFE_RUNNING && is_brief(s))
		save(s, STATUS_RUNNING);
	stack_trim();
}

/* Writes into the record that the sandbox has booted. If that fails for a new sandbox, its start
 * fails, because the next command would take the record for a leftover and delete it. An ephemeral
 * sandbox starts nevertheless: its record is deleted in any case. For a brief sandbox (is_brief()),
 * on_late() writes the record instead. */
void supervisor_settle(struct supervisor *s)
{
	struct state *state = &s->record.state;
	struct err e = { 0 };

	s->unsettled = false;
	state->booted_once = true;
	state->status = STATUS_RUNNING;
	s->late_timer = loop_add_timer(s->loop, clock_mono_ns() + LATE_AFTER_NS, on_late, s);
	if ((s->late_timer && is_brief(s)) || state_write(s->record_dir, state, &e) == 0 ||
	    s->record.spec.ephemeral || state->boots > 1)
		return;
	state->booted_once = false;
	s->stage = "other";
	supervisor_fail(s, &e);
}

/* --- timers ---------------------------------------------------------------------------------- */

/* Stops the sandbox. No command asked for this stop, so the log gets the reason. */
static void time_is_up(struct supervisor *s, enum end_reason why, const char *reason)
{
	supervisor_note(s, reason);
	/* pid 1 tells the reason to the clients of running commands; if this frame is lost, the
	 * clients miss only the reason */
	IGNORE(supervisor_tell(s, FRAME_END, (uint64_t)why));
	supervisor_stop(s, STOP_USUAL, reason);
}

static void on_duration(void *arg)
{
	time_is_up(arg, END_DURATION, "maximum duration reached");
}

static void on_idle(void *arg)
{
	time_is_up(arg, END_IDLE, "idle timeout reached");
}

void supervisor_touch(struct supervisor *s)
{
	uint64_t idle = s->record.spec.idle_timeout_s;

	loop_remove(s->loop, &s->idle_timer);
	if (idle && !s->busy && s->life == LIFE_RUNNING)
		s->idle_timer =
			loop_add_timer(s->loop, clock_mono_ns() + idle * NS_PER_SEC, on_idle, s);
}

static void on_grace_over(void *arg)
{
	struct supervisor *s = arg;

	s->engine->kill(s);
}

/* Asks everything inside to end by SIGNAL, and calls THEN after GRACE_MS. */
static void ask_to_end(struct supervisor *s, int signal, unsigned grace_ms, loop_timer_fn *then)
{
	if (!s->engine->stop(s, signal))
		s->engine->kill(s);
	else
		/* nothing cancels this timer: the supervisor ends with the sandbox */
		loop_add_timer(s->loop, clock_mono_ns() + grace_ms * NS_PER_MS, then, s);
}

/* Sends SIGTERM after the image's own stop signal: that signal is for the main program, and other
 * programs may ignore it. */
static void on_stop_signal_over(void *arg)
{
	struct supervisor *s = arg;

	ask_to_end(s, SIGTERM, s->last_grace_ms, on_grace_over);
}

static void begin_stop(struct supervisor *s, unsigned grace_ms)
{
	const char *wish = s->record.spec.stop_signal;
	int signal = wish ? signal_number(wish) : SIGTERM;

	if (signal < 0 || signal == SIGTERM) {
		ask_to_end(s, SIGTERM, grace_ms, on_grace_over);
		return;
	}
	s->last_grace_ms = grace_ms / 2 < STOP_TERM_MS ? grace_ms / 2 : STOP_TERM_MS;
	ask_to_end(s, signal, grace_ms - s->last_grace_ms, on_stop_signal_over);
}

static unsigned default_grace_ms(void)
{
	const char *text = getenv("MSB_SHUTDOWN_FLUSH_TIMEOUT_MS");
	uint64_t v;

	return text && parse_u64(text, 0, 600000, &v) == 0 ? (unsigned)v : STOP_GRACE_MS;
}

void supervisor_stop(struct supervisor *s, unsigned grace_ms, const char *reason)
{
	if (grace_ms == STOP_USUAL)
		grace_ms = default_grace_ms();
	if (s->life == LIFE_STOPPING && grace_ms == 0)
		s->engine->kill(s); /* the client does not want to wait any longer */
	if (s->life == LIFE_STOPPING || s->life == LIFE_DEAD)
		return;
	/* the command that started the sandbox gets this error */
	if (s->life == LIFE_STARTING && !s->failure.code)
		err_set(&s->failure, ERR_NOT_RUNNING,
			"sandbox '%s' was stopped while it started: %s", s->record.spec.name,
			reason);
	snprintf(s->record.state.stop_reason, sizeof(s->record.state.stop_reason), "%s", reason);
	log_line(LOG_INFO, "stopping within %u ms: %s", grace_ms, reason);
	become(s, LIFE_STOPPING);
	loop_remove(s->loop, &s->idle_timer);
	loop_remove(s->loop, &s->duration_timer);
	if (grace_ms == 0) {
		s->engine->kill(s);
		return;
	}
	if (!s->record.spec.ephemeral) /* an ephemeral record is deleted soon anyway */
		save(s, STATUS_DRAINING);
	begin_stop(s, grace_ms);
}

/* --- pid 1 ----------------------------------------------------------------------------------- */

/* The sandbox is up: STARTING becomes RUNNING. */
static void start_is_over(struct supervisor *s)
{
	uint64_t longest = s->record.spec.max_duration_s;

	loop_remove(s->loop, &s->ready_timer);
	become(s, LIFE_RUNNING);
	s->engine->ready(s);
	/* we must be dumpable until now: else newuidmap could not map the ids of our child */
	IGNORE(prctl(PR_SET_DUMPABLE, 0)); /* cannot fail */
	if (s->record.state.booted_once)
		boot_error_erase(s->record_dir);
	s->unsettled = s->record.spec.n_patches > 0 && !s->record.state.booted_once;
	s->record.state.boots++;
	s->record.state.started_ns = clock_real_ns();
	s->record.state.stop_reason[0] = '\0';
	/* an ephemeral sandbox is reported before its record is written: the record can wait */
	if (s->record.spec.ephemeral)
		leash_tell_up(s);
	if (s->unsettled)
		save(s, STATUS_STARTING);
	else
		supervisor_settle(s);
	if (s->failure.code)
		return;
	if (!s->record.spec.ephemeral)
		leash_tell_up(s);
	supervisor_note(s, "--- sandbox started ---");
	log_line(LOG_INFO, "running: pid 1 is %d, memory %s, cpus %s, processes %s, ids %s",
		 (int)s->instance->pid, s->record.state.enforced.memory,
		 s->record.state.enforced.cpus, s->record.state.enforced.pids,
		 s->record.state.enforced.ids);
	if (longest)
		s->duration_timer = loop_add_timer(s->loop, clock_mono_ns() + longest * NS_PER_SEC,
						   on_duration, s);
	supervisor_touch(s);
}

void supervisor_fail(struct supervisor *s, const struct err *why)
{
	if (!s->failure.code)
		s->failure = *why;
	s->engine->kill(s);
}

void supervisor_lost(struct supervisor *s, const struct err *why)
{
	if (s->life != LIFE_STARTING && s->life != LIFE_RUNNING)
		return;
	supervisor_note(s, why->msg);
	snprintf(s->record.state.stop_reason, sizeof(s->record.state.stop_reason), "%.*s",
		 (int)sizeof(s->record.state.stop_reason) - 1, why->msg); /* a long text is cut */
	if (s->life == LIFE_STARTING)
		supervisor_fail(s, why);
	s->engine->kill(s);
}

static void on_ready(struct supervisor *s)
{
	struct err e = { 0 };
	bool waits;

	s->stage = "network";
	if (link_open(s, &waits, &e) < 0)
		supervisor_fail(s, &e);
	else if (!waits)
		start_is_over(s);
}

void supervisor_gateway_up(struct supervisor *s)
{
	if (s->life == LIFE_STARTING)
		start_is_over(s);
	else
		save(s, s->record.state.status); /* a new gateway may have other ports */
}

void supervisor_log(struct supervisor *s, const struct frame *f)
{
	enum execlog_source source = f->flags & FRAME_FLAG_JOINED   ? LOG_OUTPUT
				     : f->flags & FRAME_FLAG_STDERR ? LOG_STDERR
								    : LOG_STDOUT;

	if (f->body.n <= FRAME_DATA_MAX_BYTES)
		execlog_add(&s->log, f->stream, source, f->body.p, f->body.n);
}

static void on_guest_error(struct supervisor *s, const struct frame *f)
{
	unsigned code;
	const char *text;

	if (s->life == LIFE_STARTING && error_decode(f->body, &code, &text) == 0)
		err_set(&s->failure, (enum err_code)code, "%s", text);
}

/* Handles a frame of pid 1. Ignores frames that do not fit the state. A payload that has taken over
 * pid 1 can only lie about its own sandbox. */
static int on_frame(void *arg, const struct frame *f)
{
	struct supervisor *s = arg;

	log_line(LOG_TRACE, "frame %u of %zu bytes from pid 1", (unsigned)f->type, f->body.n);
	switch (f->type) {
	case FRAME_READY:
		if (s->life == LIFE_STARTING)
			on_ready(s);
		break;
	case FRAME_ERROR:
		on_guest_error(s, f);
		break;
	case FRAME_ACTIVITY:
		s->busy = f->flags & FRAME_FLAG_BUSY;
		log_line(LOG_DEBUG, "commands are %s", s->busy ? "running" : "over");
		supervisor_touch(s);
		break;
	case FRAME_PRESENCE:
		watched_layer_presence(s, f->flags & FRAME_FLAG_BUSY);
		break;
	case FRAME_COUNTED:
		watched_layer_counted(s, f->body);
		break;
	case FRAME_LOG:
		supervisor_log(s, f);
		break;
	case FRAME_EXIT: /* the command of `run -d` has ended */
		supervisor_stop(s, STOP_USUAL, "its command ended");
		break;
	default:
		break;
	}
	return 0;
}

static void on_channel(void *arg, int fd, uint32_t events)
{
	struct supervisor *s = arg;
	char chunk[READ_CHUNK_BYTES];
	ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* pid 1 is ending; its pidfd becomes readable when it has ended */
		loop_remove(s->loop, &s->channel_watch);
		s->engine->kill(s);
		return;
	}
	if (frame_feed(&s->channel_in, chunk, (size_t)n, on_frame, s) < 0) {
		supervisor_note(s, "pid 1 broke the protocol; ending the sandbox");
		s->engine->kill(s);
		loop_remove(s->loop, &s->channel_watch);
	}
}

static void on_pid_1_gone(void *arg, int fd, uint32_t events)
{
	struct supervisor *s = arg;
	bool meant = s->life == LIFE_STOPPING;

	loop_remove(s->loop, &s->pidfd_watch);
	if (s->life == LIFE_STARTING && !s->failure.code) {
		s->engine->explain(s, &s->stage, &s->failure);
	}
	become(s, LIFE_DEAD);
	if (s->record.state.booted_once)
		supervisor_note(s, meant ? "--- sandbox stopped ---" : "--- sandbox crashed ---");
	s->record.state.status = meant ? STATUS_STOPPED : STATUS_CRASHED;
	loop_stop(s->loop);
}

static void on_not_ready(void *arg)
{
	struct supervisor *s = arg;

	err_set(&s->failure, ERR_TIMEOUT, "pid 1 did not answer within 180 s");
	s->engine->kill(s);
}

static void on_terminate(void *arg, int sig)
{
	supervisor_stop(arg, STOP_USUAL, "the supervisor was asked to end");
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Called after the sandbox's end, and after a start that failed before there was a sandbox. Removes
 * everything of the instance, and deletes or updates the record. */
static void clean_up(struct supervisor *s)
{
	struct err e;

	watched_layer_stop(s);
	link_close(s);
	s->engine->done(s);
	home_erase_sockets(&s->home, s->record.spec.name);
	if (supervisor_may_vanish(s)) {
		/* If one of these calls fails, the next command erases what is left of the record.
		 * record_erase() fails if files belong to the sandbox's range of ids,
		 * because we may not delete such files. */
		if (!record_is_retired(&s->home, s->record.spec.name, s->record_dir))
			IGNORE(record_retire(&s->home, s->record.spec.name));
		IGNORE(record_erase(&s->home, s->record.spec.name, &e));
	} else {
		if (s->failure.code)
			boot_error_write(s->record_dir, s->stage, &s->failure);
		save(s, s->record.state.status == STATUS_RUNNING ? STATUS_CRASHED
								 : s->record.state.status);
	}
	if (s->failure.code) {
		log_line(LOG_ERROR, "%s: %s", s->stage, s->failure.msg);
		leash_tell_failure(s);
	}
	log_line(LOG_INFO, "ended");
	control_stopped(s);
}

static int watch_all(struct supervisor *s)
{
	s->pidfd_watch = loop_add_fd(s->loop, s->instance->pidfd, LOOP_READ, on_pid_1_gone, s);
	s->channel_watch = loop_add_fd(s->loop, s->instance->channel, LOOP_READ, on_channel, s);
	s->ready_timer =
		loop_add_timer(s->loop, clock_mono_ns() + READY_TIMEOUT_NS, on_not_ready, s);
	if (!s->pidfd_watch || !s->channel_watch || !leash_watch(s) || !s->ready_timer ||
	    !loop_add_signal(s->loop, SIGTERM, on_terminate, s) ||
	    !loop_add_signal(s->loop, SIGINT, on_terminate, s) ||
	    !loop_add_signal(s->loop, SIGHUP, on_terminate, s))
		return err_sys(&s->failure, errno, "watch the sandbox");
	return control_open(s);
}

/* Notes in the record that a start is under way. If we are killed later, we leave control groups
 * and other things outside the record. The command that removes the sandbox sees the note and then
 * releases these things (supervisor_release()). If the start fails, clean_up() replaces
 * the note. */
static void note_start(const struct supervisor *s)
{
	struct state begun = s->record.state;
	struct err e;

	begun.status = STATUS_STARTING;
	/* a new record has no state yet, and `remove` reads that as a start under way, too */
	if (begun.booted_once)
		IGNORE(state_write(s->record_dir, &begun, &e)); /* the disk may be full */
}

int supervisor_run(struct supervisor *s)
{
	int r = loop_new(&s->loop);

	buf_init(&s->channel_in, FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES);
	buf_init(&s->warnings, 4096);
	s->old_link = -1;
	s->stage = "other";
	s->record.state.supervisor = getpid();
	s->record.state.wire = WIRE_VERSION;
	execlog_open(&s->log, s->record_dir);
	note_start(s);
	if (r < 0)
		err_sys(&s->failure, -r, "make an event loop");
	else if (supervisor_launch(s, &s->failure) == 0 && watch_all(s) == 0 &&
		 watched_layer_start(s, &s->failure) == 0 &&
		 supervisor_confine(s, &s->failure) == 0) {
		r = loop_run(s->loop);
		if (r < 0)
			err_sys(&s->failure, -r, "wait for events");
	}
	clean_up(s);
	execlog_close(&s->log);
	/* Release the lock before our exit. The exit also closes old_link, the link of the ended
	 * gateway. This takes the kernel tens of milliseconds, in which other commands would wait
	 * for the lock */
	fd_closep(&s->lock);
	control_hang_up(s);
	return s->failure.code ? 1 : 0;
}
