#include "process/shares.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/holder.h"
#include "base/io.h"
#include "base/str.h"

/* For RLIMIT_NPROC the kernel counts the payload and also our own processes: pid 1, the deputy and
 * its tasks, the launchers and the file agents. So we set RLIMIT_NPROC to the payload's limit plus
 * this number. There are usually fewer of our processes. While there are more, such as many tasks
 * of the deputy, the payload can have fewer processes. */
#define OWN_PROCESSES 8
#define ENVIRONMENT_MAX_BYTES 256
#define SETTING_MAX_BYTES 64

static void add_half_of(struct buf *text, int resource, unsigned unit)
{
	struct rlimit l;

	if (getrlimit(resource, &l) == 0 && l.rlim_cur != RLIM_INFINITY)
		buf_addf(text, " %d:%llu", resource, (unsigned long long)(l.rlim_cur / 2 / unit));
}

const char *const *shares_environment(struct plan *p, bool own, uint64_t pids)
{
	const char **list = plan_room(p, 2 * sizeof(*list));
	char room[ENVIRONMENT_MAX_BYTES + 1];
	AUTO_BUF text = BUF_IN(room, ENVIRONMENT_MAX_BYTES);

	buf_addf(&text, HOLDER_LIMITS "=%d:%llu", RLIMIT_NPROC,
		 (unsigned long long)(pids + OWN_PROCESSES));
	if (!own) {
		add_half_of(&text, RLIMIT_SIGPENDING, 1);
		add_half_of(&text, RLIMIT_MSGQUEUE, 1);
		/* the limit of this process is in bytes, but the kernel compares the limit of a
		 * user namespace with the number of locked pages */
		add_half_of(&text, RLIMIT_MEMLOCK, (unsigned)getpagesize());
	}
	list[0] = plan_str(p, buf_str(&text));
	return list;
}

/* Adds a step that halves the setting in the file PATH. The setting limits all ids of the child's
 * user namespace together. */
static void add_half(struct plan *p, const char *path)
{
	char room[SETTING_MAX_BYTES + 1], half[32];
	AUTO_BUF now = BUF_IN(room, SETTING_MAX_BYTES);
	struct str text;
	uint64_t n;
	int r = io_read_file(AT_FDCWD, path, &now);

	text = (struct str){ buf_str(&now), now.n };
	if (r < 0 || parse_u64_str(str_cut(&text, '\n'), 0, INT32_MAX, &n) < 0)
		return; /* the kernel has no inotify */
	snprintf(half, sizeof(half), "%llu", (unsigned long long)(n / 2));
	plan_sysctl(p, path, half);
}

void shares_plan(struct plan *p, bool own)
{
	if (own)
		return;
	add_half(p, "/proc/sys/user/max_inotify_instances");
	add_half(p, "/proc/sys/user/max_inotify_watches");
}
