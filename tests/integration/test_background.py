"""Background commands and reports (cordon-protocol(7)). The tests before ClientLibrary send the frames
to pid 1 themselves."""

import contextlib
import hashlib
import itertools
import os
import select
import signal
import socket
import struct
import subprocess
import types

from harness import ALL_MODES, CORDON, PREFIX, unique_number
from test_upgrade import (ARGUMENT, CODE, ERROR, EXEC, EXIT, FLAGS, HELLO, NUMBER, OLDEST, PING, PONG, STARTED, TEXT,
                          VERSION, Proxy, WireTest, field, fields, frame, hello, take_frames)

CLERK = os.path.join(PREFIX, "libexec/cordon/test-clerk")
STDIN, OUTPUT, CREDIT, DETACH, ATTACH, SIGNAL = 5, 6, 7, 9, 10, 18
STATE_GET, STATE_PUT, STATE, LIST, LOOK, FEED, COMMAND, REPORT = 19, 20, 21, 22, 23, 24, 25, 26
TTY, JOINED, LAST, WHOLE, BACKGROUND, REPORTS = 1, 4, 16, 128, 256, 512  # flags of EXEC
STDERR, KEPT, SCOPE = 1, 32, 64  # flags of frames
SIGNALLED, SESSION, BLOB, OFFSET, KEEP = 16, 31, 79, 80, 81  # tags
# tags of LOOK, FEED and COMMAND
C_ID, C_FLAGS, C_OFFSET, C_MOST, C_DATA, C_PID, C_AGE, C_ENDED, C_END, C_WORDS, C_TOTAL, C_FIRST, C_ROOM, C_REPORT, \
    C_TAKEN = range(1, 16)
UNTIL_OUTPUT, UNTIL_END, UNTIL_ROOM, TAIL, TAKE = 1, 2, 4, 8, 16
IS_BACKGROUND, IS_TERMINAL, IS_ATTACHED, HAS_ENDED, NO_INPUT, IS_CUT = 1, 2, 4, 8, 16, 32
NOT_FOUND, BUSY, LIMIT = 3, 5, 8  # codes of errors
RING = INPUT = 256 << 10
MOST = 64
POOL = 32 << 20
POOL_REFUSAL = "background commands and the state take all of their 32 MiB"


class Refused(Exception):
    def __init__(self, body):
        got = fields(body)
        self.code, = struct.unpack("<Q", got[CODE])
        super().__init__(got[TEXT].rstrip(b"\0").decode())


def number(got, tag):
    return struct.unpack("<Q", got[tag])[0] if tag in got else 0


def end_of(body):
    """Returns (failure, code, signal) of an EXIT."""
    got = fields(body)
    return number(got, 13), number(got, CODE), number(got, SIGNALLED)


def command_of(body):
    got = fields(body)
    return types.SimpleNamespace(
        id=number(got, C_ID), flags=number(got, C_FLAGS), pid=number(got, C_PID), age=number(got, C_AGE),
        words=got.get(C_WORDS, b"").split(b"\0")[:-1], total=number(got, C_TOTAL), first=number(got, C_FIRST),
        room=number(got, C_ROOM), report=number(got, C_REPORT), offset=number(got, C_OFFSET), data=got.get(C_DATA, b""),
        taken=number(got, C_TAKEN), end=end_of(got[C_END])[1:] if C_END in got else None)


class Client:
    """A connection to pid 1. Each question has its own stream."""

    def __init__(self, test, box):
        self.test, self.sock, self.data, self.seen = test, test.connect(box), b"", []
        self.sock.settimeout(30)
        self.streams = itertools.count(1)
        self.sock.sendall(hello(2, 1))

    def send(self, kind, body=b"", stream=0, flags=0):
        self.sock.sendall(struct.pack("<IBBHI", len(body), kind, flags, 0, stream) + body)

    def take(self, stream, *kinds):
        """Returns (kind, flags, body) of the next frame of the stream that has one of KINDS, or any kind if KINDS is
        empty. Keeps all other frames for later calls. Raises Refused if an ERROR of the stream comes first."""
        while True:
            for i, (kind, flags, of, body) in enumerate(self.seen):
                if of == stream and (not kinds or kind in kinds or kind == ERROR):
                    del self.seen[i]
                    if kind == ERROR:
                        raise Refused(body)
                    return kind, flags, body
            chunk = self.sock.recv(1 << 20)
            if not chunk:
                self.test.fail(f"the connection ended, seen: {self.seen}")
            self.data += chunk
            while len(self.data) >= 12:
                n, kind, flags, _, of = struct.unpack("<IBBHI", self.data[:12])
                if len(self.data) < 12 + n:
                    break
                self.seen.append((kind, flags, of, self.data[12:12 + n]))
                self.data = self.data[12 + n:]

    def exec(self, *words, flags=BACKGROUND | JOINED, keep=0, more=b""):
        """Asks for a command. Returns its stream."""
        stream = next(self.streams)
        body = field(FLAGS, flags) + b"".join(field(ARGUMENT, w.encode() + b"\0") for w in words) + more
        self.send(EXEC, body + (field(KEEP, keep) if keep else b""), stream)
        return stream

    def start(self, *words, **more):
        """Starts a background command. Returns its number."""
        kind, _, body = self.take(self.exec(*words, **more), STARTED, EXIT)
        self.test.assertEqual(kind, STARTED, end_of(body) if kind == EXIT else body)
        return number(fields(body), SESSION)

    def sh(self, script, **more):
        return self.start("sh", "-c", script, **more)

    def ask(self, kind, body, flags=0):
        stream = next(self.streams)
        self.send(kind, body, stream, flags)
        return command_of(self.take(stream, COMMAND)[2])

    def ask_look(self, ident, flags=0, offset=0, most=RING):
        """Sends LOOK and does not wait for the answer. Returns its stream."""
        stream = next(self.streams)
        self.send(LOOK, field(C_ID, ident) + field(C_FLAGS, flags) + field(C_OFFSET, offset) + field(C_MOST, most),
                  stream)
        return stream

    def look(self, *args, **more):
        return command_of(self.take(self.ask_look(*args, **more), COMMAND)[2])

    def ended(self, ident):
        return self.look(ident, UNTIL_END)

    def output(self, ident, text):
        """Waits until the output has TEXT."""
        while True:
            now = self.look(ident)
            if text in now.data:
                return now
            self.test.assertFalse(now.flags & HAS_ENDED, now)
            self.look(ident, UNTIL_OUTPUT, now.total)

    def feed(self, ident, data, end=False):
        return self.ask(FEED, field(C_ID, ident) + field(C_END, int(end)) + field(C_DATA, data))

    def signal(self, ident, sig, flags=0):
        return self.ask(SIGNAL, field(NUMBER, int(sig)) + field(SESSION, ident), flags)

    def list(self):
        stream, found = next(self.streams), {}
        self.send(LIST, b"", stream)
        while True:
            kind, _, body = self.take(stream, COMMAND, PONG)
            if kind == PONG:
                return found
            got = command_of(body)
            self.test.assertNotIn(got.id, found)
            found[got.id] = got

    def attach(self, ident, offset=None):
        """Attaches to a background command. Returns its stream."""
        stream = next(self.streams)
        self.send(ATTACH, field(NUMBER, ident) + (field(OFFSET, offset) if offset is not None else b""), stream)
        self.take(stream, STARTED)
        return stream

    def read(self, stream, until, grants=True):
        """Reads a framed stream until UNTIL(stdout, stderr) is true or the command ended. Returns (stdout, stderr,
        end)."""
        out = {0: b"", STDERR: b""}
        while not until(out[0], out[STDERR]):
            kind, flags, body = self.take(stream, OUTPUT, EXIT)
            if kind == EXIT:
                return out[0], out[STDERR], end_of(body)[1:]
            out[flags & STDERR] += body
            if grants:
                self.send(CREDIT, field(NUMBER, len(body)), stream)
        return out[0], out[STDERR], None

    def ping(self):
        stream = next(self.streams)
        self.send(PING, b"", stream)
        self.take(stream, PONG)

    def put_state(self, version, blob):
        stream = next(self.streams)
        self.send(STATE_PUT, field(VERSION, version) + field(BLOB, blob), stream)
        return number(fields(self.take(stream, STATE)[2]), VERSION)

    def close(self):
        self.sock.close()


def to_the_end(out, err):
    return False


class BackgroundTest(WireTest):
    modes = ("root", "user")

    def client(self, box):
        return Client(self, box)

    def refused(self, code, text, call, *args, **more):
        with self.assertRaises(Refused) as got:
            call(*args, **more)
        self.assertEqual((got.exception.code, str(got.exception)), (code, text))

    def gone(self, client, ident):
        with self.assertRaises(Refused) as got:
            client.look(ident)
        self.assertEqual(got.exception.code, NOT_FOUND)


class Life(BackgroundTest):
    modes = ALL_MODES

    def test_a_background_command_outlives_a_killed_client(self):
        box, count = self.create(), unique_number()
        told, tells = os.pipe()
        child = os.fork()
        if child == 0:
            ident = self.client(box).sh(f"echo begun; sleep {count}")
            os.write(tells, str(ident).encode())
            signal.pause()
        os.close(tells)
        ident = int(os.read(told, 32))
        os.close(told)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.assertEqual(box.out("echo another"), "another")
        later = self.client(box)
        later.output(ident, b"begun\n")
        self.eventually(lambda: len(self.sleepers(count)) == 1)
        self.assertEqual(later.list()[ident].words, [b"sh", b"-c", f"echo begun; sleep {count}".encode()])
        self.assertEqual(later.signal(ident, signal.SIGKILL, SCOPE).id, ident)
        self.assertEqual(later.ended(ident).end, (0, signal.SIGKILL))
        self.eventually(lambda: not self.sleepers(count))

    def test_the_exit_status_is_kept_for_the_next_client(self):
        box = self.create()
        first = self.client(box)
        ident = first.sh("echo out; exit 7")
        first.close()
        second = self.client(box)
        got = second.ended(ident)
        self.assertEqual((got.end, got.data, got.pid), ((7, 0), b"out\n", 0))
        self.assertEqual(got.flags, IS_BACKGROUND | HAS_ENDED | NO_INPUT)
        # pid 1 keeps an ended command after LOOK, but forgets it after ATTACH
        self.assertEqual(second.look(ident).end, (7, 0))
        third = self.client(box)
        self.assertEqual(third.read(third.attach(ident), to_the_end), (b"out\n", b"", (7, 0)))
        third.ping()
        self.gone(second, ident)
        self.assertEqual(second.list(), {})

    def test_a_status_stays_if_the_client_leaves_before_reading_it(self):
        box = self.create()
        ident = self.client(box).sh("exit 4")
        self.client(box).ended(ident)
        deaf = self.client(box)
        deaf.send(ATTACH, field(NUMBER, ident), 1)
        deaf.sock.recv(1, socket.MSG_PEEK)
        deaf.close()  # the client has taken no byte of the answer
        self.assertEqual(self.client(box).look(ident).end, (4, 0))

    def test_a_status_stays_if_the_client_only_ends_its_own_frames(self):
        box = self.create()
        ident = self.client(box).sh("exit 4")
        self.client(box).ended(ident)
        deaf = self.client(box)
        deaf.send(ATTACH, field(NUMBER, ident), 1)
        self.arrived(deaf.sock, EXIT)
        deaf.sock.shutdown(socket.SHUT_WR)
        closed = select.poll()
        closed.register(deaf.sock, 0)
        self.eventually(lambda: closed.poll(0))  # POLLHUP
        self.assertEqual(self.client(box).look(ident).end, (4, 0))

    def test_a_status_is_forgotten_although_later_output_is_unread(self):
        box = self.create()
        client, other = self.client(box), self.client(box)
        ident, flood = client.sh("exit 4"), client.sh("cat /dev/zero")
        client.ended(ident)
        client.look(flood, UNTIL_OUTPUT, RING)
        self.assertEqual(client.read(client.attach(ident), to_the_end)[2], (4, 0))
        stream = client.attach(flood)
        # reads and grants less than pid 1 has sent, so that some output is unread all the time
        for _ in range(200):
            body = client.take(stream, OUTPUT)[2]
            client.send(CREDIT, field(NUMBER, len(body)), stream)
        self.gone(other, ident)

    def test_one_look_can_wait_for_the_end_and_take_the_command(self):
        box = self.create()
        client = self.client(box)
        ident = client.sh("exit 9")
        # TAKE has no effect while the command runs
        self.assertEqual(client.look(ident, UNTIL_END | TAKE).end, (9, 0))
        self.gone(client, ident)

    def test_an_ended_command_is_forgotten_after_its_keep_time(self):
        box = self.create()
        client = self.client(box)
        short, long = client.sh("exit 1", keep=100), client.sh("exit 2", keep=1 << 40)
        for ident in short, long:
            client.ended(ident)
        self.eventually(lambda: short not in client.list())
        self.assertEqual(client.look(long).end, (2, 0))

    def test_a_command_that_cannot_start_leaves_no_entry(self):
        client = self.client(self.create())
        for _ in range(MOST + 1):
            kind, _, body = client.take(client.exec("/no/such"), STARTED, EXIT)
            self.assertEqual((kind, end_of(body)[0]), (EXIT, 1))  # the failure 1: the command was not found
        self.assertEqual(client.list(), {})
        self.assertEqual(client.ended(client.sh("exit 3")).end, (3, 0))

    def test_a_timeout_and_the_flag_whole_end_every_process_of_the_command(self):
        count = unique_number()
        client = self.client(self.create())
        ident = client.sh(f"setsid sleep {count} & sleep {count}", more=field(11, 300))
        self.assertEqual(client.ended(ident).end, (0, signal.SIGKILL))
        self.eventually(lambda: not self.sleepers(count))
        ident = client.sh(f"setsid sleep {count} & echo on; exit 5", flags=BACKGROUND | JOINED | WHOLE)
        self.assertEqual(client.ended(ident).end, (5, 0))
        self.assertEqual(self.sleepers(count), [])

    def test_processes_left_behind_live_on_and_get_no_broken_pipe(self):
        box, count = self.create(), unique_number()
        client = self.client(box)
        ident = client.sh(f"(sleep 0.2; echo late; exec sleep {count}) & exit 0")
        self.assertEqual(client.look(ident, UNTIL_END | TAKE).end, (0, 0))
        self.eventually(lambda: len(self.sleepers(count)) == 1)
        self.eventually(lambda: "late" in box.cordon("logs", box.name).text)


class StoppedPid1(BackgroundTest):
    modes = ("root",)

    def test_a_status_stays_if_a_frame_of_the_client_was_on_its_way(self):
        """A frame that the client sent before pid 1 sent EXIT does not show that the client has read EXIT."""
        box, count = self.create(), unique_number()
        client = self.client(box)
        ident = client.sh(f"exec sleep {count}")
        self.eventually(lambda: len(self.sleepers(count)) == 1)
        client.attach(ident)
        with self.stopped(box.pid1()):
            os.kill(self.sleepers(count)[0].pid, signal.SIGTERM)
            self.eventually(lambda: not self.sleepers(count))
            client.send(PING)
        self.arrived(client.sock, EXIT, PONG)
        client.close()
        later = self.client(box)
        later.ping()
        self.assertEqual(later.look(ident).end, (0, signal.SIGTERM))

    def test_a_status_stays_if_the_client_sends_a_frame_and_closes(self):
        """When pid 1 reads the frame, the client's socket is closed, and the kernel has thrown away what was unread."""
        box = self.create()
        ident = self.client(box).sh("exit 4")
        self.client(box).ended(ident)
        deaf = self.client(box)
        deaf.send(ATTACH, field(NUMBER, ident), 1)
        self.arrived(deaf.sock, EXIT)
        with self.stopped(box.pid1()):
            deaf.send(PING)
            deaf.close()
        later = self.client(box)
        later.ping()
        self.assertEqual(later.look(ident).end, (4, 0))

    def test_a_status_stays_although_the_last_command_of_the_client_has_ended(self):
        """After a command with the flag LAST pid 1 hangs up by itself, but not while the client must read an EXIT."""
        box = self.create()
        client = self.client(box)
        ident = client.sh("read x; exit 7")
        stream = client.attach(ident)
        client.send(STDIN, b"\n", stream)
        self.arrived(client.sock, EXIT)
        null = os.open("/dev/null", os.O_RDWR)
        self.addCleanup(os.close, null)
        body = field(FLAGS, LAST) + field(ARGUMENT, b"true\0")
        socket.send_fds(client.sock, [struct.pack("<IBBHI", len(body), EXEC, 0, 0, next(client.streams)) + body],
                        [null] * 3)
        self.eventually(lambda: [kind for kind, _, _ in take_frames(
            client.sock.recv(1 << 16, socket.MSG_PEEK))[0]].count(EXIT) == 2)
        client.close()
        self.assertEqual(self.client(box).look(ident).end, (7, 0))


class Output(BackgroundTest):
    def test_the_ring_drops_the_oldest_output_and_counts_it(self):
        client = self.client(self.create())
        ident = client.sh("seq 100000")
        want = "".join(f"{i}\n" for i in range(1, 100001)).encode()
        got = client.ended(ident)
        self.assertEqual((got.total, got.first), (len(want), len(want) - RING))
        self.assertEqual((got.offset, got.data), (got.first, want[-RING:]))
        part = client.look(ident, offset=got.total - 100, most=10)
        self.assertEqual((part.offset, part.data), (got.total - 100, want[-100:-90]))
        self.assertEqual(client.look(ident, TAIL, most=7).data, want[-7:])
        self.assertEqual(client.look(ident, offset=got.total + 5).data, b"")

    def test_a_look_waits_for_output_and_for_the_end(self):
        box = self.create()
        client, other = self.client(box), self.client(box)
        ident = client.sh("read x; echo got-$x; read x; exit 6")
        waits = client.ask_look(ident, UNTIL_OUTPUT)
        ends = client.ask_look(ident, UNTIL_END)
        again = client.ask_look(ident, UNTIL_END)
        # a second LOOK on the same stream replaces the first LOOK; the second LOOK does not wait
        client.send(LOOK, field(C_ID, ident), again)
        self.assertIsNone(command_of(client.take(again)[2]).end)
        self.assertEqual(other.feed(ident, b"word\n").taken, 5)
        self.assertEqual(command_of(client.take(waits)[2]).data, b"got-word\n")
        self.assertFalse([f for f in client.seen if f[2] == ends])
        other.feed(ident, b"\n")
        self.assertEqual(command_of(client.take(ends)[2]).end, (6, 0))

    def test_an_attached_client_gets_stdout_and_stderr_apart(self):
        box = self.create()
        client = self.client(box)
        ident = client.sh("echo one; echo two >&2; echo three; read x; echo four >&2; exit 2", flags=BACKGROUND)
        self.eventually(lambda: client.look(ident).total == 14)
        self.assertEqual(sorted(client.look(ident).data.split()), [b"one", b"three", b"two"])
        stream = client.attach(ident)
        out, err, _ = client.read(stream, lambda out, err: len(out + err) == 14)
        self.assertEqual((out, err), (b"one\nthree\n", b"two\n"))
        client.send(STDIN, b"\n", stream)
        self.assertEqual(client.read(stream, to_the_end), (b"", b"four\n", (2, 0)))

    def test_attaching_again_gives_new_output_or_output_from_a_given_offset(self):
        box = self.create()
        client = self.client(box)
        ident = client.sh("echo first; read x; echo second; read x")
        stream = client.attach(ident)
        client.read(stream, lambda out, err: out == b"first\n")
        client.close()  # if an attached client dies, the command lives on
        client = self.client(box)
        client.feed(ident, b"\n")
        client.output(ident, b"second\n")
        stream = client.attach(ident)
        self.assertEqual(client.read(stream, lambda out, err: out)[0], b"second\n")
        client.send(DETACH, b"", stream)
        stream = client.attach(ident, 0)
        self.assertEqual(client.read(stream, lambda out, err: len(out) == 13)[0], b"first\nsecond\n")

    def test_a_slow_attached_client_loses_no_output(self):
        box = self.create()
        client = self.client(box)
        ident = client.sh("read x; head -c 3000000 /dev/zero | tr '\\0' x; exit 1")
        stream = client.attach(ident)
        client.send(STDIN, b"\n", stream)
        # without credit the command waits
        client.read(stream, lambda out, err: len(out) == RING, grants=False)
        self.assertEqual(client.look(ident).total, RING)
        client.send(CREDIT, field(NUMBER, RING), stream)
        out, _, end = client.read(stream, to_the_end)
        self.assertEqual((len(out), set(out), end), (3000000 - RING, {ord("x")}, (1, 0)))

    def test_a_flood_keeps_pid_1_small(self):
        box = self.create()
        client = self.client(box)
        before = box.pid1().rss_kib
        idents = [client.sh("yes", flags=BACKGROUND) for _ in range(8)]
        for ident in idents:
            client.look(ident, UNTIL_OUTPUT, 4 << 20)
        self.assertEqual(box.out("echo alive"), "alive")
        self.assertLess(box.pid1().rss_kib, before + 8 * 320 + 4096)
        for ident in idents:
            client.signal(ident, signal.SIGKILL, SCOPE)
        for ident in idents:
            self.assertEqual(client.look(ident, UNTIL_END | TAKE).end, (0, signal.SIGKILL))
        self.eventually(lambda: box.pid1().rss_kib < before + 4096)


class Input(BackgroundTest):
    def test_input_is_held_open_for_later_clients(self):
        box = self.create()
        first = self.client(box)
        ident = first.sh("cat; echo end")
        first.close()
        for word in b"one\n", b"two\n":
            client = self.client(box)
            got = client.feed(ident, word)
            self.assertEqual((got.taken, got.flags & NO_INPUT, got.room), (4, 0, INPUT))
            client.output(ident, word)
            client.close()
        last = self.client(box)
        self.assertEqual(last.feed(ident, b"three\n", end=True).flags & NO_INPUT, NO_INPUT)
        got = last.ended(ident)
        self.assertEqual((got.data, got.end), (b"one\ntwo\nthree\nend\n", (0, 0)))
        self.assertEqual(last.feed(ident, b"late").taken, 0)

    def test_a_command_that_closed_its_input_takes_no_more(self):
        client = self.client(self.create())
        ident = client.sh("exec <&-; echo closed; sleep 9")
        client.output(ident, b"closed")
        self.eventually(lambda: client.look(ident).flags & NO_INPUT)
        got = client.feed(ident, b"x")
        self.assertEqual((got.taken, got.room), (0, 0))

    def test_input_that_does_not_fit_stays_with_the_client(self):
        client = self.client(self.create())
        ident = client.sh("trap go=1 USR1; echo ready; until [ $go ]; do sleep 0.05; done; exec sha256sum")
        client.output(ident, b"ready")
        piece = os.urandom(1 << 16)
        sent, digest = 0, hashlib.sha256()
        while True:
            got = client.feed(ident, piece)
            digest.update(piece[:got.taken])
            sent += got.taken
            if got.taken < len(piece):
                break
        self.assertEqual(sent, INPUT + (1 << 16))  # pid 1's input buffer and the pipe are full
        self.assertEqual(client.look(ident).room, 0)
        waits = client.ask_look(ident, UNTIL_ROOM)
        client.ping()
        self.assertFalse([f for f in client.seen if f[2] == waits])
        client.signal(ident, signal.SIGUSR1)
        self.assertGreater(command_of(client.take(waits)[2]).room, 0)
        while sent < 3_000_000:
            got = client.feed(ident, piece)
            digest.update(piece[:got.taken])
            sent += got.taken
            if got.taken < len(piece):
                client.look(ident, UNTIL_ROOM)
        self.assertEqual(client.feed(ident, b"", end=True).taken, 0)
        got = client.output(ident, b"-")
        self.assertIn(digest.hexdigest().encode(), got.data)

    READER = "trap go=1 USR1; echo ready; until [ $go ]; do sleep 0.05; done; exec sha256sum"
    RAW_READER = "stty raw -echo; " + READER.replace("sha256sum", "head -c {} | sha256sum")

    def send_input(self, client, stream, data):
        for at in range(0, len(data), 1 << 16):
            client.send(STDIN, data[at:at + (1 << 16)], stream)

    def credit(self, client, stream, least):
        """Waits until pid 1 has granted at least LEAST bytes. Then sends PING, and returns how many bytes pid 1 has
        granted before it answered PING."""
        granted = 0
        while granted < least:
            granted += number(fields(client.take(stream, CREDIT)[2]), NUMBER)
        client.ping()
        for kind, _, of, body in client.seen:
            granted += number(fields(body), NUMBER) if (kind, of) == (CREDIT, stream) else 0
        return granted

    def check_digest(self, out, data):
        self.assertIn(hashlib.sha256(data).hexdigest().encode(), out)

    def test_an_attached_client_has_its_whole_credit_whatever_others_have_sent(self):
        client = self.client(self.create())
        ident = client.sh(self.READER)
        client.output(ident, b"ready")
        fed, sent = os.urandom(INPUT + (1 << 16)), os.urandom(INPUT)
        for at in range(0, len(fed), 1 << 16):
            self.assertEqual(client.feed(ident, fed[at:at + (1 << 16)]).taken, 1 << 16)
        stream = client.attach(ident)
        self.send_input(client, stream, sent)
        client.ping()
        self.assertEqual(client.look(ident).flags, IS_BACKGROUND | IS_ATTACHED)
        client.signal(ident, signal.SIGUSR1)
        # only the client's own bytes give it new credit
        self.assertEqual(self.credit(client, stream, INPUT), INPUT)
        self.send_input(client, stream, sent)
        self.assertEqual(self.credit(client, stream, INPUT), INPUT)
        client.send(STDIN, b"", stream)
        self.check_digest(client.read(stream, to_the_end)[0], fed + 2 * sent)

    def test_the_next_client_at_a_terminal_has_its_whole_credit(self):
        client = self.client(self.create())
        data = [os.urandom(INPUT), os.urandom(INPUT)]
        ident = client.start("sh", "-c", self.RAW_READER.format(2 * INPUT), flags=BACKGROUND | TTY)
        client.output(ident, b"ready")
        for part in data:
            stream = client.attach(ident)
            self.send_input(client, stream, part)
            client.send(DETACH, b"", stream)
        client.ping()
        self.assertEqual(client.look(ident).room, 0)
        client.signal(ident, signal.SIGUSR1)
        self.check_digest(client.ended(ident).data, b"".join(data))

    def test_partial_reads_do_not_change_the_credit(self):
        """Bytes that others have sent are taken a few at a time, while the client always uses all of its credit."""
        client = self.client(self.create())
        ident = client.sh(self.READER.replace("exec sha256sum", "while [ $(head -c 8192 | wc -c) -gt 0 ]; do :; done"))
        client.output(ident, b"ready")
        piece = bytes(1 << 16)
        while client.feed(ident, piece).taken == len(piece):
            pass
        stream = client.attach(ident)
        self.send_input(client, stream, bytes(INPUT))
        client.signal(ident, signal.SIGUSR1)
        left = 3 * INPUT
        while left > 0:
            got = number(fields(client.take(stream, CREDIT)[2]), NUMBER)
            self.send_input(client, stream, bytes(got))
            left -= got
        client.send(STDIN, b"", stream)
        self.assertEqual(client.read(stream, to_the_end)[2], (0, 0))

    def test_a_client_that_exceeds_its_credit_ends_the_command(self):
        client = self.client(self.create())
        ident = client.sh("echo ready; sleep 99")
        client.output(ident, b"ready")
        client.feed(ident, bytes(1 << 16))
        client.feed(ident, bytes(1000))
        stream = client.attach(ident)
        self.send_input(client, stream, bytes(INPUT))
        client.ping()
        self.assertEqual(client.look(ident).flags, IS_BACKGROUND | IS_ATTACHED)
        client.send(STDIN, b"x", stream)
        self.assertEqual(client.read(stream, to_the_end)[2], (0, signal.SIGKILL))

    def test_no_client_can_attach_if_too_much_input_is_unread(self):
        client = self.client(self.create())
        data = [os.urandom(INPUT), os.urandom(INPUT)]
        ident = client.sh(self.READER)
        client.output(ident, b"ready")
        for part in data:
            stream = client.attach(ident)
            self.send_input(client, stream, part)
            client.send(DETACH, b"", stream)
        refusal = f"session {ident} has more than 256 KiB of unread input"
        self.refused(LIMIT, refusal, client.attach, ident)
        self.assertEqual((client.look(ident).room, client.feed(ident, b"x").taken), (0, 0))
        client.signal(ident, signal.SIGUSR1)
        client.look(ident, UNTIL_ROOM)
        stream = client.attach(ident)
        client.send(STDIN, b"", stream)
        self.check_digest(client.read(stream, to_the_end)[0], b"".join(data))

    def test_only_one_client_can_be_attached(self):
        box = self.create()
        one, other = self.client(box), self.client(box)
        ident = one.sh("cat")
        stream = one.attach(ident)
        self.refused(BUSY, f"session {ident} is attached elsewhere", other.attach, ident)
        self.refused(BUSY, f"session {ident} is attached elsewhere", other.feed, ident, b"x")
        self.assertEqual(other.look(ident).flags, IS_BACKGROUND | IS_ATTACHED)
        one.send(STDIN, b"mine\n", stream)
        one.read(stream, lambda out, err: out == b"mine\n")
        self.assertEqual(other.look(ident).data, b"mine\n")  # LOOK does not attach
        one.send(DETACH, b"", stream)
        one.ping()
        theirs = other.attach(ident)
        other.send(STDIN, b"", theirs)
        self.assertEqual(other.read(theirs, to_the_end)[2], (0, 0))

    def test_input_reaches_a_command_at_a_terminal(self):
        client = self.client(self.create())
        ident = client.sh("stty -echo size; read x; echo got-$x; read x || echo end", flags=BACKGROUND | TTY,
                          more=field(9, 30) + field(10, 120))
        got = client.output(ident, b"30 120")
        self.assertEqual(got.flags, IS_BACKGROUND | IS_TERMINAL)
        client.feed(ident, b"word\n")
        client.output(ident, b"got-word")
        client.feed(ident, b"", end=True)
        self.assertIn(b"end", client.ended(ident).data)


class Lists(BackgroundTest):
    def test_every_command_is_in_the_list(self):
        box = self.create()
        client = self.client(box)
        piped, tty = client.start("cat"), client.sh("cat", flags=BACKGROUND | TTY)
        over = client.sh("exit 8")
        client.ended(over)
        attached = client.sh("cat")
        client.attach(attached)
        front = box.popen("sh", "-c", "echo up; exec cat", stdin=-1)
        self.assertEqual(front.stdout.readline(), b"up\n")
        mine = self.client(box)
        stream = mine.exec("cat", flags=TTY)
        mine.take(stream, STARTED)
        found = self.client(box).list()
        self.assertEqual(len(found), 6)
        self.assertEqual(found[piped].flags, IS_BACKGROUND)
        self.assertEqual(found[tty].flags, IS_BACKGROUND | IS_TERMINAL)
        self.assertEqual((found[over].flags, found[over].end), (IS_BACKGROUND | HAS_ENDED | NO_INPUT, (8, 0)))
        self.assertEqual(found[attached].flags, IS_BACKGROUND | IS_ATTACHED)
        others = [c for i, c in found.items() if i not in (piped, tty, over, attached)]
        self.assertEqual(sorted((c.flags, c.words) for c in others),
                         [(IS_ATTACHED | NO_INPUT, [b"sh", b"-c", b"echo up; exec cat"]),
                          (IS_ATTACHED | IS_TERMINAL | NO_INPUT, [b"cat"])])
        for command in found.values():
            self.assertLess(command.age, 60_000)
            self.assertEqual(command.pid > 1, not command.flags & HAS_ENDED)
        self.assertEqual(box.out(f"cat /proc/{found[piped].pid}/comm"), "cat")
        # signals by number reach foreground commands, too
        client.signal(others[0].id, signal.SIGTERM)
        client.signal(others[1].id, signal.SIGTERM)
        self.assertEqual(front.wait(10), 143)

    def test_long_command_lines_are_cut(self):
        client = self.client(self.create())
        ident = client.sh("cat; : " + "x" * 5000)
        got = client.list()[ident]
        self.assertEqual(got.flags, IS_BACKGROUND | IS_CUT)
        self.assertEqual(sum(len(w) + 1 for w in got.words), 1024)

    def test_unknown_commands_are_refused(self):
        client = self.client(self.create())
        for call in (client.look, client.attach, lambda i: client.feed(i, b""), lambda i: client.signal(i, 9)):
            self.refused(NOT_FOUND, "session not found: 4711", call, 4711)

    def test_a_detached_terminal_is_a_background_command(self):
        box = self.create()
        client = self.client(box)
        stream = client.exec("sh", "-c", "stty -echo; read x; echo got-$x; exit 5", flags=TTY)
        ident = number(fields(client.take(stream, STARTED)[2]), SESSION)
        client.send(DETACH, b"", stream)
        client.ping()
        client.close()
        later = self.client(box)
        self.assertEqual(later.list()[ident].flags, IS_BACKGROUND | IS_TERMINAL)
        later.feed(ident, b"word\n")
        self.assertEqual(later.ended(ident).end, (5, 0))
        out, _, end = later.read(later.attach(ident), to_the_end)
        self.assertEqual(end, (5, 0))
        self.assertIn(b"got-word", out)


class Bounds(BackgroundTest):
    timeout = 120

    def test_the_65th_background_command_is_refused(self):
        box = self.create()
        client = self.client(box)
        idents = [client.start("cat") for _ in range(MOST)]
        stream = client.exec("cat")
        self.refused(LIMIT, "there are 64 background commands already", client.take, stream, STARTED)
        self.assertEqual(sorted(client.list()), idents)
        self.eventually(lambda: [p.comm for p in box.host_processes()].count("cat") == MOST)
        # an ended command counts as one of the 64 until a client takes its status
        client.feed(idents[0], b"", end=True)
        client.ended(idents[0])
        self.refused(LIMIT, "there are 64 background commands already", client.take, client.exec("true"), STARTED)
        client.look(idents[0], TAKE)
        self.assertEqual(client.start("true"), idents[-1] + 1)

    def grown(self, box, client, ask, times):
        """Asks many times without reading an answer; the socket has room for 70 questions. Then reads all answers.
        Returns by how many KiB pid 1 has grown before the first answer was read."""
        before = box.pid1().rss_kib
        asked = [ask() for _ in range(times)]
        self.eventually(lambda: self.waits(box))
        grown = box.pid1().rss_kib - before
        for stream in asked:
            client.take(stream)
        return grown

    @staticmethod
    def waits(box):
        return box.pid1().state == "S"

    def test_answers_that_nobody_reads(self):
        box = self.create()
        client = self.client(box)
        # poll() says that a socket is writable while at most a quarter of its buffer is used. If pid 1 reads one
        # question and no more, the other questions must fit into this quarter.
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 200 << 10)
        ident = client.sh("head -c 300000 /dev/zero; cat", flags=BACKGROUND)
        client.look(ident, UNTIL_OUTPUT, 299_999)
        self.assertEqual(client.put_state(0, bytes(4 << 20)), 1)

        def ask_state():
            stream = next(client.streams)
            client.send(STATE_GET, b"", stream)
            return stream

        asked = {"look": (lambda: client.ask_look(ident), 60), "state": (ask_state, 10),
                 "wait": (lambda: client.ask_look(ident, UNTIL_END), 60)}
        for what, (ask, times) in asked.items():
            with self.subTest(what):
                # pid 1 answers these questions when the command ends, so the last question must end it
                if what == "wait":
                    ask, times = self.ending(box, ident, ask, times)
                self.assertLess(self.grown(box, client, ask, times), 12 << 10)

    def ending(self, box, ident, ask, times):
        """Returns (ONE, TIMES). Each call of the function ONE sends one question with ASK. The last of TIMES calls also
        ends the command."""
        other, left = self.client(box), iter(range(times - 1, -1, -1))

        def one():
            stream = ask()
            if next(left) == 0:
                other.feed(ident, b"", end=True)
                other.ended(ident)
            return stream

        return one, times

    def test_all_commands_and_the_state_share_32_mib(self):
        """The output and input of 64 commands and the largest state would take more than 32 MiB."""
        box = self.create()
        client = self.client(box)
        before = box.pid1().rss_kib
        script = "head -c 300000 /dev/zero; sleep 999"
        idents = [client.sh(script, flags=BACKGROUND) for _ in range(MOST)]
        for ident in idents:
            client.look(ident, UNTIL_OUTPUT, 299_999)
        other = self.client(box)
        self.assertEqual(other.put_state(0, bytes(4 << 20)), 1)
        other.close()  # then pid 1 frees the frame that carried the state
        piece, full = bytes(1 << 16), []
        for ident in idents:
            try:
                while client.feed(ident, piece).taken == len(piece):
                    pass
                full.append(ident)
            except Refused as got:
                self.assertEqual((got.code, str(got)), (LIMIT, POOL_REFUSAL))
                break
        each = RING + RING // 8
        left = POOL - (4 << 20) - MOST * (each + 2048)
        self.assertIn(len(full), range(left // INPUT, left // INPUT + 2))
        self.assertLess(box.pid1().rss_kib, before + (POOL >> 10) + 4096)
        # No input, no attachment and no larger state fits. A state of the same size replaces the old state.
        self.refused(LIMIT, POOL_REFUSAL, client.attach, idents[-1])
        self.refused(LIMIT, POOL_REFUSAL, client.attach, full[0])
        self.assertEqual(client.put_state(1, bytes(4 << 20)), 2)
        self.assertEqual(client.put_state(2, b"small"), 3)
        other = self.client(box)
        stream = other.attach(idents[-1])
        self.refused(LIMIT, POOL_REFUSAL, client.put_state, 3, bytes(4 << 20))
        self.assertEqual(client.put_state(3, b"still works"), 4)
        other.send(DETACH, b"", stream)
        # a new command is refused when no room is left for its output
        for ident in idents[-8:]:
            client.signal(ident, signal.SIGKILL, SCOPE)
            client.look(ident, UNTIL_END | TAKE)
        self.assertEqual(client.put_state(4, bytes(4 << 20)), 5)
        held = 0
        with contextlib.suppress(Refused):
            for ident in idents[:-8]:
                if ident not in full:
                    while client.feed(ident, piece).taken == len(piece):
                        pass
                    held += 1
        self.assertGreater(held, 0)
        before_list = sorted(client.list())
        with self.assertRaises(Refused) as got:
            for _ in range(9):
                client.start("cat")
        self.assertEqual(str(got.exception), POOL_REFUSAL)
        self.assertLess(len(client.list()), MOST)
        self.assertEqual(sorted(client.list())[:len(before_list)], before_list)
        for ident in client.list():
            client.signal(ident, signal.SIGKILL, SCOPE)
        for ident in client.list():
            client.look(ident, UNTIL_END | TAKE)
        self.assertEqual(client.put_state(5, b""), 6)
        client.close()
        self.eventually(lambda: box.pid1().rss_kib < before + 8192)

    def test_reports_count_against_the_memory_bound(self):
        box = self.create()
        client = self.client(box)
        before = box.pid1().rss_kib
        lines = REPORT_LINES + "report(b'x' * (4 << 20))"
        kept = []
        for _ in range(12):
            ident = client.start("/usr/bin/python3", "-c", lines, flags=BACKGROUND | JOINED | REPORTS)
            kept.append(client.ended(ident).report)
        self.assertEqual(kept, [4 << 20] * 7 + [0] * 5)
        self.assertLess(box.pid1().rss_kib, before + (POOL >> 10) + 4096)
        self.refused(LIMIT, POOL_REFUSAL, client.put_state, 0, bytes(4 << 20))
        for ident in client.list():
            client.look(ident, TAKE)
        self.assertEqual(client.put_state(0, bytes(4 << 20)), 1)

    def test_the_number_of_waiting_clients_is_bounded(self):
        box = self.create()
        client = self.client(box)
        ident = client.start("cat")
        waits = [client.ask_look(ident, UNTIL_END) for _ in range(256)]
        self.refused(LIMIT, "too many clients wait for background commands", client.look, ident, UNTIL_END)
        client.feed(ident, b"", end=True)
        for stream in waits:
            self.assertEqual(command_of(client.take(stream)[2]).end, (0, 0))
        # requests of a client that has closed its connection no longer count
        ident = client.start("cat")
        for _ in range(256):
            client.ask_look(ident, UNTIL_END)
        client.ping()
        client.close()
        later = self.client(box)
        later.feed(ident, b"", end=True)
        self.assertEqual(later.ended(ident).end, (0, 0))


class Crowds(BackgroundTest):
    """If pid 1 has few descriptors left, new clients wait until there are more, while other clients stay connected."""
    DETACHED = 2

    def crowd(self, start, least):
        """Starts at least LEAST commands, and more until new clients wait. Returns the client of the commands, a client
        that came later, and a client that waits for an answer on stream 1."""
        box = self.box()
        with self.claiming(box):
            # the limit of descriptors in flight counts for all tests of the user
            self.eventually(lambda: self.cordon("--nofile=128", CORDON, "create", "-q", "-n", box.name, "host",
                                                program="prlimit").code == 0)
        client = self.client(box)
        for _ in range(least):
            start(client)
        while True:
            start(client)
            later, waits = self.client(box), self.client(box)
            later.ping()
            waits.sock.settimeout(0.3)
            try:
                waits.ping()
            except TimeoutError:
                waits.sock.settimeout(30)
                return client, later, waits
            later.close()
            waits.close()

    def test_new_clients_wait_until_background_commands_have_ended(self):
        idents = []
        client, later, waits = self.crowd(lambda client: idents.append(client.start("cat")), 12)
        for ident in idents:
            client.signal(ident, signal.SIGKILL, SCOPE)
            client.look(ident, UNTIL_END | TAKE)
        waits.take(1, PONG)
        later.ping()

    def test_new_clients_wait_until_the_pipes_of_background_processes_are_closed(self):
        client, later, waits = self.crowd(lambda client: client.sh("sleep 999 & exit", flags=self.DETACHED), 20)
        client.sh("kill -9 -1", flags=self.DETACHED)
        waits.take(1, PONG)
        later.ping()


# Python lines that define report(TEXT): it connects to the socket for reports and sends TEXT.
REPORT_LINES = """
import os, socket, struct, sys, time
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect("\\0cordon/report")
    return s
def report(text, s=None):
    s = s or connect()
    s.sendall(struct.pack("<I", len(text)) + text)
    return s
"""


class Reports(BackgroundTest):
    modes = ALL_MODES

    def run_reporter(self, box, lines, flags=REPORTS, client=None):
        """Runs these lines of Python as a foreground command. Returns (report, exit)."""
        client = client or self.client(box)
        null, stream = os.open(os.devnull, os.O_RDWR), next(client.streams)
        words = ("/usr/bin/python3", "-c", REPORT_LINES + lines)
        body = field(FLAGS, JOINED | flags) + b"".join(field(ARGUMENT, w.encode() + b"\0") for w in words)
        socket.send_fds(client.sock, [struct.pack("<IBBHI", len(body), EXEC, 0, 0, stream) + body], [null, null])
        os.close(null)
        client.take(stream, STARTED)
        report = None
        while True:
            kind, _, body = client.take(stream, REPORT, EXIT)
            if kind == EXIT:
                return report, end_of(body)[1:]
            self.assertIsNone(report)
            report = body

    def test_a_report_comes_before_the_exit_status(self):
        box = self.create()
        client = self.client(box)
        for size in 0, 5, 100_000, 4 << 20:
            lines = f"report(b'x' * {size}); sys.exit(3)"
            self.assertEqual(self.run_reporter(box, lines, client=client), (b"x" * size, (3, 0)))
        # a program that replaces the command by exec may report as well
        lines = "os.execv('/usr/bin/python3', ['python3', '-c', %r])" % (REPORT_LINES + "report(b'state')")
        self.assertEqual(self.run_reporter(box, lines), (b"state", (0, 0)))

    def test_only_a_complete_report_counts(self):
        box = self.create()
        for lines in ("connect()", "connect().sendall(b'\\5\\0')", "connect().sendall(b'\\5\\0\\0\\0stat')",
                      "connect().sendall(b'\\1\\0\\x40\\0' + b'x' * 100)", "pass"):
            self.assertEqual(self.run_reporter(box, lines), (None, (0, 0)), lines)
        # only the report of the first connection that sends something counts
        lines = "a = report(b'first'); time.sleep(0.2)\ntry:\n  report(b'second')\nexcept OSError: pass"
        self.assertEqual(self.run_reporter(box, lines), (b"first", (0, 0)))

    def test_a_command_without_the_flag_cannot_report(self):
        box = self.create()
        # this report shows that the socket exists
        self.assertEqual(self.run_reporter(box, "report(b'kept')")[0], b"kept")
        lines = "s = connect(); s.settimeout(0.5)\ntry: report(b'forged', s)\nexcept OSError: pass"
        self.assertEqual(self.run_reporter(box, lines, flags=0), (None, (0, 0)))

    def test_a_background_command_can_report(self):
        box = self.create()
        client = self.client(box)
        ident = client.start("/usr/bin/python3", "-c", REPORT_LINES + "report(b'state'); sys.exit(2)",
                             flags=BACKGROUND | JOINED | REPORTS)
        got = client.ended(ident)
        self.assertEqual((got.report, got.end, got.data), (5, (2, 0), b""))
        stream = client.attach(ident)
        self.assertEqual(client.take(stream)[::2], (REPORT, b"state"))
        self.assertEqual(client.take(stream)[0], EXIT)

    def test_reports_of_other_processes_are_ignored(self):
        """Only the command itself may report. A child of the command and two other commands try to report, too."""
        box = self.create()
        self.assertEqual(self.run_reporter(box, "if os.fork() == 0:\n  report(b'forged')\n  os._exit(0)\nos.wait()"),
                         (None, (0, 0)))
        client = self.client(box)
        forger = REPORT_LINES + """
while True:
    try: report(b'forged').close()
    except OSError: pass
"""
        forgers = [client.start("/usr/bin/python3", "-c", forger, flags=BACKGROUND | JOINED) for _ in range(2)]
        for _ in range(5):
            self.assertEqual(self.run_reporter(box, "pass"), (None, (0, 0)))
            self.assertEqual(self.run_reporter(box, "report(b'true')"), (b"true", (0, 0)))
        for ident in forgers:
            client.signal(ident, signal.SIGKILL, SCOPE)

    def test_connections_made_before_the_command_started_are_ignored(self):
        """The processes that made the connections have ended. The command may get the pid of such a process."""
        box = self.create()
        self.assertEqual(self.run_reporter(box, "report(b'first')")[0], b"first")
        fill = REPORT_LINES + """
for i in range(200):
    if os.fork() == 0:
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try: report_to = s.connect("\\0cordon/report") or s.send(struct.pack("<I", 6) + b"forged")
        except OSError: pass
        os._exit(0)
    os.wait()
"""
        self.assertEqual(box.exec("/usr/bin/python3", "-c", fill).code, 0)
        self.assertEqual(self.run_reporter(box, "pass"), (None, (0, 0)))
        self.assertEqual(self.run_reporter(box, "report(b'true')")[0], b"true")

    def test_reports_of_two_commands_do_not_mix(self):
        box = self.create()
        clients = [self.client(box) for _ in range(4)]
        idents = [c.start("/usr/bin/python3", "-c", REPORT_LINES + f"report(b'{i}' * {i + 1})",
                          flags=BACKGROUND | JOINED | REPORTS) for i, c in enumerate(clients)]
        for i, (client, ident) in enumerate(zip(clients, idents)):
            client.ended(ident)
            self.assertEqual(client.take(client.attach(ident), REPORT)[2], str(i).encode() * (i + 1))

    def test_reports_of_commands_that_end_at_once_arrive(self):
        """Some commands end while pid 1 reaps others. At that time the connections of the ended commands still wait in
        the queue."""
        client = self.client(self.create())
        lines = REPORT_LINES + "sys.stdin.read(); report(b'state'); os._exit(0)"
        for _ in range(2):
            idents = [client.start("/usr/bin/python3", "-c", lines, flags=BACKGROUND | JOINED | REPORTS)
                      for _ in range(MOST)]
            for ident in idents:
                client.feed(ident, b"", end=True)
            ends = [client.look(ident, UNTIL_END | TAKE) for ident in idents]
            self.assertEqual([(got.report, got.end) for got in ends], [(5, (0, 0))] * MOST)

    def test_a_process_that_takes_the_socket_name_only_prevents_reports(self):
        """If a process binds the socket's name before pid 1 does, no command can report, but the process cannot forge a
        report."""
        box = self.create()
        client = self.client(box)
        squat = "import socket, time; s = socket.socket(socket.AF_UNIX); s.bind('\\0cordon/report'); print('bound', flush=True); time.sleep(99)"
        ident = client.start("/usr/bin/python3", "-c", squat)
        client.output(ident, b"bound")
        stream = client.exec("true", flags=BACKGROUND | REPORTS)
        self.refused(BUSY, "a process inside has taken the name of the socket for reports", client.take, stream, STARTED)
        self.assertEqual(sorted(client.list()), [ident])
        client.signal(ident, signal.SIGKILL)
        client.look(ident, UNTIL_END | TAKE)
        self.assertEqual(self.run_reporter(box, "report(b'now')")[0], b"now")


class ReusedNumbers(BackgroundTest):
    modes = ("root",)

    def test_a_reaped_process_of_the_same_number_cannot_report(self):
        """A process connects, ends and is reaped, and the next command gets the pid of this process. The connection
        still waits in the queue when the command starts."""
        box = self.create()
        client = self.client(box)
        self.assertEqual(Reports.run_reporter(self, box, "report(b'first')", client=client)[0], b"first")
        # after eight commands pid 1 starts no more launchers
        idents = [client.start("sleep", "0.1") for _ in range(8)]
        for ident in idents:
            client.look(ident, UNTIL_END | TAKE)
        script = REPORT_LINES + """
for i in range(40):  # so that its number is not among the first
    if os.fork() == 0:
        if i == 39:
            print(os.getpid(), flush=True)
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            s.connect("\\0cordon/report")
            s.send(struct.pack("<I", 6) + b"forged")
        os._exit(0)
    os.wait()
"""
        pid = int(box.exec("/usr/bin/python3", "-c", script).text)
        for k in range(50):  # try several times, because launchers of pid 1 take pids as well
            # Writing to ns_last_pid sets the pid after which the kernel continues. It does so for the pid namespace of
            # the process that writes, so nsenter enters the namespace of the sandbox first.
            got = subprocess.run(["nsenter", "-p", "-t", str(box.pid1().pid), "sh", "-c",
                                  f"echo {pid - 1 - k % 8} > /proc/sys/kernel/ns_last_pid"], capture_output=True, check=False)
            if got.returncode:
                self.not_run("the next process number cannot be chosen here")
            ident = client.start("sh", "-c", "echo $$", flags=BACKGROUND | JOINED | REPORTS)
            got = client.look(ident, UNTIL_END | TAKE)
            if int(got.data) == pid:
                break
        self.assertEqual((int(got.data), got.report), (pid, 0))


class ClientLibrary(WireTest):
    """clerk.c makes the requests of the classes above, one after the other, with client/ask and client/job."""

    modes = ("root", "user")

    def ask(self, box, *words):
        if not os.path.exists(CLERK):
            self.not_run("the client of this test was not built")
        got = self.cordon(box.name, *words, program=CLERK)
        self.assertEqual((got.code, got.errtext), (0, ""), got)
        return got.text.splitlines()

    def test_a_command_from_start_to_end(self):
        box = self.create()
        script = "import sys; print(sys.stdin.readline(), end='', flush=True); sys.stdin.read(); sys.exit(3)"
        self.assertEqual(
            self.ask(box, f"start:{script}", "feed:hello", "until:hello", "list", "end", "wait", "list"),
            ["started", "taken: 6", "output: hello", "command 0: background /usr/bin/python3", "ended: 3"])

    def test_an_attached_client_gets_output_status_and_report(self):
        box = self.create()
        script = ("import os, socket, sys; print('out', flush=True); print('err', file=sys.stderr)\n"
                  "s = socket.socket(socket.AF_UNIX); s.connect('\\0cordon/report'); s.sendall(b'\\5\\0\\0\\0state'); sys.exit(4)")
        got = self.ask(box, f"start:{script}", "attach")
        self.assertEqual(got[0], "started")
        self.assertEqual(sorted(got[1:3]), ["stderr: err", "stdout: out"])
        self.assertEqual(got[3:], ["ended: 4", "report: state"])

    def test_commands_are_found_by_number(self):
        box, count = self.create(), unique_number()
        # a process that is being made while a signal goes to all processes may miss the signal
        script = f"import subprocess; p = subprocess.Popen(['sleep', '{count}']); print('up', flush=True); p.wait()"
        self.assertEqual(self.ask(box, f"start:{script}", "until:up", "term", "wait"),
                         ["started", "output: up", "ended: 143"])
        self.eventually(lambda: not self.sleepers(count))
        self.assertEqual(self.ask(box, "attach", "term", "wait"),
                         ["error 3: no detached session"] + ["error 3: session not found: 0"] * 2)

    def test_an_older_pid_1_gets_no_background_requests(self):
        """The client sends no background requests to an older pid 1. Ordinary commands still work."""
        box = self.create()

        def older(kind, body, stream):
            return frame(kind, field(VERSION, 1) + field(OLDEST, 1) if kind == HELLO else body, stream)

        Proxy(self, box, older)
        said = f"error 9: sandbox '{box.name}' was started by an older version, which keeps no background commands"
        self.assertEqual(self.ask(box, "start:print()", "list", "attach", "wait", "feed:x"), [said] * 5)
        self.assertEqual(box.out("echo as ever"), "as ever")
