"""cordon-box under heavy load: a thousand sessions, 2560 commands in flight, servers that are killed forty times,
trees of 100 000 files, sessions that write 2 GB."""

import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))

import test_box_load  # noqa: E402
from boxpeer import PING, PONG, TEXT, Peer, WebSocketTransport  # noqa: E402
from test_box import BoxTest  # noqa: E402

SESSIONS = 1000
AT_ONCE = 100  # requests of Thousand.in_turns() that are in flight at the same time


class Thousand(BoxTest):
    """One server has a thousand sessions. Every session must answer, and no session may leave anything."""

    timeout = 900

    def all_of(self, peer, asked):
        for number in asked:
            got = peer.answer(number, 300)
            self.assertEqual(got["code"], 0, got)

    def in_turns(self, peer, action, make):
        for first in range(0, SESSIONS, AT_ONCE):
            self.all_of(peer, [peer.post(action, make(i)) for i in range(first, first + AT_ONCE)])

    def test_a_thousand_sessions(self):
        server = self.server(config={"limits": {"max_sessions": SESSIONS}})
        peer = server.legacy()
        reader = server.reader()
        peer.exec("s0", "true")
        before = reader.rss_kib
        self.in_turns(peer, "box_create_session", lambda i: {"session_id": f"s{i}"})
        idle = (reader.rss_kib - before) * 1024 // SESSIONS
        self.assertLess(idle, 32 << 10, "bytes of the server for each idle session")
        self.assertEqual(server.health()["sessions"], SESSIONS)
        self.in_turns(peer, "box_exec", lambda i: {"session_id": f"s{i}", "cmd": f"echo {i} > /workspace/me"})
        for i in random.sample(range(SESSIONS), 50):
            self.assertEqual(peer.exec(f"s{i}", "cat /workspace/me")["stdout"], str(i))
        self.in_turns(peer, "box_delete_session", lambda i: {"session_id": f"s{i}"})
        self.assertEqual((server.health()["sessions"], self.sandboxes()), (0, []))


class InFlight(test_box_load.LoadTest):
    timeout = 600

    def test_2560_commands_in_flight_all_end(self):
        server = self.server()

        def work(i):
            peer = Peer(WebSocketTransport(server.port))
            asked = [peer.post("box_exec", {"session_id": f"s{i}", "cmd": f"echo {k}", "timeout_sec": 300})
                     for k in range(test_box_load.IN_FLIGHT)]
            for k, number in enumerate(asked):
                assert peer.answer(number, 300)["data"]["stdout"] == str(k)
            peer.close()

        self.in_parallel(work, 20)


class Killed(test_box_load.Killed):
    timeout = 600
    kills = 40


class NothingWaits(test_box_load.NothingWaits):
    timeout = 600
    files = 100_000


class Disk(BoxTest):
    timeout = 600

    def test_a_session_of_512_megabytes_writes_two_gigabytes(self):
        peer = self.server().legacy()
        got = peer.call("box_exec", {"session_id": "a", "memory_mb": 512, "timeout_sec": 300, "cmd":
                                     "for d in /workspace /tmp /home; do head -c 700000000 /dev/zero > $d/big || exit 1; done; "
                                     "stat -c %s /workspace/big /tmp/big /home/big"}, within=300)
        self.assertEqual((got["stdout"].split(), got["exit_code"]), (["700000000"] * 3, 0), got)


class Pings(BoxTest):
    """The server pings each relay every 30 seconds, and drops a relay that has not answered 15 seconds later. The Box
    protocol prescribes these durations. A timer of the server may be late, but not early."""

    timeout = 200

    def counter(self, peer, process):
        """Starts a process that numbers the lines it reads, so that a test sees whether the process was restarted."""
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {
            "process_id": process, "command": "sh", "args": ["-c", 'n=0; while read -r l; do n=$((n+1)); echo $n $l; done']}})

    def say(self, relay, text):
        relay.send_text(text)
        return relay.read_message()

    def attached(self, peer, process):
        got = peer.call("box_get_managed_process", {"session_id": "a", "process_id": process})
        return got["status"], got["attached"]

    def hold(self, relay, began, seen):
        """Answers three pings, one every 30 seconds. Adds to SEEN how many seconds after BEGAN each ping came."""
        while len(seen) < 3:
            opcode, payload = relay.read_frame()
            assert opcode == PING, (opcode, payload)
            seen.append(time.monotonic() - began)
            relay.send_frame(PONG, payload)

    def test_a_relay_is_pinged_every_30_seconds_and_dropped_15_seconds_later(self):
        """A relay whose client answers pings stays open. If the client does not answer, the server closes the relay,
        but the managed process goes on. An RPC connection is neither pinged nor closed."""
        server = self.server()
        peer, idle = server.legacy(), server.legacy()
        idle.transport.socket.sock.settimeout(120)
        peer.call("box_create_session", {"session_id": "a"})
        for process in ("healthy", "silent"):
            self.counter(peer, process)
        began, seen = time.monotonic(), []
        healthy, silent = (server.relay("a", process) for process in ("healthy", "silent"))
        for relay in (healthy, silent):
            relay.sock.settimeout(60)
            self.assertEqual(self.say(relay, "x"), "1 x")
        holder = threading.Thread(target=self.hold, args=(healthy, began, seen))
        holder.start()
        self.assertEqual(silent.read_frame(), (PING, b""))
        self.assertGreater(time.monotonic() - began, 29)
        self.assertEqual(self.attached(peer, "silent"), ("running", True))
        self.assertEqual(silent.sock.recv(1), b"")  # no close frame is sent, because nobody would read it
        self.assertGreater(time.monotonic() - began, 44)
        self.assertEqual(self.attached(peer, "silent"), ("running", False))
        self.assertEqual(self.say(server.relay("a", "silent"), "y"), "2 y")  # the process goes on counting
        holder.join()
        self.assertEqual([at > 29 * (i + 1) for i, at in enumerate(seen)], [True, True, True], seen)
        self.assertEqual(self.say(healthy, "y"), "2 y")
        self.assertEqual(self.attached(peer, "healthy"), ("running", True))
        idle.transport.socket.send_text(json.dumps({"seq_id": 1, "action": "__ping", "data": {}}))
        opcode, payload = idle.transport.socket.read_frame()  # the answer is the first frame, so no ping came before
        self.assertEqual((opcode, json.loads(payload)["seq_id"]), (TEXT, 1))
