#include "state/record.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/erase.h"
#include "base/io.h"
#include "base/json.h"
#include "base/lock.h"
#include "state/quota.h"
#include "state/range.h"

#define START_WAIT_MS 10000 /* one that has no socket by then is stuck */

#define CONFIG_FILE "config.json"

static const char *const status_names[] = {
	// clang-format off
	[STATUS_CREATED]  = "Created",
	[STATUS_STARTING] = "Starting",
	[STATUS_RUNNING]  = "Running",
	[STATUS_DRAINING] = "Draining",
	[STATUS_PAUSED]   = "Paused",
	[STATUS_STOPPED]  = "Stopped",
	[STATUS_CRASHED]  = "Crashed",
	// clang-format on
};
static const char *const status_lowers[] = {
	// clang-format off
	[STATUS_CREATED]  = "created",
	[STATUS_STARTING] = "starting",
	[STATUS_RUNNING]  = "running",
	[STATUS_DRAINING] = "draining",
	[STATUS_PAUSED]   = "paused",
	[STATUS_STOPPED]  = "stopped",
	[STATUS_CRASHED]  = "crashed",
	// clang-format on
};
static_assert(ARRAY_SIZE(status_names) == STATUS_COUNT, "a status has no name");
static_assert(ARRAY_SIZE(status_lowers) == STATUS_COUNT, "a status has no word");

const char *status_name(enum status s)
{
	return status_names[s];
}

const char *status_lower(enum status s)
{
	return status_lowers[s];
}

void record_done(struct record *r)
{
	spec_done(&r->spec);
	spec_done(&r->active);
	fd_closep(&r->dir);
}

/* --- config.json ----------------------------------------------------------------------------- */

static int compose(struct buf *b, const struct spec *s, uint64_t created_ns, struct err *e)
{
	struct json_writer w;

	json_writer_init(&w, b, 0);
	json_begin_object(&w);
	json_key_int(&w, "format", RECORD_FORMAT);
	json_key_int(&w, "created_ns", (int64_t)created_ns);
	json_key_int(&w, "updated_ns", (int64_t)clock_real_ns());
	json_key(&w, "config");
	spec_write_json(s, &w);
	json_end_object(&w);
	return buf_failed(b) ? err_set(e, ERR_LIMIT, "the configuration is larger than %u bytes",
				       RECORD_FILE_MAX_BYTES)
			     : 0;
}

static int write_spec(int dir, const char *file, const struct spec *s, uint64_t created_ns,
		      struct err *e)
{
	AUTO_BUF b = BUF_INIT(RECORD_FILE_MAX_BYTES);
	int r;

	if (compose(&b, s, created_ns, e) < 0)
		return -1;
	r = io_replace_file(dir, file, b.p, b.n, 0600);
	return r < 0 ? err_sys(e, -r, "write '%s'", file) : 0;
}

/* Of a record that nobody can see yet: no need to replace anything at once. */
static int write_first_config(int dir, const struct spec *s, struct err *e)
{
	char room[RECORD_FILE_USUAL_BYTES];
	AUTO_BUF b = BUF_IN(room, RECORD_FILE_MAX_BYTES);
	AUTO_FD fd = -1;
	int r;

	if (compose(&b, s, clock_real_ns(), e) < 0)
		return -1;
	fd = openat(dir, CONFIG_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : io_write_all(fd, b.p, b.n);
	return r < 0 ? err_sys(e, -r, "write '%s'", CONFIG_FILE) : 0;
}

int record_write_config(int dir, const struct spec *s, uint64_t created_ns, struct err *e)
{
	return write_spec(dir, CONFIG_FILE, s, created_ns, e);
}

int record_lock_config(int dir, int *ret_fd, struct err *e)
{
	AUTO_FD fd = openat(dir, "config.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_sys(e, errno, "lock the configuration");
	*ret_fd = fd_take(&fd);
	return 0;
}

static int read_spec(int dir, const char *file, struct spec *ret, uint64_t *ret_created,
		     uint64_t *ret_updated, struct err *e)
{
	char room[RECORD_FILE_USUAL_BYTES];
	AUTO_BUF b = BUF_IN(room, RECORD_FILE_MAX_BYTES);
	AUTO_JSON doc = NULL;
	int r = io_read_file(dir, file, &b);

	if (r < 0)
		return err_sys(e, -r, "read '%s'", file);
	if (json_parse(buf_str(&b), b.n, &doc, e) < 0)
		return err_wrap(e, "'%s'", file);
	if (json_get_int(json_root(doc), "format", 0) > RECORD_FORMAT)
		return err_set(e, ERR_UNSUPPORTED, "this sandbox was made by a newer cordon");
	*ret_created = (uint64_t)json_get_int(json_root(doc), "created_ns", 0);
	*ret_updated = (uint64_t)json_get_int(json_root(doc), "updated_ns", 0);
	return spec_read_json(json_get(json_root(doc), "config"), ret, e);
}

int record_read_config(int dir, struct record *ret, struct err *e)
{
	return read_spec(dir, CONFIG_FILE, &ret->spec, &ret->created_ns, &ret->updated_ns, e);
}

int record_write_active(int dir, const struct spec *s, struct err *e)
{
	if (s)
		return write_spec(dir, "active.json", s, 0, e);
	return unlinkat(dir, "active.json", 0) < 0 && errno != ENOENT
		       ? err_sys(e, errno, "remove 'active.json'")
		       : 0;
}

int record_read_active(int dir, struct record *ret, struct err *e)
{
	uint64_t ignored;

	ret->has_active = faccessat(dir, "active.json", F_OK, 0) == 0;
	return ret->has_active ? read_spec(dir, "active.json", &ret->active, &ignored, &ignored, e)
			       : 0;
}

const struct spec *record_in_force(const struct record *r)
{
	return r->has_active ? &r->active : &r->spec;
}

/* --- state.json ------------------------------------------------------------------------------ */

static void state_init(struct state *s)
{
	*s = (struct state){ .status = STATUS_CREATED, .uid_base = -1 };
}

static void copy_text(char *to, size_t n, const struct json_value *v, const char *key)
{
	snprintf(to, n, "%s", json_get_str(v, key, ""));
}

static void read_ports(const struct json_value *v, struct state *ret)
{
	for (size_t i = 0; v && v->type == JSON_ARRAY && i < v->array.n && i < STATE_PORTS_MAX; i++)
		if (v->array.item[i].type == JSON_INT)
			ret->host_port[ret->n_ports++] = (uint16_t)v->array.item[i].integer;
}

struct spec_port record_port(const struct record *r, size_t i)
{
	struct spec_port p = r->spec.port[i];

	if ((r->status == STATUS_RUNNING || r->status == STATUS_DRAINING) && i < r->state.n_ports)
		p.host_port = r->state.host_port[i];
	return p;
}

int state_read(int dir, struct state *ret)
{
	AUTO_BUF b = BUF_INIT(RECORD_FILE_MAX_BYTES);
	AUTO_JSON doc = NULL;
	const struct json_value *v, *limits;
	struct err ignored;
	const char *status;
	int r = io_read_file(dir, "state.json", &b);

	state_init(ret);
	if (r < 0)
		return r;
	if (json_parse(buf_str(&b), b.n, &doc, &ignored) < 0) {
		/* torn by a power cut. It was written, so somebody was told of the sandbox */
		ret->booted_once = true;
		ret->boots = 1;
		return -EINVAL;
	}
	v = json_root(doc);
	status = json_get_str(v, "status", "");
	for (unsigned i = 0; i < STATUS_COUNT; i++)
		if (strcmp(status, status_names[i]) == 0)
			ret->status = (enum status)i;
	ret->booted_once = json_get_bool(v, "booted_once", false);
	ret->boots = (uint64_t)json_get_int(v, "boots", 0);
	ret->supervisor = (pid_t)json_get_int(v, "supervisor", 0);
	ret->started_ns = (uint64_t)json_get_int(v, "started_ns", 0);
	ret->updated_ns = (uint64_t)json_get_int(v, "updated_ns", 0);
	ret->wire = (uint32_t)json_get_int(v, "wire", 0);
	ret->uid_base = json_get_int(v, "uid_base", -1);
	copy_text(ret->stop_reason, sizeof(ret->stop_reason), v, "stop_reason");
	read_ports(json_get(v, "host_ports"), ret);
	limits = json_get(v, "limits");
	copy_text(ret->enforced.memory, sizeof(ret->enforced.memory), limits, "memory");
	copy_text(ret->enforced.cpus, sizeof(ret->enforced.cpus), limits, "cpus");
	copy_text(ret->enforced.pids, sizeof(ret->enforced.pids), limits, "pids");
	copy_text(ret->enforced.root_disk, sizeof(ret->enforced.root_disk), limits, "root_disk");
	copy_text(ret->enforced.volumes, sizeof(ret->enforced.volumes), limits, "volumes");
	copy_text(ret->enforced.ids, sizeof(ret->enforced.ids), limits, "ids");
	copy_text(ret->root, sizeof(ret->root), v, "root");
	return 0;
}

int state_write(int dir, const struct state *s, struct err *e)
{
	char room[RECORD_FILE_USUAL_BYTES];
	AUTO_BUF b = BUF_IN(room, 65536);
	struct json_writer w;
	int r;

	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	json_key_int(&w, "format", RECORD_FORMAT);
	json_key_str(&w, "status", status_names[s->status]);
	json_key_bool(&w, "booted_once", s->booted_once);
	json_key_int(&w, "boots", (int64_t)s->boots);
	json_key_int(&w, "supervisor", s->supervisor);
	json_key_int(&w, "started_ns", (int64_t)s->started_ns);
	json_key_int(&w, "updated_ns", (int64_t)clock_real_ns());
	json_key_int(&w, "wire", s->wire);
	json_key_int(&w, "uid_base", s->uid_base);
	json_key_str(&w, "stop_reason", s->stop_reason);
	json_key(&w, "host_ports");
	json_begin_array(&w);
	for (size_t i = 0; i < s->n_ports; i++)
		json_int(&w, s->host_port[i]);
	json_end_array(&w);
	json_key_str(&w, "root", s->root);
	json_key(&w, "limits");
	json_begin_object(&w);
	json_key_str(&w, "cpus", s->enforced.cpus);
	json_key_str(&w, "ids", s->enforced.ids);
	json_key_str(&w, "memory", s->enforced.memory);
	json_key_str(&w, "pids", s->enforced.pids);
	json_key_str(&w, "root_disk", s->enforced.root_disk);
	json_key_str(&w, "volumes", s->enforced.volumes);
	json_end_object(&w);
	json_end_object(&w);
	r = io_replace_file(dir, "state.json", b.p, b.n, 0600);
	return r < 0 ? err_sys(e, -r, "write 'state.json'") : 0;
}

/* --- lock ------------------------------------------------------------------------------------ */

int record_is_live(int dir)
{
	AUTO_FD fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	/* a shared lock that is refused means an exclusive holder; ours goes with the descriptor */
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? 1 : -errno;
}

static int open_record(const struct home *h, const char *name, int *ret_dir, struct err *e)
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

int record_open_lock(const struct home *h, const char *name, int *ret_dir, int *ret_lock,
		     struct err *e)
{
	AUTO_FD dir = -1;

	if (open_record(h, name, &dir, e) < 0)
		return -1;
	*ret_lock = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*ret_lock < 0)
		return err_sys(e, errno, "open the lock of sandbox '%s'", name);
	*ret_dir = fd_take(&dir);
	return 0;
}

int record_lock(const struct home *h, const char *name, int dir, int lock, unsigned wait_ms,
		struct err *e)
{
	struct stat st;
	int r;

	r = lock_flock(lock, LOCK_EX, wait_ms);
	if (r == -ETIMEDOUT)
		return err_set(e, ERR_BUSY, "sandbox '%s' is in use by another command", name);
	if (r < 0)
		return err_sys(e, -r, "lock sandbox '%s'", name);
	/* it may have been retired while we waited */
	if (fstat(lock, &st) < 0 || st.st_nlink == 0 || record_is_retired(h, name, dir))
		return err_set(e, ERR_NOT_FOUND, "sandbox not found: %s", name);
	return 0;
}

/* A second lock on the same file, of the kind that belongs to an open file too: the supervisor
 * inherits it with the first and drops it when it listens. */
void record_start_begins(int lock)
{
	IGNORE(lock_first_byte(lock, F_WRLCK, START_WAIT_MS)); /* then nobody waits for us */
}

void record_start_ends(int lock)
{
	IGNORE(lock_first_byte(lock, F_UNLCK, 0));
}

void record_await_start(const struct home *h, const char *name)
{
	struct err absent;
	AUTO_FD dir = -1;
	AUTO_FD fd = -1;

	if (open_record(h, name, &dir, &absent) == 0)
		fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		IGNORE(lock_first_byte(fd, F_RDLCK, START_WAIT_MS)); /* goes with the descriptor */
}

/* --- create, load, remove -------------------------------------------------------------------- */

#define SANDBOXES "sandboxes/"

static void temporary_name(char out[48], const char *what)
{
	uint64_t tag = 0;

	IGNORE(getrandom(&tag, sizeof(tag), 0) < 0); /* a repeated tag shows as EEXIST */
	snprintf(out, 48, SANDBOXES ".%s-%016llx", what, (unsigned long long)tag);
}

static int fill_new(int dir, const struct spec *s, int *ret_lock, struct err *e)
{
	AUTO_FD lock = openat(dir, "lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, errno, "lock the new record");
	if (write_first_config(dir, s, e) < 0)
		return -1;
	record_start_begins(lock);
	*ret_lock = fd_take(&lock);
	return 0;
}

/* Until a new record has a lock of its own it looks like what a killed command left. Whoever makes one
 * holds this shared, and the sweep, which deletes such, wants it alone. */
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
	AUTO_FREE char *path = xasprintf("sandboxes/%s", s->name);
	AUTO_FD hold = hold_sandboxes(h, e);
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	char temp[48];

	if (hold < 0)
		return -1;
	temporary_name(temp, "new");
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
	IGNORE(erase_tree(hold, temp + strlen(SANDBOXES))); /* a sweep finds what stays */
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

/* What the state says and what the lock says, as of one moment. Not to know is an error: a record
 * that only seems to be dead would be taken for a leftover. */
static int look(const char *name, struct record *r, struct err *e)
{
	int live = record_is_live(r->dir);
	int known = state_read(r->dir, &r->state);

	/* who stops writes its last state before it lets go; but it may have been started since */
	if (live == 0 && r->state.status != STATUS_STOPPED)
		live = record_is_live(r->dir);
	if (live < 0)
		return err_sys(e, -live, "look at the lock of sandbox '%s'", name);
	if (known < 0 && known != -ENOENT && known != -EINVAL)
		return err_sys(e, -known, "read the state of sandbox '%s'", name);
	r->status = reconcile(live > 0, &r->state);
	return 0;
}

bool record_is_unborn(int dir)
{
	struct state now;
	int r = state_read(dir, &now);

	return (r == 0 || r == -ENOENT) && !now.booted_once;
}

static bool is_starting(int dir)
{
	AUTO_FD lock = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1 };

	return lock < 0 || fcntl(lock, F_OFD_GETLK, &l) < 0 || l.l_type != F_UNLCK;
}

/* The state of an ephemeral one is not written at once: its lock tells as much. */
static void look_closer(struct record *r)
{
	if (r->status == STATUS_STARTING && r->spec.ephemeral && !r->state.booted_once &&
	    !is_starting(r->dir))
		r->status = STATUS_RUNNING;
}

int record_load(const struct home *h, const char *name, struct record *ret, struct err *e)
{
	*ret = (struct record)RECORD_NONE;
	if (open_record(h, name, &ret->dir, e) < 0 || look(name, ret, e) < 0)
		return -1;
	if (ret->status == STATUS_CRASHED && !ret->state.booted_once) {
		fd_closep(&ret->dir);
		return err_set(e, ERR_NOT_FOUND, "sandbox not found: %s", name);
	}
	if (record_read_config(ret->dir, ret, e) < 0 ||
	    ((ret->status == STATUS_RUNNING || ret->status == STATUS_DRAINING) &&
	     record_read_active(ret->dir, ret, e) < 0))
		return err_wrap(e, "sandbox '%s'", name);
	look_closer(ret);
	return 0;
}

static void retired_path(const char *name, char *out, size_t n)
{
	char id[HOME_ID_BYTES];

	home_socket_id(name, id);
	snprintf(out, n, SANDBOXES ".gone-%s", id);
}

bool record_is_retired(const struct home *h, const char *name, int dir)
{
	AUTO_FREE char *path = xasprintf("sandboxes/%s", name);
	struct stat a, b;

	return fstat(dir, &a) < 0 || fstatat(h->fd, path, &b, AT_SYMLINK_NOFOLLOW) < 0 ||
	       a.st_ino != b.st_ino || a.st_dev != b.st_dev;
}

int record_retire(const struct home *h, const char *name)
{
	AUTO_FREE char *path = xasprintf("sandboxes/%s", name);
	char gone[64];
	int r;

	retired_path(name, gone, sizeof(gone));
	r = renameat(h->fd, path, h->fd, gone);
	if (r < 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
		/* an earlier one of this name is still being deleted: make way */
		char other[48];

		temporary_name(other, "gone");
		r = renameat(h->fd, path, h->fd, other); /* the sweep deletes it */
	}
	return r < 0 && errno != ENOENT ? -errno : 0;
}

/* The quota of its layer goes first: nothing would lead to it any more. A supervisor in its walls may
 * not lift it; then only the space is freed, and the next command does the rest. */
static int erase_record(int dirfd, const char *path)
{
	AUTO_FREE char *mark = xasprintf("%s/" RECORD_QUOTA_MARK, path);
	AUTO_FREE char *layer = xasprintf("%s/layers/0", path);
	AUTO_FREE char *upper = xasprintf("%s/upper", layer);

	if (faccessat(dirfd, mark, F_OK, 0) < 0 || quota_forget(dirfd, layer))
		return erase_tree(dirfd, path);
	IGNORE(erase_tree(dirfd, upper)); /* as much as goes */
	return -EPERM;
}

int record_erase(const struct home *h, const char *name, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/sandboxes/%s", h->path, name);
	/* a supervisor in its walls cannot list it; what is erased must be reached without a link */
	AUTO_FD all = openat(h->fd, "sandboxes", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char gone[64];
	int r;

	retired_path(name, gone, sizeof(gone));
	range_release(path);
	r = all < 0 ? -errno : erase_record(all, gone + strlen(SANDBOXES));
	if (r == -EACCES || r == -EPERM)
		return err_set(e, ERR_DENIED, "files of sandbox '%s' belong to its uid range",
			       name);
	return r < 0 ? err_sys(e, -r, "delete sandbox '%s'", name) : 0;
}

/* Its supervisor may have been killed on the way out: then more than files is left, found by its name.
 * That may be another's by now; none gets it while we look. False: next time. */
static bool bury_retired(const struct home *h, int sandboxes, int dir, const char *entry,
			 record_reap *reap)
{
	AUTO_RECORD r = RECORD_NONE;
	struct err e;

	if (!reap || record_read_config(dir, &r, &e) < 0 || !r.spec.name)
		return true; /* whoever began to delete it has done so before */
	if (flock(sandboxes, LOCK_EX | LOCK_NB) < 0)
		return false;
	if (faccessat(sandboxes, r.spec.name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
		AUTO_FREE char *path = xasprintf("%s/sandboxes/%s", h->path, r.spec.name);

		reap(h, entry);
		home_unlink_sockets(h, r.spec.name);
		range_release(path);
	}
	IGNORE(flock(sandboxes, LOCK_UN)); /* it is ours */
	return true;
}

bool record_sweep(const struct home *h, record_reap *reap)
{
	AUTO_FD fd = openat(h->fd, "sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	struct dirent *entry;
	bool enough = true;

	while (d && (entry = readdir(d))) {
		bool is_new = starts_with(entry->d_name, ".new-");
		AUTO_FD one = -1;

		if (!is_new && !starts_with(entry->d_name, ".gone-"))
			continue;
		if (is_new && flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue; /* it may be in the making: next time */
		one = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (one >= 0 && record_is_live(one) == 0 &&
		    (is_new || bury_retired(h, fd, one, entry->d_name, reap))) {
			int r = erase_record(fd, entry->d_name); /* or next time */

			enough &= r != -EACCES && r != -EPERM;
		}
		if (is_new)
			IGNORE(flock(fd, LOCK_UN)); /* it is ours */
	}
	if (d)
		closedir(d);
	return enough;
}

/* --- lists ----------------------------------------------------------------------------------- */

struct dated {
	char *name;
	uint64_t created;
};

static int newest_first(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	if (x->created != y->created)
		return x->created < y->created ? 1 : -1;
	return strcmp(x->name, y->name);
}

int record_list_all(const struct home *h, struct record_list *ret, struct err *e)
{
	AUTO_FD fd = home_open_part(h, "sandboxes");
	AUTO_FREE struct dated *all = NULL;
	DIR *d = fd < 0 ? NULL : fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	struct dirent *entry;
	size_t n = 0;

	*ret = (struct record_list){ 0 };
	if (!d)
		return err_sys(e, errno, "list '%s/sandboxes'", h->path);
	while ((entry = readdir(d))) {
		struct stat st;
		AUTO_FREE char *config = NULL;
		struct dated *grown;

		if (entry->d_name[0] == '.')
			continue;
		config = xasprintf("%s/lock", entry->d_name);
		/* the lock file is made at create and never touched again: its time orders the list */
		if (fstatat(fd, config, &st, AT_SYMLINK_NOFOLLOW) < 0)
			st = (struct stat){ 0 };
		grown = realloc(all, (n + 1) * sizeof(*all));
		if (!grown)
			out_of_memory();
		all = grown;
		all[n++] = (struct dated){ xstrdup(entry->d_name),
					   (uint64_t)st.st_mtim.tv_sec * NS_PER_SEC +
						   (uint64_t)st.st_mtim.tv_nsec };
	}
	closedir(d);
	if (n)
		qsort(all, n, sizeof(*all), newest_first);
	ret->name = xcalloc(n + 1, sizeof(*ret->name));
	for (size_t i = 0; i < n; i++)
		ret->name[ret->n++] = all[i].name;
	return 0;
}

void record_list_done(struct record_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->name[i]);
	free(l->name);
	*l = (struct record_list){ 0 };
}
