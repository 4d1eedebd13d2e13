"""Sends hostile bytes to the WebSockets of cordon-box: fragments, masks, lengths, close codes, upgrades, and
pings."""

import os
import socket
import struct
import threading

from boxpeer import BINARY, CLOSE, PING, PONG, SECONDS, TEXT
from test_box import PROGRAM, BoxTest

MORE = 0  # the opcode of a fragment that continues a message
FRAGMENTS_MAX = 4096
REQUEST = b'{"seq_id":7,"action":"box_get_session","data":{"session_id":"\xc3\xa4"}}'
ANSWER = "BoxSessionNotFoundError: session ä not found"

# each value is (the close code with which the server must answer, a function that sends the bad bytes)
BAD = {
    "continuation of nothing": (1002, lambda s: s.send_frame(MORE, b"{}")),
    "a message inside of a message": (1002, lambda s: (s.send_frame(TEXT, b"{", fin=False), s.send_frame(TEXT, b"}"))),
    "a binary message inside of a text": (1002, lambda s: (s.send_frame(TEXT, b"{", fin=False),
                                                           s.send_frame(BINARY, b"}"))),
    "a ping in two parts": (1002, lambda s: s.send_frame(PING, b"x", fin=False)),
    "a close in two parts": (1002, lambda s: s.send_frame(CLOSE, struct.pack(">H", 1000), fin=False)),
    "a long ping": (1002, lambda s: s.send_frame(PING, b"x" * 126)),
    "a long close": (1002, lambda s: s.send_frame(CLOSE, struct.pack(">H", 1000) + b"x" * 124)),
    "a close of one byte": (1002, lambda s: s.send_frame(CLOSE, b"x")),
    "a close with a bad text": (1007, lambda s: s.send_frame(CLOSE, struct.pack(">H", 1000) + b"\xff")),
    "a frame without a mask": (1002, lambda s: s.send_frame(TEXT, b"{}", mask=False)),
    "a ping without a mask": (1002, lambda s: s.send_frame(PING, b"", mask=False)),
    "a second fragment without a mask": (1002, lambda s: (s.send_frame(TEXT, b"{", fin=False),
                                                          s.send_frame(MORE, b"}", mask=False))),
    "a length of 125 in two bytes": (1002, lambda s: s.sock.sendall(b"\x81\xfe\x00\x7dmask")),
    "a length of 65535 in eight bytes": (1002, lambda s: s.sock.sendall(b"\x81\xff" + struct.pack(">Q", 65535) + b"mask")),
    "a negative length": (1002, lambda s: s.sock.sendall(b"\x81\xff" + b"\xff" * 8 + b"mask")),
    "a length of 4 GiB": (1009, lambda s: s.sock.sendall(b"\x81\xff" + struct.pack(">Q", 1 << 32) + b"mask")),
    "half of a character at the end": (1007, lambda s: s.send_frame(TEXT, b'"\xc3')),
    "half of a character before another": (1007, lambda s: (s.send_frame(TEXT, b'"\xc3', fin=False),
                                                            s.send_frame(MORE, b'a"'))),
    "a surrogate": (1007, lambda s: s.send_frame(TEXT, b"\xed\xa0\x80")),
    "an overlong character": (1007, lambda s: s.send_frame(TEXT, b"\xc0\xaf")),
    "a character beyond Unicode": (1007, lambda s: s.send_frame(TEXT, b"\xf4\x90\x80\x80")),
    **{f"the reserved bits {bits}": (1002, lambda s, bits=bits: s.send_frame(TEXT, b"{}", rsv=bits)) for bits in (1, 2, 4, 7)},
    **{f"the opcode {op}": (1002, lambda s, op=op: s.send_frame(op, b"")) for op in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)},
    **{f"the close code {code}": (1002, lambda s, code=code: s.send_frame(CLOSE, struct.pack(">H", code)))
       for code in (0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535)},
}


class Frames(BoxTest):
    modes = ("user",)

    def test_frames_that_break_the_rules_end_their_connection(self):
        server = self.server()
        other = server.legacy()
        for name, (code, act) in BAD.items():
            with self.subTest(name):
                ws = server.legacy().transport.socket
                act(ws)
                self.assertEqual(ws.close_code(), code)
                self.assertEqual(other.call("__ping"), {})
        self.eventually(lambda: server.health()["memory_held_bytes"] < 1 << 20)

    def test_a_message_may_come_in_any_pieces(self):
        """A piece may end within a character, a piece may be empty, and control frames may come between pieces."""
        ws = self.server().current().transport.socket
        for at in range(1, len(REQUEST), 7):
            ws.send_frame(TEXT, REQUEST[:at], fin=False)
            ws.send_frame(PING, b"between")
            self.assertEqual(ws.read_frame(), (PONG, b"between"))
            ws.send_frame(PONG, b"nobody asked")
            ws.send_frame(MORE, b"", fin=False)
            ws.send_frame(MORE, REQUEST[at:])
            self.assertIn("requires a trusted Workspace context", ws.read_message())

    def test_every_byte_of_a_message_may_be_a_fragment(self):
        ws = self.server().legacy().transport.socket
        ws.send_frame(TEXT, b"", fin=False)
        for i, byte in enumerate(REQUEST):
            ws.send_frame(MORE, bytes([byte]), fin=i == len(REQUEST) - 1)
        self.assertIn(ANSWER, ws.read_message())

    def test_the_number_of_fragments_is_limited(self):
        server = self.server()
        for extra, code in ((0, None), (1, 1009)):
            ws = server.legacy().transport.socket
            ws.send_frame(TEXT, b"", fin=False)
            for _ in range(FRAGMENTS_MAX - 2 + extra):
                ws.send_frame(MORE, b"", fin=False)
            ws.send_frame(MORE, REQUEST)
            if code:
                self.assertEqual(ws.close_code(), code)
            else:
                self.assertIn(ANSWER, ws.read_message())

    def is_over(self, sock):
        try:
            return sock.recv(1) == b""
        except ConnectionResetError:  # the server has not read the bytes that came after the close frame
            return True

    def test_a_close_is_answered_once(self):
        """The answer repeats the code of the close frame. The server does not read frames after a close frame."""
        server = self.server()
        for code in (1000, 1001, 1011, 1014, 3000, 4999):
            ws = server.legacy().transport.socket
            ws.send_frame(CLOSE, struct.pack(">H", code) + "grüße".encode())
            ws.send_frame(TEXT, REQUEST)
            self.assertEqual(ws.read_frame(), (CLOSE, struct.pack(">H", code)))
            self.assertTrue(self.is_over(ws.sock))
        ws = server.legacy().transport.socket
        ws.send_frame(CLOSE)
        self.assertEqual(ws.read_frame(), (CLOSE, b""))
        self.assertEqual(server.legacy().call("__ping"), {})


class Upgrades(BoxTest):
    """Tests requests for a WebSocket that break the rules."""

    modes = ("user",)

    def knock(self, server, drop="", version="HTTP/1.1", method="GET", **replace):
        lines = {"Host": "127.0.0.1", "Upgrade": "websocket", "Connection": "keep-alive, Upgrade",
                 "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-WebSocket-Version": "13"}
        lines.update({name.replace("_", "-"): value for name, value in replace.items()})
        lines.pop(drop, None)
        with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as s:
            s.sendall((f"{method} /rpc/ws {version}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
                       + "\r\n").encode())
            return int(s.recv(4096).split()[1])

    def test_bad_upgrades_are_refused(self):
        server = self.server()
        self.assertEqual(self.knock(server), 101)
        for drop in ("Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version"):
            self.assertEqual(self.knock(server, drop), 400, drop)
        for replace in ({"Upgrade": "h2c"}, {"Connection": "close"}, {"Sec_WebSocket_Key": "short"},
                        {"Sec_WebSocket_Key": "*" * 24}, {"Sec_WebSocket_Key": "MDEyMzQ1Njc4OWFiY2RlZmcx"}):
            self.assertEqual(self.knock(server, **replace), 400, replace)
        self.assertEqual(self.knock(server, Sec_WebSocket_Version="8"), 426)
        self.assertEqual(self.knock(server, method="POST"), 405)
        self.assertNotEqual(self.knock(server, version="HTTP/1.0"), 101)
        self.assertEqual(server.legacy().call("__ping"), {})

    def test_the_headers_of_a_request_are_limited(self):
        """A request may have at most 100 headers and 16 KiB. The request of the test itself has five headers."""
        server = self.server()
        self.assertEqual(self.knock(server, **{f"X_{i}": "y" for i in range(95)}), 101)
        self.assertEqual(self.knock(server, **{f"X_{i}": "y" for i in range(96)}), 431)
        self.assertEqual(self.knock(server, X="y" * 16000), 101)
        self.assertEqual(self.knock(server, X="y" * (16 << 10)), 431)
        self.assertEqual(server.legacy().call("__ping"), {})


class Relays(BoxTest):
    """Tests the relay of a managed process."""

    modes = ("user",)

    def start(self, server, *command, process="p"):
        peer = server.legacy()
        peer.call("box_create_session", {"session_id": "s"})
        peer.call("box_start_managed_process", {"session_id": "s", "spec": {
            "process_id": process, "command": command[0], "args": list(command[1:])}})
        return peer

    def test_frames_that_break_the_rules_end_only_the_relay(self):
        server = self.server()
        peer = self.start(server, "cat")
        for name, (code, act) in BAD.items():
            with self.subTest(name):
                relay = server.relay("s", "p")
                act(relay)
                self.assertEqual(relay.close_code(), code)
        relay = server.relay("s", "p")
        relay.send_frame(BINARY, b"ignored\n")
        relay.send_frame(TEXT, b"in ", fin=False)
        relay.send_frame(PING, b"x")
        relay.send_frame(MORE, b"two parts")
        self.assertEqual(relay.read_frame(), (PONG, b"x"))
        self.assertEqual(relay.read_message(), "in two parts")
        self.assertEqual(peer.call("box_get_managed_process", {"session_id": "s", "process_id": "p"})["status"], "running")

    def test_a_peer_that_answers_no_ping_is_disconnected(self):
        """Both relays belong to the same process. The server drops the silent relay, and then the next relay gets the
        process. The next relay stays connected, because it answers pings."""
        server = self.server(env={"CORDON_BOX_PING_MS": "200"})
        self.start(server, "cat")
        silent, next_ = server.relay("s", "p"), server.relay("s", "p")
        pings, texts = [], []

        def answer():
            while not texts:
                opcode, payload = next_.read_frame()
                (pings if opcode == PING else texts).append(payload)
                if opcode == PING:
                    next_.send_frame(PONG, payload)

        reader = threading.Thread(target=answer)
        reader.start()
        self.assertEqual(silent.read_frame(), (PING, b""))
        # the server sends no close frame, because the silent peer would not read it
        self.assertEqual(silent.sock.recv(1), b"")
        self.eventually(lambda: len(pings) >= 5)
        next_.send_text("still here")
        reader.join()
        self.assertEqual(texts, [b"still here"])

    def test_no_pong_is_missed_while_the_server_does_not_read(self):
        """A process that does not read its input stops the server from reading the peer, and so from seeing pongs."""
        server = self.server(env={"CORDON_BOX_PING_MS": "200"})
        go = os.path.join(self.dir, "go")
        peer = server.legacy()
        peer.call("box_create_session", {"session_id": "s", "host_path": self.dir})
        for process, script in (("slow", "until [ -e go ]; do sleep 0.1; done; exec cat"), ("clock", "exec cat")):
            peer.call("box_start_managed_process", {"session_id": "s", "spec": {
                "process_id": process, "command": "sh", "args": ["-c", script]}})
        slow, clock = server.relay("s", "slow"), server.relay("s", "clock")
        self.assertEqual(slow.read_frame()[0], PING)
        slow.send_text("x" * 300_000)  # more than a pipe holds, so the server does not read the pong that follows
        slow.send_frame(PONG)
        # wait for six pings of the other relay: this is longer than a relay has for its pong (half of the time between
        # two pings), but the server must not drop `slow`
        for _ in range(6):
            self.assertEqual(clock.read_frame()[0], PING)
            clock.send_frame(PONG)
        with open(go, "w", encoding="utf-8"):
            pass
        self.assertEqual(len(slow.read_message()), 300_000)

    def test_the_time_between_pings_is_checked(self):
        for bad in ("x", "0", "9", "86400001"):
            got = self.cordon(program=PROGRAM, env={"CORDON_BOX_PING_MS": bad})
            self.assertEqual(got.code, 1, got)
            self.assertIn(f"CORDON_BOX_PING_MS: '{bad}' is no number of milliseconds from 10 to 86400000", got.errtext)
