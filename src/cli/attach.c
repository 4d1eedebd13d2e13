#include "base/cleanup.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "client/commands.h"
#include "client/sandbox.h"
#include "spec/grammar.h"

struct choice {
	uint64_t wanted; /* the number that the user gave, or 0 */
	struct command_message found;
};

/* Returns the rank of a command. If the user gave no number, `attach` chooses the latest of the
 * commands with the highest rank, but never a command with rank 0. */
static unsigned rank(const struct command_message *m)
{
	if (!(m->flags & COMMAND_BACKGROUND) || m->flags & COMMAND_ATTACHED)
		return 0;
	return m->flags & COMMAND_ENDED ? 1 : m->flags & COMMAND_TERMINAL ? 3 : 2;
}

static void consider(void *arg, const struct command_message *m)
{
	struct choice *c = arg;
	bool better =
		rank(m) > rank(&c->found) || (rank(m) == rank(&c->found) && m->id > c->found.id);

	if (c->wanted ? m->id == c->wanted : rank(m) && (!c->found.id || better))
		c->found = *m;
}

/* Chooses the command to attach to and sets *RET to it. Fails with ERR_NOT_FOUND if there is none,
 * and with ERR_UNSUPPORTED if pid 1 is too old to list its commands. The flags in *RET tell
 * the caller whether the command has a terminal. */
static int choose(struct client *c, uint64_t wanted, struct command_message *ret, struct err *e)
{
	struct choice choice = { .wanted = wanted };

	if (commands_list(c, consider, &choice, e) < 0)
		return -1;
	if (wanted && !choice.found.id)
		return err_set(e, ERR_NOT_FOUND, "session not found: %llu",
			       (unsigned long long)wanted);
	if (!choice.found.id)
		return err_set(e, ERR_NOT_FOUND, "no detached session");
	*ret = choice.found;
	return 0;
}

/* Connects to pid 1 again. The first connection cannot be used any more, because choose() failed
 * while reading an answer from it. */
static int reopen(struct client *c, struct err *e)
{
	const struct home *h = c->home;
	const char *name = c->name;

	client_done(c);
	return client_open(c, h, name, e);
}

static int attach_to(struct client *c, struct execution *x, struct exec_result *result,
		     struct err *e)
{
	struct command_message m = { 0 };

	if (choose(c, x->request.attach_id, &m, e) == 0) {
		x->request.attach_id = m.id;
		x->request.message.flags = m.flags & COMMAND_TERMINAL ? EXEC_TTY : 0;
	} else if (e->code == ERR_UNSUPPORTED) {
		/* A pid 1 of protocol 1 cannot list its commands. But it takes ATTACH, only for
		 * terminals, and chooses the command itself if the user gave no number. */
		if (reopen(c, e) < 0)
			return -1;
		x->request.message.flags = EXEC_TTY;
	} else {
		return -1;
	}
	x->attaches = true;
	return execution_run(x, c, result, e);
}

static int attach(const struct args *a, const struct home *h, struct execution *x,
		  struct exec_result *result, struct err *e)
{
	const char *name = a->word.v[0];
	const char *keys = args_str(a, "detach-keys");
	struct client c;
	int r;

	if (parse_detach_keys(keys ? keys : "ctrl-]", x->request.detach_keys,
			      &x->request.n_detach_keys, e) < 0)
		return -1;
	if (a->word.n > 1 && parse_u64(a->word.v[1], 1, UINT32_MAX, &x->request.attach_id) < 0)
		return err_set(e, ERR_INVALID, "bad session '%s': expected a number from 1 to %u",
			       a->word.v[1], UINT32_MAX);
	r = client_open(&c, h, name, e);
	if (r < 0 && e->code == ERR_NOT_RUNNING) {
		AUTO_RECORD record = RECORD_NONE;

		if (record_load(h, name, &record, e) == 0)
			err_set(e, ERR_NOT_RUNNING,
				"sandbox '%s' is not running (status: %s); cannot attach", name,
				status_name(record.status));
	}
	if (r == 0) {
		r = attach_to(&c, x, result, e);
		if (r < 0 && (e->code == ERR_NOT_FOUND || e->code == ERR_BUSY))
			err_wrap(e, "sandbox '%s'", name);
	}
	client_done(&c);
	return r;
}

int cmd_attach(const struct args *a)
{
	struct execution x = { .request = { .in = 0, .out = 1, .err = 2, .log = true } };
	AUTO_HOME home = { .fd = -1 };
	struct exec_result result;
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || attach(a, &home, &x, &result, &e) < 0)
		return say_error(&e);
	return execution_report(&x, &home, a->word.v[0], &result);
}
