"""Tests the limits of memory, processes and CPUs: which limits are enforced, and what cordon says if it cannot enforce
a limit."""

import os
import resource
import shutil
import subprocess

from harness import (COMMAND_SECONDS, CORDON, MODE, USUAL_MODES, CordonTest, cgroup_mounts,
                     limits_of)

EAT = ("/usr/bin/python3", "-c", "x = bytearray(400 << 20)")  # uses 400 MiB of memory


def cgroups_usable():
    return MODE in ("delegated", "session") or \
        MODE == "root" and any(os.access(m, os.W_OK) for m in cgroup_mounts())


class Enforced(CordonTest):
    """Tests in the modes in which cgroups are usable."""

    modes = (*USUAL_MODES, "delegated", "session")

    def setUp(self):
        super().setUp()
        if not cgroups_usable():
            self.not_run("no cgroup is delegated to this user")

    def test_memory_kills_the_command_with_137_and_one_line(self):
        box = self.create("-m", "96M")
        got = box.exec(*EAT)
        self.assertEqual(got.code, 137, got)
        lines = [l for l in got.errtext.splitlines() if "memory limit" in l]
        self.assertEqual(len(lines), 1, got)
        self.assertIn("96", lines[0])
        self.assertEqual(box.out("echo alive"), "alive")

    def test_a_child_killed_for_memory_does_not_end_the_command(self):
        box = self.create("-m", "96M")
        got = box.sh("/usr/bin/python3 -c 'x = bytearray(400 << 20)'; echo after $?")
        self.assertIn("after 137", got.text, got)
        self.assertEqual(box.out("echo alive"), "alive")

    def test_the_kernel_does_not_kill_pid_1_for_memory(self):
        """Files in memory belong to no process. So when files fill the memory, all processes are
        small, and the kernel could kill any of them."""
        box = self.create("-m", "64M", "--tmpfs", "/t:1G")
        before = box.supervisor().pid
        for i in range(3):
            self.assertEqual(box.sh(f"exec dd if=/dev/zero of=/t/{i} bs=64k").code, 137)
        self.assertEqual((box.status(), box.supervisor().pid), ("Running", before))

    def test_tmpfs_counts_as_memory(self):
        box = self.create("-m", "96M", "--tmpfs", "/t:1G")
        got = box.sh("head -c 400m /dev/zero > /t/f")
        self.assertNotEqual(got.code, 0)
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("ls /t; echo alive"), "alive")

    def test_pids(self):
        box = self.create("--pids-limit", "40")
        box.sh("i=0; while [ $i -lt 100 ]; do sleep 900 >/dev/null 2>&1 & i=$((i+1)); done")
        self.assertLess(len(box.host_processes()), 50)
        box.sh("kill -9 -1")
        self.eventually(lambda: box.sh("echo alive").text == "alive\n")

    def test_commands_run_with_a_pids_limit_of_one(self):
        """The limit must not count cordon's own processes, however many commands ran before."""
        box = self.create("--pids-limit", "1")
        for _ in range(5):
            self.assertEqual(box.exec("echo", "alive").text, "alive\n")

    def test_default_pids_limit_holds_a_fork_bomb(self):
        box = self.create()
        proc = box.popen("sh", "-c", "f() { f | f & }; f; echo bombed")
        proc.stdout.readline()
        self.assertLess(len(box.host_processes()), 1100)
        proc.kill()
        proc.wait()
        self.assertEqual(box.stop("-f").code, 0)

    def test_cpus(self):
        box = self.create("-c", "1")
        script = ("import os,time,multiprocessing as m\n"
                  "def f():\n e=time.time()+2.0\n while time.time()<e: pass\n"
                  "ps=[m.Process(target=f) for _ in range(2)]\n"
                  "[p.start() for p in ps]; [p.join() for p in ps]\n"
                  "t=os.times(); print(t.children_user+t.children_system)")
        used = float(box.exec("/usr/bin/python3", "-c", script).text)
        self.assertLess(used, 3)  # two CPUs would give four seconds of CPU time

    def test_part_of_a_cpu(self):
        box = self.create("--cpus", "0.25")
        self.assertEqual(limits_of(self.home)["cpus"], 0.25)
        self.assertTrue(box.inspect()["limits"]["cpus"].startswith("cgroup"))
        self.assertEqual(box.inspect()["config"]["resources"]["cpus"], 0.25)
        self.assertRegex(self.cordon("inspect", box.name).text, r"CPUs: +0\.25 / 0\.25\n")
        self.assertIn(" 0.25 / 0.25 ", self.cordon("status", box.name).text)
        self.assertEqual(self.cordon("status", box.name, "--format", "json").json()["cpus"], 0.25)
        self.assertEqual(self.cordon("metrics", box.name, "--format", "json").json()["cpus"], 0.25)
        self.assertIn("/ 0.25c", self.cordon("metrics", box.name).text)

    def test_part_of_a_cpu_survives_start_and_changes_live(self):
        box = self.create("--cpus", "0.1", "--max-cpus", "1.5")
        box.stop()
        box.start()
        self.assertEqual(limits_of(self.home)["cpus"], 0.1)
        got = self.cordon("modify", box.name, "--cpus", "1.5", "--format", "json")
        self.assertEqual(got.code, 0, got)
        change = got.json()["changes"][0]
        self.assertEqual((change["before"], change["after"], change["disposition"]),
                         (0.1, 1.5, "live"))
        self.assertEqual(limits_of(self.home)["cpus"], 1.5)
        self.assertEqual(box.inspect()["config"]["resources"]["cpus"], 1.5)
        self.assertIn("1.6", self.cordon("modify", box.name, "--cpus", "1.6").errtext)

    def test_soft_limits_hold_with_cgroups(self):
        box = self.create("-m", "96M", "--cpus", "0.25", "--pids-limit", "40", "--soft-limits")
        self.assertEqual(box.exec(*EAT).code, 137)
        self.assertEqual(limits_of(self.home), {"cpus": 0.25, "memory": 96 << 20, "pids": 40})
        self.assertNotIn("not enforced", [box.inspect()["limits"][k]
                                          for k in ("memory", "cpus", "pids")])

    def test_limits_survive_start(self):
        box = self.create("-m", "96M")
        box.stop()
        box.start()
        self.assertEqual(box.exec(*EAT).code, 137)

    def test_inspect_shows_enforced_limits(self):
        text = self.cordon("inspect", self.create("-m", "96M").name).text
        memory = [line for line in text.splitlines() if "96 MiB" in line]
        self.assertEqual(len(memory), 1, text)
        self.assertNotIn("not enforced", memory[0])

    def test_a_neighbour_is_not_hurt_by_a_memory_bomb(self):
        box, neighbour = self.create("-m", "96M"), self.create()
        bomb = box.popen("sh", "-c", "while :; do /usr/bin/python3 -c 'x=bytearray(400<<20)'; done",
                         stderr=subprocess.DEVNULL)
        for _ in range(10):
            self.assertEqual(neighbour.exec("echo", "fine").text, "fine\n")
        bomb.kill()
        bomb.wait()


class Seen(CordonTest):
    """The sandbox has a read-only mount of its own cgroups, so programs in it can find their limits."""

    modes = (*USUAL_MODES, "delegated", "session")
    FIND = "find /sys/fs/cgroup -mindepth 1"

    def setUp(self):
        super().setUp()
        if not cgroups_usable():
            self.not_run("no cgroup is delegated to this user")

    def needs(self, program):
        if not shutil.which(program, path="/usr/bin:/bin"):
            self.not_run(f"{program} is not installed")

    def memory(self, box):
        return int(box.out("cat /sys/fs/cgroup/memory.max 2>/dev/null || "
                           "cat /sys/fs/cgroup/memory/memory.limit_in_bytes"))

    def test_memory_and_cpus_are_in_the_files(self):
        box = self.create("-m", "96M", "-c", "1")
        self.assertEqual(self.memory(box), 96 << 20)
        self.assertEqual(box.out("cat /sys/fs/cgroup/cpu.max 2>/dev/null || "
                                 "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us").split()[0], "100000")

    def test_a_change_is_seen_at_once(self):
        box = self.create("-m", "96M", "--max-memory", "128M")
        self.assertEqual(self.cordon("modify", box.name, "-m", "128M").code, 0)
        self.assertEqual(self.memory(box), 128 << 20)

    def test_later_commands_and_a_second_start_see_them_too(self):
        box = self.create("-m", "96M")
        # pid 1 itself starts the first two commands, and a launcher (guest/launcher.h) starts the later ones
        for _ in range(4):
            self.assertEqual(self.memory(box), 96 << 20)
        box.stop()
        box.start()
        self.assertEqual(self.memory(box), 96 << 20)

    def test_node_takes_its_heap_from_the_limit(self):
        self.needs("node")
        script = "console.log(v8.getHeapStatistics().heap_size_limit >> 20)"
        small, large = (int(self.create("-m", size).exec("node", "-e", script).text)
                        for size in ("512M", "1G"))
        self.assertLess(small, 300)
        self.assertGreater(large, small + 200)

    def test_java_takes_heap_and_processors_from_the_limits(self):
        self.needs("java")
        box = self.create("-m", "512M", "-c", "1")
        flags = box.out("java -XX:+PrintFlagsFinal -version 2>/dev/null")
        self.assertRegex(flags, r"\bMaxHeapSize += 134217728 ")
        shown = box.sh("java -XshowSettings:system -version 2>&1")
        self.assertEqual(shown.code, 0, shown)  # Java fails if it cannot read a file of the cgroups
        self.assertIn("Memory Limit: 512.00M", shown.text)
        self.assertIn("Effective CPU Count: 1", shown.text)

    def test_nothing_there_can_be_changed(self):
        box = self.create("-m", "96M")
        before = limits_of(self.home)
        got = box.exec("/usr/bin/python3", "-c", """if 1:
            import os
            worked, seen = [], 0
            def attempt(what, call, *args):
                try:
                    call(*args)
                    worked.append(what)
                except OSError:
                    pass
            for top, dirs, files in os.walk("/sys/fs/cgroup"):
                for name in files:
                    path = os.path.join(top, name)
                    seen += 1
                    attempt(path, os.open, path, os.O_WRONLY)
                    attempt(path, os.open, path, os.O_RDWR | os.O_TRUNC)
                    attempt(path, os.chmod, path, 0o666)
                    attempt(path, os.chown, path, 0, 0)
                    attempt(path, os.unlink, path)
                for what in [top] + [os.path.join(top, d) for d in dirs]:
                    attempt(what, os.mkdir, os.path.join(what, "new"))
                    attempt(what, os.chmod, what, 0o777)
                    attempt(what, os.chown, what, 0, 0)
                    attempt(what, os.rmdir, what)
                    attempt(what, os.rename, what, what + "x")
                    attempt(what, os.setxattr, what, "user.a", b"b")
            print(worked, seen > 20)
            """)
        self.assertEqual((got.code, got.text), (0, "[] True\n"), got)
        box.sh("for m in /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,rw $m; "
               "mount -o remount,rw,bind $m; umount $m; done")
        self.assertNotEqual(box.sh("cd /sys/fs/cgroup/memory 2>/dev/null || cd /sys/fs/cgroup; "
                                   "echo 0 > cgroup.procs").code, 0)
        self.assertEqual(limits_of(self.home), before)

    def test_no_other_group_is_seen(self):
        box, other = self.create("-m", "96M"), self.create("-m", "80M")
        for one in (box, other):
            self.assertEqual(one.out(f"{self.FIND} -name 'cordon*' -o -name release_agent; "
                                     "ls -d /sys/fs/cgroup/*/../*/../cordon* 2>/dev/null; true"), "")
            self.assertNotIn("cordon", one.out("grep cgroup /proc/self/mountinfo; "
                                               "cat /proc/self/cgroup"))
        other.exec("sleep", "0")
        self.assertEqual((self.memory(box), self.memory(other)), (96 << 20, 80 << 20))

    def test_the_callers_cpus_stay_the_callers(self):
        if MODE != "root" or len(os.sched_getaffinity(0)) < 2:
            self.not_run("this machine has one CPU, or the caller is not root")
        cpu = min(os.sched_getaffinity(0))
        got = subprocess.run(["taskset", "-c", str(cpu), CORDON, "run", "-q", "-c", "2", "host", "--",
                              "nproc"], env=self.environment(), capture_output=True, text=True,
                             cwd=self.dir, timeout=COMMAND_SECONDS)
        self.assertEqual((got.returncode, got.stdout), (0, "1\n"), got)


class Unprivileged(CordonTest):
    """Tests as an ordinary user to whom no cgroup is delegated, as is usual after a login."""

    modes = ("user", "bare", "userns")

    def test_explicit_memory_is_a_limit_per_process_and_a_warning(self):
        box = self.box()
        got = self.cordon("create", "-n", box.name, "-m", "128M", "host")
        self.assertEqual(got.code, 0, got)
        self.assertEqual(got.errtext.count("warn: "), 1, got)
        self.assertEqual(box.out("ulimit -d"), str(128 << 10))
        self.assertIn("per process", self.cordon("inspect", box.name).text)
        got = self.cordon("run", "-m", "128M", "host", "--", "sh", "-c", "ulimit -d")
        self.assertEqual((got.code, got.text), (0, f"{128 << 10}\n"), got)
        self.assertEqual(got.errtext.count("warn: "), 1, got)

    def test_quiet_hides_the_warning(self):
        got = self.cordon("create", "-q", "-n", "x", "-m", "128M", "host")
        self.assertEqual((got.code, got.err), (0, b""), got)
        got = self.cordon("run", "-q", "-m", "128M", "host", "--", "true")
        self.assertEqual((got.code, got.err), (0, b""), got)

    def test_default_memory_is_shown_as_not_enforced(self):
        box = self.create()
        self.assertEqual(box.out("ulimit -d; ulimit -v"), "unlimited\nunlimited")
        self.assertIn("not enforced", self.cordon("inspect", box.name).text)

    def test_pids_by_nproc(self):
        box = self.create("--pids-limit", "50")
        box.sh("i=0; while [ $i -lt 100 ]; do sleep 100 >/dev/null 2>&1 & i=$((i+1)); done")
        self.assertLess(len(box.host_processes()), 60)
        box.sh("kill -9 -1")
        self.eventually(lambda: box.sh("echo alive").text == "alive\n")

    def test_cpus_by_affinity_when_asked(self):
        wanted = len(os.sched_getaffinity(0))
        self.assertEqual(self.create().out("nproc"), str(wanted))
        self.assertEqual(self.create("--cpus", "1").out("nproc"), "1")

    def test_part_of_a_cpu_is_refused(self):
        for words in (("create", "-n", "x", "--cpus", "0.5", "host"),
                      ("run", "--cpus", "1.5", "host", "--", "true")):
            got = self.cordon(*words)
            self.assertEqual(got.code, 1, got)
            self.assertIn(f"--cpus {words[-2] if words[0] == 'create' else '1.5'}", got.errtext)
            self.assertIn("control group", got.errtext)
        self.assertEqual(self.names(), [])
        self.eventually(lambda: not self.left_running())

    def test_modify_to_part_of_a_cpu_is_refused_without_a_cgroup(self):
        box = self.create("--cpus", "1")
        for more in ((), ("--next-start",), ("--restart",)):
            got = self.cordon("modify", box.name, "--cpus", "0.5", *more)
            self.assertEqual(got.code, 1, got)
            self.assertIn("--cpus 0.5", got.errtext)
        self.assertEqual((box.stop().code, box.start().code), (0, 0))
        self.assertEqual(box.inspect()["config"]["resources"]["cpus"], 1)

    def test_a_configured_part_of_a_cpu_is_shown_as_not_enforced(self):
        os.makedirs(self.home, 0o700, exist_ok=True)
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            handle.write('{"sandbox_defaults": {"cpus": 0.5}}')
        box = self.create()
        self.assertEqual(box.inspect()["config"]["resources"]["cpus"], 0.5)
        self.assertEqual(box.inspect()["limits"]["cpus"], "not enforced")

    def test_soft_limits_are_shown_and_cause_no_warning(self):
        box = self.box()
        got = self.cordon("create", "-n", box.name, "-m", "128M", "--cpus", "0.5", "--pids-limit",
                          "50", "--soft-limits", "host")
        self.assertEqual((got.code, got.errtext.count("warn")), (0, 0), got)
        limits = box.inspect()["limits"]
        self.assertEqual((limits["memory"], limits["cpus"], limits["pids"]),
                         ("not enforced", "not enforced", "user namespace"))
        self.assertEqual(box.out("ulimit -d; nproc"),
                         f"unlimited\n{len(os.sched_getaffinity(0))}")
        self.assertTrue(box.inspect()["config"]["resources"]["soft_limits"])
        self.assertIn("Limits (soft):", self.cordon("inspect", box.name).text)
        box.sh("i=0; while [ $i -lt 100 ]; do sleep 100 >/dev/null 2>&1 & i=$((i+1)); done")
        self.assertLess(len(box.host_processes()), 60)
        got = self.cordon("run", "-m", "128M", "--cpus", "1.5", "--soft-limits", "host", "--",
                          "sh", "-c", "ulimit -d")
        self.assertEqual((got.code, got.text, got.err), (0, "unlimited\n", b""), got)

    def test_soft_limits_by_configuration_file(self):
        conf = os.path.join(self.dir, "c.yaml")
        with open(conf, "w") as handle:
            handle.write("image: host\ncpus: 0.5\npids_limit: 77\nsoft_limits: true\n")
        box = self.box()
        self.assertEqual(self.cordon("create", "-n", box.name, "--conf", conf).code, 0)
        resources = box.inspect()["config"]["resources"]
        self.assertEqual((resources["cpus"], resources["pids_limit"], resources["soft_limits"]),
                         (0.5, 77, True))

    def test_doctor_prints_the_command_that_delegates(self):
        got = self.built(self.cordon("doctor"))
        self.assertIn("systemd-run --user --scope -p Delegate=yes", got.errtext, got)

    def test_a_caller_with_lower_limits_than_the_defaults(self):
        """Machines with many users set low limits for each user. A sandbox must start although the
        caller's limits are lower than the limits of the sandbox."""
        few = 1000  # limit of all processes of this user
        sanitized = "ASAN_OPTIONS" in os.environ  # sanitizers reserve more memory than any data limit allows

        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (few, few))
            if not sanitized:
                resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))

        got = self.finish(self.spawn("run", "--quiet", "--memory", "2G", "host", "--", "cat",
                                     "/proc/self/limits", preexec_fn=limit))
        self.assertEqual(got.code, 0, got)
        self.assertRegex(got.text, rf"Max processes +{few} +{few} ")
        if not sanitized:
            self.assertRegex(got.text, rf"Max data size +{1 << 30} +{1 << 30} ")


class Doctor(CordonTest):
    def test_proves_that_sandboxes_run(self):
        got = self.built(self.cordon("doctor"))
        self.assertEqual((got.code, got.out), (0, b""), got)
        self.assertRegex(got.errtext, r"(?m)^info \S.*: ")
        self.assertRegex(got.errtext, r"(?m)^   [✓!✗] ")
        self.assertIn("process", got.errtext)
        self.assertEqual(self.names(), [])

    def test_leaves_nothing_running(self):
        self.built(self.cordon("doctor"))
        self.eventually(lambda: not self.left_running())

    def test_self_doctor_and_self_check_are_the_same(self):
        for words in (("self", "doctor"), ("self", "check")):
            self.assertEqual(self.built(self.cordon(*words)).code, 0)

    def test_bad_home_is_a_failure(self):
        path = os.path.join(self.dir, "file")
        open(path, "w").close()
        got = self.built(self.cordon("doctor", home=path))
        self.homes.remove(path)
        self.assertEqual(got.code, 1, got)
