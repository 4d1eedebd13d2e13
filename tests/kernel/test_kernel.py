"""Tests that need Debian's kernel and version 2 cgroups. boot.py runs them in such a machine."""

import glob
import hashlib
import io
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))

from harness import BASE, CORDON, MODE, PREFIX, CordonTest, kill_quietly, unique_number  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))

LIMITED = MODE in ("root", "delegated", "session")  # in other modes the user has no cgroup


def own_group():
    with open("/proc/self/cgroup") as handle:
        return handle.read().strip().split(":", 2)[2]


class KernelTest(CordonTest):
    modes = ("root", "user", "delegated", "session")

    def group(self, box):
        """Returns the directory of the sandbox's group below the cgroup mount."""
        path = self.pid1_group(box)
        self.assertRegex(path, r"/cordon-[0-9a-f]{16}/init$")
        return "/sys/fs/cgroup" + os.path.dirname(path)

    def pid1_group(self, box):
        return box.pid1().cgroups()[0]

    def value(self, box, name):
        with open(os.path.join(self.group(box), "payload", name)) as handle:
            return handle.read().strip()


class Machine(KernelTest):
    def test_the_kernel_is_6_1_with_cgroup_v2_only(self):
        """Checks the kernel. On another kernel, the other tests of this file would prove nothing."""
        self.assertRegex(platform.release(), r"^6\.1\.")
        with open("/proc/mounts") as handle:
            kinds = {line.split()[2] for line in handle if line.split()[2].startswith("cgroup")}
        self.assertEqual(kinds, {"cgroup2"})
        self.assertEqual(len(open("/proc/self/cgroup").read().splitlines()), 1)

    def test_doctor(self):
        got = self.cordon("doctor")
        self.assertEqual(got.code, 0, got)
        self.assertRegex(got.errtext, r"✓ Engine +process: ran a command")
        for check in ("Memory", "CPUs", "Processes"):
            if LIMITED:
                wanted = rf"✓ {check} +limited by cgroup v2"
            elif check == "Processes":
                wanted = "✓ Processes +limited by user namespace"
            else:
                wanted = rf"! {check} "
            self.assertRegex(got.errtext, wanted)
        self.assertEqual("systemd-run --user --scope -p Delegate=yes" in got.errtext, not LIMITED)


class Limits(KernelTest):
    def setUp(self):
        super().setUp()
        if not LIMITED:
            self.not_run("no cgroup is delegated to this user")

    def test_limits_are_in_the_cgroup_files(self):
        box = self.create("-m", "96M", "-c", "1", "--pids-limit", "77")
        self.assertEqual({n: self.value(box, n) for n in ("memory.max", "memory.swap.max", "cpu.max",
                                                          "pids.max")},
                         {"memory.max": str(96 << 20), "memory.swap.max": "0",
                          "cpu.max": "100000 100000", "pids.max": "77"})
        shown = self.cordon("inspect", box.name).text
        self.assertEqual(len(re.findall(r"(?m)^  (?:CPUs|Memory|Processes): +cgroup v2$", shown)), 3,
                         shown)

    def test_default_limits_are_in_the_cgroup_files(self):
        box = self.create()
        self.assertNotIn("max", (self.value(box, "memory.max"), self.value(box, "pids.max")))

    def test_pid_1_is_beside_the_limited_group(self):
        box, number = self.create(), unique_number()
        box.sh(f"sleep {number} >/dev/null 2>&1 &")
        sleeper, = self.sleepers(number)
        self.assertEqual(os.path.dirname(self.pid1_group(box)),
                         os.path.dirname(os.path.dirname(sleeper.cgroups()[0])))
        self.assertRegex(sleeper.cgroups()[0], r"/payload/exec-\d+$")

    def test_the_command_sees_no_group_of_the_hosts(self):
        self.assertEqual(self.create().out("cat /proc/self/cgroup"), "0::/")

    def test_a_killed_supervisor_leaves_no_group(self):
        box = self.create()
        group = self.group(box)
        box.sh("sleep 900 >/dev/null 2>&1 &")
        kill_quietly(box.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not box.host_processes())
        self.assertEqual(box.remove("-f").code, 0)
        self.assertFalse(os.path.exists(group))


class Delegated(KernelTest):
    """A user whose shell runs in a delegated group."""

    modes = ("delegated",)

    def test_the_caller_moves_into_a_child_group_once(self):
        """A group with members cannot enable controllers for its children. So its members, also
        the caller, move into a child group."""
        first = self.create("-m", "64M")
        self.assertRegex(own_group(), r"\.scope/cordon-callers$")
        second = self.create("-m", "64M")  # the first create has moved us to another group
        base = os.path.dirname(self.group(first))
        self.assertEqual(os.path.dirname(self.group(second)), base)
        self.assertEqual(sorted(os.path.basename(g) for g in glob.glob(f"{base}/cordon-*")),
                         sorted(["cordon-callers", os.path.basename(self.group(first)),
                                 os.path.basename(self.group(second))]))

    def test_no_group_is_writable_by_others(self):
        """Pid 1 can make cgroups, because the directories belong to its group id. No other process in the
        sandbox can make them."""
        box = self.create()
        box.exec("true")
        for where, _, names in os.walk(self.group(box)):
            for path in (where, *(os.path.join(where, n) for n in names)):
                self.assertFalse(os.stat(path).st_mode & 0o002, path)


def capabilities():
    with open("/proc/self/status") as handle:
        return [line.split()[1] for line in handle if line.startswith("CapEff:")][0]


class Container(KernelTest):
    """Runs as root of a container that may write to its part of the cgroup hierarchy, as in `docker run
    --privileged`."""

    modes = ("root",)
    timeout = 600

    NAMES = ("chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable "
             "net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot "
             "sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease "
             "audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read "
             "perfmon bpf checkpoint_restore").split()

    def setUp(self):
        super().setUp()
        self.name = f"c{os.getpid()}"
        self.bundle = os.path.join(self.dir, "bundle")
        os.makedirs(os.path.join(self.bundle, "rootfs"))
        self.host("mount", "--bind", "/", os.path.join(self.bundle, "rootfs"))
        self.addCleanup(self.host, "umount", "-l", os.path.join(self.bundle, "rootfs"))
        with open(os.path.join(self.bundle, "config.json"), "w") as handle:
            json.dump(self.config(), handle)
        self.host("runc", "run", "-d", "-b", self.bundle, self.name)
        self.addCleanup(self.host, "runc", "delete", "-f", self.name)

    def host(self, *argv):
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def config(self):
        held = int(capabilities(), 16)
        caps = [f"CAP_{name.upper()}" for i, name in enumerate(self.NAMES) if held >> i & 1]
        binds = [path for path in ("/dev", "/run", os.path.dirname(os.path.dirname(HERE)), BASE, PREFIX)
                 if os.path.isdir(path)]
        return {
            "ociVersion": "1.0.2",
            "root": {"path": "rootfs"},
            "process": {"args": ["sleep", "infinity"], "cwd": "/", "user": {"uid": 0, "gid": 0},
                        "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
                        "capabilities": {kind: caps for kind in ("bounding", "effective", "permitted")}},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/sys", "type": "sysfs", "source": "sysfs"},
                       {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup"},
                       *({"destination": path, "type": "bind", "source": path, "options": ["rbind"]}
                         for path in binds)],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "cgroup")],
                      "resources": {"devices": [{"allow": True, "access": "rwm"}]}},
        }

    def inside(self, *argv):
        """Runs a command in the container, as `docker exec` does."""
        got = subprocess.run(["runc", "exec", "-e", f"CORDON_HOME={self.home}", "-e", "HOME=/root", self.name, *argv],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return got.returncode, got.stdout, got.stderr

    def ours(self, *argv):
        return self.inside(CORDON, *argv)

    def test_limits_hold_and_the_container_can_still_be_entered(self):
        self.assertEqual(self.inside("cat", "/proc/self/cgroup"), (0, "0::/\n", ""))
        code, _, err = self.ours("create", "-n", "box", "--no-net", "-m", "96M", "--cpus", "0.5", "--pids-limit", "77",
                                 "host")
        self.assertEqual((code, "warn" in err), (0, False), err)
        code, out, err = self.ours("inspect", "box", "--format", "json")
        limits = json.loads(out)["limits"]
        self.assertEqual({key: limits[key] for key in ("memory", "cpus", "pids")},
                         dict.fromkeys(("memory", "cpus", "pids"), "cgroup v2"))
        code, _, err = self.ours("exec", "box", "--", "/usr/bin/python3", "-c", "x = bytearray(400 << 20)")
        self.assertEqual(code, 137, err)
        # later processes of the container cannot join the top group, so they join the group of its first process
        self.assertEqual(self.inside("cat", "/proc/self/cgroup"), (0, "0::/cordon-callers\n", ""))
        self.assertEqual(self.inside("cat", "/proc/1/cgroup"), (0, "0::/cordon-callers\n", ""))
        # a second sandbox is started from the group cordon-callers
        code, _, err = self.ours("run", "-q", "--no-net", "-m", "64M", "host", "--", "/usr/bin/python3", "-c",
                                 "x = bytearray(400 << 20)")
        self.assertEqual(code, 137, err)
        self.assertEqual(self.ours("remove", "-f", "-q", "box")[0], 0)
        code, out, _ = self.inside("sh", "-c", "cd /sys/fs/cgroup; ls -d cordon-*; cat cgroup.procs")
        self.assertEqual((code, out), (0, "cordon-callers\n"))


class Cores(KernelTest):
    """The host's core pattern is a pipe, as with systemd-coredump or apport. Only root may set the pattern."""

    modes = ("root",)
    PATTERN = "/proc/sys/kernel/core_pattern"

    def setUp(self):
        super().setUp()
        self.seen = os.path.join(self.dir, "seen")
        handler = os.path.join(self.dir, "handler")
        with open(handler, "w") as f:
            f.write(f"#!/bin/sh\ncat > /dev/null\necho $1 >> {self.seen}\n")
        os.chmod(handler, 0o755)
        with open(self.PATTERN) as f:
            usual = f.read()
        self.addCleanup(self.set_pattern, usual)
        self.set_pattern(f"|{handler} %e")

    def set_pattern(self, pattern):
        with open(self.PATTERN, "w") as f:
            f.write(pattern)

    def handled(self):
        """Returns the names of the programs for whose crashes the handler was started."""
        if not os.path.exists(self.seen):
            return []
        with open(self.seen) as f:
            return f.read().split()

    def test_a_crash_inside_starts_no_handler_on_the_host(self):
        crash = ("import os, resource, signal\n"
                 "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
                 "os.kill(os.getpid(), signal.SIGSEGV)\n")
        inside = ["cp $(readlink -f /usr/bin/python3) /root/inside; /root/inside -c '" + crash + "'",
                  "cp $(readlink -f /bin/sh) /root/inside; exec /root/inside -c 'kill -SEGV $$'"]
        box = self.create()
        for _ in range(3):  # pid 1 starts the first commands, a launcher the later ones
            for command in inside:
                got = box.sh(command)
                self.assertEqual(got.code, 128 + signal.SIGSEGV, got)
        for command in inside:
            got = self.cordon("run", "-q", "host", "--", "sh", "-c", command)
            self.assertEqual(got.code, 128 + signal.SIGSEGV, got)
        # the handler does run for a crash outside, even with the limit 0
        subprocess.run([sys.executable, "-c", crash])
        self.eventually(lambda: self.handled())
        self.assertNotIn("inside", self.handled())


class Images(KernelTest):
    def archive(self):
        """An archive as `docker save` makes it, of one layer with busybox."""
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as tar:
            for name in ("bin", "etc", "tmp"):
                info = tarfile.TarInfo(name)
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(info)
            tar.add(os.path.realpath("/bin/busybox"), "bin/busybox")
            for name in ("sh", "cat", "echo", "rm", "ls", "chown", "id"):
                info = tarfile.TarInfo(f"bin/{name}")
                info.type, info.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(info)
            info = tarfile.TarInfo("etc/gone")
            tar.addfile(info)
        blob = layer.getvalue()
        config = json.dumps({
            "architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(blob).hexdigest()}"]},
        }).encode()
        name = hashlib.sha256(config).hexdigest() + ".json"
        manifest = json.dumps([{"Config": name, "RepoTags": ["small:1"], "Layers": ["layer.tar"]}])
        path = os.path.join(self.dir, "small.tar")
        with tarfile.open(path, "w") as tar:
            for member, data in ((name, config), ("layer.tar", blob),
                                 ("manifest.json", manifest.encode())):
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return path

    def test_a_loaded_image_can_be_used(self):
        got = self.cordon("load", "-i", self.archive())
        self.assertEqual(got.code, 0, got)
        box = self.create(image="small:1")
        self.assertEqual(box.out("rm /etc/gone; echo new > /etc/new; chown 7:7 /etc/new; ls -n /etc/new"
                                 " | cat; ls /etc | cat").split()[2:4], ["7", "7"])
        box.stop()
        box.start()
        self.assertNotIn("gone", box.out("ls /etc | cat"))
        self.assertEqual(box.out("cat /etc/new"), "new")


class Network(KernelTest):
    def test_the_default_network_has_a_gateway_that_answers(self):
        box = self.create()
        self.assertIn("eth0", box.out("ls /proc/sys/net/ipv4/conf"))
        # the gateway's resolver refuses this name, so the error is an answer of the gateway itself
        got = box.sh("python3 -c 'import socket; socket.gethostbyname(\"nowhere.invalid\")'")
        self.assertIn("gaierror", got.errtext, got)
        self.assertTrue([p for p in box.host_processes() if p.comm.startswith("cordon-gatew")])
        self.assertEqual(self.cordon("run", "-q", "--no-net", "host", "--", "ls",
                                     "/proc/sys/net/ipv4/conf").text.split(), ["all", "default", "lo"])
