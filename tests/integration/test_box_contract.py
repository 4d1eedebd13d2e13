"""Tests promises of cordon-box that no other test_box file tests, such as the input of commands, the limit of open
files, what a killed creation leaves, and LangBot's handshake."""

import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import time

from boxpeer import SECONDS, Peer, StdioTransport, http_get
from harness import MODE, unique_number
from test_box import INSTANCE, PROGRAM, BoxTest, Server

NULL = r'''
import os, stat, subprocess
node = os.stat("/dev/null")
assert stat.S_ISCHR(node.st_mode) and (os.major(node.st_rdev), os.minor(node.st_rdev)) == (1, 3), node
assert os.path.samestat(os.fstat(0), node)
assert open("/dev/null").read() == "" and open("/dev/null", "w").write("x") == 1
assert open("/dev/stdin").read() == ""
subprocess.run(["cat"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print("fine")
'''


class Input(BoxTest):
    def test_input_is_the_device_null(self):
        """/dev/null must be the real device, as a command's input and when a program opens it. uvx opens it, and other
        programs check which kind of file their input is."""
        server = self.server()
        peer = server.legacy()
        got = peer.exec("a", f"python3 -c '{NULL}'")
        self.assertEqual((got["stdout"], got["stderr"]), ("fine", ""), got)
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {
            "process_id": "p", "command": "sh", "args": ["-c", 'python3 -c "$0" < /dev/null', NULL]}})
        self.assertEqual(server.relay("a", "p").read_message(), "fine")


class OpenFiles(BoxTest):
    def test_sessions_are_limited_to_what_the_open_files_allow(self):
        server = self.server(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)),
                             config={"limits": {"max_managed_processes": 0}})
        self.eventually(lambda: b"max_sessions is 10 instead of 64, because this process may open only 100 files"
                        in server.err.data)
        peer = server.legacy()
        for _ in range(2):  # LangBot repeats its configuration
            peer.call("box_init", {"limits": {"max_sessions": 2000, "max_managed_processes": 0}})
        self.assertEqual(peer.call("box_status")["limits"]["max_sessions"], 10)
        self.assertEqual(server.health()["max_sessions"], 10)
        self.assertEqual(json.loads(http_get(server.port, "/readyz")[1])["resources"]["max_sessions"], 10)
        slow = unique_number()
        asked = [peer.post("box_exec", {"session_id": f"s{i}", "cmd": f"sleep {slow}", "timeout_sec": 1000})
                 for i in range(10)]
        self.eventually(lambda: len(self.sleepers(slow)) == 10, 30, lambda: str(peer.answers))
        self.fails("BoxCapacityExceededError: Box session capacity reached (10)", peer.exec, "more", "true")
        self.assertEqual([n for n in asked if n in peer.answers], [])
        self.assertEqual(server.err.data.count(b"max_sessions is"), 1)
        peer.call("box_init", {"limits": {"max_sessions": 5}})
        self.assertEqual(peer.call("box_status")["limits"]["max_sessions"], 5)


class Leftovers(BoxTest):
    def test_the_next_server_removes_half_made_sandboxes(self):
        place = os.path.join(self.home, "sandboxes")
        self.server().stop()  # the server creates the state directory
        os.makedirs(place, exist_ok=True)
        half = os.path.join(place, ".new-12345")
        os.mkdir(half, 0o700)
        with open(os.path.join(half, "config.json"), "w", encoding="utf-8") as f:
            f.write("{")
        server = self.server()
        self.eventually(lambda: not os.path.exists(half), 20)
        self.assertEqual(server.legacy().exec("a", "echo here")["stdout"], "here")

    def all_killed(self):
        """Kills supervisors and other orphans. Returns true if there was no orphan to kill."""
        left = self.left_running()
        for p in left:
            os.kill(p.pid, signal.SIGKILL)
        return not left

    def test_a_creation_that_is_killed_leaves_nothing_for_the_next_server(self):
        """The test kills all processes of the server at once while the server makes sandboxes, so that no process can
        clean up."""
        for round_ in range(3):
            server = self.server()
            peer = server.legacy()
            for i in range(6):
                peer.post("box_create_session", {"session_id": f"s{i}"})
            # round 0 kills when one record exists, round 1 when two exist, round 2 without waiting
            if round_ < 2:
                self.eventually(lambda: len(os.listdir(os.path.join(self.home, "sandboxes"))) > round_)
            victims = [server.proc.pid, server.reader().pid, *(p.pid for p in server.hands())]
            for pid in victims:
                os.kill(pid, signal.SIGSTOP)
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            server.proc.wait(SECONDS)
            self.eventually(self.all_killed, 10)
        again = self.server()
        self.eventually(lambda: self.sandboxes() == [], 20, lambda: str(self.sandboxes()))
        self.assertEqual(again.legacy().exec("s0", "echo here")["stdout"], "here")


class Cold(Server):
    """A server that is used at once. With the class Server, the test waits until the server has tried its backend."""

    def looked(self):
        return True


class ColdStart(BoxTest):
    def test_langbot_s_handshake_is_answered_while_the_server_starts(self):
        """LangBot gives a new server 30 seconds for the handshake, which consists of __ping and box_init. The answers
        must not wait for the sandbox with which the server tries its backend at its start."""
        server = Cold(self, env={"LANGBOT_BOX_TRUSTED_INSTANCE_UUID": INSTANCE})
        hands = self.eventually(server.hands)
        for hand in hands:  # from now on the server cannot answer a request that needs a hand
            os.kill(hand.pid, signal.SIGSTOP)
        peer = server.current()
        self.assertEqual(peer.call("__ping"), {})
        self.assertEqual(peer.call("box_init", {"backend": "", "limits": {}}), {"initialized": True})
        for hand in hands:
            os.kill(hand.pid, signal.SIGCONT)
        self.assertEqual(peer.exec("a", "echo here")["stdout"], "here")


class Sandboxes(BoxTest):
    """Tests the sandbox of a session from the outside."""

    def inspect(self, info):
        return self.cordon("inspect", info["backend_session_id"], "--format", "json").json()

    def test_labels_name_the_session_and_the_server(self):
        info = self.server().legacy().call("box_create_session", {"session_id": "a b"})
        labels = self.inspect(info)["config"]["labels"]
        self.assertRegex(labels.pop("langbot.box.instance_id"), "^[0-9a-f]{12}$")
        self.assertEqual(labels, {"langbot.box": "true", "langbot.session_id": "a b"})

    def test_the_engine_is_chosen_for_the_backend_cordon_only(self):
        for backend, engine, want in (("cordon", "process", "process"), ("nsjail", "vm", "process")):
            peer = self.server(config={"backend": backend, "cordon": {"engine": engine}}).legacy()
            info = peer.call("box_create_session", {"session_id": "a"})
            self.assertEqual((info["backend_name"], self.inspect(info)["engine"]), (backend, want))

    def test_relay_traffic_counts_as_use(self):
        server = self.server()
        peer = server.legacy()
        peer.call("box_create_session", {"session_id": "a"})
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {"process_id": "p", "command": "cat"}})
        relay, used = server.relay("a", "p"), lambda: peer.call("box_get_session", {"session_id": "a"})["last_used_at"]
        before = used()
        relay.send_text("x")
        self.assertEqual(relay.read_message(), "x")
        self.eventually(lambda: used() > before)


class HostPaths(BoxTest):
    def test_mounts_below_a_read_only_host_path(self):
        """If the host path is read-only, the mount point is made in the sandbox, not in the host's directory."""
        work, skill = os.path.join(self.dir, "work"), os.path.join(self.dir, "skill")
        for path, name in ((work, "w"), (skill, "s")):
            os.mkdir(path)
            with open(os.path.join(path, name), "w", encoding="utf-8") as f:
                f.write(name)
        mounts = [{"host_path": skill, "mount_path": "/workspace/.skills/one"}]
        for mode in ("ro", "rw"):
            got = self.server().legacy().exec("a", "cat w .skills/one/s; touch .skills/one/new; touch n; true",
                                              host_path=work, host_path_mode=mode, extra_mounts=mounts)
            self.assertEqual((got["stdout"], got["exit_code"]), ("ws", 0), got)
            self.assertEqual(sorted(os.listdir(skill)), ["new", "s"])
            if mode == "ro":
                self.assertEqual(os.listdir(work), ["w"])
        self.assertIn("n", os.listdir(work))

    def test_files_belong_to_the_owner_of_the_directory(self):
        if MODE != "root":
            self.not_run("needs root to act as another user")
        work = os.path.join(self.dir, "work")
        os.mkdir(work)
        os.chown(work, 12345, 23456)
        got = self.server().legacy().exec("a", "id -u; echo x > f; mkdir d; stat -c %u . f d", host_path=work)
        self.assertEqual((got["stdout"].split(), got["exit_code"]), (["0", "0", "0", "0"], 0), got)
        for name in ("f", "d"):
            made = os.stat(os.path.join(work, name))
            self.assertEqual((made.st_uid, made.st_gid), (12345, 23456))


class Strangers(BoxTest):
    modes = ("user",)

    def test_connections_that_say_nothing_are_closed(self):
        """At most 64 silent connections are kept, each for at most 10 seconds. The server keeps the connections of
        peers that have made their handshake."""
        server = self.server()
        peer = server.legacy()
        silent = [socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) for _ in range(65)]
        self.assertEqual(silent[0].recv(1), b"")  # the server closed the oldest connection to make room for the newest
        # the other silent connections are not 10 seconds old, so they are still open
        self.assertEqual(select.select(silent[1:], [], [], 0)[0], [])
        self.assertEqual(peer.exec("a", "echo here")["stdout"], "here")
        for sock in silent[1:]:
            self.assertNotIn(b" 101 ", sock.recv(4096))
            sock.close()
        silent[0].close()
        self.assertEqual(server.legacy().call("__ping"), {})


class Connections(BoxTest):
    modes = ("user",)
    most = 1024

    def test_at_most_1024_connections_are_open(self):
        """The server closes further connections without an answer. Existing connections go on."""
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[1], 4096), before[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        server = self.server()
        peers = [server.legacy() for _ in range(self.most)]
        for _ in range(3):
            self.assertFalse(self.answers(server))
        for peer in (peers[0], peers[-1]):
            self.assertEqual(peer.call("__ping"), {})
        peers[0].close()
        self.eventually(lambda: self.answers(server))

    def answers(self, server):
        try:
            return http_get(server.port, "/healthz")[0] == 200
        except (OSError, IndexError):  # the server closed the connection without an answer
            return False


class Shutdown(BoxTest):
    def test_no_session_is_made_while_the_sessions_end(self):
        """box_shutdown ends every session, also persistent sessions. In this test a process ignores SIGTERM, so
        box_shutdown takes 5 seconds."""
        server = self.server()
        peer, number = server.legacy(), unique_number()
        peer.call("box_create_session", {"session_id": "a", "persistent": True})
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {
            "command": "sh", "args": ["-c", f"trap '' TERM; sleep {number}; sleep {number}"]}})
        self.eventually(lambda: self.sleepers(number))
        ending = peer.post("box_shutdown")
        for action, data in (("box_exec", {"session_id": "b", "cmd": "true"}), ("box_create_session", {"session_id": "b"})):
            self.fails("BoxRuntimeUnavailableError: Box runtime is shutting down", peer.call, action, data)
        self.assertTrue(self.sleepers(number))
        self.assertEqual(peer.answer(ending)["data"], {})
        self.assertEqual((self.sleepers(number), self.sandboxes(), peer.call("box_get_sessions")["sessions"]), ([], [], []))
        self.assertEqual(peer.exec("b", "echo on")["stdout"], "on")  # the server keeps serving


class Readiness(BoxTest):
    modes = ("user",)

    def broken(self):
        """Returns a server that can make no sandbox, and a function that repairs it."""
        place = os.path.join(self.home, "sandboxes")
        self.server().stop()  # the server creates the state directory
        shutil.rmtree(place)
        with open(place, "w", encoding="utf-8"):
            pass
        return self.server(), lambda: os.unlink(place)

    def test_a_backend_that_fails_is_not_tried_for_every_question(self):
        """/readyz needs no token. So a client that asks often must not make the server start a sandbox each time."""
        server, repair = self.broken()
        began = time.monotonic()
        for _ in range(40):
            status, body = http_get(server.port, "/readyz")
            self.assertEqual((status, json.loads(body)["checks"]), (503, {"backend_available": False}))
        self.assertIn("sandboxes", json.loads(body)["error"])
        self.assertLessEqual(server.err.data.count(b"no sandbox can be made"), 2 + (time.monotonic() - began) // 5)
        repair()
        self.eventually(lambda: http_get(server.port, "/readyz")[0] == 200, 20, lambda: server.err.data)
        self.assertEqual(server.legacy().exec("a", "echo here")["stdout"], "here")

    def test_an_init_tries_again_at_once(self):
        server, repair = self.broken()
        peer = server.legacy()
        self.assertEqual(peer.call("box_get_backend_info"), {"name": None, "available": False})
        repair()
        peer.call("box_init", {"backend": ""})
        self.assertEqual(peer.call("box_get_backend_info"), {"name": "nsjail", "available": True})


class Excerpts(BoxTest):
    modes = ("user",)

    def test_few_lines_of_a_process_reach_the_log(self):
        """The log gets at most four lines in a second, and at most 512 bytes of each line."""
        server = self.server()
        peer = server.legacy()
        peer.call("box_create_session", {"session_id": "a"})
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {"process_id": "p", "command": "sh", "args": [
            "-c", "while read -r line; do printf '%01000d\\033[31m\\n' 7 >&2; echo \"$line\"; done"]}})
        relay, began = server.relay("a", "p"), time.monotonic()
        for i in range(100):  # when an answer comes, the server has read what the process wrote before the answer
            relay.send_text(str(i))
            self.assertEqual(relay.read_message(), str(i))
        self.eventually(lambda: peer.call("box_get_managed_process", {"session_id": "a", "process_id": "p"})[
            "stderr_preview"].endswith("7\033[31m"))
        said = re.findall(rb"info cordon-box: process 'p' says: (.*)\n", server.err.data)
        self.assertGreaterEqual(len(said), 1)
        self.assertLessEqual(len(said), 4 * (2 + int(time.monotonic() - began)))
        self.assertEqual(set(said), {b"0" * 512})


class Quiet(BoxTest):
    modes = ("root",)  # under strace newuidmap has no privilege

    def test_no_program_of_ours_connects_to_anything(self):
        """No program of ours asks for a newer version of cordon, or fetches something for sandboxes of the host
        image."""
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        trace = os.path.join(self.dir, "trace")
        proc = self.spawn("-f", "-qq", "-o", trace, "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-e", "signal=none",
                          PROGRAM, "--ws-control-port", "0", "-s", program="strace", stdin=subprocess.PIPE)
        peer = Peer(StdioTransport(proc))
        peer.call("box_init", {"backend": "", "limits": {}})
        self.assertEqual(peer.call("box_get_backend_info"), {"name": "nsjail", "available": True})
        self.assertEqual(peer.exec("a", "echo here", network="on")["stdout"], "here")
        peer.call("box_create_skill", {"skill": {"name": "s", "instructions": "x"}})
        peer.call("box_shutdown", within=60)
        peer.close()
        self.assertEqual(proc.wait(60), 0, proc.stderr.read())
        with open(trace, encoding="utf-8", errors="replace") as f:
            calls = f.read()
        # this shows that strace saw connections: our programs connect to our own unix sockets
        self.assertIn("connect(", calls)
        self.assertEqual(re.findall(r".*sa_family=AF_INET.*", calls), [])


class Command(BoxTest):
    modes = ("user",)

    def test_cordon_box_serve_is_the_same_program(self):
        proc = self.spawn("box", "serve", "--ws-control-port", "0", "-s", stdin=subprocess.PIPE)
        peer = Peer(StdioTransport(proc))
        self.assertEqual(peer.exec("a", "echo here")["stdout"], "here")
        peer.close()
        self.assertEqual(proc.wait(SECONDS), 0)
