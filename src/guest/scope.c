#include "guest/scope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"

void scopes_init(struct scopes *s, int payload)
{
	*s = (struct scopes){ .payload = payload };
	/* 5.14 brought cgroup.kill; without it a group is no better than a mark */
	if (payload >= 0 && faccessat(payload, "cgroup.kill", F_OK, 0) < 0)
		fd_closep(&s->payload);
}

static bool is_empty(int events)
{
	char text[64] = "";

	return events >= 0 && pread(events, text, sizeof(text) - 1, 0) > 0 &&
	       strstr(text, "populated 0");
}

static void group_name(unsigned number, char out[32])
{
	snprintf(out, 32, "exec-%u", number);
}

void scope_open(struct scopes *s, struct scope *ret)
{
	char name[32];
	int r;

	*ret = SCOPE_NONE;
	if (s->payload < 0)
		return;
	for (unsigned i = s->n_spare; i-- > 0;) {
		if (!is_empty(s->spare[i].events))
			continue;
		ret->group = s->spare[i].group;
		ret->events = s->spare[i].events;
		ret->number = s->spare[i].number;
		s->spare[i] = s->spare[--s->n_spare];
		return;
	}
	do { /* a sandbox whose supervisor was killed finds its old groups */
		ret->number = s->next++;
		group_name(ret->number, name);
		r = mkdirat(s->payload, name, 0755);
	} while (r < 0 && errno == EEXIST);
	if (r == 0)
		ret->group = openat(s->payload, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void scope_mark(struct scope *c, pid_t pid)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/uts", (int)pid);
	c->mark = open(path, O_RDONLY | O_CLOEXEC);
	/* it may have ended already: then there is nobody left to kill */
	if (c->mark >= 0 && fstat(c->mark, &st) == 0)
		c->mark_ino = st.st_ino;
}

/* One pass over /proc; the number of processes killed. */
static unsigned kill_marked(uint64_t ino)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	unsigned n = 0;

	while (proc && (d = readdir(proc))) {
		char path[48];
		struct stat st;
		uint64_t pid;

		if (parse_u64(d->d_name, 2, INT32_MAX, &pid) < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/ns/uts", (unsigned)pid);
		/* what will not show its mark (an unreadable program's process) is ended with the rest:
		 * better too much than a survivor */
		if (stat(path, &st) < 0 ? errno == EACCES || errno == EPERM : st.st_ino == ino)
			n += kill((pid_t)pid, SIGKILL) == 0;
	}
	if (proc)
		closedir(proc);
	return n;
}

enum scope_state scope_kill(struct scope *c)
{
	uint64_t now = clock_mono_ns();

	if (c->group >= 0) {
		c->killed = true;
		if (io_write_file(c->group, "cgroup.kill", "1") == 0)
			return SCOPE_DONE;
	}
	if (c->mark < 0)
		return SCOPE_DONE;
	if (!c->deadline)
		c->deadline = now + SCOPE_PASSES_NS;
	if (kill_marked(c->mark_ino) == 0)
		return SCOPE_DONE;
	if (now < c->deadline)
		return SCOPE_AGAIN;
	kill(-1, SIGKILL); /* everyone but us */
	return SCOPE_SWEPT;
}

void scope_close(struct scopes *s, struct scope *c)
{
	char name[32];

	fd_closep(&c->mark);
	if (c->group < 0)
		return;
	/* kernels that count kills (6.14 on) compare the count of pid 1's own group with that of the
	 * group cloned into: whatever is born into a group that was ever killed dies at once */
	if (s->n_spare < ARRAY_SIZE(s->spare) && !c->killed) {
		if (c->events < 0)
			c->events = openat(c->group, "cgroup.events", O_RDONLY | O_CLOEXEC);
		s->spare[s->n_spare].number = c->number;
		s->spare[s->n_spare].events = fd_take(&c->events);
		s->spare[s->n_spare++].group = fd_take(&c->group);
		return;
	}
	fd_closep(&c->events);
	fd_closep(&c->group);
	group_name(c->number, name);
	/* one that somebody still dies in stays until the sandbox ends; the supervisor removes it */
	IGNORE(unlinkat(s->payload, name, AT_REMOVEDIR));
}
