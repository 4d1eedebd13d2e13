"""Servers on client/line and client/job: crowd.c runs many commands at once on many sandboxes."""

import os
import random
import subprocess

from harness import CordonTest, unique_number

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "crowd")


class Crowd(CordonTest):
    """20 sandboxes with five commands each; the soak suite has 100 of them."""

    modes = ("root", "user")
    timeout = 120
    boxes_at_once, commands_each, kills = 20, 5, 6

    def setUp(self):
        super().setUp()
        if not os.path.exists(PROGRAM):
            self.not_run("the server of this test was not built")
        self.mark = str(unique_number())
        self.served = [self.create() for _ in range(self.boxes_at_once)]

    def serve(self, rounds):
        return self.spawn(str(rounds), str(self.commands_each), self.mark, *(b.name for b in self.served),
                          program=PROGRAM)

    def test_commands_at_once(self):
        got = self.finish(self.serve(2), within=100)
        self.assertEqual((got.code, got.errtext), (0, ""), got)
        self.assertEqual(got.text.splitlines()[-1], "wrong: 0, blocked: 0")
        self.assertEqual(self.sleepers(self.mark), [])  # EXEC_WHOLE: also what was in the background

    def test_killed_at_any_instant(self):
        """The sandboxes stay, and nothing that the server ran in them does."""
        chance = random.Random(self.mark)
        for _ in range(self.kills):
            server = self.serve(0)
            delay = chance.random() * 0.5
            try:
                server.wait(delay)
                self.fail(f"ended by itself: {server.communicate()}")
            except subprocess.TimeoutExpired:
                server.kill()
            self.finish(server)
            self.eventually(lambda: not self.commands(), within=20, message=lambda: self.commands())
        for box in self.served[:3]:
            self.assertEqual(box.out("echo here"), "here")

    def commands(self):
        """Shells and sleepers of the server's that are left."""
        return self.sleepers(self.mark) + [
            p for box in self.served[:1] for p in box.host_processes() if p.state != "Z" and self.mark in p.cmdline]
