#!/usr/bin/env python3
"""Runs the black-box suites over installed programs.

    tests/integration/run.py [--prefix DIR] [-j N] [--mode MODE]… [PATTERN…]

Every test runs once in each of its privilege modes that the machine allows (see MODES): for example as root, as an
ordinary user with or without a range of subordinate ids, or inside a user namespace. A test
passes, fails, or is "not run" with a reason. The reasons are listed at the end. With
CORDON_TEST_STRICT=1 only the reasons in tests/not-run-allowed.txt are accepted.

A test that fails runs once more, alone. If it passes this time, it counts as passed and as unsteady. With
CORDON_TEST_STRICT=1 more than UNSTEADY_MAX unsteady tests are a failure.

The last two lines of the output are the result. A case is a test, and a run is a case in one mode:

    1451 cases, 4758 runs in 7 modes, 0 unsteady
    4758 passed, 0 failed, 132 skipped

A PATTERN selects the tests whose name (module.Class.test) contains PATTERN. The options --integration,
--security, --work and so on (see SUITES) select suites. Without such an option the integration and security suites
run.

Test classes run in parallel. A job is a process that runs one large class, or several small classes of one file, in one
mode. A job is the sub-reaper of everything that it starts. A job runs its tests one after the other, and reports each
result as a line of JSON. If a test exceeds its time, the job interrupts the test. If the test still does not end, the
runner kills the job and runs the rest of the job's tests in a new job.
"""

import argparse
import collections
import ctypes
import fcntl
import fnmatch
import glob
import importlib
import json
import os
import pwd
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
SUITES = ("integration", "security", "work", "soak", "kernel", "peers")
DEFAULT_SUITES = ("integration", "security")
MODES = {
    "root": "started by root",
    "user": "an ordinary user with a range of subordinate ids",
    "bare": "an ordinary user without one",
    "userns": "root of a user namespace that maps one id",
    "container": "root of a container: many ids, own mounts and pids, read-only cgroups",
    "delegated": "an ordinary user with a range of ids and a version 2 cgroup",
    "session": "an ordinary user with a range of ids and a systemd of his own",
    "served": "root whose files are on an overlay, which the kernel's overlay cannot use again",
    "served-user": "an ordinary user with a range of ids, likewise",
}
LIKE = {"served": "root", "served-user": "user"}  # with --wide, the served modes also run the tests of these modes
# a job with fewer tests also gets the tests of the next class, because to start Python takes as long as one test
JOB_TESTS = 12
SLOW = int(os.environ.get("CORDON_TEST_SLOW", "1"))  # factor for all time limits of tests
UNSTEADY_MAX = 2  # how many unsteady tests CORDON_TEST_STRICT=1 accepts at most
UNRESPONSIVE_SECONDS = 20  # if a test does not end this long after its own limit, its job is killed
PR_SET_CHILD_SUBREAPER = 36


def become_subreaper():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# ---------------------------------------------------------------------------------------------
# inside a job


class Overrun(Exception):
    pass


class Reporter(unittest.TestResult):
    """Turns results into lines of JSON on the pipe to the runner."""

    def __init__(self, out):
        super().__init__()
        self.out = out

    def say(self, **event):
        self.out.write(json.dumps(event) + "\n")
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self.began, self.problems, self.reason = time.monotonic(), [], None
        limit = limit_of(test)
        self.say(event="start", test=test.id(), limit=limit)

        def overrun(signum, frame):
            raise Overrun(f"took longer than {limit} s")

        signal.signal(signal.SIGALRM, overrun)
        signal.setitimer(signal.ITIMER_REAL, limit)

    def problem(self, test, err):
        text = explain(err)
        if not self.problems and hasattr(test, "history"):
            try:
                text += "\n" + test.diagnosis()
            except Exception as exc:
                text += f"\n(no diagnosis: {exc})"
        self.problems.append(text)

    def addError(self, test, err):
        self.problem(test, err)

    def addFailure(self, test, err):
        self.problem(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.problems.append(f"{subtest._subDescription()}: {explain(err)}")

    def addSkip(self, test, reason):
        self.reason = reason

    def stopTest(self, test):
        signal.setitimer(signal.ITIMER_REAL, 0)
        super().stopTest(test)
        took = time.monotonic() - self.began
        if self.problems:
            self.say(event="fail", test=test.id(), seconds=took, text="\n".join(self.problems))
        elif self.reason is not None:
            self.say(event="not run", test=test.id(), reason=self.reason)
        else:
            self.say(event="pass", test=test.id(), seconds=took)


def explain(err):
    """Returns the text of a failure: first the message, then the last stack frames outside unittest."""
    kind, exc, frames = err
    where = [f"  at {f.filename.rsplit('/', 1)[1]}:{f.lineno} in {f.name}: {f.line}"
             for f in traceback.extract_tb(frames) if "/unittest/" not in f.filename]
    return f"{kind.__name__}: {exc}\n" + "\n".join(where[-4:])


def limit_of(test):
    method = getattr(test, getattr(test, "_testMethodName", ""), None)
    return getattr(method, "timeout", getattr(test, "timeout", 60)) * SLOW


def run_job(suite_dir, test_ids):
    become_subreaper()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path[:0] = [suite_dir, HERE]
    reporter = Reporter(out)
    for test_id in test_ids:
        unittest.defaultTestLoader.loadTestsFromName(test_id).run(reporter)
    if "harness" in sys.modules:
        sys.modules["harness"].kept_home.drop()
    return 0


# ---------------------------------------------------------------------------------------------
# the mode "container"

CONTAINER_IDS = 1 << 30  # the first host id of the container, which is the id of its root
CONTAINER_COUNT = 1 << 18


def enter_container(argv):
    """Imitates an unprivileged container, and executes ARGV as its root. The container has a user
    namespace with a wide map, a mount, pid and ipc namespace, a new /run, and no usable cgroup."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(result):
        if result != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child:
        os.read(ready[0], 1)
        for kind in ("uid", "gid"):
            with open(f"/proc/{child}/{kind}_map", "w") as handle:
                handle.write(f"0 {CONTAINER_IDS} {CONTAINER_COUNT}\n")
        os.write(go[1], b"x")
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255
    call(libc.prctl(1, signal.SIGKILL))  # PR_SET_PDEATHSIG
    call(libc.unshare(0x10000000 | 0x00020000 | 0x20000000 | 0x08000000))  # user mnt pid ipc
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    os.setgroups([])
    os.setgid(0)
    os.setuid(0)
    inner = os.fork()
    if inner:
        return os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]) & 255
    call(libc.prctl(1, signal.SIGKILL))
    for command in (["mount", "--make-rprivate", "/"], ["mount", "-t", "proc", "proc", "/proc"],
                    ["mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"],
                    ["mount", "-t", "tmpfs", "-o", "ro", "none", "/sys/fs/cgroup"]):
        subprocess.run(command, check=True)
    os.execv(argv[0], argv)


# ---------------------------------------------------------------------------------------------
# the mode "delegated"

UNIFIED = "/sys/fs/cgroup"
DELEGATED = os.path.join(UNIFIED, "delegated-for-tests")


def can_delegate():
    return os.access(os.path.join(UNIFIED, "cgroup.subtree_control"), os.W_OK)


def enter_delegated(uid, gid, argv):
    """Becomes a user in a delegated cgroup, as `systemd-run --user --scope -p Delegate=yes` makes it, and executes
    ARGV."""
    group = os.path.join(DELEGATED, f"job-{os.getpid()}.scope")
    for place in (UNIFIED, DELEGATED):
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "cgroup.subtree_control"), "w") as handle:
            handle.write("+cpu +memory +pids")
    os.mkdir(group)
    for name in ("", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"):
        os.chown(os.path.join(group, name), uid, gid)
    with open(os.path.join(group, "cgroup.procs"), "w") as handle:
        handle.write("0")
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    os.execv(argv[0], argv)


def remove_delegated():
    for where, _, _ in os.walk(DELEGATED, topdown=False):
        try:
            os.rmdir(where)
        except OSError:
            pass  # another run uses this group, or it holds a process that the test has reported as left behind


# ---------------------------------------------------------------------------------------------
# the mode "session"

SESSION_SECONDS = 15  # the longest time for the start of a systemd user instance


def can_have_session():
    """Returns true if systemd is pid 1, uses version 2 groups only and starts user instances."""
    return os.path.isdir("/run/systemd/system") and shutil.which("loginctl") is not None and \
        os.path.exists(os.path.join(UNIFIED, "cgroup.controllers"))


def begin_session(user):
    """Starts the systemd instance of the user and waits for its bus. The processes of the tests stay outside the user's
    part of the cgroup tree, as the processes of a login do."""
    subprocess.run(["loginctl", "enable-linger", user.pw_name], check=True)
    bus, end = f"/run/user/{user.pw_uid}/bus", time.monotonic() + SESSION_SECONDS * SLOW
    while not os.path.exists(bus):
        if time.monotonic() > end:
            raise OSError(f"{bus} does not come up")
        time.sleep(0.1)


def end_session(name):
    uid = pwd.getpwnam(name).pw_uid
    subprocess.run(["loginctl", "disable-linger", name])
    subprocess.run(["systemctl", "stop", f"user@{uid}.service"])


# ---------------------------------------------------------------------------------------------
# the modes "served" and "served-user"


def enter_served(uid, gid, argv):
    """Executes ARGV with the directory CORDON_TEST_TMP on an overlay, as in most containers, and with the usual
    permissions of /dev/fuse. The directory CORDON_TEST_DEEP is on an overlay of an overlay."""
    place = os.environ["CORDON_TEST_TMP"]
    if ctypes.CDLL(None).unshare(0x00020000) != 0:  # CLONE_NEWNS
        raise OSError("unshare")
    for command in (["mount", "--make-rprivate", "/"],
                    ["mount", "-t", "tmpfs", "-o", "mode=755", "tmp", place]):
        subprocess.run(command, check=True)
    os.chdir(place)
    for name, lower in (("files", "lower"), ("deep", "files")):
        for part in (name, f"{name}-upper", f"{name}-work", lower):
            os.makedirs(part, exist_ok=True)
        subprocess.run(["mount", "-t", "overlay", "-o", f"lowerdir={lower},upperdir={name}-upper,workdir={name}-work",
                        "overlay", name], check=True)
        os.chown(name, uid, gid)
    if os.path.exists("/dev/fuse"):
        os.mknod("fuse", 0o666 | stat.S_IFCHR, os.stat("/dev/fuse").st_rdev)
        os.chmod("fuse", 0o666)
        subprocess.run(["mount", "--bind", "fuse", "/dev/fuse"], check=True)
    os.environ["CORDON_TEST_TMP"] = os.environ["HOME"] = os.path.join(place, "files")
    os.environ["CORDON_TEST_DEEP"] = os.path.join(place, "deep")
    os.chdir("files")
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    os.execv(argv[0], argv)


# ---------------------------------------------------------------------------------------------
# the runner


class Job:
    """Tests of one file in one mode."""

    def __init__(self, mode, suite_dir, tests, limit=0):
        self.mode, self.suite_dir, self.tests, self.limit = mode, suite_dir, list(tests), limit
        self.current, self.deadline, self.pending = None, None, b""
        self.second_look = False

    def __repr__(self):
        return f"{self.mode}: {self.tests[:1]}…"


class Users:
    """Temporary accounts: one with a range of subordinate ids, one without, and for the mode "session" one with a
    systemd instance. The names of the accounts contain our pid, so that two runs on one machine use different
    accounts."""

    def __init__(self):
        self.made = []
        for entry in pwd.getpwall():
            match = re.fullmatch(r"cordon-(?:test|bare|session)-(\d+)", entry.pw_name)
            if match and not os.path.exists(f"/proc/{match[1]}"):
                self.delete(entry.pw_name)
        self.with_range = self.make("test")
        self.give_range(self.with_range, 1879048192)
        self.without_range = self.make("bare", "--system")
        self.with_session = None

    def session(self):
        if self.with_session is None:
            self.with_session = self.make("session")
            self.give_range(self.with_session, 1879048192 + 65536)
            begin_session(pwd.getpwnam(self.with_session))
        return self.with_session

    def give_range(self, name, first):
        """Gives the user a range of subordinate ids, if useradd gave none."""
        if not self.has_range("/etc/subuid", name) or not self.has_range("/etc/subgid", name):
            ids = f"{first}-{first + 65535}"
            subprocess.run(["usermod", "--add-subuids", ids, "--add-subgids", ids, name], check=True)

    def make(self, kind, *options):
        name = f"cordon-{kind}-{os.getpid()}"
        subprocess.run(["useradd", "--no-create-home", "--home-dir", "/nonexistent",
                        "--shell", "/bin/sh", "--user-group", *options, name], check=True,
                       stdout=subprocess.DEVNULL)
        self.made.append(name)
        return name

    @staticmethod
    def has_range(path, name):
        try:
            with open(path) as handle:
                return any(line.startswith(name + ":") for line in handle)
        except OSError:
            return False

    @staticmethod
    def delete(name):
        subprocess.run(["userdel", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        if self.with_session:
            end_session(self.with_session)
        for name in self.made:
            self.delete(name)


class Runner:
    def __init__(self, options):
        self.options = options
        self.python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
        self.arena = tempfile.mkdtemp(prefix="cordon-test-")
        os.chmod(self.arena, 0o755)
        self.users, self.jobs, self.live = None, [], {}
        self.passed, self.failed, self.not_run = 0, [], []
        self.doubtful, self.unsteady = [], []
        self.runs = set()  # (mode, test) of every test that passed or failed
        self.modules = {}

    # -- preparation --------------------------------------------------------------------------

    def copy_programs(self):
        """Copies the server of test_hands and the client of test_background beside the installed programs, because each
        of the two looks for programs beside itself. An installation without a build directory has neither of
        these two programs."""
        flavour = "asan" if os.path.basename(self.options.prefix).startswith("asan") else "rest"
        for name in "server", "clerk":
            built = os.path.join(os.path.dirname(self.options.prefix), flavour, "tests", name)
            if os.path.exists(built):
                shutil.copy(built, os.path.join(self.prefix, "libexec", "cordon", f"test-{name}"))

    def prepare(self):
        """Copies programs and tests to a place that every mode can read and that no build changes."""
        self.prefix = os.path.join(self.arena, "prefix")
        shutil.copytree(self.options.prefix, self.prefix, symlinks=True)
        self.tests = os.path.join(self.arena, "tests")
        for suite in {*self.options.suites, "integration"}:
            if os.path.isdir(os.path.join(TESTS, suite)):
                shutil.copytree(os.path.join(TESTS, suite), os.path.join(self.tests, suite),
                                ignore=shutil.ignore_patterns("__pycache__"))
        self.copy_programs()
        subprocess.run(["chmod", "-R", "a+rX", self.arena], check=True)
        for mode in self.options.modes:
            place = os.path.join(self.arena, mode)
            os.mkdir(place, 0o700)
            spread_directories(place)
            user = self.user_of(mode)
            if user:
                os.chown(place, user.pw_uid, user.pw_gid)
            elif mode == "container":
                os.chown(place, CONTAINER_IDS, CONTAINER_IDS)

    def user_of(self, mode):
        if os.geteuid() != 0 or mode in ("root", "container", "served"):
            return None
        if self.users is None:
            self.users = Users()
        if mode == "session":
            return pwd.getpwnam(self.users.session())
        name = self.users.without_range if mode == "bare" else self.users.with_range
        return pwd.getpwnam(name)

    def collect(self):
        sys.path.insert(0, os.path.join(self.tests, "integration"))
        os.environ["CORDON_TEST_PREFIX"] = self.prefix
        for suite in self.options.suites:
            folder = os.path.join(self.tests, suite)
            if not os.path.isdir(folder):
                print(f"no tests yet in suite {suite}")
                continue
            sys.path.insert(0, folder)
            for name in sorted(os.listdir(folder)):
                if name.startswith("test_") and name.endswith(".py"):
                    self.collect_module(folder, name[:-3])

    def collect_module(self, folder, name):
        classes = collections.defaultdict(list)
        try:
            module = importlib.import_module(name)
        except Exception:
            self.failed.append((f"{name} cannot be loaded", traceback.format_exc()))
            return
        for test in flatten(unittest.defaultTestLoader.loadTestsFromModule(module)):
            if type(test).__name__ == "_FailedTest":
                self.failed.append((test.id(), str(test._exception)))
                continue
            patterns = self.options.patterns
            if not patterns or any(p in test.id() for p in patterns):
                modes = set(modes_of(test))
                if self.options.wide:
                    modes |= {mode for mode, like in LIKE.items() if like in modes}
                for mode in sorted(modes):
                    if mode in self.options.modes:
                        classes[mode, type(test)].append(test)
        jobs = {}
        for (mode, _), tests in classes.items():
            if len(jobs.setdefault(mode, [[]])[-1]) >= JOB_TESTS:
                jobs[mode].append([])
            jobs[mode][-1] += tests
        for mode, groups in jobs.items():
            self.jobs += [Job(mode, folder, [t.id() for t in tests], max(map(limit_of, tests))) for tests in groups]

    # -- running ------------------------------------------------------------------------------

    def start(self, job):
        argv = [self.python, os.path.join(self.tests, "integration", "run.py"), "--job",
                job.suite_dir, *job.tests]
        if job.mode == "userns":
            argv = ["unshare", "--user", "--map-root-user", *argv]
        elif job.mode == "container":
            argv = [self.python, argv[1], "--container", *argv]
        place = os.path.join(self.arena, job.mode)
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "LANG": "C.UTF-8", "HOME": place, "PYTHONDONTWRITEBYTECODE": "1",
               "CORDON_TEST_PREFIX": self.prefix, "CORDON_TEST_MODE": job.mode,
               "CORDON_TEST_TMP": place}
        for key, value in os.environ.items():
            if key.endswith("SAN_OPTIONS") or key in ("CORDON_TEST_STRICT", "CORDON_TEST_SLOW", "CORDON_TEST_MCP"):
                env[key] = value
        user = self.user_of(job.mode)
        as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid,
                                           "extra_groups": []}
        if job.mode in ("delegated", "served", "served-user"):  # only root can set this mode up
            ids = (user.pw_uid, user.pw_gid) if user else (0, 0)
            argv = [self.python, argv[1], "--" + job.mode.split("-")[0], *map(str, ids), *argv]
            as_user = {}
        job.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    env=env, cwd=place, start_new_session=True, **as_user)
        os.set_blocking(job.proc.stdout.fileno(), False)
        job.deadline = time.monotonic() + 60
        self.live[job.proc.stdout.fileno()] = job

    def loop(self):
        # slow jobs start first, so that no slow job starts last; a job counts as slow if one of its tests has a high
        # time limit
        waiting = sorted(self.jobs, key=lambda j: (-j.limit, -len(j.tests)))
        while waiting or self.live:
            while waiting and len(self.live) < self.options.jobs:
                self.start(waiting.pop(0))
            ready, _, _ = select.select(list(self.live), [], [], 1)
            for fd in ready:
                self.read(self.live[fd], waiting)
            for job in list(self.live.values()):
                if time.monotonic() > job.deadline:
                    kill_tree(job.proc.pid)
                    self.record(job, {"event": "fail", "test": job.current or job.tests[0],
                                      "text": "the test does not end and was killed"})

    def read(self, job, waiting):
        data = os.read(job.proc.stdout.fileno(), 1 << 16)
        job.pending += data
        *lines, job.pending = job.pending.split(b"\n")
        for line in lines:
            self.record(job, json.loads(line))
        if data:
            return
        del self.live[job.proc.stdout.fileno()]
        job.proc.stdout.close()
        job.proc.wait()
        kill_adopted()
        if job.tests:
            if job.current:  # the job's process ended during this test
                self.record(job, {"event": "fail", "test": job.current,
                                  "text": f"the test process ended with {job.proc.returncode}"})
            elif not getattr(job, "retried", False):
                job.retried = True
            else:
                self.failed.append((f"{job.mode}: {job.tests[0]}", "the test process cannot start"))
                job.tests = []
        if job.tests:
            waiting.insert(0, job)

    def record(self, job, event):
        kind, test = event["event"], event["test"]
        title = f"[{job.mode}] {test}"
        if kind == "start":
            job.current = test
            job.deadline = time.monotonic() + event["limit"] + UNRESPONSIVE_SECONDS
            return
        if test not in job.tests:
            return
        job.tests.remove(test)
        job.current, job.deadline = None, time.monotonic() + 60
        if kind != "not run":
            self.runs.add((job.mode, test))
        if kind == "pass":
            self.passed += 1
            print(f"ok       {title} ({event['seconds']:.2f} s)", flush=True)
        elif kind == "not run":
            self.not_run.append((title, event["reason"]))
            print(f"not run  {title}: {event['reason']}", flush=True)
        elif job.second_look:
            self.failed.append((title, event["text"]))
            print(f"FAILED   {title}\n{indent(event['text'])}", flush=True)
        else:
            self.doubtful.append((job, test))
            print(f"failed   {title}\n{indent(event['text'])}", flush=True)

    def look_again(self):
        """Runs each failed test once more, alone. On a small machine a test with a deadline can fail because other
        tests run at the same time. Tests that pass now are listed at the end as unsteady."""
        again, self.doubtful = self.doubtful, []
        if not again:
            return
        print(f"\nonce more, alone: {len(again)}", flush=True)
        self.jobs, self.options.jobs = [], 1
        before = len(self.failed)
        for job, test in again:
            retry = Job(job.mode, job.suite_dir, [test])
            retry.second_look = True
            self.jobs.append(retry)
        self.loop()
        bad = {title for title, _ in self.failed[before:]}
        self.unsteady = [t for t in (f"[{job.mode}] {test}" for job, test in again) if t not in bad]

    # -- the end ------------------------------------------------------------------------------

    def summary(self):
        if self.not_run:
            print("\nnot run:")
            reasons = collections.Counter(reason for _, reason in self.not_run)
            for reason, count in reasons.most_common():
                print(f"  {count:4}  {reason}")
        if os.environ.get("CORDON_TEST_STRICT") == "1":
            allowed = allowed_reasons()
            for title, reason in self.not_run:
                if not any(fnmatch.fnmatchcase(reason, a) for a in allowed):
                    self.failed.append((title, f"not run, and the reason is not in "
                                               f"not-run-allowed.txt: {reason}"))
        if self.unsteady:
            print("\nunsteady, passed when run alone:")
            for title in self.unsteady:
                print(f"  {title}")
            if os.environ.get("CORDON_TEST_STRICT") == "1" and len(self.unsteady) > UNSTEADY_MAX:
                self.failed.append(("unsteady tests", f"{len(self.unsteady)} tests passed only when run "
                                                      f"alone, at most {UNSTEADY_MAX} may"))
        if self.failed:
            print("\nfailed:")
            for title, text in self.failed:
                print(f"  {title}: {text.strip().splitlines()[0][:160]}")
        modes = {mode for mode, _ in self.runs}
        cases = {test for _, test in self.runs}
        print(f"{len(cases)} cases, {len(self.runs)} runs in {len(modes)} modes, "
              f"{len(self.unsteady)} unsteady")
        print(f"{self.passed} passed, {len(self.failed)} failed, {len(self.not_run)} skipped",
              flush=True)
        return 1 if self.failed or not self.passed else 0

    def remove_groups(self):
        """Removes the control groups of killed tests. Call this before the homes of these tests are deleted, because
        the names of the groups come from the homes."""
        import harness
        for home in glob.glob(os.path.join(self.arena, "*", "t*", "home")):
            harness.remove_groups(harness.groups_of(home))

    def close(self):
        for job in self.live.values():
            kill_tree(job.proc.pid)
            job.proc.wait()
        kill_adopted()
        self.remove_groups()
        if "delegated" in self.options.modes:
            remove_delegated()
        if self.users:
            self.users.close()
        shutil.rmtree(self.arena, ignore_errors=True)


FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602  # from linux/fs.h, on a 64-bit machine
FS_TOPDIR_FL = 0x00020000


def spread_directories(place):
    """Asks ext4 to put each directory of PLACE into another part of the disk, as `chattr +T` does. An ext4 without a
    journal does not reuse an inode for minutes after its deletion. For each new file such an ext4 searches through the
    inodes that were deleted in the same part of the disk. The tests delete a million files, and this search would take
    half of their time. Other file systems refuse the flag and do not need it."""
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags, = struct.unpack("i", fcntl.ioctl(fd, FS_IOC_GETFLAGS, bytes(4)))
        fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("i", flags | FS_TOPDIR_FL))
    except OSError:
        pass
    finally:
        os.close(fd)


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def modes_of(test):
    method = getattr(test, test._testMethodName, None)
    return getattr(method, "modes", getattr(test, "modes", tuple(MODES)))


def allowed_reasons():
    with open(os.path.join(TESTS, "not-run-allowed.txt")) as handle:
        return [line.strip() for line in handle if line.strip() and not line.startswith("#")]


def indent(text):
    return "\n".join("    " + line for line in text.strip().splitlines())


def kill_tree(pid):
    import harness
    for p in harness.below([pid]):
        harness.kill_quietly(p.pid)


def kill_adopted():
    """Kills the cordon processes that ended jobs have left, and everything below them. When a job ends, such a
    process becomes our child."""
    import harness
    table = harness.all_processes()
    for p in list(table.values()):
        if p.ppid == os.getpid() and p.comm.startswith("cordon"):
            for q in harness.below([p.pid], table):
                harness.kill_quietly(q.pid)
    while True:
        table = [p for p in harness.all_processes().values()
                 if p.ppid == os.getpid() and p.state == "Z" and p.comm.startswith("cordon")]
        if not table:
            return
        for p in table:
            try:
                os.waitpid(p.pid, os.WNOHANG)
            except ChildProcessError:
                return


def parse(argv):
    parser = argparse.ArgumentParser(description="Black-box tests over the installed programs.")
    parser.add_argument("--prefix", default=os.path.join(os.path.dirname(TESTS), "build", "stage"),
                        help="where bin/cordon is installed (default: build/stage)")
    parser.add_argument("-j", "--jobs", type=int, default=(os.cpu_count() or 2) + 2)
    parser.add_argument("--mode", action="append", choices=list(MODES), dest="modes")
    for suite in SUITES:
        parser.add_argument("--" + suite, action="append_const", const=suite, dest="suites",
                            help=f"run the suite tests/{suite}")
    parser.add_argument("--wide", action="store_true",
                        help="in served and served-user also the tests of root and user")
    parser.add_argument("--list", action="store_true", help="print the tests, run nothing")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    options = parser.parse_args(argv)
    options.suites = options.suites or list(DEFAULT_SUITES)
    possible = list(MODES) if os.geteuid() == 0 else ["user", "userns"]
    if "delegated" in possible and not can_delegate():
        possible.remove("delegated")
    if "session" in possible and not can_have_session():
        possible.remove("session")
    # The mode "session" starts a systemd instance for a user of this machine, so it runs only if --mode names it.
    usual = [m for m in possible if m != "session"]
    options.modes = [m for m in (options.modes or usual) if m in possible]
    return options


def main(argv):
    if argv[:1] == ["--job"]:
        return run_job(argv[1], argv[2:])
    if argv[:1] == ["--container"]:
        return enter_container(argv[1:])
    if argv[:1] == ["--delegated"]:
        return enter_delegated(int(argv[1]), int(argv[2]), argv[3:])
    if argv[:1] == ["--served"]:
        return enter_served(int(argv[1]), int(argv[2]), argv[3:])
    options = parse(argv)
    program = os.path.join(options.prefix, "bin", "cordon")
    if not os.access(program, os.X_OK):
        print(f"{program} is not there: build and stage it first (./dev test does)",
              file=sys.stderr)
        return 2
    become_subreaper()
    # Let Python write compiled modules, so that later jobs can use these modules. The modules go into the runner's
    # temporary directory (Runner.arena), because the tests are copied to this directory first.
    sys.dont_write_bytecode = False
    # A shell starts background commands with SIGINT and SIGQUIT ignored. Without the next two lines, SIGINT and SIGQUIT
    # would be ignored in every program of the tests, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    for sig in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, lambda *_: sys.exit(130))
    runner = Runner(options)
    try:
        runner.prepare()
        runner.collect()
        if options.list:
            for job in runner.jobs:
                print("\n".join(f"[{job.mode}] {t}" for t in job.tests))
            return 0
        runner.loop()
        runner.look_again()
        return runner.summary()
    finally:
        runner.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
