/* Explains why a sandbox did not come up. */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/raw.h"
#include "host/container.h"
#include "process/fuse_overlay.h"
#include "process/process.h"

/* process_overlay_refused() waits at most this long until the child has mounted the overlay. If the
 * mount fails after that time, we report this like a failure of any other step. */
#define OVERLAY_WAIT_S 10

const char *process_failed_stage(const struct process_instance *i)
{
	if (!i->child || !i->child->report.err || i->child->report.step < 0)
		return "other";
	switch (i->plan->step[i->child->report.step].op) {
	case STEP_LOOPBACK:
	case STEP_NETIF:
	case STEP_SYSCTL:
		return "network";
	case STEP_HOSTNAME:
	case STEP_GROUPS:
	case STEP_IDS:
	case STEP_KEEP:
	case STEP_EXEC:
		return "other";
	default:
		return "mount";
	}
}

/* Returns true if ERRNUM means that the kernel refuses to mount this overlay, so that a second try
 * would fail too. A lack of space or memory is no refusal. */
static bool is_refusal(int errnum)
{
	return errnum == EINVAL || errnum == ENODEV || errnum == EPERM || errnum == EACCES ||
	       errnum == EOPNOTSUPP;
}

bool process_overlay_refused(const struct process_request *r, const struct process_instance *i)
{
	const struct timespec most = { .tv_sec = OVERLAY_WAIT_S };
	const struct child_report *report = &i->child->report;
	int task, timed_out = 0;

	if (!rootfs_is_overlay(&r->rootfs))
		return false;
	while (!timed_out &&
	       (task = __atomic_load_n(&i->child->overlay_pending, __ATOMIC_ACQUIRE)) != 0)
		timed_out = RAW4(SYS_futex, &i->child->overlay_pending, FUTEX_WAIT, task, &most) ==
			    -ETIMEDOUT;
	return report->err && report->step >= 0 && i->plan->step[report->step].op == STEP_OVERLAY &&
	       is_refusal(report->err);
}

/* Returns what the user can do about STEP, which failed with ERRNUM; or NULL. */
static const char *hint_for(const struct step *step, int errnum)
{
	const bool full = errnum == ENOSPC || errnum == EDQUOT;

	if (errnum == ESTALE)
		return "a mount source was replaced while the sandbox started";
	if (full && (step->op == STEP_OVERLAY || step->op == STEP_MKDIR || step->op == STEP_DIR ||
		     step->op == STEP_FILE))
		return "the writable layer is full; make it larger: cordon modify NAME --root-disk "
		       "SIZE";
	if (step->op == STEP_OVERLAY && is_refusal(errnum))
		return "the kernel's overlay does not work here (no module, a file system it "
		       "cannot "
		       "use, or a kernel before 5.19 for root): install the package "
		       "'fuse-overlayfs'";
	if (step->op == STEP_DEVICE)
		return "fuse-overlayfs, which serves the root where the kernel's overlay cannot, "
		       "needs it: modprobe fuse; in a container: " CONTAINER_FUSE_TEXT;
	if (step->op == STEP_UNITE)
		return "the kernel's overlay cannot use this file system: make the directories on "
		       "which "
		       "other volumes are mounted in it";
	if (step->op == STEP_PLACE && errnum == EBUSY)
		return "a link in the image leads from this target to the image's root, or to a "
		       "directory that cordon itself mounts: choose another target";
	if (step->op == STEP_PLACE && errnum == ELOOP && step->text)
		return "the target passes through a link in the volume: remove the link, or choose "
		       "another target";
	if (step->op == STEP_DIR && errnum == ENOTDIR && step->flags & WAY_NO_LINK)
		return "the image has a link or a file where the sandbox needs a directory of its "
		       "own";
	if (step->op == STEP_MOUNT && errnum == EPERM && strcmp(step->text, "proc") == 0)
		return container_advice(CONTAINER_PROC);
	if ((step->op == STEP_STAGE || step->op == STEP_PIVOT) && errnum == EACCES)
		return container_advice(CONTAINER_MOUNTS);
	/* the root of a new user namespace may do every step, so EPERM comes from a seccomp
	 * filter */
	if (errnum == EPERM && container_is_filtered())
		return container_advice(CONTAINER_NAMESPACES);
	if (step->op == STEP_NETIF)
		return "load the module: modprobe veth; or do without a network: --no-net";
	return NULL;
}

/* Explains what the child reported. */
static int explain_report(const struct process_instance *i, struct err *e)
{
	int errnum = i->child->report.err;
	const struct step *step;
	const char *what, *hint;

	if (i->child->report.step == CHILD_NAMESPACES)
		return ids_refused(errnum, e);
	if (i->child->report.step == CHILD_WAIT)
		return err_sys(e, errnum, "wait for id maps");
	step = &i->plan->step[i->child->report.step];
	what = step->op == STEP_UNITE ? step->text : step->path ? step->path : "";
	if (i->fuse && (errnum == ENOTCONN || errnum == ECONNABORTED))
		return fuse_overlay_failure(i->fuse, e);
	err_sys(e, errnum, "%s%s%s%s", step_name(step->op), *what ? " '" : "", what,
		*what ? "'" : "");
	hint = hint_for(step, errnum);
	return hint ? err_hint(e, hint) : -1;
}

int process_failure(struct process_instance *i, struct err *e)
{
	int status = 0;

	while (i->pid > 0 && waitpid(i->pid, &status, 0) < 0 && errno == EINTR)
		;
	i->pid = -1;
	if (i->child && i->child->report.err)
		return explain_report(i, e);
	if (WIFSIGNALED(status))
		return err_set(e, ERR_SYSTEM, "pid 1 was killed by signal %d while starting",
			       WTERMSIG(status));
	return err_set(e, ERR_SYSTEM, "pid 1 ended while starting (status %d)",
		       WEXITSTATUS(status));
}
