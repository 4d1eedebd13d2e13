#!/usr/bin/env python3
"""Fault injection: every system call that cordon depends on fails in turn, during the whole life of a sandbox.

    tests/fault/run.py [--prefix DIR] [--every N] [CALL…]

At each try, strace makes one occurrence of one CALL fail, such as the third `openat` of every process (client,
supervisor, pid 1 and payload). The call fails with a likely errno, or with ENOSYS for newer calls, so that fallbacks
run. Allowed outcomes are the right answer, or exit status 1 or 2 with "error: " on stderr. Afterwards, without strace,
`remove` must work, the next sandbox of the same name must work, and nothing may be left: no process, cgroup, claim or
file. If the fault hits the payload itself, the payload may fail in any way, but must end.

This program prints for each system call how many faults it has tried, for docs/security.md. Its last line is
`N passed, N failed`.
"""

import argparse
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TESTS, "integration"))

import harness  # noqa: E402  (the path is set above)

CYCLE_SECONDS = 20  # no command may take longer, whatever fails

# The likely errors of each call. A call has ENOSYS if an old kernel, on which cordon must run, does not know the call.
ERRORS = {
    # files by name
    "open": ("EMFILE", "EACCES"), "openat": ("ENOSPC", "EMFILE", "EACCES", "ENOMEM"),
    "openat2": ("ENOSYS", "EACCES", "EMFILE"), "access": ("EACCES",), "faccessat": ("EACCES",),
    "faccessat2": ("ENOSYS", "EACCES"), "quotactl_fd": ("ENOSYS", "EPERM"),
    "stat": ("EACCES",), "lstat": ("EACCES",), "newfstatat": ("EACCES", "EIO"), "statx": ("EACCES",),
    "readlink": ("EACCES",), "readlinkat": ("EACCES",), "mkdir": ("ENOSPC",), "mkdirat": ("ENOSPC", "EROFS"),
    "rename": ("ENOSPC",), "renameat": ("ENOSPC", "EIO"), "renameat2": ("ENOSYS", "ENOSPC"),
    "unlink": ("EIO",), "unlinkat": ("EIO", "EPERM"), "linkat": ("ENOSPC",), "symlinkat": ("ENOSPC",),
    "fchmodat": ("EPERM",), "fchownat": ("EPERM",), "chdir": ("EACCES",), "chroot": ("EPERM",),
    # files that are open
    "read": ("EINTR", "EIO"), "pread64": ("EIO",), "write": ("ENOSPC", "EINTR", "EIO"),
    "pwrite64": ("ENOSPC",), "readv": ("EIO",), "writev": ("EPIPE", "ENOSPC"), "sendfile": ("EINTR", "EIO"),
    "splice": ("EINVAL",), "ftruncate": ("ENOSPC",), "flock": ("EINTR", "ENOLCK"), "fstat": ("EIO",),
    "fstatfs": ("EIO",), "getdents64": ("EIO",), "lseek": ("EINVAL",), "fchmod": ("EPERM",),
    "fchown": ("EPERM",), "fchdir": ("EACCES",), "fsync": ("EIO",), "fdatasync": ("EIO",),
    "fcntl": ("EMFILE", "EINVAL"), "ioctl": ("EIO",), "dup2": ("EMFILE",), "dup3": ("EMFILE",),
    "pipe2": ("EMFILE",), "close_range": ("ENOSYS",),  # close is left out: strace would leave the descriptor open
    # processes
    "fork": ("EAGAIN",), "vfork": ("EAGAIN",), "clone": ("EAGAIN",),
    "clone3": ("ENOSYS", "EAGAIN", "EPERM", "ENOMEM"), "execve": ("ENOMEM", "EACCES"),
    "execveat": ("ENOENT",), "wait4": ("EINTR",), "kill": ("EPERM",),
    "pidfd_open": ("ENOSYS", "EMFILE"), "pidfd_send_signal": ("ESRCH",), "unshare": ("EPERM",),
    "setns": ("EPERM",), "setsid": ("EPERM",), "prctl": ("EINVAL",), "seccomp": ("EINVAL", "ENOMEM"),
    "capget": ("EPERM",), "capset": ("EPERM",), "setresuid": ("EAGAIN",), "setresgid": ("EPERM",),
    "setgroups": ("EPERM",), "setrlimit": ("EPERM",), "prlimit64": ("EPERM",),
    "sched_setaffinity": ("EINVAL",), "sched_getaffinity": ("EINVAL",), "sethostname": ("EPERM",),
    "landlock_create_ruleset": ("ENOSYS", "EOPNOTSUPP", "ENOMEM"), "landlock_add_rule": ("ENOMEM",),
    "landlock_restrict_self": ("E2BIG",),
    # memory
    "mmap": ("ENOMEM",), "brk": ("ENOMEM",), "mprotect": ("ENOMEM",), "mremap": ("ENOMEM",),
    "munmap": ("ENOMEM",), "madvise": ("EAGAIN",), "memfd_create": ("EMFILE",),
    # mounts
    "mount": ("EPERM", "ENOMEM"), "umount2": ("EBUSY",), "pivot_root": ("EINVAL",),
    "fsopen": ("ENOSYS", "EPERM"), "fsconfig": ("EINVAL", "ENOMEM"), "fsmount": ("EPERM",),
    "open_tree": ("ENOSYS", "EPERM"), "move_mount": ("ENOSYS", "EINVAL"),
    "mount_setattr": ("ENOSYS", "EPERM"),
    # sockets
    "socket": ("EMFILE", "EAFNOSUPPORT"), "socketpair": ("EMFILE",), "bind": ("EADDRINUSE",),
    "listen": ("ENOBUFS",), "connect": ("ECONNREFUSED", "EAGAIN", "EINTR"),
    "accept4": ("EMFILE", "ECONNABORTED", "EINTR"), "sendmsg": ("ENOBUFS", "EPIPE", "EINTR"),
    "recvmsg": ("ECONNRESET", "EINTR"), "sendto": ("ENOBUFS", "EPIPE", "EINTR"),
    "recvfrom": ("ECONNRESET", "EINTR"), "shutdown": ("ENOTCONN",), "getsockopt": ("ENOMEM",),
    # waiting
    "epoll_create1": ("EMFILE",), "epoll_ctl": ("ENOSPC", "ENOMEM"), "epoll_wait": ("EINTR",),
    "epoll_pwait": ("EINTR", "ENOMEM"), "eventfd2": ("EMFILE",), "signalfd4": ("EMFILE",),
    "timerfd_create": ("EMFILE",), "timerfd_settime": ("EINVAL",), "poll": ("EINTR", "ENOMEM"),
    "ppoll": ("EINTR",), "getrandom": ("EAGAIN", "EINTR"),
}

# the commands of a sandbox's life, and what each command prints when nothing goes wrong
LIFE = (
    (("create", "--name", "box", "host"), b""),
    (("exec", "box", "--", "echo", "payload"), b"payload\n"),
    (("stop", "box"), b""),
    (("remove", "--force", "box"), b""),
)


class Cycle:
    """A home and the commands in it, with or without a fault."""

    def __init__(self, prefix):
        self.cordon = os.path.join(prefix, "bin", "cordon")
        self.dir = tempfile.mkdtemp(prefix="cordon-fault-")
        self.env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.dir,
                    "CORDON_HOME": os.path.join(self.dir, "home")}
        self.learn_groups()

    def plain(self, *words):
        return subprocess.run([self.cordon, *words], env=self.env, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=CYCLE_SECONDS)

    def traced(self, side, words, *strace):
        """Runs a command under strace. strace traces either the client and its children, or the running sandbox."""
        command = ["strace", "-f", "-qq", "-o", os.path.join(self.dir, "trace"), *strace]
        if side == "client":
            # With -D the command is our own child, and strace is a grandchild. So we see the end of the command,
            # although strace still traces processes that the command left running.
            return self.run([*command, "-D", "--", self.cordon, *words])
        ours = [p for p in harness.below([os.getpid()])
                if p.comm.startswith("cordon-") and p.state != "Z"]
        tracer = subprocess.Popen([*command, *[w for p in ours for w in ("-p", str(p.pid))]])
        end = time.monotonic() + 5
        while any(p.status("TracerPid") == ["0"] for p in ours) and time.monotonic() < end:
            time.sleep(0.005)
        try:
            return self.run([self.cordon, *words])
        finally:
            tracer.terminate()
            try:
                tracer.wait(2)
            except subprocess.TimeoutExpired:
                # strace waits for the end of pid 1, and pid 1 waits for a zombie that strace still traces
                tracer.kill()
                tracer.wait()

    def run(self, argv):
        with open(os.path.join(self.dir, "out"), "w+b") as out, \
                open(os.path.join(self.dir, "err"), "w+b") as err:
            proc = subprocess.Popen(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=err)
            try:
                proc.wait(CYCLE_SECONDS)
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()
                raise
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(argv, proc.returncode, out.read(), err.read())

    def counts(self, side, words):
        """Runs the command and returns a map from each call to a count: the count of the process that makes the call
        most often. strace's `when=N` counts the calls of each process separately, so an N above this count
        hits no call."""
        self.traced(side, words)
        self.plain("remove", "--force", "box")
        self.left()
        seen = {}
        with open(os.path.join(self.dir, "trace"), errors="replace") as handle:
            for line in handle:
                match = re.match(r"(\d+) +(\w+)\(", line)
                if match:
                    seen[match[2], match[1]] = seen.get((match[2], match[1]), 0) + 1
        most = {}
        for (call, _), count in seen.items():
            most[call] = max(most.get(call, 0), count)
        return most

    def prepare(self, step):
        for words, _ in LIFE[:step]:
            self.plain(*words)

    def left(self):
        """Returns a list of what is left after the sandbox was removed. Kills the processes that are left."""
        found, end = [], time.monotonic() + 5
        while True:
            table = harness.all_processes()
            mine = [p for p in table.values() if p.ppid == os.getpid() and p.state != "Z"]
            for p in table.values():
                if p.ppid == os.getpid() and p.state == "Z":
                    try:
                        os.waitpid(p.pid, os.WNOHANG)
                    except ChildProcessError:
                        pass
            if not mine or time.monotonic() > end:
                break
            time.sleep(0.02)
        found += [f"process {p}" for p in mine]
        for p in harness.below([p.pid for p in mine]):
            harness.kill_quietly(p.pid)
        for sub in ("sandboxes", "run"):
            place = os.path.join(self.env["CORDON_HOME"], sub)
            if os.path.isdir(place):
                found += [f"{sub}/{name}" for name in os.listdir(place)]
        found += [f"cgroup {path}" for path in self.groups if os.path.exists(path)]
        found += [f"claim {c}" for c in harness.claims_below(self.dir)]
        return found

    def learn_groups(self):
        """Finds the control groups of the sandbox. The names of these groups depend on the home and the sandbox
        only."""
        self.plain("create", "--quiet", "--name", "box", "host")
        names = {g.strip("/").split("/")[0] for p in harness.below([os.getpid()])
                 for g in p.cgroups() if "cordon-" in g}
        self.groups = [os.path.join(mount, name) for mount in harness.cgroup_mounts()
                       for name in names if name.startswith("cordon-")]
        self.plain("remove", "--force", "box")

    def point(self, step, side, call, error, when):
        """Tries one fault. Returns None, or a text that says what was wrong."""
        words, right = LIFE[step]
        self.prepare(step)
        fault = f"inject={call}:error={error}:when={when}"
        try:
            got = self.traced(side, words, "-e", f"trace={call}", "-e", fault)
            wrong = None if self.was_mute(got) else self.judge(words, right, got)
        except subprocess.TimeoutExpired:
            wrong = f"hangs for {CYCLE_SECONDS} s"
        try:
            last = self.plain("remove", "--force", "box")
            if last.returncode != 0 and b"not found" not in last.stderr:
                wrong = wrong or f"cannot be removed afterwards: {last.stderr!r}"
            # the next commands must clean up and work
            for words, right in (*LIFE[:2], LIFE[3], (("list", "-q"), b"")):
                next_one = self.plain(*words)
                if (next_one.returncode, next_one.stdout) != (0, right):
                    wrong = wrong or f"{words[0]} fails afterwards: {next_one.stderr!r}"
        except subprocess.TimeoutExpired:
            wrong = wrong or "a command hangs afterwards"
        left = self.left()
        return wrong or (f"left behind: {left}" if left else None)

    def was_mute(self, got):
        """Returns true if the command failed and the fault hit the write of its message."""
        with open(os.path.join(self.dir, "trace"), errors="replace") as handle:
            return got.returncode > 0 and any(
                re.match(r"\d+ +writev?\(2, .*INJECTED", line) for line in handle)

    @staticmethod
    def judge(words, right, got):
        if got.returncode < 0:
            return f"died of signal {-got.returncode}: {got.stderr!r}"
        if got.returncode == 0:
            return None if got.stdout == right else f"status 0 but stdout {got.stdout!r}"
        if words[0] == "exec" and got.returncode in (126, 127, 134, 139):
            return None  # the fault hit the payload or its start
        if words[0] == "exec" and b"error: " not in got.stderr:
            return None if got.stderr else f"status {got.returncode} and not a word"
        if got.returncode not in (1, 2) or b"error: " not in got.stderr:
            return f"status {got.returncode}, stderr {got.stderr!r}"
        return None

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description="Fail system calls through a sandbox's life.")
    parser.add_argument("--prefix", default=os.path.join(os.path.dirname(TESTS), "build", "stage"))
    parser.add_argument("--every", type=int, default=1, help="only every Nth occurrence of a call")
    parser.add_argument("calls", nargs="*", metavar="CALL", help="only these system calls")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER, as in integration/run.py
    cycle = Cycle(options.prefix)
    passed, failed, points = 0, [], {}
    try:
        for step, side in ((0, "client"), (1, "client"), (1, "sandbox"), (2, "client"),
                           (2, "sandbox"), (3, "client")):
            words = LIFE[step][0]
            cycle.prepare(step)
            seen = cycle.counts(side, words)
            for call in sorted(set(seen) & set(options.calls or ERRORS) & set(ERRORS)):
                for error in ERRORS[call]:
                    for when in range(1, seen[call] + 1, options.every):
                        wrong = cycle.point(step, side, call, error, when)
                        points[call] = points.get(call, 0) + 1
                        if wrong:
                            failed.append(f"{words[0]}, {side}: {call} #{when} {error}: {wrong}")
                            print("FAILED  " + failed[-1], flush=True)
                            cycle.close()  # take a new home: what is left in this home must not disturb the next point
                            cycle = Cycle(options.prefix)
                        else:
                            passed += 1
            print(f"{words[0]}, {side}: these calls were not made to fail: "
                  f"{' '.join(sorted(set(seen) - set(ERRORS)))}", flush=True)
    finally:
        cycle.close()
    for call in sorted(points):
        print(f"{points[call]:6}  {call}")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
