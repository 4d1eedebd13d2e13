/* Runs a command in a session, captures its output up to a limit, and answers with a
 * BoxExecutionResult. */
#include <signal.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "client/call.h"
#include "service/result.h"
#include "service/script.h"
#include "service/session.h"

#define CANCEL_GRACE_MS 2000 /* the time between SIGTERM and SIGKILL after a cancellation */

static bool on_output(void *arg, enum job_output which, const char *p, size_t n)
{
	struct work *w = arg;

	session_log(w->slot->session, job_number(w->job), which, p, n);
	capture_add(which == JOB_STDOUT ? &w->out : &w->err, p, n);
	return true;
}

static void write_result(struct work *w, const struct exit_message *end, bool timed_out)
{
	AUTO_BUF out = BUF_INIT(capture_render_max(&w->out));
	AUTO_BUF err = BUF_INIT(capture_render_max(&w->err));
	struct execution x = {
		.session_id = str_of(w->slot->id),
		.backend_name = session_backend_name(w->slot->all),
		.timed_out = timed_out,
		.timeout_sec = w->spec.timeout_sec,
		.exit_code = timed_out ? 0 : exec_exit_status(end),
		.duration_ms = (clock_mono_ns() - w->began_ns) / NS_PER_MS,
	};
	struct json_writer json;

	capture_render(&w->out, w->output_json_max, &out);
	capture_render(&w->err, w->output_json_max, &err);
	x.out = (struct str){ buf_str(&out), out.n };
	x.err = (struct str){ buf_str(&err), err.n };
	json_writer_init(&json, &w->data, 0);
	execution_encode(&x, &json);
}

static void on_end(void *arg, const struct job_end *end)
{
	struct work *w = arg;
	struct session *n = w->slot->session;
	bool timed_out = end->hung || (!end->err && end->end.timed_out);

	job_free(w->job);
	w->job = NULL;
	loop_remove(w->slot->all->loop, &w->kill_timer);
	session_touch(n);
	if (end->err)
		fault_set(&w->fault, FAULT_BOX, "%s backend error: %s",
			  session_backend_name(w->slot->all), end->err->msg);
	else if (end->end.failure && !timed_out)
		fault_set(&w->fault, FAULT_BOX, "%s backend error: %s",
			  session_backend_name(w->slot->all), exec_failure_text(end->end.failure));
	else
		write_result(w, &end->end, timed_out);
	/* after a timeout the session ends too, and the answer is sent when the session has
	 * ended */
	if (timed_out || end->hung) {
		w->stage = STAGE_CLOSING;
		session_close(n);
		return;
	}
	work_finish(w);
}

void execution_begin(struct work *w)
{
	struct sessions *all = w->slot->all;
	const struct job_owner o = {
		.output = on_output, .end = on_end, .arg = w, .numbered = w->slot->session->logged
	};
	struct exec_message m;
	struct script s;
	struct err e;
	int r;

	capture_init(&w->out, all->ceiling, CAPTURE_LIMIT_BYTES);
	capture_init(&w->err, all->ceiling, CAPTURE_LIMIT_BYTES);
	script_for_command(&s, &w->spec, &m);
	w->began_ns = clock_mono_ns();
	r = job_start(w->slot->session->line, &m, false, &o, &w->job, &e);
	script_done(&s);
	if (r < 0) {
		fault_set(&w->fault, FAULT_BOX, "%s backend error: %s", session_backend_name(all),
			  e.msg);
		work_finish(w);
		return;
	}
	w->stage = STAGE_RUNNING;
}

static void on_kill(void *arg)
{
	struct work *w = arg;

	w->kill_timer = 0;
	job_cancel(w->job);
}

void execution_cancel(struct work *w)
{
	struct err ignored;

	if (w->kill_timer)
		return;
	if (job_signal(w->job, SIGTERM, true, &ignored) < 0)
		job_cancel(w->job);
	w->kill_timer = loop_add_timer(w->slot->all->loop,
				       clock_mono_ns() + CANCEL_GRACE_MS * NS_PER_MS, on_kill, w);
}
