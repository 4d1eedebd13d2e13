/*
 * struct process keeps output of the process in the buffer `held`. The bytes before the offset `at`
 * are done: an attachment has got them, or they were skipped. No attachment has got the other
 * bytes. While the process runs, the job reads output only while an attachment wants more. So
 * `held` has at most an unfinished line and the bytes of one call of on_output(). When the process
 * has ended, the job reads the rest of the pipe in any case, and adds it to `held`.
 */
#include "service/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "client/call.h"
#include "client/job.h"
#include "service/preview.h"
#include "service/result.h"
#include "service/script.h"

/* for one line, the bytes of one call of on_output(), and the rest of the pipe */
#define HELD_MAX_BYTES (PROCESS_LINE_MAX_BYTES + (2u << 20))
#define INPUT_MAX_BYTES (PROCESS_LINE_MAX_BYTES + 1) /* for one message and its newline */
/* The log gets only this much of the stderr of each process, so that a process that prints very
 * much cannot fill the disk. */
#define EXCERPTS_PER_SECOND 4u
#define EXCERPT_BYTES 512u

struct process {
	struct process *next;
	struct process_spec spec;
	struct process_owner owner;
	struct ceiling *ceiling;
	struct holding kept; /* memory of the spec and the preview, counted in `ceiling` */
	struct loop *loop;
	struct job *job; /* NULL if the process has ended and its pipe has no more output */
	uint64_t started_ns, exited_ns; /* real time */
	uint64_t ended_ns;              /* the time of the end again, by clock_mono_ns() */
	int exit_code;
	struct buf held;
	size_t at, scanned; /* offsets in `held`; there is no newline between them */
	bool skipping;      /* the rest of a line that was too long is skipped */
	bool draining;      /* the process has ended, but its pipe still has output */
	struct preview preview;
	struct buf input;
	struct attachment *attached;
	loop_id kill_timer;
	uint64_t excerpt_second;
	unsigned excerpts;
};

static void pump(struct process *p);

/* --- attachments ----------------------------------------------------------------------------- */

static bool wants_output(const struct process *p)
{
	return p->draining || (p->attached && !p->attached->blocked);
}

static void end_attachment(struct attachment *a, unsigned code)
{
	process_detach(a);
	a->over(a->arg, code);
}

static void end_attachments(struct process *p)
{
	while (p->attached)
		end_attachment(p->attached, 1000);
}

void process_attach(struct process *p, struct attachment *a)
{
	struct attachment **at = &p->attached;

	while (*at)
		at = &(*at)->next;
	*at = a;
	a->process = p;
	a->next = NULL;
	a->blocked = false;
	if (p->attached == a)
		pump(p);
}

void process_detach(struct attachment *a)
{
	struct process *p = a->process;
	struct attachment **at;

	if (!p)
		return;
	a->process = NULL;
	for (at = &p->attached; *at != a; at = &(*at)->next)
		;
	*at = a->next;
	pump(p);
}

void attachment_resume(struct attachment *a)
{
	a->blocked = false;
	if (a->process && a->process->attached == a)
		pump(a->process);
}

/* --- output ---------------------------------------------------------------------------------- */

static void drop_taken(struct process *p)
{
	if (p->at == 0)
		return;
	ceiling_give(p->ceiling, p->at);
	buf_drop(&p->held, p->at);
	p->scanned -= p->at;
	p->at = 0;
}

static void give_line(struct process *p, size_t end, size_t next)
{
	struct attachment *a = p->attached;
	bool skip = p->skipping;
	const char *line = p->held.p + p->at;
	size_t n = end - p->at;

	p->skipping = false;
	p->at = p->scanned = next;
	p->owner.used(p->owner.arg);
	if (!skip && !a->line(a->arg, line, n))
		a->blocked = true;
}

/* Skips the bytes that we have of a line longer than PROCESS_LINE_MAX_BYTES. If they are the first
 * bytes of the line, also ends the attachment. The next attachment starts after this line. END is
 * the offset after the bytes of the line that we have. OPEN is true if more bytes of the line
 * follow. */
static void refuse_line(struct process *p, size_t end, bool open)
{
	bool told = p->skipping;

	p->at = p->scanned = end;
	p->skipping = open;
	if (!told)
		end_attachment(p->attached, 1009);
}

/* Gives the complete lines to the attachment, and then asks the job for more output if it is
 * wanted. When the job has ended, also gives the unfinished last line, and ends the attachments
 * when all output has been given. The callbacks may call any function except process_free(). */
static void pump(struct process *p)
{
	while (p->attached && !p->attached->blocked) {
		const char *newline = p->held.n > p->scanned ? memchr(p->held.p + p->scanned, '\n',
								      p->held.n - p->scanned)
							     : NULL;

		if (newline) {
			size_t end = (size_t)(newline - p->held.p);

			if (end - p->at > PROCESS_LINE_MAX_BYTES)
				refuse_line(p, end + 1, false);
			else
				give_line(p, end, end + 1);
			continue;
		}
		p->scanned = p->held.n;
		if (p->held.n - p->at > PROCESS_LINE_MAX_BYTES ||
		    (p->skipping && p->held.n > p->at)) {
			refuse_line(p, p->held.n, true);
			continue;
		}
		if (!p->job && p->held.n > p->at) {
			give_line(p, p->held.n, p->held.n);
			continue;
		}
		break;
	}
	drop_taken(p);
	if (!p->job && p->held.n == 0)
		end_attachments(p);
	else if (p->job && wants_output(p))
		job_resume(p->job);
}

static void keep_errors(struct process *p, const char *text, size_t n)
{
	uint64_t second = clock_mono_ns() / NS_PER_SEC;

	preview_add(&p->preview, text, n);
	if (second != p->excerpt_second)
		p->excerpts = 0;
	p->excerpt_second = second;
	if (p->excerpts++ >= EXCERPTS_PER_SECOND)
		return;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	log_line(LOG_INFO, "process '%s' says: %.*s", p->spec.process_id,
		 (int)(n < EXCERPT_BYTES ? n : EXCERPT_BYTES), text);
}

static bool on_output(void *arg, enum job_output which, const char *text, size_t n)
{
	struct process *p = arg;

	p->owner.printed(p->owner.arg, job_number(p->job), which, text, n);
	if (which == JOB_STDERR) {
		keep_errors(p, text, n);
		return true;
	}
	if (!ceiling_take(p->ceiling, n)) {
		log_line(LOG_WARN,
			 "process '%s': its output does not fit in memory any more, stopping it",
			 p->spec.process_id);
		job_cancel(p->job);
		return true;
	}
	buf_add(&p->held, text, n);
	if (p->attached)
		pump(p);
	return wants_output(p);
}

/* --- input ----------------------------------------------------------------------------------- */

/* Writes the queued input to the process. Returns true if all input was written, or if no process
 * reads it any more. */
static bool feed(struct process *p)
{
	ssize_t n = p->job ? job_input(p->job, p->input.p, p->input.n) : -1;

	if (n >= 0 && (size_t)n < p->input.n) {
		ceiling_give(p->ceiling, (size_t)n);
		buf_drop(&p->input, (size_t)n);
		return false;
	}
	ceiling_give(p->ceiling, p->input.n);
	buf_clear(&p->input);
	return true;
}

static void on_room(void *arg)
{
	struct process *p = arg;

	if (p->input.n > 0 && feed(p) && p->attached)
		p->attached->room(p->attached->arg);
}

bool attachment_say(struct attachment *a, const char *text, size_t n)
{
	struct process *p = a->process;

	if (!p || p->attached != a)
		return true;
	p->owner.used(p->owner.arg);
	if (p->input.n > 0 || !ceiling_take(p->ceiling, n + 1))
		/* drop the message: either the calling code did not wait for `room`, or the
		 * server's memory ceiling is reached */
		return true;
	buf_add(&p->input, text, n);
	buf_add_char(&p->input, '\n');
	return feed(p);
}

/* --- the end --------------------------------------------------------------------------------- */

static void on_exited(void *arg)
{
	struct process *p = arg;

	p->draining = true;
	job_resume(p->job);
}

static void on_end(void *arg, const struct job_end *end)
{
	struct process *p = arg;

	loop_remove(p->loop, &p->kill_timer);
	job_free(p->job);
	p->job = NULL;
	p->draining = false;
	p->exited_ns = clock_real_ns();
	p->ended_ns = clock_mono_ns();
	p->exit_code = end->err ? 128 + SIGKILL : exec_exit_status(&end->end);
	ceiling_give(p->ceiling, p->input.n);
	buf_done(&p->input);
	pump(p);
	p->owner.ended(p->owner.arg, p);
}

static void on_kill(void *arg)
{
	struct process *p = arg;

	p->kill_timer = 0;
	job_cancel(p->job);
}

void process_stop(struct process *p)
{
	struct err ignored;

	if (!p->job || p->kill_timer)
		return;
	job_input_end(p->job);
	if (job_signal(p->job, SIGTERM, true, &ignored) < 0)
		job_cancel(p->job);
	p->kill_timer =
		loop_add_timer(p->loop, clock_mono_ns() + PROCESS_STOP_MS * NS_PER_MS, on_kill, p);
}

/* --- the process ----------------------------------------------------------------------------- */

int process_start(struct line *line, struct process_spec *spec, const struct process_owner *o,
		  struct ceiling *ceiling, struct process **ret, struct err *e)
{
	struct process *p = xcalloc(1, sizeof(*p));
	struct exec_message m;
	struct script script;
	int r;
	const struct job_owner jo = {
		.output = on_output, .room = on_room, .exited = on_exited, .end = on_end, .arg = p
	};

	p->owner = *o;
	p->ceiling = ceiling;
	p->loop = line_loop(line);
	buf_init(&p->held, HELD_MAX_BYTES);
	preview_init(&p->preview);
	buf_init(&p->input, INPUT_MAX_BYTES);
	p->spec = *spec;
	*spec = (struct process_spec){ 0 };
	p->started_ns = clock_real_ns();
	p->kept.ceiling = ceiling;
	if (!holding_set(&p->kept, process_spec_held_bytes(&p->spec) + PREVIEW_HELD_BYTES)) {
		process_free(p);
		return err_set(e, ERR_LIMIT, "the server's memory ceiling is near");
	}
	script_for_process(&script, &p->spec, &m);
	r = job_start(line, &m, true, &jo, &p->job, e);
	script_done(&script);
	if (r < 0) {
		process_free(p);
		return -1;
	}
	*ret = p;
	return 0;
}

void process_free(struct process *p)
{
	if (!p)
		return;
	job_free(p->job);
	p->job = NULL;
	end_attachments(p);
	loop_remove(p->loop, &p->kill_timer);
	ceiling_give(p->ceiling, p->held.n + p->input.n);
	buf_done(&p->held);
	preview_done(&p->preview);
	buf_done(&p->input);
	process_spec_done(&p->spec);
	holding_done(&p->kept);
	free(p);
}

struct process *process_next(const struct process *p)
{
	return p->next;
}

struct process **process_next_at(struct process *p)
{
	return &p->next;
}

const char *process_id(const struct process *p)
{
	return p->spec.process_id;
}

int64_t process_memory_mb(const struct process *p)
{
	return p->spec.memory_mb;
}

bool process_is_running(const struct process *p)
{
	return p->job != NULL;
}

uint64_t process_ended_ns(const struct process *p)
{
	return p->ended_ns;
}

/* --- the info for peers ---------------------------------------------------------------------- */

void process_write_info(const struct process *p, const char *session_id, struct json_writer *w)
{
	AUTO_BUF text = BUF_INIT(PREVIEW_CHARACTERS * 4);
	struct process_info info = {
		.session_id = str_of(session_id),
		.spec = &p->spec,
		.running = process_is_running(p),
		.attached = p->attached != NULL,
		.started_ns = p->started_ns,
		.exited_ns = p->exited_ns,
		.exit_code = p->exit_code,
	};

	preview_render(&p->preview, &text);
	info.stderr_preview = (struct str){ buf_str(&text), text.n };
	process_info_encode(&info, w);
}
