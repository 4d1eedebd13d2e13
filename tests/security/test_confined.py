"""Tests which privileges our own processes keep after their set-up. tests/unit/supervisor_confine.c attacks the
confinement itself; these tests look at the installed programs from outside."""

import os
import re
import shutil
import socket
import subprocess

import attack  # noqa: F401  (sets the path)
from harness import ALL_MODES, CORDON, MODE, CordonTest, below

CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, KILL, SETGID, SETUID = (1 << n for n in (0, 1, 2, 3, 5, 6, 7))
NET_BIND_SERVICE, SYS_PTRACE, SYS_ADMIN = 1 << 10, 1 << 19, 1 << 21
ROOTS = ("root", "userns", "container")  # modes in which the supervisor begins with capabilities
LIBEXEC = os.path.join(os.path.dirname(os.path.dirname(CORDON)), "libexec", "cordon")


def capabilities(p):
    """Returns the effective capabilities. The permitted set must be the same. The inheritable and ambient sets must
    be empty."""
    sets = {key: int(p.status(key)[0], 16) for key in ("CapEff", "CapPrm", "CapInh", "CapAmb")}
    assert sets["CapEff"] == sets["CapPrm"] and not sets["CapInh"] and not sets["CapAmb"], sets
    return sets["CapEff"]


class Supervisor(CordonTest):
    modes = ALL_MODES

    def check(self, box, most):
        p = box.supervisor()
        kept = capabilities(p)
        self.assertEqual(kept & ~most, 0, f"{kept:x}")
        if MODE == "root":
            self.assertEqual(kept, most, f"{kept:x}")
        elif MODE not in ROOTS:
            self.assertEqual(kept, 0)
        self.assertEqual(p.status("NoNewPrivs"), ["1"])
        if "ASAN_OPTIONS" not in os.environ:  # a build with sanitizers has no filter
            self.assertEqual(p.status("Seccomp"), ["2"])

    def test_without_a_network_the_supervisor_keeps_three_capabilities(self):
        self.check(self.create("--no-net"), DAC_OVERRIDE | FOWNER | KILL)

    def test_with_a_network_the_supervisor_can_start_a_gateway(self):
        self.check(self.create(), DAC_OVERRIDE | FOWNER | SETUID | SETGID | KILL)

    def test_with_a_port_the_supervisor_can_publish_it(self):
        self.check(self.create("-p", "0:8080"),
                   DAC_OVERRIDE | FOWNER | SETUID | SETGID | KILL | NET_BIND_SERVICE)

    def test_a_second_start_is_confined_too(self):
        box = self.create("--no-net")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.check(box, DAC_OVERRIDE | FOWNER | KILL)
        self.assertEqual(box.exec("echo", "up").text, "up\n")


class Life(CordonTest):
    """Tests what a confined supervisor must still be able to do. The harness checks that an ended sandbox leaves
    nothing behind."""

    modes = ALL_MODES

    def test_logs_rotation_and_state_are_written(self):
        """Output of a command that outlived its client is logged by the supervisor."""
        box = self.create("--no-net")
        box.out("(yes 2>/dev/null) & echo")
        log = os.path.join(self.home, "sandboxes", box.name, "logs", "exec.log")
        first = os.stat(log).st_ino
        self.eventually(lambda: os.path.exists(log) and os.stat(log).st_ino != first, within=30)
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.status(), "Stopped")

    def test_limits_change_while_the_sandbox_runs(self):
        box = self.create("--no-net", "--memory", "128M")
        if "cgroup" not in str(box.inspect()["limits"]):
            self.not_run("no cgroup is delegated to this user")
        got = box.cordon("modify", box.name, "--memory", "64M")
        self.assertEqual(got.code, 0, got)

    def test_an_ephemeral_sandbox_leaves_no_record(self):
        got = self.cordon("run", "--no-net", "host", "--", "sh", "-c",
                          "mkdir -p /root/d && chmod 1777 /root/d && touch /root/d/f")
        self.assertEqual(got.code, 0, got)
        self.eventually(lambda: os.listdir(os.path.join(self.home, "sandboxes")) == [])

    def test_mount_points_in_a_root_directory_are_removed(self):
        root = self.make_root("sh")
        before = sorted(os.listdir(root))
        box = self.create("--no-net", image=root)
        self.assertEqual(box.exec("/bin/sh", "-c", "echo in").text, "in\n")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(sorted(os.listdir(root)), before)


class Launcher(CordonTest):
    modes = ALL_MODES

    def test_the_launcher_can_only_change_its_ids(self):
        box = self.create()
        for _ in range(3):
            box.out("true")
        found = [p for p in box.host_processes() if p.comm == "cordon-guest" and not p.is_pid1]
        self.assertEqual(len(found), 1, box.host_processes())
        # the launcher may still be setting itself up
        self.eventually(lambda: capabilities(found[0]) == SETUID | SETGID)
        self.assertEqual(found[0].status("Seccomp_filters"), ["2"])


class Pid1(CordonTest):
    modes = ALL_MODES

    def check(self, p, watched):
        kept = capabilities(p)
        watches = SYS_PTRACE | DAC_READ_SEARCH if watched else 0  # needed to read how much each process wrote
        if kept & SYS_ADMIN:  # without cgroups pid 1 needs more capabilities to tell the processes of commands apart
            self.assertEqual(kept, CHOWN | SYS_ADMIN | SYS_PTRACE | KILL | watches)
            self.assertFalse(any("cordon-" in g for g in p.cgroups()), p.cgroups())
        else:
            self.assertEqual(kept, CHOWN | watches)
        self.assertGreaterEqual(int(p.status("Seccomp_filters")[0]), 1)

    def test_pid_1_is_confined_before_the_first_command(self):
        box = self.create()
        self.eventually(lambda: box.pid1().status("Seccomp") == ["2"])
        self.check(box.pid1(), box.inspect()["limits"]["root_disk"] == "watched")

    def test_pid_1_is_confined_when_started_by_run(self):
        """`run` passes its connection on to pid 1. Pid 1 installs its filter while the command starts."""
        run = self.spawn("run", "--no-net", "host", "--", "sh", "-c", "echo up; read x",
                         stdin=subprocess.PIPE)
        self.assertEqual(run.stdout.readline(), b"up\n")
        pid1 = [p for p in below([run.pid]) if p.is_pid1]
        if not pid1:  # the supervisor has left the tree of `run`, but not the tree of this test
            pid1 = [p for p in below([os.getpid()]) if p.is_pid1]
        self.assertEqual(len(pid1), 1)
        self.eventually(lambda: pid1[0].status("Seccomp") == ["2"])
        self.check(pid1[0], watched=False)  # the layer of a run is in memory
        run.communicate(b"\n", timeout=10)

    def test_the_filter_of_pid_1_takes_nothing_from_commands(self):
        """Commands inherit the filter of pid 1, so it must allow what commands may do."""
        got = self.create().exec("sh", "-c", "chroot / true && mkfifo /tmp/f && echo fine")
        self.assertEqual((got.code, got.text), (0, "fine\n"), got)


class Order(CordonTest):
    """Checks with strace that the supervisor is confined before it reads the first byte from pid 1."""

    modes = ("root",)  # an ordinary user needs newuidmap, and under strace no set-user-id program works

    def trace(self, *opts):
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        out = os.path.join(self.dir, "trace")
        name = "traced"
        # strace lives as long as the supervisor, so it must not hold a pipe of this test
        got = subprocess.run(["strace", "-f", "-qq", "-o", out, "-D", "--", CORDON, "create", "--quiet",
                              "--name", name, *opts, "host"], env=self.environment(),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, timeout=60)
        self.assertEqual(got.returncode, 0)
        box = self.box(name)
        with open(out) as handle:
            text = handle.read()
        self.assertEqual(box.remove("-f").code, 0)
        mine = re.search(r'^(\d+) +execve\("[^"]*/cordon-supervisor"', text, re.M)
        self.assertIsNotNone(mine, "no supervisor was started")
        return [line.split(None, 1)[1] for line in text.splitlines() if line.startswith(mine[1] + " ")]

    def at(self, lines, pattern):
        found = [i for i, line in enumerate(lines) if re.match(pattern, line)]
        self.assertTrue(found, pattern)
        return found

    def test_the_supervisor_is_confined_before_it_reads(self):
        for opts in ((), ("--no-net",)):
            with self.subTest(opts=opts):
                lines = self.trace(*opts)
                wait = self.at(lines, r"epoll_p?wait\(")[0]
                walls = [r"capset\(", r"prctl\(PR_SET_NO_NEW_PRIVS"]
                if "ASAN_OPTIONS" not in os.environ:  # a build with sanitizers has no filter
                    walls.append(r"seccomp\(SECCOMP_SET_MODE_FILTER")
                for wall in walls:
                    self.assertLess(self.at(lines, wall)[0], wait)
                if any("LANDLOCK_CREATE_RULESET_VERSION) = " in line and "-1" not in line
                       for line in lines):
                    self.assertLess(self.at(lines, r"landlock_restrict_self\(")[0], wait)


class Helpers(CordonTest):
    """Tests programs that serve one command and then end."""

    def walls(self, argv, **kwargs):
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        out = os.path.join(self.dir, "trace")
        got = subprocess.run(["strace", "-f", "-qq", "-e",
                              "trace=capset,seccomp,landlock_restrict_self,prctl,chroot", "-o", out, *argv],
                             capture_output=True, timeout=60, env=self.environment(), **kwargs)
        with open(out) as handle:
            return got, handle.read()

    def test_the_yaml_parser_is_confined(self):
        got, seen = self.walls([os.path.join(LIBEXEC, "cordon-yaml")], input=b"a: [1, x]\n")
        self.assertEqual((got.returncode, got.stdout), (0, b'{"a":[1,"x"]}'), got)
        self.assert_walls(seen)

    def test_the_log_reader_is_confined(self):
        box = self.create("--no-net")
        box.out("echo shown")
        got, seen = self.walls([CORDON, "logs", box.name, "--grep", "s.own"])
        self.assertEqual((got.returncode, got.stdout), (0, b"shown\n"), got)
        self.assert_walls(seen)

    def test_the_search_is_confined(self):
        work = os.path.join(self.dir, "work")
        os.mkdir(work)
        with open(os.path.join(work, "file"), "w", encoding="utf-8") as handle:
            handle.write("needle\n")
        got, seen = self.walls([CORDON, "tool", "--workspace", work, "grep", '{"pattern": "n.edle"}'])
        self.assertEqual(got.returncode, 0, got)
        self.assertIn(b'"line": 1', got.stdout)
        self.assert_walls(seen, keeps=r"1<<CAP_DAC_READ_SEARCH")

    def test_the_skill_worker_is_confined(self):
        ours, theirs = socket.socketpair()
        ours.shutdown(socket.SHUT_WR)
        with ours, theirs:
            got, seen = self.walls([os.path.join(LIBEXEC, "cordon-skills"), os.path.join(self.dir, "skills")],
                                   stdin=theirs)
            self.assertEqual((got.returncode, got.stderr), (0, b""), got)
            self.assertIn(b'{"ok":true', ours.recv(4096))
        self.assert_walls(seen, keeps=r"1<<CAP_CHOWN\|1<<CAP_DAC_OVERRIDE\|1<<CAP_FOWNER")
        if MODE in ROOTS:
            self.assertRegex(seen, r"chroot\(\".\"\) += 0")

    def assert_walls(self, seen, keeps="0"):
        self.assertRegex(seen, r"prctl\(PR_SET_NO_NEW_PRIVS, 1")
        if MODE in ROOTS:
            self.assertRegex(seen, rf"capset\(.*effective={keeps}, permitted={keeps}, inheritable=0")
        self.assertRegex(seen, r"landlock_restrict_self\(.*= 0")
        if "ASAN_OPTIONS" not in os.environ:
            self.assertRegex(seen, r"seccomp\(SECCOMP_SET_MODE_FILTER.*= 0")
