#include "state/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/erase.h"
#include "state/record_config.h"
#include "state/record_lock.h"

void record_done(struct record *r)
{
	spec_done(&r->spec);
	spec_done(&r->active);
	fd_closep(&r->dir);
}

const struct spec *record_in_force(const struct record *r)
{
	return r->has_active ? &r->active : &r->spec;
}

struct spec_port record_port(const struct record *r, size_t i)
{
	struct spec_port p = r->spec.port[i];

	if ((r->status == STATUS_RUNNING || r->status == STATUS_DRAINING) && i < r->state.n_ports)
		p.host_port = r->state.host_port[i];
	return p;
}

int record_open(const struct home *h, const char *name, int *ret_dir, struct err *e)
{
	if (spec_check_name("sandbox", name, e) < 0)
		return -1;
	*ret_dir = home_open_in(h, "sandboxes", name, O_RDONLY | O_DIRECTORY);
	if (*ret_dir >= 0)
		return 0;
	if (errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "sandbox not found: %s", name);
	return err_sys(e, errno, "open sandbox '%s'", name);
}

static int fill_new(int dir, const struct spec *s, int *ret_lock, struct err *e)
{
	AUTO_FD lock = openat(dir, "lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, errno, "lock the new record");
	if (record_write_first_config(dir, s, e) < 0)
		return -1;
	record_start_begins(lock);
	*ret_lock = fd_take(&lock);
	return 0;
}

/* A new record that is not locked yet looks like the leftover of a killed command. So a command
 * that makes a record holds a shared lock on sandboxes/. A sweep erases unlocked records only if it
 * has locked sandboxes/ exclusively. Takes the shared lock. Returns the descriptor that holds the
 * lock, or -1. */
static int hold_sandboxes(const struct home *h, struct err *e)
{
	AUTO_FD fd = home_open_part(h, "sandboxes");
	int r;

	do
		r = fd < 0 ? -1 : flock(fd, LOCK_SH);
	while (fd >= 0 && r < 0 && errno == EINTR);
	if (r < 0)
		return err_sys(e, errno, "lock '%s/sandboxes'", h->path);
	return fd_take(&fd);
}

int record_create(const struct home *h, const struct spec *s, int *ret_dir, int *ret_lock,
		  struct err *e)
{
	AUTO_FREE char *path = xasprintf(RECORD_FOLDER "%s", s->name);
	AUTO_FD hold = hold_sandboxes(h, e);
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	char temp[HOME_TEMPORARY_BYTES];

	if (hold < 0)
		return -1;
	home_temporary_path(temp, RECORD_FOLDER, "new");
	if (mkdirat(h->fd, temp, 0700) < 0)
		return err_sys(e, errno, "make the record of sandbox '%s'", s->name);
	dir = openat(h->fd, temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		err_sys(e, errno, "open the record of sandbox '%s'", s->name);
	else if (fill_new(dir, s, &lock, e) == 0) {
		if (sys_renameat2(h->fd, temp, h->fd, path, RENAME_NOREPLACE) == 0) {
			*ret_dir = fd_take(&dir);
			*ret_lock = fd_take(&lock);
			return 0;
		}
		if (errno == EEXIST)
			err_set(e, ERR_EXISTS, "sandbox already exists: '%s' already exists",
				s->name);
		else
			err_sys(e, errno, "make the record of sandbox '%s'", s->name);
	}
	IGNORE(erase_tree(hold, temp + strlen(RECORD_FOLDER))); /* a sweep removes the rest */
	return -1;
}

static enum status reconcile(bool live, const struct state *s)
{
	if (live)
		return s->status == STATUS_RUNNING || s->status == STATUS_DRAINING
			       ? s->status
			       : STATUS_STARTING;
	if (s->status == STATUS_STOPPED)
		return STATUS_STOPPED;
	return STATUS_CRASHED;
}

/* Reads state.json and looks at the lock. Fails if state.json or the lock cannot be read: otherwise
 * the record of a live sandbox could look dead and be erased. Also fails if a newer cordon wrote
 * state.json. A state.json that is missing or damaged is no failure. */
static int look(const char *name, struct record *r, struct err *e)
{
	int live = record_is_live(r->dir);
	int known = state_read(r->dir, &r->state);

	/* A supervisor writes its last state before it releases the lock. If the state is not
	 * `Stopped`, the sandbox may have been started after we looked at the lock, so we look
	 * again. */
	if (live == 0 && r->state.status != STATUS_STOPPED)
		live = record_is_live(r->dir);
	if (live < 0)
		return err_sys(e, -live, "look at the lock of sandbox '%s'", name);
	if (known == -ENOTSUP)
		return err_set(e, ERR_UNSUPPORTED, "sandbox '%s' was last run by a newer cordon",
			       name);
	if (known < 0 && known != -ENOENT && known != -EINVAL)
		return err_sys(e, -known, "read the state of sandbox '%s'", name);
	r->status = reconcile(live > 0, &r->state);
	return 0;
}

/* The supervisor of an ephemeral sandbox does not write to state.json that the sandbox runs. So we
 * look at the record's second lock (state/record_lock.h): if nobody holds it, the start is over. */
static void look_closer(struct record *r)
{
	if (r->status == STATUS_STARTING && r->spec.ephemeral && !r->state.booted_once &&
	    !record_is_starting(r->dir))
		r->status = STATUS_RUNNING;
}

int record_load(const struct home *h, const char *name, struct record *ret, struct err *e)
{
	*ret = (struct record)RECORD_NONE;
	if (record_open(h, name, &ret->dir, e) < 0 || look(name, ret, e) < 0)
		return -1;
	if (ret->status == STATUS_CRASHED && !ret->state.booted_once) {
		fd_closep(&ret->dir);
		return err_set(e, ERR_NOT_FOUND, "sandbox not found: %s", name);
	}
	if (record_read_config(ret->dir, ret, e) < 0 ||
	    ((ret->status == STATUS_RUNNING || ret->status == STATUS_DRAINING) &&
	     record_read_active(ret->dir, ret, e) < 0))
		return err_wrap(e, "sandbox '%s'", name);
	/* only a killed supervisor leaves such a record: it is a leftover, and `list` removes it */
	if (ret->spec.ephemeral && (ret->status == STATUS_CRASHED || ret->status == STATUS_STOPPED))
		return err_set(e, ERR_NOT_FOUND, "sandbox not found: %s", name);
	look_closer(ret);
	return 0;
}
