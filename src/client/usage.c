#include "client/usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"

/* enough for the longest list of children of one process */
#define PROC_FILE_MAX_BYTES (1u << 20)

/* The numbers of fields in /proc/PID/stat. Field 0 is the first field after the name. The name may
 * hold any character and ends at the last ')'. */
enum { STAT_UTIME = 11, STAT_STIME, STAT_CUTIME, STAT_CSTIME };

struct walk {
	struct buf todo; /* pids, as a stack */
	uint64_t ticks, own_pages, read_bytes, write_bytes, processes;
	bool complete;   /* no process was left out */
	bool io_visible; /* the kernel lets us see how much the processes read and write */
};

/* Reads a file below PROC into B. Returns false if the file is gone, or if we may not
 * read it. */
static bool slurp(int proc, const char *file, struct buf *b)
{
	buf_clear(b);
	return io_read_file(proc, file, b) == 0;
}

static uint64_t number_at(struct str *rest)
{
	struct str word = str_cut(rest, ' ');
	uint64_t v = 0;

	/* a negative number becomes 0; no field that we use is negative */
	IGNORE(parse_u64_str(word, 0, UINT64_MAX, &v));
	return v;
}

static void add_stat(struct walk *w, const struct buf *text)
{
	const char *name_end = text->n ? strrchr(buf_str(text), ')') : NULL;
	struct str rest;

	if (!name_end || !name_end[1])
		return;
	rest = str_of(name_end + 2);
	for (unsigned i = 0; rest.p && i <= STAT_CSTIME; i++) {
		uint64_t v = number_at(&rest);

		if (i >= STAT_UTIME)
			w->ticks += v;
	}
}

/* Counts pages that no other process shares, because shared pages would be counted twice. */
static void add_memory(struct walk *w, const struct buf *text)
{
	struct str rest = str_of(buf_str(text));
	uint64_t resident, shared;

	number_at(&rest); /* skip the field `size` */
	resident = number_at(&rest);
	shared = number_at(&rest);
	if (resident > shared)
		w->own_pages += resident - shared;
}

static void add_io(struct walk *w, const struct buf *text)
{
	struct str rest = str_of(buf_str(text));

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		struct str value = line;
		struct str key = str_cut(&value, ' ');
		uint64_t v;

		if (!value.p || parse_u64_str(value, 0, UINT64_MAX, &v) < 0)
			continue;
		if (str_eq(key, "read_bytes:"))
			w->read_bytes += v;
		else if (str_eq(key, "write_bytes:"))
			w->write_bytes += v;
	}
}

static void add_children(struct walk *w, int proc, struct buf *text)
{
	AUTO_FD tasks = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = tasks < 0 ? NULL : fdopendir(fcntl(tasks, F_DUPFD_CLOEXEC, 0));
	struct dirent *d;
	char path[64];

	while (list && (d = readdir(list))) {
		struct str rest;

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.20s/children", d->d_name);
		if (!slurp(tasks, path, text))
			continue;
		rest = str_of(buf_str(text));
		while (rest.p) {
			uint64_t pid = number_at(&rest);

			if (pid)
				buf_add(&w->todo, &pid, sizeof(pid));
		}
	}
	if (list)
		closedir(list);
}

static void add_process(struct walk *w, uint64_t pid)
{
	AUTO_BUF text = BUF_INIT(PROC_FILE_MAX_BYTES);
	AUTO_FD proc = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%llu", (unsigned long long)pid);
	proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		/* the process has ended, and its figures were added to those of its parent */
		return;
	w->processes++;
	if (slurp(proc, "stat", &text))
		add_stat(w, &text);
	if (slurp(proc, "statm", &text))
		add_memory(w, &text);
	if (slurp(proc, "io", &text))
		add_io(w, &text);
	else if (access(path, F_OK) == 0)
		w->io_visible = false;
	add_children(w, proc, &text);
}

static void walk(struct walk *w, pid_t first)
{
	uint64_t pid = (uint64_t)first;

	*w = (struct walk){ .complete = true, .io_visible = true };
	buf_init(&w->todo, sizeof(pid) * USAGE_PROCESSES_MAX * 2);
	buf_add(&w->todo, &pid, sizeof(pid));
	while (w->todo.n) {
		w->todo.n -= sizeof(pid);
		memcpy(&pid, w->todo.p + w->todo.n, sizeof(pid));
		add_process(w, pid);
		if (buf_failed(&w->todo) || w->processes > USAGE_PROCESSES_MAX) {
			w->complete = false;
			break;
		}
	}
	buf_done(&w->todo);
}

static void fill(uint64_t *v, bool known, uint64_t found)
{
	if (*v == USAGE_UNKNOWN && known)
		*v = found;
}

void usage_complete(struct usage_message *u, pid_t pid_1)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct walk w;

	walk(&w, pid_1);
	w.complete &= w.processes > 0;
	fill(&u->cpu_ns, w.complete, w.ticks * (NS_PER_SEC / hz));
	fill(&u->memory_bytes, w.complete, w.own_pages * page);
	fill(&u->disk_read_bytes, w.complete && w.io_visible, w.read_bytes);
	fill(&u->disk_write_bytes, w.complete && w.io_visible, w.write_bytes);
	fill(&u->pids, w.complete, w.processes - 1); /* pid 1 itself is not counted */
}
