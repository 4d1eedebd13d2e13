"""Tests `cordon tool` and `cordon service` while their Box server fails, is missing or restarts: what they try
again, and what they never repeat."""

import json
import os
import re
import signal
import socket

from harness import Reader
from test_box import Server
from test_service_endpoint import EndpointTest

DELAY = {"reconnect_delay_ms": 10}


class ReconnectTest(EndpointTest):
    def handshakes(self):
        return len([entry for entry in self.log() if "handshake" in entry])

    def notices(self, err):
        return re.findall(rb"trying again for up to \d+ seconds", err)

    def begin(self, *words, **kwargs):
        """Starts a call and waits until it has said that it tries again."""
        call = self.spawn(*words, **kwargs)
        call.seen = Reader(call.stderr)
        self.eventually(lambda: self.notices(call.seen.data), 20, lambda: call.seen.data)
        return call

    def end(self, call):
        code = call.wait(60)
        return code, json.loads(call.stdout.read()), call.seen.data


class RestartingStub(ReconnectTest):
    """The server misbehaves on its first connection, and works on later connections."""
    modes = ("user",)

    def once(self, service=None, **rules):
        if os.path.exists(os.path.join(self.dir, "stub.log")):
            os.unlink(os.path.join(self.dir, "stub.log"))
        options = self.write(self.stub("socket", once=True, **rules), service={**DELAY, **(service or {})})
        got = self.cordon("tool", *options, "exec", '{"command": "x"}')
        return got, json.loads(got.text)

    def test_a_loss_before_the_command_is_sent(self):
        for rules in ({"handshake": "close"}, {"handshake": "503"}, {"__ping": "close"}, {"box_init": "close"},
                      {"box_list_skills": "close"}, {"box_init": {"close": 1001}}, {"box_list_skills": {"close": 1012}}):
            with self.subTest(**rules):
                got, result = self.once(**rules)
                self.assertEqual((got.code, result["stdout"]), (0, "from the stub"), got)
                self.assertEqual(len(self.notices(got.err)), 1, got)
                self.assertEqual((self.handshakes(), self.actions().count("box_exec")), (2, 1))
                # the new connection is prepared in the same way as the first connection
                self.assertEqual(self.actions()[-4:], ["__ping", "box_init", "box_list_skills", "box_exec"])
        self.assertEqual(self.call("service", "errors"), [])

    def test_a_loss_after_the_command_was_sent(self):
        for rules in ({"box_exec": "close"}, {"box_exec": "half"}, {"box_exec": "garbage"}):
            with self.subTest(**rules):
                got, result = self.once(**rules)
                self.assertEqual((got.code, result["error"]), (1, "Disconnected from Box runtime"), got)
                self.assertEqual((self.handshakes(), self.actions().count("box_exec")), (1, 1))
                self.assertEqual(self.notices(got.err), [])

    def test_failures_that_waiting_does_not_mend(self):
        for rules in ({"handshake": "401"}, {"handshake": "404"}, {"handshake": "garbage"}, {"handshake": "forged"},
                      {"__ping": "binary"}, {"box_init": {"fault": "ValueError: no"}}, {"box_list_skills": {"close": 1008}}):
            with self.subTest(**rules):
                got, result = self.once(**rules)
                self.assertEqual((got.code, result["error_type"]), (1, "BoxError"), got)
                self.assertEqual((self.handshakes(), self.notices(got.err)), (1, []))
                self.assertEqual(self.actions().count("box_exec"), 0)

    def test_questions_are_asked_again(self):
        for verb, action in (("sessions", "box_get_sessions"), ("cleanup", "box_get_sessions")):
            with self.subTest(verb):
                options = self.write(self.stub("socket", once=True, **{action: "close"}), service=DELAY)
                got = self.call("service", verb, *options)
                self.assertEqual(got, {"ended": 1} if verb == "cleanup" else
                                 [{"session_id": "one", "backend_name": "stub"}])

    def test_a_session_is_ended_once(self):
        options = self.write(self.stub("socket", once=True, box_delete_session="close"), service=DELAY)
        got = self.call("service", "cleanup", *options, "--session", "one", code=1)
        self.assertEqual((got["error"], self.actions().count("box_delete_session")), ("Disconnected from Box runtime", 1))

    def test_the_status_tells_what_is_now(self):
        options = self.write(self.stub("socket", once=True, __ping="close"), service=DELAY)
        got = self.status(*options)
        self.assertEqual((got["available"], got["connector_error"]), (False, "Disconnected from Box runtime"))
        self.assertTrue(self.status(*options)["available"])

    def test_skills_are_loaded_again(self):
        root = self.directory("root")
        package = self.directory("root", "skills", "csv")
        skills = {"skills": [{"name": "csv", "package_root": package}]}
        # if the connection is not lost, the command sees the skill
        options = self.write(self.stub("socket", box_list_skills=skills), service={"shares_filesystem": True},
                             local={"host_root": root})
        self.assertEqual(len(self.resolve({"command": "x"}, *options)["extra_mounts"]), 1)
        # the first connection lists the skill and ends before the command; the second connection lists no skills
        runtime = self.stub("socket", once=True, box_list_skills={"data": skills, "close": 1001})
        options = self.write(runtime, service={**DELAY, "shares_filesystem": True}, local={"host_root": root})
        self.assertEqual(self.tool("x", *options)["stdout"], "from the stub")
        specs = [entry["data"] for entry in self.log() if entry.get("action") == "box_exec"]
        self.assertEqual([spec["extra_mounts"] for spec in specs], [[]])

    def test_a_child_that_ends_is_not_started_again(self):
        options = self.write(self.stub("pipes", __ping="close"), service=DELAY)
        self.assertIn("Disconnected", self.tool("x", *options, code=1)["error"])
        self.assertEqual(len([entry for entry in self.log() if "pid" in entry]), 1)


class NobodyThere(ReconnectTest):
    modes = ("user",)

    def setUp(self):
        super().setUp()
        self.listener = socket.socket()
        self.addCleanup(self.listener.close)
        self.listener.bind(("127.0.0.1", 0))  # connections are refused until the test listens
        self.runtime = {"endpoint": f"ws://127.0.0.1:{self.listener.getsockname()[1]}"}

    def test_the_call_gives_up_in_time(self):
        options = self.write(self.runtime, service={**DELAY, "connect_timeout_sec": 1})
        got = self.cordon("tool", *options, "exec", '{"command": "x"}')
        self.assertEqual((got.code, len(self.notices(got.err))), (1, 1), got)
        self.assertIn("Connection refused", json.loads(got.text)["error"])
        self.assertEqual(self.call("service", "errors"), [])  # a missing runtime is not listed as a failure

    def test_nothing_is_tried_if_no_attempt_fits_the_time(self):
        # the call would try again after 3 seconds, but may take only 1 second
        options = self.write(self.runtime, service={"connect_timeout_sec": 1})
        got = self.cordon("tool", *options, "exec", '{"command": "x"}')
        self.assertEqual((got.code, self.notices(got.err)), (1, []), got)

    def test_a_disabled_service_does_not_wait(self):
        got = self.cordon("tool", *self.write(self.runtime, enabled=False), "exec", '{"command": "x"}')
        self.assertEqual((got.code, got.err), (1, b""))

    def test_a_signal_ends_the_wait(self):
        options = self.write(self.runtime, service={"reconnect_delay_ms": 20000})
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                call = self.begin("tool", *options, "exec", '{"command": "x"}')
                call.send_signal(number)
                code, got, _ = self.end(call)
                self.assertEqual((code, got["error_type"]), (128 + number, "BoxError"))

    def test_the_workspace_is_prepared_again(self):
        root = self.directory("root")
        options = self.write(self.runtime, service=DELAY, local={"host_root": root})
        call = self.begin("service", "sessions", "--format", "json", *options)
        os.rename(os.path.join(root, "default"), os.path.join(root, "moved"))
        self.eventually(lambda: os.path.isdir(os.path.join(root, "default")))
        call.kill()
        call.communicate()

    def test_a_server_that_comes_is_used(self):
        call = self.begin("service", "sessions", "--format", "json", *self.write(self.runtime, service=DELAY))
        self.listener.listen()
        with self.listener.accept()[0] as peer:
            self.assertIn(b"GET /rpc/ws", peer.recv(65536))
            peer.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
        code, got, err = self.end(call)
        self.assertEqual((code, got, len(self.notices(err))), (0, [], 1), err)


class RestartedServer(ReconnectTest):
    """A real server is killed and started again on the same port."""
    modes = ("root", "user")
    timeout = 180

    def setUp(self):
        super().setUp()
        self.box = Server(self)
        self.root = self.directory("root")
        self.options = self.write({"endpoint": f"ws://127.0.0.1:{self.box.port}"}, service=DELAY,
                                  local={"host_root": self.root})

    def listens(self, port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    def restart(self, number):
        """Ends the server by a signal. Returns a function that starts it again."""
        port = self.box.port
        self.box.proc.send_signal(number)
        self.box.proc.wait(60)
        # the process that listens is a child of the process that has just ended, and ends a moment later
        self.eventually(lambda: not self.listens(port), 20)
        return lambda: Server(self, "--ws-control-port", str(port))

    def runs(self):
        with open(os.path.join(self.root, "default", "runs"), encoding="utf-8") as handle:
            return handle.read().split()

    def test_a_call_meets_the_new_server(self):
        for i, number in enumerate((signal.SIGKILL, signal.SIGTERM)):
            with self.subTest(number):
                self.assertEqual(self.tool(f"echo a{i} >> runs; echo ok", *self.options)["stdout"], "ok")
                start = self.restart(number)
                call = self.begin("tool", *self.options, "exec", json.dumps({"command": f"echo b{i} >> runs; echo ok"}))
                self.box = start()
                code, got, err = self.end(call)
                self.assertEqual((code, got.get("stdout"), len(self.notices(err))), (0, "ok", 1), (got, err))
        self.assertEqual(self.runs(), ["a0", "b0", "a1", "b1"])

    def test_a_command_that_runs_is_not_run_again(self):
        call = self.spawn("tool", *self.options, "exec", '{"command": "echo once >> runs; sleep 600"}')
        self.eventually(lambda: os.path.exists(os.path.join(self.root, "default", "runs")) and self.runs(), 30)
        start = self.restart(signal.SIGKILL)
        self.box = start()
        got = self.finish(call)
        self.assertEqual((got.code, json.loads(got.out)["error_type"]), (1, "BoxError"))
        self.assertEqual(self.tool("cat runs", *self.options)["stdout"], "once")
