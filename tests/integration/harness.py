"""Code that all black-box tests use. Each test has its own state directory. The sandboxes of a test
are always removed, and after every test the harness proves that nothing is left on the machine.

The process that runs tests is a sub-reaper (run.py makes it one). If our programs leave a process
running, this process becomes a child of the test process. So the harness only looks at its own
descendants, and no test has to know the names of our processes."""

import collections
import errno
import fcntl
import glob
import hashlib
import itertools
import json
import mmap
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest

PREFIX = os.environ.get("CORDON_TEST_PREFIX", "")
CORDON = os.path.join(PREFIX, "bin", "cordon")
MSB = os.path.join(PREFIX, "bin", "msb")
# root: root starts cordon. user: an ordinary user with a subuid range. bare: an ordinary user without a subuid range.
# userns: root of a user namespace with one id. container: root of a user namespace with many ids, own mounts and pids
# and read-only cgroups, as container engines make them. delegated: a user in a delegated version 2 cgroup, if the
# machine has version 2. session: a user with a systemd user instance, if systemd is pid 1. served, served-user: root
# and user whose files are on an overlay, so that fuse-overlayfs serves the roots of sandboxes.
MODE = os.environ.get("CORDON_TEST_MODE", "root" if os.geteuid() == 0 else "user")
SERVED = MODE.startswith("served")
MODE = {"served": "root", "served-user": "user"}.get(MODE, MODE)
USUAL_MODES = ("root", "user", "bare", "userns")
# the modes for test classes whose result depends on what the kernel allows
ALL_MODES = (*USUAL_MODES, "container", "delegated", "session")
ONE_ID = MODE in ("bare", "userns")  # the sandbox has no range of uids, but only one id
BASE = os.environ.get("CORDON_TEST_TMP", tempfile.gettempdir())

# factor for all time limits; an emulated machine needs a larger factor
SLOW = int(os.environ.get("CORDON_TEST_SLOW", "1"))
COMMAND_SECONDS = 30 * SLOW  # no single command of ours may take longer
GONE_SECONDS = 5 * SLOW      # a removed sandbox has no process after this time

HOST_SECRET = "CORDON_TEST_SECRET"
HOST_SECRET_VALUE = "must-not-be-seen-inside"

_numbers = itertools.count(1)


def unique_number():
    """Returns a number of seconds that no other test sleeps for. A test uses this number to find
    its own `sleep` in process lists."""
    return 1_000_000_000 + (os.getpid() % 100_000) * 10_000 + next(_numbers)


# ---------------------------------------------------------------------------------------------
# processes, as the host sees them


class Process:
    """One line of the host's process table."""

    def __init__(self, pid):
        self.pid = pid
        # The suite reads this file a million times, so it calls os.open(), which is faster than open().
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        try:
            text = os.read(fd, 4096).decode("utf-8", "replace")
        finally:
            os.close(fd)
        end = text.rindex(")")
        rest = text[end + 2:].split(None, 20)
        self.comm = text[text.index("(") + 1:end]
        self.state, self.ppid = rest[0], int(rest[1])
        self.start = int(rest[19])

    @property
    def cmdline(self):
        try:
            with open(f"/proc/{self.pid}/cmdline", "rb") as handle:
                return [a.decode("utf-8", "replace") for a in handle.read().split(b"\0")[:-1]]
        except OSError:
            return []

    def status(self, key):
        try:
            with open(f"/proc/{self.pid}/status") as handle:
                for line in handle:
                    if line.startswith(key + ":"):
                        return line.split(":", 1)[1].split()
        except OSError:
            pass
        return []

    @property
    def uids(self):
        """The real, effective, saved and file-system uid, by the ids of the host."""
        return [int(u) for u in self.status("Uid")]

    @property
    def is_pid1(self):
        """True for the first process of a pid namespace below ours."""
        inside = self.status("NSpid")
        return len(inside) > 1 and inside[-1] == "1"

    @property
    def rss_kib(self):
        value = self.status("VmRSS")
        return int(value[0]) if value else 0

    def cgroups(self):
        try:
            with open(f"/proc/{self.pid}/cgroup") as handle:
                return [line.rstrip("\n").split(":", 2)[2] for line in handle]
        except OSError:
            return []

    def __repr__(self):
        return f"{self.pid} ({self.comm}) {self.state} ppid={self.ppid} {self.cmdline}"


def all_processes():
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                found[int(entry)] = Process(int(entry))
            except (OSError, ValueError):
                pass
    return found


def own_children():
    """Returns our children by pid, zombies included. No other process can reap our children, so none of them leaves the
    kernel's list while we read the list."""
    found = {}
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return found
    try:
        listed = []
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children") as handle:
                listed += handle.read().split()
    except FileNotFoundError:  # this kernel has no lists of children, or a thread has just ended
        return {p.pid: p for p in all_processes().values() if p.ppid == os.getpid()}
    for pid in map(int, listed):
        try:
            found[pid] = Process(pid)
        except (OSError, ValueError):
            pass  # another thread of the test has reaped this child
    return found


def below(roots, table=None):
    """Returns ROOTS and all their descendants."""
    table = table or all_processes()
    children = collections.defaultdict(list)
    for p in table.values():
        children[p.ppid].append(p)
    found, todo = [], [table[r] for r in roots if r in table]
    while todo:
        p = todo.pop()
        found.append(p)
        todo.extend(children[p.pid])
    return found


def kill_quietly(pid, sig=signal.SIGKILL):
    try:
        os.kill(pid, sig)
    except (ProcessLookupError, PermissionError):
        pass


def waiting_in(fd):
    """The number of bytes that can be read from the descriptor."""
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0]


def cgroup_mounts():
    with open("/proc/self/mountinfo") as handle:
        for line in handle:
            fields = line.split()
            if fields[fields.index("-") + 1] in ("cgroup", "cgroup2"):
                yield fields[4]


def groups_of(home):
    """Returns the control groups of all sandboxes in HOME, also groups that killed supervisors left. The first
    digits of a group's name identify the home."""
    tag = hashlib.sha256(os.path.realpath(home).encode()).hexdigest()[:6]
    prefix, found = f"cordon-{tag}", set()
    own = Process(os.getpid()).cgroups()
    for mount in cgroup_mounts():
        users = os.path.join(mount, "user.slice")
        scopes = glob.glob(f"{users}/*/*/app.slice/{prefix}.scope") if os.path.isdir(users) else []
        for place in {mount, *((mount + group).rstrip("/") for group in own), *scopes}:
            try:
                names = os.listdir(place)
            except OSError:
                continue
            found.update(os.path.join(place, name) for name in names if name.startswith(prefix)
                         and re.fullmatch("[0-9a-f]{10}", name[len(prefix):]))
    return found


def limits_of(home):
    """The limits in the cgroup of the only sandbox in HOME: cpus, memory in bytes, pids."""
    found = {}

    def read(path):
        try:
            with open(path) as handle:
                return handle.read().split()
        except OSError:
            return None

    for group in groups_of(home):
        for where in (group, os.path.join(group, "payload")):
            quota, most = read(f"{where}/cpu.cfs_quota_us"), read(f"{where}/cpu.max")
            if quota and quota[0] != "-1":
                found["cpus"] = int(quota[0]) / int(read(f"{where}/cpu.cfs_period_us")[0])
            if most and most[0] != "max":
                found["cpus"] = int(most[0]) / int(most[1])
            for key, names in (("memory", ("memory.limit_in_bytes", "memory.max")),
                               ("pids", ("pids.max",))):
                for name in names:
                    value = read(f"{where}/{name}")
                    if value and value[0] != "max" and int(value[0]) < 1 << 60:
                        found[key] = int(value[0])
    return found


def remove_groups(groups):
    for group in groups:
        for where, _, _ in os.walk(group, topdown=False):
            try:
                os.rmdir(where)
            except OSError:
                pass  # leave_nothing reports the group


# ---------------------------------------------------------------------------------------------
# one invocation of a program


class Result:
    def __init__(self, argv, code, out, err, seconds):
        self.argv, self.code, self.out, self.err, self.seconds = argv, code, out, err, seconds

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def errtext(self):
        return self.err.decode("utf-8", "replace")

    def stderr_line(self, n):
        lines = self.errtext.splitlines()
        return lines[n] if n < len(lines) else ""

    def json(self):
        return json.loads(self.text)

    def __str__(self):
        def cut(data):
            text = data.decode("utf-8", "replace")
            return repr(text if len(text) < 1500 else text[:700] + " … " + text[-700:])

        line = shlex.join(a if isinstance(a, str) else os.fsdecode(a) for a in self.argv)
        if len(line) > 400:
            line = line[:400] + " …"
        return (f"$ {line}\n  exit {self.code} after {self.seconds:.2f} s\n"
                f"  stdout {cut(self.out)}\n  stderr {cut(self.err)}")


class Reader(threading.Thread):
    """Reads one pipe in a thread. A test may read `data` at any time."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.fd, self.stream, self.data = stream.fileno(), stream, b""
        self.start()

    def run(self):
        while True:
            try:
                chunk = os.read(self.fd, 1 << 16)
            except OSError:
                return
            if not chunk:
                return
            self.data += chunk


class Terminal:
    """A program on a pseudo-terminal, as if a person at a keyboard ran it."""

    def __init__(self, test, argv, env, rows=24, cols=80, pass_fds=(), cwd=None):
        self.test, self.seen = test, b""
        self.master, self.slave = pty.openpty()
        self.resize(rows, cols, notify=False)
        self.before = termios.tcgetattr(self.slave)
        slave = self.slave

        def own_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.proc = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=env,
                                     preexec_fn=own_terminal, pass_fds=pass_fds, cwd=cwd)
        test.spawned.append(self.proc)
        test.addCleanup(self.close)

    def resize(self, rows, cols, notify=True):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def send(self, data):
        os.write(self.master, data.encode() if isinstance(data, str) else data)

    def pump(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            try:
                self.seen += os.read(self.master, 1 << 16)
            except OSError as exc:
                if exc.errno != errno.EIO:
                    raise
                return False
        return True

    def expect(self, pattern, within=10):
        """Waits for PATTERN in the output after the last match."""
        wanted = re.compile(pattern.encode() if isinstance(pattern, str) else pattern, re.S)
        end = time.monotonic() + within * SLOW
        while True:
            match = wanted.search(self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return match
            left = end - time.monotonic()
            if left <= 0:
                self.test.fail(f"terminal: no {pattern!r} within {within} s, saw {self.seen!r}")
            self.pump(min(left, 0.2))

    def wait(self, within=10):
        """Waits for the program, reads its output meanwhile and returns its exit status."""
        end = time.monotonic() + within * SLOW
        while self.proc.poll() is None:
            if time.monotonic() > end:
                self.test.fail(f"terminal: still running after {within} s, saw {self.seen!r}")
            self.pump(0.05)
        while select.select([self.master], [], [], 0)[0] and self.pump(0):
            pass
        return self.proc.returncode

    def attributes(self):
        return termios.tcgetattr(self.slave)

    def restored(self):
        return self.attributes() == self.before

    def close(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        for fd in (self.master, self.slave):
            try:
                os.close(fd)
            except OSError:
                pass


# ---------------------------------------------------------------------------------------------
# sandboxes


class Box:
    """A sandbox made by a test."""

    def __init__(self, test, name, home):
        self.test, self.name, self.home = test, name, home
        self.roots = set()  # host pids of processes that our programs left running for this sandbox

    def cordon(self, *args, **kwargs):
        return self.test.cordon(*args, home=self.home, **kwargs)

    def exec(self, *command, opts=(), **kwargs):
        return self.cordon("exec", *opts, self.name, "--", *command, **kwargs)

    def sh(self, script, *args, opts=(), **kwargs):
        return self.exec("sh", "-c", script, "sh", *args, opts=opts, **kwargs)

    def out(self, script, *args, **kwargs):
        """Runs a script that must succeed. Returns its stdout without the last newline."""
        got = self.sh(script, *args, **kwargs)
        self.test.assertEqual(got.code, 0, got)
        return got.text.rstrip("\n")

    def popen(self, *command, opts=(), **kwargs):
        return self.test.spawn("exec", *opts, self.name, "--", *command, home=self.home, **kwargs)

    def terminal(self, *command, opts=(), **kwargs):
        return self.test.terminal("exec", *opts, self.name, "--", *command, home=self.home,
                                  **kwargs)

    def status(self):
        got = self.cordon("status", self.name, "--format", "json")
        return got.json()["status"] if got.code == 0 else None

    def inspect(self):
        got = self.cordon("inspect", self.name, "--show-env", "--format", "json")
        self.test.assertEqual(got.code, 0, got)
        return got.json()

    def start(self, *opts):
        with self.test.claiming(self):
            got = self.cordon("start", *opts, self.name)
        return got

    def stop(self, *opts):
        return self.cordon("stop", *opts, self.name)

    def remove(self, *opts):
        return self.cordon("remove", *opts, self.name)

    def host_processes(self):
        return [p for p in below(self.roots) if p.state != "Z"]

    def pid1(self):
        # fuse-overlayfs is the first process of its own pid namespace as well
        found = [p for p in self.host_processes() if p.is_pid1 and p.comm != "fuse-overlayfs"]
        self.test.assertEqual(len(found), 1, f"one pid 1 expected: {self.host_processes()}")
        return found[0]

    def supervisor(self):
        """The supervisor of the sandbox."""
        found = [p for p in self.host_processes() if len(p.status("NSpid")) == own_depth()
                 and p.comm.startswith("cordon-superv")]
        # A child of the supervisor has the supervisor's name until the child changes its own name.
        # The supervisor of the last start may still be exiting: it has no memory left and shows no
        # arguments.
        found = [p for p in found if p.cmdline and p.ppid not in {q.pid for q in found}]
        self.test.assertEqual(len(found), 1, f"one supervisor expected: {self.host_processes()}")
        return found[0]


def own_depth():
    return len(Process(os.getpid()).status("NSpid"))


def loops_below(directory):
    """Returns the loop devices whose file is below the directory."""
    found = []
    for name in os.listdir("/sys/block") if os.path.isdir("/sys/block") else []:
        try:
            with open(f"/sys/block/{name}/loop/backing_file") as handle:
                path = handle.read().strip()
        except OSError:
            continue  # this is no loop device, or a free loop device
        if path.startswith(directory + "/"):
            found.append(f"{name} -> {path}")
    return found


SLOT_BYTES = 4096  # size of a slot in the tables of uid ranges
_tables = {}       # for the path of each table: its size and its mapped contents


def table_of_ranges(path):
    """Returns the contents of a machine-wide table of uid ranges, mapped into memory. The table has 16 MiB, and to map
    it takes longer than to search it. So the table stays mapped for the next test."""
    with open(path, "rb") as handle:
        size = os.fstat(handle.fileno()).st_size
        if size and _tables.get(path, (0,))[0] != size:
            _tables[path] = size, mmap.mmap(handle.fileno(), size, access=mmap.ACCESS_READ)
    return _tables[path][1] if size else b""


def claims_below(directory):
    """Returns the records below the directory that have a slot in the machine-wide table of uid ranges."""
    claims = []
    for path in ("/var/lib/cordon/uid-ranges", "/run/cordon/uid-ranges"):
        slots = table_of_ranges(path) if os.access(path, os.R_OK) else b""
        for number, first in enumerate(slots[::SLOT_BYTES]):
            if first:  # the first byte of a free slot is zero
                at = number * SLOT_BYTES
                record = os.fsdecode(slots[at:at + SLOT_BYTES].split(b"\0", 1)[0])
                if record.startswith(directory):
                    claims.append(f"{path} -> {record}")
    return claims


class KeptHome:
    """A home without sandboxes that one test leaves to the next test of the job (a process of run.py). The home holds
    the base of the image `host`. The base has 500 files, and to make and delete them takes longer than most tests. The
    first test of each job makes a home, and so does every test of a class with `own_home`."""

    PARTS = {".cordon-home", "bin", "cache", "run", "sandboxes", "volumes"}
    # .cordon-home, the marker file of a home, is longer if it names directories outside the home (`paths` in
    # config.json)
    MARKER_BYTES = 40
    BASE_NAME = re.compile(r"([0-9a-f]{16}|places-\d+)(-u)?(-g)?")

    def __init__(self):
        # the name has no process number, because in the mode `container` every job is process 1 of
        # its own pid namespace
        self.path, self.lock = os.path.join(BASE, f"kept-{os.urandom(8).hex()}"), threading.Lock()

    def lend(self, home):
        """Moves the kept home to HOME, unless the test runs cordon as another user than the test that left it. Such a
        test has given its own directory, where HOME will be, to that user."""
        try:
            if not os.path.lexists(home) and \
                    os.lstat(self.path).st_uid == os.stat(os.path.dirname(home)).st_uid:
                os.rename(self.path, home)
        except OSError:
            # there is no kept home, or HOME is on another file system or in a directory that does not exist yet
            pass

    def take(self, home):
        """Makes HOME the kept home if there is none, if HOME holds only bases, and if HOME can be renamed to the place
        of the kept home. Returns true if it did."""
        def names(*part):
            return os.listdir(os.path.join(home, *part))

        try:
            if os.path.islink(home) or os.path.lexists(self.path) or \
                    set(names()) != self.PARTS or names("cache") != ["host"] or \
                    names("bin") + names("sandboxes") + names("volumes") or \
                    os.path.getsize(os.path.join(home, ".cordon-home")) > self.MARKER_BYTES or \
                    not all(map(self.BASE_NAME.fullmatch, names("cache", "host"))):
                return False
            for name in names("run"):
                os.unlink(os.path.join(home, "run", name))
            os.rename(home, self.path)
        except OSError:
            return False
        return True

    def drop(self):
        if os.path.lexists(self.path):
            if bases_of_others(self.path):
                subprocess.run([CORDON, "image", "prune", "--yes", "--quiet"], env={**os.environ, "CORDON_HOME": self.path},
                               stdout=subprocess.DEVNULL)
            shutil.rmtree(self.path)


def bases_of_others(home):
    """Returns the bases of the image `host` with rotated owners. Their files belong to ids of the user's range, so
    rmtree cannot remove them."""
    return glob.glob(os.path.join(home, "cache/host/*-[ug]"))


kept_home = KeptHome()


class CordonTest(unittest.TestCase):
    """Base of every black-box test."""

    modes = USUAL_MODES
    # if true, no test of this class gets a kept home: the first command of each test makes the
    # test's home
    own_home = False
    timeout = 60
    maxDiff = 4000

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="t", dir=BASE)
        self.home = os.path.join(self.dir, "home")
        self.homes, self.boxes, self.spawned, self.history = [], [], [], []
        self.cgroups = set()
        self.addCleanup(self.leave_nothing)

    # -- running programs ---------------------------------------------------------------------

    def environment(self, home=None, extra=None):
        home = home or self.home
        if home not in self.homes:
            self.homes.append(home)
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "HOME": self.dir, "CORDON_HOME": home, "LANG": "C.UTF-8",
               HOST_SECRET: HOST_SECRET_VALUE}
        for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if key in os.environ:
                env[key] = os.environ[key]
        for key, value in (extra or {}).items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = value
        return env

    def lend_home(self, home, args):
        """Puts the kept home of an earlier test at the place where the command ARGS would make a home."""
        home = home or self.home
        with kept_home.lock:
            if home not in self.homes and args[:1] in (("create",), ("run",)) and not self.own_home:
                self.homes.append(home)
                kept_home.lend(home)

    def cordon(self, *args, stdin=None, env=None, timeout=COMMAND_SECONDS, home=None, cwd=None,
               program=CORDON, **popen):
        """Runs the program to its end. STDIN is the bytes to send, or None for /dev/null."""
        self.lend_home(home, args)
        argv, started = [program, *args], time.monotonic()
        proc = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd or self.dir,
            env=self.environment(home, env), **popen)
        self.spawned.append(proc)
        try:
            out, err = proc.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            proc.kill()
            out, err = proc.communicate()
            got = Result(argv, "none: killed by the test", out, err, time.monotonic() - started)
            self.history.append(got)
            self.fail(f"not finished after {timeout} s\n{got}")
        finally:
            self.spawned.remove(proc)
        got = Result(argv, proc.returncode, out, err, time.monotonic() - started)
        self.history.append(got)
        return got

    def spawn(self, *args, home=None, env=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
              stderr=subprocess.PIPE, program=CORDON, **popen):
        """Starts the program and returns at once. The program is killed when the test ends."""
        self.lend_home(home, args)
        proc = subprocess.Popen([program, *args], stdin=stdin, stdout=stdout, stderr=stderr,
                                cwd=self.dir, env=self.environment(home, env), **popen)
        self.spawned.append(proc)
        return proc

    def terminal(self, *args, home=None, env=None, rows=24, cols=80, cwd=None):
        self.lend_home(home, args)
        extra = {"TERM": "xterm", **(env or {})}
        return Terminal(self, [CORDON, *args], self.environment(home, extra), rows, cols, cwd=cwd)

    def finish(self, proc, within=COMMAND_SECONDS):
        """Waits for a spawned program and returns its Result."""
        started = time.monotonic()
        try:
            out, err = proc.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            proc.kill()
            out, err = proc.communicate()
            self.fail(f"not finished after {within} s: {proc.args} {out!r} {err!r}")
        got = Result(proc.args, proc.returncode, out or b"", err or b"",
                     time.monotonic() - started)
        self.history.append(got)
        return got

    # -- sandboxes ----------------------------------------------------------------------------

    class _Claim:
        def __init__(self, test, box):
            self.test, self.box = test, box

        def __enter__(self):
            self.before = {p.pid for p in self.test.left_running()}

        def __exit__(self, *exc):
            for p in self.test.left_running():
                if p.pid not in self.before:
                    self.box.roots.add(p.pid)
            self.test.remember_cgroups(self.box)

    def claiming(self, box):
        """Returns a context. Processes that our programs leave running in this context belong to BOX."""
        return self._Claim(self, box)

    def create(self, *opts, image="host", name=None, home=None, **kwargs):
        """Creates a sandbox, which must succeed. Returns the running sandbox."""
        box = self.box(name, home)
        with self.claiming(box):
            got = self.cordon("create", "--quiet", "--name", box.name, *opts, image,
                              home=home, **kwargs)
        self.assertEqual(self.built(got).code, 0, got)
        return box

    def built(self, got):
        """Returns GOT, the result of a command. If GOT says that the feature is not supported yet, skips the test."""
        if got.code == 1 and re.fullmatch(r"error: .* is not supported yet\n", got.errtext):
            self.not_run(got.errtext.strip()[len("error: "):])
        return got

    def box(self, name=None, home=None):
        """Returns a sandbox that has a name but is not created yet."""
        box = Box(self, name or f"b{os.getpid()}-{next(_numbers)}", home or self.home)
        self.boxes.append(box)
        return box

    def names(self, *opts, home=None):
        got = self.cordon("list", "-q", *opts, home=home)
        self.assertEqual(got.code, 0, got)
        return got.text.split()

    # -- waiting ------------------------------------------------------------------------------

    def eventually(self, condition, within=5, message=None):
        """Asserts that CONDITION becomes true; returns its value."""
        end, nap = time.monotonic() + within * SLOW, 0.002
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                what = message() if callable(message) else message
                self.fail(f"not within {within} s: {what or condition}")
            time.sleep(nap)
            nap = min(nap * 1.5, 0.1)

    def sleepers(self, number):
        """Host processes of this test that run `sleep NUMBER`."""
        return [p for p in below([os.getpid()])
                if p.state != "Z" and p.cmdline[:2] == ["sleep", str(number)]]

    def not_run(self, reason):
        raise unittest.SkipTest(reason)

    def make_root(self, *programs):
        """A root directory with a shell and a few programs, for use as an image."""
        root = os.path.join(self.dir, "root")
        shutil.rmtree(root, ignore_errors=True)
        wanted = ["/bin/sh"] + [shutil.which(p, path="/usr/bin:/bin:/usr/sbin:/sbin") for p in
                                ("cat", "ls", "sleep", "id", "mkdir", "touch", "readlink", "env",
                                 "true", "rm", "chown", "stat", *programs)]
        for path in wanted:
            self.install_program(root, path)
        for sub in ("etc", "tmp", "root", "var", "run", "proc", "dev", "sys"):
            os.makedirs(os.path.join(root, sub), exist_ok=True)
        for link in ("bin", "lib", "lib64"):
            place = os.path.join(root, link)
            if not os.path.exists(place):
                os.symlink("usr/" + link, place)
        with open(os.path.join(root, "etc/passwd"), "w") as handle:
            handle.write("root:x:0:0:root:/root:/bin/sh\nworker:x:1000:1000::/home/w:/bin/sh\n")
        with open(os.path.join(root, "etc/group"), "w") as handle:
            handle.write("root:x:0:\nworker:x:1000:\nextra:x:2000:worker\n")
        return root

    @staticmethod
    def install_program(root, path):
        """Copies a program and the libraries it needs to the same places below ROOT."""
        listed = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
        for source in [path, *re.findall(r"(/\S+) \(0x", listed)]:
            place = source if source.startswith("/usr/") else "/usr" + source
            target = root + place
            if not os.path.exists(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(os.path.realpath(source), target)

    # -- the end of a test --------------------------------------------------------------------

    def kill_supervisor_of_create(self, delay, *opts):
        """Runs `create`, and kills the supervisor DELAY seconds after it has appeared. Asserts that `remove` deletes
        everything."""
        proc = self.spawn("create", "-q", "--name", "victim", *opts)
        seen = self.eventually(lambda: proc.poll() is not None or [
            p for p in below([proc.pid]) + self.left_running() if p.comm.startswith("cordon-superv")])
        threading.Event().wait(delay)
        for p in seen if isinstance(seen, list) else []:
            kill_quietly(p.pid)
        proc.wait()
        self.cordon("remove", "-f", "-q", "victim")
        self.cordon("list")
        self.eventually(lambda: not loops_below(os.path.join(self.home, "sandboxes")))
        self.eventually(lambda: not self.left_running())
        self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])

    def left_running(self):
        """Returns the processes that our programs left running. These processes are our children,
        because we are the sub-reaper."""
        known = {p.pid for p in self.spawned}
        return [p for p in own_children().values() if p.pid not in known and p.state != "Z"]

    def reap(self):
        known = {p.pid for p in self.spawned}
        for p in own_children().values():
            if p.state == "Z" and p.pid not in known:
                try:
                    os.waitpid(p.pid, os.WNOHANG)
                except ChildProcessError:
                    pass

    def remember_cgroups(self, box):
        for p in box.host_processes():
            for group in p.cgroups():
                if re.search(r"/cordon-[0-9a-f]{16}(/|$)", group):
                    for mount in cgroup_mounts():
                        if os.path.isdir(mount + group):
                            self.cgroups.add(mount + group)

    def diagnosis(self):
        """Returns a text for a failing test: the last commands, and what the sandboxes logged."""
        parts = ["last commands:"] + [str(r) for r in self.history[-6:]]
        for home in self.homes:
            for where, _, files in os.walk(os.path.join(home, "sandboxes")):
                for name in sorted(files):
                    if name.endswith(".log") and "logs" in where:
                        path = os.path.join(where, name)
                        try:
                            with open(path, errors="replace") as handle:
                                text = handle.read()[-2000:]
                        except OSError as exc:
                            text = str(exc)
                        if text:
                            parts.append(f"{path}:\n{text}")
        return "\n".join(parts)

    def leave_nothing(self):
        """Removes the test's sandboxes and asserts that nothing of the test is left."""
        for proc in list(self.spawned):
            if proc.poll() is None:
                proc.kill()
            proc.wait()
            for stream in (proc.stdin, proc.stdout, proc.stderr):
                if stream:
                    stream.close()
        self.spawned.clear()
        found = []
        for home in list(self.homes):
            if os.path.isdir(os.path.join(home, "sandboxes")):
                for name in os.listdir(os.path.join(home, "sandboxes")):
                    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
                        got = self.cordon("remove", "--force", name, home=home)
                        if got.code != 0 and "not found" not in got.errtext:
                            found.append(f"remove --force failed:\n{got}")
        found += self.leftovers()
        for home in self.homes:
            if (found or self.own_home or not kept_home.take(home)) and bases_of_others(home):
                self.cordon("image", "prune", "--yes", home=home)
        left = [p.pid for p in self.left_running()]
        for p in below(left) if left else []:
            kill_quietly(p.pid)
        self.reap()
        self.wipe(found)
        if found:
            self.fail("left behind: " + "\n  ".join(found))

    def leftovers(self):
        found, end = [], time.monotonic() + GONE_SECONDS
        while self.left_running() and time.monotonic() < end:
            self.reap()
            time.sleep(0.02)
        left = [p.pid for p in self.left_running()]
        found += [f"process {p}" for p in (below(left) if left else [])]
        with open("/proc/self/mountinfo") as handle:
            found += [f"mount {line.strip()}" for line in handle if self.dir in line]
        end = time.monotonic() + 2
        while (groups := self.left_groups()) and time.monotonic() < end:
            time.sleep(0.02)
        found += [f"cgroup {path}" for path in sorted(groups)]
        with open("/proc/net/unix") as handle:
            found += [f"socket {line.strip()}" for line in handle if self.dir in line]
        found += [f"uid range claim {c}" for c in self.uid_claims()]
        end = time.monotonic() + 2  # the kernel frees a loop device a moment after its mount has ended
        while (loops := loops_below(self.dir)) and time.monotonic() < end:
            time.sleep(0.02)
        found += [f"loop device {loop}" for loop in loops]
        for home in self.homes:
            for sub in ("sandboxes", "run"):
                place = os.path.join(home, sub)
                if os.path.isdir(place):
                    found += [f"file {place}/{name}" for name in os.listdir(place)
                              if not (name.endswith(".lock") and sub == "run")
                              and name != ".cordon-place"]
        return found

    def left_groups(self):
        left = {path for path in self.cgroups if os.path.exists(path)}
        return left.union(*map(groups_of, self.homes))

    def uid_claims(self):
        return claims_below(self.dir)

    def wipe(self, found):
        """Deletes the test directory. Adds the paths that cannot be deleted to FOUND."""
        def note(function, path, info):
            found.append(f"cannot remove {path}: {info[1]}")

        if found:
            remove_groups(self.left_groups())  # the test has reported that these groups are left
        shutil.rmtree(self.dir, onerror=note)
