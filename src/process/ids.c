#include "process/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"
#include "host/container.h"

#define MAP_MAX_BYTES 256 /* a map has at most three lines of three numbers */

const char *ids_mode_name(enum ids_mode m)
{
	return m == IDS_RANGE ? "own range" : m == IDS_SUBID ? "subuid range" : "single id";
}

/* Writes the inner map for MODE. With IDS_SUBID, the user who runs cordon has the id N in this map;
 * the other modes ignore N. The kernel refuses a line of the inner map whose ids are in two lines
 * of the outer map, so we write separate lines. */
static void inner_map(enum ids_mode mode, uint32_t n, char out[IDS_MAP_BYTES])
{
	const uint32_t last = IDS_PER_SANDBOX - 2; /* the largest id of a user's sandbox */
	char room[IDS_MAP_BYTES];
	AUTO_BUF text = BUF_IN(room, IDS_MAP_BYTES - 1);

	if (mode == IDS_RANGE)
		buf_addf(&text, "0 1 %u\n", IDS_PER_SANDBOX);
	else if (mode == IDS_SINGLE)
		buf_add_str(&text, "0 0 1\n");
	if (mode == IDS_SUBID) {
		if (n > 0)
			buf_addf(&text, "0 2 %u\n", n);
		buf_addf(&text, "%u 1 1\n", n);
		if (n < last)
			buf_addf(&text, "%u %u %u\n", n + 1, n + 2, last - n);
	}
	snprintf(out, IDS_MAP_BYTES, "%s", buf_str(&text));
}

void ids_inner_uid_map(const struct ids *i, char out[IDS_MAP_BYTES])
{
	inner_map(i->mode, i->rotation.uid, out);
}

void ids_inner_gid_map(const struct ids *i, char out[IDS_MAP_BYTES])
{
	inner_map(i->mode, i->rotation.gid, out);
}

int ids_refused(int errnum, struct err *e)
{
	err_sys(e, errnum, "create namespaces");
	if (errnum == ENOSYS || (errnum == EPERM && container_is_filtered()))
		return err_hint(e, container_advice(CONTAINER_NAMESPACES));
	if (errnum == EPERM || errnum == EACCES)
		return err_hint(
			e, "allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1, "
			   "or on Ubuntu sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; "
			   "in a chroot none can be made; 'cordon doctor' says which");
	if (errnum == ENOSPC)
		return err_hint(e, "a limit of namespaces is reached, most often "
				   "user.max_user_namespaces: 'sysctl user' shows them, "
				   "sysctl -w user.max_user_namespaces=10000 raises one");
	return -1;
}

static int write_proc(pid_t pid, const char *file, const char *text, struct err *e)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	r = io_write_file(AT_FDCWD, path, text);
	return r < 0 ? err_sys(e, -r, "write '%s'", path) : 0;
}

static int write_map(pid_t pid, const char *file, const struct id_line *line, size_t n,
		     struct err *e)
{
	char room[MAP_MAX_BYTES + 1];
	AUTO_BUF text = BUF_IN(room, MAP_MAX_BYTES);

	for (size_t k = 0; k < n; k++)
		buf_addf(&text, "%u %u %u\n", line[k].inside, line[k].outside, line[k].count);
	return write_proc(pid, file, buf_str(&text), e);
}

static int write_both(pid_t pid, const struct id_line *uid, const struct id_line *gid, size_t n,
		      struct err *e)
{
	return write_map(pid, "uid_map", uid, n, e) < 0 ? -1 : write_map(pid, "gid_map", gid, n, e);
}

static int write_range(const struct ids *i, pid_t pid, struct err *e)
{
	const struct id_line uid[] = { { 0, i->uid_base + IDS_PER_SANDBOX, 1 },
				       { 1, i->uid_base, IDS_PER_SANDBOX } };
	const struct id_line gid[] = { { 0, i->gid_base + IDS_PER_SANDBOX, 1 },
				       { 1, i->gid_base, IDS_PER_SANDBOX } };

	return write_both(pid, uid, gid, ARRAY_SIZE(uid), e);
}

static const char *const map_programs[] = { "newuidmap", "newgidmap" };

static int range_refused(unsigned k, struct err *e)
{
	err_set(e, ERR_DENIED, "%s did not accept the range of /etc/sub%cid", map_programs[k],
		k == 0 ? 'u' : 'g');
	return err_hint(e, "check that the package 'uidmap' is installed and that /etc/subuid and "
			   "/etc/subgid give you 65536 ids");
}

/* Starts newuidmap and newgidmap at the same time, because each needs some time to start. */
static int begin_subid(const struct ids *i, pid_t pid, struct ids_writing *w, struct err *e)
{
	const uint32_t own[] = { i->caller_uid, i->caller_gid };
	const uint32_t base[] = { i->uid_base, i->gid_base };

	for (unsigned k = 0; k < 2; k++) {
		char args[4][16];
		const char *argv[] = { map_programs[k], args[0], "0", args[1], "1",     "1",
				       args[2],         "1",     "2", args[3], "65534", NULL };

		snprintf(args[0], sizeof(args[0]), "%d", (int)pid);
		snprintf(args[1], sizeof(args[1]), "%u", base[k] + IDS_PER_SANDBOX - 1);
		snprintf(args[2], sizeof(args[2]), "%u", own[k]);
		snprintf(args[3], sizeof(args[3]), "%u", base[k]);
		if (spawn_path(argv, &w->helper[k], e) < 0) {
			struct err ignored;

			IGNORE(ids_end_maps(w, &ignored)); /* wait for newuidmap too */
			return range_refused(k, e);
		}
	}
	return 0;
}

int ids_end_maps(struct ids_writing *w, struct err *e)
{
	int status, bad = -1;

	for (unsigned k = 0; k < 2; k++)
		if (w->helper[k].pid > 0 && (child_wait(&w->helper[k], &status) < 0 || status != 0))
			bad = (int)k;
	return bad < 0 ? 0 : range_refused((unsigned)bad, e);
}

/* Writes the three lines of each map directly, without newuidmap and newgidmap. */
static int write_sub_direct(const struct ids *i, pid_t pid, struct err *e)
{
	const struct id_line uid[] = { { 0, i->uid_base + IDS_PER_SANDBOX - 1, 1 },
				       { 1, i->caller_uid, 1 },
				       { 2, i->uid_base, IDS_PER_SANDBOX - 2 } };
	const struct id_line gid[] = { { 0, i->gid_base + IDS_PER_SANDBOX - 1, 1 },
				       { 1, i->caller_gid, 1 },
				       { 2, i->gid_base, IDS_PER_SANDBOX - 2 } };

	return write_both(pid, uid, gid, ARRAY_SIZE(uid), e);
}

static int write_single(const struct ids *i, pid_t pid, struct err *e)
{
	const struct id_line uid = { 0, i->caller_uid, 1 }, gid = { 0, i->caller_gid, 1 };

	if (write_proc(pid, "setgroups", "deny", e) < 0)
		return -1;
	return write_both(pid, &uid, &gid, 1, e);
}

int ids_begin_maps(const struct ids *i, pid_t pid, struct ids_writing *ret, struct err *e)
{
	*ret = (struct ids_writing){ { { -1, -1 }, { -1, -1 } } };
	switch (i->mode) {
	case IDS_RANGE:
		return write_range(i, pid, e);
	case IDS_SUBID:
		return i->direct ? write_sub_direct(i, pid, e) : begin_subid(i, pid, ret, e);
	case IDS_SINGLE:
		break;
	}
	return write_single(i, pid, e);
}

int ids_write_maps(const struct ids *i, pid_t pid, struct err *e)
{
	struct ids_writing w;

	return ids_begin_maps(i, pid, &w, e) < 0 ? -1 : ids_end_maps(&w, e);
}

int ids_write_reader_maps(const struct ids *i, pid_t pid, struct err *e)
{
	const struct id_line uid[] = { { 0, i->uid_base + IDS_PER_SANDBOX, 1 },
				       { i->uid_base, 0, IDS_PER_SANDBOX } };
	const struct id_line gid[] = { { 0, i->gid_base + IDS_PER_SANDBOX, 1 },
				       { i->gid_base, 0, IDS_PER_SANDBOX } };

	return write_both(pid, uid, gid, ARRAY_SIZE(uid), e);
}

/* Forks a child into a new user namespace. The child waits for a byte from the pipe HOLD.
 * The parent writes this byte when it has written the child's id maps. If the pipe closes before
 * that, the child ends. Returns 0 in the child, and the pid or -1 in the parent. */
static pid_t fork_into_namespace(int hold[2])
{
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	pid_t pid;
	char c;

	if (pipe2(hold, O_CLOEXEC) < 0)
		return -1;
	pid = sys_clone3(&args);
	if (pid == 0) {
		(void)close(hold[1]);
		if (read(hold[0], &c, 1) != 1)
			_exit(1);
		return 0;
	}
	fd_closep(&hold[0]);
	if (pid < 0)
		fd_closep(&hold[1]);
	return pid;
}

int ids_run(const struct ids *i, int (*fn)(void *arg), void *arg, struct err *e)
{
	int hold[2], status = 1, r;
	pid_t pid = fork_into_namespace(hold);

	if (pid == 0)
		_exit(fn(arg) != 0);
	if (pid < 0)
		return ids_refused(errno, e);
	r = ids_write_maps(i, pid, e);
	if (r == 0)
		IGNORE(write(hold[1], "g", 1)); /* if the child has died, its status shows that */
	fd_closep(&hold[1]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r == 0 && status != 0)
		r = err_set(e, ERR_SYSTEM, "work in a user namespace failed");
	return r;
}

int ids_map_held(const struct holder *h, const struct id_line *uid, const struct id_line *gid,
		 int *ret_fd, struct err *e)
{
	if (write_both(h->pid, uid, gid, 1, e) < 0)
		return -1;
	*ret_fd = holder_namespace(h);
	return *ret_fd < 0 ? err_sys(e, -*ret_fd, "open a user namespace") : 0;
}

int ids_map_namespace(const struct id_line *uid, const struct id_line *gid, int *ret_fd,
		      struct err *e)
{
	struct holder h;
	int r = holder_start(&h);

	if (r < 0)
		return ids_refused(-r, e);
	r = ids_map_held(&h, uid, gid, ret_fd, e);
	holder_end(&h);
	return r;
}
