"""Tests the logs of sessions. With `box.cordon.log_output`, `cordon logs` shows what execs and managed processes
print."""

import base64
import json
import os
import signal

from harness import all_processes, unique_number
from test_box import INSTANCE, BoxTest, placement
from test_box_init import Transports
from test_service_endpoint import EndpointTest
from test_service_ways import InProcess, OverPipes, OverWebSocket

LOGGED = {"cordon": {"log_output": True}}
LOST = "[output lost: the log was slower than the command]"
# a log has four files of at most 10 MiB, and the last record of a file may exceed this limit by 1 MiB
LOG_FILES_MAX_BYTES = 4 * ((10 << 20) + (1 << 20))


class LogTest:
    def records(self, name, *options):
        got = self.cordon("logs", name, "--json", *options)
        self.assertEqual((got.code, got.err), (0, b""), got)
        return [json.loads(line) for line in got.text.splitlines()]

    def printed(self, name, source=None, *options):
        """Returns the bytes in the log of the sandbox, of one source or of all sources."""
        return b"".join(base64.b64decode(r["d"]) if r["e"] == "b64" else r["d"].encode()
                        for r in self.records(name, *options) if source in (None, r["s"]))

    def ends(self, name, data):
        self.eventually(lambda: self.printed(name, None, "--tail", "2").endswith(data), 30)

    def prints(self, name, run):
        """Calls RUN, which prints "after", again and again until the log has this word. One call may not be enough: the
        server drops output until the log has caught up."""
        self.eventually(lambda: run() and self.printed(name, None, "--tail", "2").endswith(b"after\n"), 30)

    def log_bytes(self, name):
        logs = os.path.join(self.home, "sandboxes", name, "logs")
        return sum(os.stat(os.path.join(logs, f)).st_size for f in os.listdir(logs))

    def logs(self, name, source, data):
        """Waits until the log has exactly these bytes. The supervisor may write them after the server has
        answered."""
        self.eventually(lambda: self.printed(name, source) == data, 20, lambda: self.printed(name, source)[-200:])


class Logs(LogTest, Transports):
    def sandbox(self, peer, session="a", **spec):
        return peer.call("box_create_session", {"session_id": session, **spec})["backend_session_id"]

    def relay(self, process, session="a"):
        return self.running.relay(f"{placement('w-blue', 1)}-{session}", process,
                                  [f"X-LangBot-Instance-Id: {INSTANCE}", "X-LangBot-Workspace-Id: w-blue",
                                   "X-LangBot-Placement-Generation: 1"])

    def start(self, peer, process, script, session="a"):
        peer.call("box_start_managed_process", {"session_id": session, "spec": {
            "process_id": process, "command": "sh", "args": ["-c", script]}})

    def supervisor(self, name):
        found = {p.pid: p for p in all_processes().values() if p.comm.startswith("cordon-superv") and name in p.cmdline}
        found = [pid for pid, p in found.items() if p.ppid not in found]  # leave out the supervisor's own tasks
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_without_the_setting_nothing_is_logged(self):
        for config in (None, {"cordon": {"log_output": False}}):
            with self.subTest(config=config):
                peer = self.open(config)
                name = self.sandbox(peer)
                self.assertEqual(peer.exec("a", "echo out; echo err >&2")["stdout"], "out")
                self.start(peer, "p", "echo err >&2; exec cat")
                relay = self.relay("p")
                relay.send_text("line")
                self.assertEqual(relay.read_message(), "line")
                # The output of this detached command goes into the same log. When the log has this output, no earlier
                # output can follow.
                self.assertEqual(self.cordon("exec", "-d", name, "--", "echo", "detached").code, 0)
                self.logs(name, None, b"detached\n")
                self.running.stop()

    def test_output_of_execs(self):
        peer = self.open(LOGGED)
        name = self.sandbox(peer)
        got = peer.exec("a", "echo one; echo two >&2; exit 3")
        self.assertEqual((got["stdout"], got["stderr"], got["exit_code"]), ("one", "two", 3))
        peer.exec("a", "printf 'a ü'; printf ' b' >&2")
        self.logs(name, "stdout", "one\na ü".encode())
        self.logs(name, "stderr", b"two\n b")
        ids = {r["s"] + str(r["id"]) for r in self.records(name)}
        self.assertEqual(ids, {"stdout1", "stderr1", "stdout2", "stderr2"})
        self.assertEqual([r["d"] for r in self.records(name, "--id", "2") if r["s"] == "stderr"], [" b"])
        peer.call("box_delete_session", {"session_id": "a"})
        self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])

    def test_output_of_processes(self):
        peer = self.open(LOGGED)
        name = self.sandbox(peer)
        self.start(peer, "p", "echo ready >&2; exec cat")
        self.logs(name, "stderr", b"ready\n")  # the server reads standard error even if there is no relay
        relay = self.relay("p")
        for text in ("first", "second ü"):
            relay.send_text(text)
            self.assertEqual(relay.read_message(), text)
        self.logs(name, "stdout", "first\nsecond ü\n".encode())
        peer.call("box_stop_managed_process", {"session_id": "a", "process_id": "p"})
        peer.exec("a", "echo last")
        self.logs(name, "stdout", "first\nsecond ü\nlast\n".encode())
        self.assertEqual([r["id"] for r in self.records(name, "--source", "stderr")], [1])
        self.assertEqual([r["id"] for r in self.records(name) if r["d"] == "last\n"], [2])

    def test_each_log_has_the_output_of_its_own_session(self):
        peer = self.open(LOGGED)
        names = {s: self.sandbox(peer, s) for s in "abc"}
        asked = [peer.post("box_exec", {"session_id": s, "cmd": f"for i in 1 2 3; do echo {s}$i; sleep 0.05; done"})
                 for s in names]
        for number in asked:
            self.assertEqual(peer.answer(number)["code"], 0)
        for s, name in names.items():
            self.logs(name, "stdout", f"{s}1\n{s}2\n{s}3\n".encode())

    def test_every_byte_value_is_kept(self):
        peer = self.open(LOGGED)
        name = self.sandbox(peer)
        peer.exec("a", "python3 -c 'import os; os.write(1, bytes(range(256))); os.write(2, bytes(range(255, -1, -1)))'")
        self.logs(name, "stdout", bytes(range(256)))
        self.logs(name, "stderr", bytes(range(255, -1, -1)))

    def test_alternating_lines_of_both_outputs(self):
        peer = self.open(LOGGED)
        name = self.sandbox(peer)
        got = peer.exec("a", "for i in $(seq 500); do echo o$i; echo e$i >&2; done")
        self.assertEqual(got["exit_code"], 0)
        self.logs(name, "stdout", "".join(f"o{i}\n" for i in range(1, 501)).encode())
        self.logs(name, "stderr", "".join(f"e{i}\n" for i in range(1, 501)).encode())

    def test_output_beyond_the_answer_is_logged(self):
        """The answer has the first MiB of each output. The server sends all output to the supervisor,
        which writes the log. If the supervisor is slow, the server buffers a MiB, and the socket some more, so the
        output of this test always reaches the log."""
        peer = self.open(LOGGED)
        name = self.sandbox(peer)
        got = peer.exec("a", "head -c 1060000 /dev/zero | tr '\\0' x; echo end")
        self.assertIn("bytes discarded]", got["stdout"])
        self.ends(name, b"end\n")
        self.assertEqual(self.printed(name), b"x" * 1060000 + b"end\n")

    def test_a_flood_blocks_nothing_and_the_log_stays_small(self):
        peer = self.open(LOGGED)
        name = self.sandbox(peer)
        flood = peer.post("box_exec", {"session_id": "a", "cmd": "head -c 300000000 /dev/zero; echo over >&2",
                                       "timeout_sec": 120})
        other = self.sandbox(peer, "b")
        for i in range(5):
            self.assertEqual(peer.exec("b", f"echo {i}")["stdout"], str(i))
        got = peer.answer(flood, 120)["data"]
        self.assertEqual((got["exit_code"], got["stderr"]), (0, "over"))
        self.logs(other, "stdout", b"0\n1\n2\n3\n4\n")
        self.prints(name, lambda: peer.exec("a", "echo after"))
        self.assertLess(self.log_bytes(name), LOG_FILES_MAX_BYTES)

    def test_a_stopped_supervisor_stops_no_command(self):
        """The server must never wait for the log. If output is lost, the log gets a marker. When the supervisor goes
        on, the process for which it had to raise the memory limit must still run."""
        peer = self.open(LOGGED)
        name = self.sandbox(peer)
        supervisor = self.supervisor(name)
        os.kill(supervisor, signal.SIGSTOP)
        try:
            got = peer.exec("a", "head -c 3000000 /dev/zero; echo done >&2")
            self.assertEqual((got["exit_code"], got["stderr"]), (0, "done"))
            # for this process the server asks the supervisor to raise the memory limit
            self.start(peer, "p", "exec cat")
            relay = self.relay("p")
            relay.send_text("here")
            self.assertEqual(relay.read_message(), "here")
        finally:
            os.kill(supervisor, signal.SIGCONT)
        self.prints(name, lambda: peer.exec("a", "echo after"))
        logged = self.printed(name)
        self.assertIn(LOST.encode(), logged)
        self.assertLess(len(logged), 3000000)
        self.assertEqual(peer.call("box_get_managed_process", {"session_id": "a", "process_id": "p"})["status"], "running")

    def test_the_setting_holds_for_sessions_that_are_made_afterwards(self):
        peer = self.open()
        before = self.sandbox(peer, "before")
        peer.call("box_init", LOGGED)
        after = self.sandbox(peer, "after")
        for session in ("before", "after"):
            peer.exec(session, f"echo {session}")
        self.logs(after, None, b"after\n")
        peer.call("box_init", {"cordon": {}})
        peer.exec("before", "echo more")
        peer.exec("after", "echo more")
        self.logs(after, None, b"after\nmore\n")
        self.assertEqual(self.printed(before), b"")

    def test_what_a_command_printed_before_its_end_by_time(self):
        peer = self.open(LOGGED)
        name = self.sandbox(peer)
        number = unique_number()
        asked = peer.post("box_exec", {"session_id": "a", "cmd": f"echo begun; sleep {number}", "timeout_sec": 60})
        self.logs(name, "stdout", b"begun\n")  # the output is in the log while the command still runs
        peer.close()
        self.eventually(lambda: not self.sleepers(number))
        self.assertIsNotNone(asked)


class LogsOverWebSocket(Logs, BoxTest):
    pass


class LogsOverPipes(Logs, BoxTest):
    stdio = True

    # this test closes the peer, and a server on pipes ends without its only peer
    test_what_a_command_printed_before_its_end_by_time = None


# --- the service -----------------------------------------------------------------------------------


class ServiceLogs(LogTest):
    """On each way to a runtime, the caller's configuration decides whether output is logged."""

    def name(self, options, session):
        return next(s["backend_session_id"] for s in self.call("service", "sessions", *options)
                    if s["session_id"] == session)

    def test_the_log_of_a_session(self):
        options = self.runtime(cordon={"log_output": True})
        self.assertEqual(self.tool("echo out; echo err >&2", *options, "--session", "s")["stdout"], "out")
        name = self.name(options, "s")
        self.logs(name, "stdout", b"out\n")
        self.logs(name, "stderr", b"err\n")
        self.tool("python3 -c 'import os; os.write(1, bytes(range(256)))'", *options, "--session", "s")
        self.logs(name, "stdout", b"out\n" + bytes(range(256)))
        self.assertEqual([r["id"] for r in self.records(name)][0], 1)

    def test_no_log_without_the_setting(self):
        options = self.runtime()
        self.tool("echo out; echo err >&2", *options, "--session", "s")
        name = self.name(options, "s")
        self.assertEqual(self.cordon("exec", "-d", name, "--", "echo", "detached").code, 0)
        self.logs(name, None, b"detached\n")

    def test_a_flood(self):
        options = self.runtime(cordon={"log_output": True})
        got = self.tool("head -c 100000000 /dev/zero; echo over >&2", *options, "--session", "s")
        self.assertEqual((got["exit_code"], got["stderr"]), (0, "over"))
        name = self.name(options, "s")
        self.prints(name, lambda: self.tool("echo after", *options, "--session", "s"))
        self.assertIn(LOST.encode(), self.printed(name, None, "--grep", "output lost"))
        self.assertLess(self.log_bytes(name), LOG_FILES_MAX_BYTES)


class ServiceLogsInProcess(InProcess, ServiceLogs, EndpointTest):
    def test_later_calls_write_into_the_same_log(self):
        """A session keeps the setting `log_output` with which it was made."""
        options = self.runtime(cordon={"log_output": True})
        for i in range(3):
            self.tool(f"echo {i}", *options, "--session", "s")
        options = self.runtime()
        self.tool("echo 3", *options, "--session", "s")
        self.tool("echo 4", *options, "--session", "t")
        options = self.runtime(cordon={"log_output": True})
        self.tool("echo 5", *options, "--session", "t")
        name = self.name(options, "s")
        self.assertEqual(self.printed(name), b"0\n1\n2\n3\n")
        self.assertEqual([r["id"] for r in self.records(name)], [1, 2, 3, 4])
        self.assertEqual(self.printed(self.name(options, "t")), b"")


class ServiceLogsOverWebSocket(OverWebSocket, ServiceLogs, EndpointTest):
    pass


class ServiceLogsOverPipes(OverPipes, LogTest, EndpointTest):
    def test_the_log_while_the_command_runs(self):
        """The server ends when the call ends, and the session ends with its server. So the test reads the log before
        the call ends."""
        number = unique_number()
        call = self.spawn("tool", *self.runtime(cordon={"log_output": True}), "exec",
                          json.dumps({"command": f"echo begun; sleep {number}"}))
        self.eventually(lambda: self.sleepers(number), 20)
        # the server also had a sandbox of its own for a moment, to see whether the backend works
        found = self.eventually(lambda: [n for n in self.names() if n.startswith("box-")
                                         and b"begun" in self.cordon("logs", n).out], 20)
        self.logs(found[0], "stdout", b"begun\n")
        call.terminate()
        call.communicate()
