/* Tests the parsers of host/. They read texts of the kernel and files of /etc. */
#include <errno.h>

#include "host/hierarchy.h"
#include "host/idmap.h"
#include "host/mountinfo.h"
#include "host/probe.h"
#include "host/subid.h"
#include "t.h"

static void mount_lines(void)
{
	struct str rest = STR("garbage\n"
			      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 - ext3 "
			      "/dev/root rw,errors=continue\n"
			      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
			      "1 2 3:4 / /x rw\n"
			      "1 2 3:4 / /x rw -\n"
			      "1 2 3:4 / /last rw - tmpfs\n");
	struct mountinfo m;
	char out[16];

	T_TRUE(mountinfo_next(&rest, &m));
	T_TRUE(str_eq(m.root, "/mnt1"));
	T_TRUE(str_eq(m.options, "rw,noatime"));
	T_TRUE(str_eq(m.fstype, "ext3"));
	T_TRUE(str_eq(m.source, "/dev/root"));
	T_TRUE(mountinfo_has_option(m.super, "errors=continue"));
	T_TRUE(!mountinfo_has_option(m.super, "errors"));
	T_INT(mountinfo_unescape(m.point, out, sizeof(out)), 0);
	T_STR(out, "/mnt 2");
	T_INT(mountinfo_unescape(m.point, out, 6), -ENAMETOOLONG);
	T_INT(mountinfo_unescape(m.point, out, 7), 0);
	T_TRUE(mountinfo_next(&rest, &m));
	T_TRUE(str_eq(m.point, "/proc"));
	T_TRUE(mountinfo_next(&rest, &m));
	T_TRUE(str_eq(m.point, "/last"));
	T_TRUE(m.super.n == 0);
	T_TRUE(!mountinfo_next(&rest, &m));
	T_INT(mountinfo_unescape(STR("a\\04"), out, sizeof(out)), 0);
	T_STR(out, "a\\04");
	T_INT(mountinfo_unescape(STR("/a\\000b"), out, sizeof(out)), -EINVAL);
}

static void id_maps(void)
{
	struct idmap m;
	struct idmap_line run;

	T_INT(idmap_parse(STR("         0          0 4294967295\n"), &m), 0);
	T_INT(m.n, 1);
	T_INT(idmap_longest_run(&m, 1, &run), 0);
	T_INT(run.inside, 1);
	T_INT(run.outside, 1);
	T_INT(run.count, 4294967294);
	T_INT(idmap_parse(STR("0 1000 1\n1 100000 65536\n70000 300000 100\n"), &m), 0);
	T_INT(m.n, 3);
	T_INT(idmap_longest_run(&m, 0, &run), 0);
	T_INT(run.inside, 1);
	T_INT(run.count, 65536);
	T_INT(idmap_longest_run(&m, 65530, &run), 0);
	T_INT(run.inside, 70000);
	T_INT(idmap_longest_run(&m, 70099, &run), 0);
	T_INT(run.outside, 300099);
	T_INT(run.count, 1);
	T_INT(idmap_longest_run(&m, 70100, &run), -ENOENT);
	T_INT(idmap_parse(STR(""), &m), 0);
	T_INT(m.n, 0);
	T_INT(idmap_parse(STR("0 0\n"), &m), -EINVAL);
	T_INT(idmap_parse(STR("0 0 0\n"), &m), -EINVAL);
	T_INT(idmap_parse(STR("0 0 1 2\n"), &m), -EINVAL);
	T_INT(idmap_parse(STR("1 0 4294967295\n"), &m), -EINVAL);
	T_INT(idmap_parse(STR("0 -1 1\n"), &m), -EINVAL);
}

static void sub_ids(void)
{
	static const struct str text = { "# comment\n"
					 "alice:100000:65536\n"
					 "bob:165536:1000\n"
					 "1001:300000:65536\n"
					 "bob:400000:70000:9\n"
					 "bob:x:70000\n"
					 "bob:4294967290:65536\n"
					 "bob:500000:70000\n"
					 "carol:600000:10",
					 0 };
	struct str t = str_of(text.p);
	struct subid_range r = { 0 };

	T_INT(subid_pick(t, "alice", 1000, 65536, &r), 0);
	T_INT(r.start, 100000);
	T_INT(r.count, 65536);
	T_INT(subid_pick(t, "bob", 1002, 65536, &r), 0);
	T_INT(r.start, 500000);
	T_INT(subid_pick(t, NULL, 1001, 65536, &r), 0);
	T_INT(r.start, 300000);
	T_INT(subid_pick(t, "carol", 1003, 65536, &r), -ERANGE);
	T_INT(subid_pick(t, "carol", 1003, 10, &r), 0);
	T_INT(subid_pick(t, "ali", 7, 1, &r), -ENOENT);
	T_INT(subid_pick(t, NULL, 7, 1, &r), -ENOENT);
	T_INT(subid_pick(STR(""), "alice", 1000, 1, &r), -ENOENT);
	/* the last id is 2^32 - 2: the kernel reads 2^32 - 1 as "no id" */
	T_INT(subid_pick(STR("a:4294967294:1"), "a", 1, 1, &r), 0);
	T_INT(subid_pick(STR("a:4294967294:2"), "a", 1, 1, &r), -ENOENT);
}

static void cgroups_version_1(void)
{
	struct hierarchy_layout l;

	hierarchy_locate(
		STR("9:name=systemd:/\n8:pids:/\n4:memory:/api/be:ef\n2:cpu,cpuacct:/\n0::/\n"),
		STR("35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
		    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"),
		&l);
	T_INT(l.controller[CONTROLLER_MEMORY].version, 1);
	T_STR(l.controller[CONTROLLER_MEMORY].dir, "/sys/fs/cgroup/memory/api/be:ef");
	T_INT(l.controller[CONTROLLER_CPU].version, 1);
	T_STR(l.controller[CONTROLLER_CPU].dir, "/sys/fs/cgroup/cpu,cpuacct");
	T_INT(l.controller[CONTROLLER_PIDS].version, 0);
	T_INT(l.unified.version, 2);
	T_STR(l.unified.dir, "/sys/fs/cgroup/unified");
}

static void cgroups_version_2(void)
{
	static const struct str mounts =
		STR("30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
	struct hierarchy_layout l;

	hierarchy_locate(STR("0::/user.slice/user-1000.slice/session-3.scope\n"), mounts, &l);
	T_INT(l.unified.version, 2);
	T_STR(l.unified.dir, "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope");
	T_INT(l.controller[CONTROLLER_MEMORY].version, 0);
	hierarchy_locate(STR("0::/a.scope/cordon-callers\n"), mounts, &l);
	/* cordon has moved the caller into the group cordon-callers, so the group above is used */
	T_STR(l.unified.dir, "/sys/fs/cgroup/a.scope");
	hierarchy_locate(STR("0::/cordon-callers\n"), mounts, &l);
	T_STR(l.unified.dir, "/sys/fs/cgroup");
	hierarchy_locate(STR("0::/../sibling\n"), mounts, &l);
	T_INT(l.unified.version, 0);
	hierarchy_locate(STR("0::relative\n"), mounts, &l);
	T_INT(l.unified.version, 0);
	hierarchy_locate(STR(""), STR(""), &l);
	T_INT(l.unified.version, 0);
}

/* Tests a container without a cgroup namespace. Only the container's subtree is mounted, but
 * /proc/self/cgroup has the path on the host. */
static void cgroups_in_a_container(void)
{
	static const struct str mounts =
		STR("50 40 0:30 /docker/other /elsewhere ro - cgroup cgroup rw,pids\n"
		    "51 40 0:30 /docker/ab\\040c /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n");
	struct hierarchy_layout l;

	hierarchy_locate(STR("3:pids:/docker/ab c/inner\n"), mounts, &l);
	T_STR(l.controller[CONTROLLER_PIDS].dir, "/sys/fs/cgroup/pids/inner");
	hierarchy_locate(STR("3:pids:/docker/ab c\n"), mounts, &l);
	T_STR(l.controller[CONTROLLER_PIDS].dir, "/sys/fs/cgroup/pids");
	hierarchy_locate(STR("3:pids:/docker/ab cd\n"), mounts, &l);
	T_INT(l.controller[CONTROLLER_PIDS].version, 0);
}

static void kvm_vendors(void)
{
	T_STR(probe_kvm_vendor("kvm 100 1 kvm_amd, Live 0x0\nkvm_amd 10 0 - Live 0x0\n"),
	      "kvm_amd");
	T_STR(probe_kvm_vendor("kvm_pvm 10 0"), "kvm_pvm");
	T_TRUE(probe_kvm_vendor("kvm 100 1 kvm_intel, Live 0x0\n") == NULL);
	T_TRUE(probe_kvm_vendor("") == NULL);
}

int main(void)
{
	T_RUN(mount_lines);
	T_RUN(id_maps);
	T_RUN(sub_ids);
	T_RUN(cgroups_version_1);
	T_RUN(cgroups_version_2);
	T_RUN(cgroups_in_a_container);
	T_RUN(kvm_vendors);
	return t_end();
}
