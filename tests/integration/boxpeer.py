"""A peer of cordon-box for the tests. It speaks WebSocket (RFC 6455), or lines on pipes. It uses only the standard
library.

A Peer sends requests and matches answers by their numbers, in any order. The raw parts (Socket) are for tests that
break the rules on purpose.
"""

import base64
import hashlib
import itertools
import json
import os
import select
import socket
import struct
import subprocess
import threading
import time

from harness import SLOW

SECONDS = 20 * SLOW
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    """Raised if the server's answer to the handshake has another status than 101."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body!r}")
        self.status, self.body = status, body


class BoxFault(Exception):
    """Raised for an answer with the code 1. Holds the text of the answer."""


def http_get(port, path, headers=(), host="127.0.0.1"):
    """Returns status and body of one GET."""
    with socket.create_connection((host, port), timeout=SECONDS) as s:
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", *headers, "Connection: close", "", ""]
        s.sendall("\r\n".join(lines).encode())
        data = b""
        while chunk := s.recv(65536):
            data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


class Socket:
    """A WebSocket connection, frame by frame."""

    def __init__(self, port, path, headers=(), host="127.0.0.1", source=None):
        self.sock = socket.create_connection((host, port), timeout=SECONDS, source_address=source)
        self.buffer, self.lock = b"", threading.Lock()
        key = base64.b64encode(os.urandom(16))
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key.decode()}", "Sec-WebSocket-Version: 13", *headers, "", ""]
        self.sock.sendall("\r\n".join(lines).encode())
        while b"\r\n\r\n" not in self.buffer:
            chunk = self.sock.recv(65536)
            if not chunk:
                break
            self.buffer += chunk
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.head = head.decode("latin-1")
        status = int(self.head.split()[1]) if self.head else 0
        if status != 101:
            rest = self.buffer
            while chunk := self.sock.recv(65536):
                rest += chunk
            self.sock.close()
            raise Refused(status, rest)
        want = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        assert f"sec-websocket-accept: {want}".lower() in self.head.lower(), self.head

    def close(self):
        self.sock.close()

    # -- frames -------------------------------------------------------------------------------

    def send_frame(self, opcode, payload=b"", fin=True, mask=True, rsv=0):
        n = len(payload)
        head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
        bit = 0x80 if mask else 0
        if n < 126:
            head += bytes([bit | n])
        elif n < 65536:
            head += bytes([bit | 126]) + struct.pack(">H", n)
        else:
            head += bytes([bit | 127]) + struct.pack(">Q", n)
        if mask:
            key = os.urandom(4)
            head += key
            if n:
                pad = key * (n // 4 + 1)
                payload = (int.from_bytes(payload, "big") ^ int.from_bytes(pad[:n], "big")).to_bytes(n, "big")
        with self.lock:
            self.sock.sendall(head + payload)

    def send_text(self, text):
        self.send_frame(TEXT, text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)

    def _need(self, n):
        while len(self.buffer) < n:
            chunk = self.sock.recv(1 << 20)
            if not chunk:
                raise EOFError("the server hung up")
            self.buffer += chunk

    def read_frame(self):
        """Returns opcode and payload of the next frame. The frames of a server are not masked, and our server does not
        fragment."""
        self._need(2)
        opcode, n = self.buffer[0] & 15, self.buffer[1]
        assert not n & 0x80, "a masked frame"
        at = 2
        if n == 126:
            self._need(4)
            n, at = struct.unpack(">H", self.buffer[2:4])[0], 4
        elif n == 127:
            self._need(10)
            n, at = struct.unpack(">Q", self.buffer[2:10])[0], 10
        self._need(at + n)
        payload, self.buffer = self.buffer[at:at + n], self.buffer[at + n:]
        return opcode, payload

    def read_message(self):
        """Returns the next text message. Answers pings. A close frame raises EOFError with its code."""
        while True:
            opcode, payload = self.read_frame()
            if opcode == PING:
                self.send_frame(PONG, payload)
            elif opcode == CLOSE:
                code = struct.unpack(">H", payload[:2])[0] if payload else 1005
                error = EOFError(f"closed with {code} {payload[2:]!r}")
                error.code, error.reason = code, payload[2:].decode()
                raise error
            elif opcode != PONG:
                return payload.decode()

    def close_code(self):
        """Reads until the close frame comes, and returns its code. Returns None if the server hangs up without one."""
        try:
            while True:
                self.read_message()
        except EOFError as error:
            return getattr(error, "code", None)


class WebSocketTransport:
    def __init__(self, port, headers=(), path="/rpc/ws", **kwargs):
        self.socket = Socket(port, path, headers, **kwargs)

    def send(self, text):
        self.socket.send_text(text)

    def receive(self):
        return self.socket.read_message()

    def close(self):
        self.socket.close()


class StdioTransport:
    """A transport that sends lines over the pipes of a server that the test started."""

    def __init__(self, process):
        self.process, self.lock = process, threading.Lock()

    def send(self, text):
        data = text.encode()
        lines = [data]
        if len(data) > 16384:
            lines, at = [json.dumps({"type": "chunk_start", "total_size": len(data)}).encode()], 0
            while at < len(data):
                end = min(at + 16384, len(data))
                while end < len(data) and data[end] & 0xC0 == 0x80:
                    end -= 1
                lines.append(json.dumps({"type": "chunk_data", "data": data[at:end].decode(), "offset": at}).encode())
                at = end
            lines.append(b'{"type":"chunk_end"}')
        with self.lock:
            self.process.stdin.write(b"".join(line + b"\n" for line in lines))
            self.process.stdin.flush()

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            raise EOFError("the server closed its output")
        assert len(line) < 65536, len(line)
        return json.loads(line)

    def receive(self):
        message = self._line()
        if message.get("type") != "chunk_start":
            return json.dumps(message)
        text = ""
        while (piece := self._line())["type"] == "chunk_data":
            assert piece["offset"] == len(text.encode()), piece["offset"]
            text += piece["data"]
        assert piece == {"type": "chunk_end"} and len(text.encode()) == message["total_size"]
        return text

    def close(self):
        self.process.stdin.close()


class Peer:
    """Requests and answers over a transport. Answers are read when a caller waits for one."""

    def __init__(self, transport, instance=None, workspace=None, generation=1):
        self.transport = transport
        self.context = instance and workspace and {
            "instance_uuid": instance, "workspace_uuid": workspace, "placement_generation": generation}
        self.numbers = itertools.count(int.from_bytes(os.urandom(2), "big"))
        self.answers, self.condition, self.reading = {}, threading.Condition(), False

    def close(self):
        self.transport.close()

    def post(self, action, data=None, **extra):
        """Sends a request and returns its number."""
        number = next(self.numbers)
        request = {"seq_id": number, "action": action, "data": {} if data is None else data}
        if self.context:
            request["context"] = self.context
        request.update(extra)
        self.transport.send(json.dumps(request))
        return number

    def answer(self, number, within=SECONDS):
        """Returns the whole answer to a request."""
        end = time.monotonic() + within
        with self.condition:
            while number not in self.answers:
                assert time.monotonic() < end, f"no answer to {number} within {within} s"
                if self.reading:
                    self.condition.wait(0.05)
                    continue
                self.reading = True
                self.condition.release()
                try:
                    message = json.loads(self.transport.receive())
                finally:
                    self.condition.acquire()
                    self.reading = False
                    self.condition.notify_all()
                self.answers[message["seq_id"]] = message
            return self.answers.pop(number)

    def call(self, action, data=None, within=SECONDS, **extra):
        """Sends a request and returns the data of the answer. A failure raises BoxFault."""
        got = self.answer(self.post(action, data, **extra), within)
        assert set(got) == {"seq_id", "code", "message", "data", "chunk_status"}, got
        assert isinstance(got["data"], dict) and got["chunk_status"] == "continue", got
        if got["code"] != 0:
            assert got["data"] == {}, got
            raise BoxFault(got["message"])
        assert got["message"] == "success", got
        return got["data"]

    def exec(self, session, cmd, **spec):
        return self.call("box_exec", {"session_id": session, "cmd": cmd, **spec})
