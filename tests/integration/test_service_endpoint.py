"""Tests `cordon service` and `cordon tool`: with a Box server as the runtime, over both transports, and without a
server."""

import json
import os
import signal
import sys

from boxpeer import Peer, WebSocketTransport
from harness import all_processes
from test_box import INSTANCE, PROGRAM, TOKEN, Server
from test_service import RESULT, ServiceTest

STUB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "boxstub.py")


class EndpointTest(ServiceTest):
    """Calls of a service whose runtime is a server."""

    def tearDown(self):
        pass  # nothing to clean up: the sessions end with their server

    def write(self, runtime=None, service=None, system=None, **box):
        """Writes a configuration and returns the options that name it."""
        if runtime is not None:
            box["runtime"] = runtime
        return ("--config", self.config(box=box, service=service or {}, system=system or {}))

    def log(self):
        path = os.path.join(self.dir, "stub.log")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as handle:
            return [json.loads(line) for line in handle if line.endswith("\n")]

    def actions(self):
        return [entry["action"] for entry in self.log() if "action" in entry]

    def stub(self, kind, **rules):
        """Returns the section `runtime` that leads to a stub."""
        words = [sys.executable, STUB, kind, os.path.join(self.dir, "stub.log"), json.dumps(rules)]
        if kind == "pipes":
            return {"command": words}
        proc = self.spawn(*words[1:], program=words[0])
        return {"endpoint": f"ws://127.0.0.1:{int(proc.stdout.readline())}/ignored"}

    def status(self, *options, **kwargs):
        return self.call("service", "status", *options, **kwargs)


class Connecting(EndpointTest):
    modes = ("user",)

    def test_a_call_greets_the_runtime_once(self):
        for kind in ("pipes", "socket"):
            with self.subTest(kind):
                runtime = self.stub(kind)
                got = self.status(*self.write(runtime, backend="cordon", limits={"max_sessions": 3}))
                self.assertTrue(got["available"], got)
                self.assertEqual(self.actions(),
                                 ["__ping", "box_init", "box_status"] + ["box_shutdown"] * (kind == "pipes"))
                sent = [entry["data"] for entry in self.log() if entry.get("action") == "box_init"][0]
                self.assertEqual(sent, {"backend": "cordon", "limits": {"max_sessions": 3}})
                self.assertEqual(len([e for e in self.log() if "handshake" in e or "token" in e]), 1)
                os.unlink(os.path.join(self.dir, "stub.log"))

    def test_the_handshake_carries_token_and_instance(self):
        options = self.write(self.stub("socket"), service={"instance_id": INSTANCE, "workspace_id": "w-1"})
        self.status(*options, env={"LANGBOT_BOX_CONTROL_TOKEN": f" {TOKEN} "})
        log = self.log()
        self.assertEqual(log[0]["handshake"], "GET /rpc/ws HTTP/1.1")
        self.assertEqual((log[0]["headers"]["X-LangBot-Box-Control-Token"],
                          log[0]["headers"]["X-LangBot-Instance-Id"]), (TOKEN, INSTANCE))
        self.assertEqual([e.get("context") for e in log if "action" in e],
                         [None, None, {"instance_uuid": INSTANCE, "workspace_uuid": "w-1", "placement_generation": 1}])

    def test_a_legacy_runtime_gets_no_instance(self):
        self.status(*self.write(self.stub("socket")))
        log = self.log()
        self.assertFalse([h for h in log[0]["headers"] if h.startswith("X-")], log[0])
        self.assertFalse([e for e in log if "context" in e])

    def test_a_child_gets_a_token_of_its_own(self):
        self.status(*self.write(self.stub("pipes")), env={"LANGBOT_BOX_CONTROL_TOKEN": TOKEN})
        first = self.log()[0]
        self.assertRegex(first["token"], "^[0-9a-f]{64}$")
        self.assertEqual(first["instance"], "cordon-service")
        self.assertEqual([e["context"]["instance_uuid"] for e in self.log() if "context" in e], ["cordon-service"])

    def test_bad_addresses_are_named(self):
        for text, why in (("host:5410", "must begin with"), ("ftp://x", "must begin with"), ("wss//x", "must begin with"), ("wss://", "host and port"),
                          ("ws://x:99999", "host and port"), ("ws://", "host and port")):
            with self.subTest(text):
                got = self.status(*self.write({"endpoint": text}))
                self.assertFalse(got["available"])
                self.assertIn(why, got["connector_error"])

    def test_bad_settings_are_refused(self):
        for runtime, service in (({"transport": "pigeon"}, {}), ({"endpoint": "ws://x", "command": ["y"]}, {}),
                                 ({"command": [5]}, {}), ({}, {"instance_id": "a b"}),
                                 ({}, {"connect_timeout_sec": 0})):
            with self.subTest((runtime, service)):
                got = self.call("service", "status", *self.write(runtime, service), code=1)
                self.assertEqual(got["error_type"], "BoxValidationError", got)


class SharedFiles(EndpointTest):
    modes = ("user",)

    def shared(self, runtime, service=None, *options, env=None):
        got = self.status(*self.write(runtime, service), *options, env=env)
        return got["transport"], got["shares_filesystem"]

    def test_the_transport_decides(self):
        self.assertEqual(self.shared(None), ("local", True))
        self.assertEqual(self.shared(self.stub("pipes")), ("stdio", True))
        self.assertEqual(self.shared({"endpoint": "ws://127.0.0.1:1"}), ("websocket", False))

    def test_the_rule_of_langbot(self):
        child, outside = {"transport": "langbot", **self.stub("pipes")}, {"DOCKER_ENV": "false"}
        self.assertEqual(self.shared(child, env=outside), ("stdio", True))
        self.assertEqual(self.shared({**child, "endpoint": "ws://127.0.0.1:1"}, env=outside), ("websocket", False))
        self.assertEqual(self.shared(child, None, "--standalone-box", env=outside), ("websocket", False))
        self.assertEqual(self.shared(child, {"connect_timeout_sec": 1}, env={"DOCKER_ENV": "true"}),
                         ("websocket", False))

    def test_the_configuration_overrides_both_ways(self):
        self.assertEqual(self.shared(None, {"shares_filesystem": False}), ("local", False))
        self.assertEqual(self.shared({"endpoint": "ws://127.0.0.1:1"}, {"shares_filesystem": True}),
                         ("websocket", True))


class Status(EndpointTest):
    modes = ("user",)
    KEYS = {"available", "enabled", "profile", "recent_error_count", "transport", "shares_filesystem", "host_root",
            "default_workspace", "allowed_mount_roots", "forced_session_template", "box_scope_editable"}

    def test_a_healthy_runtime(self):
        root = self.directory("root")
        link = os.path.join(self.dir, "link")
        os.symlink(root, link)
        got = self.status(*self.write(self.stub("socket"), local={"host_root": link, "profile": "network_basic"}))
        self.assertLessEqual(self.KEYS, set(got))
        self.assertNotIn("connector_error", got)
        self.assertEqual((got["available"], got["enabled"], got["profile"], got["backend"]["name"],
                          got["active_sessions"], got["box_scope_editable"]),
                         (True, True, "network_basic", "stub", 1, True))
        self.assertEqual((got["host_root"], got["default_workspace"], got["allowed_mount_roots"]),
                         (root, root + "/default", [root]))

    def test_a_forced_template_is_shown(self):
        path = self.config(system={"limitation": {"force_box_session_id_template": "{global}"}})
        got = self.status("--config", path)
        self.assertEqual((got["forced_session_template"], got["box_scope_editable"]), ("{global}", False))

    def test_a_disabled_service_connects_to_nothing(self):
        runtime = self.stub("socket")
        options = self.write(runtime, enabled=False)
        got = self.status(*options)
        self.assertEqual((got["available"], got["enabled"]), (False, False))
        self.assertIn("disabled", got["connector_error"])
        self.assertEqual(self.call("service", "sessions", *options), [])
        self.assertIn("disabled", self.tool("true", *options, code=1)["error"])
        self.assertEqual(self.log(), [])

    def test_a_runtime_cannot_replace_our_members(self):
        status = {"backend": {"name": "stub", "available": False}, "available": True, "available\0": True,
                  "profile\0x": "mine"}
        got = self.cordon("service", "status", *self.write(self.stub("socket", box_status=status)), "--format", "json")
        self.assertEqual(sorted(json.loads(got.text, object_pairs_hook=lambda pairs: [key for key, _ in pairs])),
                         sorted(set(json.loads(got.text))))
        self.assertEqual((json.loads(got.text)["available"], json.loads(got.text)["profile"]), (False, "default"))

    def test_a_warning_does_not_command_the_terminal(self):
        runtime = self.stub("socket", box_list_skills={"fault": "ValueError: \x1b[2J \u009b2J \x7f"})
        got = self.cordon("tool", *self.write(runtime), "exec", json.dumps({"command": "true"}))
        self.assertIn("no skills are mounted: ", got.err.decode())
        self.assertFalse(set("\x1b\x7f\u009b") & set(got.err.decode()), got)

    def test_a_failing_runtime_keeps_its_text(self):
        got = self.status(*self.write(self.stub("socket", box_init={"fault": "ValueError: box.limits is odd"})))
        self.assertEqual((got["available"], got["connector_error"]), (False, "ValueError: box.limits is odd"))
        got = self.status(*self.write({"endpoint": "ws://127.0.0.1:1"}))
        self.assertIn("127.0.0.1:1 cannot be reached", got["connector_error"])

    def test_a_failing_status_keeps_its_text(self):
        got = self.status(*self.write(self.stub("socket", box_status={"fault": "PermissionError: no"})))
        self.assertEqual((got["available"], got["connector_error"]), (False, "PermissionError: no"))
        self.assertNotIn("backend", got)

    def test_a_dead_backend_is_told_apart(self):
        runtime = self.stub("socket", box_status={"backend": {"name": "docker", "available": False}})
        got = self.status(*self.write(runtime, backend="docker"))
        self.assertEqual((got["available"], got["backend"]), (False, {"name": "docker", "available": False}))
        self.assertEqual(got["connector_error"], 'Configured sandbox backend "docker" is unavailable')
        got = self.status(*self.write(runtime))
        self.assertEqual(got["connector_error"],
                         "No supported sandbox backend (Docker / nsjail / E2B) is available")

    def test_a_backend_that_is_not_ours_is_dead_in_process(self):
        options = self.write(backend="docker")
        got = self.status(*options)
        self.assertEqual((got["available"], got["backend"]), (False, {"name": None, "available": False}))
        self.assertIn('"docker"', got["connector_error"])
        got = self.call("tool", *options, "--query", '{"query_id": 50}', "exec", '{"command": "true"}', code=1)
        self.assertEqual(got["error_type"], "BoxBackendUnavailableError")
        errors = self.call("service", "errors")
        self.assertEqual([(e["type"], e["query_id"]) for e in errors], [("BoxBackendUnavailableError", "50")])
        self.assertTrue(errors[0]["timestamp"])
        self.assertEqual(self.status()["recent_error_count"], 1)

    def test_people_get_tables(self):
        options = self.write(self.stub("socket"))
        got = self.cordon("service", "status", *options).text
        self.assertRegex(got, r"(?m)^available +true$")
        self.assertRegex(self.cordon("service", "sessions", *options).text, r"(?m)^SESSION +BACKEND.*\none +stub ")
        self.assertRegex(self.cordon("service", "errors").text, r"^TIME +TYPE +QUERY +MESSAGE\n$")
        self.assertEqual(self.cordon("service", "status", *options, "--format", "xml").code, 1)


class ErrorList(EndpointTest):
    modes = ("user",)

    def test_secrets_are_hidden_in_the_list(self):
        key = "sk-" + "a1b2c3d4e5" * 3
        text = f"ValueError: OPENAI_API_KEY={key} and ws://me:hunter2@host"
        got = self.tool("x", *self.write(self.stub("socket", box_exec={"fault": text})), code=1)
        self.assertIn(key, got["error"])  # not hidden here: such a key comes from the caller's own command
        path = os.path.join(self.home, "service-errors.jsonl")
        with open(path, encoding="utf-8") as handle:
            kept = handle.read()
        self.assertNotIn(key, kept)
        self.assertNotIn("hunter2", kept)
        self.assertEqual(self.call("service", "errors")[0]["message"],
                         f"ValueError: OPENAI_API_KEY={key[:6]}...{key[-4:]} and ws://me:***@host")
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)

    def test_long_messages_stay_within_the_bounds_of_the_file(self):
        options = self.write(self.stub("socket", box_exec={"fault": "\u0001" * 20000}))
        for _ in range(52):
            self.tool("x", *options, code=1)
        self.assertEqual(len(self.call("service", "errors")), 50)
        self.assertLess(os.path.getsize(os.path.join(self.home, "service-errors.jsonl")), 4 << 20)


class InProcess(EndpointTest):
    modes = ("root", "user")

    def test_available_means_that_a_sandbox_was_made(self):
        got = self.status()
        self.assertEqual((got["available"], got["backend"], got["active_sessions"]),
                         (True, {"name": "nsjail", "available": True}, 0), got)
        self.assertEqual(self.call("service", "sessions"), [])

    def test_a_machine_without_sandboxes_says_why(self):
        got = self.status(env={"CORDON_HOME": "/proc/nowhere"}, home="/proc/nowhere")
        self.assertFalse(got["available"])
        self.assertTrue(got["connector_error"], got)


class Workspaces(EndpointTest):
    modes = ("user",)

    def test_the_default_workspace_is_made_with_every_transport(self):
        for runtime in (None, self.stub("pipes"), self.stub("socket")):
            root = self.directory("root-" + str(bool(runtime)) + str("endpoint" in (runtime or {})))
            self.resolve({"command": "x"}, *self.write(runtime, local={"host_root": root}))
            self.assertTrue(os.path.isdir(os.path.join(root, "default")))

    def test_a_workspace_that_cannot_be_made_makes_the_runtime_unavailable(self):
        root, outside = self.directory("root"), os.path.join(os.path.realpath(self.dir), "outside")
        plain = os.path.join(root, "file")
        open(plain, "w").close()
        for local, text in (
                ({"default_workspace": outside}, "cannot be created because no allowed_mount_roots are configured"),
                ({"default_workspace": outside, "allowed_mount_roots": [root]},
                 f"is outside allowed_mount_roots: {root}"),
                ({"default_workspace": plain, "allowed_mount_roots": [root]},
                 "must point to a directory on the host")):
            with self.subTest(text):
                options = self.write(local=local)
                got = self.status(*options)
                self.assertEqual((got["available"], got["connector_error"]),
                                 (False, "box.local.default_workspace " + text))
                got = self.tool("true", *options, code=1)
                self.assertEqual(got["error_type"], "BoxError")
                self.assertTrue(got["error"].startswith(
                    "Box runtime is not available. Install and start Docker to use sandbox features."), got)
                self.assertEqual(self.call("service", "errors"), [])
                self.assertFalse(os.path.exists(outside))


class Skills(EndpointTest):
    modes = ("user",)

    def mounts(self, options, query=None, **kwargs):
        got = self.resolve({"command": "x"}, *options, "--query", json.dumps(query or {}), **kwargs)
        return [(m["host_path"], m["mount_path"], m["mode"]) for m in got["extra_mounts"]]

    def test_skills_of_a_separated_runtime_are_trusted(self):
        listed = {"skills": [{"name": "a", "package_root": "/nowhere/a"}, {"name": "b", "package_root": "  "},
                             {"name": "c"}, {"name": "../d", "package_root": "/nowhere/d"}, 5]}
        options = self.write(self.stub("socket", box_list_skills=listed))
        self.assertEqual(self.mounts(options), [("/nowhere/a", "/workspace/.skills/a", "rw")])
        self.assertEqual(self.mounts(options, {"variables": {"_pipeline_bound_skills": ["b"]}}), [])
        self.assertEqual(len(self.mounts(options, {"variables": {"_pipeline_bound_skills": "b"}})), 1)

    def test_missing_skills_of_a_shared_runtime_are_dropped(self):
        here = self.directory("a")
        listed = {"skills": [{"name": "a", "package_root": here}, {"name": "gone", "package_root": here + "/gone"}]}
        options = self.write(self.stub("pipes", box_list_skills=listed))
        got = self.cordon("service", "resolve", *options, '{"command": "x"}')
        self.assertEqual([m["host_path"] for m in json.loads(got.text)["extra_mounts"]], [here])
        self.assertRegex(got.err.decode(), "gone.*package_root missing")

    def test_a_server_cannot_lead_file_tools_to_other_files(self):
        root, other = self.directory("root"), self.directory("other")
        listed = {"skills": [{"name": "x", "package_root": other}]}
        call = json.dumps({"path": "/workspace/.skills/x/file", "content": "y"})
        for shares in (True, False):
            with self.subTest(shares=shares):
                options = self.write(self.stub("socket", box_list_skills=listed),
                                     service={"shares_filesystem": shares}, local={"host_root": root})
                got = self.call("tool", *options, "write", call, code=1)
                self.assertEqual(got["error"], 'Skill "x" must be activated before its files can be changed.')
                self.cordon("tool", *options, "--query", '{"variables": {"_activated_skills": {"x": {}}}}', "write",
                            call)
                self.assertEqual(os.listdir(other), [])
        self.call("tool", *options, "read", '{"path": "x"}', code=1)
        self.assertIn("box_exec", self.actions())  # the file is looked for in the sandbox

    def test_no_skills(self):
        self.assertEqual(self.mounts(self.write(self.stub("socket"))), [])
        self.assertEqual(self.mounts(self.write(self.stub("socket", box_list_skills={"fault": "no"}))), [])
        self.assertEqual(self.mounts(self.write()), [])

    def test_skills_in_process(self):
        root = self.directory("root")
        package = self.directory("root", "skills", "csv")
        with open(os.path.join(package, "SKILL.md"), "w", encoding="utf-8") as handle:
            handle.write("---\nname: csv\ndescription: d\n---\ntext\n")
        options = self.write(local={"host_root": root})
        self.assertEqual(self.mounts(options), [(package, "/workspace/.skills/csv", "rw")])
        got = self.tool("tail -n 1 /workspace/.skills/csv/SKILL.md", *options)
        self.assertEqual(got["stdout"], "text", got)
        self.cordon("service", "cleanup")


class Engine:
    """Calls on the real engine, through cordon-box. A subclass chooses the transport."""

    def test_a_command_runs(self):
        root = self.directory("root")
        got = self.tool("pwd; echo here > file; echo problem >&2; exit 3",
                        *self.runtime(local={"host_root": root}))
        self.assertEqual(set(got), RESULT)
        self.assertEqual((got["ok"], got["exit_code"], got["stdout"], got["stderr"], got["backend"]),
                         (False, 3, "/workspace", "problem", "nsjail"))
        with open(os.path.join(root, "default", "file"), encoding="utf-8") as handle:
            self.assertEqual(handle.read(), "here\n")

    def test_a_command_that_is_too_slow(self):
        got = self.tool("sleep 60", *self.runtime(), timeout_sec=1)
        self.assertEqual((got["status"], got["ok"], got["exit_code"]), ("timed_out", False, None))

    def test_the_status_is_that_of_the_server(self):
        got = self.status(*self.runtime())
        self.assertEqual((got["available"], got["backend"]), (True, {"name": "nsjail", "available": True}))
        self.assertIn("limits", got)
        self.assertNotIn("connector_error", got)

    def test_long_texts_pass_both_ways(self):
        got = self.tool(f"printf %s {'x' * 100000} | wc -c", *self.runtime())
        self.assertEqual(got["stdout"], "100000")
        got = self.tool("yes é | head -n 50000", *self.runtime(), "--output-limit", "300000")
        self.assertEqual(got["stdout"], "\n".join(["é"] * 50000))

    def test_a_session_that_is_missing(self):
        got = self.call("service", "cleanup", *self.runtime(), "--session", "none", code=1)
        self.assertEqual(got["error_type"], "BoxSessionNotFoundError")

    def test_bad_specs_have_their_class(self):
        got = self.call("service", "exec", *self.runtime(),
                        json.dumps({"session_id": "s", "cmd": "true", "skill_name": "../x"}), code=1)
        self.assertEqual(got["error_type"], "BoxValidationError", got)


class OverWebSocket(Engine, EndpointTest):
    modes = ("root", "user")

    def setUp(self):
        super().setUp()
        self.box = Server(self)

    def runtime(self, **box):
        return self.write({"endpoint": f"http://127.0.0.1:{self.box.port}"}, **box)

    def test_sessions_are_those_of_the_runtime(self):
        options = self.runtime()
        for name in ("a", "b"):
            self.tool("true", *options, "--session", name)
        theirs = Peer(WebSocketTransport(self.box.port))
        self.addCleanup(theirs.close)
        ours = self.call("service", "sessions", *options)
        self.assertEqual(ours, theirs.call("box_get_sessions")["sessions"])
        self.assertEqual({s["session_id"] for s in ours}, {"a", "b"})
        self.assertEqual(self.call("service", "cleanup", *options, "--session", "a"), {"ended": 1})
        self.assertEqual(self.call("service", "cleanup", *options), {"ended": 1})
        self.assertEqual(self.call("service", "sessions", *options), [])

    def test_calls_of_one_session_share_a_sandbox(self):
        options = self.runtime()
        self.tool("echo kept > /tmp/x", *options)
        self.assertEqual(self.tool("cat /tmp/x", *options)["stdout"], "kept")

    def test_a_conflict_has_its_class(self):
        options, spec = self.runtime(), {"session_id": "s", "cmd": "true"}
        self.call("service", "exec", *options, json.dumps(spec))
        got = self.call("service", "exec", *options, json.dumps({**spec, "cpus": 2}), code=1)
        self.assertEqual((got["error_type"], got["error"]),
                         ("BoxSessionConflictError", "Box session s already exists with cpus=1.0"))

    def test_the_quota_ends_the_session(self):
        root = self.directory("root")
        options = self.runtime(local={"host_root": root, "workspace_quota_mb": 1})
        got = self.tool("head -c 2000000 /dev/zero > big", *options, code=1)
        self.assertIn("workspace quota exceeded after execution", got["error"])
        self.assertEqual(self.call("service", "sessions", *options), [])

    def test_a_runtime_that_wants_a_token(self):
        self.box.stop()
        self.box = Server(self, "--host", "127.0.0.1", env={"LANGBOT_BOX_CONTROL_TOKEN": TOKEN})
        options = ("--config", self.config(box={"runtime": {"endpoint": f"ws://127.0.0.1:{self.box.port}"}},
                                           service={"instance_id": INSTANCE}))
        got = self.status(*options)
        self.assertIn("refuses us (401)", got["connector_error"])
        env = {"LANGBOT_BOX_CONTROL_TOKEN": TOKEN}
        self.assertTrue(self.status(*options, env=env)["available"])
        got = self.call("tool", *options, "exec", '{"command": "echo hi"}', env=env)
        self.assertEqual(got["stdout"], "hi")
        self.assertEqual(len(self.call("service", "sessions", *options, env=env)), 1)

    def test_a_runtime_that_dies_under_a_command_fails_the_call(self):
        options = self.runtime()
        call = self.spawn("tool", *options, "exec", '{"command": "echo started >&2; sleep 600"}')
        peer = Peer(WebSocketTransport(self.box.port))
        self.addCleanup(peer.close)
        self.eventually(lambda: peer.call("box_get_sessions")["sessions"])
        self.box.stop()
        got = self.finish(call)
        self.assertEqual(got.code, 1)
        self.assertEqual(json.loads(got.out)["error_type"], "BoxError")

    def test_the_end_of_a_call_spares_the_sessions_of_a_shared_server(self):
        options = self.runtime()
        call = self.spawn("tool", *options, "exec", '{"command": "sleep 600"}')
        peer = Peer(WebSocketTransport(self.box.port))
        self.addCleanup(peer.close)
        self.eventually(lambda: peer.call("box_get_sessions")["sessions"])
        call.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(call).code, 128 + signal.SIGTERM)
        self.assertEqual(len(peer.call("box_get_sessions")["sessions"]), 1)


class OverPipes(Engine, EndpointTest):
    modes = ("root", "user")

    def runtime(self, **box):
        return self.write({"command": [PROGRAM, "--stdio-control", "--host", "127.0.0.1", "--ws-control-port", "0"]}, **box)

    def test_our_own_server_is_the_default_child(self):
        got = self.call("tool", *self.write({"transport": "langbot"}), "exec", '{"command": "echo hi"}',
                        env={"DOCKER_ENV": "false"})
        self.assertEqual(got["stdout"], "hi")

    def test_a_killed_caller_leaves_nothing(self):
        call = self.spawn("tool", *self.runtime(), "exec", '{"command": "sleep 600"}')
        path = os.path.join(self.home, "sandboxes")
        self.eventually(lambda: os.path.isdir(path) and os.listdir(path))
        call.kill()
        call.communicate()
        self.eventually(lambda: not [p for p in all_processes().values() if p.comm == "cordon-box"
                                     and self.dir in p.cmdline] and not os.listdir(path))


class Ending(EndpointTest):
    modes = ("user",)

    def interrupt(self, runtime):
        call = self.spawn("tool", *self.write(runtime), "exec", '{"command": "x"}')
        self.eventually(lambda: "box_exec" in self.actions())
        for _ in range(2):
            call.send_signal(signal.SIGTERM)
        got = self.finish(call)
        self.assertEqual(got.code, 128 + signal.SIGTERM)
        self.assertEqual(json.loads(got.out)["error_type"], "BoxError")

    def test_sigterm_shuts_a_child_down_once(self):
        self.interrupt(self.stub("pipes", box_exec="silence"))
        self.assertEqual(self.actions().count("box_shutdown"), 1)
        self.assertEqual(self.log()[-1], {"end": True})
        self.assertFalse(os.path.exists(f"/proc/{self.log()[0]['pid']}"))

    def test_sigterm_sends_no_shutdown_to_a_shared_server(self):
        self.interrupt(self.stub("socket", box_exec="silence"))
        self.eventually(lambda: self.log()[-1] == {"end": True})
        self.assertEqual(self.actions(), ["__ping", "box_init", "box_list_skills", "box_exec"])

    def test_a_killed_caller_takes_a_stubborn_child_with_it(self):
        call = self.spawn("tool", *self.write(self.stub("pipes", box_exec="silence", eof="silence")), "exec",
                          '{"command": "x"}')
        self.eventually(lambda: "box_exec" in self.actions())
        call.kill()
        call.communicate()

        def is_gone():
            self.reap()  # the test inherits the stub, whose parent was killed
            return self.log()[0]["pid"] not in all_processes()
        self.eventually(is_gone)

    def test_a_child_that_does_not_end_is_killed(self):
        self.assertTrue(self.tool("x", *self.write(self.stub("pipes", eof="silence", SIGTERM="silence")))["ok"])
        self.assertIn({"signal": "SIGTERM"}, self.log())
        self.assertFalse(os.path.exists(f"/proc/{self.log()[0]['pid']}"))


class Misbehaving(EndpointTest):
    """Whatever the server does wrong, the failed call must have an `error_type`, and a command must be sent at most
    once."""
    modes = ("user",)
    timeout = 120
    SERVICE = {"connect_timeout_sec": 1, "exec_timeout_sec": 1}

    def check(self, kind, service=None, recorded=None, **rules):
        if os.path.exists(os.path.join(self.dir, "stub.log")):
            os.unlink(os.path.join(self.dir, "stub.log"))
        options = self.write(self.stub(kind, **rules), service=service or self.SERVICE)
        before = len(self.call("service", "errors"))
        with self.subTest(kind=kind, **rules):
            got = self.tool("x", *options, code=1)
            self.assertEqual((got["ok"], got["error_type"]), (False, "BoxError"), got)
            self.assertLessEqual(self.actions().count("box_exec"), 1)
            kept = len(self.call("service", "errors")) - before
            self.assertEqual(kept, 1 if "box_exec" in rules or recorded else 0)
        return got["error"]

    def test_a_bad_handshake(self):
        self.check("socket", accept="close")
        for how in ("close", "silence", "garbage", "endless", "401", "forged"):
            self.check("socket", handshake=how)

    def test_a_server_that_closes(self):
        for kind in ("pipes", "socket"):
            for step in ("__ping", "box_init", "box_exec"):
                self.assertIn("Disconnected", self.check(kind, **{step: "close"}))
        self.check("socket", box_exec="half")

    def test_a_server_that_stops_to_answer(self):
        for kind in ("pipes", "socket"):
            for step in ("__ping", "box_init", "box_exec"):
                self.assertIn("in time", self.check(kind, **{step: "silence"}))

    def test_a_server_that_answers_garbage(self):
        for kind in ("pipes", "socket"):
            for step in ("__ping", "box_init", "box_exec"):
                self.check(kind, **{step: "garbage"})
            for how in ("other", "shapeless", "no object"):
                self.check(kind, box_exec=how)
        for how in ("binary", "bad frame"):
            self.check("socket", box_exec=how)

    def test_a_server_that_answers_no_pings(self):
        got = self.check("socket", {"ping_interval_sec": 1}, ping="silence", box_exec="silence")
        self.assertIn("pings", got)

    def test_a_server_that_answers_pings_is_waited_for(self):
        got = self.check("socket", {"ping_interval_sec": 1, "exec_timeout_sec": 4}, box_exec="silence")
        self.assertIn("in time", got)

    def test_a_second_answer_is_ignored(self):
        for kind in ("pipes", "socket"):
            rules = {step: "twice" for step in ("__ping", "box_init", "box_list_skills", "box_exec")}
            got = self.tool("x", *self.write(self.stub(kind, **rules)))
            self.assertEqual(got["stdout"], "from the stub")

    def test_a_server_that_sends_too_much(self):
        self.assertIn("breaks the rules", self.check("pipes", box_exec="huge"))
        for how in ("huge", "parts"):
            self.assertIn("breaks the rules", self.check("socket", box_exec=how))

    def test_a_server_that_answers_byte_by_byte(self):
        for kind in ("pipes", "socket"):
            self.assertIn("in time", self.check(kind, box_exec="trickle"))

    def test_answers_to_other_numbers_are_ignored(self):
        for kind in ("pipes", "socket"):
            got = self.tool("x", *self.write(self.stub(kind, box_exec="many")))
            self.assertEqual(got["stdout"], "from the stub")
            self.assertIn("in time", self.check(kind, box_exec="string"))

    def test_a_server_that_does_not_read(self):
        line = json.dumps({"command": "x" * 900000}).encode()
        for kind in ("pipes", "socket"):
            with self.subTest(kind):
                options = self.write(self.stub(kind, box_list_skills="deaf"), service=self.SERVICE)
                got = self.call("tool", *options, "exec", "-", stdin=line, code=1)
                self.assertEqual((got["error_type"], got["error"]),
                                 ("BoxError", "the Box runtime did not answer in time"))

    def test_a_server_that_fails_at_any_other_action(self):
        for kind in ("pipes", "socket"):
            for how in ("close", "garbage"):
                with self.subTest(kind=kind, how=how):
                    rules = {name: how for name in ("box_status", "box_get_sessions", "box_delete_session")}
                    options = self.write(self.stub(kind, **rules), service=self.SERVICE)
                    got = self.status(*options)
                    self.assertEqual((got["available"], got["connector_error"]),
                                     (False, "Disconnected from Box runtime"))
                    self.assertEqual(self.call("service", "sessions", *options), [])
                    got = self.call("service", "cleanup", *options, "--session", "one", code=1)
                    self.assertEqual(got["error_type"], "BoxError")
                    self.check(kind, box_list_skills=how)

    def test_every_action_has_its_deadline(self):
        silent = {name: "silence" for name in ("box_status", "box_get_sessions", "box_list_skills", "box_delete_session")}
        # with "pipes" each call starts a server of its own, so the four calls can run at the same time
        options = self.write(self.stub("pipes", **silent))
        calls = [self.spawn("service", *words, *options) for words in (
            ("status", "--format", "json"), ("sessions", "--format", "json"), ("resolve", '{"command": "x"}'),
            ("cleanup", "--session", "one"))]
        status, sessions, resolved, ended = [self.finish(c, 90) for c in calls]
        self.assertEqual(status.json()["connector_error"], "the Box runtime did not answer in time")
        self.assertEqual((sessions.json(), resolved.json()["extra_mounts"]), ([], []))
        self.assertEqual((ended.code, ended.json()["error"]), (1, "the Box runtime did not answer in time"))

    def test_the_next_call_connects_again(self):
        options = self.write(self.stub("socket", box_exec="close", once=True))
        self.assertEqual(self.tool("x", *options, code=1)["error"], "Disconnected from Box runtime")
        self.assertEqual(self.tool("x", *options)["stdout"], "from the stub")
        self.assertEqual(self.actions().count("box_exec"), 2)
        self.assertEqual(len([e for e in self.log() if "handshake" in e]), 2)

    def test_no_sessions_are_listed_without_a_runtime(self):
        for runtime in ({"endpoint": "ws://127.0.0.1:1"}, {"command": ["/nonexistent/server"]},
                        self.stub("socket", handshake="close")):
            with self.subTest(runtime):
                self.assertEqual(self.call("service", "sessions", *self.write(runtime, self.SERVICE)), [])

    def test_the_class_is_found_in_the_message(self):
        for text, name, shown in (
                ("BoxAdmissionError: a", "BoxAdmissionError", "a"),
                ("BoxReadinessError: a", "BoxReadinessError", "a"),
                ("BoxCapacityExceededError: a", "BoxCapacityExceededError", "a"),
                ("x BoxSessionConflictError: a BoxValidationError: b", "BoxValidationError",
                 "x BoxSessionConflictError : a BoxValidationError : b"),
                ("BoxManagedProcessNotFoundError: a", "BoxManagedProcessNotFoundError", "a"),
                ("BoxBackendUnavailableError: a", "BoxBackendUnavailableError", "a"),
                ("BoxError: a", "BoxError", "a"), ("PermissionError: a", "BoxError", "PermissionError: a"),
                ("busy", "BoxError", "busy")):
            with self.subTest(text):
                got = self.tool("x", *self.write(self.stub("socket", box_exec={"fault": text})), code=1)
                self.assertEqual((got["error_type"], got["error"]), (name, shown))
