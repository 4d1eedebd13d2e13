"""Tests the configuration of cordon-box and what it reports to LangBot, the clean-up after a server was killed, and
the rules for instances, generations and sessions."""

import json
import os
import signal
import stat

from boxpeer import SECONDS, BoxFault, Peer, StdioTransport, http_get
from harness import MODE, SLOW, all_processes, unique_number
from test_box import INSTANCE, BoxTest

NOT_A_DIRECTORY = ("BoxValidationError: box.local.default_workspace must point to a directory on the Box runtime "
                   "host")
NO_ROOTS = ("BoxValidationError: box.local.default_workspace cannot be created because no allowed_mount_roots are "
            "configured")


class Transports:
    """Starts a server with a configuration, and connects a peer to it, over a WebSocket or over pipes."""

    stdio = False

    def setUp(self):
        super().setUp()
        self.base = os.path.realpath(self.dir)

    def place(self, *names):
        return os.path.join(self.base, *names)

    def open(self, config=None, workspace="w-blue", generation=1, **kwargs):
        env = {"LANGBOT_BOX_TRUSTED_INSTANCE_UUID": INSTANCE, **kwargs.pop("env", {})}
        self.running = self.server(config=config, env=env, stdio=self.stdio, **kwargs)
        if not self.stdio:
            return self.running.current(workspace, generation)
        return self.keep(Peer(StdioTransport(self.running.proc), INSTANCE, workspace, generation))

    def ready(self):
        status, body = http_get(self.running.port, "/readyz")
        return status, json.loads(body)


class Workspaces(Transports):
    def test_the_default_workspace_is_made(self):
        peer = self.open()
        for local, made in (
                ({"host_root": self.place("srv")}, "srv/default"),
                ({"host_root": self.place("srv"), "default_workspace": "a/b"}, "srv/a/b"),
                ({"host_root": "rel"}, "rel/default"),
                ({"default_workspace": "w", "allowed_mount_roots": [self.base]}, "w"),
                ({"default_workspace": self.place("x/y"), "allowed_mount_roots": f" {self.base} ,/nowhere"}, "x/y")):
            with self.subTest(local=local):
                for _ in range(2):  # LangBot repeats box_init at each connection
                    self.assertEqual(peer.call("box_init", {"local": local}), {"initialized": True})
                self.assertTrue(os.path.isdir(self.place(made)))
                self.assertEqual(stat.S_IMODE(os.stat(self.place(made)).st_mode), 0o755)
        self.assertEqual(peer.call("box_init", {"local": {}}), {"initialized": True})

    def test_a_tilde_means_the_home(self):
        peer = self.open(env={"HOME": self.base})
        peer.call("box_init", {"local": {"host_root": "~/mine"}})
        self.assertTrue(os.path.isdir(self.place("mine", "default")))

    def test_bad_default_workspaces_are_refused(self):
        peer = self.open()
        os.mkdir(self.place("root"))
        with open(self.place("file"), "w", encoding="utf-8"):
            pass
        os.symlink(self.place("root"), self.place("root", "link"))
        os.symlink(self.base, self.place("root", "out"))
        os.symlink("nowhere", self.place("dangling"))
        inside = {"allowed_mount_roots": [self.place("root"), "/nowhere"]}
        outside = f"BoxValidationError: box.local.default_workspace is outside allowed_mount_roots: " \
                  f"{self.place('root')}, /nowhere"
        for text, local in (
                (NOT_A_DIRECTORY, {"default_workspace": self.place("file"), **inside}),
                (NO_ROOTS, {"default_workspace": self.place("new")}),
                (NO_ROOTS, {"default_workspace": self.place("new"), "allowed_mount_roots": []}),
                (outside, {"default_workspace": self.place("new"), **inside}),
                (outside, {"default_workspace": self.place("root2/new"), **inside}),
                (outside, {"default_workspace": self.place("root/../new"), **inside}),
                (outside, {"default_workspace": self.place("root/out/new"), **inside})):
            with self.subTest(local=local):
                self.fails(text, peer.call, "box_init", {"local": local})
        self.assertFalse(os.path.exists(self.place("new")))
        with self.assertRaises(BoxFault) as caught:
            peer.call("box_init", {"local": {"default_workspace": self.place("dangling/x"),
                                             "allowed_mount_roots": [self.base]}})
        self.assertRegex(str(caught.exception), "^BoxValidationError: box.local.default_workspace: ")
        # A default workspace that exists may lie outside of allowed_mount_roots. The server makes a missing default
        # workspace if its real path lies in one of these roots: root/link leads to root.
        peer.call("box_init", {"local": {"default_workspace": self.base, **inside}})
        peer.call("box_init", {"local": {"default_workspace": self.place("root/link/new"), **inside}})
        self.assertTrue(os.path.isdir(self.place("root/new")))
        self.assertEqual(peer.exec("a", "echo still here")["stdout"], "still here")

    def test_the_default_workspace_of_the_environment(self):
        self.open({"local": {"host_root": self.place("srv")}})
        self.eventually(lambda: os.path.isdir(self.place("srv", "default")))

    def test_a_bad_default_workspace_of_the_environment_is_reported(self):
        peer = self.open({"local": {"default_workspace": self.place("new")}})
        text = NO_ROOTS.partition(": ")[2]
        self.eventually(lambda: text.encode() in self.running.err.data)
        self.assertEqual(self.ready()[1]["error"], text)
        self.fails(NO_ROOTS, peer.call, "box_init", {})
        peer.call("box_init", {"local": {"host_root": self.place("srv")}})
        self.assertNotIn("error", self.ready()[1])


class Settings(Transports):
    def test_sections_are_replaced_as_a_whole(self):
        peer = self.open({"limits": {"max_sessions": 5, "max_managed_processes": 3}})
        self.assertEqual(peer.call("box_status")["limits"]["max_managed_processes"], 3)
        peer.call("box_init", {"enabled": True, "unknown": {"a": [1]}})  # other keys are ignored
        self.assertEqual(peer.call("box_status")["limits"]["max_sessions"], 5)
        peer.call("box_init", {"limits": {"max_sessions": 6}})
        limits = peer.call("box_status")["limits"]
        self.assertEqual((limits["max_sessions"], limits["max_managed_processes"]), (6, 64))

    def test_bad_limits_change_nothing(self):
        peer = self.open({"limits": {"max_sessions": 5}})
        before = peer.call("box_status")
        cases = [("box.limits must be an object", {"limits": []})]
        for name, low, high in (("max_sessions", 0, 5000), ("max_managed_processes", 0, 1024),
                                ("max_completed_processes", 0, 10000), ("max_admission_records", 1, 250000),
                                ("max_rpc_file_bytes", 1, 104857600), ("completed_process_retention_sec", 0, 86400)):
            for bad in (low - 1, high + 1):
                cases.append((f"box.limits.{name} must be between {low} and {high}", {"limits": {name: bad}}))
            for bad in (True, "5", 1.5, None):
                cases.append((f"box.limits.{name} must be an integer", {"limits": {name: bad}}))
        cases.append(("box.cordon.engine must be auto, process or vm", {"cordon": {"engine": "docker"}}))
        cases.append(("box.cordon.memory_ceiling_mb must be an integer", {"cordon": {"memory_ceiling_mb": "x"}}))
        cases.append(("box.local.allowed_mount_roots has more than 63 entries",
                      {"local": {"allowed_mount_roots": ["/x"] * 64}}))
        for text, config in cases:
            with self.subTest(config=config):
                self.fails(f"ValueError: {text}", peer.call, "box_init",
                           {"backend": "docker", **config})
        self.assertEqual(peer.call("box_status"), before)

    def test_an_init_keeps_sessions(self):
        peer = self.open()
        first = peer.call("box_create_session", {"session_id": "a"})["backend_session_id"]
        peer.exec("a", "echo kept > /workspace/f")
        peer.call("box_init", {"backend": "docker"})  # the server does not change the backend while there are sessions
        self.assertEqual(peer.exec("a", "cat /workspace/f")["stdout"], "kept")
        self.assertEqual(peer.call("box_get_session", {"session_id": "a"})["backend_session_id"], first)
        self.assertEqual(peer.call("box_get_backend_info"), {"name": "nsjail", "available": True})
        peer.call("box_delete_session", {"session_id": "a"})
        peer.call("box_init", {"backend": "docker"})
        self.assertEqual(peer.call("box_get_backend_info"), {"name": None, "available": False})
        peer.call("box_init", {"backend": "local"})
        self.assertEqual(peer.exec("a", "echo back")["stdout"], "back")

    def test_backends_by_name(self):
        peer = self.open()
        for name, shown in (("", "nsjail"), ("local", "nsjail"), ("nsjail", "nsjail"), ("cordon", "cordon")):
            peer.call("box_init", {"backend": name})
            self.assertEqual(peer.call("box_get_backend_info"), {"name": shown, "available": True})
            self.assertEqual(peer.exec("a", "echo here")["backend_name"], shown)
            peer.call("box_delete_session", {"session_id": "a"})
        for name, why in (("docker", "not supported yet"), ("e2b", "not supported yet"),
                          ("other", "no backend has this name")):
            peer.call("box_init", {"backend": name})
            for action in ("box_get_backend_info", "box_health"):
                self.assertEqual(peer.call(action), {"name": None, "available": False})
            self.assertEqual(peer.call("box_status")["backend"], {"name": None, "available": False})
            self.fails("BoxBackendUnavailableError: LangBot Box backend unavailable. Install and start Docker or "
                       "nsjail before using exec.", peer.exec, "a", "true")
            status, got = self.ready()
            self.assertEqual((status, got["ready"], got["checks"], got["error"]),
                             (503, False, {"backend_available": False}, why))
            self.eventually(lambda name=name, why=why: f"backend '{name}': {why}".encode() in self.running.err.data)

    def test_limits_that_are_not_enforced_are_shown(self):
        peer = self.open()
        name = peer.call("box_create_session", {"session_id": "a", "cpus": 0.5})["backend_session_id"]
        held = {}

        def known():  # the supervisor writes its state a moment after the sandbox takes commands
            held.update(self.cordon("inspect", name, "--format", "json").json()["limits"] or {})
            return held.get("cpus") and held.get("memory")
        self.eventually(known)
        wanted = [field for field, key in (("cpus", "cpus"), ("memory_mb", "memory"))
                  if not held[key].startswith("cgroup")] + ["workspace_quota_mb"]
        self.assertEqual(peer.call("box_status")["limits_not_enforced"], wanted)
        self.assertEqual(self.ready()[1]["limits_not_enforced"], wanted)
        if MODE == "user":
            self.assertEqual(wanted, ["cpus", "memory_mb", "workspace_quota_mb"])
            self.eventually(lambda: b"not enforced on this machine: memory_mb cpus" in self.running.err.data)

    def test_skills_outside_the_roots_may_be_mounted(self):
        peer = self.open({"local": {"host_root": self.place("srv"), "skills_root": self.place("elsewhere"),
                                    "allowed_mount_roots": [self.place("srv")]}})
        skill = peer.call("box_create_skill", {"skill": {"name": "one", "instructions": "x"}})["skill"]
        self.assertTrue(skill["package_root"].startswith(self.place("elsewhere")))
        mount = {"host_path": skill["package_root"], "mount_path": "/workspace/.skills/one", "mode": "ro"}
        self.assertEqual(peer.exec("a", "ls /workspace/.skills/one", extra_mounts=[mount])["stdout"], "SKILL.md")
        other = dict(mount, host_path=self.base)
        self.fails(f"BoxValidationError: extra mount host_path {self.base} is blocked for security", peer.exec, "b",
                   "true", extra_mounts=[other])


class WorkspacesByWebSocket(Workspaces, BoxTest):
    pass


class WorkspacesByPipes(Workspaces, BoxTest):
    stdio = True


class SettingsByWebSocket(Settings, BoxTest):
    pass


class SettingsByPipes(Settings, BoxTest):
    stdio = True


# --- servers that were killed ----------------------------------------------------------------------


class Leftovers(Transports, BoxTest):
    def supervisors(self):
        return [p for p in all_processes().values() if p.comm.startswith("cordon-superv") and p.state != "Z"
                and p.cmdline and any(name in p.cmdline for name in self.sandboxes())]

    def kill_all_at_once(self):
        """Kills both processes of the server and all supervisors at once, so that none of them can clean up."""
        supervisors = self.eventually(self.supervisors)
        for pid in [p.pid for p in supervisors] + [self.running.reader().pid, self.running.proc.pid]:
            os.kill(pid, signal.SIGSTOP)
        for p in supervisors:
            os.kill(p.pid, signal.SIGKILL)
        for pid in (self.running.reader().pid, self.running.proc.pid):
            os.kill(pid, signal.SIGKILL)
        self.running.proc.wait(SECONDS)
        self.eventually(lambda: not self.supervisors())

    def test_the_next_server_removes_leftovers_of_a_killed_server(self):
        peer = self.open()
        peer.exec("a", "echo hello > /workspace/file")
        self.kill_all_at_once()
        self.assertEqual(len(self.sandboxes()), 1)
        again = self.open()
        self.eventually(lambda: self.sandboxes() == [])
        self.assertEqual(again.exec("a", "ls /workspace; echo fresh")["stdout"], "fresh")

    def test_other_sandboxes_stay(self):
        own = self.create()
        first = self.open()
        first.exec("a", "echo mine > /workspace/file")
        one = self.running
        second = self.open()
        second.exec("a", "true")
        self.assertEqual(len(self.sandboxes()), 3)
        self.assertEqual(own.out("echo up"), "up")
        self.assertEqual(first.exec("a", "cat /workspace/file")["stdout"], "mine")
        one.stop()
        self.assertEqual(len(self.sandboxes()), 2)

    def test_sandboxes_of_a_killed_server_end_within_three_seconds(self):
        for stdio in (False, True):
            for victim in ("reader", "parent"):
                with self.subTest(victim=victim, stdio=stdio):
                    self.stdio = stdio
                    peer = self.open()
                    peer.exec("a", "echo text > /workspace/file")
                    peer.call("box_create_session", {"session_id": "b", "persistent": True})
                    self.assertEqual(len(self.sandboxes()), 2)
                    os.kill(self.running.reader().pid if victim == "reader" else self.running.proc.pid,
                            signal.SIGKILL)
                    self.eventually(lambda: self.sandboxes() == [] and not self.supervisors(), within=3 * SLOW)
                    self.running.proc.wait(SECONDS)


# --- one server, one instance ----------------------------------------------------------------------


class Tenancy(Transports):
    """Tests generations, the pinned instance, and what LangBot's own tests check, over each transport."""

    def other(self, peer, **context):
        """Returns keyword arguments for peer.call(): the context of PEER, in which CONTEXT replaces some members."""
        return {"context": {**peer.context, **context}}

    def test_the_instance_is_pinned(self):
        peer = self.open()
        foreign = self.other(peer, instance_uuid="inst-8")
        for action in ("box_status", "box_health", "box_init", "box_get_sessions"):
            self.fails("PermissionError: Box action context does not match the trusted instance", peer.call, action,
                       **foreign)
        for action in ("box_status", "box_get_sessions", "box_list_skills"):
            self.fails("PermissionError: Box tenant action requires a trusted Workspace context", peer.call, action,
                       context=None)
        self.assertEqual(peer.call("box_health", context=None), {"name": "nsjail", "available": True})

    def test_a_higher_generation_takes_over(self):
        peer = self.open()
        peer.exec("a", "true")
        slow = unique_number()
        running = peer.post("box_exec", {"session_id": "a", "cmd": f"sleep {slow}", "timeout_sec": 1000})
        self.eventually(lambda: self.sleepers(slow))
        self.assertEqual(peer.call("box_get_sessions", **self.other(peer, placement_generation=2)), {"sessions": []})
        stale = "PermissionError: Stale Box placement generation"
        self.assertEqual(peer.answer(running)["message"], stale)
        self.assertEqual((self.sleepers(slow), self.sandboxes()), ([], []))
        self.fails(stale, peer.call, "box_status")

    def test_the_number_of_known_workspaces_is_limited(self):
        peer = self.open({"limits": {"max_admission_records": 1}})
        peer.call("box_status")
        full = "PermissionError: Box generation fence capacity reached; refusing an unbounded Workspace allocation"
        self.fails(full, peer.call, "box_status", **self.other(peer, workspace_uuid="w-2"))
        peer.call("box_init", {"limits": {"max_admission_records": 2}})
        peer.call("box_status", **self.other(peer, workspace_uuid="w-2"))

    def test_two_execs_use_one_sandbox(self):
        peer = self.open()
        peer.exec("a", "echo text > /tmp/file")
        self.assertEqual(peer.exec("a", "cat /tmp/file")["stdout"], "text")
        self.assertEqual(len(self.sandboxes()), 1)
        self.assertEqual(self.running.health()["sessions"], 1)

    def test_conflicts_name_the_field(self):
        os.mkdir(self.place("one"))
        peer = self.open()
        peer.exec("a", "true")
        say = "BoxSessionConflictError: Box session a already exists with {}={}".format
        for field, value, has in (("host_path", self.place("one"), "None"), ("cpus", 0.5, "1.0"),
                                  ("memory_mb", 64, "512"), ("network", "on", "off"), ("persistent", True, "False")):
            self.fails(say(field, has), peer.exec, "a", "true", **{field: value})

    def test_models_are_validated(self):
        peer = self.open()
        os.mkdir(self.place("one"))
        rule = "BoxValidationError: workdir must stay under mount_path when host_path is provided"
        for mode in ("ro", "rw"):
            for mount, workdir in (("/workspace", "/tmp"), ("/project", "/projectx")):
                self.fails(rule, peer.exec, "a", "true", host_path=self.place("one"), host_path_mode=mode,
                           mount_path=mount, workdir=workdir)
        self.assertEqual(peer.exec("a", "pwd", host_path=self.place("one"), host_path_mode="none",
                                   workdir="/tmp")["stdout"], "/tmp")
        for bad in ({"cpus": 0}, {"memory_mb": 10}, {"pids_limit": 0}, {"workspace_quota_mb": -1}):
            with self.assertRaises(BoxFault) as caught:
                peer.exec("b", "true", **bad)
            self.assertRegex(str(caught.exception), f"^BoxValidationError: .*{next(iter(bad))}")
        self.assertEqual(len(self.sandboxes()), 1)

    def test_health_and_readiness_have_all_members(self):
        self.open()
        status, got = self.ready()
        self.assertEqual((status, got["ready"], got["mode"], got["checks"]),
                         (200, True, "standard", {"backend_available": True}))
        self.assertEqual(got["backend"], {"name": "nsjail", "available": True})
        self.assertEqual(set(got["resources"]) >= {"event_loop", "blocking_executor", "sessions", "managed_processes",
                                                   "completed_processes", "creating_session_tasks",
                                                   "closing_session_tasks", "background_tasks"}, True)
        status, body = http_get(self.running.port, "/healthz")
        self.assertEqual((status, json.loads(body)["live"]), (200, True))
        self.assertEqual(set(json.loads(body)["resources"]), set(got["resources"]))


class TenancyByWebSocket(Tenancy, BoxTest):
    pass


class TenancyByPipes(Tenancy, BoxTest):
    stdio = True
