"""Tests machines that forbid something that cordon uses. Either the sandbox must work, or cordon must fail and
name the setting to change. cordon must never fall back silently to less isolation."""

import os
import subprocess

from harness import COMMAND_SECONDS, CORDON, CordonTest


class Forbidden(CordonTest):
    """Runs in a container of its own, where the test may break the system."""

    modes = ("container",)
    # The shell is pid 1 of its pid namespace. When pid 1 ends, the kernel kills all other processes of the namespace.
    # So the shell waits until the supervisor has cleaned up and ended.
    LET_FINISH = ('"$@"; r=$?; i=0; while pgrep -x cordon-supervis >/dev/null && [ $i -lt 100 ]; '
                  "do sleep 0.02; i=$((i+1)); done; exit $r")

    def broken(self, how, *command):
        """Runs cordon COMMAND after the shell commands HOW, in new user, mount and pid namespaces."""
        return subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc",
             "sh", "-c", f"{how}; {self.LET_FINISH}", "sh", CORDON, *command],
            env=self.environment(), capture_output=True, text=True, timeout=COMMAND_SECONDS,
            cwd=self.dir)

    def refused(self, how, *words):
        for command in (("create", "-n", "x", "host"), ("run", "host", "--", "true")):
            done = self.broken(how, *command)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done)
            self.assertRegex(done.stderr, r"^error: ")
            for word in words:
                self.assertIn(word, done.stderr)
        done = self.broken(how, "doctor")
        self.assertEqual(done.returncode, 1, done)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_no_user_namespaces(self):
        self.refused("echo 0 > /proc/sys/user/max_user_namespaces", "user.max_user_namespaces")

    def test_a_covered_proc_is_reported(self):
        """Container engines cover parts of /proc. If a part is covered, the kernel refuses to mount a new /proc."""
        self.refused("mount --bind /dev/null /proc/keys", "/proc", "unmask=ALL")

    def test_no_cgroups_at_all(self):
        done = self.broken("umount -l /sys/fs/cgroup 2>/dev/null; true", "run", "-q", "host", "--",
                           "echo", "works")
        self.assertEqual((done.returncode, done.stdout), (0, "works\n"), done)
        self.cordon("list")  # this command sweeps, because the end of the namespace may have killed the supervisor

    def test_no_new_privileges_is_reported(self):
        done = subprocess.run(["setpriv", "--no-new-privs", CORDON, "doctor"],
                              env=self.environment(), capture_output=True, text=True,
                              timeout=COMMAND_SECONDS, cwd=self.dir)
        self.assertIn("no_new_privs", done.stderr, done)


class Ordinary(CordonTest):
    def test_no_new_privileges_still_runs(self):
        """If the caller has set no_new_privs, setuid programs do not work in the sandbox. Everything else works."""
        done = subprocess.run(["setpriv", "--no-new-privs", CORDON, "run", "-q", "host", "--",
                               "echo", "works"], env=self.environment(), capture_output=True,
                              text=True, timeout=COMMAND_SECONDS, cwd=self.dir)
        self.assertEqual((done.returncode, done.stdout), (0, "works\n"), done)

    def test_without_newuidmap_the_sandbox_has_one_id(self):
        """If newuidmap is not in PATH, the sandbox has only one id. The system call filter is still used."""
        box = self.create(env={"PATH": "/nonexistent"})
        self.assertEqual(box.out("id -u; grep ^Seccomp: /proc/self/status | cut -f2"), "0\n2")

    def test_engine_vm_never_falls_back(self):
        got = self.cordon("create", "-n", "x", "--engine", "vm", "host")
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertRegex(got.errtext, r"^error: ")
        self.assertEqual(self.names(), [])
        # no help text promises the engine vm
        self.assertRegex(" ".join(self.cordon("help", "create").text.split()),
                         r"--engine [^-]*vm, a virtual machine, is not supported yet, so auto means process\.")

    def test_engine_process_is_shown(self):
        box = self.create("--engine", "process")
        data = box.inspect()
        self.assertEqual((data["engine"], data["config"]["engine"]), ("process", "process"))

    def test_other_users_of_the_machine_cannot_read_our_logs(self):
        box = self.create()
        box.out("echo secret")
        self.assertEqual(os.stat(self.home).st_mode & 0o077, 0)


class Unmappable(CordonTest):
    """Tests with programs of the host that belong to root and lie on a file system without idmapped mounts, such as the
    overlay of a container."""

    modes = ("root",)

    def under_overlay(self, *words):
        empty = os.path.join(self.dir, "empty")
        os.makedirs(empty, exist_ok=True)
        script = 'mount -t overlay -o "lowerdir=/usr:$0" none /usr && exec "$@"'
        return subprocess.run(["unshare", "--mount", "sh", "-c", script, empty, CORDON, *words],
                              env=self.environment(), cwd=self.dir, capture_output=True, text=True,
                              timeout=COMMAND_SECONDS)

    def test_programs_run_and_belong_to_nobody(self):
        done = self.under_overlay("run", "-q", "host", "--", "stat", "-c", "%u", "/usr/bin/stat")
        self.assertEqual((done.returncode, done.stdout), (0, "65534\n"), done)

    def test_a_volume_on_an_overlay_is_refused_with_advice(self):
        done = self.under_overlay("run", "-q", "-v", "/usr/share:/v", "host", "--", "true")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("ext4, xfs or btrfs", done.stderr)
