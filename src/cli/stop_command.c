/* `stop NAME --id ID` ends one command and everything that the command started, by SIGTERM first,
 * and by SIGKILL when the grace period is over. */
#include <signal.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/say.h"
#include "cli/stop.h"
#include "client/call.h"
#include "client/commands.h"
#include "client/control.h"
#include "client/sandbox.h"
#include "client/stop.h"

#define DEFAULT_GRACE_MS 2000u /* the same as for `stop` of a whole sandbox */
#define ANSWER_MAX_BYTES 1024u
#define TARGET_MAX_BYTES 512u

struct end {
	struct exit_message message;
	/* True if `message` says how the command ended. False for a foreground command, because
	 * pid 1 keeps the exit status of background commands only. Also false if the sandbox ended
	 * together with the command. */
	bool known;
};

static int signal_and_wait(struct client *c, uint64_t id, int sig, uint64_t ms, struct end *end,
			   struct err *e)
{
	if (commands_signal(c, id, sig, FRAME_FLAG_SCOPE | FRAME_FLAG_WHOLE, e) < 0)
		return -1;
	return commands_await_end(c, id, clock_mono_ns() + ms * NS_PER_MS, &end->message,
				  &end->known, e);
}

/* Ends the command. Succeeds also if the command ends before it gets SIGKILL. */
static int end_command(struct client *c, uint64_t id, uint32_t grace_ms, struct end *end,
		       struct err *e)
{
	uint64_t grace = grace_ms == STOP_GRACE_DEFAULT ? DEFAULT_GRACE_MS : grace_ms;
	int r = 0;

	if (grace > 0)
		r = signal_and_wait(c, id, SIGTERM, grace, end, e);
	if (r == 0) {
		r = signal_and_wait(c, id, SIGKILL, CONTROL_ANSWER_MS, end, e);
		/* a foreground command may have ended between the two signals */
		if (r < 0 && e->code == ERR_NOT_FOUND && grace > 0)
			return 0;
	}
	if (r == 0)
		return err_set(e, ERR_TIMEOUT, "sandbox '%s': session %llu does not end", c->name,
			       (unsigned long long)id);
	return r < 0 ? -1 : 0;
}

static int stop(const struct args *a, uint32_t grace_ms, struct end *end, struct err *e)
{
	const char *name = a->word.v[0];
	AUTO_HOME home = { .fd = -1 };
	AUTO_RECORD record = RECORD_NONE;
	struct client c;
	int r;

	if (home_open(&home, e) < 0)
		return -1;
	r = client_open(&c, &home, name, e);
	if (r == 0) {
		r = end_command(&c, args_uint(a, "id", 0), grace_ms, end, e);
		if (r < 0 && e->code == ERR_NOT_FOUND)
			err_wrap(e, "sandbox '%s'", name);
	} else if (e->code == ERR_NOT_RUNNING && record_load(&home, name, &record, e) == 0) {
		err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running", name);
	}
	client_done(&c);
	return r;
}

static int print_json(const struct args *a, const struct end *end)
{
	AUTO_BUF b = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 2);
	json_begin_object(&w);
	if (end->known)
		json_key_int(&w, "exit_code", exec_exit_status(&end->message));
	else
		json_key_null(&w, "exit_code");
	json_key_int(&w, "id", (int64_t)args_uint(a, "id", 0));
	json_key_str(&w, "name", a->word.v[0]);
	json_key_str(&w, "state", "exited");
	json_end_object(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

int stop_command(const struct args *a, uint32_t grace_ms)
{
	AUTO_BUF target = BUF_INIT(TARGET_MAX_BYTES);
	uint64_t begin = clock_mono_ns();
	struct end end = { 0 };
	struct err e = { 0 };

	if (a->word.n != 1)
		return say_errorf(ERR_USAGE, "--id goes with one sandbox");
	if (stop(a, grace_ms, &end, &e) < 0)
		return say_error(&e);
	if (args_has(a, "format"))
		return print_json(a, &end);
	buf_addf(&target, "%s %llu", a->word.v[0], (unsigned long long)args_uint(a, "id", 0));
	say_done("Stopped", buf_str(&target), clock_mono_ns() - begin);
	return 0;
}
