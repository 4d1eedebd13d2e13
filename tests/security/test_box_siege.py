"""Attacks on cordon-box. The attackers are peers on the wire, other users of the machine, and payloads. In the class
Hijacked, an attacker has taken over the process of cordon-box that reads what peers send, and attacks its parent."""

import ctypes
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios

import attack  # noqa: F401  (sets the path)
from boxpeer import SECONDS, BoxFault, http_get
from harness import Reader, all_processes
from test_box import INSTANCE, PROGRAM, TOKEN, BoxTest

# Connects from the address in argv[2] and prints the status of the answer.
KNOCK = """
import socket, sys
where, source, port, path = sys.argv[1:5]
s = socket.create_connection((where, int(port)), timeout=20, source_address=(source, 0))
s.sendall(("GET " + path + " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
           "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\\r\\nSec-WebSocket-Version: 13\\r\\n"
           + "".join(h + "\\r\\n" for h in sys.argv[5:]) + "\\r\\n").encode())
print(s.recv(4096).split()[1].decode())
"""


def own_address():
    """Returns an address of this machine that is not on loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found = s.getsockname()[0]
    return None if found.startswith("127.") else found


class Neighbours(BoxTest):
    """Other users of this machine attack the server."""

    modes = ("root",)

    def knock(self, *words, user, where="127.0.0.1"):
        got = subprocess.run([sys.executable, "-c", KNOCK, where, *words], stdout=subprocess.PIPE, user=user, group=user,
                             extra_groups=[], check=False, timeout=60)
        return got.stdout.decode().strip()

    def test_a_connection_from_another_address_of_this_machine(self):
        """Another user binds to the address of the network card and connects to the loopback address."""
        source = own_address()
        if not source:
            self.not_run("this machine has no address but loopback")
        named = f"X-LangBot-Instance-Id: {INSTANCE}"
        for env in ({}, {"LANGBOT_BOX_ALLOW_LEGACY_CLIENTS": "1"}):
            port = str(self.server(env=env).port)
            self.assertEqual(self.knock(source, port, "/rpc/ws", user=65534), "401")
            self.assertEqual(self.knock(source, port, "/rpc/ws", named, user=65534), "401")
            self.assertEqual(self.knock(source, port, "/rpc/ws", named, user=0), "101")

    def test_a_mapped_address(self):
        port = str(self.server("--host", "::").port)
        named = f"X-LangBot-Instance-Id: {INSTANCE}"
        for where, source in (("127.0.0.1", "127.0.0.1"), ("127.0.0.1", own_address() or "127.0.0.1"),
                              ("127.9.9.9", "127.3.3.3"), ("::1", "::1")):
            self.assertEqual(self.knock(source, port, "/rpc/ws", named, user=65534, where=where), "401", where)
        self.assertEqual(self.knock("127.0.0.1", port, "/rpc/ws", named, user=0), "101")


class Wire(BoxTest):
    def young(self, **kwargs):
        """Starts a server and returns when it listens. The server is still testing its backend, so it does not know
        yet whether it is ready."""
        proc = self.spawn("--ws-control-port", "0", program=PROGRAM, stdin=subprocess.DEVNULL, **kwargs)
        err = Reader(proc.stderr)
        return proc, err, int(self.eventually(
            lambda: (re.search(rb"listening on \S+ port (\d+)\n", err.data) or [b"", b""])[1], 20))

    def test_a_second_request_behind_one_that_waits(self):
        """A peer asks for the readiness, and sends more requests while it waits."""
        upgrade = (b"GET /rpc/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        ready = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        for second in (ready, upgrade):
            proc, err, port = self.young()
            peers = []
            for _ in range(20):
                s = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
                self.addCleanup(s.close)
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                s.sendall(ready)
                peers.append(s)
            for s in list(peers):
                http_get(port, "/healthz")  # an answer shows that the server has read the first request of S
                try:
                    for _ in range(3):
                        s.sendall(second)
                        http_get(port, "/healthz")
                except (BrokenPipeError, ConnectionResetError):  # the server has answered the first request already
                    peers.remove(s)
            for s in peers[::2]:
                s.close()
            for s in peers[1::2]:
                data = b""
                while chunk := s.recv(65536):
                    data += chunk
                self.assertEqual(data.count(b"HTTP/1.1 "), 1, data)
                self.assertIn(b"HTTP/1.1 200 ", data)
            self.assertEqual(http_get(port, "/readyz")[0], 200)
            proc.send_signal(signal.SIGTERM)
            self.assertEqual(proc.wait(SECONDS), 0, err.data)

    def test_silent_connections_keep_nobody_out(self):
        server = self.server()
        for _ in range(200):
            self.keep(socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS))
        self.assertEqual(server.legacy().call("__ping"), {})
        self.assertEqual(http_get(server.port, "/readyz")[0], 200)


class Pipes(BoxTest):
    def test_input_that_is_no_pipe_ends_the_server_too(self):
        """epoll cannot watch /dev/null and files. The server must still see the end of its input, and end its
        sandboxes."""
        path = os.path.join(self.dir, "requests")
        lines = [{"seq_id": n, "action": "box_create_session", "data": {"session_id": f"s{n}"}} for n in range(3)]
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(line) + "\n" for line in lines)
        for name in (os.devnull, path):
            for out in (subprocess.PIPE, open(os.path.join(self.dir, "answers"), "wb")):
                with open(name, "rb") as given:
                    proc = self.spawn("--ws-control-port", "0", "-s", program=PROGRAM, stdin=given, stdout=out)
                err = Reader(proc.stderr)
                self.assertEqual(proc.wait(SECONDS), 0, err.data)
                self.assertEqual(self.sandboxes(), [])
                if out is not subprocess.PIPE:
                    out.close()


class Places(BoxTest):
    """A peer names directories of the host for skills."""

    def setUp(self):
        super().setUp()
        # /dev/shm lies in a system directory, /dev, but every user may write there
        self.shm = tempfile.mkdtemp(prefix="box-siege", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.shm)

    def test_the_skills_root_stays_out_of_system_directories(self):
        os.symlink(self.shm, os.path.join(self.dir, "link"))
        peer = self.server().legacy()
        for root in (self.shm, os.path.join(self.shm, "new"), os.path.join(self.dir, "link", "new"), "/dev", "/etc"):
            with self.subTest(root):
                peer.call("box_init", {"local": {"skills_root": root}})
                for action, data in (("box_list_skills", {}), ("box_create_skill", {"skill": {"name": "s"}})):
                    with self.assertRaisesRegex(BoxFault, "the skills root: '.*' is blocked for security"):
                        peer.call(action, data)
        self.assertEqual(os.listdir(self.shm), [])

    def test_no_skill_is_imported_from_a_system_directory(self):
        with open(os.path.join(self.shm, "SKILL.md"), "w", encoding="utf-8") as f:
            f.write("secret")
        os.symlink(self.shm, os.path.join(self.dir, "link"))
        peer = self.server(config={"local": {"host_root": os.path.join(self.dir, "box")}}).legacy()
        for source in (self.shm, os.path.join(self.dir, "link"), "/dev", "/"):
            for action, data in (("box_scan_skill_directory", {"path": source}),
                                 ("box_create_skill", {"skill": {"name": "s", "package_root": source}})):
                with self.subTest(source), self.assertRaisesRegex(BoxFault, "is blocked for security"):
                    peer.call(action, data)
        self.assertEqual(peer.call("box_list_skills"), {"skills": []})

    def test_the_server_keeps_skills_where_it_was_started(self):
        """The server may use its own working directory, even if peers may not name this directory."""
        peer = self.server(preexec_fn=lambda: os.chdir(self.shm)).legacy()
        peer.call("box_create_skill", {"skill": {"name": "s", "instructions": "x"}})
        self.assertEqual(os.listdir(os.path.join(self.shm, "data", "box", "skills")), ["s"])


class Hijacked(BoxTest):
    """An attacker controls the process that reads what peers send. The test plays this attacker: it copies the
    channels of the process and sends requests to the parent over them."""

    modes = ("root",)
    PIDFD_GETFD = 438
    SKILLS_FD = 5  # SERVE_FD_SKILLS

    def channel(self, pid, fd):
        """Returns a copy of the descriptor FD of the process PID, as a socket."""
        of = os.pidfd_open(pid)
        got = ctypes.CDLL(None, use_errno=True).syscall(self.PIDFD_GETFD, of, fd, 0)
        self.assertGreaterEqual(got, 0, os.strerror(ctypes.get_errno()))
        os.close(of)
        return self.keep(socket.socket(fileno=got))

    def unread(self, channel):
        """Returns how many sent bytes the parent has not read."""
        return struct.unpack("i", fcntl.ioctl(channel, termios.TIOCOUTQ, b"\0" * 4))[0]

    def test_workers_do_not_fill_the_machine(self):
        """A hijacked server asks for many workers and reads no answer. Its parent must go on, and at most one
        worker may live."""
        server = self.server()
        reader = server.reader()
        channel = self.channel(reader.pid, self.SKILLS_FD)
        os.kill(reader.pid, signal.SIGSTOP)
        self.addCleanup(lambda: os.path.exists(f"/proc/{reader.pid}") and os.kill(reader.pid, signal.SIGCONT))
        channel.settimeout(SECONDS)
        for _ in range(400):
            channel.send(os.path.join(self.dir, "skills").encode() + b"\0")
        self.eventually(lambda: self.unread(channel) == 0, SECONDS)
        self.eventually(lambda: sum(p.ppid == server.proc.pid and p.comm == "cordon-skills"
                                    for p in all_processes().values()) <= 1, SECONDS)
        os.kill(reader.pid, signal.SIGCONT)
        server.stop()


# Tries to reach the port in argv[1] on each further argument, and prints the addresses that answer.
REACH = """
import socket, sys
for where in sys.argv[2:]:
    try:
        s = socket.create_connection((where, int(sys.argv[1])), timeout=3)
        s.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        if s.recv(100):
            print(where)
    except OSError:
        pass
print("over")
"""


class Payload(BoxTest):
    """Commands in a sandbox attack the server that made the sandbox."""

    def reached(self, server, **headers):
        """Returns a peer of the server, and the addresses by which a command in a sandbox reaches the server."""
        peer = server.current(**headers)
        where = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "host.microsandbox.internal", own_address() or "::"]
        got = peer.exec("a", f"python3 -c {shlex.quote(REACH)} {server.port} {' '.join(where)}", network="on",
                        timeout_sec=60)
        self.assertTrue(got["stdout"].endswith("over"), got)
        return peer, got["stdout"].split()[:-1]

    def test_the_server_is_out_of_reach_and_its_token_is_not_inside(self):
        secret = {"headers": [f"X-LangBot-Box-Control-Token: {TOKEN}"]}
        env = {"LANGBOT_BOX_CONTROL_TOKEN": TOKEN}
        peer, found = self.reached(self.server("--host", "0.0.0.0", env=env), **secret)
        self.assertEqual(found, [])
        got = peer.exec("a", "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; env; echo over",
                        network="on")
        self.assertIn("over", got["stdout"])
        self.assertNotIn(TOKEN, got["stdout"])
        # with a policy that allows the host, the same command reaches the server
        free = self.server("--host", "0.0.0.0", env=env, config={"cordon": {"net": ["all"]}})
        self.assertIn("host.microsandbox.internal", self.reached(free, **secret)[1])

    def test_a_flood_from_behind_a_process_that_has_ended(self):
        """A managed process ends, but its child goes on writing output without a newline."""
        server = self.server()
        peer = server.legacy()
        peer.call("box_create_session", {"session_id": "a"})
        peer.call("box_start_managed_process",
                  {"session_id": "a", "spec": {"command": "sh", "args": ["-c", "cat /dev/zero & sleep 0.2"]}})
        self.eventually(lambda: peer.call("box_get_managed_process", {"session_id": "a"})["status"] == "exited", 60)
        self.assertEqual(peer.exec("b", "echo fine")["stdout"].strip(), "fine")
        peer.call("box_stop_managed_process", {"session_id": "a"})
        peer.call("box_delete_session", {"session_id": "a"})


class Twins(BoxTest):
    def test_two_servers_of_one_home_leave_each_others_sandboxes_alone(self):
        """The second server starts and ends again and again, and sweeps each time. It must not touch the sandboxes of
        the first server."""
        first = self.server()
        peer = first.legacy()
        for n in range(3):
            peer.exec(f"s{n}", f"echo {n} > /workspace/own")
            second = self.server()
            other = second.legacy()
            other.exec(f"s{n}", "echo other > /workspace/own")
            (second.stop if n % 2 else lambda: os.kill(second.proc.pid, signal.SIGKILL))()
            other.close()
            second.proc.wait(SECONDS)
            for k in range(n + 1):
                self.assertEqual(peer.exec(f"s{k}", "cat /workspace/own")["stdout"].strip(), str(k))
