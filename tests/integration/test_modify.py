"""Tests `modify`, which changes sandboxes, `install`, which makes commands that run in sandboxes, and
`self uninstall`, which removes everything.
"""

import json
import os
import subprocess

from harness import CordonTest


class ModifyTest(CordonTest):
    def modify(self, box, *opts, code=0):
        got = self.cordon("modify", box.name, *opts)
        self.assertEqual(got.code, code, got)
        return got


class Modify(ModifyTest):
    def test_later_commands_see_the_change_at_once(self):
        box = self.create("-e", "A=1", "-e", "B=1", "--label", "x=y")
        sleeper = box.popen("sh", "-c", "echo up; read x; echo $A$C", stdin=subprocess.PIPE)
        self.assertEqual(sleeper.stdout.readline(), b"up\n")
        got = self.modify(box, "-e", "A=2", "--env-rm", "B", "-e", "C=3", "--workdir", "/usr",
                          "--label", "new=1", "--label-rm", "x")
        self.assertRegex(got.errtext, r"^   ✓ Modified     ")
        self.assertEqual(box.out("echo $A,$B,$C; pwd"), "2,,3\n/usr")
        config = box.inspect()["config"]
        self.assertEqual(config["labels"], {"new": "1"})
        self.assertEqual(self.cordon("list", "-q", "--label", "new=1").text, box.name + "\n")
        out, _ = sleeper.communicate(b"go\n", timeout=10)
        self.assertEqual(out, b"1\n")  # a running command keeps its environment
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("echo $A,$B,$C; pwd"), "2,,3\n/usr")

    def test_a_stopped_sandbox_changes_for_the_next_start(self):
        box = self.create()
        self.assertEqual(box.stop().code, 0)
        got = self.modify(box, "--memory", "1G", "-e", "A=1", "--dry-run")
        self.assertIn("next start", got.text)
        self.modify(box, "--memory", "1G", "-e", "A=1")
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("echo $A"), "1")
        self.assertEqual(box.inspect()["config"]["resources"]["memory_mib"], 1024)

    def test_changes_that_need_a_restart(self):
        box = self.create()
        got = self.modify(box, "--max-memory", "2G", "-e", "A=1", code=1)
        self.assertIn("max_memory", got.errtext)
        self.assertIn("--restart", got.errtext)
        self.assertIn("--next-start", got.errtext)
        self.assertEqual(box.inspect()["config"]["env"], [])  # `modify` makes either all changes or none
        self.modify(box, "--max-memory", "2G", "-e", "A=1", "--next-start")
        self.assertEqual(box.out("echo $A"), "")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("echo $A"), "1")
        with self.claiming(box):
            self.modify(box, "--max-memory", "3G", "--restart")
        self.assertEqual(box.inspect()["config"]["resources"]["max_memory_mib"], 3072)
        self.assertEqual(box.out("echo up"), "up")

    def test_pending_changes_are_shown(self):
        box = self.create("-e", "A=1", "-e", "B=1", "--max-memory", "1G")
        seen = box.inspect()
        self.assertEqual((seen["active_config"], seen["pending_changes"]), (None, []))
        running = seen["config"]
        self.modify(box, "--memory", "600M", "-e", "A=2", "--env-rm", "B", "--next-start")
        seen = box.inspect()
        self.assertEqual(seen["active_config"], running)
        self.assertEqual(seen["config"]["resources"]["memory_mib"], 600)
        self.assertEqual(seen["pending_changes"], [
            {"kind": "resource", "field": "memory", "change": "change", "before": 512,
             "after": 600, "disposition": "next start", "unit": "MiB"},
            {"kind": "env", "field": "env.A", "change": "change", "before": "1", "after": "2",
             "disposition": "next start", "unit": None},
            {"kind": "env", "field": "env.B", "change": "remove", "before": "1", "after": None,
             "disposition": "next start", "unit": None}])
        self.assertEqual(list(seen["pending_changes"][0]), sorted(seen["pending_changes"][0]))
        text = self.cordon("inspect", "--show-env", box.name).text
        self.assertRegex(text, r"(?m)^  Memory: +512 MiB / 1 GiB$")
        self.assertRegex(text, r"(?ms)^At the next start:\n  memory: +512 MiB -> 600 MiB\n"
                               r"  env.A: +1 -> 2\n  env.B: +1 -> -$")
        status = self.cordon("status", box.name, "--format", "json").json()
        self.assertEqual(status["memory_mib"], 512)
        # a change that takes effect at once is not pending, and it leaves the other changes pending
        self.modify(box, "-e", "C=3", "--label", "l=1")
        self.assertEqual(box.out("echo $A,$B,$C"), "1,1,3")
        seen = box.inspect()
        self.assertEqual(len(seen["pending_changes"]), 3)
        self.assertEqual(seen["active_config"]["labels"], {"l": "1"})
        # a change that was reverted is no longer pending
        self.modify(box, "--memory", "512M", "--next-start")
        self.assertEqual([c["field"] for c in box.inspect()["pending_changes"]], ["env.A", "env.B"])
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.inspect()["pending_changes"], [])
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("echo $A,$B,$C"), "2,,3")
        seen = box.inspect()
        self.assertEqual((seen["active_config"], seen["pending_changes"]), (None, []))

    def test_a_restart_applies_pending_changes(self):
        box = self.create("-e", "A=1")
        self.modify(box, "-e", "A=2", "--next-start")
        with self.claiming(box):
            self.modify(box, "--max-memory", "2G", "--restart")
        self.assertEqual(box.out("echo $A"), "2")
        self.assertEqual(box.inspect()["pending_changes"], [])

    def test_dry_run_changes_nothing(self):
        box = self.create("-e", "A=1")
        before = box.inspect()
        got = self.modify(box, "-e", "A=2", "--label", "x=1", "--dry-run")
        lines = got.text.splitlines()
        self.assertRegex(lines[0], r"^FIELD {4,}CHANGE {4,}BEFORE {4,}AFTER {4,}EFFECT$")
        self.assertRegex(lines[1], r"^env.A {4,}change {4,}1 {4,}2 {4,}live$")
        self.assertNotEqual(got.err, b"")
        self.assertEqual(box.inspect(), before)

    def test_json(self):
        box = self.create("-e", "A=1")
        got = self.modify(box, "-e", "A=2", "--env", "B=3", "--format", "json")
        plan = json.loads(got.text)
        self.assertEqual(list(plan), ["sandbox", "status", "applied", "policy", "changes",
                                      "conflicts", "warnings", "resize_status"])
        self.assertEqual((plan["sandbox"], plan["status"], plan["applied"]),
                         (box.name, "Running", True))
        self.assertEqual(plan["changes"][0], {"kind": "env", "field": "env.A", "change": "change",
                                              "before": "1", "after": "2", "unit": None,
                                              "disposition": "live"})
        self.assertEqual(plan["changes"][1]["before"], None)

    def test_bad_changes_are_refused(self):
        box = self.create()
        for opts, code, said in ((["--memory", "x"], 1, "--memory"), (["--cpus", "0"], 1, "--cpus"),
                                 (["--env-rm", "NOPE"], 1, "NOPE"),
                                 (["--label-rm", "nope"], 1, "nope"),
                                 (["--workdir", "rel"], 1, "--workdir"),
                                 (["--label", "sandbox.x=1"], 1, "--label"),
                                 (["--root-disk", "tmpfs:8G"], 1, "--root-disk"),
                                 (["--memory", "1G", "--max-memory", "512M"], 1, "--max-memory"),
                                 (["--next-start", "--restart"], 2, "--restart"),
                                 (["--secret", "A@b"], 1, "--secret")):
            with self.subTest(opts=opts):
                self.assertIn(said, self.modify(box, *opts, code=code).errtext)
        self.assertIn("not found", self.cordon("modify", "nope", "-e", "A=1").errtext)
        self.assertIn("Nothing", self.modify(box).errtext)


class Limits(ModifyTest):
    modes = ("root",)

    def test_memory_and_cpus_within_their_ceilings(self):
        box = self.create("--memory", "128M", "--max-memory", "1G", "--max-cpus", "2")
        limits = box.inspect()["limits"]
        if not limits["memory"].startswith("cgroup"):
            return
        hungry = ("python3", "-c", "x = bytearray(300 << 20); print('fits')")
        self.assertNotEqual(box.exec(*hungry).code, 0)
        self.modify(box, "--memory", "600M", "--cpus", "2")
        self.assertEqual(box.exec(*hungry).text, "fits\n")
        self.modify(box, "--memory", "128M")
        self.assertNotEqual(box.exec(*hungry).code, 0)
        self.modify(box, "--memory", "2G", code=1)
        # a change that fails in part changes nothing: pid 1 takes no environment of this size
        large = ("-e", "A=" + "a" * 90000, "-e", "B=" + "b" * 90000)
        self.modify(box, "--memory", "600M", *large, code=1)
        self.assertEqual(box.inspect()["config"]["resources"]["memory_mib"], 128)
        self.assertNotEqual(box.exec(*hungry).code, 0)


class Processes(ModifyTest):
    def test_the_pids_limit_can_be_changed(self):
        box = self.create("--pids-limit", "200")
        live = box.inspect()["limits"]["pids"].startswith("cgroup")
        got = self.modify(box, "--pids-limit", "30", code=0 if live else 1)
        if not live:
            self.assertIn("needs a restart", got.errtext)
            with self.claiming(box):
                self.modify(box, "--pids-limit", "30", "--restart")
        box.sh("i=0; while [ $i -lt 60 ]; do sleep 900 >/dev/null 2>&1 & i=$((i+1)); done")
        self.assertLess(len(box.host_processes()), 45)
        self.assertEqual(box.inspect()["config"]["resources"]["pids_limit"], 30)
        self.modify(box, "--pids-limit", "0", code=1)


class Install(ModifyTest):
    def bin(self, name):
        return os.path.join(self.home, "bin", name)

    def call(self, name, *args):
        env = {k: v for k, v in self.environment().items() if k == "PATH" or k.endswith("_OPTIONS")}
        got = subprocess.run([self.bin(name), *args], capture_output=True, timeout=30, env=env,
                             cwd="/")
        return got.returncode, got.stdout.decode()

    def test_a_command_with_odd_characters(self):
        os.makedirs(os.path.join(self.dir, "it's"))
        with open(os.path.join(self.dir, "it's", "f"), "w") as handle:
            handle.write("mounted\n")
        box = self.box("odd")
        got = self.cordon("install", "--name", "odd", "-v", "./it's:/m", "-e", "A=x'$y\"",
                          "-e", "B=-dash", "-w", "/usr", "host", "--", "sh", "-c",
                          'echo "$A $B $# $1"; cat /m/f; pwd; exit 7', "sh")
        self.assertEqual((got.code, got.text), (0, ""), got)
        self.assertIn("✓ Installed", got.errtext)
        with self.claiming(box):
            for _ in range(2):  # the second call uses the existing sandbox
                self.assertEqual(self.call("odd", "two  words", "x"),
                                 (7, "x'$y\" -dash 2 two  words\nmounted\n/usr\n"))
        self.assertEqual(self.names(), ["odd"])

    def test_a_fresh_sandbox_each_time(self):
        self.assertEqual(self.cordon("install", "--tmp", "host", "--", "sh", "-c",
                                     "ls /root; touch /root/f").code, 0)
        for _ in range(2):
            self.assertEqual(self.call("host"), (0, ""))
        self.assertEqual(self.names(), [])

    def test_only_commands_of_cordon_are_replaced_and_removed(self):
        self.assertEqual(self.cordon("install", "-n", "one", "host", "--", "true").code, 0)
        self.assertEqual(self.cordon("install", "-n", "one", "host", "--", "true").code, 1)
        self.assertEqual(self.cordon("install", "-f", "-n", "one", "host", "--", "false").code, 0)
        with open(self.bin("theirs"), "w") as handle:
            handle.write("#!/bin/sh\n")
        self.assertEqual(self.cordon("install", "-f", "-n", "theirs", "host").code, 1)
        self.assertEqual(self.cordon("install", "-n", "a/b", "host").code, 1)
        self.assertEqual(self.cordon("install").code, 1)
        self.assertIn("one", self.cordon("install", "-l").text)
        self.assertNotIn("theirs", self.cordon("install", "-l").text)
        self.assertEqual(self.cordon("uninstall", "theirs").code, 1)
        self.assertEqual(self.cordon("uninstall", "../config.json").code, 1)
        self.assertEqual(self.cordon("uninstall", "one", "one").code, 1)
        self.assertEqual(os.listdir(os.path.join(self.home, "bin")), ["theirs"])


class SelfUninstall(ModifyTest):
    def test_uninstall_removes_everything(self):
        box = self.create("-v", "work:/job")
        box.sh("mkdir -m 700 /job/d /root/d; touch /job/d/f /root/d/f; chown -R 1000 /job/d /root/d")
        got = self.cordon("self", "uninstall")
        self.assertEqual((got.code, got.errtext), (
            1, f"error: cannot ask whether to remove '{self.home}' and everything in it: standard input is no "
               "terminal\n  → answer in advance with --yes\n"))
        self.assertTrue(os.path.isdir(self.home))
        got = self.cordon("self", "uninstall", "-y")
        self.assertEqual(got.code, 0, got)
        self.assertFalse(os.path.exists(self.home))
        self.eventually(lambda: not box.host_processes())
