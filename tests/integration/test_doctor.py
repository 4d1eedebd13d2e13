"""Tests `doctor`: what it proves, what it prints, and what it leaves behind."""

import os
import re
import signal
import subprocess

from harness import ALL_MODES, CORDON, MODE, MSB, CordonTest, below, cgroup_mounts

MARKED = re.compile(r"   [✓!✗] \S.{11} \S")


class Doctor(CordonTest):
    modes = ALL_MODES

    def test_every_line_has_its_shape(self):
        got = self.cordon("doctor")
        self.assertEqual((got.code, got.out), (0, b""), got)
        lines = got.errtext.splitlines()
        infos = [i for i, line in enumerate(lines) if line.startswith("info ")]
        self.assertEqual(infos, list(range(len(infos))), got)
        self.assertGreaterEqual(len(infos), 3, got)
        checks = [line for line in lines if MARKED.match(line)]
        self.assertGreater(len(checks), 8, got)
        others = set(lines) - set(checks) - set(lines[:len(infos)]) - {"To get more:"}
        self.assertEqual([o for o in others if not o.startswith("  → ")], [], got)

    def test_names_each_fix_once(self):
        fixes = [line for line in self.cordon("doctor").errtext.splitlines()
                 if line.startswith("  → ")]
        self.assertEqual(len(fixes), len(set(fixes)), fixes)

    def test_says_how_limits_hold_as_inspect_does(self):
        held = self.create().inspect()["limits"]
        text = self.cordon("doctor").errtext
        for check, key in (("Memory", "memory"), ("CPUs", "cpus"), ("Processes", "pids")):
            line = re.search(rf"(?m)^   (.) {check} +(.*)$", text)
            self.assertIsNotNone(line, text)
            self.assertIn(held[key], line[2])
            self.assertEqual(line[1] == "✓", held[key].startswith(("cgroup", "user namespace")), text)

    def test_doctor_reports_no_failure_where_create_works(self):
        """A caller with one id, or root of a container, needs no idmapped mounts. So doctor does not report that they
        are missing."""
        self.create()
        got = self.cordon("doctor")
        self.assertNotIn("✗", got.errtext)
        if MODE != "root":
            self.assertRegex(got.errtext, r"(?m)^   ✓ Volumes      your files are root's inside$")

    def test_version_is_ours_under_both_names(self):
        line, = {self.cordon("doctor", program=p).errtext.splitlines()[0] for p in (CORDON, MSB)}
        self.assertEqual(line, "info Version: " + self.cordon("--version").text.strip())

    def test_says_which_engine_and_what_kvm_is(self):
        text = self.cordon("doctor").errtext
        self.assertRegex(text, r"(?m)^   ✓ Engine       process: ran a command")
        self.assertRegex(text, r"(?m)^   [✓!] KVM +\S")

    def test_makes_a_missing_home(self):
        home = os.path.join(self.dir, "fresh")
        got = self.cordon("doctor", "--fix", "-y", home=home)
        self.assertEqual(got.code, 0, got)
        self.assertEqual(os.stat(home).st_mode & 0o777, 0o700)

    def test_leaves_no_sandbox(self):
        self.cordon("doctor")
        self.assertEqual(self.names(), [])
        records = os.path.join(self.home, "sandboxes")
        self.eventually(lambda: os.listdir(records) == [])


class OneId(CordonTest):
    modes = ("bare",)

    def test_the_advice_names_no_ids_of_another_user(self):
        """On most machines the first user has the range at 100000, so the advice must not name this range."""
        text = self.cordon("doctor").errtext
        self.assertIn("usermod --add-subuids FIRST-LAST", text)
        self.assertNotIn("100000", text)


class Leftovers(CordonTest):
    """If the home of a killed supervisor was deleted, no later command removes the supervisor's control groups. doctor
    names them."""

    modes = ("root",)

    def group(self):
        for mount in cgroup_mounts():
            if os.path.basename(mount) in ("cgroup", "unified", "pids") and os.access(mount, os.W_OK) \
                    and os.path.exists(os.path.join(mount, "cgroup.procs")):
                path = os.path.join(mount, f"cordon-{os.urandom(8).hex()}")
                os.makedirs(os.path.join(path, "init"))
                self.addCleanup(lambda: [os.path.isdir(p) and os.rmdir(p)
                                         for p in (os.path.join(path, "init"), path)])
                return path
        self.not_run("no cgroup of this machine can be written")

    def advice(self, path):
        return [line[4:] for line in self.cordon("doctor").errtext.splitlines()
                if line.startswith("  → ") and os.path.basename(path) in line]

    def test_leftover_groups_are_named_with_the_command_that_removes_them(self):
        path = self.group()
        self.assertEqual(self.advice(path), [], "it may belong to a sandbox that starts")
        os.utime(path, (0, 0))
        for group in (path, os.path.join(path, "init")):
            inside = subprocess.Popen(["sleep", "600"])
            self.spawned.append(inside)
            with open(os.path.join(group, "cgroup.procs"), "w") as handle:
                handle.write(str(inside.pid))
            self.assertEqual(self.advice(path), [])
            inside.kill()
            inside.wait()
        command, = self.eventually(lambda: self.advice(path))
        # the test must not remove leftovers of other test runs
        command = re.sub(rf"-path '\*/cordon-(?!{path[-16:]})\w+\*'", "-false", command)
        subprocess.run(["sh", "-c", command], check=True)
        self.assertFalse(os.path.exists(path))

    def test_groups_of_sandboxes_of_this_home_are_not_named(self):
        box = self.create()
        self.remember_cgroups(box)
        pid1 = box.pid1()
        os.kill(box.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not any(p.state != "Z" for p in below([pid1.pid])))
        mine = {re.search("cordon-[0-9a-f]{16}", g)[0] for g in self.cgroups}
        self.assertTrue(mine)
        for group in self.cgroups:
            top = re.match(".*cordon-[0-9a-f]{16}", group)[0]
            if os.path.isdir(top):
                os.utime(top, (0, 0))
        text = self.cordon("doctor").errtext
        for name in mine:
            self.assertNotIn(name, text)
        box.remove("-f")


class Broken(CordonTest):
    def test_a_home_with_foreign_files_is_a_failure(self):
        home = os.path.join(self.dir, "full")
        os.mkdir(home)
        open(os.path.join(home, "precious"), "w").close()
        got = self.cordon("doctor", home=home)
        self.homes.remove(home)
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertRegex(got.errtext, r"(?m)^   ✗ State +\S")
        self.assertIn("CORDON_HOME", got.errtext)
        self.assertEqual(os.listdir(home), ["precious"])


class Locked(CordonTest):
    modes = ("user", "bare")  # root can write everywhere

    def test_a_home_in_a_directory_without_permission_is_a_failure(self):
        parent = os.path.join(self.dir, "locked")
        os.mkdir(parent, 0o500)
        got = self.cordon("doctor", home=os.path.join(parent, "home"))
        self.homes.remove(os.path.join(parent, "home"))
        self.assertEqual(got.code, 1, got)
        self.assertRegex(got.errtext, r"(?m)^   ✗ State +\S.*Permission denied")
