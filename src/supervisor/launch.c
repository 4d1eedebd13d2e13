/*
 * From a record to a started instance: choose the ids, open the layers and volumes, hand all of it
 * to the engine, and tell pid 1 what it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/log.h"
#include "base/program.h"
#include "host/hugepages.h"
#include "host/idmap.h"
#include "host/subid.h"
#include "image/store.h"
#include "process/fixtures.h"
#include "process/fuse_overlay.h"
#include "process/host_cas.h"
#include "process/host_image.h"
#include "process/login_shell.h"
#include "spec/cpus.h"
#include "state/places.h"
#include "state/quota.h"
#include "state/range.h"
#include "state/record_lock.h"
#include "state/volume.h"
#include "supervisor/disk.h"
#include "supervisor/engine_process_implied.h"
#include "supervisor/engine_process_layer.h"
#include "supervisor/engine_process_own_state.h"
#include "supervisor/source.h"
#include "supervisor/supervisor.h"
#include "supervisor/systemd_scope.h"

#define DESCRIPTORS_AHEAD 256 /* an image of a hundred layers; 2 KiB */
#define BOOT_USUAL_BYTES 1024 /* of the message to pid 1 */
#define MIB (1ull << 20)

/* --- ids ------------------------------------------------------------------------------------- */

static bool has_capability(unsigned cap)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	return syscall(SYS_capget, &head, data) == 0 &&
	       (data[cap / 32].effective >> (cap % 32) & 1);
}

/* Root of a user namespace whose map is long enough maps its own ids without help. */
static int own_sub_range(struct ids *i)
{
	struct idmap m;
	struct idmap_line uid, gid;

	if (idmap_read("/proc/self/uid_map", &m) == 0 && idmap_longest_run(&m, 1, &uid) == 0 &&
	    uid.count >= IDS_PER_SANDBOX && idmap_read("/proc/self/gid_map", &m) == 0 &&
	    idmap_longest_run(&m, 1, &gid) == 0 && gid.count >= IDS_PER_SANDBOX) {
		i->mode = IDS_SUBID;
		i->direct = true;
		i->uid_base = uid.inside;
		i->gid_base = gid.inside;
	}
	return 0;
}

static bool has_range(const struct supervisor *s)
{
	return geteuid() == 0 && s->parent_mounts && has_capability(CAP_SETUID);
}

int supervisor_choose_ids(struct supervisor *s, struct err *e)
{
	struct ids *i = &s->ids;

	*i = (struct ids){ .mode = IDS_SINGLE, .caller_uid = geteuid(), .caller_gid = getegid() };
	if (has_range(s)) {
		AUTO_FREE char *path =
			xasprintf("%s/sandboxes/%s", s->home.path, s->record.spec.name);
		uint32_t base;

		if (range_claim(path, s->record.state.uid_base, &base, e) < 0)
			return -1;
		i->mode = IDS_RANGE;
		i->uid_base = i->gid_base = base;
		s->record.state.uid_base = base;
		return 0;
	}
	if (geteuid() == 0 && has_capability(CAP_SETUID))
		return own_sub_range(i); /* of a container: no idmapped mounts, but ids to give */
	/* set-user-id helpers do nothing for who has given up gaining privileges */
	if (geteuid() != 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) {
		struct subid sub;
		struct err
			none; /* without a range there is still the single id; inspect shows it */

		if (subid_find(geteuid(), IDS_PER_SANDBOX, &sub, &none) == 0) {
			i->mode = IDS_SUBID;
			i->uid_base = sub.uid.start;
			i->gid_base = sub.gid.start;
		}
	}
	return 0;
}

/* --- root file system ------------------------------------------------------------------------ */

/* Other owners inside than outside need a mount of root's. */
static int check_owner(const struct supervisor *s, const struct spec_mount *m, struct err *e)
{
	if (!m->has_owner && m->stat_virt != STAT_VIRT_OFF)
		return 0;
	if (s->ids.mode != IDS_RANGE) {
		err_set(e, ERR_UNSUPPORTED,
			"the owners of files in '%s' cannot be chosen without root", m->guest);
		return err_hint(e, "leave uid=, gid= and stat-virt= out: your files are root's "
				   "inside");
	}
	if (m->has_owner && (m->uid >= IDS_PER_SANDBOX || m->gid >= IDS_PER_SANDBOX))
		return err_set(e, ERR_INVALID, "uid= and gid= of '%s' must be below %u", m->guest,
			       IDS_PER_SANDBOX);
	return 0;
}

/* The volume was made with a quota; the file system may have been mounted otherwise since. */
static int check_quota(const struct supervisor *s, int volume, const struct spec_mount *m,
		       struct err *e)
{
	AUTO_FD dir = openat(volume, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0 && quota_enforced(dir) && quota_project(dir))
		return 0;
	volume_quota_missing(&s->home, e);
	return err_wrap(e, "volume '%s'", m->source);
}

static int open_source(struct supervisor *s, struct spec_mount *m, int *ret_fd, struct err *e)
{
	AUTO_FREE char *named = NULL;

	if (m->kind == MOUNT_BIND)
		return source_open("volume source", m->source, &m->identity, VOLUME_HINT, ret_fd,
				   e);
	named = xasprintf("%s/data", m->source);
	*ret_fd = home_open_in(&s->home, "volumes", named, O_PATH | O_DIRECTORY);
	return *ret_fd < 0 ? err_sys(e, errno, "volume '%s'", m->source) : 0;
}

static int open_volume(struct supervisor *s, struct spec_mount *m, int *ret_fd, struct err *e)
{
	struct stat st;
	AUTO_FD fd = -1;

	if (m->kind == MOUNT_DISK || (m->kind == MOUNT_NAMED && m->kind_disk))
		return disk_mount_volume(s, m, ret_fd, e);
	if (check_owner(s, m, e) < 0 || open_source(s, m, &fd, e) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "mount source '%s'", m->source);
	if (m->want == WANT_DIR && !S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, "mount source '%s' is not a directory", m->source);
	if (m->want == WANT_FILE && !S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "mount source '%s' is not a file", m->source);
	if (m->quota_mib && check_quota(s, fd, m, e) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int supervisor_find_image(const struct supervisor *s, int *ret_lock, struct image_record *ret,
			  struct err *e)
{
	const struct spec_image *image = &s->record.spec.image;

	if (!image->manifest_digest)
		return err_set(e, ERR_INVALID, "the record does not say which image this is");
	if (image_store_lock(s->home.fd, false, ret_lock, e) < 0)
		return -1;
	if (image_store_find_digest(s->home.fd, image->manifest_digest, ret, e) < 0)
		return err_wrap(e, "image '%s'", image->reference);
	return 0;
}

static int open_image(struct supervisor *s, struct rootfs *r, struct err *e)
{
	struct image_record record;
	AUTO_FD cache = -1;
	AUTO_FD lock = -1;
	size_t n = 0;
	int rc;

	if (home_dir(&s->home, "cache", &cache, e) < 0 ||
	    host_image_open_places(cache, &r->layer_fd[0], e) < 0)
		return -1;
	r->n_layers = 1;
	if (supervisor_find_image(s, &lock, &record, e) < 0)
		return -1;
	rc = image_store_open_layers(s->home.fd, &record, r->layer_fd + 1, &n, &r->served, e);
	r->n_layers += n;
	if (rc == 0)
		implied_find(s, &record, r);
	else
		err_wrap(e, "image '%s'", s->record.spec.image.reference);
	image_record_done(&record);
	return rc;
}

static int open_layers(struct supervisor *s, struct rootfs *r, struct err *e)
{
	struct spec *spec = &s->record.spec;
	AUTO_FD cache = -1;

	switch (spec->image.kind) {
	case IMAGE_HOST:
		if (home_dir(&s->home, "cache", &cache, e) < 0 ||
		    host_image_open_base(cache, &r->layer_fd[0], e) < 0)
			return -1;
		r->n_layers = 1;
		break;
	case IMAGE_DIR:
		if (source_open("image directory", spec->image.reference, &spec->image.identity,
				ANEW_HINT, &r->layer_fd[0], e) < 0)
			return -1;
		r->n_layers = 1;
		/* used in place: no layer of its own, but mount points must be there */
		mount_points_enter(&s->home, r->layer_fd[0], &s->mount_points);
		return mount_points_make(&s->mount_points, r->layer_fd[0], spec, e);
	case IMAGE_OCI:
		if (spec->image.root_disk.kind == ROOT_DISK_FLAT)
			return layer_open_flat(s, r, e);
		if (open_image(s, r, e) < 0)
			return -1;
		break;
	default:
		return err_set(e, ERR_UNSUPPORTED, "this kind of image is not supported yet");
	}
	return layer_open(s, r, e);
}

static int lend_files(struct supervisor *s, struct rootfs *r, struct err *e)
{
	const struct spec *spec = &s->record.spec;

	if (spec->trust_host_cas && host_cas_read(r, e) < 0)
		return -1;
	if (spec->image.kind == IMAGE_HOST)
		return 0; /* its base has all of it */
	if (spec->shell_fallback && login_shell_fallback(r, &r->fallback_shell, e) < 0)
		return -1;
	r->profile = login_shell_profile(r, r->fallback_shell >= 0);
	return 0;
}

static bool must_be_served(const struct supervisor *s, const struct rootfs *r)
{
	if (!rootfs_is_overlay(r))
		return r->served;
	if (r->upper_fd < 0)
		return s->home.served == HOME_SERVED_ALL;
	/* what one of the two has written the other does not read */
	return s->home.served != HOME_SERVED_NOTHING ||
	       strcmp(s->record.state.root, ROOT_SERVED) == 0;
}

static void init_rootfs(const struct supervisor *s, struct rootfs *r)
{
	const struct spec *spec = &s->record.spec;

	*r = (struct rootfs){
		.spec = spec,
		.ids = &s->ids,
		.parent_mounts = s->parent_mounts,
		.upper_fd = -1,
		.sys_fd = -1,
		.dev_fd = -1,
		.fallback_shell = -1,
	};
	for (size_t i = 0; i < ARRAY_SIZE(r->layer_fd); i++)
		r->layer_fd[i] = -1;
	if (spec->hostname)
		snprintf(r->hostname, sizeof(r->hostname), "%s", spec->hostname);
	else
		spec_default_hostname(spec->name, r->hostname);
	r->volume_fd = xcalloc(spec->n_mounts + 1, sizeof(int));
	for (size_t i = 0; i < spec->n_mounts; i++)
		r->volume_fd[i] = -1;
}

static int open_rootfs(struct supervisor *s, struct rootfs *r, struct err *e)
{
	struct spec *spec = &s->record.spec;

	if (s->parent_mounts)
		IGNORE(!fixtures_open(&r->sys_fd, &r->dev_fd)); /* then they are made anew */
	s->stage = "mount";
	if (sources_learn(s, e) < 0)
		return -1;
	s->stage = "image";
	if (open_layers(s, r, e) < 0)
		return -1;
	r->served = must_be_served(s, r);
	if (lend_files(s, r, e) < 0)
		return -1;
	s->stage = "mount";
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mount[i].kind != MOUNT_TMPFS &&
		    open_volume(s, &spec->mount[i], &r->volume_fd[i], e) < 0)
			return -1;
	return own_state_find(s, r, e);
}

static void close_rootfs(struct rootfs *r)
{
	for (size_t i = 0; i < r->n_layers; i++)
		fd_closep(&r->layer_fd[i]);
	fd_closep(&r->upper_fd);
	fd_closep(&r->sys_fd);
	fd_closep(&r->dev_fd);
	fd_closep(&r->fallback_shell);
	free_p(&r->profile);
	free_p(&r->dress);
	free_p(&r->host_cas);
	free_p(&r->ca_bundle);
	free_p(&r->ca_place);
	for (size_t i = 0; i < r->n_hidden; i++)
		free(r->hidden[i].below);
	free_p(&r->hidden);
	for (size_t i = 0; r->volume_fd && i < r->spec->n_mounts; i++)
		fd_closep(&r->volume_fd[i]);
	free_p(&r->volume_fd);
}

/* --- limits ---------------------------------------------------------------------------------- */

/* Words of a record: how a limit holds. */
#define NOT_ENFORCED "not enforced"
#define BY_CGROUP "cgroup"

static void say(char out[24], const char *how)
{
	snprintf(out, 24, "%s", how);
}

/* Without a cpu controller an explicit request pins to that many CPUs, spread over sandboxes. */
static bool pin_cpus(const struct supervisor *s, unsigned cpus)
{
	cpu_set_t all, mine;
	unsigned first, n = 0, have;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return false;
	have = (unsigned)CPU_COUNT(&all);
	if (cpus >= have)
		return true;
	first = (unsigned)(s->record.created_ns / 1000 % have);
	CPU_ZERO(&mine);
	for (unsigned k = 0, seen = 0; n < cpus && k < 2 * CPU_SETSIZE; k++) {
		unsigned cpu = k % CPU_SETSIZE;

		if (!CPU_ISSET(cpu, &all) || CPU_ISSET(cpu, &mine) || seen++ < first)
			continue;
		CPU_SET(cpu, &mine);
		n++;
	}
	return sched_setaffinity(s->instance.pid, sizeof(mine), &mine) == 0;
}

/* How much a sandbox can add to directories that it shares. */
static const char *volumes_held(const struct spec *spec)
{
	const char *how = "none";

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mount[i];

		if (m->readonly || m->kind == MOUNT_TMPFS || m->kind == MOUNT_DISK || m->kind_disk)
			continue; /* bounded by themselves */
		if (!m->quota_mib)
			return NOT_ENFORCED;
		how = "project quota";
	}
	return how;
}

static const char *root_form(const struct supervisor *s)
{
	if (s->record.spec.image.kind == IMAGE_DIR)
		return ROOT_DIRECTORY;
	if (s->record.spec.image.root_disk.kind == ROOT_DISK_FLAT)
		return ROOT_DISK;
	return s->instance.fuse ? ROOT_SERVED : ROOT_OVERLAY;
}

/* One line with every limit that does not hold. Whoever makes a sandbox that stays hears of the defaults
 * too; a run hears only of what it asked for. */
static void warn_of_limits(struct supervisor *s)
{
	const struct spec *spec = &s->record.spec;
	const struct enforcement *f = &s->record.state.enforced;
	bool stays = !spec->ephemeral && !s->attended;
	const char *memory = NULL, *cpus = NULL;

	if (spec->soft_limits)
		return;
	if (!starts_with(f->memory, BY_CGROUP) && (spec->memory_set || stays))
		memory = spec->memory_set ? "--memory holds for each process alone"
					  : "memory is not limited";
	if (strcmp(f->cpus, NOT_ENFORCED) == 0 && stays)
		cpus = spec->cpus_set ? "--cpus does not hold" : "CPU time is not limited";
	if (memory || cpus)
		buf_addf(&s->warnings,
			 "%s%s%s: the caller gets no control group for it ('cordon doctor' "
			 "says why)\n",
			 memory ? memory : "", memory && cpus ? ", " : "", cpus ? cpus : "");
}

/* Without a cpu controller only whole CPUs can be held, and only because somebody asked for them. */
static int settle_cpus(struct supervisor *s, struct err *e)
{
	const struct spec *spec = &s->record.spec;
	char asked[CPUS_TEXT_BYTES];

	if (!spec->cpus_set || spec->soft_limits)
		return 0;
	if (!cpus_are_whole(spec->cpu_milli)) {
		err_set(e, ERR_UNSUPPORTED,
			"--cpus %s: a part of a CPU takes a control group, and the caller gets "
			"none",
			cpus_text(spec->cpu_milli, asked));
		return err_hint(e, "ask for whole CPUs, which hold by affinity; 'cordon doctor' "
				   "says what a control group takes");
	}
	if (pin_cpus(s, spec->cpu_milli / CPUS_ONE))
		say(s->record.state.enforced.cpus, "affinity");
	return 0;
}

/* What the cgroups did not take is done otherwise where asked for, and shown either way. */
static int settle_limits(struct supervisor *s, struct boot_message *boot, struct err *e)
{
	const struct spec *spec = &s->record.spec;
	const struct cgroup *c = &s->instance.cgroup;
	struct enforcement *f = &s->record.state.enforced;
	const char *group = c->n_v1 ? BY_CGROUP " v1" : BY_CGROUP " v2";

	say(f->memory, c->enforced[CGROUP_MEMORY] ? group : NOT_ENFORCED);
	say(f->cpus, c->enforced[CGROUP_CPU] ? group : NOT_ENFORCED);
	say(f->pids, c->enforced[CGROUP_PIDS] ? group : "user namespace");
	if (!c->enforced[CGROUP_MEMORY] && spec->memory_set && !spec->soft_limits) {
		boot->data_limit = spec->memory_mib * MIB;
		say(f->memory, "rlimit, per process");
	}
	if (!c->enforced[CGROUP_PIDS])
		boot->nproc_limit = spec->pids_limit;
	if (!c->enforced[CGROUP_CPU] && settle_cpus(s, e) < 0)
		return -1;
	warn_of_limits(s);
	say(f->root_disk, s->layer ? s->layer : "none");
	say(f->volumes, volumes_held(spec));
	say(f->ids, ids_mode_name(s->ids.mode));
	say(s->record.state.root, root_form(s));
	return 0;
}

/* --- boot message ---------------------------------------------------------------------------- */

static int send_boot(struct supervisor *s, struct boot_message *boot, struct err *e)
{
	const struct cgroup *c = &s->instance.cgroup;
	char room[BOOT_USUAL_BYTES];
	AUTO_BUF frame = BUF_IN(room, FRAME_BODY_MAX_BYTES);
	size_t at = frame_begin(&frame, FRAME_BOOT, 0, 0);
	int fds[FDPASS_MAX];
	AUTO_FD procs = -1;
	unsigned n = 0;
	int r;

	fds[n++] = s->guest_listener;
	boot->has_connection = s->connection >= 0;
	if (boot->has_connection)
		fds[n++] = s->connection;
	boot->has_cgroup = c->v2_enclosed >= 0;
	if (boot->has_cgroup)
		fds[n++] = c->v2_enclosed;
	procs = c->v2_payload < 0 || boot->has_cgroup
			? -1
			: openat(c->v2_home, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	boot->born_with_cgroup = procs >= 0;
	if (boot->born_with_cgroup)
		fds[n++] = procs;
	boot->has_oom = c->oom >= 0;
	if (boot->has_oom)
		fds[n++] = c->oom;
	boot->n_task_fds = c->n_v1;
	for (unsigned i = 0; i < c->n_v1; i++)
		fds[n++] = c->tasks[i];
	boot_encode(&frame, boot);
	frame_end(&frame, at);
	if (buf_failed(&frame))
		return err_set(e, ERR_LIMIT, "the environment of the sandbox is too large");
	r = fdpass_send(s->instance.channel, frame.p, frame.n, fds, n);
	if (r == 0)
		return 0;
	if (r != -EPIPE && r != -ECONNRESET)
		return err_sys(e, -r, "tell pid 1 what to be");
	/* a child that failed closed its end: whoever hears of its end finds out why */
	process_kill(&s->instance);
	return 0;
}

const char **supervisor_env(const struct spec *spec, size_t *ret_n)
{
	const char **env = xcalloc(spec->image_env.n + spec->n_env + 1, sizeof(*env));
	size_t n = 0;

	for (size_t i = 0; i < spec->image_env.n; i++)
		env[n++] = xstrdup(spec->image_env.v[i]);
	for (size_t i = 0; i < spec->n_env; i++)
		env[n++] = xasprintf("%s=%s", spec->env[i].key, spec->env[i].value);
	*ret_n = n;
	return env;
}

static bool is_disk(const struct spec_mount *m)
{
	return m->kind == MOUNT_DISK || (m->kind == MOUNT_NAMED && m->kind_disk);
}

/* How much of the host's files a mount can bring in that is not the sandbox's own. Another sandbox that may write to a
 * directory makes sockets there, and whoever connects is handed its descriptors; a read-only mount does not keep
 * anybody from that. Root's sandboxes can do nothing with them, as they have no id in common. */
static unsigned brought_in(const struct supervisor *s, const struct spec_mount *m)
{
	if (!m->readonly)
		return SWITCH_SHARED | SWITCH_WRITABLE;
	return s->ids.mode != IDS_RANGE && !m->identity.of_parent ? SWITCH_SHARED : 0u;
}

/* Files with privileges may be made in what belongs to the sandbox alone, and nowhere else. */
static void name_own_mounts(const struct supervisor *s, const struct rootfs *r,
			    struct boot_message *boot)
{
	const struct spec *spec = &s->record.spec;
	bool shared_root = spec->image.kind == IMAGE_DIR;
	struct stat st;

	boot->switches |= shared_root ? SWITCH_SHARED | SWITCH_WRITABLE : 0;
	boot->own_mount = xcalloc(spec->n_mounts + 1, sizeof(*boot->own_mount));
	if (!shared_root)
		boot->own_mount[boot->n_own_mounts++] = "/";
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mount[i];

		if (m->kind != MOUNT_TMPFS && !is_disk(m)) {
			boot->switches |= brought_in(s, m);
			continue;
		}
		if (m->readonly)
			continue;
		boot->own_mount[boot->n_own_mounts++] = m->guest;
		if (is_disk(m) && boot->n_own_devices < BOOT_DEVICES_MAX &&
		    fstat(r->volume_fd[i], &st) == 0)
			boot->own_device[boot->n_own_devices++] =
				(uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	}
}

/* Those that name_own_mounts() does not find. */
static unsigned filter_switches(const struct supervisor *s)
{
	return (s->watched ? SWITCH_WATCHED : 0u) |
	       (s->record.spec.own_filters ? SWITCH_FILTERS : 0u) |
	       (hugepages_reserved() ? SWITCH_HUGEPAGES : 0u);
}

static int boot_guest(struct supervisor *s, const struct rootfs *root, struct err *e)
{
	const struct spec *spec = &s->record.spec;
	struct boot_message boot = {
		.workdir = spec->workdir,
		.user = spec->user,
		.shell = spec->shell ? spec->shell : SPEC_DEFAULT_SHELL,
		.restricted = spec->restricted,
		.switches = filter_switches(s),
		.lent_shell = root->fallback_shell >= 0,
		.report_activity = spec->idle_timeout_s > 0,
		.inner_map = ids_inner_map(&s->ids),
		.single_id = s->ids.mode == IDS_SINGLE,
		.id_shift = ids_shift(&s->ids),
	};
	struct rlimit nofile;
	int r;

	if (getrlimit(RLIMIT_NOFILE, &nofile) < 0)
		return err_sys(e, errno, "read the limit of open files");
	boot.nofile_soft = nofile.rlim_cur;
	boot.nofile_hard = nofile.rlim_max;
	for (size_t i = 0; i < spec->n_rlimits && i < EXEC_RLIMITS_MAX; i++)
		boot.rlimit[boot.n_rlimits++] =
			(struct exec_rlimit){ (uint32_t)spec->rlimit[i].resource,
					      spec->rlimit[i].soft, spec->rlimit[i].hard };
	boot.env = supervisor_env(spec, &boot.n_env);
	r = settle_limits(s, &boot, e);
	if (r == 0) {
		name_own_mounts(s, root, &boot);
		r = send_boot(s, &boot, e);
	}
	for (size_t i = 0; i < boot.n_env; i++)
		free((char *)boot.env[i]);
	boot_message_done(&boot);
	return r;
}

static int guest_program(const struct supervisor *s, int *ret_fd, struct err *e)
{
	AUTO_FREE char *path = NULL;

	if (program_ours("cordon-guest", &path, e) < 0)
		return -1;
	return process_guest_program(path, s->parent_mounts, ret_fd, e);
}

static int open_sockets(struct supervisor *s, struct err *e)
{
	int r = home_listen(&s->home, s->record.spec.name, "sock", &s->guest_listener);

	if (r == 0)
		r = home_listen(&s->home, s->record.spec.name, "ctl", &s->control);
	return r < 0 ? err_sys(e, -r, "listen in '%s/run'", s->home.path) : 0;
}

/* fuse-overlayfs unites the layers. */
static int start_served(struct supervisor *s, struct process_request *q, struct err *e)
{
	int r;

	if (fuse_overlay_program(&q->fuse_overlay_program, e) < 0)
		return -1;
	r = process_start(q, &s->instance, e);
	fd_closep(&q->fuse_overlay_program);
	return r;
}

/* The kernel does not unite the layers, for the reason E. Starts again with fuse-overlayfs, if it is there. */
static int start_again(struct supervisor *s, struct process_request *q, struct err *e)
{
	if (!fuse_overlay_is_there())
		return -1;
	log_line(LOG_INFO, "fuse-overlayfs serves the root: %s", e->msg);
	*e = (struct err){ 0 };
	process_done(&s->instance);
	process_init(&s->instance);
	q->rootfs.served = true;
	if (layer_clean(s, &q->rootfs, e) < 0 || process_begin(q, &s->instance, e) < 0)
		return -1;
	return start_served(s, q, e);
}

static int start_instance(struct supervisor *s, struct process_request *q, struct err *e)
{
	if (q->rootfs.served)
		return start_served(s, q, e);
	if (process_start(q, &s->instance, e) == 0)
		return 0;
	return s->instance.unmappable ? start_again(s, q, e) : -1;
}

/* Later starts in this home need not find out. One that cannot be told finds out again. */
static void remember_refusal(struct supervisor *s)
{
	bool memory = strcmp(s->layer, LAYER_MEMORY) == 0;
	enum home_served served = memory ? HOME_SERVED_ALL : HOME_SERVED_ON_DISK;
	struct err ignored;

	if (served > s->home.served)
		IGNORE(home_set_served(&s->home, served, &ignored));
}

/* The child has mounted its root, or somebody else serves it: from here on nothing is tried again. Before, pid 1
 * was sent nothing, so all that the first client has sent is still there for it. */
static int await_root(struct supervisor *s, struct process_request *q, struct err *e)
{
	if (!process_overlay_refused(q, &s->instance))
		return 0;
	s->stage = process_failed_stage(&s->instance);
	IGNORE(process_failure(&s->instance, e)); /* E says why */
	if (start_again(s, q, e) < 0)
		return -1;
	remember_refusal(s);
	return 0;
}

/* A task of process_ahead() shares our descriptors. If their table had to grow meanwhile, the kernel would
 * wait until every CPU has seen it: 10 to 30 ms. Each layer takes two of them, each volume too. */
static void make_room(void)
{
	int last = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, DESCRIPTORS_AHEAD - 1);

	fd_closep(&last);
}

void supervisor_ahead(struct supervisor *s)
{
	process_init(&s->instance);
	s->parent_mounts = has_capability(CAP_SYS_ADMIN) && idmap_is_whole();
	if (!has_range(s))
		return;
	make_room();
	process_ahead(&s->instance);
}

static bool has_explicit_limit(const struct spec *spec)
{
	return spec->memory_set || spec->cpus_set || spec->pids_set;
}

int supervisor_launch(struct supervisor *s, struct err *e)
{
	struct process_request *q = s->request = xcalloc(1, sizeof(*q));
	char cgroup_id[HOME_ID_BYTES];
	AUTO_FD program = -1;
	int r;

	s->stage = "config";
	if (supervisor_choose_ids(s, e) < 0 || guest_program(s, &program, e) < 0)
		return -1;
	home_machine_id(&s->home, s->record.spec.name, cgroup_id);
	q->cgroup_id = cgroup_id;
	/* a client who waits for a first command and asked for no limit does not wait for one either */
	systemd_scope_enter(cgroup_id, !s->attended || has_explicit_limit(&s->record.spec));
	q->guest_program = program;
	q->limits = (struct cgroup_limits){
		.memory_bytes = s->record.spec.memory_mib * MIB,
		.pids = s->record.spec.pids_limit,
		.cpu_milli = s->record.spec.cpu_milli,
	};
	init_rootfs(s, &q->rootfs);
	s->stage = "network";
	r = link_prepare(s, q, e);
	if (r == 0)
		r = process_begin(q, &s->instance, e);
	if (r == 0)
		r = open_rootfs(s, &q->rootfs, e);
	if (r == 0) {
		s->stage = "other";
		r = start_instance(s, q, e);
	}
	if (r == 0) /* the child is mounting meanwhile */
		r = open_sockets(s, e);
	record_start_ends(s->lock); /* who waited to talk to us can */
	if (r == 0)
		r = await_root(s, q, e);
	if (r == 0)
		r = boot_guest(s, &q->rootfs, e);
	fd_closep(&s->guest_listener); /* pid 1 has them now */
	fd_closep(&s->connection);
	fd_closep(&s->instance.cgroup.v2_enclosed);
	close_rootfs(&q->rootfs);
	return r;
}
