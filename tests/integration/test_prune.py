"""Tests `df`, which shows what is on the disk, and `prune`, which removes what nothing needs."""

import json
import os

from harness import CORDON, CordonTest, Terminal

DANGLING = "ab" * 32  # the name of a layer that no image has


class Pruning(CordonTest):
    def setUp(self):
        super().setUp()
        self.create(name="up")
        for words in (("volume", "create", "used"), ("volume", "create", "idle")):
            self.assertEqual(self.cordon(*words).code, 0)
        self.create("-v", "used:/v", name="down").out("head -c 3M /dev/urandom > /v/f")
        self.assertEqual(self.cordon("stop", "down").code, 0)
        with open(os.path.join(self.home, "volumes/idle/data/f"), "wb") as handle:
            handle.write(b"x" * (2 << 20))
        self.layer = os.path.join(self.home, "cache/layers", DANGLING)
        os.makedirs(os.path.join(self.layer, "root"))
        with open(os.path.join(self.layer, "root/f"), "wb") as handle:
            handle.write(b"x" * (5 << 20))

    def state(self):
        volumes = self.cordon("volume", "list", "-q").text.split()
        return sorted(self.names()), sorted(volumes), os.path.exists(self.layer)

    def df(self):
        got = self.cordon("df", "--format", "json")
        self.assertEqual(got.code, 0, got)
        return {row.pop("type"): row for row in got.json()}

    def test_df(self):
        rows = self.df()
        self.assertEqual((rows["sandboxes"]["total"], rows["sandboxes"]["in_use"]), (2, 1))
        self.assertEqual((rows["volumes"]["total"], rows["volumes"]["in_use"]), (2, 1))
        self.assertGreaterEqual(rows["volumes"]["size_bytes"], 5 << 20)
        self.assertGreaterEqual(rows["volumes"]["reclaimable_bytes"], 2 << 20)
        self.assertLess(rows["volumes"]["reclaimable_bytes"], 3 << 20)
        self.assertEqual(rows["images"]["total"], 0)
        self.assertGreaterEqual(rows["images"]["reclaimable_bytes"], 5 << 20)
        got = self.cordon("df")
        self.assertRegex(got.text, r"TYPE +TOTAL +IN USE +SIZE +RECLAIMABLE\nimages +0 +0 +\d+ MiB")
        self.assertEqual(self.state(), (["down", "up"], ["idle", "used"], True))

    def test_it_shows_sizes_and_asks(self):
        before = self.state()
        term = self.terminal("prune")
        term.expect(r"sandbox down, \d+ KiB\s+volume idle, \d+ MiB\s+1 layer\(s\) of no image, \d+ MiB\s+"
                    r"Delete \d+ MiB\? \[y/N\] ")
        term.send("n\n")
        term.expect("Nothing was removed")
        self.assertEqual((term.wait(), self.state()), (0, before))
        term = self.terminal("prune")
        term.expect(r"\[y/N\] ")
        term.send("y\n")
        term.expect(r"Removed +down.*Removed +idle.*Pruned +\d+ MiB")
        self.assertEqual((term.wait(), self.state()), (0, (["up"], ["used"], False)))

    def test_what_was_typed_before_the_question_is_no_answer(self):
        before = self.state()
        # the shell reads the first line, and the second line waits in the terminal before the program asks
        term = Terminal(self, ["sh", "-c", "read line; exec \"$@\"", "sh", CORDON, "prune"],
                        self.environment(None, {"TERM": "xterm"}))
        term.send("first\ny\n")
        term.expect(r"\[y/N\] ")
        term.send("n\n")
        term.expect("Nothing was removed")
        self.assertEqual((term.wait(), self.state()), (0, before))

    def test_nobody_to_ask(self):
        before = self.state()
        got = self.cordon("prune")
        self.assertEqual((got.code, self.state()), (1, before), got)
        self.assertEqual(got.errtext, "error: cannot ask whether to remove anything: standard input is no terminal\n"
                                      "  → answer in advance with --yes\n")

    def test_yes_and_json(self):
        got = self.cordon("prune", "--yes", "--format", "json")
        self.assertEqual(got.code, 0, got)
        found = got.json()
        self.assertEqual((found["sandboxes_removed"], found["volumes_removed"], found["layers_removed"]),
                         (["down"], ["idle"], 1))
        self.assertGreater(found["bytes_reclaimed"], 7 << 20)
        self.assertEqual(self.state(), (["up"], ["used"], False))
        # The first prune removed the sandbox `down`. So nothing needs its volume `used` any more, and the second prune
        # removes the volume.
        got = self.cordon("prune", "--yes")
        self.assertEqual((got.code, self.state()), (0, (["up"], [], False)), got)
        got = self.cordon("prune")
        self.assertEqual(got.code, 0, got)
        rows = self.df()
        self.assertEqual([rows[k]["reclaimable_bytes"] for k in ("images", "sandboxes", "volumes")], [0, 0, 0])

    def test_what_a_sandbox_of_a_newer_cordon_may_use_is_kept(self):
        """If a newer cordon wrote a file of a record, this cordon cannot know what the sandbox uses."""
        for name in ("state.json", "config.json"):
            with self.subTest(name):
                path = os.path.join(self.home, "sandboxes/down", name)
                with open(path) as handle:
                    old = handle.read()
                with open(path, "w") as handle:
                    handle.write(json.dumps({"format": 2, "else": "where"}))
                rows = self.df()
                self.assertEqual((rows["sandboxes"]["total"], rows["sandboxes"]["in_use"]), (2, 2))
                self.assertEqual([rows[k]["reclaimable_bytes"] for k in ("images", "sandboxes", "volumes")],
                                 [0, 0, 0])
                got = self.cordon("prune", "--yes")
                self.assertEqual(got.code, 0, got)
                self.assertIn("by a newer cordon\n", got.errtext)
                self.assertIn("warn: no volume and no layer is removed: a sandbox that cannot be read may use it\n",
                              got.errtext)
                with open(path, "w") as handle:
                    handle.write(old)
                self.assertEqual(self.state(), (["down", "up"], ["idle", "used"], True))

    def test_a_sandbox_with_a_damaged_record_keeps_the_volumes(self):
        with open(os.path.join(self.home, "sandboxes/down/config.json"), "r+b") as handle:
            handle.truncate(10)
        got = self.cordon("prune", "--yes")
        self.assertEqual(got.code, 0, got)
        self.assertIn("warn: no volume is removed: a sandbox that cannot be read may use it\n", got.errtext)
        self.assertEqual(sorted(self.cordon("volume", "list", "-q").text.split()), ["idle", "used"])
        self.assertFalse(os.path.exists(self.layer))
