"""Containers for tests. runc makes them as it does for Docker: with Docker's capabilities and read-only cgroups. A test
can ask for more, such as masked paths, a seccomp filter or writable cgroups. The root is an overlay of this machine's
files."""

import json
import os
import shutil
import subprocess

from harness import PREFIX, SLOW

RUNC = "/usr/sbin/runc"
SECONDS = 30 * SLOW
CAPABILITIES = ["CAP_" + name for name in (
    "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL "
    "AUDIT_WRITE").split()]
MASKED = ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
          "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
MOUNT_CALLS = ["mount", "umount2", "pivot_root", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "open_tree",
               "mount_setattr"]
EPERM, EACCES, ENOSYS = 1, 13, 38
CLONE_NEWUSER = 0x10000000


def _filter(*rules):
    return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64"], "syscalls": list(rules)}


def _refuse(names, errno, *args):
    return {"names": list(names), "action": "SCMP_ACT_ERRNO", "errnoRet": errno, **({"args": list(args)} if args else {})}


# calls that Docker's filter refuses in a container without CAP_SYS_ADMIN
DOCKER_FILTER = _filter(
    _refuse(["unshare", "setns", *MOUNT_CALLS], EPERM), _refuse(["clone3"], ENOSYS),
    _refuse(["clone"], EPERM, {"index": 0, "value": CLONE_NEWUSER, "valueTwo": CLONE_NEWUSER, "op": "SCMP_CMP_MASKED_EQ"}))
# a filter that allows new namespaces, but refuses mounts in them
MOUNT_FILTER = _filter(_refuse(MOUNT_CALLS, EPERM))
# The kernel may have no AppArmor. So this filter is used instead of AppArmor: it refuses the calls
# that the profile docker-default refuses.
APPARMOR = _filter(_refuse(["mount", "move_mount", "pivot_root"], EACCES))


class Container:
    """One container that runs ARGV as its pid 1."""

    def __init__(self, test, *argv, uid=0, masked=False, seccomp=None, cgroups="ro", fuse=False, volume=None, env=(),
                 user_namespace=False):
        self.test, self.name = test, f"cordon-test-{os.getpid()}-{os.urandom(4).hex()}"
        self.bundle = os.path.join(test.dir, self.name)
        self.rootfs = os.path.join(self.bundle, "rootfs")
        for part in ("rootfs", "upper", "work"):
            os.makedirs(os.path.join(self.bundle, part))
        os.chmod(test.dir, 0o755)
        config = self.config(argv, uid, env, fuse)
        if masked:
            config["linux"].update(maskedPaths=MASKED, readonlyPaths=READ_ONLY)
        if seccomp:
            config["linux"]["seccomp"] = seccomp
        if user_namespace:
            ids = [{"containerID": 0, "hostID": 1 << 30, "size": 1 << 18}]
            config["linux"]["namespaces"].append({"type": "user"})
            config["linux"].update(uidMappings=ids, gidMappings=ids)
        config["mounts"].append({"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup",
                                 "options": ["nosuid", "noexec", "nodev", cgroups]})
        if volume:
            config["mounts"].append({"destination": "/volume", "type": "bind", "source": volume, "options": ["rbind"]})
        with open(os.path.join(self.bundle, "config.json"), "w") as handle:
            json.dump(config, handle)
        self.run("mount", "-t", "overlay", "-o", f"lowerdir=/,upperdir={self.bundle}/upper,workdir={self.bundle}/work",
                 "overlay", self.rootfs)
        test.addCleanup(self.remove)
        self.proc = subprocess.Popen([RUNC, "run", "-b", self.bundle, self.name], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        test.spawned.append(self.proc)

    def config(self, argv, uid, env, fuse):
        held = CAPABILITIES if uid == 0 else []
        return {
            "ociVersion": "1.0.2", "hostname": "container", "root": {"path": "rootfs"},
            "process": {"args": list(argv), "cwd": "/", "user": {"uid": uid, "gid": uid},
                        "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", *env],
                        "capabilities": {"bounding": CAPABILITIES, "effective": held, "permitted": held}},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                {"destination": "/dev/pts", "type": "devpts", "source": "devpts",
                 "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
                {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "nodev", "mode=1777"]},
                {"destination": "/sys", "type": "bind", "source": "/sys", "options": ["bind", "ro"]}],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "cgroup")],
                      "devices": [{"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229, "fileMode": 0o666,
                                   "uid": 0, "gid": 0}] if fuse else [],
                      "resources": {"devices": [{"allow": False, "access": "rwm"},
                                                *([{"allow": True, "type": "c", "major": 10, "minor": 229,
                                                    "access": "rwm"}] if fuse else [])]}},
        }

    def run(self, *argv, check=True):
        return subprocess.run(argv, check=check, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=SECONDS)

    def inside(self, *argv, env=()):
        """Runs ARGV in the container, as `docker exec` does. Returns the status and the output of ARGV."""
        got = self.run(RUNC, "exec", *(word for pair in env for word in ("-e", pair)), self.name, *argv, check=False)
        return got.returncode, (got.stdout + got.stderr).decode()

    def cordon(self, *argv, env=()):
        return self.inside(os.path.join(PREFIX, "bin", "cordon"), *argv, env=env)

    def kill(self, signal_name):
        """Sends the signal to pid 1 of the container, as `docker stop` does."""
        self.run(RUNC, "kill", self.name, signal_name)

    def pid1(self):
        return json.loads(self.run(RUNC, "state", self.name).stdout)["pid"]

    def remove(self):
        self.run(RUNC, "delete", "-f", self.name, check=False)
        self.proc.wait(SECONDS)
        for stream in (self.proc.stdout, self.proc.stderr):
            stream.close()
        self.run("umount", "-l", self.rootfs)
        shutil.rmtree(self.bundle, ignore_errors=True)
