/*
 * The sandbox of a session, with its connection, its leash (wire/leash.h) and its processes.
 *
 * A session ends in two steps. First all processes are stopped at once. Then the leash is
 * half-closed, which makes the supervisor end the sandbox. When the sandbox is gone, a read of the
 * leash reports the end of file. No step needs a hand (client/hands.h) or a lock.
 */
#include "service/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "service/blueprint.h"
#include "service/result.h"
#include "spec/cpus.h"

/* if a supervisor needs more time to end its sandbox, the server stops waiting for it */
#define GONE_MS 10000

/* --- limits ---------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void on_limits(void *arg, const struct err *why)
{
	struct session *n = arg;

	/* this is no error: the kernel refuses a limit below the memory in use, and session_allow()
	 * tries again when the next process ends */
	if (why && why->code != ERR_NOT_RUNNING)
		log_line(LOG_INFO, "sandbox '%s': its limits were not changed: %s", n->sandbox,
			 why->msg);
}

/* Each running process adds its own allowance to the limits of the session, so that processes do
 * not take memory from each other. */
static void session_allow(struct session *n)
{
	struct limits_message m;
	uint64_t running = 0;
	struct err e;

	if (n->gone || n->closing)
		return;
	blueprint_limits(&n->spec, &m);
	for (const struct process *p = n->process; p; p = process_next(p))
		if (process_is_running(p)) {
			running++;
			m.memory_mib += (uint64_t)(process_memory_mb(p) ? process_memory_mb(p)
									: n->spec.memory_mb);
		}
	m.cpu_milli = least(m.cpu_milli * (running + 1), SPEC_CPUS_MAX * (uint64_t)CPUS_ONE);
	m.pids = least(m.pids * (running + 1), SPEC_PIDS_MAX);
	if (leash_set_limits(n->leash, &m, on_limits, n, &e) < 0)
		log_line(LOG_INFO, "sandbox '%s': its limits were not changed: %s", n->sandbox,
			 e.msg);
}

/* --- the end --------------------------------------------------------------------------------- */

static bool has_running_process(const struct session *n)
{
	for (const struct process *p = n->process; p; p = process_next(p))
		if (process_is_running(p))
			return true;
	return false;
}

/* Frees the session. Called when the sandbox is gone, or when its end took too long. */
static void session_gone(struct session *n)
{
	struct slot *s = n->slot;

	s->session = NULL;
	session_free(n);
	slot_continue(s);
}

static void on_leash_gone(void *arg)
{
	struct session *n = arg;

	n->gone = true;
	/* if the line is still open, on_line_gone() is called soon and ends the session */
	if (n->closing && !n->line)
		session_gone(n);
}

static void on_overdue(void *arg)
{
	struct session *n = arg;

	n->timer = 0;
	if (!n->gone)
		log_line(LOG_WARN,
			 "sandbox '%s' did not end within %d s; its supervisor still tries to end "
			 "it",
			 n->sandbox, GONE_MS / 1000);
	session_gone(n);
}

/* Ends the sandbox. The loop calls session_gone() later, so the caller may still use the session
 * after let_go(). */
static void let_go(struct session *n)
{
	line_free(n->line);
	n->line = NULL;
	leash_end(n->leash);
	loop_remove(n->slot->all->loop, &n->timer);
	n->timer = loop_add_timer(n->slot->all->loop,
				  clock_mono_ns() + (n->gone ? 0 : GONE_MS * NS_PER_MS), on_overdue,
				  n);
	if (!n->timer)
		out_of_memory();
}

void session_close(struct session *n)
{
	n->closing = true;
	for (struct process *p = n->process; p; p = process_next(p))
		process_stop(p);
	if (!has_running_process(n))
		let_go(n);
}

static void on_process_used(void *arg)
{
	session_touch(arg);
}

static void on_process_printed(void *arg, uint64_t number, enum job_output which, const char *p,
			       size_t n)
{
	session_log(arg, number, which, p, n);
}

static void on_process_ended(void *arg, struct process *p)
{
	struct session *n = arg;
	struct work *w = n->slot->queue;

	session_touch(n);
	session_allow(n);
	if (n->closing) {
		if (!has_running_process(n) && n->line)
			let_go(n);
	} else if (w && w->stage == STAGE_ENDING) {
		/* do not trim the list of ended processes now: the work that stopped P still reads
		 * P */
		slot_continue(n->slot);
	} else {
		sessions_trim_completed(n->slot->all);
	}
}

/* Called when the sandbox ended before let_go() ended it: its memory ran out, it was removed, or
 * its supervisor was killed. */
static void on_line_gone(void *arg, const struct err *why)
{
	struct session *n = arg;

	log_line(LOG_INFO, "sandbox '%s' ended: %s", n->sandbox, why->msg);
	line_free(n->line);
	n->line = NULL;
	if (n->closing)
		let_go(n);
	else
		sessions_expire(n->slot);
}

/* --- the session ----------------------------------------------------------------------------- */

const char *session_backend_name(const struct sessions *all)
{
	return all->engine.backend_name(all->engine.arg);
}

/* Returns the name of the sandbox, allocated. The name contains a digest of the session id, because
 * a session id may be any text of any length. */
char *session_sandbox_name(const struct slot *s)
{
	char digest[TENANT_DIGEST_BYTES];

	tenant_session_digest(&s->tenant, str_of(s->id), digest);
	return xasprintf("box-%.8s-%s", s->all->instance, digest);
}

static bool take_for_log(void *ceiling, size_t n)
{
	return ceiling_take_share(ceiling, n);
}

static void give_from_log(void *ceiling, size_t n)
{
	ceiling_give(ceiling, n);
}

int session_new(struct slot *slot, const struct box_spec *b, bool logged, int leash, int connection,
		struct err *e)
{
	struct session *n = xcalloc(1, sizeof(*n));

	n->slot = slot;
	n->logged = logged;
	n->sandbox = session_sandbox_name(slot);
	box_spec_copy(b, &n->spec);
	free(n->spec.cmd);
	n->spec.cmd = xstrdup("");
	model_env_done(&n->spec.env);
	n->held.ceiling = slot->all->ceiling;
	/* the slot holds a second copy of the session id, which may be most of the spec: so we
	 * count the spec twice */
	if (!holding_set(&n->held, 2 * box_spec_held_bytes(&n->spec))) {
		close(leash);
		close(connection);
		session_free(n);
		return err_set(e, ERR_LIMIT, "the server's memory ceiling is near");
	}
	if (leash_new(slot->all->loop, leash, on_leash_gone, n, &n->leash, e) < 0) {
		close(connection);
		session_free(n);
		return -1;
	}
	leash_set_meter(n->leash,
			&(struct leash_meter){ take_for_log, give_from_log, slot->all->ceiling });
	if (line_new(slot->all->loop, n->sandbox, connection, on_line_gone, n, &n->line, e) < 0) {
		session_free(n);
		return -1;
	}
	n->created_ns = clock_real_ns();
	session_touch(n);
	slot->session = n;
	return 0;
}

void session_free(struct session *n)
{
	struct loop *loop = n->slot->all->loop;

	while (n->process)
		session_forget_process(n, n->process);
	line_free(n->line);
	loop_remove(loop, &n->timer);
	leash_free(n->leash);
	box_spec_done(&n->spec);
	holding_done(&n->held);
	free(n->sandbox);
	free(n);
}

void session_log(struct session *n, uint64_t id, enum job_output which, const char *p, size_t size)
{
	if (n->logged)
		leash_log(n->leash, id, which == JOB_STDERR ? FRAME_FLAG_STDERR : 0, p, size);
}

void session_touch(struct session *n)
{
	n->used_ns = clock_mono_ns();
	n->last_used_ns = clock_real_ns();
}

bool session_is_idle(const struct session *n, uint64_t now_ns)
{
	uint64_t ttl_ns = n->slot->all->ttl_ns;

	return ttl_ns && !n->spec.persistent && !has_running_process(n) &&
	       now_ns - n->used_ns > ttl_ns;
}

struct process *session_find_process(const struct session *n, const char *id)
{
	struct process *p = n->process;

	while (p && strcmp(process_id(p), id) != 0)
		p = process_next(p);
	return p;
}

void session_forget_process(struct session *n, struct process *p)
{
	struct process **at = &n->process;

	while (*at != p)
		at = process_next_at(*at);
	*at = process_next(p);
	process_free(p);
}

int session_start_process(struct session *n, struct process_spec *spec, struct process **ret,
			  struct err *e)
{
	const struct process_owner o = { on_process_used, on_process_printed, on_process_ended, n };
	struct process **at = &n->process;

	if (process_start(n->line, spec, &o, n->slot->all->ceiling, ret, e) < 0)
		return -1;
	while (*at)
		at = process_next_at(*at);
	*at = *ret;
	session_allow(n);
	return 0;
}

void session_write_members(const struct session *n, struct json_writer *w)
{
	const struct session_info info = {
		.session_id = str_of(n->slot->id),
		.backend_name = session_backend_name(n->slot->all),
		.backend_session_id = n->sandbox,
		.spec = &n->spec,
		.created_ns = n->created_ns,
		.last_used_ns = n->last_used_ns,
	};

	session_info_members(&info, w);
}

void session_write_info(const struct session *n, struct json_writer *w)
{
	json_begin_object(w);
	session_write_members(n, w);
	json_end_object(w);
}
