/*
 * `doctor` says whether this user can run sandboxes on this machine, and what is missing. To find
 * out, it runs one command in an ephemeral sandbox in the user's own home. The sandbox's record
 * says how each limit was enforced. The probes of host/ explain what is missing, and name the
 * command that helps.
 */
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "cli/commands.h"
#include "client/call.h"
#include "client/exec.h"
#include "client/launch.h"
#include "client/removal.h"
#include "client/sandbox.h"
#include "host/facts.h"
#include "host/groups.h"
#include "host/idmap.h"

#define NAMES_MAX_BYTES (64u << 10) /* enough for a thousand names of groups */
#define PROOF_TIMEOUT_MS 30000      /* enough for `true` on a very slow machine */

/* --- the proof ------------------------------------------------------------------------------- */

struct proof {
	bool ran;
	uint64_t took_ns;
	struct enforcement limits; /* how the limits of the sandbox that ran were enforced */
	bool served;               /* fuse-overlayfs mounted the root of the sandbox that ran */
	struct err e;
};

static int execute(const struct home *h, struct launch *l, const char *name, struct err *e)
{
	const char *argv[] = { "true", NULL };
	struct exec_request q = {
		.message = { .argv = argv, .n_argv = 1, .timeout_ms = PROOF_TIMEOUT_MS },
		.in = -1,
		.out = -1,
		.err = -1
	};
	AUTO_BUF warnings = BUF_INIT(65536);
	struct exec_result result = { 0 };
	struct client c;
	int r;

	if (launch_wait(l, &warnings, e) < 0)
		return -1;
	r = client_open(&c, h, name, e);
	if (r == 0)
		r = client_exec(&c, &q, &result, e);
	client_done(&c);
	if (r == 0 && exec_exit_status(&result.end) != 0)
		return err_set(e, ERR_SYSTEM, "'true' ended with status %d in a sandbox",
			       exec_exit_status(&result.end));
	return r;
}

static void prove(const struct home *h, struct proof *p)
{
	uint64_t start = clock_mono_ns();
	struct launch l = LAUNCH_NONE;
	AUTO_RECORD r = RECORD_NONE;
	struct err ignored;
	struct spec s;

	spec_init(&s);
	s.name = spec_random_name();
	s.ephemeral = true;
	s.image.kind = IMAGE_HOST;
	s.image.reference = xstrdup("host");
	if (launch_create(h, &s, false, &l, &p->e) == 0) {
		p->ran = execute(h, &l, s.name, &p->e) == 0;
		p->took_ns = clock_mono_ns() - start;
		if (p->ran && record_load(h, s.name, &r, &ignored) == 0) {
			p->limits = r.state.enforced;
			p->served = strcmp(r.state.root, ROOT_SERVED) == 0;
		}
		sandbox_retire(h, s.name);
	}
	launch_done(&l); /* closes the leash, which ends the sandbox */
	spec_done(&s);
}

/* --- the report ------------------------------------------------------------------------------ */

struct report {
	struct facts facts;
	struct proof proof;
	struct strv fixes; /* commands that give the user what is missing, each once */
};

static void add_fix(struct report *r, const char *fix)
{
	for (size_t i = 0; i < r->fixes.n; i++)
		if (strcmp(r->fixes.v[i], fix) == 0)
			return;
	if (*fix)
		strv_add(&r->fixes, fix);
}

/* The facts that the engine depends on. If a vital fact is missing, no sandbox can run. If another
 * fact is missing, sandboxes run, but something is slower, missing or not enforced. */
static const struct {
	enum fact_id id;
	const char *check;
	bool vital;
	const char *without; /* what follows if the fact is missing */
} walls[] = {
	// clang-format off
	{ FACT_USER_NAMESPACE,  "Namespaces", true,  "no sandbox can start" },
	{ FACT_MOUNT_API,       "Mounts",     true,  "no sandbox can start" },
	{ FACT_SUBIDS,          "User ids",   false, "sandboxes have a single id" },
	{ FACT_SETUID_PROGRAMS, "Setuid",     false, "no setuid program works, newuidmap included" },
	{ FACT_CGROUP_KILL,     "Kill",       false, "a command's processes are found one by one" },
	{ FACT_LANDLOCK,        "Landlock",   false, "one wall less around our own helpers" },
	// clang-format on
};

/* Returns true if the test sandbox had a control group of version 2. The probe of FACT_CGROUP_KILL
 * tries only the control group of this process. Even if the probe failed, sandboxes may get a group
 * from the user's systemd (a scope unit). */
static bool has_scope(const struct report *r)
{
	return starts_with(r->proof.limits.pids, "cgroup v2");
}

static void report_walls(struct report *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(walls); i++) {
		const struct fact *f = &r->facts.fact[walls[i].id];

		if (!f->yes && walls[i].id == FACT_CGROUP_KILL && has_scope(r)) {
			say_check(SAY_GOOD, walls[i].check, "in the scope of the user's systemd");
			continue;
		}
		if (f->yes) {
			say_check(SAY_GOOD, walls[i].check, "%s", f->text);
			continue;
		}
		say_check(walls[i].vital ? SAY_BAD : SAY_SOSO, walls[i].check, "%s (%s)", f->text,
			  walls[i].without);
		add_fix(r, f->fix);
	}
}

/* Returns true if sandboxes get ids of their own, which no user of the host has. The owners of
 * shared files must then be mapped. */
static bool has_own_range(const struct report *r)
{
	if (!r->proof.ran)
		return geteuid() == 0 && idmap_is_whole();
	return strcmp(r->proof.limits.ids, "own range") == 0;
}

static void report_volumes(struct report *r)
{
	const struct fact *f = &r->facts.fact[FACT_IDMAPPED_MOUNT];

	if (!has_own_range(r)) {
		say_check(SAY_GOOD, "Volumes", "your files are root's inside");
	} else if (f->yes) {
		say_check(SAY_GOOD, "Volumes", "%s", f->text);
	} else {
		say_check(SAY_SOSO, "Volumes", "%s (volumes there are refused)", f->text);
		add_fix(r, f->fix);
	}
}

/* Returns why a named sandbox cannot use the kernel's overlay, or NULL if it can. */
static const struct fact *overlay_refused(const struct report *r)
{
	static const enum fact_id ids[] = { FACT_OVERLAY, FACT_OVERLAY_ON_DISK,
					    FACT_IDMAPPED_MOUNT };
	/* idmapped mounts are needed only if the sandbox has its own range of ids */
	size_t n = ARRAY_SIZE(ids) - (has_own_range(r) ? 0 : 1);

	for (size_t i = 0; i < n; i++)
		if (!r->facts.fact[ids[i]].yes)
			return &r->facts.fact[ids[i]];
	return NULL;
}

static void report_root(struct report *r)
{
	const struct fact *why = overlay_refused(r), *fuse = &r->facts.fact[FACT_FUSE_OVERLAYFS];

	if (!why && !r->proof.served) {
		say_check(SAY_GOOD, "Root", "overlay");
	} else if (fuse->yes || r->proof.served) {
		say_check(SAY_SOSO, "Root", "fuse-overlayfs, slower than the kernel's overlay: %s",
			  why ? why->text : "refused");
		add_fix(r, why ? why->fix : "");
	} else {
		/* an unnamed sandbox has its writable layer in memory, so it needs no overlay on
		 * disk */
		if (r->proof.ran)
			say_check(SAY_SOSO, "Root",
				  "%s, and %s (only unnamed sandboxes of 'run' start)", why->text,
				  fuse->text);
		else
			say_check(SAY_BAD, "Root", "%s, and %s (sandboxes cannot be created)",
				  why->text, fuse->text);
		add_fix(r, why->fix);
		add_fix(r, fuse->fix);
	}
}

static const struct {
	enum fact_id id;
	const char *check;
	size_t offset;
	const char *without;
} limits[] = {
	// clang-format off
	{ FACT_CGROUP_MEMORY, "Memory", offsetof(struct enforcement, memory),
	  "the default is not enforced, --memory holds for each process alone" },
	{ FACT_CGROUP_CPU, "CPUs", offsetof(struct enforcement, cpus),
	  "the default is not enforced, --cpus takes only whole CPUs and pins to them" },
	{ FACT_CGROUP_PIDS, "Processes", offsetof(struct enforcement, pids),
	  "the limit of each sandbox's user namespace holds" },
	// clang-format on
};

/* Reports how limits are enforced. If the test sandbox ran, its record says how; otherwise the
 * probes say it. */
static void report_limits(struct report *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		const struct fact *f = &r->facts.fact[limits[i].id];
		const char *held = (const char *)&r->proof.limits + limits[i].offset;

		if (starts_with(held, "cgroup") || starts_with(held, "user namespace") ||
		    (!r->proof.ran && f->yes)) {
			say_check(SAY_GOOD, limits[i].check, "limited by %s",
				  *held ? held : f->text);
			continue;
		}
		say_check(SAY_SOSO, limits[i].check, "%s: %s", *held ? held : f->text,
			  limits[i].without);
		add_fix(r, f->fix);
	}
}

/* Reports the best way in which this machine can limit the size of a writable layer. */
static void report_sizes(struct report *r)
{
	const struct fact *quota = &r->facts.fact[FACT_PROJECT_QUOTA];
	const struct fact *loop = &r->facts.fact[FACT_LOOP];
	bool root = has_own_range(r);

	if (root && quota->yes) {
		say_check(SAY_GOOD, "Root disk",
			  "limited by project quota, volumes too where asked");
		return;
	}
	if (root && loop->yes)
		say_check(SAY_SOSO, "Root disk",
			  "the default is watched; --root-disk SIZE is enforced by a loop image; "
			  "quota= of volumes is refused");
	else
		say_check(SAY_SOSO, "Root disk",
			  "the default is watched; enforced only in memory (ephemeral sandboxes, "
			  "--root-disk tmpfs:SIZE); a size on disk and quota= of volumes are "
			  "refused");
	if (root)
		add_fix(r, quota->fix);
}

static void report_kvm(const struct report *r)
{
	const struct fact *f = &r->facts.fact[FACT_KVM];

	if (f->yes)
		say_check(SAY_SOSO, "KVM", "%s, but the vm engine is not built yet: process engine",
			  f->text);
	else
		say_check(SAY_SOSO, "KVM", "%s; sandboxes use the process engine", f->text);
}

static void hint_lines(const char *lines)
{
	struct str rest = str_of(lines);

	while (rest.n) {
		struct str one = str_cut(&rest, '\n');
		AUTO_FREE char *text = xstrndup(one.p, one.n);

		say_hint(text);
	}
}

static void report_proof(const struct report *r)
{
	if (r->proof.ran)
		say_check(SAY_GOOD, "Engine", "process: ran a command in a sandbox in %.1f ms",
			  (double)r->proof.took_ns / NS_PER_MS);
	else
		say_check(SAY_BAD, "Engine", "process: no command could be run");
	if (r->proof.e.code) {
		hint_lines(r->proof.e.msg);
		if (r->proof.e.hint)
			say_hint(r->proof.e.hint);
	}
}

static void report_fixes(const struct args *a, const struct report *r)
{
	if (r->fixes.n == 0) {
		if (args_has(a, "fix"))
			say_note("Nothing to repair.");
		return;
	}
	/* doctor runs none of these commands, because each changes the machine or the login
	 * session */
	say_note(args_has(a, "fix") ? "cordon cannot repair any of this itself; to get more, run:"
				    : "To get more:");
	for (size_t i = 0; i < r->fixes.n; i++)
		say_hint(r->fixes.v[i]);
}

static void report_machine(const struct home *h)
{
	struct utsname u;

	say_info("Version", "cordon %s",
		 CORDON_VERSION); /* not the version of msb, even if called as msb */
	if (uname(&u) == 0)
		say_info("Machine", "%s %s %s", u.sysname, u.release, u.machine);
	say_info("Caller", "uid %u", (unsigned)geteuid());
	if (h)
		say_info("State", "%s", h->path);
	for (size_t i = 0; h && places_names[i]; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", h->path, places_names[i]);
		AUTO_FREE char *real = realpath(path, NULL);

		if (real && strcmp(path, real) != 0)
			say_info("Elsewhere", "%s in %s", places_names[i], real);
	}
}

/* Checks that every part of the state can be written. Only the part `secrets` may be missing. */
static void report_state(const struct home *h)
{
	for (size_t i = 0; places_names[i]; i++)
		if (faccessat(h->fd, places_names[i], W_OK, AT_EACCESS) < 0 &&
		    (errno != ENOENT || strcmp(places_names[i], "secrets") != 0)) {
			say_check(SAY_BAD, "State", "'%s/%s': %s", h->path, places_names[i],
				  strerror(errno));
			return;
		}
	say_check(SAY_GOOD, "State", "writable");
}

/* Ids of sandboxes, as home_machine_id() makes them. An id may be in both lists. */
struct leftovers {
	struct strv used; /* the sandbox is in this home, or has a group that is not idle */
	struct strv idle; /* the sandbox has an idle group (host/groups.h) */
};

static bool has(const struct strv *l, const char *word)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], word) == 0)
			return true;
	return false;
}

static void note_group(void *arg, const char *id, bool idle)
{
	struct leftovers *l = arg;
	struct strv *list = idle ? &l->idle : &l->used;

	if (!has(list, id))
		strv_add(list, id);
}

/* Finds idle control groups of sandboxes that are not in this home. If the home of such a sandbox
 * is gone, no program removes its groups. */
static void report_leftovers(struct report *r, const struct home *h)
{
	AUTO_SANDBOX_LIST all = { 0 };
	AUTO_BUF names = BUF_INIT(NAMES_MAX_BYTES);
	struct leftovers l = { 0 };
	struct err ignored;
	size_t n = 0;

	if (sandbox_list_load(h, &all, &ignored) < 0)
		return;
	for (size_t i = 0; i < all.n; i++) {
		char id[HOME_ID_BYTES];

		home_machine_id(h, all.item[i].spec.name, id);
		strv_add(&l.used, id);
	}
	for (size_t i = 0; i < all.n_unread; i++) {
		char id[HOME_ID_BYTES];

		home_machine_id(h, all.unread[i].name, id);
		strv_add(&l.used, id);
	}
	groups_find(note_group, &l);
	for (size_t i = 0; i < l.idle.n; i++)
		if (!has(&l.used, l.idle.v[i]))
			buf_addf(&names, "%s-path '*/" GROUPS_PREFIX "%s*'", n++ ? " -o " : "",
				 l.idle.v[i]);
	if (n) {
		AUTO_FREE char *command =
			xasprintf("find /sys/fs/cgroup -depth -type d \\( %s \\) -exec rmdir {} +",
				  buf_str(&names));

		say_check(SAY_SOSO, "Cgroups", "%zu of no sandbox here, without processes", n);
		strv_add(&r->fixes, command);
	}
	strv_done(&l.used);
	strv_done(&l.idle);
}

int cmd_doctor(const struct args *a)
{
	struct report r = { 0 };
	AUTO_FREE char *sandboxes = NULL;
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };

	/* home_open() makes a missing home, even without --fix */
	if (home_open(&home, &e) < 0 || places_follow(&home, &e) < 0) {
		report_machine(home.path[0] ? &home : NULL);
		say_check(SAY_BAD, "State", "%.*s", (int)strcspn(e.msg, "\n"), e.msg);
		hint_lines(strchr(e.msg, '\n') ? strchr(e.msg, '\n') + 1 : "");
		if (e.hint)
			say_hint(e.hint);
		return 1;
	}
	report_machine(&home);
	report_state(&home);
	sandboxes = xasprintf("%s/sandboxes", home.path);
	facts_probe(sandboxes, &r.facts);
	/* the kernel's overlay may work by now: remove the note that the kernel refuses it, and try
	 * again */
	if (home.served != HOME_SERVED_NOTHING &&
	    home_set_served(&home, HOME_SERVED_NOTHING, &e) == 0)
		home.served = HOME_SERVED_NOTHING;
	prove(&home, &r.proof);
	report_walls(&r);
	report_volumes(&r);
	report_root(&r);
	report_limits(&r);
	report_sizes(&r);
	report_kvm(&r);
	report_leftovers(&r, &home);
	report_proof(&r);
	report_fixes(a, &r);
	strv_done(&r.fixes);
	return r.proof.ran ? 0 : 1;
}
