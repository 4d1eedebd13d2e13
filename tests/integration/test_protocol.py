"""Tests what protocol 2 adds (cordon-protocol(7)). The tests write the frames themselves, so that they can also send
frames that no client of ours sends."""

import contextlib
import os
import random
import signal
import socket
import struct

from harness import ALL_MODES, unique_number
from test_upgrade import (ARGUMENT, CODE, ERROR, EXEC, EXIT, FLAGS, HELLO, NUMBER, PING, PONG, TEXT, VERSION,
                          WireTest, field, fields, frame, hello, take_frames)

SIGNAL, SIGNALLED, SCOPE = 18, 16, 64
TTY, JOINED, WHOLE = 1, 4, 128


class Line:
    """A connection over which several commands run, each on its own stream."""

    def __init__(self, test, box):
        self.test, self.sock, self.data, self.seen = test, test.connect(box), b"", []
        self.outputs = {}
        self.sock.sendall(hello(2, 1))

    def start(self, stream, script, flags=0):
        """Starts a script and waits until it has printed a line."""
        out, theirs = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        body = field(FLAGS, JOINED | flags) + b"".join(
            field(ARGUMENT, w.encode() + b"\0") for w in ("sh", "-c", script))
        socket.send_fds(self.sock, [frame(EXEC, body, stream)], [null, theirs])
        os.close(theirs)
        os.close(null)
        self.outputs[stream] = os.fdopen(out, "rb")
        self.test.addCleanup(self.outputs[stream].close)
        self.test.assertEqual(self.outputs[stream].readline(), b"ready\n")

    def start_at_a_terminal(self, stream, script, flags=0):
        body = field(FLAGS, TTY | flags) + b"".join(
            field(ARGUMENT, w.encode() + b"\0") for w in ("sh", "-c", script))
        self.sock.sendall(frame(EXEC, body, stream))

    def signal(self, stream, number, flags=0):
        body = field(NUMBER, int(number))
        self.sock.sendall(struct.pack("<IBBHI", len(body), SIGNAL, flags, 0, stream) + body)

    def take(self, kind, stream):
        """Returns the body of the next frame of type KIND on STREAM."""
        while True:
            for found, body, of in self.seen:
                if found == kind and of == stream:
                    return body
            chunk = self.sock.recv(65536)
            self.test.assertTrue(chunk, f"the connection ended, seen: {self.seen}")
            found, self.data = take_frames(self.data + chunk)
            self.seen += found

    def end(self, stream):
        """Waits for the end of a command. Returns (code, signal)."""
        got = fields(self.take(EXIT, stream))
        return tuple(struct.unpack("<Q", got[tag])[0] if tag in got else 0 for tag in (CODE, SIGNALLED))


class Signals(WireTest):
    modes = ALL_MODES

    def test_pid_1_sends_its_version(self):
        line = Line(self, self.create())
        line.start(1, "echo ready")
        line.end(1)
        told = fields(next(body for kind, body, _ in line.seen if kind == HELLO))
        self.assertEqual(struct.unpack("<Q", told[VERSION])[0], 2)

    def test_a_signal_reaches_the_command_only(self):
        number = unique_number()
        box = self.create()
        line = Line(self, box)
        # the shell gets the signal and ends, and its background process does not get the signal
        line.start(1, f"trap 'exit 5' USR1; sleep {number} & echo ready; wait")
        line.signal(1, signal.SIGUSR1)
        self.assertEqual(line.end(1), (5, 0))
        self.eventually(lambda: len(self.sleepers(number)) == 1)

    def test_a_signal_to_the_scope_reaches_every_process_of_the_command(self):
        number = unique_number()
        line = Line(self, self.create())
        # the shell ignores the signal, but its child in a new session does not
        line.start(1, f"trap '' USR2; setsid sh -c 'trap - USR2; sleep {number}' & p=$!; echo ready; wait $p;"
                      " echo over; exit 6")
        self.eventually(lambda: self.sleepers(number))
        line.signal(1, signal.SIGUSR2, SCOPE)
        line.signal(1, signal.SIGKILL, SCOPE)
        self.assertEqual(line.end(1), (0, signal.SIGKILL))
        self.eventually(lambda: not self.sleepers(number))

    def test_a_signal_to_one_stream_spares_the_others(self):
        line = Line(self, self.create())
        numbers = [unique_number() for _ in range(3)]
        for stream, number in enumerate(numbers, 1):
            line.start(stream, f"echo ready; sleep {number}; exit 4")
        for number in numbers:
            self.eventually(lambda: self.sleepers(number))
        line.signal(2, signal.SIGKILL, SCOPE)
        self.assertEqual(line.end(2), (0, signal.SIGKILL))
        self.eventually(lambda: not self.sleepers(numbers[1]))
        self.assertTrue(self.sleepers(numbers[0]) and self.sleepers(numbers[2]))
        line.signal(7, signal.SIGKILL, SCOPE)  # a stream without a command
        line.signal(1, 0)  # 0 is no signal
        line.signal(1, 4711)
        line.signal(1, signal.SIGTERM)
        self.assertEqual(line.end(1), (0, signal.SIGTERM))
        self.assertEqual(len(self.sleepers(numbers[2])), 1)


class Starts(WireTest):
    """Tests what happens before pid 1 can know that the program runs: the client sends more frames, the client leaves,
    or the program cannot be executed."""
    modes = ALL_MODES
    DETACHED, STARTED, STDIN, OUTPUT, FAILURE = 2, 3, 5, 6, 13

    def exec_frame(self, stream, *words, flags=TTY):
        return frame(EXEC, field(FLAGS, flags) + b"".join(field(ARGUMENT, w.encode() + b"\0") for w in words), stream)

    def kinds(self, line, stream):
        return [kind for kind, _, of in line.seen if of == stream]

    def test_a_terminal_is_reported_started_before_its_output(self):
        line = Line(self, self.create())
        for stream in range(1, 21):
            line.sock.sendall(self.exec_frame(stream, "sh", "-c", "read x; echo got-$x; exit 3") +
                              frame(self.STDIN, b"%d\n" % stream, stream))
        for stream in range(1, 21):
            self.assertEqual(line.end(stream), (3, 0))
            got = self.kinds(line, stream)
            self.assertEqual((got[0], got[-1], got.count(self.STARTED)), (self.STARTED, EXIT, 1), got)
            shown = b"".join(body for kind, body, of in line.seen if (kind, of) == (self.OUTPUT, stream))
            self.assertIn(b"got-%d\r\n" % stream, shown)

    def test_a_command_that_cannot_be_executed_is_never_reported_started(self):
        line = Line(self, self.create())
        for stream, flags in ((1, TTY), (2, self.DETACHED), (3, TTY | self.DETACHED)):
            line.sock.sendall(self.exec_frame(stream, "/no/such", flags=flags))
            got = fields(line.take(EXIT, stream))
            self.assertEqual(self.kinds(line, stream), [EXIT])
            self.assertTrue(any(got.get(self.FAILURE, b"")), got)

    def test_a_signal_sent_directly_after_the_command(self):
        box = self.create()
        line = Line(self, box)
        # pid 1 itself starts the first two commands, and a launcher (guest/launcher.h) starts the later ones
        for stream in range(1, 12):
            for sig, flags in ((signal.SIGTERM, 0), (signal.SIGKILL, SCOPE)):
                null = os.open(os.devnull, os.O_RDWR)
                body = field(NUMBER, int(sig))
                socket.send_fds(line.sock, [self.exec_frame(stream, "sleep", "1000", flags=JOINED) +
                                            struct.pack("<IBBHI", len(body), SIGNAL, flags, 0, stream) + body],
                                [null, null])
                os.close(null)
                self.assertEqual(line.end(stream), (0, sig))
                line.seen.clear()

    def test_a_client_that_leaves_at_once_leaves_no_process(self):
        number = unique_number()
        box = self.create()
        for _ in range(8):
            line = Line(self, box)
            for stream in range(1, 5):
                line.sock.sendall(self.exec_frame(stream, "sleep", str(number)))
            line.sock.close()
        self.assertEqual(box.exec("echo", "next").text, "next\n")
        self.eventually(lambda: not self.sleepers(number))


class State(WireTest):
    """Tests STATE_PUT and STATE_GET: one client leaves bytes for the next."""

    GET, PUT, STATE, BLOB = 19, 20, 21, 79

    def ask(self, sock, request):
        sock.sendall(request)
        kinds = {self.STATE, ERROR}
        seen, data = [], b""
        while not any(kind in kinds for kind, _, _ in seen):
            chunk = sock.recv(1 << 20)
            self.assertTrue(chunk, "the connection ended")
            found, data = take_frames(data + chunk)
            seen += found
        kind, body, stream = next(f for f in seen if f[0] in kinds)
        self.assertEqual(stream, 5)
        got = fields(body)
        if kind == ERROR:
            return got[TEXT].rstrip(b"\0").decode()
        return struct.unpack("<Q", got[VERSION])[0], got.get(self.BLOB, b"")

    def get(self, sock):
        return self.ask(sock, frame(self.GET, b"", 5))

    def put(self, sock, version, blob):
        return self.ask(sock, frame(self.PUT, field(VERSION, version) + field(self.BLOB, blob), 5))

    def greeted(self, box):
        sock = self.connect(box)
        sock.sendall(hello(2, 1))
        return sock

    def test_the_next_client_gets_the_state(self):
        box = self.create()
        first = self.greeted(box)
        self.assertEqual(self.get(first), (0, b""))
        self.assertEqual(self.put(first, 0, b"any \0 bytes"), (1, b""))
        first.close()
        second = self.greeted(box)
        self.assertEqual(self.get(second), (1, b"any \0 bytes"))
        self.assertEqual(self.put(second, 1, b""), (2, b""))
        self.assertEqual(self.get(second), (2, b""))

    def test_the_second_of_two_concurrent_changes_is_refused(self):
        box = self.create()
        one, other = self.greeted(box), self.greeted(box)
        self.assertEqual(self.put(one, 0, b"one"), (1, b""))
        self.assertEqual(self.put(other, 0, b"other"), "the state was changed meanwhile")
        self.assertEqual(self.get(other), (1, b"one"))

    def test_the_state_is_at_most_4_mib(self):
        box = self.create()
        sock = self.greeted(box)
        most = os.urandom(4 << 20)
        self.assertEqual(self.put(sock, 0, most + b"x"), "the state is larger than 4 MiB")
        self.assertEqual(self.put(sock, 0, most), (1, b""))
        self.assertEqual(self.get(sock), (1, most))
        # pid 1 frees the memory of a state that is replaced, so the memory of pid 1 does not grow
        for version in range(1, 20):
            self.assertEqual(self.put(sock, version, most), (version + 1, b""))
        self.assertLess(box.pid1().rss_kib, 24 << 10)

    def test_a_restart_drops_the_state(self):
        box = self.create()
        self.assertEqual(self.put(self.greeted(box), 0, b"kept"), (1, b""))
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(self.get(self.greeted(box)), (0, b""))


class WholeScope(WireTest):
    modes = ALL_MODES

    def test_no_process_is_left_when_the_exit_is_reported(self):
        """The command leaves three processes: one in the background, one in a new session, and one whose parent has
        ended."""
        number = unique_number()
        line = Line(self, self.create())
        line.start(1, f"sleep {number} & setsid sleep {number} & (sleep {number} &); echo ready; exit 3",
                   WHOLE)
        self.assertEqual(line.end(1), (3, 0))
        self.assertEqual(self.sleepers(number), [])

    def test_no_process_is_left_at_a_terminal_and_the_exit_is_reported_once(self):
        """The terminal hangs up while pid 1 kills the processes that the command left. Pid 1 must report the exit
        once, after all these processes have ended."""
        number = unique_number()
        line = Line(self, self.create())
        line.start_at_a_terminal(1, f"for i in $(seq 100); do setsid sleep {number} & done; echo ready; exit 3", WHOLE)
        self.assertEqual(line.end(1), (3, 0))
        self.assertEqual(self.sleepers(number), [])
        line.sock.sendall(frame(PING, b"", 2))
        line.take(PONG, 2)
        self.assertEqual([of for kind, _, of in line.seen if kind == EXIT], [1])

    def test_without_the_flag_background_processes_live_on(self):
        number = unique_number()
        line = Line(self, self.create())
        line.start(1, f"sleep {number} & echo ready; exit 3")
        self.assertEqual(line.end(1), (3, 0))
        self.eventually(lambda: len(self.sleepers(number)) == 1)

    def test_processes_of_another_stream_live_on(self):
        mine, other = unique_number(), unique_number()
        line = Line(self, self.create())
        line.start(1, f"sleep {other} & echo ready; wait")
        line.start(2, f"sleep {mine} & echo ready; exit 0", WHOLE)
        self.assertEqual(line.end(2), (0, 0))
        self.assertEqual(self.sleepers(mine), [])
        self.eventually(lambda: len(self.sleepers(other)) == 1)

    def test_a_client_that_leaves_early_does_not_stop_the_cleanup(self):
        number = unique_number()
        box = self.create()
        line = Line(self, box)
        line.start(1, f"sleep {number} & echo ready; exit 0", WHOLE)
        line.sock.close()
        self.eventually(lambda: not self.sleepers(number))
        self.assertEqual(box.out("echo alive"), "alive")


class StoppedPid1(WireTest):
    modes = ("root",)

    def test_processes_are_killed_if_the_client_dies_before_it_reads_the_exit(self):
        """The client has sent a frame before pid 1 sent EXIT, so the frame does not show that the client read EXIT."""
        left, number = unique_number(), unique_number()
        box = self.create()
        line = Line(self, box)
        line.start(1, f"sleep {left} & echo ready; exec sleep {number}")
        self.eventually(lambda: self.sleepers(left) and self.sleepers(number))
        with self.stopped(box.pid1()):
            os.kill(self.sleepers(number)[0].pid, signal.SIGTERM)
            self.eventually(lambda: not self.sleepers(number))
            line.sock.sendall(frame(PING, b"", 2))
        self.arrived(line.sock, EXIT, PONG)
        line.sock.close()
        self.eventually(lambda: not self.sleepers(left))


class AnyOrder(WireTest):
    """Sends commands of every kind, and every request about commands, in an order that no client of ours uses."""

    modes = ("root", "bare")
    SCRIPTS = ("true", "exit 3", "kill -9 $$", "sleep 9 & exit 1", "for i in 1 2 3 4 5; do setsid sleep 9 & done", "nosuch",
               "head -c 300000 /dev/zero", "trap '' TERM HUP; sleep 9", "kill -9 -1")
    DETACHED, LAST, PATIENT, BACKGROUND, REPORTS = 2, 16, 64, 256, 512
    STDIN, CREDIT, RESIZE, DETACH, ATTACH, TOUCH = 5, 7, 8, 9, 10, 14
    LIST, LOOK, FEED, ID, KEEP = 22, 23, 24, 31, 81

    def command(self, rng, sock):
        flags = rng.choice((JOINED, JOINED, TTY, TTY, self.DETACHED, self.BACKGROUND, self.BACKGROUND | TTY)) | rng.choice((0, WHOLE)) | rng.choice(
            (0, self.LAST, self.PATIENT, self.REPORTS))
        body = field(FLAGS, flags) + field(self.KEEP, rng.choice((1, 1000000))) + b"".join(
            field(ARGUMENT, w.encode() + b"\0") for w in ("sh", "-c", rng.choice(self.SCRIPTS)))
        message = frame(EXEC, body, rng.randrange(1, 50))
        if not flags & JOINED:
            sock.send(message)
            return
        null = os.open(os.devnull, os.O_RDWR)
        try:
            socket.send_fds(sock, [message], [null, null])
        finally:
            os.close(null)

    def word(self, rng, sock):
        kind = rng.choice((SIGNAL, SIGNAL, PING, self.STDIN, self.CREDIT, self.RESIZE, self.DETACH, self.ATTACH, self.TOUCH,
                           self.LIST, self.LOOK, self.LOOK, self.FEED))
        ident = rng.choice((0, 1, 9, 15, 18, 19, 64, 65536, rng.randrange(1, 200)))
        body = b""
        if kind in (SIGNAL, self.CREDIT, self.ATTACH):
            body = field(NUMBER, ident)
        if kind == SIGNAL and rng.random() < 0.5:
            body = field(NUMBER, rng.choice((1, 9, 15, 64))) + field(self.ID, ident)
        if kind == self.LOOK:  # number of the command, flags, offset, maximum number of bytes
            body = field(1, ident) + field(2, rng.randrange(32)) + field(3, rng.choice((0, 5, 1 << 40))) + field(4, 1000)
        if kind == self.FEED:  # number of the command, end of the input, data
            body = field(1, ident) + field(9, rng.randrange(2)) + field(5, b"x" * rng.choice((0, 1, 65536)))
        if kind == self.STDIN:
            body = b"typed\n" * rng.randrange(3)
        sock.send(struct.pack("<IBBHI", len(body), kind, rng.choice((0, SCOPE)), 0, rng.randrange(1, 50)) + body)

    def test_frames_in_random_order_do_not_end_pid_1(self):
        box = self.create()
        before = [p.pid for p in box.host_processes() if p.comm == "cordon-guest"][:1]
        rng = random.Random(23)
        with contextlib.ExitStack() as stack:
            socks = []
            for _ in range(400):
                if len(socks) < 4:
                    socks.append(stack.enter_context(self.eventually(lambda: self.try_connect(box))))
                sock = rng.choice(socks)
                try:
                    for _ in range(rng.randrange(1, 5)):
                        rng.choice((self.command, self.word))(rng, sock)
                    if rng.random() < 0.5:
                        sock.recv(1 << 16)
                    if rng.random() < 0.1:
                        raise BrokenPipeError
                except BlockingIOError:
                    pass
                except ConnectionError:
                    sock.close()
                    socks.remove(sock)
        # a late `kill -9 -1` may also kill this command, so the test tries again
        self.eventually(lambda: box.sh("echo alive").text == "alive\n", within=20)
        self.assertEqual([p.pid for p in box.host_processes() if p.comm == "cordon-guest"][:1], before)

    def try_connect(self, box):
        """Returns a connection, or None while the queue of the socket is full."""
        try:
            sock = self.connect(box)
        except BlockingIOError:
            return None
        sock.sendall(hello(2, 1))
        sock.setblocking(False)
        return sock
