"""Tests the limits of ordinary users, in a scope of the user's systemd and without such a scope. boot.py runs these
tests under systemd. The tests run outside the user's part of the cgroup tree, as the shell of a login does."""

import glob
import hashlib
import os
import re
import signal
import socket
import struct
import subprocess
import threading

from harness import CORDON, CordonTest, kill_quietly, unique_number
from test_kernel import KernelTest

CONTROLLERS = {"cpu", "memory", "pids"}
EAT = ("/usr/bin/python3", "-c", "x = bytearray(400 << 20)")


class Scope(KernelTest):
    modes = ("session",)

    def setUp(self):
        super().setUp()
        tag = hashlib.sha256(os.path.realpath(self.home).encode()).hexdigest()[:6]
        self.unit = f"cordon-{tag}.scope"
        self.scope = "/sys/fs/cgroup/user.slice/user-{0}.slice/user@{0}.service/app.slice/{1}".format(
            os.getuid(), self.unit)

    def assert_in_scope(self, *boxes):
        for box in boxes:
            self.assertEqual(os.path.dirname(self.group(box)), self.scope)

    def test_the_scope_is_delegated_and_create_does_not_warn(self):
        box = self.box()
        with self.claiming(box):
            got = self.cordon("create", "-n", box.name, "host")
        self.assertEqual((got.code, got.errtext.count("warn:")), (0, 0), got)
        self.assert_in_scope(box)
        with open(os.path.join(self.scope, "cgroup.subtree_control")) as handle:
            self.assertEqual(set(handle.read().split()), CONTROLLERS)
        self.assertEqual("/sys/fs/cgroup" + box.supervisor().cgroups()[0], self.scope + "/cordon-callers")

    def test_one_scope_serves_a_home_and_ends_with_its_last_sandbox(self):
        first, second = self.create(), self.create()
        self.assert_in_scope(first, second)
        self.assertEqual(first.stop().code, 0)
        self.assertTrue(os.path.isdir(self.scope))
        self.assertEqual(second.exec("echo", "alive").text, "alive\n")
        self.assertEqual(second.stop().code, 0)
        self.eventually(lambda: not os.path.exists(self.scope))
        self.assertEqual(first.start().code, 0)  # this starts another scope
        self.assert_in_scope(first)
        self.assertEqual(self.cordon("inspect", first.name).text.count("cgroup v2"), 3)

    def test_concurrent_creates_share_one_scope(self):
        for proc in [self.spawn("create", "-q", "-n", self.box().name, "-m", "96M", "host")
                     for _ in range(3)]:
            got = self.finish(proc)
            self.assertEqual((got.code, got.err), (0, b""), got)
        limits = glob.glob(f"{self.scope}/cordon-????????????????/payload/memory.max")
        self.assertEqual([open(path).read() for path in limits], [f"{96 << 20}\n"] * 3)

    def test_a_run_uses_an_existing_scope_and_starts_none(self):
        number = unique_number()
        self.assertEqual(self.cordon("run", "-q", "host", "--", "true").code, 0)
        self.assertFalse(os.path.exists(self.scope))
        self.create()
        proc = self.spawn("run", "-q", "host", "--", "sleep", str(number))
        self.eventually(lambda: self.sleepers(number))
        sleeper, = self.sleepers(number)
        self.assertTrue(("/sys/fs/cgroup" + sleeper.cgroups()[0]).startswith(self.scope + "/"))
        kill_quietly(sleeper.pid, signal.SIGKILL)
        self.finish(proc)

    def test_a_run_with_a_limit_starts_a_scope(self):
        got = self.cordon("run", "-m", "96M", "host", "--", *EAT)
        self.assertEqual((got.code, got.errtext.count("warn:")), (137, 0), got)

    def test_remove_deletes_the_group_of_a_killed_supervisor(self):
        """Both sandboxes are in one scope. The second keeps the scope alive, so systemd does not remove the group."""
        killed, other = self.create(), self.create()
        group = self.group(killed)
        kill_quietly(killed.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not killed.host_processes())
        self.assertEqual(killed.remove("-f").code, 0)
        self.assertFalse(os.path.exists(group))
        self.assertEqual(other.exec("echo", "alive").text, "alive\n")

    def in_unit(self, *words, options=()):
        """Runs cordon in a scope of the user's systemd, as a desktop runs programs."""
        return self.ask("systemd-run", "--user", "--scope", "--quiet", *options, CORDON, *words)

    def ask(self, *argv):
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**self.environment(None, None),
                                   "XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"})
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def test_a_caller_in_another_unit_keeps_its_group(self):
        """cordon changes no group of another unit, not even the group of the caller."""
        self.create()
        self.in_unit("run", "-q", "-d", "-n", "x", "host", "--", "sleep", "900",
                     options=("--unit", "cordon-test-caller"))
        names = glob.glob(f"{self.scope}/cordon-????????????????")
        self.assertEqual(len(names), 2, names)
        self.assertEqual(glob.glob(os.path.dirname(self.scope) + "/cordon-test-caller.scope/*/"), [])

    def test_a_group_delegated_to_the_caller_is_used(self):
        self.in_unit("create", "-q", "-n", "x", "host",
                     options=("-p", "Delegate=yes", "--unit", "cordon-test-given"))
        self.assertFalse(os.path.exists(self.scope))
        place = os.path.dirname(self.scope) + "/cordon-test-given.scope"
        limit, = glob.glob(f"{place}/cordon-????????????????/payload/memory.max")
        self.assertEqual(open(limit).read(), f"{512 << 20}\n")

    def test_the_end_of_the_scope_stops_its_sandboxes(self):
        """systemd ends the scope at the last logout of a user without lingering."""
        box = self.create()
        self.ask("systemctl", "--user", "stop", self.unit)
        self.eventually(lambda: box.status() == "Stopped")
        self.assertEqual(box.start().code, 0)
        self.assert_in_scope(box)


class FakeBus:
    """A socket in the place of the bus. It calls BEHAVE with each connection that cordon makes."""

    def __init__(self, directory, behave):
        self.dir, self.behave, self.calls = directory, behave, 0
        os.makedirs(directory)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(directory, "bus"))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.calls += 1
            try:
                self.behave(peer)
            except OSError:
                pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def be_silent(peer):
    while peer.recv(4096):
        pass


def talk_nonsense(peer):
    peer.recv(4096)
    peer.sendall(os.urandom(4096).replace(b"\n", b"\r"))


def send_garbage_messages(peer):
    peer.recv(4096)
    peer.sendall(b"OK 00\r\n")
    peer.recv(4096)
    peer.sendall(b"l\4\1\1" + b"\xff" * 4096)


def never_stop_talking(peer):
    """Sends well-formed signals without end. The deadline of the client must end the call."""
    field = b"\3\1s\0\4\0\0\0Nope\0\0\0\0"
    signal_message = b"l\4\1\1" + struct.pack("<III", 0, 1, 13) + field
    peer.recv(4096)
    peer.sendall(b"OK 00\r\n")
    while True:
        peer.sendall(signal_message * 64)


class OddBus(CordonTest):
    """If the bus sends nothing, nonsense or messages without end, `create` must still end, and say which limits do not
    hold."""

    modes = ("user",)

    def create_with(self, behave):
        bus = FakeBus(os.path.join(self.dir, "runtime"), behave)
        self.addCleanup(bus.close)
        box = self.box()
        got = self.cordon("create", "-n", box.name, "--no-net", "host",
                          env={"XDG_RUNTIME_DIR": bus.dir})
        self.assertEqual((got.code, got.errtext.count("warn:")), (0, 1), got)
        self.assertIn("memory is not limited, CPU time is not limited", got.errtext)
        self.assertGreaterEqual(bus.calls, 1)
        self.assertEqual(box.exec("echo", "alive").text, "alive\n")

    def test_a_silent_bus(self):
        self.create_with(be_silent)

    def test_a_bus_that_sends_nonsense(self):
        self.create_with(talk_nonsense)

    def test_a_bus_that_sends_bad_messages(self):
        self.create_with(send_garbage_messages)

    def test_a_bus_that_sends_without_end(self):
        self.create_with(never_stop_talking)

    def test_a_run_without_limits_does_not_connect(self):
        bus = FakeBus(os.path.join(self.dir, "runtime"), be_silent)
        self.addCleanup(bus.close)
        got = self.cordon("run", "--no-net", "host", "--", "true", env={"XDG_RUNTIME_DIR": bus.dir})
        self.assertEqual((got.code, got.err, bus.calls), (0, b"", 0), got)


class NoBus(CordonTest):
    """Under su and cron no systemd of the user runs."""

    modes = ("user",)

    def test_create_says_which_limits_do_not_hold(self):
        self.assertFalse(os.path.exists(f"/run/user/{os.getuid()}"))
        box = self.box()
        got = self.cordon("create", "-n", box.name, "host")
        warnings = [line for line in got.errtext.splitlines() if line.startswith("warn:")]
        self.assertEqual((got.code, len(warnings)), (0, 1), got)
        self.assertIn("memory is not limited, CPU time is not limited", warnings[0])
        shown = self.cordon("inspect", box.name).text
        self.assertEqual(len(re.findall(r"(?m)^  (?:CPUs|Memory): +not enforced$", shown)), 2, shown)
