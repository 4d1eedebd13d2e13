/*
 * The deputy waits for system calls of the payload and starts a task for each call
 * (guest/errand.h), at most DEPUTY_TASKS_MAX at a time. Further calls wait in the kernel. The exit
 * status of a task is the answer to the call. A task joins the payload's user namespace, so root in
 * the sandbox can stop or kill it. Therefore the deputy never blocks on a task, and kills tasks
 * that take too long. A task is a copy of pid 1 and is non-dumpable like pid 1, so no process of
 * the payload can read its memory.
 */
#include "guest/deputy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/confine.h"
#include "base/fdpass.h"
#include "guest/errand.h"
#include "guest/seccomp.h"

#define DEPUTY_TASKS_MAX 8 /* a task takes 0.2 ms, so more tasks would only cost memory */
/* the most time that a task gets; even on a slow disk a task needs less, unless root in the sandbox
 * stops the task */
#define TASK_PATIENCE_NS (2000 * NS_PER_MS)
#define KEPT_MAX (4 + EXEC_TASK_FDS_MAX) /* descriptors that the deputy keeps */
#define NOTE_BYTES 512                   /* room for a message, also of a newer kernel */
#ifndef FSPICK_CLOEXEC
#define FSPICK_CLOEXEC 1
#define FSPICK_EMPTY_PATH 8
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5) /* Linux 5.19 */
#endif

struct task {
	int pidfd;
	uint64_t id; /* the kernel's id of the call */
	uint64_t deadline;
};

struct deputy_state {
	struct errand_means means;
	struct task task[DEPUTY_TASKS_MAX];
	unsigned n_tasks;
};

/* --- the deputy ------------------------------------------------------------------------------ */

union note {
	struct seccomp_notif call;
	struct seccomp_notif_resp answer;
	char room[NOTE_BYTES];
};

static void answer(const struct deputy_state *o, uint64_t id, int error)
{
	union note n = { .answer = { .id = id, .error = error } };

	/* fails if the caller is gone */
	IGNORE(ioctl(o->means.listener, (int)SECCOMP_IOCTL_NOTIF_SEND, &n.answer));
}

static void begin(struct deputy_state *o, const struct seccomp_notif *n)
{
	struct task t = { .pidfd = -1,
			  .id = n->id,
			  .deadline = clock_mono_ns() + TASK_PATIENCE_NS };
	struct clone_args args = { .flags = CLONE_PIDFD, .pidfd = (uintptr_t)&t.pidfd };
	pid_t pid = sys_clone3(&args);

	if (pid == 0)
		_exit(-errand_run(&o->means, n));
	if (pid < 0)
		answer(o, n->id, -EAGAIN);
	else
		o->task[o->n_tasks++] = t;
}

static void take_call(struct deputy_state *o)
{
	union note n = { 0 };

	/* ENOENT means that the caller was killed meanwhile */
	if (ioctl(o->means.listener, (int)SECCOMP_IOCTL_NOTIF_RECV, &n.call) == 0)
		begin(o, &n.call);
}

/* A task has ended: answers the call for which it was started. If root in the sandbox killed the
 * task, or we killed it because it took too long, the answer is EIO. */
static void finish(struct deputy_state *o, unsigned i)
{
	struct task t = o->task[i];
	siginfo_t si = { 0 };

	while (waitid(P_PIDFD, (id_t)t.pidfd, &si, WEXITED | __WALL) < 0 && errno == EINTR)
		;
	fd_closep(&t.pidfd);
	o->task[i] = o->task[--o->n_tasks];
	answer(o, t.id, si.si_code == CLD_EXITED ? -si.si_status : -EIO);
}

/* Kills the tasks that took too long. Returns the milliseconds until the next deadline of a task,
 * or -1 if there is none. */
static int next_deadline(const struct deputy_state *o)
{
	uint64_t now = clock_mono_ns(), first = UINT64_MAX;

	for (unsigned i = 0; i < o->n_tasks; i++)
		if (o->task[i].deadline <= now)
			IGNORE(sys_pidfd_send_signal(o->task[i].pidfd, SIGKILL));
		else if (o->task[i].deadline < first)
			first = o->task[i].deadline;
	return first == UINT64_MAX ? -1 : (int)((first - now) / NS_PER_MS + 1);
}

static void turn(struct deputy_state *o)
{
	struct pollfd p[1 + DEPUTY_TASKS_MAX];
	unsigned n = o->n_tasks;

	p[0] = (struct pollfd){ .fd = o->means.listener,
				.events = n < DEPUTY_TASKS_MAX ? POLLIN : 0 };
	for (unsigned i = 0; i < n; i++)
		p[1 + i] = (struct pollfd){ .fd = o->task[i].pidfd, .events = POLLIN };
	if (poll(p, 1 + n, next_deadline(o)) < 0)
		return;
	for (unsigned i = n; i-- > 0;)
		if (p[1 + i].revents)
			finish(o, i);
	if (p[0].revents & POLLIN)
		take_call(o);
	else if (p[0].revents)
		_exit(0); /* no process is left that could make a call */
}

/* Returns true if the file system of FD belongs to a user namespace of the sandbox. Privileges of
 * files on such a file system have no effect on the host. To find this out, the deputy sets the
 * options of the file system to the values that they already have. The kernel allows this only to a
 * process with rights over the namespace that owns the file system. */
static bool is_ours(int fd)
{
	AUTO_FD fs = (int)syscall(SYS_fspick, fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);

	return fs >= 0 && sys_fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == 0;
}

/* Adds the mount at PATH to M if its files may have privileges. If PATH is "/", stores the device
 * of the root in *ROOT. All mounts of this device count as the sandbox's own, such as the writable
 * places of a read-only root. */
static void add_own(struct errand_means *m, const char *path, const struct boot_message *boot,
		    uint64_t *root)
{
	AUTO_FD fd = open(path, O_PATH | O_CLOEXEC);
	bool own = strcmp(path, "/") == 0;
	struct statx st;
	uint64_t device;

	if (fd < 0 || syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return;
	device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	if (own)
		*root = device;
	own |= device == *root;
	for (size_t i = 0; i < boot->n_own_devices; i++)
		own |= boot->own_device[i] == device;
	if (own || is_ours(fd))
		m->own[m->n_own++] = st.stx_mnt_id;
}

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

/* Closes all descriptors that the deputy inherited from pid 1, except the N descriptors in KEPT.
 * Sorts KEPT. */
static void close_others(int *kept, size_t n)
{
	unsigned from = 0;

	qsort(kept, n, sizeof(kept[0]), by_number);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned)kept[i] > from)
			IGNORE(sys_close_range(from, (unsigned)kept[i] - 1, 0));
		from = (unsigned)kept[i] + 1;
	}
	IGNORE(sys_close_range(from, ~0u, 0));
}

static int receive_listener(int link)
{
	int fd = -1;
	unsigned n = 0;
	char byte;

	return fdpass_recv(link, &byte, 1, &fd, 1, &n) == 1 && n == 1 ? fd : -1;
}

/* Keeps only the capabilities that the deputy needs to look into /proc/TID of every process in the
 * sandbox. These processes include file agents (guest/agent.h), which are copies of pid 1. The
 * deputy has all other rights as the owner of the payload's namespace. Also attaches the filter
 * that restricts the system calls of the deputy itself. */
static bool confine(void)
{
	struct err ignored;

	return confine_capabilities(CONFINE_CAP(CAP_SYS_PTRACE) | CONFINE_CAP(CAP_DAC_READ_SEARCH),
				    &ignored) == 0 &&
	       confine_calls(deputy_filter, deputy_filter_len, &ignored) == 0;
}

static _Noreturn void serve(const struct exec_walls *w, const struct boot_message *boot, int link)
{
	static struct deputy_state o;
	struct seccomp_notif_sizes sizes;
	uint64_t root = UINT64_MAX; /* no device has this number */
	int kept[KEPT_MAX];
	size_t n = 0;

	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		_exit(1);
	IGNORE(prctl(PR_SET_NAME, "cordon-deputy"));
	o.means.walls = w;
	o.means.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	kept[n++] = o.means.proc;
	kept[n++] = link;
	kept[n++] = w->userns;
	for (unsigned i = 0; i < w->n_task_fds; i++)
		kept[n++] = w->task_fd[i];
	close_others(kept, n);
	o.means.own = xcalloc(boot->n_own_mounts + 1, sizeof(*o.means.own));
	for (size_t i = 0; i < boot->n_own_mounts; i++)
		add_own(&o.means, boot->own_mount[i], boot, &root);
	if (o.means.proc < 0 || syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ||
	    sizes.seccomp_notif > NOTE_BYTES || sizes.seccomp_notif_resp > NOTE_BYTES)
		_exit(1);
	o.means.listener = receive_listener(link);
	fd_closep(&link);
	if (o.means.listener < 0 || !confine())
		_exit(1);
	for (;;)
		turn(&o);
}

/* --- pid 1 ----------------------------------------------------------------------------------- */

int deputy_start(const struct exec_walls *w, const struct boot_message *boot, struct deputy *ret,
		 struct err *e)
{
	/* no exit signal, because sessions_reap() must not count the deputy */
	struct clone_args args = { 0 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make a socket");
	ret->pid = sys_clone3(&args);
	if (ret->pid == 0) /* signals stay blocked in the deputy */
		serve(w, boot, pair[1]);
	(void)close(pair[1]);
	ret->link = pair[0];
	if (ret->pid < 0) {
		fd_closep(&ret->link);
		return err_sys(e, errno, "start the deputy");
	}
	return 0;
}

int deputy_engage(struct deputy *d, struct err *e)
{
	struct sock_fprog program = { notify_filter_len, (struct sock_filter *)notify_filter };
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	/* With WAIT_KILLABLE_RECV only a fatal signal interrupts the call of a thread. Without this
	 * flag, the thread would repeat its call after any signal, while the deputy still makes the
	 * first call. */
	AUTO_FD listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
	int r;

	if (listener < 0 && errno == EINVAL)
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (listener < 0 && errno == EBUSY) {
		fd_closep(&d->link); /* closing the link ends the deputy */
		return err_set(e, ERR_UNSUPPORTED,
			       "a program outside of cordon already handles system calls of this "
			       "process (seccomp), "
			       "so directories of the host can only be shared read-only here");
	}
	if (listener < 0)
		return err_sys(e, errno, "have calls handed to the deputy");
	r = fdpass_send(d->link, "", 1, &listener, 1);
	fd_closep(&d->link);
	return r < 0 ? err_sys(e, -r, "give the deputy its calls") : 0;
}
