"""Runs cordon-box as pid 1 of a container: first with all settings that cordon-box needs, and then several times, each
time with one setting missing. The tests of Nested use a user namespace instead of a container."""

import os
import re

from boxpeer import SECONDS, BoxFault, Peer, WebSocketTransport
from containers import APPARMOR, DOCKER_FILTER, MOUNT_FILTER, Container
from harness import PREFIX, CordonTest, Process, Reader, all_processes, unique_number
from test_box import BoxTest

PROGRAM = os.path.join(PREFIX, "libexec", "cordon", "cordon-box")
TOKEN = "t" * 40
INSTANCE = "inst-7"
USER = 1000
ADVICE = {
    "namespaces": r"--security-opt seccomp=unconfined \(Docker, Podman\) or "
                  r"securityContext.seccompProfile.type: Unconfined \(Kubernetes\)",
    "mounts": r"--security-opt apparmor=unconfined \(Docker, Podman\) or "
              r"securityContext.appArmorProfile.type: Unconfined \(Kubernetes\)",
    "proc": r"--security-opt systempaths=unconfined \(Docker\), --security-opt unmask=ALL \(Podman\) or "
            r"securityContext.procMount: Unmasked with hostUsers: false \(Kubernetes\)",
    "cgroups": r"--security-opt writable-cgroups=true \(Docker 28; before: --privileged\), "
               r"--security-opt unmask=/sys/fs/cgroup \(Podman\) or securityContext.privileged: true \(Kubernetes\)",
    "fuse": r"keep CORDON_HOME on a volume \(Docker and Podman: -v, Kubernetes: emptyDir\), or give the container "
            r"--device /dev/fuse \(Docker, Podman\)",
}


class BoxContainer(CordonTest):
    modes = ("root",)
    timeout = 120

    def start(self, home="/volume/home", uid=0, **options):
        """Starts a container with cordon-box as pid 1. Returns after the server has tested whether sandboxes work."""
        self.volume = os.path.join(self.dir, "volume")
        os.makedirs(self.volume, exist_ok=True)
        os.chown(self.volume, uid, uid)
        self.where = f"CORDON_HOME={home}"
        env = (self.where, f"LANGBOT_BOX_CONTROL_TOKEN={TOKEN}")
        box = Container(self, PROGRAM, "--host", "127.0.0.1", "--ws-control-port", "0", uid=uid, volume=self.volume,
                        env=env, **options)
        self.err = Reader(box.proc.stderr)
        said = lambda text: re.search(text, self.err.data.decode("utf-8", "replace"))
        port = self.eventually(lambda: said(r"listening on \S+ port (\d+)\n"), 20, lambda: self.err.data)[1]
        self.eventually(lambda: said("backend nsjail works|no sandbox can be made"), 20, lambda: self.err.data)
        headers = [f"X-LangBot-Instance-Id: {INSTANCE}", f"X-LangBot-Box-Control-Token: {TOKEN}"]
        self.peer = Peer(WebSocketTransport(int(port), headers), INSTANCE, "w-blue")
        self.addCleanup(self.peer.close)
        return box

    def log(self):
        return self.err.data.decode("utf-8", "replace")

    def ends(self, box):
        """Checks that SIGTERM ends the server and its sandboxes, and that the container's status is 0."""
        slow = unique_number()
        self.peer.post("box_exec", {"session_id": "last", "cmd": f"sleep {slow}", "timeout_sec": 1000})
        self.eventually(lambda: self.sleepers(slow))
        box.kill("TERM")
        self.assertEqual(box.proc.wait(SECONDS), 0, self.err.data)
        self.assertEqual(self.sleepers(slow), [])

    def serves(self, box, uid):
        got = self.peer.exec("a", "id -u; echo kept > f; cat f; touch /tmp/x /home/x")
        self.assertEqual((got["stdout"], got["exit_code"]), ("0\nkept", 0), got)
        self.assertEqual(self.peer.exec("a", "cat f")["stdout"], "kept")
        got = self.peer.exec("b", "echo made > g; cat g", host_path="/volume/work")
        self.assertEqual((got["stdout"], got["exit_code"]), ("made", 0), got)
        made = os.stat(os.path.join(self.volume, "work", "g"))
        self.assertEqual((made.st_uid, made.st_gid), (uid, uid))
        self.peer.call("box_start_managed_process", {"session_id": "a", "spec": {"command": "cat"}})
        self.assertEqual(self.peer.call("box_get_managed_process", {"session_id": "a"})["status"], "running")
        self.ends(box)


class Works(BoxContainer):
    def test_root_with_its_home_on_a_volume(self):
        self.serves(self.start(), 0)
        self.assertEqual(os.listdir(os.path.join(self.volume, "home", "sandboxes")), [])

    def test_root_with_its_home_on_the_overlay(self):
        self.serves(self.start(home="/var/lib/cordon-home", fuse=True), 0)

    def test_a_user_with_its_home_on_a_volume(self):
        self.serves(self.start(uid=USER), USER)
        self.assertEqual(os.listdir(os.path.join(self.volume, "home", "sandboxes")), [])

    def test_a_user_with_its_home_on_the_overlay(self):
        self.serves(self.start(home="/tmp/cordon", uid=USER, fuse=True), USER)

    def test_limits_are_enforced_if_cgroups_are_writable(self):
        box = self.start(cgroups="rw")
        self.assertNotIn("read-only", self.log())
        got = self.peer.exec("a", "python3 -c 'x = bytearray(400 << 20)'", memory_mb=64)
        self.assertEqual(got["exit_code"], 137, got)
        self.ends(box)

    def test_pid_1_reaps_orphans(self):
        box = self.start()
        box.inside("sh", "-c", "sh -c 'exit 4' & sh -c 'sleep 0.05; exit 3' & exit 0")
        pid1 = box.pid1()
        self.assertEqual(Process(pid1).comm, "cordon-box")
        self.eventually(lambda: all("cordon" in p.comm or p.state == "Z" for p in self.children(pid1)))
        self.eventually(lambda: not [p for p in self.children(pid1) if p.state == "Z"])
        self.assertEqual(self.peer.exec("a", "echo still here")["stdout"], "still here")

    def children(self, pid):
        return [p for p in all_processes().values() if p.ppid == pid]


class Lacks(BoxContainer):
    """In each test one permission is missing. The log of the start and `cordon doctor` must name the setting that gives
    it. If no sandbox can be made without the permission, the error of an exec must name the setting, too."""

    def names(self, box, need, doctor=1):
        self.assertRegex(self.log(), f"no sandbox can be made: .*{ADVICE[need]}")
        with self.assertRaises(BoxFault) as caught:
            self.peer.exec("a", "true")
        self.assertRegex(str(caught.exception), "(?s)^BoxError: nsjail backend error: .*" + ADVICE[need])
        code, said = box.cordon("doctor", env=(self.where,))
        self.assertEqual(code, doctor, said)
        self.assertRegex(said, ADVICE[need])

    def test_namespaces_that_docker_s_filter_forbids(self):
        self.names(self.start(seccomp=DOCKER_FILTER), "namespaces")

    def test_namespaces_that_docker_s_filter_forbids_to_a_user(self):
        self.names(self.start(seccomp=DOCKER_FILTER, uid=USER), "namespaces")

    def test_mounts_that_a_filter_forbids(self):
        self.names(self.start(seccomp=MOUNT_FILTER), "namespaces")

    def test_mounts_that_apparmor_forbids(self):
        self.names(self.start(seccomp=APPARMOR), "mounts")

    def test_mounts_that_apparmor_forbids_to_a_user(self):
        self.names(self.start(seccomp=APPARMOR, uid=USER), "mounts")

    def test_a_covered_proc(self):
        self.names(self.start(masked=True), "proc")

    def test_a_covered_proc_for_a_user(self):
        self.names(self.start(masked=True, uid=USER), "proc")

    def test_a_home_on_the_overlay_without_fuse(self):
        """Sandboxes with their layer in memory work in such a home, so `cordon doctor` names the missing setting but
        does not fail."""
        self.names(self.start(home="/var/lib/cordon-home"), "fuse", doctor=0)

    def test_read_only_cgroups(self):
        box = self.start()
        self.assertRegex(self.log(), f"warn cordon-box: .*cgroups are read-only; give it {ADVICE['cgroups']}\n")
        self.assertRegex(box.cordon("doctor", env=(self.where,))[1], ADVICE["cgroups"])
        self.assertEqual(self.peer.exec("a", "echo works", memory_mb=64)["stdout"], "works")

    def test_read_only_cgroups_of_a_user(self):
        self.start(uid=USER)
        self.assertRegex(self.log(), f"warn cordon-box: .*cgroups are read-only; give it {ADVICE['cgroups']}\n")


class Nested(BoxTest):
    """These tests run as root of a user namespace that has many ids and read-only cgroups."""

    modes = ("container",)

    def test_a_session_works_and_the_log_names_read_only_cgroups(self):
        server = self.server()
        self.assertEqual(server.legacy().exec("a", "id -u; touch /workspace/f")["stdout"], "0")
        self.assertRegex(server.err.data.decode(), f"warn cordon-box: .*cgroups are read-only; give it {ADVICE['cgroups']}\n")
        server.stop()

    def test_a_sysctl_that_forbids_namespaces(self):
        setting = "/proc/sys/user/max_user_namespaces"
        with open(setting) as handle:
            before = handle.read()

        def put(text):
            with open(setting, "w") as handle:
                handle.write(text)

        self.addCleanup(put, before)
        put("0")
        server = self.server()
        self.assertRegex(server.err.data.decode(), "no sandbox can be made: .*user.max_user_namespaces")
        with self.assertRaises(BoxFault) as caught:
            server.legacy().exec("a", "true")
        self.assertRegex(str(caught.exception), "(?s)^BoxError: nsjail backend error: .*user.max_user_namespaces")
