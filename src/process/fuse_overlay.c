#include "process/fuse_overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"
#include "base/program.h"
#include "base/spawn.h"
#include "base/str.h"
#include "process/birth.h"

#define PROGRAM "fuse-overlayfs"
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)
#define OOM_SCORE "-900"
#define DEVICE_FD 3
#define DEVICE_NAME "/dev/fd/3" /* for libfuse this name means: descriptor 3 is an open /dev/fuse */
#define STDERR_FD 2
#define OPTIONS_MAX_BYTES 8192u /* enough for 500 layers; the name of a layer has five bytes */
#define WORDS_MAX_BYTES 4096u   /* room for the text that fuse-overlayfs printed */
/* how long fuse-overlayfs gets to write back files that commands had mapped */
#define END_WAIT_MS 5000

/* The kernel honours these capabilities only for files whose owners are mapped in the user
 * namespace of the process. */
#define READER_CAPABILITIES (1ul << CAP_DAC_READ_SEARCH)
#define WRITER_CAPABILITIES                                                        \
	(1ul << CAP_CHOWN | 1ul << CAP_DAC_OVERRIDE | 1ul << CAP_DAC_READ_SEARCH | \
	 1ul << CAP_FOWNER | 1ul << CAP_FSETID | 1ul << CAP_SETFCAP)

bool fuse_overlay_is_there(void)
{
	AUTO_FREE char *path = program_of_system(PROGRAM);

	return path != NULL;
}

int fuse_overlay_program(int *ret_fd, struct err *e)
{
	AUTO_FREE char *path = program_of_system(PROGRAM);

	*ret_fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (*ret_fd >= 0)
		return 0;
	err_set(e, ERR_NOT_FOUND, "program '" PROGRAM "' not found");
	return err_hint(e, "install the package '" PROGRAM "'");
}

/* One fuse-overlayfs process, and the memory that its plan points to. */
struct fuse_overlay {
	struct process_instance instance;
	struct sock_fprog filter;
	const char *argv[6];
};

/* The role of one fuse-overlayfs: the writer or the reader (process/fuse_overlay.h). ROOTFS has the
 * layers that this process sees. */
struct role {
	const struct rootfs *rootfs;
	int program, device;
	bool writes;
};

static void add_exec(struct fuse_overlay *v, const struct role *role)
{
	struct plan *p = v->instance.plan;
	AUTO_BUF options = BUF_INIT(OPTIONS_MAX_BYTES);
	struct step *s = plan_add(p, STEP_EXEC);

	rootfs_fuse_overlay_options(role->rootfs, role->writes, &options);
	if (buf_failed(&options))
		p->full = true;
	v->argv[0] = PROGRAM;
	v->argv[1] = "-f"; /* stay in the foreground */
	v->argv[2] = "-o";
	v->argv[3] = plan_str(p, buf_str(&options));
	v->argv[4] = DEVICE_NAME;
	s->fd = role->program;
	s->argv = v->argv;
}

static int make_plan(struct fuse_overlay *v, const struct role *role, int words,
		     struct tree_map *maps, size_t *ret_n_maps, struct err *e)
{
	struct process_instance *s = &v->instance;
	const struct ids *ids = role->rootfs->ids;
	struct step *step;

	v->filter = (struct sock_fprog){ fuse_overlay_filter_len,
					 (struct sock_filter *)fuse_overlay_filter };
	s->plan = plan_new();
	if (ids->mode != IDS_SINGLE)
		plan_add(s->plan, STEP_GROUPS);
	/* The writer first builds the file system that it will see, and then executes
	 * fuse-overlayfs. It builds under the id ids_shift(), as the child that becomes pid 1 does,
	 * so that directories which it makes in memory belong to the payload's root. The second
	 * plan_ids() below changes its id to 0, the id of pid 1. */
	plan_ids(s->plan, role->writes ? ids_shift(ids) : 0, role->writes ? ids_shift(ids) : 0);
	if (rootfs_plan_fuse_overlay(role->rootfs, role->writes, s->plan, maps, ret_n_maps, e) < 0)
		return -1;
	plan_ids(s->plan, 0, 0);
	plan_keep(s->plan, words, STDERR_FD);
	plan_keep(s->plan, role->device, DEVICE_FD);
	step = plan_add(s->plan, STEP_CONFINE);
	step->flags = role->writes ? WRITER_CAPABILITIES : READER_CAPABILITIES;
	step->filter = &v->filter;
	add_exec(v, role);
	return plan_check(s->plan, e);
}

/* The memory of fuse-overlayfs counts for the payload's memory limit. Makes the OOM killer spare
 * fuse-overlayfs, so that it kills a command when the limit is reached. */
static void spare_from_oom(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	/* this fails for ordinary users: only root may lower the score */
	IGNORE(io_write_file(AT_FDCWD, path, OOM_SCORE));
}

/* Maps the ids of the child and lets it run. Then waits until the child has executed the program:
 * we see this because the exec closes the other end of HOLD. */
static int release(struct process_instance *s, const struct role *role, int hold, struct err *e)
{
	const struct ids *ids = role->rootfs->ids;
	char c;

	if ((role->writes ? ids_write_maps(ids, s->pid, e)
			  : ids_write_reader_maps(ids, s->pid, e)) < 0)
		return -1;
	if (write(hold, "g", 1) != 1)
		return err_sys(e, errno, "let '" PROGRAM "' run");
	while (read(hold, &c, 1) < 0 && errno == EINTR)
		;
	if (s->child->report.err)
		return process_failure(s, e);
	/* not before the exec: until then the child shares our memory, so this call would change
	 * our own score, too */
	spare_from_oom(s->pid);
	return 0;
}

/* Maps the owners of the files in the trees MAPS to the sandbox's range of ids. The map also has
 * the id of pid 1, because the writer runs under this id: a new file belongs to this id until the
 * writer gives the file to its owner. Returns 0 or -1. */
static int map_trees(const struct plan *p, const struct ids *ids, const struct tree_map *maps,
		     size_t n, struct err *e)
{
	struct id_line uid = { 0, ids->uid_base, IDS_STRIDE };
	struct id_line gid = { 0, ids->gid_base, IDS_STRIDE };
	AUTO_FD whole = -1;

	if (ids->mode != IDS_RANGE || n == 0)
		return 0;
	if (ids_map_namespace(&uid, &gid, &whole, e) < 0)
		return -1;
	return birth_map_trees(p, ids, whole, maps, n, e);
}

/* Starts one fuse-overlayfs. Its messages go into a pipe, which we read only after it has ended. If
 * the pipe is full, a write to it fails and does not block. */
static int begin(struct fuse_overlay *v, const struct role *role, struct err *e)
{
	AUTO_FREE struct tree_map *maps = xcalloc(TREE_MAPS_MAX, sizeof(*maps));
	struct process_instance *s = &v->instance;
	int words[2], hold[2] = { -1, -1 };
	size_t n_maps = 0;
	int r;

	if (pipe2(words, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(e, errno, "make a pipe");
	s->channel = words[0];
	r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, hold) < 0
		    ? err_sys(e, errno, "make channel")
		    : make_plan(v, role, words[1], maps, &n_maps, e);
	if (r == 0)
		r = map_trees(s->plan, role->rootfs->ids, maps, n_maps, e);
	if (r == 0) {
		birth_prepare(s, hold[1], NAMESPACES, hold[0]);
		r = birth_clone(s, e);
	}
	fd_closep(&words[1]);
	fd_closep(&hold[0]);
	if (r == 0)
		r = release(s, role, hold[1], e);
	fd_closep(&hold[1]);
	return r;
}

static int start(const struct role *role, struct process_instance **ret, struct err *e)
{
	struct fuse_overlay *v = xcalloc(1, sizeof(*v));

	/* the instance is the first member of *V, so code that frees the instance also frees *V */
	*ret = &v->instance;
	process_init(*ret);
	return begin(v, role, e) < 0 ? err_wrap(e, "start '" PROGRAM "'") : 0;
}

/* Makes a mount of DEVICE that is not attached anywhere. */
static int mount_device(int device, int *ret_mount, struct err *e)
{
	static const char *const pairs[][2] = { { "source", PROGRAM },
						{ "rootmode", "40000" },
						{ "user_id", "0" },
						{ "group_id", "0" } };
	static const char *const flags[] = { "default_permissions", "allow_other" };
	AUTO_FD fs = sys_fsopen("fuse", FSOPEN_CLOEXEC);
	char number[16];
	int r = fs < 0 ? -1 : 0;

	snprintf(number, sizeof(number), "%d", device);
	r = r < 0 ? r : sys_fsconfig(fs, FSCONFIG_SET_STRING, "fd", number, 0);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		r = r < 0 ? r : sys_fsconfig(fs, FSCONFIG_SET_STRING, pairs[i][0], pairs[i][1], 0);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		r = r < 0 ? r : sys_fsconfig(fs, FSCONFIG_SET_FLAG, flags[i], NULL, 0);
	r = r < 0 ? r : sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	*ret_mount = r < 0 ? -1 : sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY);
	return *ret_mount < 0 ? err_sys(e, errno, "mount what '" PROGRAM "' serves") : 0;
}

/* Starts the reader, which shows the layers of *R with the ids of the sandbox's range. Puts the
 * reader's mount into *R instead of the layers. */
static int show_layers(struct rootfs *r, int program, struct process_instance **ret, int *ret_mount,
		       struct err *e)
{
	AUTO_FD device = open(FUSE_DEVICE, O_RDWR | O_CLOEXEC);
	const struct role role = { .rootfs = r, .program = program, .device = device };

	if (device < 0)
		return err_sys(e, errno, "open '" FUSE_DEVICE "'");
	if (mount_device(device, ret_mount, e) < 0 || start(&role, ret, e) < 0)
		return -1;
	r->layer_fd[0] = *ret_mount;
	r->n_layers = 1;
	r->layers_shown = true;
	return 0;
}

int fuse_overlay_start(const struct process_request *q, int device, struct process_instance **ret,
		       struct err *e)
{
	AUTO_FREE struct rootfs *r = xcalloc(1, sizeof(*r));
	const struct role role = { r, q->fuse_overlay_program, device, true };
	struct process_instance *reader = NULL;
	AUTO_FD mount = -1;
	int rc;

	*r = q->rootfs;
	rc = start(&role, ret, e);
	if (rc == 0 || e->code != ERR_UNSUPPORTED)
		return rc;
	/* the ids of the layers could not be mapped: forget this error, and try again with the
	 * reader */
	*e = (struct err){ 0 };
	fuse_overlay_end(TAKE(*ret));
	rc = show_layers(r, q->fuse_overlay_program, &reader, &mount, e);
	if (rc == 0)
		rc = start(&role, ret, e);
	if (*ret)
		(*ret)->fuse = reader;
	else
		*ret = reader;
	return rc;
}

/* Returns the last line of TEXT that is not a warning about an unknown option. */
static const char *last_words(char *text)
{
	const char *last = "";

	for (char *line = text; *line;) {
		char *end = line + strcspn(line, "\n");

		if (end > line && !starts_with(line, "unknown argument ignored"))
			last = line;
		line = *end ? end + 1 : end;
		*end = '\0';
	}
	return last;
}

int fuse_overlay_failure(struct process_instance *s, struct err *e)
{
	char text[WORDS_MAX_BYTES];
	ssize_t n = read(s->channel, text, sizeof(text) - 1);
	const char *words;

	text[n > 0 ? n : 0] = '\0';
	words = last_words(text);
	return err_set(e, ERR_SYSTEM, PROGRAM ", which served its root, has ended%s%.200s",
		       *words ? ": " : "", words);
}

void fuse_overlay_end(struct process_instance *s)
{
	struct pollfd p = { .fd = s->pidfd, .events = POLLIN };

	if (s->pidfd >= 0)
		IGNORE(poll(&p, 1, END_WAIT_MS));
	process_done(s);
	free(s);
}
