/*
 * The plan is a list of all steps that a child does between clone and exec. If the parent may
 * mount, the plan is made before the clone. Otherwise it is made after the clone, and the child
 * waits for it.
 *
 * process/rootfs.c turns a spec into an array of steps. process/child.c carries out the steps with
 * system calls only. The strings of the steps are in the plan's arena. A tree is a mount that a
 * step attaches. If the parent may mount, it clones the trees. Otherwise the child clones them by
 * their paths, in its own mount namespace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* enough for 512 volumes that are 10 directories deep; unused steps cost nothing */
#define PLAN_STEPS_MAX 8192
/* enough for 500 layers (the kernel's limit), 512 volumes, stubs and our own trees */
#define PLAN_TREES_MAX 1536
/* the size of first[]: room for three stacks and the strings of a usual plan */
#define PLAN_FIRST_BYTES (192u << 10)

struct netif_setup; /* process/netlink.h */
struct sock_fprog;  /* linux/filter.h */

/* What a step does. Words in backticks are members of struct step. "The root" is the new root, "the
 * target" is the file or directory that a step has chosen for a mount, and "here" is the working
 * directory. */
enum step_op {
	/* opens `tree` as a clone of the mount at `path`, and sets the mount attributes `flags`. If
	 * `ino` is not 0, the step fails unless the file at `path` has the numbers `dev` and
	 * `ino`. */
	STEP_CLONE_TREE,
	STEP_STAGE,   /* mounts a tmpfs with the options `data` over /proc, and goes there */
	STEP_MKDIR,   /* makes the directory `path` here, with `mode` */
	STEP_ATTACH,  /* attaches `tree` at `path` here */
	STEP_OVERLAY, /* mounts an overlay on `path`, with the options `data` and with `flags` */
	STEP_STUB,    /* makes an empty directory or file (as `mode` says) at `path` here */
	/* like STEP_OVERLAY; the overlay adds stubs (process/stub_layer.h) to a volume; `text`
	 * is the path of this volume in the sandbox */
	STEP_UNITE,
	STEP_DEVICE, /* opens `path` as descriptor `fd`; STEP_FUSE sends it to the socket `mode` */
	STEP_FUSE,   /* mounts a fuse file system on `path` with `data` and `flags`; closes `fd` */
	STEP_ROOT,   /* `path` becomes the root, below which all targets are resolved */
	/* makes the directory `path` in the root if it is missing; `text` is its last component,
	 * and `flags` are WAY_* */
	STEP_DIR,
	STEP_FILE, /* like STEP_DIR, but makes an empty file */
	/* `path` in the root becomes the target. The step fails if the target is the root, or if a
	 * link leads to one of our own mounts, such as /proc. If `flags` is not 0, the target must
	 * be writable. If `text` is not NULL, it is the part of `path` below the volume at `data`,
	 * and no link in that part is followed. */
	STEP_PLACE,
	STEP_TARGET, /* `path` in the root becomes the target */
	/* mounts a file system of type `text` on the target, with `data` and `flags`; then `path`
	 * becomes the target */
	STEP_MOUNT,
	/* mounts an empty read-only directory over the entry `text` of the directory `path` in the
	 * root, if the child can reach this entry */
	STEP_COVER,
	STEP_MOVE,   /* attaches `tree` on the target */
	STEP_NODE,   /* makes the empty file `path` in the target and attaches `tree` on it */
	STEP_LINK,   /* makes the symbolic link `path` in the target, which leads to `text` */
	STEP_SUBDIR, /* makes the directory `path` in the target, with `mode` */
	/* makes the file `path` in the target, with the content `text` and with `mode` */
	STEP_WRITE,
	/* opens `tree` as a clone of `path` in the target; if `flags` is AT_RECURSIVE, with the
	 * mounts below `path` */
	STEP_SOURCE,
	STEP_ATTR, /* sets the mount attributes `flags` on the target */
	/* gives `uid`, `gid` and `mode` to the directory `path` in the root, if it exists */
	STEP_OWNER,
	STEP_HOSTNAME, /* sets the host name `text` */
	STEP_LOOPBACK, /* brings the interface lo up */
	STEP_SYSCTL,   /* writes `text` to `path` of the old root, if that is possible */
	STEP_NETIF,    /* makes eth0 as `netif` says; sends the gateway's end to the parent */
	STEP_PIVOT,    /* the root becomes /, and the old root is unmounted */
	STEP_GROUPS,   /* drops all supplementary groups */
	STEP_IDS,      /* takes the ids `uid` and `gid` of the new user namespace */
	STEP_KEEP,     /* `fd` or `tree` gets the descriptor number `mode` and survives the exec */
	/* from now on the child dies with its parent, has only the capabilities `flags`, and is
	 * under the seccomp filter `filter` */
	STEP_CONFINE,
	/* executes `fd` with `argv` and `envp`; if `argv` is NULL, the only argument is the name of
	 * pid 1 */
	STEP_EXEC,
	STEP_OP_COUNT
};

/* Flags of STEP_DIR and STEP_FILE. */
enum {
	WAY_REPLACE = 1, /* a dangling link in our writable layer is replaced */
	WAY_NO_LINK = 2, /* a link is refused, because the payload could change it later */
};

struct step {
	enum step_op op;
	int tree; /* index into plan->tree, or -1 */
	int fd;
	unsigned mode;
	uint32_t uid, gid;
	unsigned long flags;
	const char *path;
	const char *text;
	size_t text_n;
	const char *data;
	union {
		const struct netif_setup *netif;
		const struct sock_fprog *filter;
		const char *const *argv;
	};
	const char *const *envp; /* NULL for none */
	uint64_t dev, ino;
};

struct plan {
	struct step step[PLAN_STEPS_MAX];
	size_t n_steps;
	int tree[PLAN_TREES_MAX]; /* the descriptor of each tree; -1 until the child clones it */
	size_t n_trees;
	bool full;                 /* the plan did not fit, so plan_check() fails */
	struct arena_block *arena; /* more memory, for when first[] is full */
	size_t used;               /* bytes of first[] that are in use */
	_Alignas(16) char first[PLAN_FIRST_BYTES];
};

struct plan *plan_new(void);
void plan_free(struct plan *p); /* closes the trees too */
/* Returns N zeroed bytes that live as long as the plan, for data that only the start needs. This is
 * cheaper than a separate allocation for each piece of data: an allocation that is mapped and
 * unmapped costs about 10 µs, and more while a child shares our memory. */
void *plan_room(struct plan *p, size_t n);
/* Copies S (N bytes and a terminator) into the plan. */
const char *plan_text(struct plan *p, const char *s, size_t n);
const char *plan_str(struct plan *p, const char *s);
struct step *plan_add(struct plan *p, enum step_op op);
/* Adds STEP_IDS. */
void plan_ids(struct plan *p, uint32_t uid, uint32_t gid);
struct step *plan_keep(struct plan *p, int fd, unsigned number);
void plan_sysctl(struct plan *p, const char *path, const char *text);
/* Adds a tree and returns its number. FD is the tree's descriptor, which the plan then owns. FD is
 * -1 if a step opens the tree. */
int plan_tree(struct plan *p, int fd);
/* Adds a tree, and the step with which the child opens it. The tree is a clone of the mount that
 * holds FD, from FD down, with the mount attributes ATTRS. The child opens the path of FD, and
 * fails if another file is at this path by then. */
MUST_USE int plan_clone_tree(struct plan *p, int fd, unsigned long attrs, int *ret, struct err *e);
/* Fails with ERR_LIMIT if the plan did not fit. */
MUST_USE int plan_check(const struct plan *p, struct err *e);
const char *step_name(enum step_op op);

/* --- the child's side ------------------------------------------------------------------------ */

/* Values of child_report.step for failures before the first step. */
#define CHILD_NAMESPACES (-1) /* the child could not make its namespaces */
#define CHILD_WAIT (-2)       /* the child could not read the byte that lets it go on */
/* Says at which step the child failed. The parent can read this struct, because parent and child
 * share memory (CLONE_VM). */
struct child_report {
	/* the index of the step that failed, or CHILD_NAMESPACES or CHILD_WAIT */
	volatile int step;
	volatile int err; /* errno, or 0 */
};

struct child_args {
	/* the parent's end of the channel; the child closes its copy, so that it notices when the
	 * parent dies */
	int parents_end;
	unsigned long namespaces;
	/* the child reads a byte from this descriptor; the byte comes when the ids and the plan are
	 * ready, and the child reads the plan only after that byte */
	int go;
	struct plan *plan;
	/* a futex: the child's id; 0 after the child has mounted the overlay or has ended */
	int overlay_pending;
	struct child_report report;
};

/* The code of the child. It runs on a stack of its own and never returns. ARG is a struct
 * child_args. */
void child_run(void *arg);
