"""Tests the promises of the service on each way to a runtime: in process, over a WebSocket to cordon-box, and over
pipes to cordon-box as a child. A child ends with its call, so promises about several calls are tested on the
other two ways. The file also tests what killed callers leave, and the images and the network of the runtime in
process."""

import contextlib
import ctypes
import json
import os
import random
import shlex
import shutil
import signal
import threading

from boxpeer import Peer, WebSocketTransport
from harness import CORDON, below, kill_quietly, unique_number
from image_fixtures import ImageMixin
from netlab import PRIVATE, PUBLIC
from test_box import PROGRAM, Server
from test_network import CONNECT, NetworkTest
from test_service_endpoint import EndpointTest

RENAME_EXCHANGE = 2
HAS_PYTHON = "test -e /usr/bin/python3 && echo yes || echo no"


# ---------------------------------------------------------------------------------------------
# the ways


class InProcess:
    modes = ("root", "user")

    def tearDown(self):
        self.cordon("service", "cleanup")
        super().tearDown()

    def runtime(self, service=None, system=None, **box):
        return self.write(None, service, system, **box)

    def lists(self):
        """Returns the sessions as the runtime itself knows them: the sandboxes in the home."""
        return sorted(name for name in self.names() if name.startswith("box-"))

    def listed(self, sessions):
        return sorted(s["backend_session_id"] for s in sessions)


class OverWebSocket:
    modes = ("root", "user")

    def setUp(self):
        super().setUp()
        self.box = Server(self)

    def runtime(self, service=None, system=None, **box):
        return self.write({"endpoint": f"ws://127.0.0.1:{self.box.port}"}, service, system, **box)

    def lists(self):
        peer = Peer(WebSocketTransport(self.box.port))
        self.addCleanup(peer.close)
        return peer.call("box_get_sessions")["sessions"]

    def listed(self, sessions):
        return sessions


class OverPipes:
    modes = ("root", "user")

    def runtime(self, service=None, system=None, **box):
        return self.write({"command": [PROGRAM, "--stdio-control", "--host", "127.0.0.1", "--ws-control-port", "0"]},
                          service, system, **box)


# ---------------------------------------------------------------------------------------------
# promises about one call


class OneCall(EndpointTest):
    timeout = 120

    def spec(self, options, code=0, **fields):
        return self.call("service", "exec", *options, json.dumps({"session_id": "s", "cmd": "true", **fields}), code=code)

    def test_output_up_to_the_limit_is_unchanged(self):
        got = self.tool("printf %0100d 0; printf %099d 0 >&2", *self.runtime(), "--output-limit", "100")
        self.assertEqual((got["stdout"], got["stdout_truncated"]), ("0" * 100, False))
        self.assertEqual((got["stderr"], got["stderr_truncated"]), ("0" * 99, False))

    def test_longer_output_keeps_head_and_tail_within_the_limit(self):
        got = self.tool("printf start; printf %0200d 0; printf end; echo all >&2", *self.runtime(),
                        "--output-limit", "100")
        self.assertEqual(len(got["stdout"]), 100)
        self.assertRegex(got["stdout"], r"^start0+\n\n\.\.\. \[\d+ characters truncated\] \.\.\.\n\n0+end$")
        self.assertEqual((got["stdout_truncated"], got["stderr"], got["stderr_truncated"]), (True, "all", False))

    def test_only_the_long_stream_is_cut(self):
        got = self.tool("echo all; printf %0500d 0 >&2", *self.runtime(service={"output_limit_chars": 200}))
        self.assertEqual((got["stdout"], got["stdout_truncated"], len(got["stderr"]), got["stderr_truncated"]),
                         ("all", False, 200, True))

    def test_a_host_path_below_a_root_is_mounted(self):
        root, link = self.directory("root"), os.path.join(self.dir, "link")
        os.symlink(root, link)
        self.directory("root", "in")
        options = self.runtime(local={"allowed_mount_roots": [link]})
        got = self.spec(options, cmd="echo here > file", host_path=os.path.join(link, "in", "..", "in"))
        self.assertTrue(got["ok"], got)
        with open(os.path.join(root, "in", "file"), encoding="utf-8") as handle:
            self.assertEqual(handle.read(), "here\n")

    def test_a_host_path_outside_of_the_roots_is_refused(self):
        root, outside = self.directory("root"), self.directory("outside")
        self.directory("rootx")
        os.symlink(outside, os.path.join(root, "out"))
        options = self.runtime(local={"allowed_mount_roots": [root]})
        for path in (outside, os.path.join(root, "out"), os.path.join(root, "..", "outside"), root + "x", "/"):
            with self.subTest(path):
                got = self.spec(options, 1, cmd="touch file", host_path=path)
                self.assertEqual((got["error_type"], got["error"]),
                                 ("BoxValidationError", f"host_path is outside allowed_mount_roots: {root}"))
        self.assertEqual(os.listdir(outside), [])

    def test_extra_mounts_outside_of_the_roots_are_refused(self):
        root, outside = self.directory("root"), self.directory("outside")
        options = self.runtime(local={"allowed_mount_roots": [root]})
        got = self.spec(options, 1, cmd="touch /x/file",
                        extra_mounts=[{"host_path": outside, "mount_path": "/x", "mode": "rw"}])
        self.assertEqual(got["error_type"], "BoxValidationError", got)
        self.assertEqual(os.listdir(outside), [])

    def test_a_full_workspace_starts_nothing(self):
        root, work = self.directory("root"), self.directory("root", "default")
        with open(os.path.join(work, "big"), "wb") as handle:
            handle.truncate(2 << 20)
        got = self.tool("touch ran", *self.runtime(local={"host_root": root, "workspace_quota_mb": 1}), code=1)
        self.assertEqual(got["error_type"], "BoxValidationError")
        self.assertIn("workspace quota exceeded before execution: used=2097152 bytes limit=1048576 bytes entries=1 ",
                      got["error"])
        self.assertEqual(os.listdir(work), ["big"])
        self.assertEqual([e["type"] for e in self.call("service", "errors")], ["BoxValidationError"])

    def test_a_command_that_fills_the_workspace_fails(self):
        root = self.directory("root")
        options = self.runtime(local={"host_root": root, "workspace_quota_mb": 1})
        got = self.tool("head -c 2000000 /dev/zero > big", *options, code=1)
        self.assertIn("workspace quota exceeded after execution: used=2000000 bytes", got["error"])
        self.assertEqual(self.call("service", "sessions", *options), [])
        self.assertEqual(len(self.call("service", "errors")), 1)

    def test_a_backend_that_is_not_there(self):
        options = self.runtime(backend="docker")
        got = self.status(*options)
        self.assertEqual((got["available"], got["backend"]["name"], got["backend"]["available"]), (False, None, False))
        self.assertTrue(got["connector_error"].startswith('Configured sandbox backend "docker" is unavailable'), got)
        got = self.call("tool", *options, "--query", '{"query_id": 50}', "exec", '{"command": "true"}', code=1)
        self.assertEqual(got["error_type"], "BoxBackendUnavailableError")
        self.assertEqual([(e["type"], e["query_id"]) for e in self.call("service", "errors")],
                         [("BoxBackendUnavailableError", "50")])

    def test_bad_specs_start_nothing(self):
        options = self.runtime()
        for fields in ({"cpus": 0}, {"memory_mb": 10}, {"pids_limit": 0}, {"workspace_quota_mb": -1}, {"cmd": " "},
                       {"network": "maybe"}, {"workdir": "relative"}, {"env": {"A=B": "c"}}, {"cmd": "x" * ((1 << 20) + 1)}):
            with self.subTest(str(fields)[:60]):
                got = self.call("service", "exec", *options, "-", code=1,
                                stdin=json.dumps({"session_id": "s", "cmd": "true", **fields}).encode())
                self.assertEqual(got["error_type"], "BoxValidationError", got)
        self.assertEqual(self.call("service", "sessions", *options), [])

    def test_a_time_limit_is_clamped_when_it_is_used(self):
        options = self.runtime(local={"profile": "offline_readonly"})
        got = self.call("service", "resolve", *options, json.dumps({"command": "x", "timeout_sec": "999"}))
        self.assertEqual(got["timeout_sec"], 60)
        got = self.tool("true", *options, timeout_sec=999.0)
        self.assertTrue(got["ok"], got)

    def test_the_default_workspace_is_made_and_mounted(self):
        root = self.directory("root")
        got = self.tool("echo here > file", *self.runtime(local={"host_root": root}))
        self.assertTrue(got["ok"], got)
        self.assertTrue(os.path.exists(os.path.join(root, "default", "file")))


class OneCallInProcess(InProcess, OneCall):
    pass


class OneCallOverWebSocket(OverWebSocket, OneCall):
    pass


class OneCallOverPipes(OverPipes, OneCall):
    pass


# ---------------------------------------------------------------------------------------------
# promises about several calls


class Sessions(EndpointTest):
    timeout = 120

    def spec(self, options, code=0, **fields):
        return self.call("service", "exec", *options, json.dumps({"session_id": "s", "cmd": "true", **fields}), code=code)

    def test_one_id_is_one_sandbox(self):
        options = self.runtime()
        self.tool("echo kept > /tmp/x", *options, "--session", "one")
        self.assertEqual(self.tool("cat /tmp/x", *options, "--session", "one")["stdout"], "kept")
        self.assertFalse(self.tool("cat /tmp/x", *options, "--session", "two")["ok"])
        sessions = self.call("service", "sessions", *options)
        self.assertEqual({s["session_id"] for s in sessions}, {"one", "two"})
        self.assertEqual(self.listed(sessions), self.lists())

    def test_another_directory_or_limit_is_a_conflict(self):
        root, first = self.directory("root"), self.directory("root", "first")
        options = self.runtime(local={"allowed_mount_roots": [root]})
        self.spec(options, host_path=first)
        got = self.spec(options, 1, host_path=self.directory("root", "second"))
        self.assertEqual((got["error_type"], got["error"]),
                         ("BoxSessionConflictError", f"Box session s already exists with host_path={first}"))
        got = self.spec(options, 1, host_path=first, cpus=0.5)
        self.assertEqual((got["error_type"], got["error"]),
                         ("BoxSessionConflictError", "Box session s already exists with cpus=1.0"))
        self.assertTrue(self.spec(options, host_path=first)["ok"])

    def test_a_forced_template_gives_all_queries_one_sandbox(self):
        options = self.runtime(system={"limitation": {"force_box_session_id_template": "{global}"}})
        pipeline = {"ai": {"local-agent": {"box-session-id-template": "mine"}}}
        for query, more in (({"launcher_type": "person", "launcher_id": "a"}, {}),
                            ({"launcher_id": "b", "pipeline_config": pipeline}, {"session_id": "mine"})):
            got = self.call("tool", *options, "--query", json.dumps(query), "exec",
                            json.dumps({"command": "echo x >> /tmp/x; cat /tmp/x", **more}))
            self.assertEqual(got["session_id"], "global")
        self.assertEqual(got["stdout"], "x\nx")
        self.assertEqual([s["session_id"] for s in self.call("service", "sessions", *options)], ["global"])
        self.assertEqual(self.call("tool", *options, "--session", "mine", "exec", '{"command": "true"}',
                                   code=1)["error_type"], "BoxValidationError")

    def test_a_new_skill_comes_into_a_session(self):
        root = self.directory("root")
        options = self.runtime(local={"host_root": root})
        self.tool("touch /tmp/old", *options)
        package = self.directory("root", "skills", "csv")
        with open(os.path.join(package, "SKILL.md"), "w", encoding="utf-8") as handle:
            handle.write("---\nname: csv\ndescription: d\n---\ntext\n")
        got = self.tool("ls /tmp; tail -n 1 .skills/csv/SKILL.md", *options)
        self.assertEqual((got["ok"], got["stdout"]), (True, "text"), got)  # "old" is missing, because the sandbox is new
        self.tool("touch /tmp/new", *options)
        self.assertEqual(self.tool("ls /tmp", *options)["stdout"], "new")
        self.assertEqual(len(self.call("service", "sessions", *options)), 1)

    def test_cleanup_ends_one_session_or_all(self):
        options = self.runtime()
        for name in ("a", "b", "c"):
            self.tool("true", *options, "--session", name)
        self.assertEqual(self.call("service", "cleanup", *options, "--session", "a"), {"ended": 1})
        got = self.call("service", "cleanup", *options, "--session", "a", code=1)
        self.assertEqual((got["error_type"], got["error"]), ("BoxSessionNotFoundError", "session a not found"))
        self.assertEqual(self.call("service", "cleanup", *options), {"ended": 2})
        self.assertEqual((self.call("service", "sessions", *options), self.lists()), ([], []))

    def test_a_sandbox_that_dies_fails_one_call(self):
        root, number = self.directory("root"), unique_number()
        options = self.runtime(local={"host_root": root})
        call = self.spawn("tool", *options, "exec", json.dumps({"command": f"echo x >> runs; sleep {number}"}))
        self.eventually(lambda: self.sleepers(number), within=20)
        for p in below([os.getpid()]):
            if p.is_pid1 and p.comm == "cordon-guest":
                kill_quietly(p.pid)
        got = self.finish(call)
        self.assertEqual((got.code, got.json()["error_type"]), (1, "BoxError"), got)
        with open(os.path.join(root, "default", "runs"), encoding="utf-8") as handle:
            self.assertEqual(handle.read(), "x\n")
        # until the supervisor has noticed the end of pid 1, another call may find the old sandbox
        self.eventually(lambda: self.call("service", "sessions", *options) == [])
        self.assertTrue(self.tool("true", *options)["ok"])

    def test_a_command_that_is_too_slow_ends_its_session(self):
        options = self.runtime()
        got = self.tool("sleep 60", *options, timeout_sec=1)
        self.assertEqual((got["status"], got["exit_code"], got["stderr"]),
                         ("timed_out", None, "Command timed out after 1 seconds."))
        self.assertEqual(self.call("service", "sessions", *options), [])
        self.assertTrue(self.tool("true", *options)["ok"])

    def test_commands_of_a_session_run_one_at_a_time(self):
        options = self.runtime()
        self.tool("true", *options)
        line = "set -C; > /tmp/busy && sleep 0.1 && rm /tmp/busy"  # fails if another command runs at the same time
        calls = [self.spawn("tool", *options, "exec", json.dumps({"command": line})) for _ in range(5)]
        self.assertEqual([self.finish(c).json()["exit_code"] for c in calls], [0] * 5)

    def test_a_swapped_directory_never_leads_out_of_the_roots(self):
        root, outside = self.directory("root"), self.directory("outside")
        inside, other = self.directory("root", "dir"), os.path.join(root, "link")
        os.symlink(outside, other)
        options = self.runtime(local={"allowed_mount_roots": [root]})
        libc, stop = ctypes.CDLL(None), threading.Event()

        def swap():
            while not stop.is_set():
                for _ in range(200):
                    libc.renameat2(-100, inside.encode(), -100, other.encode(), RENAME_EXCHANGE)

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            seen = set()
            for i in range(25):
                got = self.cordon("service", "exec", *options,
                                  json.dumps({"session_id": str(i), "cmd": "touch file", "host_path": inside}))
                seen.add(got.code)
                self.assertIn(got.code, (0, 1), got)
                self.cordon("service", "cleanup", *options, "--session", str(i))
        finally:
            stop.set()
            thread.join()
        self.assertEqual(os.listdir(outside), [])
        self.assertIn(1, seen)  # at least one call met the link and was refused


class SessionsInProcess(InProcess, Sessions):
    def test_an_idle_session_ends(self):
        got = self.call("tool", "exec", '{"command": "true"}', env={"CORDON_BOX_TTL_SEC": "1"})
        self.assertTrue(got["ok"])
        self.eventually(lambda: not self.left_running(), within=20)
        self.assertEqual(self.lists(), [])

    def test_a_sandbox_that_only_has_the_name_of_a_session_stays(self):
        root = self.directory("root")
        options = self.runtime(local={"host_root": root, "workspace_quota_mb": 1})
        self.tool("true", *options, "--session", "a")
        (name,) = self.lists()
        self.call("service", "cleanup", *options, "--session", "a")
        other = json.dumps({"session_id": "other", "cmd": ""})
        for label in ("mine=1", f"cordon.box.spec={other}", "cordon.box.spec=garbage"):
            with self.subTest(label):
                self.cordon("create", "--name", name, "--label", label, "host")
                got = self.call("service", "cleanup", *options, "--session", "a", code=1)
                self.assertEqual((got["error_type"], got["error"]), ("BoxSessionNotFoundError", "session a not found"))
                write = {"path": "big", "content": "x" * 1200000}
                got = self.call("tool", *options, "--session", "a", "write", "-", stdin=json.dumps(write).encode(), code=1)
                self.assertIn("workspace quota exceeded after", got["error"])
                os.unlink(os.path.join(root, "default", "big"))
                self.assertEqual(self.cordon("exec", name, "--", "echo", "here").text, "here\n")
                self.cordon("remove", "--force", name)

    def test_the_idle_time_of_a_session(self):
        self.tool("true", "--session", "a")
        self.spec((), session_id="b", persistent=True)
        times = {}
        for s in self.call("service", "sessions"):
            shown = self.cordon("inspect", s["backend_session_id"]).text
            times[s["session_id"]] = [line.split()[-1] for line in shown.splitlines() if "Idle timeout" in line]
        self.assertEqual(times, {"a": ["300s"], "b": []})


class TakenNames(InProcess, EndpointTest):
    """A session ends, and another sandbox gets its name, while `cleanup` works."""

    modes = ("root",)  # an ordinary user needs newuidmap, which gets no privilege under strace

    def test_the_new_sandbox_stays(self):
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        options, log = self.runtime(), os.path.join(self.dir, "trace")
        self.tool("true", *options, "--session", "a")
        (name,) = self.lists()
        # the call stops when it has looked at the sandbox, before it connects to the supervisor
        call = self.spawn("-f", "-qq", "-o", log, "-e", "trace=socket", "-e", "inject=socket:signal=SIGSTOP:when=1",
                          CORDON, "service", "cleanup", *options, "--session", "a", program="strace")
        self.eventually(lambda: "stopped by SIGSTOP" in self.text(log), 20)
        self.cordon("remove", "--force", name)
        self.cordon("create", "--name", name, "host")
        running = self.guests()
        os.kill(int(self.text(log).split()[0]), signal.SIGCONT)
        got = self.finish(call)
        self.assertEqual((got.code, got.json()), (0, {"ended": 1}), self.text(log))
        self.assertEqual((len(running), self.guests()), (1, running))
        self.cordon("remove", "--force", name)

    def guests(self):
        return [p.pid for p in below([os.getpid()]) if p.comm == "cordon-guest" and p.is_pid1]

    def text(self, path):
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as handle:
            return handle.read()


class SessionsOverWebSocket(OverWebSocket, Sessions):
    pass


# ---------------------------------------------------------------------------------------------
# callers that are killed


class KilledCallers(EndpointTest):
    """A caller that is killed at any instant leaves at most one sandbox. The sandbox ends when its idle time is
    over."""

    modes = ("root", "user")
    timeout = 180
    ROUNDS = 15

    def kill_calls(self, options, number, instants):
        for instant in instants:
            call = self.spawn("tool", *options, "exec", json.dumps({"command": f"echo x >> runs; sleep {number}"}),
                              env={"CORDON_BOX_TTL_SEC": "1"})
            threading.Event().wait(instant)
            call.kill()
            call.communicate()
            self.eventually(lambda: not self.sleepers(number), within=20)  # the command dies with its caller

    def test_in_process(self):
        root, number = self.directory("root"), unique_number()
        options = self.write(local={"host_root": root})
        self.kill_calls(options, number, [random.uniform(0, 0.5) for _ in range(self.ROUNDS)])
        runs = os.path.join(root, "default", "runs")
        if os.path.exists(runs):
            with open(runs, encoding="utf-8") as handle:
                self.assertLessEqual(len(handle.readlines()), self.ROUNDS)
        # the session still works, or is made again
        got = self.call("tool", *options, "exec", '{"command": "echo on"}', env={"CORDON_BOX_TTL_SEC": "1"})
        self.assertEqual(got["stdout"], "on")
        self.eventually(lambda: self.cordon("list") and not self.left_running(), within=30)
        self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])

    def test_with_a_child(self):
        root, number = self.directory("root"), unique_number()
        options = self.write({"command": [PROGRAM, "--stdio-control", "--host", "127.0.0.1", "--ws-control-port", "0"]},
                             local={"host_root": root})
        self.kill_calls(options, number, [random.uniform(0, 1.5) for _ in range(self.ROUNDS)])
        self.eventually(lambda: self.cordon("list") and not self.left_running(), within=30)
        self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])

    def test_of_a_shared_server(self):
        box, root, number = Server(self), self.directory("root"), unique_number()
        options = self.write({"endpoint": f"ws://127.0.0.1:{box.port}"}, local={"host_root": root})
        self.kill_calls(options, number, [random.uniform(0, 0.5) for _ in range(self.ROUNDS)])
        self.assertEqual(self.tool("echo on", *options)["stdout"], "on")


class KilledSearches(EndpointTest):
    """A caller that is killed while it searches a big tree leaves no process and no file."""

    modes = ("root", "user")
    timeout = 180
    ROUNDS = 8
    FILES = 12000
    EXPRESSION = {"grep": {"pattern": "no such text"}, "glob": {"pattern": "*.none"}}

    def plant(self):
        """Makes the tree. Returns its directory."""
        work = self.directory("root", "default")
        os.chmod(work, 0o777)
        for i in range(100):
            os.mkdir(os.path.join(work, str(i)))
        for i in range(self.FILES):
            with open(os.path.join(work, str(i % 100), f"file{i}"), "wb") as handle:
                handle.write(b"a line of a file\n" * 100)
        return work

    def names(self, top):
        return sorted(os.path.join(at, name) for at, _, files in os.walk(top) for name in files)

    def kill_searches(self, tool, options, is_busy):
        """Kills each call at a random instant, or earlier if IS_BUSY sees it at work. IS_BUSY may be None."""
        work, hits = os.path.join(os.path.realpath(self.dir), "root", "default"), 0
        before, home = self.names(work), sorted(os.listdir(self.home))
        for _ in range(self.ROUNDS):
            call = self.spawn("tool", *options, tool, json.dumps(self.EXPRESSION[tool]), env={"CORDON_BOX_TTL_SEC": "1"})
            end = threading.Event()
            threading.Timer(random.uniform(0, 0.2 if is_busy else 0.05), end.set).start()
            while not end.wait(0.002 if is_busy else None) and not is_busy(call):
                pass
            hits += not is_busy or call.poll() is None
            call.kill()
            call.communicate()
            self.eventually(lambda: not [p for p in below([os.getpid()]) if p.state != "Z" and
                                         p.comm in ("cordon-search", "find", "base64", "cordon-tool")], within=20)
        self.assertGreater(hits, 0)
        self.assertEqual(self.names(work), before)
        return home

    def search_runs(self, call):
        """Returns the processes cordon-search of CALL. Stops them with SIGSTOP, so that they cannot end by themselves
        when CALL is killed."""
        found = [p for p in below([call.pid]) if p.comm == "cordon-search"]
        for p in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(p.pid, signal.SIGSTOP)
        return found

    def find_runs(self, call):
        return any(p.comm == "find" for p in below([os.getpid()]))

    def test_on_files_of_this_machine(self):
        self.plant()
        options = self.write(local={"host_root": self.directory("root")})
        self.cordon("list")  # makes the home
        for tool, is_busy in (("grep", self.search_runs), ("glob", None)):
            with self.subTest(tool):
                home = self.kill_searches(tool, options, is_busy)
                self.assertEqual(self.left_running(), [])
                self.assertEqual(sorted(os.listdir(self.home)), home)

    def test_on_files_of_the_sandbox(self):
        self.plant()
        options = self.write(local={"host_root": self.directory("root")}, service={"shares_filesystem": False})
        self.call("tool", *options, "exec", '{"command": "true"}', env={"CORDON_BOX_TTL_SEC": "1"})
        for tool in ("grep", "glob"):
            with self.subTest(tool):
                self.kill_searches(tool, options, self.find_runs)
        self.eventually(lambda: self.cordon("list") and not self.left_running(), within=30)
        self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])


# ---------------------------------------------------------------------------------------------
# the backend `cordon` in process


class Images(ImageMixin, InProcess, EndpointTest):
    def spec(self, options, code=0, **fields):
        return self.call("service", "exec", *options, json.dumps({"session_id": "s", "cmd": "true", **fields}), code=code)

    def test_any_image(self):
        image, options = self.load_busybox(), self.runtime(backend="cordon")
        got = self.spec(options, cmd="cat /etc/passwd; echo kept > f", image=image)
        self.assertEqual((got["backend"], got["exit_code"]), ("cordon", 0), got)
        self.assertIn("ann:x:1000:1000::/:/bin/sh", got["stdout"])
        self.assertEqual(self.spec(options, cmd="cat f", image=image)["stdout"], "kept")
        sessions = self.call("service", "sessions", *options)
        self.assertEqual([(s["image"], s["backend_name"]) for s in sessions], [(image, "cordon")])
        got = self.spec(options, 1)
        self.assertEqual(got["error"], f"Box session s already exists with image={image}")
        got = self.spec(self.runtime(), 1, image=image)
        self.assertEqual(got["error"], "Box session s already exists with backend=cordon")
        self.assertEqual(got["error_type"], "BoxSessionConflictError")

    def test_the_image_of_the_configuration(self):
        image = self.load_busybox()
        self.assertEqual(self.tool(HAS_PYTHON, *self.runtime(backend="cordon"), "--session", "a")["stdout"], "yes")
        got = self.tool(HAS_PYTHON, *self.runtime(backend="cordon", cordon={"image": image}), "--session", "b")
        self.assertEqual(got["stdout"], "no")
        got = self.tool(HAS_PYTHON, *self.runtime(backend="cordon", local={"image": image}), "--session", "c")
        self.assertEqual(got["stdout"], "no")

    def test_nsjail_only_keeps_the_name_of_an_image(self):
        got = self.spec(self.runtime(backend="nsjail"), cmd=HAS_PYTHON, image="no/such:image")
        self.assertEqual((got["stdout"], got["backend"]), ("yes", "nsjail"))

    def test_unavailable_images_are_refused(self):
        options = self.runtime(backend="cordon")
        for image in ("127.0.0.1:1/none:1", "No Image", "./rootfs", "/etc"):
            with self.subTest(image):
                got = self.spec(options, 1, image=image)
                self.assertIn(got["error_type"], ("BoxError", "BoxValidationError"), got)
        self.assertEqual((self.call("service", "sessions", *options), self.names()), ([], []))

    def test_the_status_names_the_backend(self):
        got = self.status(*self.runtime(backend="cordon"))
        self.assertEqual((got["available"], got["backend"]), (True, {"name": "cordon", "available": True}))
        got = self.status(*self.runtime(backend="cordon", cordon={"image": "127.0.0.1:1/none:1"}))
        self.assertEqual((got["available"], got["backend"]["name"]), (False, "cordon"))
        self.assertTrue(got["connector_error"].startswith('Configured sandbox backend "cordon" is unavailable: '), got)

    def test_bad_settings_are_refused(self):
        got = self.call("service", "status", *self.runtime(cordon={"engine": "steam"}), code=1)
        self.assertEqual((got["error_type"], got["error"]),
                         ("ValueError", "box.cordon.engine must be auto, process or vm"))
        got = self.spec(self.runtime(cordon={"net": ["no such profile"]}), 1, network="on")
        self.assertIn("box.cordon.net: ", got["error"])


class Network(NetworkTest):
    """The caller runs in a network namespace of the test, which stands for the host."""

    def reaches(self, address, net):
        path = os.path.join(self.dir, "config.json")
        with open(path, "w", encoding="utf-8") as handle:
            json.dump({"box": {"cordon": net}}, handle)
        line = shlex.join(["python3", "-c", CONNECT, address, "80"])
        got = self.cordon("service", "exec", "--config", path,
                          json.dumps({"session_id": str(net), "cmd": line, "network": "on"}))
        self.assertEqual(got.code, 0, got)
        return json.loads(got.text)["stdout"]

    def test_the_policy_of_the_configuration(self):
        self.server(PUBLIC, 80)
        self.server(PRIVATE, 80)
        self.addCleanup(lambda: self.cordon("service", "cleanup"))
        self.assertEqual((self.reaches(PUBLIC, {}), self.reaches(PRIVATE, {})), ("got hello", "ConnectionRefusedError"))
        private = {"net": ["private"]}
        self.assertEqual((self.reaches(PUBLIC, private), self.reaches(PRIVATE, private)),
                         ("ConnectionRefusedError", "got hello"))


# these classes only hold the tests for their subclasses, which choose a way, so they must not run as tests
del OneCall, Sessions
