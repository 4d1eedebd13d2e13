"""cordon-box under load for a long time: a thousand sessions, two thousand actions in flight, servers that are killed at random."""

import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))

from boxpeer import SECONDS, BoxFault  # noqa: E402
from harness import all_processes, unique_number  # noqa: E402
from test_box import BoxTest  # noqa: E402

SESSIONS = 1000
AT_ONCE = 100  # creations that one peer has in flight


class Thousand(BoxTest):
    """One server holds a thousand sessions. Every one answers, and nothing is left of any."""

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
