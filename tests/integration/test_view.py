"""Tests what list, status and inspect show in special cases: cut cells, hostile texts, sandboxes for one run,
and the limits that this host enforces."""

import json
import os
import re

from harness import ALL_MODES, CordonTest, Reader


class View(CordonTest):
    def test_an_ephemeral_sandbox_is_listed_while_it_runs(self):
        proc = self.spawn("run", "-q", "host", "--", "sh", "-c", "echo up; sleep 30")
        seen = Reader(proc.stdout)
        self.eventually(lambda: seen.data == b"up\n")
        names = self.names()
        self.assertEqual(len(names), 1)
        self.assertEqual(self.names("--running"), names)
        self.assertEqual(self.cordon("status", "-q").text.split(), names)
        data = self.cordon("inspect", names[0], "--format", "json").json()
        self.assertTrue(data["config"]["lifecycle"]["ephemeral"])
        self.assertRegex(self.cordon("inspect", names[0]).text, r"(?m)^Ephemeral: +yes$")
        proc.kill()
        proc.wait()
        self.eventually(lambda: self.names() == [])

    def test_long_cells_are_cut_in_the_table_only(self):
        root = self.make_root()
        image = root + "/../" + os.path.basename(root)
        box = self.create(image=image)
        shown = box.cordon("status").text.splitlines()[1]
        whole = self.cordon("status", box.name, "--format", "json").json()["image"]
        self.assertGreater(len(whole), 36)
        cell = shown[len(box.name):].split()[0]
        self.assertEqual((len(cell), cell[-3:]), (36, "..."), shown)
        self.assertEqual(cell[:-3], whole[:33])

    def test_texts_cannot_drive_the_terminal(self):
        box = self.create("--env", "EVIL=a\x1b[31mb\nc", "--label", "k=\x1b]0;t\x07")
        got = self.cordon("inspect", "--show-env", box.name)
        self.assertNotIn("\x1b", got.text)
        self.assertNotIn("\x07", got.text)
        self.assertIn(r"EVIL=a\x1b[31mb\x0ac", got.text)
        self.assertEqual(box.inspect()["config"]["env"],
                         [{"key": "EVIL", "value": "a\x1b[31mb\nc"}])

    def test_status_of_a_stopped_sandbox_by_name(self):
        box = self.create()
        box.stop()
        self.assertRegex(self.cordon("status", box.name).text.splitlines()[1], r" stopped +-$")
        self.assertEqual(self.cordon("status", box.name, "-q").text, box.name + "\n")

    def test_status_rows_are_ordered_by_name(self):
        for name in ("bb", "cc", "aa"):
            self.create(name=name)
        self.assertEqual(self.cordon("status", "-q").text.split(), ["aa", "bb", "cc"])
        self.assertEqual(self.names(), ["aa", "cc", "bb"])  # newest first
        self.assertEqual([r["name"] for r in self.cordon("ps", "--format", "json").json()],
                         ["aa", "bb", "cc"])

    def test_quiet_json_is_json(self):
        box = self.create()
        self.assertEqual([r["name"] for r in self.cordon("list", "-q", "--format", "json").json()],
                         [box.name])

    def test_memory_ceiling(self):
        box = self.create("--max-memory", "2G", "--cpus", "1", "--max-cpus", "2")
        self.assertIn("1 / 2 ", self.cordon("status").text)
        self.assertIn("512 MiB / 2 GiB ", self.cordon("status").text)
        one = self.cordon("status", box.name, "--format", "json").json()
        self.assertEqual((one["memory_mib"], one["max_memory_mib"]), (512, 2048))

    def test_inspect_says_why_the_sandbox_stopped(self):
        box = self.create()
        box.stop()
        self.assertRegex(self.cordon("inspect", box.name).text, r"(?m)^Reason: +stopped by command$")


class LimitsShown(CordonTest):
    """inspect shows the limits that the host really enforces."""

    modes = ALL_MODES

    def test_every_limit_is_named(self):
        box = self.create()
        limits = box.inspect()["limits"]
        self.assertEqual(sorted(limits), ["cpus", "ids", "memory", "pids", "root_disk",
                                          "volumes"])
        self.assertTrue(all(limits.values()), limits)
        text = self.cordon("inspect", box.name).text
        section = text[text.index("\nLimits:\n"):]
        for value in limits.values():
            self.assertIn(value, section)

    def test_a_single_id_is_shown(self):
        box = self.create()
        count = sum(int(line.split()[2]) for line in box.out("cat /proc/self/uid_map").splitlines())
        self.assertEqual(box.inspect()["limits"]["ids"] == "single id", count == 1)

    def test_a_missing_network_is_shown(self):
        text = self.cordon("inspect", self.create("--no-net").name).text
        self.assertRegex(text, r"(?m)^Network: +none \(loopback only\)$")

    def test_limits_are_shown_after_stop(self):
        box = self.create()
        before = box.inspect()["limits"]
        box.stop()
        self.assertEqual(box.inspect()["limits"], before)


class Shape(CordonTest):
    def test_text_has_one_column_of_values(self):
        box = self.create("--label", "a=b", "--env", "K=V", "--tmpfs", "/t:4M")
        lines = self.cordon("inspect", box.name).text.splitlines()
        for line in lines:
            if line.endswith(":") or re.match(r"  \S+(=| -> )", line):
                continue
            self.assertRegex(line, r"^(?=.{16}\S)( {2})?\S[^:]*: +\S")
        for section in ("Resources:", "Limits:", "Environment:", "Labels:", "Mounts:"):
            self.assertIn(section, lines)

    def test_updated_follows_the_state(self):
        box = self.create()
        before = box.inspect()["updated_at"]
        box.stop()
        self.assertGreater(box.inspect()["updated_at"], before)

    def test_json_of_list_status_and_inspect_agree(self):
        box = self.create()
        listed = self.cordon("list", "--format", "json").json()[0]
        one = json.loads(self.cordon("status", box.name, "--format", "json").text)
        data = box.inspect()
        self.assertEqual(listed["created_at"], data["created_at"])
        self.assertEqual({listed["status"], one["status"], data["status"]}, {"Running"})
