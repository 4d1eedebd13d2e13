/*
 * The limits of a sandbox. Control groups enforce the limits. If a limit has no control group,
 * pid 1 sets a resource limit instead, or is pinned to some CPUs; some limits then hold only in
 * part or not at all. The record says how each limit is enforced.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/container.h"
#include "spec/cpus.h"
#include "supervisor/engine_process.h"

#define MIB (1ull << 20)
/* the record says with this word that a control group enforces a limit; the version of the control
 * groups follows */
#define BY_CGROUP "cgroup"

struct cgroup_limits limits_of(const struct spec *spec)
{
	return (struct cgroup_limits){ .memory_bytes = spec->memory_mib * MIB,
				       .pids = spec->pids_limit,
				       .cpu_milli = spec->cpu_milli };
}

static void record_how(char out[24], const char *how)
{
	snprintf(out, 24, "%s", how);
}

/* Used if there is no cpu controller: pins pid 1 to CPUS processors. The first of these processors
 * depends on the time of creation, so that sandboxes spread over the machine. Returns true if pid 1
 * has at most CPUS processors now, or false if the kernel refuses. */
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
	return sched_setaffinity(s->instance->pid, sizeof(mine), &mine) == 0;
}

/* Returns the word of the record that says how writes to directories of the host are limited. The
 * word is "none" if the sandbox can write to no such directory, NOT_ENFORCED if one such directory
 * has no quota, and "project quota" if all such directories have a quota. */
static const char *volumes_held(const struct spec *spec)
{
	const char *how = "none";

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mount[i];

		/* the sandbox cannot write here, or the file system has a size of its own */
		if (m->readonly || m->kind == MOUNT_TMPFS || m->kind == MOUNT_DISK || m->kind_disk)
			continue;
		if (!m->quota_mib)
			return NOT_ENFORCED;
		how = "project quota";
	}
	return how;
}

static const char *root_form(const struct supervisor *s)
{
	if (spec_image_in_place(&s->record.spec.image))
		return ROOT_DIRECTORY;
	if (s->record.spec.image.root_disk.kind == ROOT_DISK_FLAT)
		return ROOT_DISK;
	return engine_process_of(s)->process.fuse ? ROOT_SERVED : ROOT_OVERLAY;
}

/* If limits of a server's sandbox are not enforced because we run in a container, adds a warning
 * that says what to change. The warning does not name the limits, because leash.c tells the server
 * how each limit is enforced. */
static void warn_a_server(struct supervisor *s)
{
	const struct enforcement *f = &s->record.state.enforced;

	if ((strcmp(f->memory, NOT_ENFORCED) == 0 || strcmp(f->cpus, NOT_ENFORCED) == 0) &&
	    container_has_readonly_cgroups())
		buf_addf(&s->warnings, "%s\n", container_advice(CONTAINER_CGROUPS));
}

/* Adds one warning that names the limits of memory and CPUs that do not hold for the whole sandbox.
 * For `run`, names only a limit that the user asked for. For `create`, also names defaults. With
 * soft limits only a server is warned. */
static void warn_of_limits(struct supervisor *s)
{
	const struct spec *spec = &s->record.spec;
	const struct enforcement *f = &s->record.state.enforced;
	bool stays = !spec->ephemeral && !s->attended;
	const char *memory = NULL, *cpus = NULL;

	if (spec->soft_limits) {
		if (spec->ephemeral && !s->attended)
			warn_a_server(s);
		return;
	}
	if (!starts_with(f->memory, BY_CGROUP) && (spec->memory_set || stays))
		memory = spec->memory_set ? "--memory holds for each process alone"
					  : "memory is not limited";
	if (strcmp(f->cpus, NOT_ENFORCED) == 0 && (spec->cpus_set || stays))
		cpus = spec->cpus_set ? "--cpus does not hold" : "CPU time is not limited";
	if (memory || cpus)
		buf_addf(&s->warnings,
			 "%s%s%s: the caller gets no control group for it ('cordon doctor' "
			 "says why)\n",
			 memory ? memory : "", memory && cpus ? ", " : "", cpus ? cpus : "");
}

/* Called if there is no cpu controller. Enforces a whole number of CPUs by affinity, if the user
 * asked for it. Refuses a part of a CPU. Does nothing if the user asked for no number of CPUs or if
 * the sandbox has soft limits. */
static int hold_cpus(struct supervisor *s, struct err *e)
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
		record_how(s->record.state.enforced.cpus, "affinity");
	return 0;
}

int limits_apply(struct supervisor *s, struct boot_message *boot, struct err *e)
{
	const struct engine_process *p = engine_process_of(s);
	const struct spec *spec = &s->record.spec;
	const struct cgroup *c = &p->process.cgroup;
	struct enforcement *f = &s->record.state.enforced;
	const char *group = c->n_v1 ? BY_CGROUP " v1" : BY_CGROUP " v2";

	record_how(f->memory, c->enforced[CGROUP_MEMORY] ? group : NOT_ENFORCED);
	record_how(f->cpus, c->enforced[CGROUP_CPU] ? group : NOT_ENFORCED);
	record_how(f->pids, c->enforced[CGROUP_PIDS] ? group : "user namespace");
	if (!c->enforced[CGROUP_MEMORY] && spec->memory_set && !spec->soft_limits) {
		boot->data_limit = spec->memory_mib * MIB;
		record_how(f->memory, "rlimit, per process");
	}
	if (!c->enforced[CGROUP_PIDS])
		boot->nproc_limit = spec->pids_limit;
	if (!c->enforced[CGROUP_CPU] && hold_cpus(s, e) < 0)
		return -1;
	warn_of_limits(s);
	record_how(f->root_disk, p->layer ? p->layer : "none");
	record_how(f->volumes, volumes_held(spec));
	record_how(f->ids, ids_mode_name(p->ids.mode));
	record_how(s->record.state.root, root_form(s));
	return 0;
}

/* Returns the part of WHAT that control groups enforce. If control groups do not enforce all of
 * WHAT and the sandbox has no soft limits, returns -1 with *E filled. */
static int held(const struct supervisor *s, unsigned what, struct err *e)
{
	static const struct {
		unsigned what;
		enum cgroup_limit kind;
		const char *name;
	} rows[] = { { UPDATE_MEMORY, CGROUP_MEMORY, "memory" },
		     { UPDATE_CPUS, CGROUP_CPU, "CPUs" },
		     { UPDATE_PIDS, CGROUP_PIDS, "processes" } };
	const struct cgroup *c = &engine_process_of(s)->process.cgroup;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!(what & rows[i].what) || c->enforced[rows[i].kind])
			continue;
		if (!s->record.spec.soft_limits)
			return err_set(e, ERR_UNSUPPORTED,
				       "no control group holds the %s of sandbox '%s'",
				       rows[i].name, s->record.spec.name);
		what &= ~rows[i].what;
	}
	return (int)what;
}

int limits_update(struct supervisor *s, const struct spec *now, unsigned what, struct err *e)
{
	int set = held(s, what, e);
	const struct cgroup_limits limits = {
		.memory_bytes = set & UPDATE_MEMORY ? now->memory_mib * MIB : 0,
		.cpu_milli = set & UPDATE_CPUS ? now->cpu_milli : 0,
		.pids = set & UPDATE_PIDS ? now->pids_limit : 0,
	};

	if (set < 0)
		return -1;
	if (cgroup_update(&engine_process_of(s)->process.cgroup, &limits) == 0)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
		       "the kernel refused the new limit; memory in use cannot be taken away");
}

void limits_usage(const struct supervisor *s, struct usage_message *u)
{
	struct cgroup_usage now;

	cgroup_read_usage(&engine_process_of(s)->process.cgroup, &now);
	u->cpu_ns = now.has_cpu ? now.cpu_ns : USAGE_UNKNOWN;
	u->memory_bytes = now.has_memory ? now.memory_bytes : USAGE_UNKNOWN;
	u->pids = now.has_pids ? now.pids : USAGE_UNKNOWN;
}
