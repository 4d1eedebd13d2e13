#include "process/stub_layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"

#define NEW_DIR_MODE 0755
#define NEW_FILE_MODE 0644

/* Returns the mode of PATH in the volume, 0 if PATH does not exist, or -errno. Returns -ELOOP if
 * PATH has a link: the child would follow the link in the root of the sandbox, where it may lead
 * elsewhere. */
static int mode_in(int volume, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	AUTO_FD fd = sys_openat2(volume, *path ? path : ".", &how);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return fstat(fd, &st) < 0 ? -errno : (int)st.st_mode;
}

/* Returns the part of the path of mount number I that is below the mount number OUTER, without a
 * leading slash. */
static const char *below(const struct spec *s, size_t i, size_t outer)
{
	return s->mount[i].guest + strlen(s->mount[outer].guest) + 1;
}

/* Returns true if the read-only volume number OUTER lacks the mount point of mount number I. A
 * volume without a descriptor lacks nothing: it is a file system in memory, and the child makes
 * mount points in it. */
static bool lacks(const struct rootfs *r, size_t i, size_t outer)
{
	return r->spec->mount[outer].readonly && r->volume_fd[outer] >= 0 &&
	       mode_in(r->volume_fd[outer], below(r->spec, i, outer)) == 0;
}

static struct step *add(struct plan *p, enum step_op op, const char *fmt, size_t volume,
			const char *rest)
{
	AUTO_FREE char *path = xasprintf(fmt, volume, rest);
	struct step *s = plan_add(p, op);

	s->path = plan_str(p, path);
	return s;
}

/* Adds stubs for every component of PATH. A component that exists in the volume keeps its mode. */
static void add_stubs(const struct rootfs *r, struct plan *p, size_t volume, const char *path,
		      bool is_dir)
{
	for (const char *slash = path; slash;) {
		const char *next = strchr(slash + 1, '/');
		AUTO_FREE char *so_far =
			next ? xstrndup(path, (size_t)(next - path)) : xstrdup(path);
		int there = mode_in(r->volume_fd[volume], so_far);
		struct step *s = add(p, STEP_STUB, "v%zu/stubs/%s", volume, so_far);

		if (there > 0)
			s->mode = (unsigned)there;
		else
			s->mode = next || is_dir ? S_IFDIR | NEW_DIR_MODE : S_IFREG | NEW_FILE_MODE;
		slash = next;
	}
}

static void begin(const struct rootfs *r, struct plan *p, size_t volume, int tree)
{
	add(p, STEP_MKDIR, "v%zu%s", volume, "")->mode = 0755;
	add(p, STEP_MKDIR, "v%zu/%s", volume, "source")->mode = 0755;
	add(p, STEP_ATTACH, "v%zu/%s", volume, "source")->tree = tree;
	add(p, STEP_MKDIR, "v%zu/%s", volume, "united")->mode = 0755;
	add(p, STEP_STUB, "v%zu/%s", volume, "stubs")->mode =
		(unsigned)mode_in(r->volume_fd[volume], "");
}

static int end(const struct rootfs *r, struct plan *p, size_t volume)
{
	const struct spec_mount *m = &r->spec->mount[volume];
	int tree = plan_tree(p, -1);
	struct step *s = add(p, STEP_UNITE, "v%zu/%s", volume, "united");
	char data[128];

	/* without these options, extended attributes of files in the source could redirect the
	 * overlay to other files */
	snprintf(data, sizeof(data),
		 "lowerdir=v%zu/stubs:v%zu/source,redirect_dir=nofollow,metacopy=off", volume,
		 volume);
	s->text = plan_str(p, m->guest);
	s->data = plan_str(p, data);
	s->flags = MS_RDONLY | MS_NODEV;
	s = add(p, STEP_CLONE_TREE, "v%zu/%s", volume, "united");
	s->tree = tree;
	s->flags = rootfs_volume_attrs(m, r->spec->restricted);
	return tree;
}

void stub_layers_add(const struct rootfs *r, struct plan *p, int tree[], const bool is_dir[])
{
	const struct spec *spec = r->spec;
	AUTO_FREE size_t *above = xcalloc(spec->n_mounts + 1, sizeof(*above));

	for (size_t i = 0; i < spec->n_mounts; i++)
		above[i] = spec_mount_above(spec, i);
	for (size_t outer = 0; outer < spec->n_mounts; outer++) {
		bool begun = false;

		for (size_t i = 0; is_dir[outer] && i < spec->n_mounts; i++) {
			if (above[i] != outer || !lacks(r, i, outer))
				continue;
			if (!begun)
				begin(r, p, outer, tree[outer]);
			begun = true;
			add_stubs(r, p, outer, below(spec, i, outer),
				  spec->mount[i].kind == MOUNT_TMPFS || is_dir[i]);
		}
		if (begun)
			tree[outer] = end(r, p, outer);
	}
}
