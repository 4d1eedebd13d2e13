"""A sandbox started by an older or newer build stays usable. Either the programs are replaced while the
sandbox runs, or a client speaks another version of the protocol (cordon-protocol(7)) than pid 1 or the supervisor."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading

from harness import PREFIX, CordonTest, Process

HELLO, EXEC, STARTED, EXIT, PING, PONG, ERROR, STOP, STOPPED = 1, 2, 3, 4, 12, 13, 15, 48, 49
LAST_TYPE_OF_PROTOCOL_1 = 17
VERSION, OLDEST, FLAGS, ARGUMENT, CODE, TEXT, NUMBER = 1, 2, 3, 4, 15, 32, 33
UNKNOWN_TYPE, UNKNOWN_TAG = 250, 251
OUTPUT, SESSION, OK = 6, 31, 51
LOST = "[output lost: the log was slower than the command]\n"


def frame(kind, body=b"", stream=0):
    return struct.pack("<IBBHI", len(body), kind, 0, 0, stream) + body


def field(tag, value):
    data = struct.pack("<Q", value) if isinstance(value, int) else value
    return struct.pack("<BI", tag, len(data)) + data


def hello(version, oldest, more=b""):
    return frame(HELLO, field(VERSION, version) + field(OLDEST, oldest) + more)


def cut_frames(data):
    """Takes all complete frames from the front of DATA. Returns (frames, rest). Each frame is bytes, and the rest is
    the beginning of a frame that is not complete yet, or b""."""
    found = []
    while len(data) >= 12 and len(data) >= (end := 12 + struct.unpack("<I", data[:4])[0]):
        found.append(data[:end])
        data = data[end:]
    return found, data


def take_frames(data):
    """As cut_frames(), but each frame is (type, body, stream)."""
    found, rest = cut_frames(data)
    return [(raw[4], raw[12:], struct.unpack("<I", raw[8:12])[0]) for raw in found], rest


def fields(body):
    found = {}
    while body:
        tag, length = struct.unpack("<BI", body[:5])
        found[tag] = body[5:5 + length]
        body = body[5 + length:]
    return found


class WireTest(CordonTest):
    def socket_path(self, box, suffix):
        name = hashlib.sha256(box.name.encode()).hexdigest()[:16]
        return os.path.join(self.home, "run", f"{name}.{suffix}")

    def connect(self, box, suffix="sock"):
        sock = socket.socket(socket.AF_UNIX)
        self.addCleanup(sock.close)
        sock.settimeout(10)
        # The kernel refuses long socket paths, and temporary directories can be long: connect
        # through a descriptor of the directory, as the programs do.
        path = self.socket_path(box, suffix)
        place = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
        sock.connect(f"/proc/self/fd/{place}/{os.path.basename(path)}")
        os.close(place)
        return sock

    def arrived(self, sock, *kinds):
        """Waits until frames of these types have arrived, and leaves all frames unread."""
        self.eventually(lambda: {kind for kind, _, _ in take_frames(sock.recv(1 << 16, socket.MSG_PEEK))[0]} >= set(kinds))

    @contextlib.contextmanager
    def stopped(self, process):
        """The process is stopped in the body of the WITH statement."""
        os.kill(process.pid, signal.SIGSTOP)
        try:
            self.eventually(lambda: Process(process.pid).state == "T")
            yield
        finally:
            os.kill(process.pid, signal.SIGCONT)

    def read_until(self, sock, kind):
        """Reads until a frame of type KIND comes. Returns (all frames that came, the frame of type KIND). If the
        connection ends first, the second item is None."""
        seen, data = [], b""
        while True:
            chunk = sock.recv(65536)
            if not chunk:
                return seen, None
            found, data = take_frames(data + chunk)
            seen += found
            for got in found:
                if got[0] == kind:
                    return seen, got


class Clients(WireTest):
    """The sandbox is of this build, the client of another build."""

    def run_command(self, box, greeting, more=b""):
        """Runs `echo spoken` with a client that begins with GREETING. Returns (exit status, output)."""
        sock, (out, theirs) = self.connect(box), os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        body = field(FLAGS, 4) + b"".join(field(ARGUMENT, w + b"\0") for w in
                                          (b"sh", b"-c", b"echo spoken; exit 7")) + more
        socket.send_fds(sock, [greeting + frame(EXEC, body, 1)], [null, theirs])
        os.close(theirs)
        os.close(null)
        _, got = self.read_until(sock, EXIT)
        with os.fdopen(out, "rb") as stream:
            text = stream.read()
        self.assertIsNotNone(got, "no EXIT")
        return struct.unpack("<Q", fields(got[1])[CODE])[0], text

    def test_a_client_of_the_same_version(self):
        self.assertEqual(self.run_command(self.create(), hello(2, 1)), (7, b"spoken\n"))

    def test_a_client_of_the_first_version(self):
        self.assertEqual(self.run_command(self.create(), hello(1, 1)), (7, b"spoken\n"))

    def test_a_newer_client_that_still_speaks_our_version(self):
        box = self.create()
        greeting = hello(9, 1, field(UNKNOWN_TAG, 5)) + frame(UNKNOWN_TYPE, b"what is this")
        self.assertEqual(self.run_command(box, greeting, field(UNKNOWN_TAG, b"nor this")),
                         (7, b"spoken\n"))
        sock = self.connect(box)
        sock.sendall(hello(9, 1) + frame(PING, field(UNKNOWN_TAG, 1), 3))
        self.assertIsNotNone(self.read_until(sock, PONG)[1])

    def test_a_newer_client_that_does_not_speak_our_version(self):
        box = self.create()
        sock = self.connect(box)
        sock.sendall(hello(9, 3) + frame(PING, b"", 3))
        seen, got = self.read_until(sock, ERROR)
        self.assertEqual([kind for kind, _, _ in seen], [HELLO, ERROR])
        self.assertEqual(struct.unpack("<Q", fields(seen[0][1])[VERSION])[0], 2)
        said = fields(got[1])[TEXT]
        self.assertIn(b"protocol 1 to 2", said)
        self.assertIn(b"3 to 9", said)
        self.assertEqual(self.read_until(sock, PONG)[1], None)  # pid 1 hung up
        self.assertEqual(box.out("echo unharmed"), "unharmed")

    def test_the_supervisor_ignores_unknown_frames(self):
        box = self.create()
        sock = self.connect(box, "ctl")
        sock.sendall(frame(UNKNOWN_TYPE, b"later") + frame(UNKNOWN_TYPE + 1) +
                     frame(STOP, field(NUMBER, 0) + field(UNKNOWN_TAG, 1)))
        self.assertIsNotNone(self.read_until(sock, STOPPED)[1])
        # the supervisor holds the lock of the record until it exits, a moment after STOPPED
        self.eventually(lambda: box.status() == "Stopped")


class Starters(WireTest):
    """A command that runs during an upgrade may start a supervisor of another version."""

    def start(self, box, word):
        """Starts a supervisor, as the command `start` does. The leash is a socket between the test and the supervisor.
        Sends the byte WORD over the leash, with descriptors of the record and its lock. Returns the frame OK of the
        supervisor, or None if the supervisor closed the leash without this frame."""
        record = os.open(os.path.join(self.home, "sandboxes", box.name), os.O_RDONLY | os.O_DIRECTORY)
        lock = os.open("lock", os.O_RDWR, dir_fd=record)
        fcntl.flock(lock, fcntl.LOCK_EX)
        leash, theirs = socket.socketpair()
        self.addCleanup(leash.close)
        leash.settimeout(10)
        program = os.path.join(PREFIX, "libexec/cordon/cordon-supervisor")
        supervisor = subprocess.Popen([program, box.name], env=self.environment(), stdin=subprocess.DEVNULL,
                                      preexec_fn=lambda: os.dup2(theirs.fileno(), 3), pass_fds=(3,))
        theirs.close()
        self.addCleanup(supervisor.wait)
        self.addCleanup(box.stop)
        socket.send_fds(leash, [word], [record, lock])
        os.close(record)
        os.close(lock)
        return self.read_until(leash, OK)[1]

    def test_both_words_that_start_a_record(self):
        box = self.create("--no-net")
        for word in (b"r", b"d"):  # the first release sends "r", and this release sends "d"
            with self.subTest(word):
                self.assertEqual(box.stop().code, 0)
                self.assertIsNotNone(self.start(box, word))
                self.assertEqual(box.out("echo here"), "here")


class Proxy(threading.Thread):
    """Stands in for a pid 1 of another build, between the clients and the real pid 1. Each frame of the real pid 1 is
    replaced by the bytes that CHANGE(type, body, stream) returns. Clients' frames of a type greater
    than LAST_TYPE do not reach the real pid 1."""

    def __init__(self, test, box, change, last_type=255):
        super().__init__(daemon=True)
        self.path, self.change, self.last_type = test.socket_path(box, "sock"), change, last_type
        self.real = self.path + ".real"
        os.rename(self.path, self.real)
        self.listener = socket.socket(socket.AF_UNIX)
        place = os.open(os.path.dirname(self.path), os.O_PATH | os.O_DIRECTORY)
        self.place = f"/proc/self/fd/{place}/"
        self.listener.bind(self.place + os.path.basename(self.path))
        self.listener.listen(8)
        test.addCleanup(self.end, place)
        self.start()

    def end(self, place):
        self.listener.close()
        os.close(place)
        for path in (self.path, self.real):
            if os.path.exists(path):
                os.unlink(path)

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            agent = socket.socket(socket.AF_UNIX)
            agent.connect(self.place + os.path.basename(self.real))
            threading.Thread(target=self.up, args=(client, agent), daemon=True).start()
            threading.Thread(target=self.down, args=(agent, client), daemon=True).start()

    def up(self, client, agent):
        data, fds = b"", []
        while True:
            try:
                chunk, more, _, _ = socket.recv_fds(client, 65536, 4)
                if not chunk:
                    break
                fds += more
                whole, data = cut_frames(data + chunk)
                passed = b"".join(raw for raw in whole if raw[4] <= self.last_type)
                if passed and fds:
                    socket.send_fds(agent, [passed], fds)
                elif passed:
                    agent.sendall(passed)
            except OSError:
                break
            if passed:
                while fds:
                    os.close(fds.pop())
        for fd in fds:
            os.close(fd)
        agent.close()

    def down(self, agent, client):
        data = b""
        while True:
            try:
                chunk = agent.recv(65536)
                if not chunk:
                    break
                found, data = take_frames(data + chunk)
                client.sendall(b"".join(self.change(*f) for f in found))
            except OSError:
                break
        try:
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Agents(WireTest):
    """The client is of this build, pid 1 of another build."""

    DATA = (5, 6, 42)  # types of frames whose bodies are bytes, not fields

    def newer(self, kind, body, stream):
        """Returns what a pid 1 of a later version would send: also frames and fields of unknown types."""
        more = b"" if kind in self.DATA else field(UNKNOWN_TAG, b"new")
        if kind == HELLO:
            body = field(VERSION, 9) + field(OLDEST, 1)
        return frame(UNKNOWN_TYPE, b"news", stream) + frame(kind, body + more, stream)

    def older(self, kind, body, stream):
        """Returns what a pid 1 of protocol 1 would send. Its EXIT has only the fields that are not zero, and its STARTED
        has only the number."""
        if kind == HELLO:
            return hello(1, 1)
        if kind in (EXIT, STARTED):
            told = fields(body)
            body = b"".join(field(t, v) for t, v in told.items()
                            if (any(v) if kind == EXIT else t == SESSION))
        return frame(kind, body, stream)

    def use(self, box):
        got = box.sh("cat; echo err >&2; exit 5", stdin=b"typed")
        self.assertEqual((got.code, got.out, got.err), (5, b"typed", b"err\n"), got)
        self.assertEqual(self.cordon("ping", "-q", box.name).code, 0)
        self.assertEqual(box.exec("/no/such").code, 127)
        with open(os.path.join(self.dir, "file"), "wb") as handle:
            handle.write(b"moved" * 100000)
        self.assertEqual(self.cordon("copy", "./file", f"{box.name}:/root/").code, 0)
        self.assertEqual(self.cordon("copy", f"{box.name}:/root/file", "./back").code, 0)
        with open(os.path.join(self.dir, "back"), "rb") as handle:
            self.assertEqual(handle.read(), b"moved" * 100000)
        term = box.terminal("sh", "-c", "stty size; read x; echo got-$x", rows=30, cols=99)
        term.expect("30 99")
        term.send("line\r")
        term.expect("got-line")
        self.assertEqual(term.wait(), 0)

    def test_a_newer_pid_1(self):
        box = self.create()
        Proxy(self, box, self.newer)
        self.use(box)

    def leave(self, box):
        """Leaves a terminal. Returns the number of its command."""
        term = box.terminal("sh", "-c", "echo up; while read x; do echo got-$x; done")
        term.expect("up")
        term.send(b"\x1d")
        number = term.expect(r"detached from session (\d+)").group(1).decode()
        self.assertEqual(term.wait(), 0)
        return number

    def come_back(self, box, *number):
        """Attaches to the command of a terminal, and leaves it again."""
        term = self.terminal("attach", box.name, *number)
        term.send("line\r")
        term.expect("got-line")
        term.send(b"\x1d")
        term.expect("detached from session")
        self.assertEqual(term.wait(), 0)

    def test_an_older_pid_1(self):
        box = self.create()
        Proxy(self, box, self.older, LAST_TYPE_OF_PROTOCOL_1)
        self.use(box)

    def test_terminals_of_an_older_pid_1(self):
        """A pid 1 of protocol 1 has no list of its commands. But `attach`, with a session number or without one, must
        reach a terminal that was left before an upgrade."""
        for change, last_type in ((self.older, LAST_TYPE_OF_PROTOCOL_1), (self.newer, 255)):
            with self.subTest(change.__name__):
                box = self.create()
                Proxy(self, box, change, last_type)
                got = self.cordon("attach", box.name)
                self.assertEqual((got.code, got.errtext),
                                 (1, f"error: sandbox '{box.name}': no detached session\n"), got)
                first, second = self.leave(box), self.leave(box)
                self.come_back(box)
                self.come_back(box, first)
                self.come_back(box, second)
                got = self.cordon("attach", box.name, "999")
                self.assertEqual((got.code, got.errtext),
                                 (1, f"error: sandbox '{box.name}': session not found: 999\n"), got)

    def test_questions_that_an_older_pid_1_cannot_answer(self):
        box = self.create()
        Proxy(self, box, self.older, LAST_TYPE_OF_PROTOCOL_1)
        for words in (("ps", box.name), ("stop", "--id", "1", box.name)):
            got = self.cordon(*words)
            self.assertEqual((got.code, got.errtext), (
                1, f"error: sandbox '{box.name}' was started by an older cordon, which has no list of commands\n"
                   "  → 'attach' works; a restart ends the commands, and then all works\n"))

    def test_a_pid_1_without_a_common_version(self):
        box = self.create()

        def refuse(kind, body, stream):
            text = b"this sandbox speaks protocol 2 to 3 and this program 1 to 1\0"
            return hello(3, 2) + frame(ERROR, field(CODE, 11) + field(TEXT, text))

        Proxy(self, box, refuse)
        got = box.exec("true")
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertIn("protocol 2 to 3", got.errtext)
        self.assertEqual(box.stop().code, 0)  # the supervisor still answers
        self.assertEqual(box.status(), "Stopped")


class HostilePid1(WireTest):
    """A hostile pid 1 sends a wrong session number, no number, or output before the number. The client still
    works."""

    CHUNK = 65536

    def run_past(self, change, *words):
        """Runs a command while CHANGE falsifies what pid 1 says. Returns (result, records of the
        log)."""
        box = self.create()
        # After three commands, a launcher starts the next one. pid 1 may send the number of such a command late, after
        # the first output.
        for _ in range(3):
            self.assertEqual(box.out("true"), "")
        Proxy(self, box, change)
        got = box.exec(*words)
        with open(os.path.join(self.home, "sandboxes", box.name, "logs", "exec.log")) as handle:
            return got, [r for r in map(json.loads, handle) if r["s"] != "system"]

    def test_pid_1_sends_session_number_zero(self):
        """Pid 1 gives the number 0: the client must not go on waiting for a number."""
        def nought(kind, body, stream):
            return frame(kind, field(SESSION, 0) if kind == STARTED else body, stream)

        got, log = self.run_past(nought, "sh", "-c", "echo one; echo two >&2")
        self.assertEqual((got.code, got.out, got.err), (0, b"one\n", b"two\n"), got)
        self.assertEqual(sorted((r["d"], r["id"]) for r in log), [("one\n", None), ("two\n", None)])

    def test_pid_1_never_sends_a_session_number(self):
        """The log must have the output, without a number."""
        def silent(kind, body, stream):
            return b"" if kind == STARTED else frame(kind, body, stream)

        got, log = self.run_past(silent, "sh", "-c", "echo one")
        self.assertEqual((got.code, got.out), (0, b"one\n"), got)
        self.assertEqual([(r["d"], r["id"]) for r in log], [("one\n", None)])

    def test_output_before_the_session_number_is_bounded(self):
        """Until the number is known, the client keeps up to 256 KiB of output for the log. A piece
        of output that does not fit is left out as a whole: the log never has a part of a piece."""
        sizes = [self.CHUNK] * 3 + [self.CHUNK - 200] * 3

        def flood(kind, body, stream):
            early = b"".join(frame(OUTPUT, b"x" * n, stream) for n in sizes) if kind == STARTED else b""
            return early + frame(kind, body, stream)

        got, log = self.run_past(flood, "true")
        self.assertEqual((got.code, len(got.out), set(got.out)), (0, sum(sizes), {ord("x")}), got.code)
        text = "".join(r["d"] for r in log)
        self.assertEqual(set(text.replace(LOST, "")), {"x"})
        self.assertEqual(text.count("x"), sum(sizes[:4]))


class InPlace(CordonTest):
    """All programs are replaced, as a package manager does it, while a sandbox runs."""

    modes = ("root", "user", "bare")

    def install(self, place):
        for name in os.listdir(os.path.join(PREFIX, "libexec/cordon")):
            target = os.path.join(place, "libexec/cordon", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(os.path.join(PREFIX, "libexec/cordon", name), target + ".new")
            os.rename(target + ".new", target)
        return os.path.join(place, "libexec/cordon/cordon")

    def test_a_running_sandbox_goes_on(self):
        program = self.install(os.path.join(self.dir, "prefix"))
        box = self.box()
        with self.claiming(box):
            got = self.cordon("create", "-q", "-n", box.name, "host", program=program)
        self.assertEqual(got.code, 0, got)
        sleeper = self.spawn("exec", box.name, "--", "sh", "-c", "echo up; read x; echo $x",
                             program=program, stdin=subprocess.PIPE)
        self.assertEqual(sleeper.stdout.readline(), b"up\n")
        self.assertEqual(self.install(os.path.join(self.dir, "prefix")), program)
        sleeper.communicate(b"on\n", timeout=10)
        self.assertEqual(sleeper.returncode, 0)

        def after(*words, **more):
            got = self.cordon(*words, program=program, **more)
            self.assertEqual(got.code, 0, got)
            return got.text

        self.assertEqual(after("exec", box.name, "--", "echo", "new"), "new\n")
        self.assertEqual(after("exec", box.name, "--", "cat", stdin=b"piped"), "piped")
        self.assertIn("new", after("logs", box.name))
        after("modify", box.name, "-e", "A=1")
        self.assertEqual(after("exec", box.name, "--", "sh", "-c", "echo $A"), "1\n")
        after("ping", box.name)
        after("copy", f"{box.name}:/etc/passwd", "./passwd")
        with self.claiming(box):
            after("restart", box.name)
        self.assertEqual(after("exec", box.name, "--", "echo", "fresh"), "fresh\n")
