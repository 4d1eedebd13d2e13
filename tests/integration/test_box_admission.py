"""Tests the grants of cordon-box. If grants are enforced, no sandbox runs without a grant. LangBot's Cloud mode uses
grants."""

import datetime
import hashlib
import json
import os

from boxpeer import SECONDS, BoxFault, Peer, Socket
from harness import MODE, unique_number
from test_box import INSTANCE, PROGRAM, BoxTest, placement
from test_box_init import Transports

CHECKS = ["configuration", "required_backend", "workspace_mount", "backend_available", "cgroup_v2",
          "namespace_isolation", "mount_isolation", "network_isolation", "hard_workspace_quota",
          "hard_skill_storage_quota", "bounded_ephemeral_storage", "inode_quota", "session_cap",
          "managed_process_cap"]
STORAGE = {"hard_workspace_quota", "hard_skill_storage_quota", "bounded_ephemeral_storage", "inode_quota"}
MARKER = ".langbot-box-volume-probe-" + "0123456789abcdef" * 2
UNSAFE = {"LANGBOT_BOX_ALLOW_UNSAFE_SOFT_STORAGE_LIMITS": "Yes"}
MISSING = "BoxAdmissionError: Sandbox admission grant is missing"
LIMIT = "BoxAdmissionError: Sandbox admission grant exceeds the {} cap"


def in_seconds(seconds):
    then = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return then.isoformat()


def namespace(workspace):
    return "ws-" + hashlib.sha256(f"{INSTANCE}\0{workspace}".encode()).hexdigest()[:24]


class Gated(Transports):
    """A server that enforces grants. In these tests only root has control groups, so only root's server can be
    ready."""

    def open_gated(self, policy=None, env=None, local=None, **kwargs):
        config = {"admission": {"required": True, **(policy or {})},
                  "local": {"host_root": self.place("srv"), **(local or {})}, **kwargs.pop("more", {})}
        return self.open(config, env={**UNSAFE, **(env or {})}, **kwargs)

    def grant(self, peer, workspace="w-blue", generation=1, revision=1, seconds=200, sessions=1, processes=0,
              instance=INSTANCE, **more):
        return peer.call("box_upsert_sandbox_admission_grant", {
            "instance_uuid": instance, "workspace_uuid": workspace, "execution_generation": generation,
            "entitlement_revision": revision, "expires_at": in_seconds(seconds), "max_sessions": sessions,
            "max_managed_processes": processes, **more})

    def revoke(self, peer, workspace="w-blue", revision=1, instance=INSTANCE):
        return peer.call("box_revoke_sandbox_admission_grant", {
            "instance_uuid": instance, "workspace_uuid": workspace, "entitlement_revision": revision})

    def other(self, workspace="w-blue", generation=1):
        """Returns a peer for another workspace or generation. It uses the connection of the first peer, because a
        server on pipes has only one connection."""
        peer = Peer(self.peer.transport, INSTANCE, workspace, generation)
        peer.answers, peer.condition, peer.numbers = self.peer.answers, self.peer.condition, self.peer.numbers
        return peer

    def workspace_of(self, workspace="w-blue"):
        return self.place("srv", "default", "tenants", namespace(workspace))


# --- rules that do not depend on readiness ---------------------------------------------------------


class Rules(Gated):
    def test_a_server_without_enforcement_takes_no_grants(self):
        peer = self.open()
        for action in ("box_upsert_sandbox_admission_grant", "box_revoke_sandbox_admission_grant"):
            self.fails("BoxAdmissionError: Sandbox admission enforcement is not enabled", peer.call, action, {})

    def test_grants_are_checked(self):
        self.peer = peer = self.open_gated({"max_sessions": 1, "max_grant_ttl_sec": 300})
        receipt = self.grant(peer, revision=5, generation=2)
        self.assertRegex(receipt.pop("expires_at"), r"^\d{4}-\d\d-\d\dT[0-9:.]+Z$")
        self.assertEqual(receipt, {"installed": True, "workspace_uuid": "w-blue", "execution_generation": 2,
                                   "entitlement_revision": 5, "max_sessions": 1, "max_managed_processes": 0})
        say = "BoxAdmissionError: {}".format
        for text, change in (
                (say("Cannot install an expired sandbox admission grant"), {"seconds": -1}),
                (say("Sandbox admission grant lifetime exceeds the configured maximum"), {"seconds": 400}),
                (LIMIT.format("session"), {"sessions": 2}), (LIMIT.format("managed-process"), {"processes": 1}),
                (say("Sandbox admission grant revision is stale"), {"revision": 4}),
                (say("Sandbox admission execution generation is stale"), {"generation": 1}),
                (say("Sandbox admission limits changed without a new entitlement revision"), {"sessions": 0}),
                ("PermissionError: Sandbox admission grant does not match the trusted instance",
                 {"instance": "inst-8"})):
            with self.subTest(change=change):
                self.fails(text, self.grant, peer, **{"revision": 5, "generation": 2, **change})
        longer, shorter = self.grant(peer, revision=5, generation=2, seconds=250)["expires_at"], None
        shorter = self.grant(peer, revision=5, generation=2, seconds=100)["expires_at"]
        self.assertEqual(shorter, longer)  # the longer grant stays in force
        with self.assertRaises(BoxFault) as caught:
            self.grant(peer, unknown=1)
        self.assertRegex(str(caught.exception), "^BoxValidationError: ")
        for bad in ({"max_sessions": True}, {"execution_generation": 0}, {"expires_at": "2026-08-01T09:30:00"},
                    {"workspace_uuid": "  "}, {"entitlement_revision": "1"}):
            with self.assertRaises(BoxFault) as caught:
                self.grant(peer, **bad)
            self.assertRegex(str(caught.exception), f"^BoxValidationError: .*{list(bad)[0]}", bad)

    def test_revocations_are_checked(self):
        peer = self.open_gated(more={"limits": {"max_admission_records": 1}})
        self.grant(peer, revision=3)
        self.fails("BoxAdmissionError: Sandbox admission revocation is stale", self.revoke, peer, revision=2)
        self.fails("PermissionError: Sandbox admission revocation does not match the trusted instance", self.revoke,
                   peer, revision=3, instance="inst-8")
        full = "BoxAdmissionError: Sandbox admission record capacity reached; refusing an unbounded Workspace fence " \
               "allocation"
        self.fails(full, self.revoke, peer, "w-red", revision=1)
        self.fails(full, self.grant, peer, "w-red")
        self.assertEqual(self.revoke(peer, revision=3),
                         {"revoked": True, "workspace_uuid": "w-blue", "entitlement_revision": 3})
        self.fails("BoxAdmissionError: Sandbox admission grant revision was revoked", self.grant, peer, revision=3)
        self.assertEqual(self.grant(peer, revision=4)["entitlement_revision"], 4)

    def test_a_grant_that_the_fence_refuses_is_not_kept(self):
        peer = self.open_gated(more={"limits": {"max_admission_records": 1}})
        peer.call("box_status")  # the fence now has its only Workspace
        self.fails("PermissionError: Box generation fence capacity reached; refusing an unbounded Workspace allocation",
                   self.grant, peer, "w-red")
        # there is still room for the only record
        self.assertEqual(self.grant(peer)["workspace_uuid"], "w-blue")

    def test_enforcement_cannot_be_switched_off(self):
        peer = self.open_gated()
        self.assertEqual(peer.call("box_init", {"admission": {"required": False}}), {"initialized": True})
        text = "Sandbox admission enforcement cannot be disabled without restarting the Box Runtime"
        self.fails(f"BoxReadinessError: Invalid sandbox admission configuration: {text}", peer.exec, "a", "true")
        self.fails(f"BoxReadinessError: Invalid sandbox admission configuration: {text}", self.grant, peer)
        status, got = self.ready()
        self.assertEqual((status, got["checks"]["configuration"], got["error"]), (503, False, text))
        peer.call("box_init", {"admission": {"required": True}})
        self.assertTrue(self.ready()[1]["checks"]["configuration"])
        self.grant(peer)

    def test_an_invalid_policy_still_enforces_grants(self):
        peer = self.open()
        for bad, text in (([], "admission must be an object"), ({"required": False, "other": 1}, "other"),
                          ({"required": True, "max_sessions": 2}, "max_sessions"),
                          ({"required": True, "required_backend": "docker"}, "required_backend")):
            self.assertEqual(peer.call("box_init", {"admission": bad}), {"initialized": True})
            for call in (lambda: peer.exec("a", "true"), lambda: self.grant(peer)):
                with self.assertRaises(BoxFault) as caught:
                    call()
                self.assertRegex(str(caught.exception),
                                 f"^BoxReadinessError: Invalid sandbox admission configuration: .*{text}")

    def test_switching_enforcement_on_ends_all_sessions(self):
        peer = self.open()
        slow = unique_number()
        peer.exec("a", "true")
        running = peer.post("box_exec", {"session_id": "b", "cmd": f"sleep {slow}"})
        self.eventually(lambda: self.sleepers(slow))
        peer.call("box_init", {"admission": {"required": True}, "local": {"host_root": self.place("srv")}})
        self.assertEqual(peer.answer(running)["message"], MISSING)
        self.eventually(lambda: not self.sleepers(slow) and self.sandboxes() == [])

    def test_readiness_lists_every_check(self):
        peer = self.open_gated()
        status, got = self.ready()
        self.assertEqual((got["mode"], list(got["checks"]), got["unsafe_soft_storage_limits"]),
                         ("grant_enforced", CHECKS, True))
        failed = [name for name in CHECKS if not got["checks"][name]]
        self.assertEqual(got["backend"]["name"], "nsjail")
        self.assertEqual(sorted(got["backend"]["details"]), ["cpus", "engine", "layer", "memory", "pids"])
        self.assertEqual(failed, [] if MODE == "root" else ["cgroup_v2"])
        self.assertEqual((status, got["ready"]), (200, True) if MODE == "root" else (503, False))
        # a sandbox writes a marker file into the workspace during the check, and the server removes this file
        self.assertEqual(os.listdir(self.place("srv", "default")), [])
        info = peer.call("box_get_backend_info")
        self.assertEqual((info["name"], info["available"]), ("nsjail", MODE == "root"))
        self.assertEqual(info["readiness"]["checks"], got["checks"])
        if MODE == "root":
            self.assertEqual(peer.call("box_health")["checks"], got["checks"])
        else:
            self.fails("BoxReadinessError: managed sandbox isolation is not ready", peer.call, "box_health")
        self.assertEqual(peer.call("box_status")["backend"], {"name": "nsjail", "available": True})

    def test_failed_readiness_checks_are_named(self):
        missing = ["cgroup_v2"] if MODE != "root" else []
        say = "BoxReadinessError: Managed sandbox isolation is not ready (failed checks: {})".format
        peer = self.open_gated(env={"LANGBOT_BOX_ALLOW_UNSAFE_SOFT_STORAGE_LIMITS": "0"})
        self.grant(peer)  # the server accepts a grant although it is not ready
        checks = self.ready()[1]["checks"]
        self.assertTrue({"hard_workspace_quota", "hard_skill_storage_quota"} <=
                        {name for name in STORAGE if not checks[name]})
        self.fails(say(", ".join(name for name in CHECKS if not checks[name])), peer.exec, "a", "true")
        self.running.stop()
        peer = self.open({"admission": {"required": True}}, env=UNSAFE)  # this configuration has no default workspace
        failed = ["workspace_mount", *missing, "namespace_isolation", "mount_isolation", "network_isolation"]
        for _ in range(2):  # the second answer comes from the cache
            self.fails(say(", ".join(failed)), peer.exec, "a", "true")
        peer.call("box_init", {"local": {"host_root": self.place("srv")}})  # box_init empties the cache
        if missing:
            self.fails(say("cgroup_v2"), peer.exec, "a", "true")
        else:
            self.fails(MISSING, peer.exec, "a", "true")
        peer.call("box_init", {"backend": "cordon"})
        self.fails(say(", ".join(["required_backend", *missing])), peer.exec, "a", "true")
        peer.call("box_init", {"backend": "", "limits": {"max_sessions": 0}})
        self.fails(say(", ".join([*missing, "session_cap"])), peer.exec, "a", "true")

    def test_a_workspace_outside_the_roots_is_not_ready(self):
        os.mkdir(self.place("there"))
        self.open_gated(local={"default_workspace": self.place("there"),
                               "allowed_mount_roots": [self.place("srv")]})
        self.assertFalse(self.ready()[1]["checks"]["workspace_mount"])

    def test_the_shared_volume(self):
        peer = self.open({"local": {"host_root": self.place("srv")}})
        path = self.eventually(lambda: os.path.isdir(self.place("srv", "default")) and self.place("srv", "default"))

        def verify(name=MARKER):
            return peer.call("box_verify_shared_workspace", {"marker_name": name})

        def put(data, name=MARKER):
            with open(os.path.join(path, name), "wb") as handle:
                handle.write(data)

        peer.call("box_init", {"local": {"host_root": self.place("srv")}})
        for bad in ("x", MARKER + "0", MARKER[:-1], MARKER[:-1] + "G", MARKER[:-1] + "A", "../" + MARKER, None, 7):
            with self.assertRaises(BoxFault) as caught:
                verify(bad)
            self.assertRegex(str(caught.exception), "^BoxReadinessError: ")
        content = os.urandom(64)
        put(content)
        self.assertEqual(verify(), {"marker_name": MARKER, "size": 64,
                                    "sha256": hashlib.sha256(content).hexdigest()})
        put(b"x" * 1024)
        self.assertEqual(verify()["size"], 1024)
        for breaks in (lambda: put(b""), lambda: put(b"x" * 1025),
                       lambda: (put(b"x", "real"), os.symlink("real", os.path.join(path, MARKER))),
                       lambda: os.mkdir(os.path.join(path, MARKER)), lambda: os.mkfifo(os.path.join(path, MARKER)),
                       lambda: None):
            if os.path.isdir(os.path.join(path, MARKER)):
                os.rmdir(os.path.join(path, MARKER))
            elif os.path.lexists(os.path.join(path, MARKER)):
                os.unlink(os.path.join(path, MARKER))
            breaks()
            with self.assertRaises(BoxFault) as caught:
                verify()
            self.assertRegex(str(caught.exception), "^BoxReadinessError: ")
        peer.call("box_init", {"local": {}})
        self.fails("BoxReadinessError: there is no default workspace", verify)


# --- what a grant allows ---------------------------------------------------------------------------


class Grants(Gated):
    # a server without control groups is never ready, and an ordinary user has no control groups in these tests
    modes = ("root",)

    def test_a_grant_opens_one_session_of_the_prescribed_form(self):
        self.peer = peer = self.open_gated({"memory_mb": 256, "cpus": 0.5, "pids_limit": 64, "max_timeout_sec": 60,
                                            "workspace_quota_mb": 7})
        self.fails(MISSING, peer.exec, "x", "true")
        self.grant(peer)
        got = peer.exec("any id", "echo text > file; pwd", timeout_sec=999, memory_mb=4096, cpus=8, persistent=False,
                        image="other", read_only_rootfs=False, env={"A": "b"})
        self.assertEqual((got["session_id"], got["stdout"]), ("global", "/workspace"))
        info = peer.call("box_get_session", {"session_id": "global"})
        self.assertEqual({k: info[k] for k in ("session_id", "image", "network", "host_path", "host_path_mode",
                                               "mount_path", "persistent", "cpus", "memory_mb", "pids_limit",
                                               "read_only_rootfs", "workspace_quota_mb")},
                         {"session_id": "global", "image": "rockchin/langbot-sandbox:latest", "network": "off",
                          "host_path": self.workspace_of(), "host_path_mode": "rw", "mount_path": "/workspace",
                          "persistent": True, "cpus": 0.5, "memory_mb": 256, "pids_limit": 64,
                          "read_only_rootfs": True, "workspace_quota_mb": 7})
        self.assertEqual(open(os.path.join(self.workspace_of(), "file"), encoding="utf-8").read(), "text\n")
        self.assertEqual(peer.exec("another", "cat file", host_path=self.workspace_of())["stdout"], "text")
        self.assertEqual(len(peer.call("box_get_sessions")["sessions"]), 1)
        self.assertEqual(len(self.sandboxes()), 1)
        made = peer.call("box_create_session", {"session_id": "third"})
        self.assertEqual((made["session_id"], made["backend_session_id"]), ("global", info["backend_session_id"]))
        self.assertEqual(peer.call("box_delete_session", {"session_id": "global"}), {"deleted": "global"})

    def test_specs_that_ask_for_more_are_refused(self):
        self.peer = peer = self.open_gated()
        self.grant(peer)
        mount = {"host_path": self.base, "mount_path": "/mnt", "mode": "ro"}
        for text, change in (
                ("network access is disabled", {"network": "on"}),
                ("additional host mounts are disabled", {"extra_mounts": [mount]}),
                ("mount_path is runtime-owned", {"mount_path": "/project", "workdir": "/project"}),
                ("workdir must stay under /workspace", {"workdir": "/tmp"}),
                ("workdir must stay under /workspace", {"workdir": "/workspace/../etc"}),
                ("host_path is runtime-owned", {"host_path": self.base}),
                ("host_path is runtime-owned", {"host_path": self.workspace_of("w-red")}),
                ("skill is unavailable in this Workspace", {"skill_name": "nothing"})):
            for action in ("box_exec", "box_create_session"):
                with self.subTest(change=change, action=action):
                    self.fails(f"BoxAdmissionError: Managed sandbox {text}", peer.call, action,
                               {"session_id": "a", "cmd": "true", **change})
        for action in ("box_get_session", "box_delete_session"):
            self.fails("BoxAdmissionError: Managed sandbox session_id is runtime-owned", peer.call, action,
                       {"session_id": "a"})
        for action, data in (("box_start_managed_process", {"spec": {"command": "cat"}}),
                             ("box_get_managed_process", {}), ("box_stop_managed_process", {})):
            self.fails("BoxAdmissionError: Sandbox admission grant does not permit managed processes", peer.call,
                       action, {"session_id": "global", **data})
        self.assertEqual(self.sandboxes(), [])

    def test_a_skill_is_mounted_for_reading(self):
        self.peer = peer = self.open_gated()
        self.grant(peer)
        peer.call("box_create_skill", {"skill": {"name": "csv", "instructions": "Use it"}})
        place = "/workspace/.skills/csv"
        got = peer.exec("a", f"tail -n 1 {place}/SKILL.md; touch {place}/x", skill_name="csv", workdir=place)
        self.assertEqual((got["stdout"], got["exit_code"]), ("Use it", 1), got)
        red = self.other("w-red")
        self.grant(red, "w-red")
        self.fails("BoxAdmissionError: Managed sandbox skill is unavailable in this Workspace", red.exec, "a", "true",
                   skill_name="csv")

    def test_the_workspace_does_not_escape_through_links(self):
        self.peer = peer = self.open_gated()
        self.grant(peer)
        self.grant(peer, "w-red")
        os.makedirs(self.place("srv", "default", "tenants", "elsewhere"))
        os.symlink("elsewhere", self.workspace_of())
        os.symlink(self.base, self.workspace_of("w-red"))
        for one, path in ((peer, self.workspace_of()), (self.other("w-red"), self.workspace_of("w-red"))):
            self.fails(f"BoxValidationError: host_path {path} is blocked for security", one.exec, "a", "touch x")
        self.assertEqual(self.sandboxes(), [])

    def test_a_grant_is_for_one_tenant(self):
        self.peer = blue = self.open_gated()
        red = self.other("w-red")
        self.grant(blue)
        blue.exec("a", "echo blue > file")
        self.fails(MISSING, red.exec, "a", "true")
        self.grant(blue, "w-red")
        self.assertEqual(red.exec("a", "ls; echo none")["stdout"], "none")
        self.revoke(blue, "w-red")
        self.fails(MISSING, red.exec, "a", "true")
        self.assertEqual(blue.exec("a", "cat file")["stdout"], "blue")

    def test_a_revocation_ends_commands_and_sessions(self):
        self.peer = peer = self.open_gated()
        self.grant(peer)
        slow = unique_number()
        running = peer.post("box_exec", {"session_id": "a", "cmd": f"sleep {slow}", "timeout_sec": 100})
        self.eventually(lambda: self.sleepers(slow))
        self.revoke(peer)
        self.assertEqual(peer.answer(running)["message"], MISSING)
        self.assertEqual((self.sleepers(slow), self.sandboxes()), ([], []))
        for action in ("box_get_sessions", "box_get_session"):
            self.fails(MISSING, peer.call, action, {"session_id": "global"})

    def test_sessions_end_when_their_grant_expires(self):
        self.peer = peer = self.open_gated()
        self.grant(peer, seconds=3)
        peer.exec("a", "true")
        self.assertEqual(len(self.sandboxes()), 1)
        self.eventually(lambda: self.sandboxes() == [], within=SECONDS)
        self.fails(MISSING, peer.exec, "a", "true")
        self.grant(peer)
        peer.exec("a", "true")

    def test_renewals_keep_the_session_and_new_generations_do_not(self):
        self.peer = peer = self.open_gated()
        self.grant(peer, seconds=100)
        peer.exec("a", "true")
        first = self.sandboxes()
        self.grant(peer, seconds=200)
        self.grant(peer, revision=2)
        self.assertEqual(self.sandboxes(), first)
        slow = unique_number()
        running = peer.post("box_exec", {"session_id": "a", "cmd": f"sleep {slow}", "timeout_sec": 100})
        self.eventually(lambda: self.sleepers(slow))
        self.grant(peer, generation=2, revision=2)
        self.assertEqual(peer.answer(running)["message"], "PermissionError: Stale Box placement generation")
        self.assertEqual(self.sandboxes(), [])
        self.fails("BoxAdmissionError: Sandbox admission grant belongs to another execution generation", peer.exec,
                   "a", "true")
        newer = self.other(generation=2)
        newer.exec("a", "true")
        self.grant(peer, generation=2, revision=3, sessions=0)
        self.assertEqual(self.sandboxes(), [])
        self.fails("BoxAdmissionError: Sandbox admission grant does not permit sessions", newer.exec, "a", "true")
        self.grant(peer, generation=2, revision=4)
        newer.exec("a", "true")
        peer.call("box_init", {"admission": {"required": True, "max_sessions": 0}})
        self.fails("BoxAdmissionError: Sandbox admission grant exceeds the active runtime policy", newer.exec, "a",
                   "true")

    def test_skills_and_status_need_no_grant(self):
        self.peer = peer = self.open_gated()
        self.assertEqual(peer.call("box_list_skills"), {"skills": []})
        self.assertEqual(peer.call("box_status")["active_sessions"], 0)

    def test_a_relay_needs_a_grant(self):
        self.peer = peer = self.open_gated()
        headers = [f"X-LangBot-Instance-Id: {INSTANCE}", "X-LangBot-Workspace-Id: w-blue",
                   "X-LangBot-Placement-Generation: 1"]
        peer.call("box_status")  # now the server knows this generation of w-blue
        session = f"{placement('w-blue', 1)}-global"

        def knock():
            body = self.refused(400, self.running.relay, session, headers=headers)
            return json.loads(body)["error"]

        self.assertEqual(knock(), {"code": "BoxAdmissionError", "message": MISSING.partition(": ")[2]})
        self.grant(peer)
        self.assertEqual(knock(), {"code": "BoxAdmissionError", "message": "Sandbox admission grant does not permit "
                                                                           "managed process relay"})


class RulesByWebSocket(Rules, BoxTest):
    pass


class RulesByPipes(Rules, BoxTest):
    stdio = True


class GrantsByWebSocket(Grants, BoxTest):
    modes = Grants.modes

    def test_a_caller_that_leaves_while_it_waits_for_readiness(self):
        self.peer = peer = self.open_gated({"readiness_cache_sec": 0})
        self.grant(peer)
        for _ in range(20):
            gone = self.running.current()
            gone.post("box_exec", {"session_id": "a", "cmd": "true"})
            gone.close()
        self.assertEqual(peer.exec("a", "echo here")["stdout"], "here")

    def test_many_callers_share_one_examination(self):
        self.peer = peer = self.open_gated()
        self.grant(peer)
        asked = [peer.post("box_exec", {"session_id": str(i), "cmd": "echo here"}) for i in range(20)]
        self.assertEqual({peer.answer(number)["data"]["stdout"] for number in asked}, {"here"})
        self.assertEqual(len(self.sandboxes()), 1)


class GrantsByPipes(Grants, BoxTest):
    modes = Grants.modes
    stdio = True


class LegacyPeers(Gated, BoxTest):
    def test_legacy_peers_are_refused_if_grants_are_enforced(self):
        server = self.server(env={"LANGBOT_BOX_ALLOW_LEGACY_CLIENTS": "1"})
        old = server.legacy()
        old.exec("a", "true")
        old.call("box_init", {"admission": {"required": True}, "local": {"host_root": self.place("srv")}})
        self.refused(401, server.legacy)
        self.refused(401, Socket, server.port, "/v1/sessions/a/managed-process/ws")
        for action in ("box_get_sessions", "box_status", "box_list_skills"):
            self.fails("PermissionError: Box tenant action requires a trusted Workspace context", old.call, action)
        self.eventually(lambda: self.sandboxes() == [])

    def test_pipes_need_an_instance(self):
        got = self.cordon("-s", "--ws-control-port", "0", program=PROGRAM,
                          env={"LANGBOT_BOX_CONFIG": json.dumps({"admission": {"required": True}})})
        self.assertEqual((got.code, got.text), (1, ""), got)
        self.assertIn("admission grants need LANGBOT_BOX_TRUSTED_INSTANCE_UUID", got.errtext)
