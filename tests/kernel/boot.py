#!/usr/bin/env python3
"""Boots Debian's packaged kernel in QEMU with version 2 cgroups only, and runs black-box tests in the machine that QEMU
emulates.

    tests/kernel/boot.py [--prefix DIR] [--mode MODE]… [--all] [--shell SCRIPT] [PATTERN…]

The build machine may have another kernel, version 1 cgroups or no cgroups. The machine in QEMU is like a Debian 12
server: Linux 6.1, version 2 cgroups only, root on a plain file system, ext4 for state. boot.py needs no root
and no KVM. Without KVM, QEMU emulates the CPU, some ten times slower. boot.py needs the network only to fetch the
kernel package. Without a PATTERN it runs the tests of the list SMOKE. With --all it runs, instead of SMOKE, every test
that does not need systemd.

Without --mode, --shell and PATTERNs the machine boots twice. The second time systemd is pid 1, and the machine runs the
tests of the list SESSION. Otherwise boot.py makes only the boots that wants_plain() and wants_session() choose.

boot.py fetches the kernel package and unpacks it below build/kernel, but does not install it.
boot.py makes three files there. It makes initrd and root.ext4 again only if their parts changed.

  initrd        a newc archive: busybox, a script, the modules that mounting the root needs
  root.ext4     the files of a few Debian packages that are installed here, and of their dependencies
  tests.sqfs    our programs, the tests, and the compiled attack programs (the machine has no
                compiler)

The first script (INITRD) loads modules and mounts the root, a sparse copy of root.ext4 that is deleted afterwards.
The second script (INIT) is pid 1 if systemd is not. It sets the system up like a booted system and runs
tests/integration/run.py. If systemd is pid 1, a service runs the tests (SERVICE). The output and the status come over
the serial line. boot.py ends a machine that prints nothing for too long."""

import argparse
import collections
import hashlib
import os
import re
import select
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
TOP = os.path.dirname(TESTS)
WORK = os.path.join(TOP, "build", "kernel")
sys.path.insert(0, os.path.join(TESTS, "integration"))

from debian import LEAVE_OUT, closure, copy_packages  # noqa: E402

KERNEL = "linux-image-cloud-amd64"  # like linux-image-amd64, but a third of its size
MODULES = ("virtio_pci", "virtio_blk", "squashfs", "overlay", "tun", "veth", "loop",
           "quota_v2", "fuse")
PACKAGES = ("base-files", "base-passwd", "bash", "bash-static", "busybox-static", "coreutils", "dash",
            "e2fsprogs", "findutils", "fuse-overlayfs", "grep", "hostname", "iproute2", "libarchive13", "libc-bin",
            "libcap2-bin", "libcurl4", "libpcre2-8-0", "libslirp0", "libyaml-0-2", "login", "mawk", "mount",
            "passwd", "procps", "publicsuffix", "python3", "runc", "sed", "strace", "uidmap", "util-linux",
            "dbus", "dbus-user-session", "libpam-systemd", "systemd")
DISK_BYTES = 4 << 30
MEMORY_MIB = 2048
SILENCE_SECONDS = 600  # long, because QEMU shares the machine with other programs

# A few tests of each subject, such as the life cycle, exec, limits, files, the network and attacks.
SMOKE = (
    "test_kernel.",
    "test_limits.Enforced", "test_limits.Seen",
    "test_doctor.Doctor.test_says_how_limits_hold_as_inspect_does",
    "test_lifecycle.Create.test_ready", "test_lifecycle.Run.test_status",
    "test_lifecycle.Persistence.test_files_survive",
    "test_lifecycle.StartStop.test_no_process_survives_stop",
    "test_exec.Timeout.test_timeout_kills_everything",
    "test_exec.ClientDeath.test_sigkill",
    "test_isolation.UidMaps.test_the_map_has_one_id_or_at_least_65535", "test_isolation.Sockets",
    "test_readonly.ReadOnly.test_named_directories", "test_mounts.Below.test_a_read_only_outer_volume_is_never_changed",
    "test_mounts.Directories.test_read_only_is_enforced", "test_mounts.Directories.test_owner",
    "test_network.Reach.test_the_public_internet_is_reached_and_nothing_else",
    "test_state.Killed.test_a_supervisor_killed_under_load",
    "test_metrics.Metrics.test_cpu_time", "test_metrics.Metrics.test_memory", "test_modify.Limits",
    "test_pty.Terminals.test_exit_status",
    "test_escape.Walls.test_dangerous", "test_escape.Walls.test_nested", "test_escape.Walls.test_mounts",
    "test_escape.Walls.test_writes_to_proc", "test_escape.Walls.test_socket", "test_escape.OurProcesses",
    "test_dos.Floods.test_fork_bomb",
    "test_rootdisk.ProjectQuota",
    # with version 2 cgroups the gateway is in a child of the group that has the memory limit, with version 1 in the
    # group itself; a build machine may have version 1 only
    "test_siege.GatewayMemory",
    "test_siege.CallersPriority",  # needs every capability, which a build machine may lack
    "test_siege.Hijacked",  # needs a delegated group, which a build machine may lack
)
SMOKE_MODES = ("root", "user", "delegated")
# Tests for the boot with systemd. All of them run as a user with a systemd user instance (mode
# "session"). Those that begin with SESSION_TESTS also run as a user without such an instance (mode
# "user").
SESSION = (
    "test_session.", "test_kernel.Machine.test_doctor", "test_kernel.Limits.test_limits_are",
    "test_limits.Enforced.test_memory_kills", "test_limits.Enforced.test_pids",
    "test_limits.Enforced.test_cpus",
)
SESSION_TESTS = "test_session"  # tests that need the boot with systemd in every mode
WITHOUT_OVERLAY = "test_without_overlay"  # tests that run last, after boot.py has unloaded the module overlay

INITRD = """#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module" || echo "init: cannot load $module"; done </modules/order
mount -t ext4 -o prjquota /dev/vda /root || exec sh
mount --move /dev /root/dev
mount --move /proc /root/proc
mount --move /sys /root/sys
read -r line </root/proc/cmdline
case "$line" in
*cordon.systemd*) exec switch_root /root /lib/systemd/systemd ;;
esac
exec switch_root /root /kernel/init
"""

INIT = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
stty -F /dev/ttyS0 raw -echo
exec </dev/null >/dev/ttyS0 2>&1
{
  mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 /sys/fs/cgroup
  mkdir -p /dev/pts /dev/shm
  mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
  mount -t tmpfs -o nosuid,nodev shm /dev/shm
  ln -s /proc/self/fd /dev/fd
  chmod 666 /dev/fuse # as udev does
  mount -t tmpfs -o nosuid,nodev,mode=755 run /run
  mount -t squashfs -o ro /dev/vdb /kernel/tests
  ip link set lo up
  echo kernel >/proc/sys/kernel/hostname
  # as systemd leaves it: controllers reach one level down, and nobody lives in the root group
  echo "+cpu +memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
  mkdir -p /sys/fs/cgroup/system.slice/test.service
  echo $$ >/sys/fs/cgroup/system.slice/test.service/cgroup.procs
  cat /kernel/tests/sysctl | while read -r name value; do echo "$value" >"/proc/sys/$name"; done
} || echo "init: the system is not as it should be"
echo "kernel: $(uname -r), up after $(cut -d ' ' -f 1 /proc/uptime) s"
exec sh /kernel/end /kernel/tests/command
"""

# Both boots end with this script: it runs the tests, prints their status and powers the machine off.
END = """#!/bin/sh
sh "$1"
status=$?
dmesg --level=emerg,alert,crit,err 2>/dev/null | grep -v "Memory cgroup out of memory" | tail -n 20
echo "kernel: ended with $status"
sync
busybox poweroff -f
"""

SERVICE = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
stty -F /dev/ttyS0 raw -echo
exec </dev/null >/dev/ttyS0 2>&1
{
  chmod 666 /dev/fuse
  mount -t squashfs -o ro /dev/vdb /kernel/tests
  ip link set lo up
  cat /kernel/tests/sysctl | while read -r name value; do echo "$value" >"/proc/sys/$name"; done
} || echo "init: the system is not as it should be"
echo "kernel: $(uname -r) under $(systemctl --version | head -n 1), up after $(cut -d ' ' -f 1 /proc/uptime) s"
exec sh /kernel/end /kernel/tests/session
"""

# Files that a login needs, and the unit that runs SERVICE. When packages are installed, their scripts
# write the files for a login. But boot.py only copies files of packages and runs no scripts.
SYSTEMD_FILES = {
    "etc/machine-id": "00112233445566778899aabbccddeeff\n",
    "etc/pam.d/common-account": "account required pam_permit.so\n",
    "etc/pam.d/common-auth": "auth required pam_permit.so\n",
    "etc/pam.d/common-password": "password required pam_permit.so\n",
    "etc/pam.d/common-session": "session optional pam_systemd.so\n",
    "etc/pam.d/common-session-noninteractive": "session optional pam_permit.so\n",
    "etc/systemd/system/cordon-test.service": "[Unit]\nAfter=dbus.service systemd-logind.service "
                                              "systemd-user-sessions.service\n"
                                              "Wants=systemd-logind.service\n"
                                              "[Service]\nType=oneshot\nTasksMax=infinity\n"
                                              "TimeoutStartSec=infinity\nExecStart=/kernel/service\n",
}
SYSTEMD_LINKS = {
    "etc/systemd/system/default.target": "/lib/systemd/system/multi-user.target",
    "etc/systemd/system/multi-user.target.wants/cordon-test.service": "../cordon-test.service",
}
SYSTEM_USERS = ("messagebus", "systemd-network", "systemd-resolve", "systemd-timesync")

SYSCTL = {  # Debian's systemd makes these settings, and they matter here
    "kernel/core_pattern": "core",
    "kernel/yama/ptrace_scope": "0",
}


def run(*argv, **kwargs):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, **kwargs).stdout


def say(text):
    print(f"kernel: {text}", file=sys.stderr, flush=True)


def replace(path, write):
    """Calls WRITE(temporary) and renames the result to PATH, so that PATH is never incomplete."""
    new = f"{path}.new"
    write(new)
    os.replace(new, path)


def cached(path, key):
    """Returns true if PATH was made from the same KEY. Otherwise deletes PATH and remembers KEY for the new PATH."""
    stamp, digest = path + ".key", hashlib.sha256(repr(key).encode()).hexdigest()
    if os.path.exists(path) and os.path.exists(stamp):
        with open(stamp) as handle:
            if handle.read() == digest:
                return True
    if os.path.exists(path):
        os.unlink(path)
    with open(stamp, "w") as handle:
        handle.write(digest)
    return False


# ---------------------------------------------------------------------------------------------
# the kernel


def kernel_package():
    """Returns the newest package that KERNEL depends on."""
    for line in run("apt-cache", "depends", KERNEL).splitlines():
        if "Depends:" in line:
            return line.split()[-1]
    sys.exit(f"apt knows no package {KERNEL}: apt-get update?")


def unpack_kernel():
    """Returns the directory of the unpacked package, with boot/ and lib/modules/."""
    have = sorted(d for d in os.listdir(WORK) if d.startswith("linux-image-") and
                  os.path.isdir(os.path.join(WORK, d, "boot")))
    try:
        name = kernel_package()
    except (OSError, subprocess.CalledProcessError):
        if have:
            return os.path.join(WORK, have[-1])
        raise
    place = os.path.join(WORK, name)
    if not os.path.isdir(place):
        say(f"fetching {name}")
        with tempfile.TemporaryDirectory(dir=WORK) as fetched:
            subprocess.run(["apt-get", "-qq", "download", name], cwd=fetched, check=True,
                           stderr=subprocess.DEVNULL)
            archive, = os.listdir(fetched)
            unpacked = os.path.join(fetched, "unpacked")
            run("dpkg-deb", "-x", os.path.join(fetched, archive), unpacked)
            os.rename(unpacked, place)
        for old in have:
            shutil.rmtree(os.path.join(WORK, old))
    return place


def module_order(kernel, wanted):
    """Returns the paths of the modules in an order in which they can be loaded, without built-in modules. The
    package has no modules.dep, but every module names the modules that it needs."""
    files = {}
    for where, _, names in os.walk(os.path.join(kernel, "lib", "modules")):
        for name in names:
            if name.endswith(".ko"):
                files[name[:-3].replace("-", "_")] = os.path.join(where, name)
    order = []

    def add(name):
        path = files.get(name)
        if path is None or path in order:
            return
        with open(path, "rb") as handle:
            match = re.search(rb"\0depends=([^\0]*)\0", handle.read())
        for needed in match[1].decode().split(",") if match and match[1] else []:
            add(needed.replace("-", "_"))
        order.append(path)

    for name in wanted:
        add(name)
    return order


class Newc:
    """The archive format of an initramfs."""

    def __init__(self, out):
        self.out, self.inode = out, 0

    def add(self, name, mode, data=b"", device=(0, 0)):
        self.inode += 1
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % f for f in fields)
        for part in (header + encoded, data):
            self.out.write(part + b"\0" * (-len(part) % 4))

    def close(self):
        self.add("TRAILER!!!", 0)


def make_initrd(path, kernel):
    order = module_order(kernel, MODULES)
    if cached(path, (kernel, INITRD, order)):
        return

    def write(new):
        with open(new, "wb") as out:
            archive = Newc(out)
            for name in ("bin", "dev", "proc", "sys", "root", "modules"):
                archive.add(name, stat.S_IFDIR | 0o755)
            archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
            with open(shutil.which("busybox"), "rb") as handle:
                archive.add("bin/busybox", stat.S_IFREG | 0o755, handle.read())
            for applet in ("sh", "mount", "insmod", "switch_root", "echo"):
                archive.add(f"bin/{applet}", stat.S_IFLNK | 0o777, b"busybox")
            archive.add("init", stat.S_IFREG | 0o755, INITRD.encode())
            for module in order:
                with open(module, "rb") as handle:
                    archive.add(f"modules/{os.path.basename(module)}", stat.S_IFREG | 0o644,
                                handle.read())
            names = "".join(os.path.basename(m) + "\n" for m in order)
            archive.add("modules/order", stat.S_IFREG | 0o644, names.encode())
            archive.close()

    replace(path, write)


# ---------------------------------------------------------------------------------------------
# the root file system


def make_root(path):
    packages = closure(PACKAGES)
    lacking = [p for p in PACKAGES if p not in packages]
    if lacking:
        say(f"going on without: {' '.join(lacking)}")
    if cached(path, (sorted(packages.items()), PACKAGES, LEAVE_OUT.pattern, INIT, END, SERVICE,
                     SYSTEMD_FILES, SYSTEMD_LINKS)):
        return
    say(f"making a root file system of {len(packages)} packages")
    with tempfile.TemporaryDirectory(dir=WORK) as tree:
        os.chmod(tree, 0o755)
        copy_packages(packages, tree)
        # files that no package owns: mount points, accounts, our init
        for name in ("dev", "proc", "sys", "run", "mnt", "root", "tmp", "kernel/tests",
                     "usr/local"):
            os.makedirs(os.path.join(tree, name), mode=0o755, exist_ok=True)
        os.chmod(os.path.join(tree, "tmp"), 0o1777)
        for name in ("passwd", "group"):
            shutil.copy(f"/usr/share/base-passwd/{name}.master", os.path.join(tree, "etc", name))
        write_file(os.path.join(tree, "etc/hosts"), "127.0.0.1 localhost\n::1 localhost\n")
        for name in ("shadow", "gshadow", "subuid", "subgid"):
            write_file(os.path.join(tree, "etc", name), "")
        # if the link awk of this machine does not lead to mawk, it was not copied
        if not os.path.lexists(os.path.join(tree, "usr/bin/awk")):
            os.symlink("mawk", os.path.join(tree, "usr/bin/awk"))
        write_file(os.path.join(tree, "kernel/init"), INIT, 0o755)
        write_file(os.path.join(tree, "kernel/end"), END, 0o755)
        prepare_systemd(tree)
        replace(path, lambda new: format_disk(tree, new))


def prepare_systemd(tree):
    write_file(os.path.join(tree, "kernel/service"), SERVICE, 0o755)
    for name, text in SYSTEMD_FILES.items():
        os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
        write_file(os.path.join(tree, name), text)
    for name, target in SYSTEMD_LINKS.items():
        path = os.path.join(tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(target, path)
    for number, name in enumerate(SYSTEM_USERS, 901):
        for table, line in (("passwd", f"{name}:x:{number}:{number}::/nonexistent:/usr/sbin/nologin\n"),
                            ("group", f"{name}:x:{number}:\n")):
            with open(os.path.join(tree, "etc", table), "a") as handle:
                handle.write(line)


def format_disk(tree, path):
    """Writes TREE as a file system whose files all belong to root, on a sparse disk with free space and support for
    project quotas. Runs in a user namespace, where files of the caller belong to root."""
    with open(path, "wb") as disk:
        disk.truncate(DISK_BYTES)
    command = ["mkfs.ext4", "-q", "-F", "-d", tree, "-O", "quota,project",
               "-E", "quotatype=prjquota,lazy_itable_init=1,lazy_journal_init=1", path]
    run(*([] if os.geteuid() == 0 else ["unshare", "--map-root-user"]), *command)


def write_file(path, text, mode=0o644):
    with open(path, "w") as handle:
        handle.write(text)
    os.chmod(path, mode)


def squash(tree, path):
    """Writes TREE as a read-only file system whose files all belong to root."""
    if os.path.exists(path):
        os.unlink(path)
    run("mksquashfs", tree, path, "-quiet", "-no-progress", "-all-root", "-comp", "lz4",
        "-processors", "1")


# ---------------------------------------------------------------------------------------------
# programs and tests


def make_tests(path, options):
    with tempfile.TemporaryDirectory(dir=WORK) as tree:
        os.chmod(tree, 0o755)
        shutil.copytree(options.prefix, os.path.join(tree, "prefix"), symlinks=True)
        leave_out = shutil.ignore_patterns("__pycache__", "corpus")
        for suite in ("integration", "security", "kernel"):
            shutil.copytree(os.path.join(TESTS, suite), os.path.join(tree, "tests", suite),
                            ignore=leave_out)
        shutil.copy(os.path.join(TESTS, "not-run-allowed.txt"), os.path.join(tree, "tests"))
        compiled = os.path.join(tree, "tests", "security", "compiled")
        os.mkdir(compiled)
        for name in ("attacks", "hijack"):
            run("gcc", "-static", "-O1", "-pthread", "-o", os.path.join(compiled, name),
                os.path.join(TESTS, "security", f"{name}.c"))
        write_file(os.path.join(tree, "sysctl"),
                   "".join(f"{name} {value}\n" for name, value in SYSCTL.items()))
        write_file(os.path.join(tree, "command"), options.shell or suite_command(options))
        write_file(os.path.join(tree, "session"), options.shell or session_command(options))
        run("chmod", "-R", "a+rX", tree)
        replace(path, lambda new: squash(tree, new))


def run_words(modes):
    words = ["python3", "/kernel/tests/tests/integration/run.py", "--prefix", "/kernel/tests/prefix",
             "--kernel", "--integration", "--security", "-j", "2"]
    for mode in modes:
        words += ["--mode", mode]
    return words


def first_lines():
    strict = os.environ.get("CORDON_TEST_STRICT", "0")
    return [f"export CORDON_TEST_STRICT={strict} CORDON_TEST_SLOW=8 TMPDIR=/tmp", "status=0"]


def wants_session(options):
    """Returns true if a chosen test needs the boot with systemd."""
    if options.shell:
        return options.systemd
    return not (options.patterns or options.modes) or "session" in (options.modes or ()) or \
        any(p.startswith(SESSION_TESTS) for p in options.patterns)


def wants_plain(options):
    """Returns true if a chosen test needs the boot without systemd."""
    if options.shell:
        return not options.systemd
    if options.modes and set(options.modes) == {"session"}:
        return False
    return not options.patterns or any(not p.startswith(SESSION_TESTS) for p in options.patterns)


def session_command(options):
    modes = [m for m in options.modes or () if m in ("session", "user")] or ("session", "user")
    patterns = options.patterns or SESSION
    lines = first_lines()
    for mode in modes:
        # the mode "user" runs only SESSION_TESTS here; suite_command() runs the other tests of this mode, in the boot
        # without systemd
        chosen = patterns if mode == "session" else [p for p in patterns if p.startswith(SESSION_TESTS)]
        if chosen:
            lines.append(shlex.join([*run_words([mode]), *chosen]) + " || status=$?")
    return "\n".join([*lines, "exit $status", ""])


def suite_command(options):
    words = run_words(options.modes or (() if options.all else SMOKE_MODES))
    lines = first_lines()
    patterns = [p for p in options.patterns if not p.startswith(SESSION_TESTS)]
    with_it = [p for p in patterns if not p.startswith(WITHOUT_OVERLAY)]
    without = [p for p in patterns if p.startswith(WITHOUT_OVERLAY)]
    if with_it or not patterns:
        rest = with_it or ([] if options.all else SMOKE)
        lines.append(shlex.join([*words, *rest]) + " || status=$?")
    if without or not patterns:
        lines.append("busybox rmmod overlay || status=$?")
        lines.append(shlex.join([*words, *(without or [WITHOUT_OVERLAY])]) + " || status=$?")
    return "\n".join([*lines, "exit $status", ""])


# ---------------------------------------------------------------------------------------------
# the machine


def qemu_command(kernel, disk, words):
    image, = (n for n in os.listdir(os.path.join(kernel, "boot")) if n.startswith("vmlinuz-"))
    command = ["qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
               "-smp", "2", "-m", str(MEMORY_MIB), "-nodefaults", "-no-user-config", "-display", "none",
               "-no-reboot", "-kernel", os.path.join(kernel, "boot", image),
               "-initrd", os.path.join(WORK, "initrd"),
               "-append", "console=ttyS0 loglevel=2 panic=-1 mitigations=off cryptomgr.notests tsc=reliable "
                          "no_timer_check" + "".join(f" {word}" for word in words),
               "-chardev", "stdio,id=line,signal=off", "-serial", "chardev:line"]
    for name, path, option in (("root", disk, "cache=unsafe"),
                               ("tests", os.path.join(WORK, "tests.sqfs"), "readonly=on")):
        command += ["-drive", f"if=none,id={name},format=raw,file={path},{option}",
                    "-device", f"virtio-blk-pci,drive={name}"]
    return command


def boot(kernel, *words):
    """Runs the machine to its end and passes its output on. Returns its status. WORDS go to the kernel's command
    line."""
    with tempfile.NamedTemporaryFile(dir=WORK, prefix="disk") as disk:
        run("cp", "--sparse=always", os.path.join(WORK, "root.ext4"), disk.name)
        machine = subprocess.Popen(qemu_command(kernel, disk.name, words), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
        try:
            return listen(machine)
        finally:
            machine.kill()
            machine.wait()


def listen(machine):
    """Prints the machine's output until it ends, and then how many tests passed, failed and were skipped in all runs of
    run.py together. Returns the status of the tests, or 1 if the machine was silent for too long or ended early."""
    status, pending, counted = None, b"", collections.Counter()
    runs, unsteady = set(), 0
    while True:
        if not select.select([machine.stdout], [], [], SILENCE_SECONDS)[0]:
            say(f"no word for {SILENCE_SECONDS} s, ended")
            return 1
        data = os.read(machine.stdout.fileno(), 1 << 16)
        if not data:
            break
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip("\r")
            ended = re.fullmatch(r"kernel: ended with (\d+)", text)
            if ended:
                status = int(ended[1])
                continue
            print(text, flush=True)
            run = re.match(r"(?:ok|failed|FAILED) +\[([\w-]+)\] (\S+)", text)
            if run:
                runs.add(run.groups())
            unsteady += sum(map(int, re.findall(r"^\d+ cases, .*, (\d+) unsteady$", text)))
            counts = re.fullmatch(r"(\d+ passed), (\d+ failed)(?:, (\d+ skipped))?", text)
            for number, word in (c.split() for c in counts.groups() if c) if counts else ():
                counted[word] += int(number)
    if status is None:
        say("the machine ended before the tests did")
    print(f"{len({test for _, test in runs})} cases, {len(runs)} runs in {len({mode for mode, _ in runs})} modes, "
          f"{unsteady} unsteady")
    print(", ".join(f"{counted[word]} {word}" for word in ("passed", "failed", "skipped")), flush=True)
    return 1 if status is None else status


def main(argv):
    parser = argparse.ArgumentParser(description="Black-box tests under Debian's kernel.")
    parser.add_argument("--prefix", default=os.path.join(TOP, "build", "stage"))
    parser.add_argument("--mode", action="append", dest="modes")
    parser.add_argument("--all", action="store_true", help="every test, not only SMOKE: hours")
    parser.add_argument("--shell", metavar="SCRIPT", help="run this instead of tests")
    parser.add_argument("--systemd", action="store_true", help="… and with systemd as pid 1")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    options = parser.parse_args(argv)
    started = time.monotonic()
    os.makedirs(WORK, exist_ok=True)
    kernel = unpack_kernel()
    make_initrd(os.path.join(WORK, "initrd"), kernel)
    make_root(os.path.join(WORK, "root.ext4"))
    make_tests(os.path.join(WORK, "tests.sqfs"), options)
    status = 0
    if wants_plain(options):
        status = boot(kernel)
    if wants_session(options):
        status = boot(kernel, "cordon.systemd", "systemd.getty_auto=no", "systemd.show_status=no") or status
    say(f"{time.monotonic() - started:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
