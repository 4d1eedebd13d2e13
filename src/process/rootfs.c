#include "process/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "process/fixtures.h"
#include "process/host_image.h"
#include "process/stub_layer.h"
#include "wire/group_view.h"

#define MSB_AREA_MIB 16 /* the size of /.msb; scripts and our own files need far less */
/* inodes of a file system in memory: one per page, plus INODES_BASE */
#define INODES_PER_MIB 256u
#define INODES_BASE 1024u /* for our own mount points: each layer needs one, for example */
/* The number of spare directories in a writable layer that has a limit. The next start removes
 * them. This frees the inodes and blocks that the mount of the overlay needs. Without spare
 * directories a payload could fill its layer, and then the sandbox would never start again. */
#define SPARE_DIRS 4
#define WORK_AREA "u/work" /* work directory of the overlay, below the stage */
#define WRITABLE_LAYER ",upperdir=u/upper,workdir=" WORK_AREA ",volatile"
#define TTY_GROUP 5u /* the id of the group `tty`, which is the same in every distribution */
/* How many terminals a sandbox may have. The machine has 4096 terminals, of which the kernel keeps
 * 1024 for the host. So 24 sandboxes can have their full number of terminals at the same time. */
#define TERMINALS_MAX 128
#define PTS_OPTIONS "newinstance,ptmxmode=0666,mode=0620,max=%d"
#define DEV_OPTIONS "mode=755,size=64k,nr_inodes=64"
#define SYS_OPTIONS "mode=555,size=4k,nr_inodes=16"
/* The mount attributes of trees with programs of the host. These trees get no id map, so in the
 * sandbox their files belong to nobody. The sandbox's root then has only the rights that the
 * permission bits give to `others`, because CAP_DAC_OVERRIDE counts only for files whose owner is
 * mapped. */
#define HOST_PROGRAMS_ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID)

#define GROUP_ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

struct builder {
	const struct rootfs *r;
	struct plan *p;
	struct tree_map *maps;
	size_t n_maps;
	int pin;      /* the tree of pin_target(), or -1 */
	bool as_root; /* the child has already taken the ids of the payload's root: see be_root() */
	struct err *e;
};

/* --- trees ----------------------------------------------------------------------------------- */

/* Adds the mount MOUNT, which is attached nowhere. The plan owns MOUNT from now on. */
static int add_mount_of_ours(struct builder *b, int mount, unsigned long attrs, struct tree_map map,
			     int *ret)
{
	/* The tree is private: if the host later makes a mount below the source, that mount must
	 * not appear in the tree, because it would lack these attributes. */
	struct mount_attr attr = { .attr_set = attrs, .propagation = MS_PRIVATE };
	AUTO_FD tree = mount;

	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return err_sys(b->e, errno, "set attributes of mount source");
	*ret = plan_tree(b->p, fd_take(&tree));
	if (map.kind != MAP_NONE && b->n_maps < TREE_MAPS_MAX) {
		map.tree = *ret;
		b->maps[b->n_maps++] = map;
	}
	return 0;
}

static int add_tree_in_parent(struct builder *b, int fd, unsigned long attrs, struct tree_map map,
			      int *ret)
{
	int tree = sys_open_tree(
		fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return err_sys(b->e, errno, "clone mount source");
	return add_mount_of_ours(b, tree, attrs, map, ret);
}

static int add_tree(struct builder *b, int fd, unsigned long attrs, struct tree_map map, int *ret)
{
	if (b->r->parent_mounts)
		return add_tree_in_parent(b, fd, attrs, map, ret);
	return plan_clone_tree(b->p, fd, attrs, ret, b->e);
}

/* Adds the mount FD of a file system that only this sandbox uses. The caller still owns FD. */
static int add_mount_taken(struct builder *b, int fd, unsigned long attrs, enum tree_map_kind map,
			   int *ret)
{
	int mount = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (mount < 0)
		return err_sys(b->e, errno, "take a mount");
	return add_mount_of_ours(b, mount, attrs, (struct tree_map){ .kind = map }, ret);
}

static int add_path_tree(struct builder *b, const char *path, unsigned long attrs,
			 enum tree_map_kind map, int *ret)
{
	AUTO_FD fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return err_sys(b->e, errno, "open '%s'", path);
	if (add_tree(b, fd, attrs, (struct tree_map){ .kind = map }, ret) < 0)
		return err_wrap(b->e, "'%s'", path);
	return 0;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* From now on the child makes files that belong to the payload's root. In a user's sandbox the
 * child begins with the ids of the user who runs cordon. This user is root in the sandbox unless
 * the ids are rotated. The child needs the user's ids to open what the user shares. The shared
 * files may be in directories that only certain groups can enter, and the sandbox does not have
 * these groups. The child also mounts the overlay with the user's ids, so that the user can later
 * remove the work area. */
static void be_root(struct builder *b)
{
	const struct ids *i = b->r->ids;

	if (!b->as_root && ids_rotated(i))
		plan_ids(b->p, ids_outer_uid(i, 0), ids_outer_gid(i, 0));
	b->as_root = true;
}

static void be_caller(struct builder *b)
{
	if (b->as_root && ids_rotated(b->r->ids))
		plan_ids(b->p, ids_shift(b->r->ids), ids_shift(b->r->ids));
	b->as_root = false;
}

static struct step *add_path(struct builder *b, enum step_op op, const char *path)
{
	struct step *s = plan_add(b->p, op);

	s->path = plan_str(b->p, path);
	return s;
}

/* Adds the steps that make every directory above PATH, and then PATH itself as a directory or a
 * file. */
static void add_way(struct builder *b, const char *path, bool is_dir, bool may_replace)
{
	const char *slash = path;

	add_path(b, STEP_DIR, "/");
	while (slash) {
		const char *next = strchr(slash + 1, '/');
		size_t n = next ? (size_t)(next - path) : strlen(path);
		struct step *s = plan_add(b->p, next || is_dir ? STEP_DIR : STEP_FILE);

		s->path = plan_text(b->p, path, n);
		s->text = plan_text(b->p, slash + 1, n - (size_t)(slash + 1 - path));
		s->mode = next || is_dir ? 0755 : 0644;
		s->flags = may_replace && !next ? WAY_REPLACE : 0;
		slash = next;
	}
}

/* Makes one of our own mount points if it is missing. The base of the image `host` has all of them,
 * but other images may lack some. A link at this path is refused: the payload could make
 * the link lead to a directory of its own, and pid 1 would take that directory for ours. */
static void add_own_place(struct builder *b, const char *path)
{
	if (b->r->spec->image.kind == IMAGE_HOST)
		return;
	add_way(b, path, true, false);
	b->p->step[b->p->n_steps - 1].flags = WAY_NO_LINK;
}

static void mount_on_target(struct builder *b, const char *path, const char *type,
			    unsigned long flags, const char *data)
{
	struct step *s = add_path(b, STEP_MOUNT, path);

	s->text = plan_str(b->p, type);
	s->flags = flags;
	s->data = data ? plan_str(b->p, data) : NULL;
}

static void add_mount(struct builder *b, const char *path, const char *type, unsigned long flags,
		      const char *data)
{
	add_path(b, STEP_TARGET, path);
	mount_on_target(b, path, type, flags, data);
}

static void add_move(struct builder *b, const char *path, int tree)
{
	add_path(b, STEP_TARGET, path);
	plan_add(b->p, STEP_MOVE)->tree = tree;
}

static void add_write(struct builder *b, const char *name, const char *text, unsigned mode)
{
	struct step *s = add_path(b, STEP_WRITE, name);

	s->text_n = strlen(text);
	s->text = plan_text(b->p, text, s->text_n);
	s->mode = mode;
}

static void add_owner(struct builder *b, const struct rootfs_owner *d)
{
	struct step *s = add_path(b, STEP_OWNER, d->path);

	s->mode = d->mode;
	s->uid = ids_outer_uid(b->r->ids, d->uid);
	s->gid = ids_outer_gid(b->r->ids, d->gid);
}

/* Writes the options of a file system in memory. They also limit the number of files, because empty
 * files take memory. */
static void memory_options(char out[64], unsigned mode, uint64_t mib)
{
	snprintf(out, 64, "mode=%o,size=%llum,nr_inodes=%llu", mode, (unsigned long long)mib,
		 (unsigned long long)(INODES_BASE + mib * INODES_PER_MIB));
}

/* --- /dev, /sys, /.msb ----------------------------------------------------------------------- */

static int open_nodes(struct builder *b, int trees[FIXTURE_NODES])
{
	for (size_t i = 0; i < FIXTURE_NODES; i++) {
		const struct fixture_node *n = &fixture_nodes[i];
		struct stat st;

		if (stat(n->path, &st) < 0)
			return err_sys(b->e, errno, "open '%s'", n->path);
		if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(n->major, n->minor))
			return err_set(b->e, ERR_DENIED, "'%s' is not the device it should be",
				       n->path);
		if (add_path_tree(b, n->path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, MAP_NONE,
				  &trees[i]) < 0)
			return -1;
	}
	return 0;
}

/* Builds /dev in a tmpfs. The device nodes of the host are mounted one by one, because we cannot
 * make device nodes. */
static void add_host_nodes(struct builder *b, const int trees[FIXTURE_NODES])
{
	add_mount(b, "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, DEV_OPTIONS);
	for (size_t i = 0; i < FIXTURE_NODES; i++)
		add_path(b, STEP_NODE, fixture_nodes[i].name)->tree = trees[i];
	for (size_t i = 0; i < FIXTURE_LINKS; i++)
		add_path(b, STEP_LINK, fixture_links[i].name)->text =
			plan_str(b->p, fixture_links[i].to);
	add_path(b, STEP_SUBDIR, "pts")->mode = 0755;
	add_path(b, STEP_SUBDIR, "shm")->mode = 01777;
	plan_add(b->p, STEP_ATTR)->flags = MOUNT_ATTR_RDONLY;
}

static void add_dev(struct builder *b, int whole, const int trees[FIXTURE_NODES])
{
	char shm[64], pts[80];

	add_own_place(b, "/dev");
	if (whole >= 0)
		add_move(b, "/dev", whole);
	else
		add_host_nodes(b, trees);
	/* with a single id, the group `tty` does not exist in the sandbox */
	snprintf(pts, sizeof(pts), PTS_OPTIONS, TERMINALS_MAX);
	if (b->r->ids->mode != IDS_SINGLE)
		snprintf(pts, sizeof(pts), PTS_OPTIONS ",gid=%u", TERMINALS_MAX,
			 ids_outer_gid(b->r->ids, TTY_GROUP));
	add_mount(b, "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, pts);
	memory_options(shm, 01777, (b->r->spec->memory_mib + 1) / 2);
	add_mount(b, "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, shm);
}

static int open_group(struct builder *b, int group, int *ret)
{
	*ret = -1;
	if (group >= 0 && add_tree(b, group, GROUP_ATTRS, (struct tree_map){ 0 }, ret) < 0)
		return err_wrap(b->e, "the control group");
	return 0;
}

/* Makes the directories on which control groups are mounted. If GROUP is a tree, add_sys() attaches
 * the tree there. If GROUP is -1 and the supervisor may mount, pid 1 attaches the supervisor's
 * mounts later. Otherwise the sandbox shows no control groups and needs no directories. */
static void add_group_places(struct builder *b, int group)
{
	if (group < 0 && !b->r->parent_mounts)
		return;
	add_path(b, STEP_SUBDIR, "fs")->mode = 0555;
	for (unsigned i = 0; i < (group < 0 ? GROUP_VIEW_COUNT : GROUP_VIEW_UNIFIED + 1); i++)
		add_path(b, STEP_SUBDIR, group_view_place[i])->mode = 0555;
}

static void add_sys(struct builder *b, int whole, int cpu, int node, int group)
{
	add_own_place(b, "/sys");
	if (whole >= 0) {
		add_move(b, "/sys", whole);
	} else {
		add_mount(b, "/sys", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, SYS_OPTIONS);
		add_path(b, STEP_SUBDIR, "devices")->mode = 0555;
		add_path(b, STEP_SUBDIR, "devices/system")->mode = 0555;
		add_path(b, STEP_SUBDIR, "devices/system/cpu")->mode = 0555;
		add_path(b, STEP_SUBDIR, "devices/system/node")->mode = 0555;
		add_group_places(b, group);
		plan_add(b->p, STEP_ATTR)->flags = MOUNT_ATTR_RDONLY;
	}
	if (cpu >= 0)
		add_move(b, "/sys/devices/system/cpu", cpu);
	if (node >= 0)
		add_move(b, "/sys/devices/system/node", node);
	if (group >= 0)
		add_move(b, "/sys/" GROUP_VIEW_TOP, group);
}

/* Mounts the file NAME of /.msb over the file PATH of the image. */
static void add_over(struct builder *b, const char *name, const char *path)
{
	int tree = plan_tree(b->p, -1);
	struct step *s;

	add_path(b, STEP_TARGET, "/.msb");
	s = add_path(b, STEP_SOURCE, name);
	s->tree = tree;
	add_way(b, path, false, !spec_image_in_place(&b->r->spec->image));
	add_path(b, STEP_PLACE, path);
	plan_add(b->p, STEP_MOVE)->tree = tree;
}

static void add_msb(struct builder *b, int shell)
{
	AUTO_BUF text = BUF_INIT(65536);
	bool bundle = b->r->ca_bundle && b->r->spec->image.kind != IMAGE_HOST;
	char options[48];

	snprintf(options, sizeof(options), "mode=755,size=%um,nr_inodes=4096", MSB_AREA_MIB);
	/* a flat root may lack the mount point /run/microsandbox; every other root has it
	 * already */
	if (b->r->spec->image.root_disk.kind == ROOT_DISK_FLAT)
		add_way(b, "/run/microsandbox", true, false);
	add_own_place(b, "/.msb");
	add_mount(b, "/.msb", "tmpfs", MS_NOSUID | MS_NODEV, options);
	add_path(b, STEP_SUBDIR, "scripts")->mode = 0755;
	for (size_t i = 0; i < b->r->spec->n_scripts; i++) {
		char name[sizeof("scripts/") + SPEC_NAME_MAX_BYTES];

		snprintf(name, sizeof(name), "scripts/%s", b->r->spec->script[i].name);
		add_write(b, name, b->r->spec->script[i].body, 0755);
	}
	buf_addf(&text, "%s\n", b->r->hostname);
	add_write(b, "hostname", buf_str(&text), 0644);
	buf_clear(&text);
	buf_addf(&text,
		 "127.0.0.1\tlocalhost %s\n::1\tlocalhost ip6-localhost ip6-loopback\n"
		 "ff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n%s",
		 b->r->hostname, b->r->hosts_line ? b->r->hosts_line : "");
	add_write(b, "hosts", buf_str(&text), 0644);
	add_write(b, "resolv.conf",
		  b->r->resolv_conf ? b->r->resolv_conf : "# this sandbox has no network\n", 0644);
	if (b->r->profile)
		add_write(b, "profile", b->r->profile, 0644);
	if (b->r->host_cas) {
		add_path(b, STEP_SUBDIR, "tls")->mode = 0755;
		add_write(b, "tls/host-cas.pem", b->r->host_cas, 0644);
	}
	if (bundle)
		add_write(b, "tls/bundle.pem", b->r->ca_bundle, 0644);
	if (shell >= 0) {
		add_path(b, STEP_SUBDIR, "bin")->mode = 0755;
		add_path(b, STEP_NODE, "bin/bash")->tree = shell;
	}
	/* This comes before the calls of add_over(), which clone files of /.msb: a clone of a
	 * read-only mount is read-only too. */
	if (b->r->spec->read_only) {
		add_path(b, STEP_TARGET, "/.msb");
		plan_add(b->p, STEP_ATTR)->flags = MOUNT_ATTR_RDONLY;
	}
	if (b->r->spec->image.kind == IMAGE_HOST)
		/* no mount over /etc is needed: the /etc of the image `host` has links to the files
		 * in /.msb, and the certificates of the host */
		return;
	if (bundle)
		add_over(b, "tls/bundle.pem", b->r->ca_place);
	add_over(b, "hostname", "/etc/hostname");
	add_over(b, "hosts", "/etc/hosts");
	add_over(b, "resolv.conf", "/etc/resolv.conf");
	if (b->r->profile)
		add_over(b, "profile", "/etc/profile");
}

/* --- volumes --------------------------------------------------------------------------------- */

unsigned long rootfs_volume_attrs(const struct spec_mount *m, bool restricted)
{
	return MOUNT_ATTR_NODEV | (m->readonly ? MOUNT_ATTR_RDONLY : 0) |
	       (m->noexec ? MOUNT_ATTR_NOEXEC : 0) |
	       (m->nosuid || restricted ? MOUNT_ATTR_NOSUID : 0);
}

static int open_volume(struct builder *b, size_t i, int *ret_tree, bool *ret_is_dir)
{
	const struct spec_mount *m = &b->r->spec->mount[i];
	/* Without stat-virt, a file with the owner N on the host also has the owner N in the
	 * sandbox. Maps are used only if parent_mounts is true. */
	struct tree_map map = { .kind = MAP_SANDBOX };
	struct stat st;

	if (fstat(b->r->volume_fd[i], &st) < 0)
		return err_sys(b->e, errno, "look at volume source '%s'", m->source);
	*ret_is_dir = S_ISDIR(st.st_mode);
	if (m->kind == MOUNT_DISK || (m->kind == MOUNT_NAMED && m->kind_disk)) {
		/* the files on a disk may belong to any user of the sandbox */
		if (add_mount_taken(b, b->r->volume_fd[i],
				    rootfs_volume_attrs(m, b->r->spec->restricted), MAP_SANDBOX,
				    ret_tree) < 0)
			return err_wrap(b->e, "volume '%s'", m->source);
		return 0;
	}
	/* With stat-virt, one user of the sandbox is mapped to the owner of the source: the user
	 * that the volume's options name, or else the user who works in the sandbox. The kernel
	 * maps one id to one id. So no other user of the sandbox, not even root, can store files in
	 * the volume. */
	if (m->stat_virt != STAT_VIRT_OFF)
		map = (struct tree_map){
			.kind = MAP_OWNER,
			.uid = st.st_uid,
			.gid = st.st_gid,
			.inside_uid = m->has_owner ? m->uid : b->r->spec->owner.uid,
			.inside_gid = m->has_owner ? m->gid : b->r->spec->owner.gid,
		};
	if (add_tree(b, b->r->volume_fd[i], rootfs_volume_attrs(m, b->r->spec->restricted), map,
		     ret_tree) < 0)
		return err_wrap(b->e, "volume '%s'", m->source);
	return 0;
}

/* Makes the target (process/plan.h) a separate mount, so that no process in the sandbox can rename
 * it. */
static void pin_target(struct builder *b)
{
	struct step *s = add_path(b, STEP_SOURCE, ".");

	if (b->pin < 0)
		b->pin = plan_tree(b->p, -1);
	/* All pins use the same place b->pin in the list of trees: each pin is attached before
	 * the next one is cloned. */
	s->tree = b->pin;
	s->flags = AT_RECURSIVE;
	plan_add(b->p, STEP_MOVE)->tree = b->pin;
}

/* Adds a step that opens a path below the volume at OUTER. The path is the first N bytes of
 * GUEST. */
static void add_place_in_volume(struct builder *b, const char *guest, size_t n, const char *outer)
{
	struct step *s = plan_add(b->p, STEP_PLACE);

	s->path = plan_text(b->p, guest, n);
	s->data = plan_str(b->p, outer);
	s->text = s->path + strlen(outer) + 1;
}

/* Pins the directories between the writable volume at OUTER and the mount at GUEST: see
 * pin_target(). Otherwise a command could rename one of them, and processes of the host would find
 * files of the command at the path of the mount. BEFORE is the path of the preceding mount, in the
 * order of paths. The directories above BEFORE are pinned already. */
static void pin_way(struct builder *b, const char *guest, const char *outer, const char *before)
{
	for (const char *slash = strchr(guest + strlen(outer) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		size_t n = (size_t)(slash - guest);

		if (strncmp(before, guest, n + 1) == 0)
			continue;
		add_place_in_volume(b, guest, n, outer);
		pin_target(b);
	}
}

static bool is_shared_and_writable(const struct spec_mount *m)
{
	return !m->readonly && spec_mount_is_shared(m);
}

static void add_place_of_mount(struct builder *b, size_t mount, bool is_dir, const char *before)
{
	const struct spec_mount *m = &b->r->spec->mount[mount];
	size_t above = spec_mount_above(b->r->spec, mount);
	const struct spec_mount *outer = above == SIZE_MAX ? NULL : &b->r->spec->mount[above];

	if (outer && spec_mount_is_shared(outer))
		be_caller(b);
	else
		be_root(b);
	add_way(b, m->guest, is_dir, false);
	if (!outer || outer->kind == MOUNT_TMPFS) {
		/* links may be followed, because no other sandbox can write to the directories
		 * above this place */
		add_path(b, STEP_PLACE, m->guest);
		return;
	}
	if (is_shared_and_writable(outer))
		pin_way(b, m->guest, outer->guest, before);
	add_place_in_volume(b, m->guest, strlen(m->guest), outer->guest);
}

static void add_tmpfs(struct builder *b, size_t mount, const char *before)
{
	const struct spec_mount *m = &b->r->spec->mount[mount];
	bool shared = strcmp(m->guest, "/tmp") == 0 || strcmp(m->guest, "/var/tmp") == 0;
	unsigned long flags = MS_NODEV | (m->readonly ? MS_RDONLY : 0) |
			      (m->noexec ? MS_NOEXEC : 0) |
			      (m->nosuid || b->r->spec->restricted ? MS_NOSUID : 0);
	char data[96];
	size_t n;

	/* the kernel's default would be half of the host's memory; our default is half of the
	 * sandbox's memory */
	memory_options(data, shared ? 01777 : 0755,
		       m->size_mib ? m->size_mib : (b->r->spec->memory_mib + 1) / 2);
	n = strlen(data);
	/* the child may have the ids of the user who runs cordon at this step, but the tmpfs must
	 * belong to the payload's root */
	if (ids_rotated(b->r->ids))
		snprintf(data + n, sizeof(data) - n, ",uid=%u,gid=%u", ids_outer_uid(b->r->ids, 0),
			 ids_outer_gid(b->r->ids, 0));
	add_place_of_mount(b, mount, true, before);
	mount_on_target(b, m->guest, "tmpfs", flags, data);
}

/* Covers our own state in a volume, because a payload that can write to our state controls other
 * sandboxes. Also pins the directories above the state. If the payload could rename one of them, it
 * could put a forged state in the place of ours, and the user's next command would use the forged
 * state. */
static void hide_state(struct builder *b, size_t mount)
{
	const struct spec_mount *m = &b->r->spec->mount[mount];

	be_caller(b);
	for (size_t i = 0; i < b->r->n_hidden; i++) {
		const char *below = b->r->hidden[i].below;
		AUTO_FREE char *inside = NULL;

		if (b->r->hidden[i].mount != mount)
			continue;
		for (const char *slash = strchr(below + 1, '/'); slash;
		     slash = strchr(slash + 1, '/')) {
			AUTO_FREE char *way =
				xasprintf("%s%.*s", m->guest, (int)(slash - below), below);

			add_path(b, STEP_TARGET, way);
			pin_target(b);
		}
		inside = xasprintf("%s%s", m->guest, below);
		add_mount(b, inside, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
			  "mode=000,size=4k");
	}
}

/* Makes the directories that must be writable, if they are missing. If the root is read-only, each
 * of these directories becomes a separate mount of the same file system, and this mount stays
 * writable. */
static void add_writable_places(struct builder *b)
{
	const struct strv *l = &b->r->spec->writable;

	for (size_t i = 0; i < l->n; i++) {
		bool shared = strcmp(l->v[i], "/tmp") == 0 || strcmp(l->v[i], "/var/tmp") == 0;

		add_way(b, l->v[i], true, false);
		if (shared)
			b->p->step[b->p->n_steps - 1].mode = 01777;
		add_path(b, STEP_PLACE, l->v[i])->flags = 1;
		if (b->r->spec->read_only)
			pin_target(b);
	}
}

static void close_root(struct builder *b)
{
	add_path(b, STEP_TARGET, "/");
	plan_add(b->p, STEP_ATTR)->flags = MOUNT_ATTR_RDONLY;
}

static int by_guest_path(const void *a, const void *b, void *arg)
{
	const struct spec_mount *mounts = arg;

	return strcmp(mounts[*(const size_t *)a].guest, mounts[*(const size_t *)b].guest);
}

/* --- the whole ------------------------------------------------------------------------------- */

struct trees {
	int dev, node[FIXTURE_NODES];
	int sys, cpu, numa, group;
	int shell;
	int layer[ROOTFS_LAYERS_MAX];
	int upper;
	int host[HOST_DIRS_MAX];
	int volume[SPEC_MOUNTS_MAX];
	bool volume_is_dir[SPEC_MOUNTS_MAX];
	struct host_dirs dirs;
};

static int open_layers(struct builder *b, struct trees *t, enum tree_map_kind map)
{
	const struct rootfs *r = b->r;
	bool in_place = spec_image_in_place(&r->spec->image);

	if (r->layers_shown)
		return add_mount_taken(b, r->layer_fd[0], MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY,
				       MAP_NONE, &t->layer[0]);
	if (r->one_disk) {
		if (add_mount_taken(b, r->layer_fd[0], MOUNT_ATTR_NODEV, MAP_SANDBOX,
				    &t->layer[0]) < 0)
			return err_wrap(b->e, "root disk");
		return 0;
	}
	for (size_t i = 0; i < r->n_layers; i++)
		if (add_tree(b, r->layer_fd[i],
			     MOUNT_ATTR_NODEV | (in_place ? 0 : MOUNT_ATTR_RDONLY),
			     (struct tree_map){ .kind = in_place ? MAP_SANDBOX : map },
			     &t->layer[i]) < 0)
			return err_wrap(b->e, in_place ? "image directory" : "image layer");
	return 0;
}

static int open_writable(struct builder *b, struct trees *t)
{
	const struct rootfs *r = b->r;

	t->upper = -1;
	if (r->upper_fd >= 0 &&
	    (r->upper_is_mount
		     ? add_mount_taken(b, r->upper_fd, MOUNT_ATTR_NODEV, MAP_SANDBOX, &t->upper)
		     : add_tree(b, r->upper_fd, MOUNT_ATTR_NODEV, (struct tree_map){ 0 },
				&t->upper)) < 0)
		return err_wrap(b->e, "writable layer");
	return 0;
}

static int open_trees(struct builder *b, struct trees *t)
{
	const struct rootfs *r = b->r;
	struct tree_map shared = { .kind = MAP_FIXTURES };

	t->dev = -1;
	if (r->dev_fd >= 0 ? add_tree(b, r->dev_fd,
				      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
				      shared, &t->dev) < 0
			   : open_nodes(b, t->node) < 0)
		return err_wrap(b->e, "devices");
	t->sys = -1;
	if (r->sys_fd >= 0 &&
	    add_tree(b, r->sys_fd,
		     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
		     shared, &t->sys) < 0)
		return err_wrap(b->e, "'/sys'");
	t->cpu = t->numa = t->shell = -1;
	if (r->fallback_shell >= 0 && add_tree(b, r->fallback_shell, HOST_PROGRAMS_ATTRS,
					       (struct tree_map){ 0 }, &t->shell) < 0)
		return err_wrap(b->e, "static bash");
	if (access("/sys/devices/system/cpu", F_OK) == 0 &&
	    add_path_tree(b, "/sys/devices/system/cpu", MOUNT_ATTR_RDONLY, MAP_NONE, &t->cpu) < 0)
		return -1;
	if (access("/sys/devices/system/node", F_OK) == 0 &&
	    add_path_tree(b, "/sys/devices/system/node", MOUNT_ATTR_RDONLY, MAP_NONE, &t->numa) < 0)
		return -1;
	if (!r->served && (open_layers(b, t, MAP_LAYER) < 0 || open_writable(b, t) < 0))
		return -1;
	t->dirs.n = 0;
	if (r->spec->image.kind == IMAGE_HOST)
		host_dirs_find(&t->dirs);
	for (unsigned i = 0; i < t->dirs.n; i++)
		if (add_path_tree(b, t->dirs.path[i], HOST_PROGRAMS_ATTRS, MAP_NONE, &t->host[i]) <
		    0)
			return -1;
	for (size_t i = 0; i < r->spec->n_mounts; i++)
		if (r->volume_fd[i] >= 0 &&
		    open_volume(b, i, &t->volume[i], &t->volume_is_dir[i]) < 0)
			return -1;
	return 0;
}

static void name_layers(const struct rootfs *r, struct buf *out)
{
	buf_add_str(out, "lowerdir=");
	for (size_t i = r->n_layers; i-- > 0;)
		buf_addf(out, "l%zu%s", i, i ? ":" : "");
}

/* Attaches the layers in the stage, under the names that name_layers() gives. */
static void add_layers(struct builder *b, const struct trees *t)
{
	char name[24];

	for (size_t i = 0; i < b->r->n_layers; i++) {
		snprintf(name, sizeof(name), "l%zu", i);
		add_path(b, STEP_MKDIR, name)->mode = 0755;
		add_path(b, STEP_ATTACH, name)->tree = t->layer[i];
	}
}

static void add_writable(struct builder *b, const struct trees *t)
{
	add_path(b, STEP_MKDIR, "u")->mode = 0755;
	if (t->upper >= 0) {
		add_path(b, STEP_ATTACH, "u")->tree = t->upper;
	} else {
		add_path(b, STEP_MKDIR, "u/upper")->mode = 0755;
		add_path(b, STEP_MKDIR, WORK_AREA)->mode = 0700;
	}
}

static void add_spares(struct builder *b)
{
	char name[24];

	for (unsigned i = 0; b->r->upper_limited && i < SPARE_DIRS; i++) {
		snprintf(name, sizeof(name), WORK_AREA "/spare%u", i);
		add_path(b, STEP_MKDIR, name)->mode = 0700;
	}
}

static void add_overlay(struct builder *b, const struct trees *t)
{
	char room[512];
	AUTO_BUF data = BUF_IN(room, 4000); /* mount(2) takes at most one page of options */
	struct step *s;

	name_layers(b->r, &data);
	buf_add_str(&data, WRITABLE_LAYER ",userxattr");
	add_layers(b, t);
	add_writable(b, t);
	add_path(b, STEP_MKDIR, "root")->mode = 0755;
	s = add_path(b, STEP_OVERLAY, "root");
	s->data = plan_str(b->p, buf_str(&data));
	s->flags = MS_NODEV;
	add_spares(b);
	if (buf_failed(&data))
		b->p->full = true;
}

static void add_fuse(struct builder *b, int device)
{
	struct step *s;
	char data[96];

	snprintf(data, sizeof(data),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions",
		 device);
	add_path(b, STEP_MKDIR, "root")->mode = 0755;
	s = add_path(b, STEP_FUSE, "root");
	s->data = plan_str(b->p, data);
	s->flags = MS_NODEV;
	s->fd = device;
}

static void add_cover(struct builder *b, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct step *s = plan_add(b->p, STEP_COVER);

	s->path = plan_text(b->p, path, (size_t)(slash - path));
	s->text = plan_str(b->p, slash + 1);
}

static void add_host_dirs(struct builder *b, const struct trees *t)
{
	for (unsigned i = 0; i < t->dirs.n; i++)
		add_move(b, t->dirs.path[i], t->host[i]);
	/* mount an empty directory over the host's /usr/local/etc: like /etc, it holds
	 * configuration of the host */
	if (t->dirs.local_etc[0])
		add_cover(b, t->dirs.local_etc);
}

static void add_volumes(struct builder *b, const struct trees *t)
{
	const struct spec *spec = b->r->spec;
	size_t order[SPEC_MOUNTS_MAX];

	for (size_t i = 0; i < spec->n_mounts; i++)
		order[i] = i;
	qsort_r(order, spec->n_mounts, sizeof(order[0]), by_guest_path, spec->mount);
	for (size_t k = 0; k < spec->n_mounts; k++) {
		const struct spec_mount *m = &spec->mount[order[k]];
		const char *before = k ? spec->mount[order[k - 1]].guest : "";

		if (m->kind == MOUNT_TMPFS) {
			add_tmpfs(b, order[k], before);
			continue;
		}
		add_place_of_mount(b, order[k], t->volume_is_dir[order[k]], before);
		plan_add(b->p, STEP_MOVE)->tree = t->volume[order[k]];
		if (t->volume_is_dir[order[k]] && m->kind == MOUNT_BIND)
			hide_state(b, order[k]);
	}
}

/* Makes /proc/sys read-only. This matters if the sandbox has a single id: then the payload's root
 * owns the sysctls of the sandbox's namespaces. */
static void close_sysctls(struct builder *b)
{
	int tree = plan_tree(b->p, -1);

	add_path(b, STEP_TARGET, "/proc");
	add_path(b, STEP_SOURCE, "sys")->tree = tree;
	add_move(b, "/proc/sys", tree);
	add_path(b, STEP_TARGET, "/proc/sys");
	plan_add(b->p, STEP_ATTR)->flags = MOUNT_ATTR_RDONLY;
}

/* Mounts /dev/null over /proc/keys. If the user who runs cordon has an id in the sandbox, this file
 * lists the names of the user's keys. */
static void cover_keys(struct builder *b)
{
	int tree;

	if (b->r->ids->mode == IDS_RANGE || access("/proc/keys", F_OK) < 0)
		/* the user who runs cordon has no id in the sandbox, or the kernel has no keys */
		return;
	tree = plan_tree(b->p, -1);
	add_path(b, STEP_TARGET, "/dev");
	add_path(b, STEP_SOURCE, "null")->tree = tree;
	add_move(b, "/proc/keys", tree);
}

int rootfs_plan(const struct rootfs *r, int device, int group, struct plan *p,
		struct tree_map maps[TREE_MAPS_MAX], size_t *ret_n_maps, struct err *e)
{
	struct builder b = { .r = r, .p = p, .maps = maps, .pin = -1, .e = e };
	struct trees *t = plan_room(p, sizeof(*t));
	/* enough for mount points; larger options follow if the writable layer is in the stage */
	char stage[64] = "mode=755,size=1m";
	bool whole = r->one_disk || spec_image_in_place(&r->spec->image);

	if (r->spec->n_mounts > SPEC_MOUNTS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u mounts", SPEC_MOUNTS_MAX);
	if (open_trees(&b, t) < 0 || open_group(&b, group, &t->group) < 0)
		return -1;
	if (r->upper_fd < 0 && !whole && !r->served)
		memory_options(stage, 0755, r->memory_mib);
	plan_add(p, STEP_STAGE)->data = plan_str(p, stage);
	if (whole) {
		add_path(&b, STEP_MKDIR, "root")->mode = 0755;
		add_path(&b, STEP_ATTACH, "root")->tree = t->layer[0];
	} else if (r->served) {
		add_fuse(&b, device);
	} else {
		add_overlay(&b, t);
	}
	stub_layers_add(r, p, t->volume, t->volume_is_dir);
	add_path(&b, STEP_ROOT, "root");
	be_root(&b);
	for (size_t i = 0; i < r->n_owners; i++)
		add_owner(&b, &r->owners[i]);
	add_host_dirs(&b, t);
	add_own_place(&b, "/proc");
	add_mount(&b, "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	if (r->ids->mode == IDS_SINGLE)
		close_sysctls(&b);
	add_dev(&b, t->dev, t->node);
	cover_keys(&b);
	add_sys(&b, t->sys, t->cpu, t->numa, t->group);
	add_msb(&b, t->shell);
	add_writable_places(&b);
	add_volumes(&b, t);
	if (r->spec->read_only)
		close_root(&b);
	struct step *name = plan_add(p, STEP_HOSTNAME);
	name->text = plan_str(p, r->hostname);
	name->text_n = strlen(r->hostname);
	plan_add(p, STEP_PIVOT);
	*ret_n_maps = b.n_maps;
	return plan_check(p, e);
}

/* --- the root of fuse-overlayfs -------------------------------------------------------------- */

/* The directories in which the loader of dynamic programs looks for libraries. */
static const char *const libraries[] = { "/usr/lib", "/usr/lib64", "/lib", "/lib64" };

static int open_libraries(struct builder *b, int tree[ARRAY_SIZE(libraries)])
{
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		struct stat st;

		tree[i] = -1;
		if (lstat(libraries[i], &st) == 0 && S_ISDIR(st.st_mode) &&
		    add_path_tree(b, libraries[i],
				  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID,
				  MAP_NONE, &tree[i]) < 0)
			return -1;
	}
	return 0;
}

static void add_libraries(struct builder *b, const int tree[ARRAY_SIZE(libraries)])
{
	add_path(b, STEP_MKDIR, "usr")->mode = 0755;
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		const char *name = libraries[i] + 1;
		char target[64];
		ssize_t n;

		if (tree[i] >= 0) {
			add_path(b, STEP_MKDIR, name)->mode = 0755;
			add_path(b, STEP_ATTACH, name)->tree = tree[i];
			continue;
		}
		n = readlink(libraries[i], target, sizeof(target));
		if (n > 0) /* /lib is a link on most machines, so we make the same link */
			add_path(b, STEP_LINK, name)->text = plan_text(b->p, target, (size_t)n);
	}
}

void rootfs_fuse_overlay_options(const struct rootfs *r, bool writes, struct buf *out)
{
	name_layers(r, out);
	/* writeback=0: what commands have written must not be lost if fuse-overlayfs is killed */
	if (writes)
		buf_add_str(out, WRITABLE_LAYER ",writeback=0");
}

int rootfs_plan_fuse_overlay(const struct rootfs *r, bool writes, struct plan *p,
			     struct tree_map maps[TREE_MAPS_MAX], size_t *ret_n_maps, struct err *e)
{
	struct builder b = { .r = r, .p = p, .maps = maps, .pin = -1, .e = e };
	AUTO_FREE struct trees *t = xcalloc(1, sizeof(*t));
	char stage[64] = "mode=755,size=1m";
	int library[ARRAY_SIZE(libraries)];

	if (open_layers(&b, t, writes ? MAP_LAYER : MAP_NONE) < 0 ||
	    (writes && open_writable(&b, t) < 0) || open_libraries(&b, library) < 0)
		return -1;
	if (writes && r->upper_fd < 0)
		memory_options(stage, 0755, r->memory_mib);
	plan_add(p, STEP_STAGE)->data = plan_str(p, stage);
	add_path(&b, STEP_ROOT, ".");
	add_path(&b, STEP_TARGET, "/");
	add_layers(&b, t);
	if (writes) {
		add_writable(&b, t);
		add_spares(&b);
	}
	add_libraries(&b, library);
	add_path(&b, STEP_MKDIR, "proc")->mode = 0555;
	add_mount(&b, "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	plan_add(p, STEP_PIVOT);
	*ret_n_maps = b.n_maps;
	return plan_check(p, e);
}
