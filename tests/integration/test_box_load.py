"""Tests cordon-box under load, with peers that disconnect or send nonsense, and with processes that are killed.

Every server of this file watches its own loop (CORDON_BOX_WATCH_LOOP). When a test ends, no handler may have blocked
the loop. Longer runs are in tests/soak/test_soak_box.py."""

import fcntl
import json
import os
import random
import resource
import select
import signal
import socket
import struct
import threading

from boxpeer import SECONDS, TEXT, BoxFault, Peer, Socket, WebSocketTransport
from harness import all_processes, unique_number
from test_box import INSTANCE, MESSAGE_MAX, BoxTest, Server, placement

MIB = 1 << 20
IN_FLIGHT = 128  # the most actions that one connection may have in flight


def vanish(sock, hard):
    """Closes a connection, with a reset if HARD."""
    if hard:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class LoadTest(BoxTest):
    def server(self, *args, env=None, **kwargs):
        server = Server(self, *args, env={"CORDON_BOX_WATCH_LOOP": "1", **(env or {})}, **kwargs)
        self.addCleanup(lambda: self.assertNotIn(b"waited", server.err.data))
        return server

    def held(self, server):
        return server.health()["memory_held_bytes"]

    def in_parallel(self, work, n):
        """Runs WORK(i) in N threads. If one call fails, the test fails."""
        failures = []

        def guarded(i):
            try:
                work(i)
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(f"{i}: {error!r}")

        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


# --- many peers ------------------------------------------------------------------------------------


class Crowds(LoadTest):
    modes = ("user",)
    connections = 20

    def test_128_actions_are_in_flight_on_each_of_20_connections(self):
        """The actions of a peer wait behind one command of their session. When the peer vanishes, the server cancels
        all actions of this peer."""
        server, slow = self.server(), unique_number()
        other = server.legacy()
        other.exec("other", "true")
        peers = [server.legacy() for _ in range(self.connections)]

        def fill(i):
            for _ in range(IN_FLIGHT):
                peers[i].post("box_exec", {"session_id": f"s{i}", "cmd": f"sleep {slow}", "timeout_sec": 1000})
            extra = peers[i].answer(peers[i].post("__ping"))
            assert "busy (max 128 concurrent actions)" in extra["message"], extra

        self.in_parallel(fill, self.connections)
        self.eventually(lambda: len(self.sleepers(slow)) == self.connections, 20)
        self.assertEqual(other.exec("other", "echo here")["stdout"], "here")
        for i, peer in enumerate(peers):
            vanish(peer.transport.socket.sock, i % 2)
        self.eventually(lambda: not self.sleepers(slow), 20)
        self.assertEqual(server.health()["sessions"], self.connections + 1)
        self.assertEqual(other.exec("s0", "echo free")["stdout"], "free")

    def test_a_command_of_every_peer_is_answered(self):
        server = self.server()

        def work(i):
            peer = Peer(WebSocketTransport(server.port))
            asked = [peer.post("box_exec", {"session_id": f"s{i % 5}", "cmd": f"echo {i}.{k}"}) for k in range(10)]
            for k, number in enumerate(asked):
                assert peer.answer(number, 100)["data"]["stdout"] == f"{i}.{k}"
            peer.close()

        self.in_parallel(work, self.connections)


class Vanishing(LoadTest):
    """Peers disconnect in every state that a connection can have."""

    modes = ("user",)

    def raw(self, server, data):
        sock = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
        sock.sendall(data)
        return sock

    def socket(self, server, path="/rpc/ws"):
        return Socket(server.port, path)

    def half_frame(self, server, path):
        ws = self.socket(server, path)
        ws.sock.sendall(b"\x81\xfe\x10\x00maskhalf of what was announced")
        return ws.sock

    def half_message(self, server, path):
        ws = self.socket(server, path)
        ws.send_frame(TEXT, b"{" + b" " * 100000, fin=False)
        return ws.sock

    def asking(self, server, action, **data):
        ws = self.socket(server)
        ws.send_text(json.dumps({"seq_id": 1, "action": action, "data": data}))
        return ws.sock

    def test_a_peer_disconnects_in_every_state(self):
        server, slow = self.server(), unique_number()
        peer = server.legacy()
        peer.call("box_create_session", {"session_id": "s"})
        peer.call("box_start_managed_process", {"session_id": "s", "spec": {"process_id": "p", "command": "cat"}})
        relay = "/v1/sessions/s/managed-process/p/ws"
        self.keep(self.socket(server, relay))  # every later relay waits behind this relay
        loud = "head -c 400000 /dev/zero | tr '\\0' x"
        spec = {"process_id": "q", "command": "sh", "args": ["-c", "trap '' TERM; cat"]}
        states = [
            lambda: self.raw(server, b""), lambda: self.raw(server, b"GET /rpc/ws HT"),
            lambda: self.raw(server, b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
            lambda: self.half_frame(server, "/rpc/ws"), lambda: self.half_message(server, "/rpc/ws"),
            lambda: self.socket(server, relay).sock, lambda: self.half_frame(server, relay),
            lambda: self.half_message(server, relay),
            lambda: self.asking(server, "box_create_session", session_id="made"),
            lambda: self.asking(server, "box_exec", session_id="made", cmd="sleep " + str(slow)),
            lambda: self.asking(server, "box_exec", session_id="made", cmd=loud),
            lambda: self.asking(server, "box_start_managed_process", session_id="s", spec=spec),
            lambda: self.asking(server, "box_stop_managed_process", session_id="s", process_id="q"),
            lambda: self.asking(server, "box_delete_session", session_id="made"),
            lambda: self.asking(server, "box_get_backend_info"),
            lambda: self.asking(server, "__file_chunk", file_key="k", chunk_base64="aGVsbG8=", chunk_index=0,
                                chunk_amount=2, file_length=9, chunk_size=5),
        ]
        before = self.held(server)
        for hard in (False, True):
            for state in states:
                vanish(state(), hard)
            for state in states:  # this time the server answers another peer before each disconnect
                sock = state()
                self.assertEqual(peer.call("__ping"), {})
                vanish(sock, hard)
        peer.call("box_delete_session", {"session_id": "s"}, within=60)
        self.eventually(lambda: not self.sleepers(slow), 20)

        def quiet():
            now = server.health()
            return now["creating_session_tasks"] + now["closing_session_tasks"] == 0

        self.eventually(quiet, 20)
        self.assertEqual(peer.exec("made", "echo here")["stdout"], "here")
        peer.call("box_delete_session", {"session_id": "made"})
        self.assertLess(self.held(server), before)


class SlowPeers(LoadTest):
    modes = ("user",)

    def test_a_peer_sends_byte_by_byte(self):
        """A peer sends a request byte by byte. After every 50 bytes, the server must answer another peer."""
        server = self.server()
        other = server.legacy()
        other.exec("a", "true")
        request = json.dumps({"seq_id": 7, "action": "box_get_session", "data": {"session_id": "a"}}).encode()
        head = (b"GET /rpc/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        frame = bytes([0x81, 0x80 | len(request)]) + bytes(4) + request
        with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as slow:
            slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            got = b""
            for part in (head, frame):
                for i in range(len(part)):
                    slow.sendall(part[i:i + 1])
                    if i % 50 == 0:
                        self.assertEqual(other.call("__ping"), {})
                while (b"\r\n\r\n" if part is head else b'"seq_id":7') not in got:
                    got += slow.recv(4096)

    def test_a_relay_that_is_not_read_blocks_its_process(self):
        server = self.server()
        peer = server.legacy()
        peer.call("box_create_session", {"session_id": "s"})
        peer.call("box_start_managed_process", {"session_id": "s", "spec": {
            "process_id": "p", "command": "sh", "args": ["-c", "yes abcdefgh | head -c 30000000; echo over >&2"]}})
        relay = server.relay("s", "p")
        self.assertEqual(relay.read_message(), "abcdefgh")
        # if the server did not stop reading, it would take all output of the process during these calls
        for i in range(20):
            self.assertEqual(peer.exec("s", f"echo {i}")["stdout"], str(i))
        self.assertLess(self.held(server), 4 * MIB)
        info = peer.call("box_get_managed_process", {"session_id": "s", "process_id": "p"})
        self.assertEqual((info["status"], info["stderr_preview"]), ("running", ""))


# --- bad input -------------------------------------------------------------------------------------


class BadInput(LoadTest):
    modes = ("user",)

    def send_unmasked(self, peer, payload):
        """Sends a frame with the mask 0, because masking many bytes is slow in Python."""
        peer.transport.socket.sock.sendall(b"\x81\xff" + struct.pack(">Q", len(payload)) + bytes(4) + payload)

    def peak_mib(self, server):
        return int(server.reader().status("VmHWM")[0]) >> 10

    def test_texts_of_16_mebibytes_that_are_no_requests(self):
        server = self.server()
        peer = server.current()
        self.assertEqual(peer.call("__ping"), {})
        before = self.peak_mib(server)
        head = '{"seq_id":1,"action":"__ping","data":{"a":'
        for start, unit in (("", "["), (head, "["), ("", "0,"), (head + "[", "0,"), (head, '{"a":'), (head, '"\\u0000')):
            text = start + unit * ((MESSAGE_MAX - len(start)) // len(unit))
            self.send_unmasked(peer, text.encode())
            self.assertEqual(peer.call("__ping"), {}, (start, unit))
        sanitized = 4 if "ASAN_OPTIONS" in os.environ else 1  # a build with sanitizers keeps freed memory for a while
        self.assertLess(self.peak_mib(server) - before, 64 * sanitized, "MiB that bad texts took")
        wide = head + "[" + "0," * 900_000 + "0]}}"  # a message with nearly the largest number of values
        peer.transport.send(wide)
        self.assertEqual(peer.answer(1)["code"], 0)
        self.assertLess(self.peak_mib(server) - before, 160 * sanitized)
        self.eventually(lambda: self.held(server) < 2 * MIB)

    def test_nul_is_refused_where_it_would_cut_a_text(self):
        peer = self.server().legacy()
        bad = [{"session_id": "a\0b"}, {"session_id": "a", "workdir": "/a\0b"}, {"session_id": "a", "image": "a\0b"},
               {"session_id": "a", "cmd": "echo \0"}, {"session_id": "a", "env": {"A": "\0"}},
               {"session_id": "a", "env": {"A\0": "x"}}, {"session_id": "a", "host_path": "/tmp\0x"},
               {"session_id": "a", "mount_path": "/w\0"}, {"session_id": "a", "skill_name": "x\0"},
               {"session_id": "a", "extra_mounts": [{"host_path": "/\0", "mount_path": "/x"}]}]
        for spec in bad:
            got = peer.answer(peer.post("box_exec", {"cmd": "true", **spec}))
            self.assertEqual(got["code"], 1, spec)
            self.assertRegex(got["message"], "^(BoxValidationError|ValueError): ", spec)
        for action in ("box_get_session", "box_delete_session", "box_get_managed_process", "box_stop_managed_process"):
            got = peer.answer(peer.post(action, {"session_id": "a\0b", "process_id": "a\0b"}))
            self.assertEqual(got["code"], 1, action)
        for spec in ({"command": "a\0"}, {"command": "a", "args": ["\0"]}, {"command": "a", "cwd": "/\0"},
                     {"command": "a", "process_id": "\0"}):
            got = peer.answer(peer.post("box_start_managed_process", {"session_id": "a", "spec": spec}))
            self.assertRegex(got["message"], "^BoxValidationError: ", spec)
        self.assertEqual(self.sandboxes(), [])

    def test_an_id_with_nul_does_not_name_what_stands_before_the_nul(self):
        peer = self.server().legacy()
        peer.call("box_create_session", {"session_id": "a"})
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {"process_id": "p", "command": "cat"}})
        for action in ("box_get_session", "box_delete_session"):
            self.fails("ValueError: session_id must not contain NUL", peer.call, action, {"session_id": "a\0b"})
        for action in ("box_get_managed_process", "box_stop_managed_process"):
            for bad, named in ({"session_id": "a\0b", "process_id": "p"}, "session_id"), \
                              ({"session_id": "a", "process_id": "p\0q"}, "process_id"):
                self.fails(f"ValueError: {named} must not contain NUL", peer.call, action, bad)
        self.assertEqual(peer.call("box_get_managed_process", {"session_id": "a", "process_id": "p"})["status"], "running")

    def test_ids_of_ten_kilobytes(self):
        server = self.server()
        legacy = server.legacy()
        for peer in (legacy, server.current()):
            session, process = "s" * 10000, "ä€\n/" * 2500
            which = {"session_id": session, "process_id": process}
            self.assertEqual(peer.exec(session, "echo here")["session_id"], session)
            peer.call("box_start_managed_process", {"session_id": session, "spec": {
                "process_id": process, "command": "cat"}})
            got = peer.call("box_get_managed_process", which)
            self.assertEqual((got["session_id"], got["process_id"], got["status"]), (session, process, "running"))
            self.assertEqual(peer.call("box_stop_managed_process", which), {"stopped": process})
            self.fails(f"BoxManagedProcessNotFoundError: session {session} has no managed process with process_id={process}"
                       [:4096 + len("BoxManagedProcessNotFoundError: ")] + "... [protocol error truncated]",
                       peer.call, "box_get_managed_process", which)
            self.assertEqual(peer.call("box_delete_session", {"session_id": session}), {"deleted": session})
        name = "s" * 10000
        peer.call("box_create_session", {"session_id": name})
        peer.call("box_start_managed_process", {"session_id": name, "spec": {"command": "cat"}})
        relay = server.relay(f"{placement('w-blue', 1)}-{name}", headers=[
            f"X-LangBot-Instance-Id: {INSTANCE}", "X-LangBot-Workspace-Id: w-blue", "X-LangBot-Placement-Generation: 1"])
        relay.send_text("x")
        self.assertEqual(relay.read_message(), "x")

    def test_an_unreadable_source_is_named(self):
        """Nobody may enter the parent directory, so the server cannot look at the source."""
        peer = self.server().legacy()
        closed = os.path.join(self.dir, "closed")
        os.makedirs(os.path.join(closed, "inner"))
        os.chmod(closed, 0)
        self.addCleanup(os.chmod, closed, 0o700)
        for path in (os.path.join(closed, "inner"), os.path.join(closed, "missing")):
            for mode in ("ro", "rw"):
                for spec in ({"host_path": path, "host_path_mode": mode},
                             {"extra_mounts": [{"host_path": path, "mount_path": "/m", "mode": mode}]}):
                    with self.subTest(spec), self.assertRaises(BoxFault) as caught:
                        peer.exec("a", "ls /workspace /m", **spec)
                    self.assertRegex(str(caught.exception), f"^BoxValidationError: .*{path}.*: Permission denied")
        self.assertEqual((self.sandboxes(), peer.call("box_get_sessions")["sessions"]), ([], []))

    def test_commands_of_a_mebibyte(self):
        peer = self.server().current()
        fits = "echo fits #"
        fits += "x" * (MIB - len(fits))
        self.assertEqual(peer.exec("a", fits)["stdout"], "fits")
        self.fails("BoxValidationError: cmd exceeds 1048576 bytes", peer.exec, "a", fits + "x")
        self.assertEqual(peer.exec("a", "echo \ud800 \U0001f600")["stdout"], "\ufffd \U0001f600")

    def test_two_mounts_on_one_target(self):
        peer = self.server().legacy()
        mounts = [{"host_path": self.dir, "mount_path": path} for path in ("/mnt/x", "/mnt/./x/")]
        self.fails("BoxValidationError: two mounts have the mount_path /mnt/x", peer.call, "box_create_session",
                   {"session_id": "a", "extra_mounts": mounts})
        self.assertEqual(self.sandboxes(), [])


# --- memory ----------------------------------------------------------------------------------------


class Ceiling(LoadTest):
    """Tests a server whose memory ceiling is 16 MiB."""

    modes = ("user",)

    def setUp(self):
        super().setUp()
        self.box = self.server(config={"cordon": {"memory_ceiling_mb": 16}})
        self.peer = self.box.current()

    def hoard(self):
        """Connects peers that each send half a message, until the server has little memory left."""
        hoarders = []
        while self.held(self.box) < 13 * MIB:
            self.assertLess(len(hoarders), 40)
            ws = self.box.current().transport.socket
            ws.send_frame(TEXT, b'{"a":"' + b"x" * MIB, fin=False)
            ws.send_frame(9, b"")
            # a pong (10) shows that the server has read the message; a close (8) shows that memory is short
            self.assertIn(ws.read_frame()[0], (8, 10))
            hoarders.append(ws)
        return hoarders

    def test_near_the_ceiling_output_is_clipped_earlier(self):
        self.assertEqual(self.box.health()["memory_ceiling_bytes"], 16 * MIB)
        million = "head -c 1000000 /dev/zero | tr '\\0' x"
        self.assertEqual(len(self.peer.exec("a", million)["stdout"]), 1000000)
        before = self.held(self.box)
        hoarders = self.hoard()
        clipped = self.peer.exec("a", million)["stdout"]
        self.assertRegex(clipped, r"\n... \[raw output clipped at \d+ bytes, \d+ bytes discarded; the server's memory "
                                  r"ceiling is near\]$")
        kept, dropped = map(int, clipped.rsplit("[", 1)[1].replace(",", "").split()[4:7:2][:1] +
                            [clipped.rsplit("bytes, ", 1)[1].split()[0]])
        self.assertEqual(kept + dropped, 1000000)
        self.assertGreater(kept, 4096)
        self.assertEqual(self.peer.exec("b", "echo small")["stdout"], "small")  # a small output is never clipped
        for ws in hoarders:
            ws.close()
        self.eventually(lambda: self.held(self.box) <= before + 4096)
        self.assertEqual(len(self.peer.exec("a", million)["stdout"]), 1000000)

    def test_a_request_that_does_not_fit_is_refused(self):
        self.fails("BoxCapacityExceededError: the server's memory ceiling is near; it cannot take a request of "
                   f"{self.length({'session_id': 'x' * 1500000})} bytes", self.peer.call, "box_get_session",
                   {"session_id": "x" * 1500000})
        self.assertEqual(self.peer.call("__ping"), {})
        ws = self.box.current().transport.socket
        ws.send_frame(TEXT, b'{"a":"' + b"x" * (8 * MIB), fin=False)
        self.assertEqual(ws.close_code(), 1009)

    def length(self, data):
        number = next(self.peer.numbers) + 1
        return len(json.dumps({"seq_id": number, "action": "box_get_session", "data": data,
                               "context": self.peer.context}))

    def test_a_peer_that_does_not_read_affects_only_itself(self):
        """When unread answers of a peer fill the memory, the server closes only the connection of this peer."""
        deaf = self.box.current()
        gate = os.path.join(self.dir, "gate")
        os.mkdir(gate)
        # in JSON each of these bytes becomes six bytes
        loud = "head -c 1000000 /dev/zero | tr '\\0' '\\1'; touch $N; until [ -e go ]; do sleep 0.1; done"
        for i in range(8):
            deaf.post("box_exec", {"session_id": f"s{i}", "cmd": loud, "env": {"N": str(i)}, "host_path": gate})
        self.eventually(lambda: len(os.listdir(gate)) == 8, 20)
        with open(os.path.join(gate, "go"), "w"):
            pass
        self.eventually(lambda: b"does not read" in self.box.err.data, 20)
        self.assertEqual(self.peer.exec("own", "echo here")["stdout"], "here")
        with self.assertRaises((EOFError, ConnectionError)):
            while True:
                deaf.transport.receive()


# --- limits, idle time -----------------------------------------------------------------------------


class Limits(LoadTest):
    def test_commands_do_not_get_the_raised_descriptor_limit(self):
        """The server raises its own limit. Commands get the limit that the server was started with."""
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        server = self.server(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard)))
        with open(f"/proc/{server.reader().pid}/limits") as handle:
            limits = [line.split()[3:5] for line in handle if line.startswith("Max open files")]
        self.assertEqual(limits, [[str(hard), str(hard)]])
        peer = server.legacy()
        self.assertEqual(peer.exec("a", "ulimit -Sn")["stdout"], "200")
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {
            "process_id": "p", "command": "sh", "args": ["-c", "ulimit -Sn; cat"]}})
        self.assertEqual(server.relay("a", "p").read_message(), "200")

    def ticks(self, server):
        """Returns the CPU time of the process that reads what peers send."""
        with open(f"/proc/{server.reader().pid}/stat") as handle:
            fields = handle.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def test_without_a_free_descriptor_existing_connections_continue(self):
        """Connections that the server cannot accept wait, and existing connections continue."""
        server = self.server(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48)))
        peer = server.legacy()
        self.assertEqual(peer.exec("a", "echo 1")["stdout"], "1")
        more = [socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) for _ in range(60)]
        self.assertEqual(peer.call("__ping"), {})
        before = self.ticks(server)
        with self.assertRaises(BoxFault):  # no descriptor is left for the pipes of a command
            peer.exec("a", "true")
        for _ in range(10):  # while connections wait, the server must use no CPU time
            select.select([], [], [], 0.1)
        self.assertLess(self.ticks(server) - before, os.sysconf("SC_CLK_TCK") // 5)
        for sock in more:
            sock.close()
        self.eventually(lambda: server.legacy().call("__ping") == {}, 20)
        self.assertEqual(peer.exec("a", "echo 2")["stdout"], "2")


class IdleTime(LoadTest):
    modes = ("user",)

    def test_idle_sessions_end_and_others_stay(self):
        server, slow = self.server(env={"CORDON_BOX_TTL_SEC": "1"}), unique_number()
        peer = server.legacy()
        self.assertEqual(peer.call("box_status")["session_ttl_sec"], 1)
        busy = peer.post("box_exec", {"session_id": "busy", "cmd": f"sleep {slow} & sleep 3; echo over"})
        peer.call("box_create_session", {"session_id": "kept", "persistent": True})
        peer.call("box_create_session", {"session_id": "serving"})
        peer.call("box_start_managed_process", {"session_id": "serving", "spec": {"command": "cat"}})
        peer.exec("idle", "echo x > /workspace/file")

        def shown():
            return sorted(s["session_id"] for s in peer.call("box_get_sessions")["sessions"])

        self.eventually(lambda: shown() == ["busy", "kept", "serving"], 20)
        self.eventually(lambda: len(self.sandboxes()) == 3)
        self.assertEqual(peer.exec("idle", "ls /workspace")["stdout"], "")  # this is a new session
        self.assertEqual(peer.answer(busy)["data"]["stdout"], "over")
        peer.call("box_stop_managed_process", {"session_id": "serving"})
        self.eventually(lambda: shown() == ["kept"], 20)
        self.eventually(lambda: len(self.sandboxes()) == 1)


# --- killed processes ------------------------------------------------------------------------------


class Killed(LoadTest):
    kills = 4

    def test_a_server_is_killed_at_any_instant(self):
        """All sandboxes of the killed server end within 3 s, before another server starts. The next server works."""
        pick = random.Random(os.getpid())
        for round_ in range(self.kills):
            server, slow = self.server(), unique_number()
            peer = server.legacy()
            reader = server.reader()
            asked = [peer.post("box_exec", {"session_id": f"s{i % 3}", "cmd": f"echo {i}; [ {i} -lt 9 ] || sleep {slow}",
                                            "timeout_sec": 1000}) for i in range(12)]
            asked += [peer.post("box_create_session", {"session_id": f"c{i}"}) for i in range(4)]
            for number in asked[:pick.randrange(9)]:
                self.assertEqual(peer.answer(number)["code"], 0)
            os.kill(reader.pid if round_ % 2 else server.proc.pid, signal.SIGKILL)
            self.eventually(lambda: not self.sleepers(slow) and not self.left_running(), within=3,
                            message=lambda: str(self.left_running()))
            server.proc.wait(SECONDS)
        peer = self.server().legacy()
        self.assertEqual(peer.exec("s0", "echo here")["stdout"], "here")
        self.cordon("list")  # this command removes what a killed hand left behind

    def test_a_killed_hand_fails_one_request_of_many(self):
        server = self.server()
        peer = server.legacy()
        self.assertEqual(peer.exec("a", "echo 1")["stdout"], "1")
        hands = server.hands()
        for hand in hands:
            os.kill(hand.pid, signal.SIGSTOP)
        asked = [peer.post("box_create_session", {"session_id": f"s{i}"}) for i in range(3 * len(hands))]
        # the answer shows that the server has given the requests to hands
        self.assertEqual(peer.exec("a", "echo 2")["stdout"], "2")
        os.kill(hands[0].pid, signal.SIGKILL)
        for hand in hands[1:]:
            os.kill(hand.pid, signal.SIGCONT)
        codes = [peer.answer(number, 60)["code"] for number in asked]
        self.assertEqual(sum(codes), 1, codes)


# --- nothing waits ---------------------------------------------------------------------------------


class NothingWaits(LoadTest):
    """While the request of one session takes long, other sessions still answer."""

    files = 10_000

    def setUp(self):
        super().setUp()
        self.locks = []

    def hold_lock(self, name):
        """Holds the lock of the sandbox NAME, as another command would."""
        place = os.path.join(self.home, "sandboxes", name)
        os.makedirs(place)
        handle = open(os.path.join(place, "lock"), "w")
        self.addCleanup(handle.close)
        fcntl.flock(handle, fcntl.LOCK_EX)
        self.locks.append(handle)

    def supervisors(self, name):
        """Returns a list with the supervisor of the sandbox, or None while helpers of the supervisor still run."""
        found = [p for p in all_processes().values() if p.comm == "cordon-supervis" and name in p.cmdline]
        return found if len(found) == 1 else None

    def test_locks_pulls_and_deletions_block_no_other_session(self):
        registry = self.keep(socket.create_server(("127.0.0.1", 0)))  # this registry never answers
        server = self.server(config={"backend": "cordon"})
        peer = server.legacy()
        name = peer.call("box_create_session", {"session_id": "locked"})["backend_session_id"]
        supervisor = self.eventually(lambda: self.supervisors(name))
        peer.transport.socket.sock.settimeout(self.timeout)
        make = f"mkdir d; cd d; seq {self.files} | xargs touch; ls | wc -l"
        made = peer.call("box_exec", {"session_id": "tree", "cmd": make, "timeout_sec": 300}, within=300)
        self.assertEqual(made["stdout"], str(self.files))
        os.kill(supervisor[0].pid, signal.SIGSTOP)  # now the sandbox does not end, and its lock stays held
        stuck = [peer.post("box_create_session", {"session_id": f"pull{i}",
                                                  "image": f"127.0.0.1:{registry.getsockname()[1]}/x:{i}"})
                 for i in range(len(server.hands()))]  # as many pulls as there are hands
        stuck.append(peer.post("box_delete_session", {"session_id": "locked"}))
        stuck.append(peer.post("box_create_session", {"session_id": "locked"}))
        # Pulls get at most half of the hands. The create below waits for a lock and holds one more hand. With two
        # hands, no hand would be left for other requests.
        if len(server.hands()) > 2:
            held = peer.call("box_create_session", {"session_id": "held"})["backend_session_id"]
            peer.call("box_delete_session", {"session_id": "held"})
            self.hold_lock(held)
            stuck.append(peer.post("box_create_session", {"session_id": "held"}))
        deletion = peer.post("box_delete_session", {"session_id": "tree"})
        for i in range(3):
            self.assertEqual(peer.exec("a", f"echo {i}")["stdout"], str(i))
            self.assertEqual(peer.exec(f"new{i}", f"echo {i}")["stdout"], str(i))
        self.assertEqual([n for n in stuck if n in peer.answers], [])
        self.assertEqual(peer.answer(deletion, 60)["code"], 0)
        os.kill(supervisor[0].pid, signal.SIGCONT)
        registry.close()
        for lock in self.locks:
            lock.close()
        codes = [peer.answer(number, 60)["code"] for number in stuck]
        self.assertEqual(codes, [1] * len(server.hands()) + [0] * (2 + len(self.locks)))
