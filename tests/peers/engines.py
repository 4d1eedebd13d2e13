"""Container engines of the machine, for one test. dockerd is started for the test and has all its files in the
directory of the test. podman has its own files in a short directory below /tmp."""

import os
import shutil
import subprocess
import tempfile

from harness import COMMAND_SECONDS, PREFIX

RUNC = "/usr/sbin/runc"


def start_dockerd(test, work):
    """Starts dockerd in the new directory WORK, without a network. Returns the path of its socket."""
    program = shutil.which("dockerd", path="/usr/sbin:/usr/bin")
    if not program:
        test.not_run("dockerd is not installed")
    os.mkdir(work)
    socket = os.path.join(work, "s.sock")
    with open(os.path.join(work, "log"), "wb") as log:
        engine = test.spawn(
            "--data-root", work + "/data", "--exec-root", work + "/exec", "-H", "unix://" + socket,
            "-p", work + "/pid", "--iptables=false", "--ip6tables=false", "--bridge=none",
            "--storage-driver=overlay2", program=program, stdout=log, stderr=log)

    def end():
        """Ends the engine by SIGTERM, so that it ends its containerd and its mounts itself."""
        engine.terminate()
        engine.wait(30)
    test.addCleanup(end)
    return socket


def make_root(path):
    """Makes a root directory with an empty usr. A container that mounts /usr of this machine over the empty usr can run
    the programs of this machine."""
    shutil.rmtree(path, ignore_errors=True)
    for name in ("usr", "etc", "tmp", "proc", "sys", "dev", "root", "var", "run", "opt"):
        os.makedirs(os.path.join(path, name))
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), os.path.join(path, name))
    shutil.copy("/etc/ld.so.cache", os.path.join(path, "etc"))
    for name, line in (("passwd", "root:x:0:0:root:/root:/bin/sh\n"), ("group", "root:x:0:\n")):
        with open(os.path.join(path, "etc", name), "w", encoding="ascii") as handle:
            handle.write(line)


class Docker:
    """`docker run` with a real dockerd. The root is imported as an image."""

    name = "docker"

    def __init__(self, test):
        self.test = test
        self.program = shutil.which("docker", path="/usr/local/bin:/usr/bin")
        if not self.program:
            test.not_run("docker is not installed")
        root = os.path.join(test.dir, "root")
        make_root(root)
        self.socket = start_dockerd(test, os.path.join(test.dir, "engine"))
        self.image = "box:1"
        test.eventually(lambda: self.call("version").returncode == 0, within=60)
        subprocess.run(["tar", "-C", root, "-cf", root + ".tar", "."], check=True)
        done = self.call("import", root + ".tar", self.image)
        test.assertEqual(done.returncode, 0, done)

    def call(self, *words):
        return subprocess.run([self.program, "-H", "unix://" + self.socket, *words], capture_output=True,
                              text=True, timeout=2 * COMMAND_SECONDS, cwd=self.test.dir)

    def run(self, options, *command):
        return self.call("run", "--rm", "--network", "none", "-v", "/usr:/usr:ro", "-v",
                         f"{PREFIX}:{PREFIX}:ro", *options, self.image, *command)


class Podman:
    """`podman run` as root, with runc."""

    name = "podman"

    def __init__(self, test):
        self.test = test
        self.program = shutil.which("podman", path="/usr/bin")
        if not self.program:
            test.not_run("podman is not installed")
        self.root = os.path.join(test.dir, "root")
        make_root(self.root)
        # Podman refuses long paths
        self.place = tempfile.mkdtemp(prefix="pod", dir="/tmp")
        test.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def run(self, options, *command):
        place = self.place
        return subprocess.run(
            [self.program, "--root", place + "/root", "--runroot", place + "/run", "--tmpdir", place + "/tmp",
             "--storage-driver", "vfs", "--runtime", RUNC, "--cgroup-manager", "cgroupfs", "run", "--rm",
             "--network", "none", "--ulimit", "nofile=1024:4096", "--ulimit", "nproc=4096:4096",
             "-v", "/usr:/usr:ro", "-v", f"{PREFIX}:{PREFIX}:ro", *options, "--rootfs", self.root, *command],
            capture_output=True, text=True, timeout=2 * COMMAND_SECONDS, cwd=self.test.dir)
