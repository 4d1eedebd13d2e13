#include "client/removal.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program.h"
#include "base/spawn.h"
#include "client/control.h"
#include "client/stop.h"
#include "state/record.h"
#include "state/record_lock.h"
#include "state/removal.h"

#define SUPERVISOR "cordon-supervisor"

/* Runs the program cordon-supervisor for the task WHAT, which needs the engine. */
static int ask_supervisor(const struct home *h, const char *what, const char *name, struct err *e)
{
	AUTO_FREE char *program = NULL;
	AUTO_FREE char *home_var = xasprintf("CORDON_HOME=%s", h->path);
	const char *argv[] = { SUPERVISOR, what, name, NULL };
	const char *env[] = { home_var, NULL };
	struct child c;
	int status;

	if (program_ours(SUPERVISOR, &program, e) < 0)
		return -1;
	struct spawn s = { .path = program, .argv = argv, .envp = env, .cwd_fd = -1 };
	if (spawn(&s, &c, e) < 0)
		return -1;
	if (child_wait(&c, &status) < 0 || status != 0)
		return err_set(e, ERR_SYSTEM, "cannot clean up after a sandbox ('%s')", what);
	return 0;
}

static void release(const struct home *h, const char *entry)
{
	struct err ignored;

	IGNORE(ask_supervisor(h, "--release", entry,
			      &ignored)); /* the files of the record are erased in any case */
}

void leftovers_sweep(const struct home *h)
{
	struct err ignored;

	if (!record_sweep(h, release))
		IGNORE(ask_supervisor(h, "--sweep", NULL,
				      &ignored)); /* if this fails, the next command tries again */
}

int leftovers_sweep_range(const struct home *h, struct err *e)
{
	/* with the help of newuidmap, the program cordon-supervisor erases the files that we cannot
	 * erase */
	IGNORE(record_sweep(h, release));
	return ask_supervisor(h, "--sweep", NULL, e);
}

/* Deletes everything of a sandbox that is down. The caller holds LOCK, which this function may
 * close. */
static int erase(const struct home *h, const char *name, int dir, int *lock, struct err *e)
{
	struct state last;
	int r;

	if ((state_read(dir, &last) < 0 || last.status != STATUS_STOPPED) &&
	    ask_supervisor(h, "--release", name, e) < 0)
		return -1;
	log_line(LOG_INFO, "remove sandbox '%s'", name);
	home_erase_sockets(h, name);
	r = record_retire(h, name);
	if (r < 0)
		return err_sys(e, -r, "take sandbox '%s' out of the list", name);
	if (record_erase(h, name, e) == 0)
		return 0;
	/* release the lock: leftovers_sweep_range() runs a program that does not touch locked
	 * records */
	fd_closep(lock);
	if (e->code != ERR_DENIED || leftovers_sweep_range(h, e) < 0)
		return -1;
	if (record_erase(h, name, e) == 0)
		return 0;
	return e->code == ERR_DENIED ? err_hint(e, "files of other ids can only be deleted with "
						   "newuidmap; 'cordon list' tries again")
				     : -1;
}

bool leftover_sweep(const struct home *h, const char *name)
{
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	struct err e;

	return record_open_lock(h, name, &dir, &lock, &e) == 0 &&
	       record_lock(h, name, dir, lock, CONTROL_LOCK_MS, &e) == 0 &&
	       record_is_leftover(dir) && erase(h, name, dir, &lock, &e) == 0;
}

void sandbox_retire(const struct home *h, const char *name)
{
	/* if this fails, the supervisor has retired the record already */
	IGNORE(record_retire(h, name));
}

int sandbox_remove(const struct home *h, const char *name, bool force, struct err *e)
{
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	AUTO_FD seen = -1;
	struct err ignored;
	int r;

	if (spec_check_name("sandbox", name, e) < 0)
		return err_set(e, ERR_NOT_FOUND, "sandbox not found: %s", name);
	if (force) {
		IGNORE(record_open(h, name, &seen,
				   &ignored)); /* control_lock() reports the same error */
		if (sandbox_stop(h, name, 0, e) < 0)
			return -1;
	}
	r = control_lock(h, name, false, &dir, &lock, e);
	if (r < 0) {
		/* a supervisor erases its ephemeral sandbox when the sandbox stops */
		if (e->code == ERR_NOT_FOUND && seen >= 0)
			return 0;
		if (e->code == ERR_BUSY && !force)
			err_set(e, ERR_BUSY,
				"sandbox still running: %s; stop it first or use --force", name);
		return -1;
	}
	return erase(h, name, dir, &lock, e);
}

int sandbox_remove_this(const struct home *h, const char *name, int dir, struct err *e)
{
	AUTO_FD now = -1;
	AUTO_FD lock = -1;

	if (sandbox_stop_this(h, name, dir, 0, e) < 0)
		return -1;
	if (control_lock(h, name, false, &now, &lock, e) < 0)
		/* a supervisor erases its ephemeral sandbox when the sandbox stops */
		return record_is_retired(h, name, dir) ? 0 : -1;
	return record_is_retired(h, name, dir) ? 0 : erase(h, name, now, &lock, e);
}

int home_erase(const struct home *h, struct err *e)
{
	if (ask_supervisor(h, "--erase-home", NULL, e) < 0)
		return -1;
	return rmdir(h->path) < 0 ? err_sys(e, errno, "remove '%s'", h->path) : 0;
}
