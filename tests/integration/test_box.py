"""Tests cordon-box with a client of our own. Like LangBot, this client speaks the Box protocol over WebSocket and over
pipes."""

import base64
import fcntl
import hashlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading

from boxpeer import (BINARY, CLOSE, PING, PONG, SECONDS, TEXT, BoxFault, Peer, Refused, Socket, StdioTransport,
                     WebSocketTransport, http_get)
from harness import MODE, PREFIX, CordonTest, Reader, all_processes, limits_of, unique_number

PROGRAM = os.path.join(PREFIX, "libexec", "cordon", "cordon-box")
TOKEN = "t" * 40
INSTANCE = "inst-7"
MESSAGE_MAX = 16 << 20


class Server:
    """A running cordon-box. The process that the test started is the parent of the process that reads what peers
    send."""

    def __init__(self, test, *args, env=None, config=None, stdio=False, **popen):
        extra = dict(env or {})
        if config is not None:
            extra["LANGBOT_BOX_CONFIG"] = json.dumps(config)
        self.test = test
        self.proc = test.spawn("--ws-control-port", "0", *(["-s"] if stdio else []), *args, program=PROGRAM, env=extra,
                               stdin=subprocess.PIPE if stdio else subprocess.DEVNULL, **popen)
        self.err = Reader(self.proc.stderr)
        test.addCleanup(self.end)
        self.port = int(test.eventually(self.listening, 20, lambda: f"it does not listen: {self.err.data}"))
        test.eventually(self.looked, 20, lambda: f"it has not tried its backend: {self.err.data}")

    def listening(self):
        found = re.search(rb"listening on \S+ port (\d+)\n", self.err.data)
        return found and found.group(1)

    def looked(self):
        """Returns true when the server has tested whether sandboxes work. The sandbox of that test has then ended."""
        return re.search(rb"backend \S+ works|no sandbox can be made|backend '", self.err.data)

    def reader(self):
        """Returns the process that reads what peers send."""
        return self.test.eventually(lambda: [p for p in all_processes().values() if p.ppid == self.proc.pid
                                             and "--serve" in p.cmdline])[0]

    def hands(self):
        return [p for p in all_processes().values() if p.ppid == self.proc.pid and p.comm == "cordon-hand"]

    def legacy(self, **kwargs):
        return self.test.keep(Peer(WebSocketTransport(self.port, **kwargs)))

    def current(self, workspace="w-blue", generation=1, instance=INSTANCE, headers=()):
        own = [f"X-LangBot-Instance-Id: {instance}", *headers]
        return self.test.keep(Peer(WebSocketTransport(self.port, own), instance, workspace, generation))

    def relay(self, session, process="", headers=()):
        tail = f"/{process}" if process else ""
        return self.test.keep(Socket(self.port, f"/v1/sessions/{session}/managed-process{tail}/ws", headers))

    def health(self):
        status, body = http_get(self.port, "/healthz")
        assert status == 200, status
        return json.loads(body)["resources"]

    def end(self):
        """Ends a server that still runs. The server must end cleanly, whatever the test did."""
        if self.proc.poll() is None:
            self.stop()

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        self.test.assertEqual(self.proc.wait(SECONDS), 0, self.err.data)


class BoxTest(CordonTest):
    modes = ("root", "user")
    timeout = 180

    def keep(self, thing):
        """Closes THING, such as a peer, when the test ends."""
        self.addCleanup(thing.close)
        return thing

    def server(self, *args, **kwargs):
        return Server(self, *args, **kwargs)

    def fails(self, text, call, *args, **kwargs):
        """Asserts that the call fails with exactly this text."""
        with self.assertRaises(BoxFault) as caught:
            call(*args, **kwargs)
        self.assertEqual(str(caught.exception), text)

    def sandboxes(self):
        """Returns the names of the records of sandboxes."""
        path = os.path.join(self.home, "sandboxes")
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    def refused(self, status, make, *args, **kwargs):
        with self.assertRaises(Refused) as caught:
            make(*args, **kwargs)
        self.assertEqual(caught.exception.status, status)
        return caught.exception.body


def placement(workspace, generation, instance=INSTANCE):
    """Returns the prefix of the session ids of this generation of a Workspace."""
    digest = hashlib.sha256(f"{instance}\0{workspace}".encode()).hexdigest()[:24]
    return f"ws-{digest}-g{generation}"


# --- the server itself -----------------------------------------------------------------------------


class Program(BoxTest):
    modes = ("user",)

    def refuse(self, text, *args, code=1, env=None):
        got = self.cordon(*args, program=PROGRAM, env=env)
        self.assertEqual((got.code, got.text), (code, ""), got)
        self.assertIn(text, got.errtext)

    def test_help_and_version(self):
        self.assertIn("usage: cordon-box", self.cordon("--help", program=PROGRAM).text)
        self.assertRegex(self.cordon("--version", program=PROGRAM).text, r"^cordon-box \S+\n$")

    def test_bad_arguments_and_settings_are_named(self):
        self.refuse("unexpected argument 'x'", "x", code=2)
        self.refuse("bad port '70000'", "--ws-control-port", "70000", code=2)
        self.refuse("unexpected argument '--host'", "--host", code=2)
        self.refuse("LANGBOT_BOX_CONTROL_TOKEN", env={"LANGBOT_BOX_CONTROL_TOKEN": "short"})
        self.refuse("LANGBOT_BOX_CONTROL_TOKEN", env={"LANGBOT_BOX_CONTROL_TOKEN": "a" * 20 + " " + "b" * 20})
        self.refuse("LANGBOT_BOX_TRUSTED_INSTANCE_UUID", env={"LANGBOT_BOX_TRUSTED_INSTANCE_UUID": "-x"})
        self.refuse("LANGBOT_BOX_ALLOW_LEGACY_CLIENTS", env={"LANGBOT_BOX_ALLOW_LEGACY_CLIENTS": "maybe"})
        self.refuse("stdio needs LANGBOT_BOX_TRUSTED_INSTANCE_UUID", "-s",
                    env={"LANGBOT_BOX_ALLOW_LEGACY_CLIENTS": "0"})
        self.refuse("box.limits.max_sessions must be between 0 and 5000", "--ws-control-port", "0",
                    env={"LANGBOT_BOX_CONFIG": '{"limits":{"max_sessions":6000}}'})

    def test_a_taken_port_is_fatal_only_without_pipes(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            self.refuse("Address already in use", "--ws-control-port", port)
            proc = self.spawn("--ws-control-port", port, "-s", program=PROGRAM, stdin=subprocess.PIPE)
            peer = Peer(StdioTransport(proc))
            self.assertEqual(peer.call("__ping"), {})
            peer.close()
            self.assertEqual(proc.wait(SECONDS), 0)
            self.assertIn(b"relays cannot be reached", proc.stderr.read())

    def test_bad_json_in_the_environment_is_ignored_with_a_warning(self):
        server = self.server(env={"LANGBOT_BOX_CONFIG": "{"})
        self.eventually(lambda: b"warn: LANGBOT_BOX_CONFIG is ignored" in server.err.data)
        self.assertEqual(server.legacy().call("__ping"), {})

    def test_the_server_warns_if_other_machines_can_reach_it(self):
        server = self.server("--host", "0.0.0.0")
        self.eventually(lambda: b"without LANGBOT_BOX_CONTROL_TOKEN" in server.err.data)


class Life(BoxTest):
    def test_sigterm_closes_connections_and_leaves_nothing(self):
        server = self.server()
        peer = server.legacy()
        peer.exec("a", "true")
        peer.call("box_create_session", {"session_id": "b", "persistent": True})
        server.proc.send_signal(signal.SIGTERM)
        with self.assertRaises(EOFError) as caught:
            peer.transport.receive()
        self.assertEqual((caught.exception.code, caught.exception.reason), (1001, "Box runtime shutting down"))
        peer.close()
        self.assertEqual(server.proc.wait(SECONDS), 0)
        self.assertEqual(self.sandboxes(), [])
        self.eventually(lambda: not self.left_running())

    def test_a_killed_server_leaves_no_sandbox(self):
        for victim in ("reader", "parent"):
            with self.subTest(victim=victim):
                server = self.server()
                peer = server.legacy()
                peer.exec("a", "true")
                slow = unique_number()
                peer.post("box_exec", {"session_id": "b", "cmd": f"sleep {slow}"})
                self.eventually(lambda: self.sleepers(slow))
                os.kill(server.reader().pid if victim == "reader" else server.proc.pid, signal.SIGKILL)
                self.eventually(lambda: not self.sleepers(slow) and not self.left_running(), within=3)
                server.proc.wait(SECONDS)
        again = self.server()
        self.assertEqual(again.legacy().exec("a", "echo here")["stdout"], "here")
        again.stop()

    def test_a_killed_hand_fails_one_request_only(self):
        server = self.server()
        peer = server.legacy()
        self.assertEqual(peer.exec("a", "echo 1")["stdout"], "1")
        for hand in self.eventually(server.hands):
            os.kill(hand.pid, signal.SIGSTOP)
        asked = peer.post("box_create_session", {"session_id": "b"})
        self.assertEqual(peer.exec("a", "echo 2")["stdout"], "2")  # an exec needs no hand
        for hand in server.hands():
            os.kill(hand.pid, signal.SIGKILL)
        answer = peer.answer(asked)
        self.assertEqual(answer["code"], 1)
        self.assertRegex(answer["message"], "^BoxError: nsjail backend error: ")
        self.assertEqual(peer.exec("b", "echo 3")["stdout"], "3")

    def test_health_counts(self):
        server = self.server()
        peer = server.legacy()
        before = server.health()
        self.assertEqual({k: before[k] for k in ("sessions", "managed_processes", "completed_processes",
                                                 "creating_session_tasks", "closing_session_tasks")},
                         {"sessions": 0, "managed_processes": 0, "completed_processes": 0,
                          "creating_session_tasks": 0, "closing_session_tasks": 0})
        self.assertEqual(before["memory_ceiling_bytes"], 512 << 20)
        peer.exec("a", "true")
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {"command": "cat"}})
        after = server.health()
        self.assertEqual((after["sessions"], after["managed_processes"]), (1, 1))
        peer.call("box_stop_managed_process", {"session_id": "a"})
        self.assertEqual(server.health()["managed_processes"], 0)

    def test_readiness(self):
        server = self.server()
        status, body = http_get(server.port, "/readyz")
        got = json.loads(body)
        self.assertEqual((status, got["ready"], got["mode"]), (200, True, "standard"), got)
        self.assertEqual(got["backend"], {"name": "nsjail", "available": True})
        self.assertEqual(got["checks"], {"backend_available": True})
        other = self.server(config={"backend": "docker"})
        status, body = http_get(other.port, "/readyz")
        got = json.loads(body)
        self.assertEqual((status, got["ready"], got["backend"]), (503, False, {"name": None, "available": False}))
        self.assertEqual(got["error"], "not supported yet")

    def test_routes(self):
        server = self.server()
        self.assertEqual(http_get(server.port, "/nothing")[0], 404)
        self.assertEqual(http_get(server.port, "/rpc/ws")[0], 400)
        self.assertEqual(http_get(server.port, "/rpc/ws", ["Origin: http://127.0.0.1"])[0], 401)


# --- access ----------------------------------------------------------------------------------------

KNOCK = """
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
s.sendall(("GET " + sys.argv[2] + " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
           "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\\r\\nSec-WebSocket-Version: 13\\r\\n"
           + "".join(h + "\\r\\n" for h in sys.argv[3:]) + "\\r\\n").encode())
print(s.recv(4096).split()[1].decode())
"""


class Access(BoxTest):
    def test_no_web_page_gets_in(self):
        server = self.server()
        for headers in (["Origin: http://localhost"], ["Origin: null"],
                        ["Origin: http://x", f"X-LangBot-Instance-Id: {INSTANCE}"]):
            self.assertEqual(self.refused(401, Socket, server.port, "/rpc/ws", headers), b"Unauthorized")
            self.refused(401, Socket, server.port, "/v1/sessions/a/managed-process/ws", headers)

    def test_a_foreign_host_name_is_refused(self):
        """The host name of an attacker's web page can resolve to this machine, so the server checks the Host header."""
        server = self.server()
        with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as s:
            s.sendall(b"GET /rpc/ws HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n")
            self.assertIn(b" 401 ", s.recv(4096))

    def test_other_users_of_the_machine_stay_outside(self):
        if MODE != "root":
            self.not_run("needs root to act as another user")

        def knock(*words, user):
            got = subprocess.run([sys.executable, "-c", KNOCK, *words], stdout=subprocess.PIPE, user=user, group=user,
                                 extra_groups=[], check=False, timeout=60)
            return got.stdout.decode().strip()

        named = f"X-LangBot-Instance-Id: {INSTANCE}"
        server = self.server()
        for allowed in (server, self.server(env={"LANGBOT_BOX_ALLOW_LEGACY_CLIENTS": "1"})):
            port = str(allowed.port)
            self.assertEqual(knock(port, "/rpc/ws", user=65534), "401")
            self.assertEqual(knock(port, "/rpc/ws", named, user=65534), "401")
            self.assertEqual(knock(port, "/v1/sessions/a/managed-process/ws", user=65534), "401")
            self.assertEqual(knock(port, "/rpc/ws", user=0), "101")
        guarded = self.server(env={"LANGBOT_BOX_CONTROL_TOKEN": TOKEN})
        secret = f"X-LangBot-Box-Control-Token: {TOKEN}"
        self.assertEqual(knock(str(guarded.port), "/rpc/ws", named, user=65534), "401")
        self.assertEqual(knock(str(guarded.port), "/rpc/ws", named, secret, user=65534), "101")

    def test_the_token_is_required(self):
        server = self.server("--host", "127.0.0.1", env={"LANGBOT_BOX_CONTROL_TOKEN": f" {TOKEN} "})
        secret = f"X-LangBot-Box-Control-Token: {TOKEN}"
        self.refused(401, server.legacy)
        self.refused(401, server.current)
        self.refused(401, server.current, headers=[secret[:-1]])
        self.refused(401, server.legacy, headers=[secret])
        self.assertEqual(server.current(headers=[secret]).call("__ping"), {})

    def test_the_first_instance_pins_the_server(self):
        server = self.server()
        old = server.legacy()
        for bad in ("-x", "x" * 129, "a b"):
            self.refused(401, server.current, instance=bad)
        self.refused(401, server.relay, "a", headers=[f"X-LangBot-Instance-Id: {INSTANCE}",
                                                       "X-LangBot-Workspace-Id: w", "X-LangBot-Placement-Generation: 1"])
        first = server.current()
        first.close()
        self.refused(401, server.current, instance="inst-8")
        self.refused(401, server.legacy)  # a peer without headers is refused from now on
        self.assertEqual(server.current().call("__ping"), {})
        self.assertEqual(old.call("__ping"), {})  # a peer that is already connected stays connected

    def test_a_configured_instance(self):
        server = self.server(env={"LANGBOT_BOX_TRUSTED_INSTANCE_UUID": INSTANCE})
        self.refused(401, server.legacy)
        self.refused(401, server.current, instance="inst-8")
        self.assertEqual(server.current().call("__ping"), {})

    def test_legacy_peers_can_be_kept_out(self):
        self.refused(401, self.server(env={"LANGBOT_BOX_ALLOW_LEGACY_CLIENTS": "0"}).legacy)


# --- messages --------------------------------------------------------------------------------------


class Messages(BoxTest):
    modes = ("user",)

    def raw(self, peer, text):
        """Sends TEXT as one message and returns the next answer."""
        peer.transport.send(text)
        return json.loads(peer.transport.receive())

    def test_envelopes(self):
        peer = self.server().legacy()
        got = self.raw(peer, '{"seq_id":5,"action":"__ping","data":{},"context":null,"more":1}')
        self.assertEqual(got, {"seq_id": 5, "code": 0, "message": "success", "data": {}, "chunk_status": "continue"})
        self.assertEqual(self.raw(peer, '{"seq_id":6,"action":"box_dance","data":{}}')["message"],
                         "ValueError: Action box_dance not found")
        for bad in ('{"action":"__ping","data":{}}', '{"seq_id":"x","action":"__ping","data":{}}',
                    '{"seq_id":1,"action":"__ping"}', '{"seq_id":1,"action":"__ping","data":[]}',
                    '{"seq_id":1,"action":"__ping","data":{},"context":7}'):
            got = self.raw(peer, bad)
            self.assertEqual(got["code"], 1, bad)
            self.assertRegex(got["message"], "^ValidationError: ", bad)
            self.assertEqual(got["seq_id"], json.loads(bad).get("seq_id", -1))

    def test_messages_that_are_no_requests_are_ignored(self):
        peer = self.server().legacy()
        for junk in ("nonsense", "7", "[]", '{"code":0,"seq_id":1,"message":"","data":{}}', '{"a":1}', "[" * 100000,
                     '{"seq_id":1,"seq_id":2'.replace('2', '2}')):
            peer.transport.send(junk)
        self.assertEqual(peer.call("__ping"), {})

    def test_json_is_read_as_python_reads_it(self):
        """If a key comes twice, the last value is used. Half of a surrogate pair becomes U+FFFD."""
        peer = self.server().legacy()
        got = self.raw(peer, '{"seq_id":1,"seq_id":2,"action":"box_get_session","data":{"session_id":"\\ud800"}}')
        self.assertEqual((got["seq_id"], got["message"]),
                         (2, "BoxSessionNotFoundError: session \ufffd not found"))

    def test_a_message_with_too_many_values_is_ignored(self):
        peer = self.server().current()
        peer.transport.send('{"seq_id":1,"action":"__ping","data":{"a":[' + "0," * 8_000_000 + "0]}}")
        self.assertEqual(peer.call("__ping"), {})

    def test_a_text_cannot_fake_an_error_class(self):
        peer = self.server().legacy()
        with self.assertRaises(BoxFault) as caught:
            peer.call("box_get_session", {"session_id": "BoxAdmissionError: x"})
        self.assertNotIn("BoxAdmissionError:", str(caught.exception))

    def test_the_129th_action_is_refused(self):
        server = self.server()
        peer = server.legacy()
        peer.exec("a", "true")
        busy = [peer.post("box_exec", {"session_id": "a", "cmd": "sleep 1000", "timeout_sec": 1000})
                for _ in range(128)]
        extra = peer.answer(peer.post("__ping"))
        self.assertEqual((extra["code"], extra["message"]),
                         (1, "Runtime connection is busy (max 128 concurrent actions)"))
        self.assertEqual(server.legacy().call("__ping"), {})  # the limit counts per connection
        self.assertEqual(len(busy), 128)

    def test_long_messages_of_both_generations(self):
        server = self.server()
        text = "ä" * 500_000
        data = {"session_id": "a", "cmd": f"true {'x' * 200}", "env": {"LONG": text}}
        legacy = server.legacy()
        request = json.dumps({"seq_id": 9, "action": "__ping", "data": data}, ensure_ascii=False)
        for at in range(0, len(request), 60_000):  # a legacy client splits a message into several messages
            legacy.transport.send(request[at:at + 60_000])
        self.assertEqual(legacy.answer(9)["code"], 0)
        current = server.current()
        payload = request.replace('"seq_id": 9', '"seq_id": 10').encode()
        ws = current.transport.socket
        cuts = [payload[at:at + 65536] for at in range(0, len(payload), 65536)]
        for i, cut in enumerate(cuts):  # a frame may cut a character
            ws.send_frame(TEXT if i == 0 else 0, cut, fin=i == len(cuts) - 1)
        self.assertEqual(current.answer(10)["code"], 0)

    def test_a_message_larger_than_16_mib_ends_the_connection(self):
        server = self.server()
        peer = server.current()
        head, tail = '{"seq_id":1,"action":"__ping","data":{"a":"', '"}}'
        peer.transport.send(head + "x" * (MESSAGE_MAX - len(head) - len(tail)) + tail)
        self.assertEqual(peer.answer(1)["code"], 0)
        peer.transport.socket.send_frame(TEXT, b"x" * (MESSAGE_MAX + 1))
        self.assertEqual(peer.transport.socket.close_code(), 1009)

    def test_frames_that_break_the_rules(self):
        server = self.server()
        cases = [(1003, lambda s: s.send_frame(BINARY, b"{}")), (1002, lambda s: s.send_frame(TEXT, b"{}", mask=False)),
                 (1002, lambda s: s.send_frame(TEXT, b"{}", rsv=4)), (1002, lambda s: s.send_frame(3)),
                 (1002, lambda s: s.send_frame(0, b"{}")), (1007, lambda s: s.send_frame(TEXT, b"\xff")),
                 (1002, lambda s: s.send_frame(PING, b"x" * 126))]
        for code, act in cases:
            ws = server.legacy().transport.socket
            act(ws)
            self.assertEqual(ws.close_code(), code)
        ws = server.legacy().transport.socket
        ws.send_frame(PING, b"hello")
        self.assertEqual(ws.read_frame(), (PONG, b"hello"))
        ws.send_frame(CLOSE, struct.pack(">H", 1000))
        self.assertEqual(ws.close_code(), 1000)

    def test_garbage_instead_of_http(self):
        server = self.server()
        for junk in (b"\0" * 100 + b"\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
                     b"GET /" + b"a" * 20000, b"\r\n" * 10000):
            with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as s:
                try:
                    s.sendall(junk)
                    s.shutdown(socket.SHUT_WR)
                    self.assertNotIn(b" 101 ", s.recv(4096))
                except OSError:
                    pass
        self.assertEqual(server.legacy().call("__ping"), {})

    def test_uploads_are_checked(self):
        peer = self.server(config={"limits": {"max_rpc_file_bytes": 20000}}).legacy()

        def chunk(key="k.zip", body=b"hello", index=0, amount=1, **more):
            return peer.call("__file_chunk", {"file_key": key, "file_length": 5, "chunk_index": index,
                                              "chunk_base64": base64.b64encode(body).decode(), "chunk_amount": amount,
                                              "chunk_size": 5, **more})

        self.assertEqual(chunk(), {})
        for bad in ("", "../x", "a..b", "-x", "a/b", "x" * 256):
            self.fails("ValueError: Invalid file transfer key", chunk, bad)
        for index, amount in ((1, 1), (-1, 1), (0, 0), (True, 2)):
            self.fails("ValueError: Invalid file chunk position", chunk, index=index, amount=amount)
        self.fails("ValueError: File transfer chunk exceeds the protocol limit", chunk, body=b"x" * 16385)
        chunk(body=b"x" * 16384, amount=2)
        self.fails("ValueError: File transfer exceeds the configured size limit", chunk, body=b"x" * 16384, index=1,
                   amount=2)
        for i in range(128):  # the upload that was too long was dropped
            chunk(f"f{i}")
        self.fails("ValueError: Active file transfer capacity reached", chunk, "one-more")


# --- both transports -------------------------------------------------------------------------------


class Actions:
    """Tests every action once. A subclass chooses the transport."""

    def test_control(self):
        peer = self.peer()
        self.assertEqual(peer.call("__ping"), {})
        self.assertEqual(peer.call("box_init", {"backend": "", "limits": {"max_sessions": 7}}), {"initialized": True})
        self.assertEqual(peer.call("box_health"), {"name": "nsjail", "available": True})
        self.assertEqual(peer.call("box_get_backend_info"), {"name": "nsjail", "available": True})
        status = peer.call("box_status")
        self.assertEqual(status["backend"], {"name": "nsjail", "available": True})
        self.assertEqual((status["active_sessions"], status["managed_processes"], status["session_ttl_sec"]),
                         (0, 0, 300))
        self.assertEqual(status["limits"], {"max_sessions": 7, "max_managed_processes": 64,
                                            "max_completed_processes": 256, "max_admission_records": 100000,
                                            "max_rpc_file_bytes": 20971520})

    def test_a_session_from_creation_to_deletion(self):
        peer = self.peer()
        got = peer.exec("person_ann", "python3 -c 'print(6*7)'", timeout_sec=20, env={"LANG": "C.UTF-8"})
        self.assertGreaterEqual(got.pop("duration_ms"), 0)
        self.assertEqual(got, {"session_id": "person_ann", "backend_name": "nsjail", "status": "completed",
                               "exit_code": 0, "stdout": "42", "stderr": ""})
        info = peer.call("box_get_session", {"session_id": "person_ann"})
        for key in ("created_at", "last_used_at"):
            self.assertRegex(info.pop(key), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$")
        self.assertRegex(info.pop("backend_session_id"), r"^box-[0-9a-f]{8}-[0-9a-f]{16}$")
        self.assertEqual(info, {"session_id": "person_ann", "backend_name": "nsjail",
                                "image": "rockchin/langbot-sandbox:latest", "network": "off", "host_path": None,
                                "host_path_mode": "rw", "mount_path": "/workspace", "persistent": False, "cpus": 1.0,
                                "memory_mb": 512, "pids_limit": 128, "read_only_rootfs": True,
                                "workspace_quota_mb": 0})
        self.assertEqual([s["session_id"] for s in peer.call("box_get_sessions")["sessions"]], ["person_ann"])
        self.assertEqual(peer.call("box_status")["active_sessions"], 1)
        self.assertEqual(peer.call("box_delete_session", {"session_id": " person_ann "}),
                         {"deleted": " person_ann "})
        self.assertEqual((peer.call("box_get_sessions")["sessions"], self.sandboxes()), ([], []))

    def test_a_process_from_start_to_stop(self):
        peer = self.peer()
        peer.call("box_create_session", {"session_id": "mcp"})
        info = peer.call("box_start_managed_process", {"session_id": "mcp", "spec": {
            "process_id": "srv-1", "command": "cat", "args": [], "env": {"TZ": "UTC"}, "cwd": "/workspace"}})
        self.assertRegex(info.pop("started_at"), r"^\d{4}-")
        self.assertEqual(info, {"session_id": "mcp", "process_id": "srv-1", "status": "running", "command": "cat",
                                "args": [], "cwd": "/workspace", "env_keys": ["TZ"], "attached": False,
                                "exited_at": None, "exit_code": None, "stderr_preview": ""})
        self.assertEqual(peer.call("box_status")["managed_processes"], 1)
        shown = peer.call("box_get_session", {"session_id": "mcp"})
        self.assertEqual(list(shown["managed_processes"]), ["srv-1"])
        self.assertNotIn("managed_process", shown)
        asked = {"session_id": "mcp", "process_id": "srv-1"}
        self.assertEqual(peer.call("box_get_managed_process", asked)["status"], "running")
        self.assertEqual(peer.call("box_stop_managed_process", asked), {"stopped": "srv-1"})
        missing = "BoxManagedProcessNotFoundError: session mcp has no managed process with process_id=srv-1"
        self.fails(missing, peer.call, "box_get_managed_process", asked)
        self.fails(missing, peer.call, "box_stop_managed_process", asked)

    def test_shutdown_ends_sessions_and_the_server_continues(self):
        peer = self.peer()
        peer.exec("a", "true")
        peer.call("box_create_session", {"session_id": "b", "persistent": True})
        self.assertEqual(peer.call("box_shutdown"), {})
        self.assertEqual((peer.call("box_get_sessions")["sessions"], self.sandboxes()), ([], []))
        self.assertEqual(peer.exec("a", "echo again")["stdout"], "again")

    def test_missing_sessions_and_fields_are_named(self):
        peer = self.peer()
        for action in ("box_get_session", "box_delete_session"):
            self.fails("BoxSessionNotFoundError: session x not found", peer.call, action, {"session_id": "x"})
            self.fails("KeyError: 'session_id'", peer.call, action, {})
        self.fails("BoxSessionNotFoundError: session x not found", peer.call, "box_start_managed_process",
                   {"session_id": "x", "spec": {"command": "cat"}})
        self.fails("BoxSessionNotFoundError: session x not found", peer.call, "box_get_managed_process",
                   {"session_id": "x"})
        self.fails("BoxSessionNotFoundError: session x not found", peer.call, "box_stop_managed_process",
                   {"session_id": "x"})
        self.fails("KeyError: 'spec'", peer.call, "box_start_managed_process", {"session_id": "x"})

    def test_output_of_many_bytes(self):
        peer = self.peer()
        got = peer.exec("a", "head -c 3000000 /dev/zero | tr '\\0' x; printf 'ü\\377' >&2")
        self.assertEqual(got["stderr"], "ü\ufffd")
        clipped = re.fullmatch(r"(x+)\n\.\.\. \[raw output clipped at (\d+) bytes, (\d+) bytes discarded\]",
                               got["stdout"])
        self.assertTrue(clipped, got["stdout"][-200:])
        self.assertEqual(len(clipped[1]) + int(clipped[3]), 3000000)
        self.assertEqual(int(clipped[2]), len(clipped[1]))
        self.assertTrue(self.kept - 1024 < len(clipped[1]) <= self.kept, clipped[2])


class WebSocketLegacy(Actions, BoxTest):
    kept = 500 << 10

    def peer(self):
        return self.server().legacy()


class WebSocketCurrent(Actions, BoxTest):
    kept = 1 << 20

    def peer(self):
        return self.server().current()


class Stdio(Actions, BoxTest):
    kept = 1 << 20

    def peer(self, **env):
        env = {"LANGBOT_BOX_TRUSTED_INSTANCE_UUID": INSTANCE, **env}
        self.running = self.server(stdio=True, env=env)
        return self.keep(Peer(StdioTransport(self.running.proc), INSTANCE, "w-blue"))

    def test_the_end_of_input_ends_the_server(self):
        peer = self.peer()
        peer.exec("a", "true")
        peer.close()
        self.assertEqual(self.running.proc.wait(SECONDS), 0)
        self.assertEqual(self.sandboxes(), [])
        self.eventually(lambda: not self.left_running())

    def test_stray_lines_are_tolerated(self):
        peer = self.peer()
        pipe = self.running.proc.stdin
        pipe.write(b'hello\n\n{"type":"chunk_end"}\n{nonsense}\n\xff\xfe\n')
        self.assertEqual(peer.call("__ping"), {})

    def test_a_broken_sequence_ends_the_connection(self):
        self.peer()
        pipe = self.running.proc.stdin
        pipe.write(b'{"type":"chunk_start","total_size":5}\n{"type":"chunk_data","data":"abc","offset":1}\n')
        pipe.flush()
        self.assertEqual(self.running.proc.wait(SECONDS), 0)

    def test_a_legacy_peer_over_pipes(self):
        server = self.server(stdio=True)
        peer = self.keep(Peer(StdioTransport(server.proc)))
        self.assertEqual(peer.exec("a b", "echo here")["session_id"], "a b")


# --- tenants ---------------------------------------------------------------------------------------


class Tenants(BoxTest):
    def test_context_is_checked(self):
        server = self.server()
        peer = server.current()
        peer.context = None
        self.assertEqual(peer.call("box_get_backend_info")["available"], True)
        self.fails("PermissionError: Box tenant action requires a trusted Workspace context", peer.call, "box_status")
        other = {"instance_uuid": "inst-8", "workspace_uuid": "w", "placement_generation": 1}
        for action in ("box_status", "box_health"):
            self.fails("PermissionError: Box action context does not match the trusted instance", peer.call, action,
                       context=other)

    def test_ids_are_cleaned_and_tenants_are_separate(self):
        server = self.server()
        blue, red = server.legacy(), server.current("w-red")
        got = red.exec("group_42:alice smith", "echo red > /tmp/who; echo $HOME")
        self.assertEqual((got["session_id"], got["stdout"]), ("group_42-alice-smith", "/home"))
        self.assertEqual(red.call("box_delete_session", {"session_id": "group_42:alice smith"}),
                         {"deleted": "group_42:alice smith"})
        red.exec("a", "echo red > /tmp/who")
        green = server.current("w-green")
        self.assertEqual(green.exec("a", "cat /tmp/who")["exit_code"], 1)
        self.assertEqual(blue.exec("a", "cat /tmp/who")["exit_code"], 1)
        for peer in (red, green, blue):
            self.assertEqual(len(peer.call("box_get_sessions")["sessions"]), 1)
        with self.assertRaises(BoxFault) as caught:
            red.exec(":::", "true")
        self.assertRegex(str(caught.exception), "^ValueError: ")

    def test_a_higher_generation_takes_over(self):
        server = self.server()
        old = server.current(generation=1)
        old.exec("a", "true")
        old.call("box_start_managed_process", {"session_id": "a", "spec": {"command": "cat"}})
        headers = [f"X-LangBot-Instance-Id: {INSTANCE}", "X-LangBot-Workspace-Id: w-blue"]
        relay = server.relay(placement("w-blue", 1) + "-a", headers=[*headers, "X-LangBot-Placement-Generation: 1"])
        self.refused(401, server.relay, placement("w-blue", 1) + "-a",
                     headers=[*headers, "X-LangBot-Placement-Generation: 01"])
        self.refused(401, server.relay, placement("w-blue", 1) + "-a",
                     headers=[*headers, "X-LangBot-Placement-Generation: 2"])
        self.refused(401, server.relay, placement("w-red", 1) + "-a",
                     headers=[*headers, "X-LangBot-Placement-Generation: 1"])
        slow = unique_number()
        running = old.post("box_exec", {"session_id": "a", "cmd": f"sleep {slow}", "timeout_sec": 1000})
        self.eventually(lambda: self.sleepers(slow))
        new = server.current(generation=2)
        self.assertEqual(new.call("box_get_sessions"), {"sessions": []})
        stale = "PermissionError: Stale Box placement generation"
        self.assertEqual(old.answer(running)["message"], stale)
        self.assertEqual(relay.close_code(), 1000)
        self.assertEqual((self.sleepers(slow), self.sandboxes()), ([], []))
        self.fails(stale, old.call, "box_status")
        self.assertEqual(old.call("__ping"), {})
        self.refused(401, server.relay, placement("w-blue", 1) + "-a",
                     headers=[*headers, "X-LangBot-Placement-Generation: 1"])

    def test_the_number_of_known_workspaces_is_limited(self):
        server = self.server(config={"limits": {"max_admission_records": 1}})
        server.current("w-1").call("box_status")
        self.fails("PermissionError: Box generation fence capacity reached; refusing an unbounded Workspace allocation",
                   server.current("w-2").call, "box_status")


# --- sessions --------------------------------------------------------------------------------------


class Sessions(BoxTest):
    def peer(self, **kwargs):
        return self.server(**kwargs).legacy()

    def test_validation(self):
        peer = self.peer()
        for spec, text in (({"cmd": " "}, "cmd must not be empty"), ({"session_id": " "}, "session_id must not be empty"),
                           ({"workdir": "x"}, "workdir must be an absolute path inside the sandbox"),
                           ({"host_path": "x"}, "host_path must be an absolute host path"),
                           ({"host_path": "/tmp", "mount_path": "/project", "workdir": "/projectx"},
                            "workdir must stay under mount_path when host_path is provided"),
                           ({"cmd": "x" * ((1 << 20) + 1)}, "cmd exceeds 1048576 bytes")):
            self.fails(f"BoxValidationError: {text}", peer.call, "box_exec",
                       {"session_id": "a", "cmd": "true", **spec})
        for bad in ({"cpus": 0}, {"memory_mb": 10}, {"pids_limit": 0}, {"workspace_quota_mb": -1}, {"network": "ON"},
                    {"timeout_sec": 0}, {"host_path_mode": "x"}, {"env": {"a": 1}}, {"skill_name": "a b"}):
            with self.assertRaises(BoxFault) as caught:
                peer.call("box_exec", {"session_id": "a", "cmd": "true", **bad})
            self.assertRegex(str(caught.exception), f"^BoxValidationError: .*{next(iter(bad))}")
        self.assertEqual(self.sandboxes(), [])

    def test_two_first_uses_make_one_sandbox(self):
        peer = self.peer()
        asked = [peer.post("box_exec", {"session_id": "a", "cmd": "echo $$ >> /tmp/all"}) for _ in range(4)]
        self.assertEqual({peer.answer(n)["data"]["exit_code"] for n in asked}, {0})
        self.assertEqual(len(self.sandboxes()), 1)
        self.assertEqual(peer.exec("a", "wc -l < /tmp/all")["stdout"], "4")

    def test_conflicts_name_the_field(self):
        peer = self.peer()
        peer.call("box_create_session", {"session_id": "a"})
        for spec, shown in (({"network": "on"}, "network=off"), ({"image": "x"}, "image=rockchin/langbot-sandbox:latest"),
                            ({"host_path": "/srv"}, "host_path=None"), ({"host_path_mode": "ro"}, "host_path_mode=rw"),
                            ({"mount_path": "/w", "workdir": "/w"}, "mount_path=/workspace"),
                            ({"persistent": True}, "persistent=False"), ({"cpus": 2}, "cpus=1.0"),
                            ({"memory_mb": 64}, "memory_mb=512"), ({"pids_limit": 64}, "pids_limit=128"),
                            ({"read_only_rootfs": False}, "read_only_rootfs=True"),
                            ({"workspace_quota_mb": 5}, "workspace_quota_mb=0")):
            self.fails(f"BoxSessionConflictError: Box session a already exists with {shown}", peer.call,
                       "box_create_session", {"session_id": "a", **spec})
        self.assertEqual(peer.exec("a", "echo $X", env={"X": "1"}, workdir="/tmp", timeout_sec=5)["stdout"], "1")

    def test_other_extra_mounts_recreate_the_sandbox(self):
        peer = self.peer()
        one, two = os.path.join(self.dir, "one"), os.path.join(self.dir, "two")
        for path in (one, two):
            os.mkdir(path)
            with open(os.path.join(path, "f"), "w") as f:
                f.write(os.path.basename(path))
        mounts = [{"host_path": one, "mount_path": "/m/one"}, {"host_path": two, "mount_path": "/m/two", "mode": "ro"}]
        got = peer.exec("a", "cat /m/*/f; echo kept > /tmp/x", extra_mounts=mounts)
        self.assertEqual(got["stdout"], "onetwo", got)
        more = mounts[::-1] + [{"host_path": "/nowhere", "mount_path": "/z", "mode": "none"}]
        self.assertEqual(peer.exec("a", "cat /tmp/x", extra_mounts=more)["stdout"], "kept")
        got = peer.exec("a", "ls /tmp /m; touch /m/one/new", extra_mounts=mounts[:1])
        self.assertEqual((got["stdout"], got["exit_code"]), ("/m:\none\n\n/tmp:", 0), got)
        self.assertTrue(os.path.exists(os.path.join(one, "new")))

    def test_host_paths(self):
        peer = self.peer()
        new = os.path.join(self.dir, "work", "deep")
        got = peer.exec("a", "pwd; echo hi > f", host_path=new)
        self.assertEqual((got["stdout"], got["exit_code"]), ("/workspace", 0), got)
        self.assertEqual(os.stat(os.path.join(new, "f")).st_uid, os.getuid())
        got = peer.exec("b", "cat f; touch g", host_path=new, host_path_mode="ro")
        self.assertEqual((got["stdout"], got["exit_code"] != 0), ("hi", True), got)
        peer.call("box_delete_session", {"session_id": "a"})
        self.assertTrue(os.path.exists(os.path.join(new, "f")))

    def test_paths_that_are_missing_or_blocked(self):
        peer = self.peer()
        gone = os.path.join(self.dir, "gone")
        self.fails(f"BoxValidationError: host_path {gone} does not exist", peer.exec, "a", "true", host_path=gone,
                   host_path_mode="ro")
        self.fails("BoxValidationError: host_path C:\\x does not exist", peer.exec, "a", "true", host_path="C:\\x")
        for mode in ("ro", "rw"):
            self.fails(f"BoxValidationError: extra mount host_path {gone} does not exist", peer.exec, "a", "true",
                       extra_mounts=[{"host_path": self.dir, "mount_path": "/m"},
                                     {"host_path": gone, "mount_path": "/x", "mode": mode}])
        self.assertFalse(os.path.exists(gone))
        link = os.path.join(self.dir, "link")
        os.symlink("/etc", link)
        for path in ("/", "/etc", "/etc/ssl/../", "/proc/self", "/dev", "/run/x", "/var/run", link, f"{link}/ssl"):
            for mode in ("ro", "rw", "none"):
                self.fails(f"BoxValidationError: host_path {path} is blocked for security", peer.exec, "a", "true",
                           host_path=path, host_path_mode=mode)
            self.fails(f"BoxValidationError: extra mount host_path {path} is blocked for security", peer.exec, "a",
                       "true", extra_mounts=[{"host_path": path, "mount_path": "/m", "mode": "ro"}])
        with self.assertRaises(BoxFault) as caught:
            peer.exec("a", "true", host_path=os.path.join(self.home, "sandboxes"))
        self.assertRegex(str(caught.exception), "^BoxValidationError: host_path .* is blocked for security")
        self.assertEqual((self.sandboxes(), peer.call("box_get_sessions")["sessions"]), ([], []))
        peer.exec("a", "true", host_path="/etcetera-is-not-there", host_path_mode="none")

    def test_allowed_roots(self):
        inside, outside = os.path.join(self.dir, "in"), os.path.join(self.dir, "out")
        os.mkdir(inside)
        os.mkdir(outside)
        peer = self.peer(config={"local": {"allowed_mount_roots": [inside]}})
        self.assertEqual(peer.exec("a", "true", host_path=os.path.join(inside, "x"))["exit_code"], 0)
        self.fails(f"BoxValidationError: host_path {outside} is blocked for security", peer.exec, "b", "true",
                   host_path=outside)
        self.assertFalse(os.path.exists(os.path.join(outside, "new")))

    def test_deletion(self):
        peer = self.peer()
        peer.exec("a", "true")
        slow = unique_number()
        first = peer.post("box_exec", {"session_id": "a", "cmd": f"echo began; sleep {slow} & sleep 0.5; echo over"})
        self.eventually(lambda: self.sleepers(slow))
        queued = peer.post("box_exec", {"session_id": "a", "cmd": "echo never"})
        deletion = peer.post("box_delete_session", {"session_id": "a"})
        joined = peer.post("box_delete_session", {"session_id": "a"})
        self.assertEqual(peer.answer(first)["data"]["stdout"], "began\nover")
        self.assertEqual(peer.answer(queued)["message"], "BoxSessionNotFoundError: session a is being deleted")
        for number in (deletion, joined):
            self.assertEqual(peer.answer(number)["data"], {"deleted": "a"})
        self.assertEqual(self.sandboxes(), [])

    def test_capacity(self):
        peer = self.peer(config={"limits": {"max_sessions": 1}})
        peer.exec("a", "true")
        self.fails("BoxCapacityExceededError: Box session capacity reached (1)", peer.exec, "b", "true")
        self.assertEqual(peer.exec("a", "echo same")["stdout"], "same")
        peer.call("box_delete_session", {"session_id": "a"})
        self.assertEqual(peer.exec("b", "echo now")["stdout"], "now")

    def test_an_ended_sandbox_is_recreated(self):
        peer = self.peer()
        name = peer.call("box_create_session", {"session_id": "a"})["backend_session_id"]
        self.cordon("stop", name)
        self.eventually(lambda: self.sandboxes() == [])
        self.assertEqual(peer.exec("a", "echo here")["stdout"], "here")

    def test_session_ids_may_have_any_characters(self):
        peer = self.peer()
        for name in ("ünïcode ☃", "a/../../b", "x" * 10000, "-rf", "a\nb"):
            self.assertEqual(peer.exec(name, "echo here")["session_id"], name)
            peer.call("box_delete_session", {"session_id": name})

    def test_docker_and_e2b_are_unavailable(self):
        for backend in ("docker", "e2b"):
            peer = self.peer(config={"backend": backend})
            self.assertEqual(peer.call("box_get_backend_info"), {"name": None, "available": False})
            self.fails("BoxBackendUnavailableError: LangBot Box backend unavailable. Install and start Docker or nsjail "
                       "before using exec.", peer.exec, "a", "true")

    def test_a_client_that_disconnects_ends_its_execs(self):
        server = self.server()
        peer, slow = server.legacy(), unique_number()
        peer.exec("a", "true")
        peer.post("box_exec", {"session_id": "a", "cmd": f"sleep {slow}", "timeout_sec": 1000})
        peer.post("box_exec", {"session_id": "a", "cmd": "echo queued"})
        peer.post("box_create_session", {"session_id": "b"})
        self.eventually(lambda: self.sleepers(slow))
        peer.close()
        self.eventually(lambda: not self.sleepers(slow))
        again = server.legacy()
        self.assertEqual(again.exec("a", "echo still here")["stdout"], "still here")  # the session stays


# --- execs -----------------------------------------------------------------------------------------


class Execs(BoxTest):
    def peer(self, **kwargs):
        return self.server(**kwargs).legacy()

    def test_results(self):
        peer = self.peer()
        for cmd, code in (("exit 7", 7), ("no-such-program", 127), ("kill -9 $$", 137)):
            self.assertEqual(peer.exec("a", cmd)["exit_code"], code, cmd)
        got = peer.exec("a", "\n  echo one\necho two >&2\n")
        self.assertEqual((got["stdout"], got["stderr"]), ("one", "two"))
        self.assertEqual(peer.exec("a", "cat; pwd", workdir="/workspace/new dir/x")["stdout"], "/workspace/new dir/x")
        self.assertEqual(peer.exec("a", "echo $PATH", env={"PATH": "/bin:/usr/bin"})["stdout"].split(":")[-2:],
                         ["/bin", "/usr/bin"])
        self.assertEqual(peer.exec("a", "echo $X-$PYTHONUNBUFFERED", env={"X": "1"})["stdout"], "1-1")
        self.assertEqual(peer.exec("a", "echo $X; id -u; hostname")["stdout"], "0\nbox")
        self.assertEqual(peer.exec("a", "python - <<'PY'\nprint('py')\nPY")["stdout"], "py")
        long = "x" * 1_000_000
        self.assertEqual(peer.exec("a", f"printf %s '{long}' | wc -c")["stdout"], "1000000")

    def test_the_writable_directories(self):
        peer = self.peer()
        got = peer.exec("a", "for d in /workspace /tmp /home /var/tmp /run /dev/shm; do echo x > $d/f || exit 1; done; "
                        "touch /f /usr/f")
        self.assertEqual((got["stderr"].count("cannot touch"), got["exit_code"]), (2, 1), got)
        self.assertEqual(peer.exec("b", "touch /f /opt/f", read_only_rootfs=False)["exit_code"], 0)

    def test_files_can_be_larger_than_the_memory_limit(self):
        peer = self.peer()
        got = peer.exec("a", "for d in /workspace /tmp /home; do head -c 100000000 /dev/zero > $d/big || exit 1; done; "
                        "cat /workspace/big /tmp/big /home/big | wc -c", memory_mb=64, timeout_sec=120)
        self.assertEqual((got["stdout"], got["exit_code"]), ("300000000", 0), got)

    def test_background_processes_end_with_the_exec(self):
        peer, slow = self.peer(), unique_number()
        peer.exec("a", f"sleep {slow} & echo $!")
        self.eventually(lambda: not self.sleepers(slow))

    def test_a_timeout_deletes_the_session(self):
        peer, slow = self.peer(), unique_number()
        got = peer.exec("a", f"echo before; sleep {slow}", timeout_sec=1)
        self.assertEqual((got["status"], got["exit_code"], got["stdout"], got["stderr"]),
                         ("timed_out", None, "before", "Command timed out after 1 seconds."))
        self.assertEqual((self.sleepers(slow), peer.call("box_get_sessions")["sessions"], self.sandboxes()), ([], [], []))

    def test_execs_run_one_after_the_other(self):
        peer = self.peer()
        peer.exec("a", "true")
        asked = [peer.post("box_exec", {"session_id": "a", "cmd": f"echo +{i} >> /tmp/log; sleep 0.1; "
                                        f"echo -{i} >> /tmp/log"}) for i in range(3)]
        for number in asked:
            self.assertEqual(peer.answer(number)["code"], 0)
        self.assertEqual(peer.exec("a", "cat /tmp/log")["stdout"].split(), ["+0", "-0", "+1", "-1", "+2", "-2"])

    def test_sessions_do_not_wait_for_each_other(self):
        peer, slow = self.peer(), unique_number()
        peer.post("box_exec", {"session_id": "a", "cmd": f"sleep {slow}", "timeout_sec": 1000})
        self.eventually(lambda: self.sleepers(slow))
        self.assertEqual(peer.exec("b", "echo here")["stdout"], "here")
        self.assertEqual(len(self.sleepers(slow)), 1)


# --- managed processes -----------------------------------------------------------------------------


class Processes(BoxTest):
    def setUp(self):
        super().setUp()
        self.box = self.server()
        self.peer = self.box.legacy()
        self.peer.call("box_create_session", {"session_id": "s"})

    def start(self, script, process_id="p", **spec):
        return self.peer.call("box_start_managed_process", {"session_id": "s", "spec": {
            "process_id": process_id, "command": "sh", "args": ["-c", script], **spec}})

    def info(self, process_id="p"):
        return self.peer.call("box_get_managed_process", {"session_id": "s", "process_id": process_id})

    def exited(self, process_id="p"):
        return self.eventually(lambda: self.info(process_id)["status"] == "exited" and self.info(process_id), within=20)

    def test_lines_both_ways(self):
        self.start("while read line; do echo \"got $line\"; done")
        relay = self.box.relay("s", "p")
        relay.send_text("one")
        self.assertEqual(relay.read_message(), "got one")
        relay.send_frame(BINARY, b"ignored")
        relay.send_text("zwei ä")
        self.assertEqual(relay.read_message(), "got zwei ä")
        self.assertTrue(self.info()["attached"])
        relay.close()
        self.eventually(lambda: not self.info()["attached"])
        again = self.box.relay("s", "p")
        again.send_text("three")
        self.assertEqual(again.read_message(), "got three")

    def test_one_message_for_each_line(self):
        self.start("printf 'a\\nb\\n\\nc\\377d\\n'; head -c 3000000 /dev/zero | tr '\\0' x; printf '\\nlast'; sleep 0.1")
        relay = self.box.relay("s", "p")
        got = [relay.read_message() for _ in range(6)]
        self.assertEqual(got[:4] + got[5:], ["a", "b", "", "c\ufffdd", "last"])
        self.assertEqual(got[4], "x" * 3000000)
        self.assertEqual(relay.close_code(), 1000)

    def test_a_second_attachment_waits(self):
        self.start("while read line; do echo \"got $line\"; done")
        first, second = self.box.relay("s", "p"), self.box.relay("s", "p")
        second.send_text("lost")
        first.send_text("one")
        self.assertEqual(first.read_message(), "got one")
        first.close()
        second.send_frame(PING)
        self.assertEqual(second.read_frame(), (PONG, b""))
        self.eventually(lambda: self.answered(second))

    def answered(self, relay):
        relay.send_text("mine")
        relay.sock.settimeout(1)
        try:
            return relay.read_message() == "got mine"
        except TimeoutError:
            return False
        finally:
            relay.sock.settimeout(SECONDS)

    def unread_bytes(self, relay):
        """Returns how many bytes for RELAY wait in the kernel, on both sides of the connection. For a moment, bytes
        that have arrived but are not acknowledged are counted twice."""
        ours = relay.sock.getsockname()[1]
        waiting = fcntl.ioctl(relay.sock, termios.FIONREAD, b"\0" * 4)
        with open("/proc/net/tcp") as table:
            rows = [line.split() for line in table][1:]
        sending = [int(row[4].split(":")[0], 16) for row in rows
                   if int(row[1].split(":")[1], 16) == self.box.port and int(row[2].split(":")[1], 16) == ours]
        return int.from_bytes(waiting, sys.byteorder) + sum(sending)

    def order(self, word):
        """Tells the process what to print. This does not need a relay."""
        self.peer.call("box_exec", {"session_id": "s", "cmd": f"echo {word} > /workspace/orders"})

    def fill(self, relay):
        """Makes the process print lines of half a MiB, which RELAY does not read, until the server queues a part of a
        line."""
        for lines in range(1, 40):
            self.order("fill")
            try:
                self.eventually(lambda: self.unread_bytes(relay) > lines << 19, within=1)
            except AssertionError:
                return
        self.fail("the kernel takes every line")

    def test_a_relay_that_closes_loses_no_line_of_the_next(self):
        self.peer.call("box_exec", {"session_id": "s", "cmd": "mkfifo /workspace/orders"})
        self.start("while read word; do case $word in "
                   "fill) head -c 524288 /dev/zero | tr '\\0' x; echo;; "
                   "go) sleep 0.2; for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.05; done;; esac; done <>orders")
        first, second = self.box.relay("s", "p"), self.box.relay("s", "p")
        self.fill(first)
        self.order("go")
        first.send_frame(CLOSE, (1000).to_bytes(2, "big"))
        lines = []
        while lines[-1:] != ["9"]:
            lines.append(second.read_message())
        self.assertEqual(lines, list("123456789"))

    def test_a_line_that_is_too_long_ends_one_relay(self):
        self.start(f"head -c {MESSAGE_MAX + 1000} /dev/zero | tr '\\0' x; echo; echo next; cat")
        self.assertEqual(self.box.relay("s", "p").close_code(), 1009)
        relay = self.box.relay("s", "p")
        self.assertEqual(relay.read_message(), "next")
        relay.send_text("alive")
        self.assertEqual(relay.read_message(), "alive")

    def test_subprotocol(self):
        self.start("cat", "default")
        path = "/v1/sessions/s/managed-process/ws"
        offered = self.keep(Socket(self.box.port, path, ["Sec-WebSocket-Protocol: x, mcp"]))
        self.assertIn("sec-websocket-protocol: mcp", offered.head.lower())
        plain = self.keep(Socket(self.box.port, path, ["Sec-WebSocket-Protocol: x"]))
        self.assertNotIn("sec-websocket-protocol", plain.head.lower())
        self.assertIn("managed_process", self.peer.call("box_get_session", {"session_id": "s"}))

    def test_relays_without_a_running_process_are_refused(self):
        def error(session, process):
            return json.loads(self.refused(400, self.box.relay, session, process))["error"]

        self.assertEqual(error("x", "p"), {"code": "BoxSessionNotFoundError", "message": "session x not found"})
        self.assertEqual(error("s", "p")["code"], "BoxManagedProcessNotFoundError")
        self.start("exit 3")
        self.exited()
        self.assertEqual(error("s", "p")["code"], "BoxManagedProcessConflictError")

    def test_the_exit_status_is_kept_and_reported(self):
        self.start("echo why >&2; echo because >&2; exit 3")
        got = self.exited()
        self.assertEqual((got["exit_code"], got["stderr_preview"]), (3, "why\nbecause"))
        self.assertRegex(got["exited_at"], r"^\d{4}-")
        self.start("kill -9 $$", "q")
        self.assertEqual(self.exited("q")["exit_code"], 137)
        self.peer.call("box_start_managed_process", {"session_id": "s", "spec": {
            "process_id": "r", "command": "no-such-program"}})
        self.assertEqual(self.exited("r")["exit_code"], 127)

    def test_the_preview_keeps_the_end(self):
        self.start("head -c 100000 /dev/zero | tr '\\0' x >&2; echo the end >&2")
        preview = self.exited()["stderr_preview"]
        self.assertEqual(len(preview), 4000)
        self.assertTrue(preview.endswith("xthe end"))

    def test_a_start_with_the_same_id_replaces_the_process(self):
        first, second = unique_number(), unique_number()
        self.start(f"sleep {first}")
        self.eventually(lambda: self.sleepers(first))
        self.assertEqual(self.start(f"sleep {second}")["status"], "running")
        self.eventually(lambda: self.sleepers(second))
        self.assertEqual(self.sleepers(first), [])

    def test_stop_ends_the_whole_tree(self):
        stubborn, child = unique_number(), unique_number()
        self.start(f"trap '' TERM; sleep {child} & sleep {stubborn}")
        self.eventually(lambda: self.sleepers(stubborn) and self.sleepers(child))
        relay = self.box.relay("s", "p")
        self.assertEqual(self.peer.call("box_stop_managed_process", {"session_id": "s", "process_id": "p"}),
                         {"stopped": "p"})
        self.assertEqual((self.sleepers(stubborn), self.sleepers(child)), ([], []))
        self.assertEqual(relay.close_code(), 1000)

    def test_capacity(self):
        self.peer.call("box_init", {"limits": {"max_managed_processes": 1}})
        self.start("cat")
        self.start("cat")  # this process replaces the first process
        self.fails("BoxCapacityExceededError: Box managed process capacity reached (1)", self.start, "cat", "q")

    def test_the_number_of_ended_processes_is_limited(self):
        self.peer.call("box_init", {"limits": {"max_completed_processes": 1}})
        self.start("exit 1", "a")
        self.exited("a")
        self.start("exit 2", "b")
        self.exited("b")
        self.fails("BoxManagedProcessNotFoundError: session s has no managed process with process_id=a", self.info, "a")

    def test_each_process_brings_its_own_limits(self):
        """Three processes of 100 MB each run in a session of 128 MB. After the processes have ended, the session must
        have its own limits again."""
        self.peer.call("box_delete_session", {"session_id": "s"})
        self.peer.call("box_create_session", {"session_id": "small", "memory_mb": 128})
        name = self.peer.call("box_get_session", {"session_id": "small"})["backend_session_id"]
        held = self.eventually(lambda: self.cordon("inspect", name, "--format", "json").json()["limits"]["memory"])
        if not held.startswith("cgroup"):
            self.not_run("no cgroup is delegated to this user")
        before = limits_of(self.home)
        hungry = "import sys, time; x = bytearray(100 << 20); print('up', flush=True); sys.stdin.read()"
        for i in range(3):
            self.peer.call("box_start_managed_process", {"session_id": "small", "spec": {
                "process_id": f"p{i}", "command": "python3", "args": ["-c", hungry],
                **({"memory_mb": 200} if i == 2 else {})}})
        for i in range(3):
            self.assertEqual(self.box.relay("small", f"p{i}").read_message(), "up")
        self.assertEqual(limits_of(self.home), {"memory": (128 * 3 + 200) << 20, "cpus": 4.0, "pids": 512})
        self.assertEqual(before, {"memory": 128 << 20, "cpus": 1.0, "pids": 128})
        for i in range(3):
            self.peer.call("box_stop_managed_process", {"session_id": "small", "process_id": f"p{i}"})
        self.eventually(lambda: limits_of(self.home) == before)

    def test_a_limit_of_zero_keeps_no_ended_process(self):
        self.peer.call("box_init", {"limits": {"max_completed_processes": 0}})
        self.start("cat")
        self.assertEqual(self.peer.call("box_stop_managed_process", {"session_id": "s", "process_id": "p"}),
                         {"stopped": "p"})
        self.start("exit 1")
        gone = {"session_id": "s", "process_id": "p"}
        self.eventually(lambda: self.peer.answer(self.peer.post("box_get_managed_process", gone))["code"] == 1)

    def test_a_process_waits_while_its_output_is_not_read(self):
        self.start("yes | head -c 50000000; echo over >&2; cat")
        peak = []
        relay = self.box.relay("s", "p")
        self.assertEqual(relay.read_message(), "y")
        relay.close()
        peak.append(self.box.health()["memory_held_bytes"])
        self.assertLess(peak[0], 8 << 20)
        self.assertEqual(self.info()["stderr_preview"], "")


# --- load ------------------------------------------------------------------------------------------


class Load(BoxTest):
    modes = ("user",)

    def test_many_connections_at_once(self):
        """Twenty peers have a hundred actions each in flight. Every answer must go to the right peer."""
        server = self.server()
        server.legacy().exec("s", "true")
        failures = []

        def work(i):
            try:
                peer = server.legacy()
                asked = [peer.post("box_get_session" if k % 2 else "__ping", {"session_id": "s"}) for k in range(100)]
                own = peer.post("box_exec", {"session_id": f"s{i % 4}", "cmd": f"echo {i}"})
                for number in asked:
                    assert peer.answer(number, 100)["code"] == 0
                assert peer.answer(own, 100)["data"]["stdout"] == str(i)
            except Exception as error:  # pylint: disable=broad-except
                failures.append(repr(error))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_peer_that_reads_nothing_blocks_only_itself(self):
        server = self.server()
        deaf = server.legacy()
        deaf.exec("a", "true")
        deaf.transport.socket.sock.settimeout(2)
        try:
            for _ in range(200):
                deaf.post("box_exec", {"session_id": "a", "cmd": "head -c 400000 /dev/zero | tr '\\0' x"})
        except TimeoutError:
            pass
        other = server.legacy()
        self.assertEqual(other.exec("b", "echo here")["stdout"], "here")
        self.assertLess(server.health()["memory_held_bytes"], 64 << 20)


class Confined(BoxTest):
    def test_the_process_that_reads_peers_is_confined(self):
        server = self.server()
        server.legacy().exec("a", "true")
        reader = server.reader()
        for key in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            self.assertEqual(int(reader.status(key)[0], 16), 0, key)
        self.assertEqual(reader.status("NoNewPrivs"), ["1"])
        if "ASAN_OPTIONS" not in os.environ:  # a build with sanitizers has no filter
            self.assertEqual(reader.status("Seccomp"), ["2"])
        if MODE == "user":  # other processes of the same user cannot look into the process that reads what peers send
            with self.assertRaises(PermissionError):
                os.listdir(f"/proc/{reader.pid}/fd")
