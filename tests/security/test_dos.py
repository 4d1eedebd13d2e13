"""Tests payloads that take too many resources of the host, of other sandboxes or of cordon, and a hostile pid 1.

test_limits.py tests the limits themselves. In the tests of this file, cordon must use little memory, answer, and be
able to end the sandbox."""

import ctypes
import glob
import hashlib
import os
import random
import resource
import signal
import socket
import subprocess
import threading

from attack import AttackTest
from harness import MODE, below, unique_number
from test_background import BACKGROUND, JOINED, REPORT_LINES, REPORTS, Client
from test_upgrade import WireTest


class Floods(AttackTest):
    def ours(self, box):
        return sum(p.rss_kib for p in box.host_processes() if p.comm.startswith("cordon"))

    def usable(self, box):
        got = box.exec("echo", "alive")
        self.assertEqual((got.code, got.text), (0, "alive\n"), got)

    def removed(self, box):
        self.assertEqual(box.remove("-f").code, 0)

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
        self.removed(box)

    def test_log_flood_stays_bounded_on_disk(self):
        box = self.create()
        box.popen("sh", "-c", "yes | head -c 100000000", stdout=subprocess.DEVNULL).wait(30)
        size = 0
        for where, _, files in os.walk(os.path.join(self.home, "sandboxes", box.name, "logs")):
            size += sum(os.path.getsize(os.path.join(where, f)) for f in files)
        # the log has at most four files of 10 MiB each, and the last record may exceed this
        self.assertLess(size, 45 << 20)

    def test_detached_output_flood(self):
        box = self.create()
        before = self.ours(box)
        box.out("(yes 2>/dev/null) & echo")
        self.usable(box)
        for _ in range(20):
            self.usable(box)
        # a sanitizer keeps freed memory, up to the size of the logged output
        self.assertLess(self.ours(box), before + (65536 if "ASAN_OPTIONS" in os.environ else 8192))
        self.removed(box)

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

    def test_socket_exhaustion_inside(self):
        box, neighbour = self.armed(), self.create()
        proc = box.popen("/attack/attacks", "hoard-sockets")
        # the sockets' kernel memory counts for the sandbox, so the kernel may kill the attack at the memory limit
        if proc.stdout.readline() != b"hoarding\n":
            self.assertEqual(proc.wait(), 137)
        self.usable(neighbour)
        for family in (socket.AF_UNIX, socket.AF_INET):
            with socket.socket(family, socket.SOCK_STREAM) as one:
                one.settimeout(1)
        self.usable(box)
        self.assertIn(b"eth0", neighbour.exec("ls", "/proc/sys/net/ipv4/conf").out)
        proc.kill()
        proc.wait()
        self.assertEqual(box.remove("-f").code, 0)
        self.eventually(lambda: not box.host_processes(), within=20)  # the kernel needs time to close all sockets

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
        # for the kernel long variables count like arguments
        many = [word for i in range(15) for word in ("-e", f"V{i}=" + "x" * 120_000)]
        got = box.exec("true", opts=many)
        self.assertIn(got.code, (0, 1, 126), str(got)[:500])
        self.usable(box)

    def test_a_payload_that_ignores_everything_can_be_stopped(self):
        box, number = self.create(), unique_number()
        box.out(f"(trap '' TERM INT HUP QUIT; while :; do sleep {number}; done) >/dev/null 2>&1 &")
        got = box.stop()
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.sleepers(number), [])

    def test_a_stopped_payload_can_be_killed(self):
        box, number = self.create(), unique_number()
        proc = box.popen("sh", "-c", f"sleep {number} & kill -STOP $!; echo up; kill -STOP $$")
        proc.stdout.readline()
        proc.kill()
        proc.wait()
        self.eventually(lambda: not self.sleepers(number), within=1.0)
        self.removed(box)

    def test_a_supervisor_short_of_descriptors_sleeps(self):
        box = self.create()
        pid = box.supervisor().pid
        usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        # The supervisor has more than 3 descriptors open already, so it can get no new one.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, usual[1]))
        home = os.open(self.home, os.O_PATH)
        self.addCleanup(os.close, home)
        name = hashlib.sha256(box.name.encode()).hexdigest()[:16]
        waiting = socket.socket(socket.AF_UNIX)
        self.addCleanup(waiting.close)
        waiting.connect(f"/proc/self/fd/{home}/run/{name}.ctl")

        def state():
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                return f.read().rpartition(")")[2].split()[0]

        self.eventually(lambda: all(state() == "S" for _ in range(100)))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
        self.assertEqual(box.stop().code, 0)

    def test_deep_and_wide_trees_are_removed(self):
        box = self.create()
        box.out("cd /root; i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i+1)); done; "
                "touch leaf; cd /root; mkdir w; i=0; while [ $i -lt 2000 ]; do : > w/$i; "
                "i=$((i+1)); done")
        self.assertEqual(box.remove("-f").code, 0)

    def test_files_without_write_permission_are_removed(self):
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
        self.assertEqual(box.stop("-f").code, 0)
        self.eventually(lambda: not box.host_processes(), within=3)

    def test_fork_bomb_ends_with_its_client(self):
        """A bomb can fork faster than pid 1 finds its processes. If pid 1 has no cgroup to kill, it therefore kills
        every process in the sandbox, one second after the end of the client."""
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
        for _ in range(15):
            self.usable(neighbour)
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
        self.removed(box)


class Counted(AttackTest):
    # The kernel counts inotify instances and queued signals for each user of the host. All sandboxes of an ordinary
    # user run as this user, so they share these counters.
    modes = ("root",)

    NEEDED = ("import ctypes, os, signal\n"
              "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])\n"
              "libc = ctypes.CDLL(None)\n"
              "libc.sigqueue.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]\n"
              "print(libc.inotify_init1(0) >= 0, libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) == 0)\n")

    def test_counters_per_user_are_not_shared_with_neighbours(self):
        box, neighbour = self.armed(), self.create()
        proc = box.popen("/attack/attacks", "hoard-counted")
        self.assertEqual(proc.stdout.readline(), b"hoarding\n")
        self.assertEqual(neighbour.exec("python3", "-c", self.NEEDED).text, "True True\n")
        host = subprocess.run(["python3", "-c", self.NEEDED], capture_output=True, text=True)
        self.assertEqual(host.stdout, "True True\n")
        proc.kill()
        proc.wait()


class Handed(AttackTest):
    modes = ("root",)  # without cgroups pid 1 does not know whether a command left a process behind

    def test_output_passed_to_another_command_does_not_block_the_client(self):
        """After the command has ended, a process of another command floods the command's output. The client must
        not wait for that process."""
        box = self.armed("--cpus", "2")
        box.exec("/attack/attacks", "take-output")
        # Pid 1 gives the cgroups of ended commands to later commands. When one of these commands ends, pid 1 checks
        # that its cgroup is empty.
        for _ in range(4):
            box.exec("true")
        proc = box.popen("/attack/attacks", "hand-output")
        size = 0
        while chunk := os.read(proc.stdout.fileno(), 65536):
            size += len(chunk)
            self.assertLess(size, 8 << 20)  # two full pipes of 1 MiB, and what came before the command ended
            box.exec("true")  # during this exec the pipe becomes full again
        self.assertEqual(proc.wait(), 0)


class Reporting(WireTest, AttackTest):
    """Every process inside can connect to the socket for reports."""

    STORM = REPORT_LINES + """
for _ in range(20):
    if os.fork() == 0:
        held = []
        while True:
            try: held.append(report(b'f' * 1000))
            except OSError: pass
            if len(held) > 100: held = []
time.sleep(999)
"""
    # announces a report of the largest size, and sends it one byte at a time
    DRIP = REPORT_LINES + """
s = connect()
s.sendall(struct.pack("<I", 4 << 20))
while True: s.sendall(b'x')
"""

    def test_report_floods_do_not_block_pid_1(self):
        box = self.create()
        client = Client(self, box)
        before = box.pid1().rss_kib
        for script in self.STORM, self.DRIP, self.DRIP:
            client.start("/usr/bin/python3", "-c", script, flags=BACKGROUND | JOINED | REPORTS)
        for _ in range(5):
            self.assertEqual(box.exec("echo", "alive").text, "alive\n")
            ident = client.start("/usr/bin/python3", "-c", REPORT_LINES + "report(b'state')",
                                 flags=BACKGROUND | JOINED | REPORTS)
            got = client.ended(ident)
            self.assertEqual((got.report, got.end), (5, (0, 0)))
        self.assertLess(box.pid1().rss_kib, before + 2 * 4096 + 8 * 320 + 4096)
        self.assertEqual(box.remove("-f").code, 0)


class HostileGuest(AttackTest):
    """The attacker controls pid 1 through a kernel bug. Messages of pid 1 are untrusted data, and must harm only the
    sandbox of this pid 1."""

    GARBAGE = {
        "nothing": b"",
        "noise": random.Random(1).randbytes(1 << 16),
        "lengths without end": b"\xff" * 4096,
        "zeros": bytes(1 << 20),
        "half a header": b"\x10\x00",
        "a small frame of no kind": b"\x04\x00\x00\x00" + b"\xee" * 64,
    }

    def channel_of_pid_1(self, box):
        """Returns a copy of pid 1's socket to the supervisor."""
        libc = ctypes.CDLL(None, use_errno=True)
        pidfd = os.pidfd_open(box.pid1().pid)
        fd = libc.syscall(438, pidfd, 3, 0)  # pidfd_getfd; pid 1 gets the socket as descriptor 3
        os.close(pidfd)
        self.assertGreaterEqual(fd, 0, os.strerror(ctypes.get_errno()))
        return socket.socket(fileno=fd)

    def test_garbage_from_pid_1_to_the_supervisor(self):
        if MODE != "root":
            self.not_run("root may reach into pid 1, others may not")
        neighbour = self.create()
        for what, data in self.GARBAGE.items():
            with self.subTest(what):
                box = self.create()
                supervisor = box.supervisor()
                with self.channel_of_pid_1(box) as line:
                    line.setblocking(False)
                    for piece in [data] * 4:
                        try:
                            line.send(piece)
                        except OSError:  # the socket is full, or the supervisor has hung up: both are allowed
                            break
                    if not data:
                        line.shutdown(socket.SHUT_RDWR)
                self.assertLess(supervisor.rss_kib, 16 << 10)
                # after these messages the supervisor ends the sandbox
                if what in ("nothing", "noise", "lengths without end"):
                    self.eventually(lambda: box.status() == "Crashed", message=what)
                self.assertEqual(neighbour.exec("echo", "fine").text, "fine\n")
                self.assertIn(self.cordon("list").code, (0,))
                self.assertEqual(box.remove("-f").code, 0)
                self.eventually(lambda: not box.host_processes(), within=5)

    def test_garbage_from_pid_1_to_a_client(self):
        """A listener in pid 1's place answers every client with garbage. The client must report an error in time."""
        box = self.create()
        path, = glob.glob(os.path.join(self.home, "run", "*.sock"))
        os.rename(path, path + ".real")
        self.addCleanup(os.rename, path + ".real", path)
        for what, data in self.GARBAGE.items():
            with self.subTest(what), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(path)
                self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
                listener.listen()
                server = threading.Thread(target=self.answer, args=(listener, data, 2))
                server.start()
                for words in (("exec", box.name, "--", "true"),
                              ("copy", f"{box.name}:/etc/passwd", os.path.join(self.dir, "out"))):
                    got = self.cordon(*words)
                    self.assertGreater(got.code, 0, got)  # the client fails and is not killed by a signal
                    self.assertIn("error: ", got.errtext, got)
                    self.assertNotRegex(got.errtext, r"[\x00-\x08\x0b-\x1f\x7f]")
                server.join()
                os.unlink(path)

    @staticmethod
    def answer(listener, data, times):
        for _ in range(times):
            client, _ = listener.accept()
            with client:
                try:
                    client.recv(1 << 16)
                    client.sendall(data)
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(1 << 16):
                        pass
                except OSError:
                    pass

    def test_a_stopped_pid_1_blocks_only_its_own_clients(self):
        """A sandbox whose pid 1 is stopped can still be removed."""
        if MODE == "user":
            self.not_run("pid 1 has an id that this user may not signal")
        box, neighbour = self.create(), self.create()
        os.kill(box.pid1().pid, signal.SIGSTOP)
        waiting = box.popen("true")
        self.usable_now(neighbour)
        self.assertEqual(box.remove("-f").code, 0)
        self.assertNotEqual(self.finish(waiting).code, 0)

    def test_a_timeout_works_with_a_stopped_pid_1(self):
        box = self.create()
        os.kill(box.pid1().pid, signal.SIGSTOP)
        got = box.exec("true", opts=("--timeout", "100ms"))
        self.assertEqual(got.code, 124, got)
        self.assertIn("exec timed out after 0.1s", got.errtext)
        self.assertIn("was ended to stop this command", got.errtext)
        self.assertEqual(box.status(), "Stopped")

    test_a_timeout_works_with_a_stopped_pid_1.modes = ("root",)

    def usable_now(self, box):
        self.assertEqual(box.exec("echo", "alive").text, "alive\n")
