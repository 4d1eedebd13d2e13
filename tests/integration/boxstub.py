"""A Box server that misbehaves on command, for tests.

usage: boxstub.py pipes|socket LOG RULES

RULES is a JSON object. Each key is a step at which the server misbehaves, and its value says how. The mode `socket` has
the steps "accept", "handshake" and "ping". The mode `pipes` has the steps "eof" and "SIGTERM". In both modes the name
of an action is a step, too. With the rule "once" in the mode `socket`, the server misbehaves on its first connection
only. LOG gets a line for each handshake and request, and for the end of each connection. With `pipes` it also gets a
line for the start, and for a SIGTERM that the server ignores. With `socket` the server prints its port, and serves
connections one after the other."""

import base64
import hashlib
import json
import os
import signal
import socket
import struct
import sys
import time

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
ANSWERS = {
    "box_init": {"initialized": True},
    "box_status": {"backend": {"name": "stub", "available": True}, "active_sessions": 1, "managed_processes": 0},
    "box_get_sessions": {"sessions": [{"session_id": "one", "backend_name": "stub"}]},
    "box_list_skills": {"skills": []},
    "box_exec": {"session_id": "one", "backend_name": "stub", "status": "completed", "exit_code": 0,
                 "stdout": "from the stub", "stderr": "", "duration_ms": 1},
    "box_delete_session": {"deleted": "one"},
}


class Hangup(Exception):
    """Raised when the connection must end, or has ended."""


class Pipes:
    def send(self, text):
        self.raw(text.encode() + b"\n")

    def raw(self, data):
        while data:
            data = data[os.write(1, data):]

    def receive(self):
        line = sys.stdin.readline()
        if not line:
            raise Hangup
        return line


class WebSocket:
    def __init__(self, sock, rules, log):
        self.sock, self.buffer, self.rules = sock, b"", rules
        while b"\r\n\r\n" not in self.buffer:
            self.read()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:])
        log({"handshake": lines[0], "headers": headers})
        key = headers["Sec-WebSocket-Key"].encode()
        how = rules.get("handshake")
        if how == "close":
            raise Hangup
        if how == "silence":
            time.sleep(3600)
        if how == "garbage":
            self.sock.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        elif how == "endless":
            while True:
                self.sock.sendall(b"X-Header: " + b"a" * 1000 + b"\r\n")
        elif how in ("401", "404", "503"):
            self.sock.sendall(b"HTTP/1.1 %s No\r\nContent-Length: 0\r\n\r\n" % how.encode())
        else:
            accept = base64.b64encode(hashlib.sha1((b"x" if how == "forged" else key) + GUID).digest())
            self.sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                              b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")

    def read(self):
        chunk = self.sock.recv(1 << 16)
        if not chunk:
            raise Hangup
        self.buffer += chunk

    def take(self, n):
        while len(self.buffer) < n:
            self.read()
        got, self.buffer = self.buffer[:n], self.buffer[n:]
        return got

    def frame(self, opcode, data, then=b""):
        n = len(data)
        self.raw(bytes([0x80 | opcode]) + (bytes([n]) if n < 126 else b"\x7e" + struct.pack(">H", n) if n < 1 << 16
                                           else b"\x7f" + struct.pack(">Q", n)) + data + then)

    def raw(self, data):
        self.sock.sendall(data)

    def send(self, text):
        self.frame(1, text.encode())

    def receive(self):
        while True:
            first, second = self.take(2)
            if not second & 0x80:
                raise Hangup  # a client must mask
            n = second & 0x7f
            if n > 125:
                n = struct.unpack(">H" if n == 126 else ">Q", self.take(2 if n == 126 else 8))[0]
            mask, data = self.take(4), self.take(n)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
            if first & 15 == 9 and self.rules.get("ping") != "silence":
                self.frame(10, data)
            elif first & 15 == 8:
                raise Hangup
            elif first & 15 == 1:
                return data.decode()


def flood(transport, how):
    """Sends bytes without end: as one message, as a message whose head announces many bytes, or as parts of a message."""
    web = isinstance(transport, WebSocket)
    if how == "huge" and web:
        transport.raw(b"\x81\x7f" + struct.pack(">Q", 1 << 40))
    data, first = b"a" * (1 << 16), True
    while True:
        transport.raw((bytes([first]) + b"\x7f" + struct.pack(">Q", len(data)) if how == "parts" and web else b"") + data)
        first = False


def answer(transport, request, rules):
    seq, action = request["seq_id"], request["action"]
    how = rules.get(action)
    reply = {"seq_id": seq, "code": 0, "message": "success", "data": ANSWERS.get(action, {}), "chunk_status": "continue"}
    if how == "silence":
        return
    if how == "close":
        raise Hangup
    if how == "garbage":
        transport.send("{\"seq_id\": " + "x" * 100 + "}")
        raise Hangup
    if how in ("huge", "parts"):
        flood(transport, how)
    if how == "trickle":  # send a message that never ends, byte by byte
        transport.raw(b"\x81\x7e\x40\x00" if isinstance(transport, WebSocket) else b"")
        while True:
            transport.raw(b"a")
            time.sleep(0.05)
    if how == "many":  # send answers to requests that nobody made
        for i in range(2000):
            transport.send(json.dumps({**reply, "seq_id": seq + 1 + i, "data": {"stdout": "for another call"}}))
    if how == "string":
        reply["seq_id"] = str(seq)
    if how == "deaf":
        transport.send(json.dumps(reply))
        time.sleep(3600)
    if how == "other":
        reply["seq_id"] = seq + 1000
    if how == "shapeless":
        reply["data"] = {"stdout": 5}
    if how == "no object":
        reply["data"] = [1]
    if how == "binary":
        transport.frame(2, b"{}")
    if how == "bad frame":
        transport.sock.sendall(b"\xff\xff\xff")
    if how == "twice":
        transport.send(json.dumps(reply))
    if how == "half":
        transport.sock.sendall(b"\x81\x7e\x40")
        raise Hangup
    if isinstance(how, dict) and "close" in how:  # send the answer and a close frame in one write
        reply["data"] = how.get("data", reply["data"])
        transport.frame(1, json.dumps(reply).encode(), b"\x88\x02" + struct.pack(">H", how["close"]))
        raise Hangup
    if isinstance(how, dict) and "fault" in how:
        reply.update(code=1, message=how["fault"], data={})
    elif isinstance(how, dict):
        # RULES is one word of the command line, so it cannot hold a long text. With "times", a rule
        # asks for a short text that is repeated
        reply["data"] = {**how, "stdout": how["stdout"] * how["times"]} if "times" in how else how
    transport.send(json.dumps(reply))


def serve(transport, rules, log):
    while True:
        request = json.loads(transport.receive())
        log(request)
        answer(transport, request, rules)


def main():
    kind, path, rules = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])

    def log(entry):
        with open(path, "a", encoding="utf-8") as handle:
            handle.write(json.dumps(entry) + "\n")

    if kind == "pipes":
        if rules.get("SIGTERM") == "silence":
            signal.signal(signal.SIGTERM, lambda *_: log({"signal": "SIGTERM"}))
        log({"pid": os.getpid(), "token": os.environ.get("LANGBOT_BOX_CONTROL_TOKEN"),
             "instance": os.environ.get("LANGBOT_BOX_TRUSTED_INSTANCE_UUID")})
        try:
            serve(Pipes(), rules, log)
        except (Hangup, OSError):
            log({"end": True})
        while rules.get("eof") == "silence":
            time.sleep(3600)
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            sock, _ = listener.accept()
            with sock:
                try:
                    if rules.get("accept") == "close":
                        continue
                    serve(WebSocket(sock, rules, log), rules, log)
                except (Hangup, OSError):
                    log({"end": True})
                if rules.get("once"):
                    rules = {}


main()
