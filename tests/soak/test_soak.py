"""Long tests that find slow leaks. They take minutes."""

import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))

import test_hands  # noqa: E402
from harness import CordonTest, below, kill_quietly  # noqa: E402


class Crowd(test_hands.Crowd):
    """500 commands at once on 100 sandboxes, and a server that is killed thirty times."""

    timeout = 600
    boxes_at_once, kills = 100, 30


class Soak(CordonTest):
    modes = ("root", "user")
    timeout = 900

    def test_a_thousand_execs_leave_pid_1_and_supervisor_as_they_were(self):
        box = self.create()
        for _ in range(20):  # warm up
            box.exec("true")
        watched = [box.supervisor(), box.pid1()]
        memory = [p.rss_kib for p in watched]
        for i in range(1000):
            got = box.exec("sh", "-c", "sleep 1000 & exit 3") if i % 10 == 0 else box.exec("true")
            self.assertEqual(got.code, 3 if i % 10 == 0 else 0, got)
            if i % 100 == 0:
                box.sh("kill -9 -1")
        for p, before in zip(watched, memory):
            self.assertLess(p.rss_kib, before + 512, p)

    def test_500_sandboxes_one_after_the_other(self):
        for _ in range(500):
            got = self.cordon("run", "-q", "host", "--", "echo", "x")
            self.assertEqual((got.code, got.text), (0, "x\n"), got)
        self.assertEqual(self.names(), [])

    def test_100_sandboxes_at_once(self):
        boxes = [self.create() for _ in range(100)]
        for box in boxes:
            self.assertEqual(box.exec("echo", box.name).text, box.name + "\n")
        self.assertEqual(self.cordon("stop", "-q", *[b.name for b in boxes], timeout=120).code, 0)
        self.assertEqual(self.cordon("remove", "-q", *[b.name for b in boxes], timeout=120).code, 0)

    def test_random_kills_for_a_minute(self):
        """A thread kills processes of cordon at random. No command may hang."""
        stop, boxes = threading.Event(), [self.box() for _ in range(3)]

        def killer():
            pick = random.Random(1)
            while not stop.wait(pick.random() * 0.2):
                victims = [p for p in below([os.getpid()])
                           if p.comm.startswith("cordon") and p.pid != os.getpid()]
                if victims:
                    kill_quietly(pick.choice(victims).pid, signal.SIGKILL)

        worker = threading.Thread(target=killer)
        worker.start()
        end, pick = time.monotonic() + 60, random.Random(2)
        while time.monotonic() < end:
            box = pick.choice(boxes)
            words = pick.choice([("create", "-q", "-n", box.name, "host"), ("stop", box.name),
                                 ("create", "-q", "--replace", "-n", box.name, "host"),
                                 ("exec", box.name, "--", "true"), ("remove", "-f", box.name),
                                 ("start", box.name), ("list",), ("status", "-a")])
            self.cordon(*words, timeout=20)
            self.reap()
        stop.set()
        worker.join()
        for box in boxes:
            self.cordon("remove", "-f", box.name)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.create().exec("echo", "fine").text, "fine\n")
