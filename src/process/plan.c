#include "process/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ARENA_BLOCK_BYTES 8192

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

struct plan *plan_new(void)
{
	return xcalloc(1, sizeof(struct plan));
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_trees; i++)
		fd_closep(&p->tree[i]);
	while (p->arena) {
		struct arena_block *next = p->arena->next;

		free(p->arena);
		p->arena = next;
	}
	free(p);
}

void *plan_room(struct plan *p, size_t n)
{
	struct arena_block *b = p->arena;
	size_t rounded = (n + 15) & ~(size_t)15;
	void *at;

	if (rounded <= sizeof(p->first) - p->used) {
		p->used += rounded;
		return p->first + p->used - rounded;
	}
	if (!b || b->size - b->used < n) {
		size_t size = n > ARENA_BLOCK_BYTES ? n : ARENA_BLOCK_BYTES;

		b = xcalloc(1, sizeof(*b) + size);
		b->size = size;
		b->next = p->arena;
		p->arena = b;
	}
	at = b->bytes + b->used;
	b->used += rounded;
	if (b->used > b->size)
		b->used = b->size;
	return at;
}

const char *plan_text(struct plan *p, const char *s, size_t n)
{
	char *at = plan_room(p, n + 1);

	memcpy(at, s, n);
	return at;
}

const char *plan_str(struct plan *p, const char *s)
{
	return plan_text(p, s, strlen(s));
}

struct step *plan_add(struct plan *p, enum step_op op)
{
	struct step *s;

	if (p->n_steps == PLAN_STEPS_MAX) {
		p->full = true;
		/* the caller overwrites the last step, which does no harm: plan_check() refuses
		 * the whole plan */
		p->n_steps--;
	}
	s = &p->step[p->n_steps++];
	*s = (struct step){ .op = op, .tree = -1, .fd = -1 };
	return s;
}

void plan_ids(struct plan *p, uint32_t uid, uint32_t gid)
{
	struct step *s = plan_add(p, STEP_IDS);

	s->uid = uid;
	s->gid = gid;
}

struct step *plan_keep(struct plan *p, int fd, unsigned number)
{
	struct step *s = plan_add(p, STEP_KEEP);

	s->fd = fd;
	s->mode = number;
	return s;
}

void plan_sysctl(struct plan *p, const char *path, const char *text)
{
	struct step *s = plan_add(p, STEP_SYSCTL);

	s->path = plan_str(p, path);
	s->text_n = strlen(text);
	s->text = plan_text(p, text, s->text_n);
}

int plan_tree(struct plan *p, int fd)
{
	if (p->n_trees == PLAN_TREES_MAX) {
		p->full = true;
		fd_closep(&fd);
		return 0;
	}
	p->tree[p->n_trees] = fd;
	return (int)p->n_trees++;
}

int plan_clone_tree(struct plan *p, int fd, unsigned long attrs, int *ret, struct err *e)
{
	char link[64], path[4096];
	struct step *s;
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || fstat(fd, &st) < 0)
		return err_sys(e, n == 0 ? ENAMETOOLONG : errno, "look at mount source");
	path[n] = '\0';
	*ret = plan_tree(p, -1);
	s = plan_add(p, STEP_CLONE_TREE);
	s->tree = *ret;
	s->path = plan_str(p, path);
	s->flags = attrs;
	s->dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	s->ino = st.st_ino;
	return 0;
}

int plan_check(const struct plan *p, struct err *e)
{
	if (p->full)
		return err_set(e, ERR_LIMIT,
			       "too many mounts or layers (at most %d steps, %d trees)",
			       PLAN_STEPS_MAX, PLAN_TREES_MAX);
	return 0;
}

static const char *const names[] = {
	// clang-format off
	[STEP_CLONE_TREE] = "open mount source",
	[STEP_STAGE]      = "mount staging area",
	[STEP_MKDIR]      = "make staging directory",
	[STEP_ATTACH]     = "attach layer",
	[STEP_OVERLAY]    = "mount overlay",
	[STEP_STUB]       = "make mount point",
	[STEP_UNITE]      = "add mount points to",
	[STEP_DEVICE]     = "open",
	[STEP_FUSE]       = "mount what fuse-overlayfs serves",
	[STEP_ROOT]       = "open root",
	[STEP_DIR]        = "make directory",
	[STEP_FILE]       = "make file",
	[STEP_PLACE]      = "mount on",
	[STEP_TARGET]     = "open mount target",
	[STEP_MOUNT]      = "mount file system",
	[STEP_COVER]      = "cover",
	[STEP_MOVE]       = "attach mount",
	[STEP_NODE]       = "attach device",
	[STEP_LINK]       = "make link",
	[STEP_SUBDIR]     = "make directory",
	[STEP_WRITE]      = "write file",
	[STEP_SOURCE]     = "clone file",
	[STEP_ATTR]       = "set mount attributes",
	[STEP_OWNER]      = "set owner and mode",
	[STEP_HOSTNAME]   = "set host name",
	[STEP_LOOPBACK]   = "bring loopback up",
	[STEP_SYSCTL]     = "set kernel parameter",
	[STEP_NETIF]      = "make the network interface",
	[STEP_PIVOT]      = "change root",
	[STEP_GROUPS]     = "drop groups",
	[STEP_IDS]        = "change ids",
	[STEP_KEEP]       = "keep descriptor",
	[STEP_CONFINE]    = "give up privileges",
	[STEP_EXEC]       = "execute pid 1",
	// clang-format on
};
static_assert(ARRAY_SIZE(names) == STEP_OP_COUNT, "a step has no name");

const char *step_name(enum step_op op)
{
	return names[op];
}
