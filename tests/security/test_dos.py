"""Code that tries to hurt the host, its neighbours or us by taking too much.

Limits themselves are in test_limits.py; here we must stay small, answer, and be able to end it."""

import os
import subprocess
import threading
import time

from attack import AttackTest
from harness import MODE, below, unique_number


class Floods(AttackTest):
    def ours(self, box):
        return sum(p.rss_kib for p in box.host_processes() if p.comm.startswith("cordon"))

    def usable(self, box):
        got = box.exec("echo", "alive")
        self.assertEqual((got.code, got.text), (0, "alive\n"), got)

    def removed_quickly(self, box):
        started = time.monotonic()
        self.assertEqual(box.remove("-f").code, 0)
        self.assertLess(time.monotonic() - started, 3)

    def test_output_flood_with_a_slow_reader(self):
        box = self.create()
        before = self.ours(box)
        procs = [box.popen("yes") for _ in range(4)]
        for proc in procs:
            proc.stdout.read(100_000)
        self.usable(box)
        self.assertLess(self.ours(box), before + 4096)
        for proc in procs:
            self.assertLess(sum(p.rss_kib for p in below([proc.pid])), 16 * 1024)
            proc.kill()
            proc.wait()
        self.removed_quickly(box)

    def test_log_flood_stays_bounded_on_disk(self):
        box = self.create()
        box.popen("sh", "-c", "yes | head -c 100000000", stdout=subprocess.DEVNULL).wait(30)
        size = 0
        for where, _, files in os.walk(os.path.join(self.home, "sandboxes", box.name, "logs")):
            size += sum(os.path.getsize(os.path.join(where, f)) for f in files)
        self.assertLess(size, 45 << 20)  # 10 MiB, three old ones, and the record being written

    def test_detached_output_flood(self):
        box = self.create()
        before = self.ours(box)
        box.out("(yes 2>/dev/null) & echo")
        self.usable(box)
        for _ in range(20):
            self.usable(box)
        self.assertLess(self.ours(box), before + 8192)
        self.removed_quickly(box)

    def test_endless_stdin(self):
        box = self.create()
        proc = box.popen("sleep", str(unique_number()), stdin=subprocess.PIPE)

        def feed():
            try:
                while True:
                    proc.stdin.write(b"x" * 65536)
            except (BrokenPipeError, ValueError, OSError):
                pass

        worker = threading.Thread(target=feed, daemon=True)
        worker.start()
        self.usable(box)
        proc.kill()
        proc.wait()
        worker.join(5)

    def test_descriptor_exhaustion_inside(self):
        box = self.armed()
        self.attack(box, "files-exhaust")
        self.usable(box)

    def test_zombie_and_orphan_storm(self):
        box = self.create("--pids-limit", "500")
        box.sh("i=0; while [ $i -lt 3000 ]; do (true &); i=$((i+1)); done")
        self.usable(box)
        self.eventually(lambda: not [p for p in below(box.roots) if p.state == "Z"])

    def test_as_many_arguments_as_the_kernel_takes(self):
        box = self.create()
        got = self.cordon("exec", box.name, "--", "sh", "-c", 'echo $#', "sh", *["x"] * 150_000)
        self.assertEqual((got.code, got.text), (0, "150000\n"), str(got)[:500])

    def test_arguments_that_the_kernel_refuses_are_an_error_not_a_hang(self):
        box = self.create()
        got = box.sh("ulimit -s 256; exec true " + "x" * 100)
        self.assertEqual(got.code, 0, got)
        # one argument beyond MAX_ARG_STRLEN arrives through our frames from an API, or by env here
        many = [word for i in range(15) for word in ("-e", f"V{i}=" + "x" * 120_000)]
        got = box.exec("true", opts=many)
        self.assertIn(got.code, (0, 1, 126), str(got)[:500])
        self.usable(box)

    def test_a_payload_that_ignores_everything_can_be_stopped(self):
        box, number = self.create(), unique_number()
        box.out(f"(trap '' TERM INT HUP QUIT; while :; do sleep {number}; done) >/dev/null 2>&1 &")
        got = box.stop()
        self.assertEqual(got.code, 0, got)
        self.assertLess(got.seconds, 3)
        self.assertEqual(self.sleepers(number), [])

    def test_a_stopped_payload_can_be_killed(self):
        box, number = self.create(), unique_number()
        proc = box.popen("sh", "-c", f"sleep {number} & kill -STOP $!; echo up; kill -STOP $$")
        proc.stdout.readline()
        proc.kill()
        proc.wait()
        self.eventually(lambda: not self.sleepers(number), within=1.0)
        self.removed_quickly(box)

    def test_deep_and_wide_trees_are_removed(self):
        box = self.create()
        box.out("cd /root; i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i+1)); done; "
                "touch leaf; cd /root; mkdir w; i=0; while [ $i -lt 2000 ]; do : > w/$i; "
                "i=$((i+1)); done")
        self.assertEqual(box.remove("-f").code, 0)

    def test_immutable_looking_files_are_removed(self):
        box = self.create()
        box.out("mkdir -p /root/a/b; touch /root/a/b/c; chmod 000 /root/a/b/c /root/a/b /root/a; "
                "mkfifo /root/fifo; ln -s / /root/rootlink; ln -s /root/a /root/alink")
        self.assertEqual(box.remove("-f").code, 0)

    def test_fork_bomb_and_its_end(self):
        box, neighbour = self.create("--pids-limit", "300"), self.create()
        proc = box.popen("sh", "-c", "echo up; f() { f | f & f; }; f", stderr=subprocess.DEVNULL)
        proc.stdout.readline()
        for _ in range(5):
            self.usable(neighbour)
        started = time.monotonic()
        self.assertEqual(box.stop("-f").code, 0)
        self.assertLess(time.monotonic() - started, 3)
        self.eventually(lambda: not box.host_processes(), within=3)

    def test_fork_bomb_ends_with_its_client(self):
        """§5.1 of the design: beyond a second everything in the sandbox is ended."""
        box = self.create("--pids-limit", "300")
        proc = box.popen("sh", "-c", "echo up; f() { f | f & f; }; f", stderr=subprocess.DEVNULL)
        proc.stdout.readline()
        proc.kill()
        proc.wait()
        self.eventually(lambda: len(box.host_processes()) <= 3, within=6,
                        message=lambda: len(box.host_processes()))
        self.eventually(lambda: box.sh("echo alive").text == "alive\n")

    def test_cpu_hog_next_to_a_neighbour(self):
        hog, neighbour = self.create(), self.create()
        procs = [hog.popen("sh", "-c", "while :; do :; done") for _ in range(4)]
        times = sorted(neighbour.exec("true").seconds for _ in range(15))
        self.assertLess(times[7], 1.0)
        for proc in procs:
            proc.kill()
            proc.wait()

    def test_disk_and_inode_fill_of_a_limited_layer(self):
        box = self.create("--root-disk", "64M" if MODE == "root" else "tmpfs:64M")
        got = box.sh("head -c 100M /dev/zero > /root/fill")
        self.assertNotEqual(got.code, 0)
        self.assertRegex(got.errtext, "No space left|Disk quota exceeded")
        self.usable(box)
        self.assertEqual(box.out("rm /root/fill; echo fine > /root/f; cat /root/f"), "fine")
        got = box.exec("python3", "-c", "i = 0\nwhile True:\n  open(f'/root/n{i}', 'x').close(); i += 1")
        self.assertRegex(got.errtext, "No space left|Disk quota exceeded")
        self.usable(box)
        self.removed_quickly(box)
