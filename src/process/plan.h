/*
 * The plan lists all steps between clone and exec. It is made before the clone.
 *
 * process/rootfs.c turns a spec into an array of steps; process/child.c walks it with system calls only. Comments
 * beside the steps name members of struct step. Strings in steps are in the plan's arena. Trees are mounts that a step
 * attaches. A privileged parent clones the trees; otherwise the child clones them by path in its mount namespace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define PLAN_STEPS_MAX 8192 /* enough for 512 volumes at depth 10; unused steps cost nothing */
/* enough for 500 layers (the kernel's limit), 512 volumes, stubs and our own trees */
#define PLAN_TREES_MAX 1536
#define PLAN_FIRST_BYTES (192u << 10) /* room for three stacks and the strings of a usual plan */

struct netif_job;  /* process/netlink.h */
struct sock_fprog; /* linux/filter.h */

enum step_op {
	STEP_CLONE_TREE, /* tree = open_tree(path), which must be dev:ino unless ino is 0; set flags */
	STEP_STAGE,      /* mount a tmpfs (options data) over /proc, and go there */
	STEP_MKDIR,      /* path (below the working directory), mode */
	STEP_ATTACH,     /* tree at path below the working directory */
	STEP_OVERLAY,    /* overlay on path with data, flags */
	STEP_STUB,       /* empty directory or file (mode) at path, below the working directory */
	STEP_UNITE,      /* STEP_OVERLAY for a volume with stubs; text is its path in the sandbox */
	STEP_DEVICE,     /* open path as descriptor fd, which STEP_FUSE sends to the socket mode */
	STEP_FUSE,       /* fuse on path with data, flags; then fd is closed */
	STEP_ROOT,       /* path becomes root, in which all targets are resolved */
	STEP_DIR,  /* make sure directory path exists in root; text is its last component; flags */
	STEP_FILE, /* same for an empty file */
	STEP_PLACE, /* path in root becomes the target, if a mount may be there; flags: must be writable;
		     * text: the part of path below the volume at data; no link in it is followed */
	STEP_TARGET, /* path in root becomes the target */
	STEP_MOUNT, /* file system text with data and flags on the target; then path is the target */
	STEP_COVER, /* empty read-only directory over text in directory path of root, if we can reach it */
	STEP_MOVE,   /* tree onto the target */
	STEP_NODE,   /* empty file path in the target, tree onto it */
	STEP_LINK,   /* symbolic link path -> text in the target */
	STEP_SUBDIR, /* directory path in the target, mode */
	STEP_WRITE,  /* file path in the target with text, mode */
	STEP_SOURCE, /* tree: clone of path in the target; flags AT_RECURSIVE: with the mounts below */
	STEP_ATTR,     /* mount attributes (flags) on the target */
	STEP_OWNER,    /* directory path in root, if it exists, gets uid, gid, mode */
	STEP_HOSTNAME, /* text */
	STEP_LOOPBACK, /* lo up */
	STEP_SYSCTL,   /* text is written to path of the old root, if that is possible */
	STEP_NETIF,    /* eth0 as netif says; the gateway's end goes to the parent */
	STEP_PIVOT,    /* root becomes /, the old root is unmounted */
	STEP_GROUPS,   /* drop supplementary groups */
	STEP_IDS,      /* take on uid and gid, which are ids in the new user namespace */
	STEP_KEEP,     /* fd, or tree, gets the descriptor number mode and survives the exec */
	STEP_CONFINE, /* die with the parent; keep only the capabilities flags; set the seccomp filter */
	STEP_EXEC, /* execute fd with argv (NULL for pid 1's name alone) and envp */
	STEP_OP_COUNT
};

/* Flags of STEP_DIR and STEP_FILE. */
enum {
	WAY_REPLACE = 1, /* a dangling link in our layer is replaced */
	WAY_NO_LINK = 2, /* a link is refused, because the payload could replace it later */
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
		const struct netif_job *netif;
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
	bool full;                 /* the plan did not fit: plan_check() fails */
	struct arena_block *arena; /* blocks after first[] */
	size_t used;               /* bytes of first[] */
	_Alignas(16) char first[PLAN_FIRST_BYTES];
};

struct plan *plan_new(void);
void plan_free(struct plan *p); /* closes the trees too */
/* Returns N zeroed bytes that live as long as the plan, for data that only the start needs. Mapping and unmapping
 * each piece of memory would cost about 10 µs, and more while a child shares our memory. */
void *plan_room(struct plan *p, size_t n);
/* Copies S (N bytes and a terminator) into the plan. */
const char *plan_text(struct plan *p, const char *s, size_t n);
const char *plan_str(struct plan *p, const char *s);
struct step *plan_add(struct plan *p, enum step_op op);
/* Adds STEP_IDS. */
void plan_ids(struct plan *p, uint32_t uid, uint32_t gid);
struct step *plan_keep(struct plan *p, int fd, unsigned number);
void plan_sysctl(struct plan *p, const char *path, const char *text);
/* Adds a tree and returns its number. The plan owns FD; FD is -1 if a step fills the tree. */
int plan_tree(struct plan *p, int fd);
/* Adds a tree, and the step with which the child fills it: a clone of the mount that FD is in, from FD down, with
 * ATTRS. The child opens the path of FD and fails if another file is there by then. */
MUST_USE int plan_clone_tree(struct plan *p, int fd, unsigned long attrs, int *ret, struct err *e);
/* Fails with ERR_LIMIT if the plan did not fit. */
MUST_USE int plan_check(const struct plan *p, struct err *e);
const char *step_name(enum step_op op);

/* --- the child's side ------------------------------------------------------------------------ */

/* Where the child failed. The parent reads it, because both share memory (CLONE_VM). */
#define CHILD_NAMESPACES (-1) /* before the plan: the child could not make its namespaces */
/* before the plan: the child could not read the byte that lets it go on */
#define CHILD_WAIT (-2)
struct child_report {
	volatile int step; /* index of the failing step, or one of the above */
	volatile int err;  /* errno, or 0 */
};

struct child_args {
	/* the parent's end of the channel; the child closes its copy, so that it notices when the
	 * parent dies */
	int parents_end;
	unsigned long namespaces;
	/* the child reads a byte from here, which comes when ids and plan are ready; only then it
	 * reads the plan */
	int go;
	struct plan *plan;
	int overlay_pending; /* a futex: the child's id; 0 when it has mounted the overlay, or has ended */
	struct child_report report;
};

/* The child runs this on its own stack. Never returns. ARG is a struct child_args. */
void child_run(void *arg);
