"""Tests that the state stays usable: after kills and races, in unusual homes, and on full and read-only disks."""

import fcntl
import hashlib
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import threading
import time

from harness import (ALL_MODES, COMMAND_SECONDS, CORDON, MODE, MSB, ONE_ID, CordonTest, below, groups_of,
                     kill_quietly, unique_number)

SYS_POLL, SYS_FCNTL, SYS_FLOCK = 7, 72, 73  # x86-64
F_OFD_SETLK = 37  # the module fcntl has this constant only since Python 3.9


def unborn(test):
    """Makes a record without state. A `create` that is killed before the sandbox is up leaves such a record."""
    box = test.create()
    os.kill(box.supervisor().pid, signal.SIGKILL)
    test.eventually(lambda: not box.host_processes(), within=2)
    os.unlink(os.path.join(test.home, "sandboxes", box.name, "state.json"))
    return box


class Killed(CordonTest):
    """Any process of ours may be killed at any instant. The next command must then report the real
    state, and `remove --force` must always work."""

    own_home = True
    modes = ALL_MODES

    def test_a_killed_supervisor_leaves_no_process(self):
        box, number = self.create(), unique_number()
        box.out(f"setsid sleep {number} > /dev/null 2>&1 &")
        os.kill(box.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not box.host_processes() and not self.sleepers(number), within=2)
        self.assertEqual(box.status(), "Crashed")

    def test_a_supervisor_killed_under_load(self):
        box, number = self.create(), unique_number()
        neighbour = self.create()
        clients = [box.popen("sh", "-c", f"yes & sleep {number}") for _ in range(8)]
        self.eventually(lambda: len(self.sleepers(number)) == 8)
        os.kill(box.supervisor().pid, signal.SIGKILL)
        for client in clients:
            client.stdout.close()
            client.stdout = None
            self.assertIsNotNone(client.wait(5))
        self.eventually(lambda: not box.host_processes(), within=2)
        self.assertEqual(neighbour.exec("echo", "fine").text, "fine\n")

    def test_a_killed_supervisor_of_an_ephemeral_run(self):
        proc = self.spawn("run", "-q", "host", "--", "sh", "-c", "echo up; exec sleep 999")
        self.assertEqual(proc.stdout.readline(), b"up\n")
        for p in below([proc.pid]):
            if p.comm.startswith("cordon-superv"):
                os.kill(p.pid, signal.SIGKILL)
        # pid 1 may run the command before the supervisor tells the client that the start has succeeded
        self.assertRegex(self.finish(proc).errtext, "was lost|the supervisor ended while starting")
        sandboxes = os.path.join(self.home, "sandboxes")
        self.eventually(lambda: self.names() == [] and not os.listdir(sandboxes))
        self.assertEqual((groups_of(self.home), self.uid_claims()), (set(), []))

    def test_a_crashed_sandbox_can_be_started_and_keeps_its_files(self):
        box = self.create()
        box.out("echo kept > /root/f; sync")
        os.kill(box.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not box.host_processes(), within=2)
        got = box.start()
        self.assertEqual(got.code, 0, got)
        self.assertEqual(box.out("cat /root/f"), "kept")

    def test_a_crashed_sandbox_can_be_used_by_exec_and_removed_without_force(self):
        box = self.create()
        pid1 = box.pid1()
        os.kill(box.supervisor().pid, signal.SIGKILL)
        # pid 1 ends after its supervisor, and a client that connects in between loses the connection
        self.eventually(lambda: not any(p.state != "Z" for p in below([pid1.pid])), within=2)
        self.assertEqual(box.exec("echo", "up").text, "up\n")
        self.assertEqual(box.remove().code, 0)

    def test_a_killed_pid_1_leaves_no_process(self):
        box = self.create()
        pid1 = box.pid1().pid
        try:
            os.kill(pid1, signal.SIGKILL)
        except PermissionError:
            self.not_run("pid 1 has an id that this user may not signal")
        self.eventually(lambda: not box.host_processes(), within=2)
        self.assertIn(box.status(), ("Crashed", "Stopped"))
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.exec("true").code, 0)

    def test_a_create_killed_at_any_instant(self):
        """Kills the creator at different instants. Then there is either no sandbox, or one in which a command succeeds
        or fails with status 1. In both cases `remove -f` must leave nothing."""
        for step in range(24):
            box = self.box()
            proc = self.spawn("create", "-q", "-n", box.name, "host")
            time.sleep(step * 0.0015)  # chooses the instant of the kill
            kill_quietly(proc.pid)
            proc.wait()
            if box.name in self.names():
                self.assertIn(box.exec("true").code, (0, 1))
            got = box.remove("-f")
            self.assertTrue(got.code == 0 or "not found" in got.errtext, got)
            self.eventually(lambda: not self.left_running(), within=3)
            self.assertEqual(self.names(), [])

    def test_a_stop_or_remove_killed_at_any_instant(self):
        for step in range(10):
            box = self.create()
            for command in (("stop",), ("remove", "-f")):
                proc = self.spawn(*command, box.name)
                time.sleep(step * 0.002)  # chooses the instant of the kill
                kill_quietly(proc.pid)
                proc.wait()
            self.assertIn(box.remove("-f").code, (0, 1))
            self.assertEqual(self.names(), [])
            self.eventually(lambda: not self.left_running(), within=4)

    def test_a_remove_killed_before_it_deletes_files_of_a_uid_range(self):
        """The record is retired but still exists, and holds files of a uid range."""
        box = self.create()
        box.out("mkdir /root/d; touch /root/d/f")
        if not ONE_ID:
            box.out("chown 5:5 /root/d /root/d/f")
        self.assertEqual(box.stop().code, 0)
        sandboxes = os.path.join(self.home, "sandboxes")
        os.rename(os.path.join(sandboxes, box.name), os.path.join(sandboxes, ".gone-" + "0" * 16))
        self.assertEqual(self.names(), [])
        self.assertEqual(os.listdir(sandboxes), [])

    def test_a_remove_that_cannot_run_newuidmap(self):
        box = self.create()
        box.out("mkdir /root/d; touch /root/d/f; chown 5:5 /root/d /root/d/f")
        got = self.cordon("--no-new-privs", CORDON, "remove", "-f", box.name, program="/usr/bin/setpriv")
        self.assertEqual(got.code, 1, got)
        self.assertIn("belong to its uid range", got.errtext)
        self.assertEqual(self.names(), [])
        self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])
    test_a_remove_that_cannot_run_newuidmap.modes = ("user",)

    def test_a_supervisor_killed_at_any_instant_of_create(self):
        for step in range(16):
            box = self.box()
            proc = self.spawn("create", "-q", "-n", box.name, "host")
            time.sleep(step * 0.0015)  # chooses the instant of the kill
            for p in below([os.getpid()]):
                if p.comm.startswith("cordon-superv"):
                    kill_quietly(p.pid)
            got = self.finish(proc, within=10)
            self.assertIn(got.code, (0, 1), got)
            self.assertIn(box.remove("-f").code, (0, 1))
            self.assertEqual(self.names(), [])
            self.eventually(lambda: not self.left_running(), within=3)

    def test_a_supervisor_killed_during_a_start(self):
        """`remove` must delete the control groups, although the last written state is "stopped"."""
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        box = self.create()
        self.assertEqual(box.stop().code, 0)
        got = subprocess.run(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=epoll_wait,epoll_pwait", "-e",
             "inject=epoll_wait,epoll_pwait:signal=KILL", CORDON, "start", box.name],
            capture_output=True, text=True, timeout=COMMAND_SECONDS, env=self.environment())
        self.assertEqual(got.returncode, 1, got)
        self.eventually(lambda: not self.left_running())
        self.assertEqual(box.status(), "Crashed")
        self.assertEqual(box.remove().code, 0)
        self.eventually(lambda: not any(map(os.path.exists, self.cgroups)))
    test_a_supervisor_killed_during_a_start.modes = ("root",)  # strace is used as root only

    def test_a_create_that_died_does_not_keep_its_name(self):
        box = unborn(self)
        again = self.create(name=box.name)
        self.assertEqual(again.exec("true").code, 0)
        again.remove("-f")
        unborn(self)
        self.assertEqual(self.names(), [])

    def test_no_sandbox_runs_after_a_reboot(self):
        """All processes are killed at once, as at a power cut."""
        boxes = [self.create() for _ in range(3)]
        for p in below({r for b in boxes for r in b.roots}):
            kill_quietly(p.pid)
        self.eventually(lambda: not self.left_running())
        self.assertEqual({b.status() for b in boxes}, {"Crashed"})
        for b in boxes:
            self.assertEqual(b.remove().code, 0)


class FirstRuns(CordonTest):
    """The first sandbox of the image `host` makes a directory in cache/host, called the base. All later sandboxes of
    this image in the same home use the same base."""

    own_home = True
    modes = ("root", "user")

    def bases(self):
        return os.listdir(os.path.join(self.home, "cache", "host"))

    def test_twelve_first_runs_make_one_base(self):
        ones = [self.spawn("run", "host", "--", "true") for _ in range(12)]
        self.assertEqual([self.finish(one).code for one in ones], [0] * len(ones))
        self.assertEqual(len(self.bases()), 1, self.bases())

    def test_a_killed_first_run_does_not_disturb_the_next(self):
        self.assertEqual(self.cordon("run", "host", "--", "true").code, 0)
        base = self.bases()[0]
        place = os.path.join(self.home, "cache", "host")
        shutil.rmtree(os.path.join(place, base))
        os.makedirs(os.path.join(place, "new-" + base, "etc"))
        self.assertEqual(self.cordon("run", "host", "--", "cat", "/etc/passwd").code, 0)
        self.assertEqual(self.bases(), [base])


class Races(CordonTest):
    timeout = 120

    def together(self, *commands):
        """Runs all commands at once. Returns their Results."""
        procs = [self.spawn(*c) for c in commands]
        return [self.finish(p) for p in procs]

    def guests(self):
        return [p for p in below([os.getpid()]) if p.is_pid1 and p.state != "Z"]

    def test_concurrent_creates_of_one_name_make_one_guest(self):
        for _ in range(5):
            box = self.box()
            got = self.together(*[("create", "-q", "-n", box.name, "host")] * 6)
            codes = sorted(g.code for g in got)
            self.assertEqual(codes, [0, 1, 1, 1, 1, 1], [str(g) for g in got])
            for g in got:
                if g.code:
                    self.assertIn("already exists", g.errtext)
            self.assertEqual(len(self.guests()), 1)
            self.assertEqual(box.exec("true").code, 0)
            self.assertEqual(box.remove("-f").code, 0)

    def test_concurrent_replaces_of_one_name(self):
        box = self.create()
        got = self.together(*[("create", "-q", "--replace", "-n", box.name, "host")] * 5)
        for g in got:
            self.assertIn(g.code, (0, 1), g)
            if g.code:
                self.assertIn("already exists", g.errtext)
        self.assertIn(0, [g.code for g in got])
        self.assertEqual(len(self.guests()), 1)
        self.assertEqual(box.exec("true").code, 0)
        # A create that replaces a sandbox renames the old record and then erases it. If a renamed record is left, the
        # next command erases it. Here that is `cordon list`, which self.names() runs.
        self.eventually(lambda: self.names() == [box.name]
                        and os.listdir(os.path.join(self.home, "sandboxes")) == [box.name])

    def test_concurrent_starts_stops_and_removes(self):
        box = self.create()
        for _ in range(4):
            self.together(*[(c, "-q", box.name) for c in ("start", "stop", "restart", "start",
                                                          "stop", "ping")])
            self.assertLessEqual(len(self.guests()), 1)
            self.assertIn(box.status(), ("Running", "Stopped"))
        self.together(*[("remove", "-f", "-q", box.name)] * 4)
        self.assertEqual(self.names(), [])
        self.eventually(lambda: not self.left_running())

    def test_many_creates_at_once(self):
        boxes = [self.box() for _ in range(12)]
        got = self.together(*[("create", "-q", "-n", b.name, "host") for b in boxes])
        self.assertEqual([g.code for g in got], [0] * 12, [str(g) for g in got if g.code])
        self.assertEqual(set(self.names()), {b.name for b in boxes})
        self.together(*[("remove", "-f", "-q", b.name) for b in boxes])
        self.assertEqual(self.names(), [])

    def test_a_list_that_helps_to_delete_does_not_disturb_a_removal(self):
        for _ in range(5):
            box = self.create("--no-net")
            box.out("cd /root; for a in 1 2 3 4 5 6 7 8 9; do for b in 1 2 3 4 5 6 7 8 9; do"
                    " mkdir -p $a/$b/c; : >$a/$b/f; : >$a/$b/c/g; done; done")
            self.assertEqual(box.stop().code, 0)
            over, odd = threading.Event(), []

            def look():
                while not over.is_set():
                    got = self.cordon("list", "-q")
                    odd.extend([str(got)] if got.code else [])

            threads = [threading.Thread(target=look) for _ in range(3)]
            for t in threads:
                t.start()
            got = box.remove()
            over.set()
            for t in threads:
                t.join()
            self.assertEqual((got.code, odd), (0, []), got)
            self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])

    def test_exec_while_the_sandbox_is_replaced(self):
        box = self.create()
        stop, odd = threading.Event(), []

        def hammer():
            while not stop.is_set():
                got = subprocess.run([CORDON, "exec", "-q", box.name, "--", "echo", "ok"],
                                     env=self.environment(), capture_output=True, timeout=30)
                if (got.returncode, got.stdout) != (0, b"ok\n") and got.returncode == 0:
                    odd.append(got)

        worker = threading.Thread(target=hammer)
        worker.start()
        for _ in range(6):
            self.cordon("create", "-q", "--replace-with-timeout", "0", "-n", box.name, "host")
        stop.set()
        worker.join()
        self.assertEqual(odd, [])
        self.assertLessEqual(len(self.guests()), 1)


    def blocked_in(self, proc, number):
        """Returns true if the command PROC sleeps while it waits for a lock. Such a command starts a child, which
        sleeps in the system call NUMBER until it gets the lock. PROC itself sleeps in poll() until the child ends.
        This function waits until it sees such a child, and then looks 50 times: both must sleep each time."""
        def looks():
            calls = []
            for p in below([proc.pid]):
                try:
                    with open(f"/proc/{p.pid}/syscall") as handle:
                        calls.append(handle.read().split()[0])
                except OSError:
                    pass  # the process has just ended
            return calls
        self.eventually(lambda: str(number) in looks(), message="a task that sleeps in the system call")
        seen = [looks() for _ in range(50)]  # the first call in each list is that of PROC
        return all(calls[0] == str(SYS_POLL) and str(number) in calls for calls in seen)

    def test_a_command_sleeps_until_the_record_is_free(self):
        """A command must not try the lock again and again: the kernel must wake the command when
        the record is unlocked."""
        box = self.create()
        self.assertEqual(box.stop().code, 0)
        with open(os.path.join(self.home, "sandboxes", box.name, "lock"), "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            remover = self.spawn("remove", "-f", box.name)
            self.assertTrue(self.blocked_in(remover, SYS_FLOCK))
            fcntl.flock(lock, fcntl.LOCK_UN)
            self.assertEqual(remover.wait(10), 0)
        self.assertEqual(self.names(), [])

    def test_a_create_waits_for_readers_of_a_leftover_record(self):
        box = unborn(self)
        with open(os.path.join(self.home, "sandboxes", box.name, "lock")) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            with self.claiming(box):
                creator = self.spawn("create", "-q", "-n", box.name, "host")
                self.assertTrue(self.blocked_in(creator, SYS_FLOCK))
                fcntl.flock(lock, fcntl.LOCK_UN)
                self.assertEqual(self.finish(creator).code, 0)
        self.assertEqual(box.exec("true").code, 0)

    def test_a_remove_waits_for_readers_of_the_record(self):
        box = self.create()
        self.assertEqual(box.stop().code, 0)
        with open(os.path.join(self.home, "sandboxes", box.name, "lock")) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)  # as `list` does for a moment
            remover = self.spawn("remove", box.name)
            self.assertTrue(self.blocked_in(remover, SYS_FLOCK))
            fcntl.flock(lock, fcntl.LOCK_UN)
            self.assertEqual(self.finish(remover).code, 0)

    def test_a_replace_waits_only_until_a_starting_sandbox_listens(self):
        """A replace during a start must wait for the start only, not until the sandbox ends."""
        box = self.create()
        self.assertEqual(box.stop().code, 0)
        with open(os.path.join(self.home, "sandboxes", box.name, "lock"), "r+b") as lock:
            # A command that starts a sandbox holds two locks on this file: one by flock(), and a lock on the first byte
            # until the sandbox listens. The test takes both, as if a start were under way.
            fcntl.flock(lock, fcntl.LOCK_EX)
            fcntl.fcntl(lock, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
            with self.claiming(box):
                other = self.spawn("create", "-q", "--replace", "-n", box.name, "host")
                self.assertTrue(self.blocked_in(other, SYS_FCNTL))
                fcntl.fcntl(lock, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_UNLCK, 0, 0, 1, 0))
                fcntl.flock(lock, fcntl.LOCK_UN)
                self.assertEqual(other.wait(10), 0)
        self.assertEqual(box.status(), "Running")

    def test_the_second_of_two_starts_is_refused_at_once(self):
        box = self.create()
        got = self.cordon("start", box.name)
        self.assertEqual((got.code, got.stderr_line(0)),
                         (1, f"error: sandbox '{box.name}' is already running"))
        for _ in range(5):
            self.assertEqual(box.stop().code, 0)
            with self.claiming(box):
                both = [self.spawn("start", box.name) for _ in range(2)]
                # A command waits 10 seconds for a lock. Both commands must end within 8 seconds, so the refused start
                # has not waited for the lock.
                codes = sorted(p.wait(8) for p in both)
            self.assertEqual(codes, [0, 1])
            self.assertEqual(box.status(), "Running")


class Homes(CordonTest):
    own_home = True
    modes = ALL_MODES

    def test_a_deleted_part_of_the_home_is_made_again(self):
        self.assertEqual(self.names(), [])
        for part in ("run", "sandboxes", "volumes", "cache"):
            with self.subTest(part=part):
                shutil.rmtree(os.path.join(self.home, part))
                self.assertEqual(self.cordon("list").code, 0)
                self.assertEqual(self.cordon("volume", "list").code, 0)
                shutil.rmtree(os.path.join(self.home, part), ignore_errors=True)
                box = self.create("-v", "kept:/data")
                self.assertEqual(box.out("echo > /data/x; ls /data"), "x")
                self.assertEqual(box.remove("-f").code, 0)
                self.assertEqual(self.cordon("volume", "remove", "kept").code, 0)

    def test_two_homes_do_not_see_each_other(self):
        other = os.path.join(self.dir, "other-home")
        a = self.create(name="same")
        b = self.create(name="same", home=other)
        a.out("echo a > /root/f")
        self.assertEqual(b.sh("cat /root/f").code, 1)
        self.assertEqual(b.remove("-f").code, 0)
        self.assertEqual(a.out("cat /root/f"), "a")
        self.assertEqual(self.names(home=other), [])

    def test_two_homes_of_one_path_in_two_mount_namespaces(self):
        """Each service may have its own /tmp, so two homes may have the same path. Sandboxes of the
        same name in these homes must be independent."""
        place, boxes = os.path.join(self.dir, "private"), []
        home = os.path.join(place, "home")
        os.mkdir(place)
        for _ in range(2):
            boxes.append(self.box("same", home))
            with self.claiming(boxes[-1]):
                got = self.cordon("-m", "sh", "-c", f'mount -t tmpfs private {place} && exec "$0" "$@"', CORDON,
                                  "create", "-q", "-n", "same", "--no-net", "host", home=home,
                                  program="/usr/bin/unshare")
            self.assertEqual(got.code, 0, got)
        for box in boxes:
            where = f"--mount=/proc/{box.supervisor().pid}/ns/mnt"
            for command in (("exec", "same", "--", "true"), ("remove", "-f", "same")):
                got = self.cordon(where, CORDON, *command, home=home, program="/usr/bin/nsenter")
                self.assertEqual(got.code, 0, got)
    test_two_homes_of_one_path_in_two_mount_namespaces.modes = ("root",)

    def test_a_home_may_begin_with_a_configuration_file(self):
        other = os.path.join(self.dir, "prepared")
        os.mkdir(other, 0o700)
        with open(os.path.join(other, "config.json"), "w") as handle:
            handle.write('{"sandbox_defaults": {"workdir": "/var"}}')
        box = self.create(name="first", home=other)
        self.assertEqual(box.out("pwd"), "/var")
        self.assertEqual(box.remove("-f").code, 0)

    def test_colliding_uid_ranges_are_given_back_in_any_order(self):
        """cordon has a table of uid ranges, and the path of a sandbox's record decides which slot of the table the
        sandbox gets. The test looks for two names that lead to the same slot. The second sandbox gets the next slot,
        and lives longer than the first."""
        if MODE != "root":
            self.not_run("only root hands out uid ranges")
        seen = {}
        for i in range(10_000):
            path = os.path.join(os.path.realpath(self.dir), "home", "sandboxes", f"n{i}")
            place = int.from_bytes(hashlib.sha256(path.encode()).digest()[:3], "little") % 4000
            if place in seen:
                break
            seen[place] = i
        first, second = self.create(name=f"n{seen[place]}"), self.create(name=f"n{i}")
        first.remove("-f")
        second.remove("-f")
        self.eventually(lambda: not self.uid_claims(), message=self.uid_claims)

    def test_uid_ranges_where_var_is_read_only(self):
        """If /var is read-only, the ranges come from another table. Even then, no other sandbox of
        the machine may get the same range."""
        if MODE != "root":
            self.not_run("only root hands out uid ranges")
        self.create().remove("-f")  # makes the directory of the table
        script = ("mount --bind /var/lib/cordon /var/lib/cordon && mount -o remount,bind,ro /var/lib/cordon && "
                  'exec "$0" "$@"')
        box = self.box()
        with self.claiming(box):
            got = self.cordon("-m", "sh", "-c", script, CORDON, "create", "-q", "-n", box.name, "--no-net", "host",
                              program="/usr/bin/unshare")
        self.assertEqual(got.code, 0, got)
        with open(f"/proc/{box.pid1().pid}/uid_map") as handle:
            self.assertGreaterEqual(min(int(line.split()[1]) for line in handle), 0x70000000 + 4000 * 65537)
        self.assertEqual(box.remove("-f").code, 0)
        self.eventually(lambda: not self.uid_claims(), message=self.uid_claims)

    def test_roots_homes_never_share_a_uid_range(self):
        if MODE != "root":
            self.not_run("only root hands out uid ranges")
        other = os.path.join(self.dir, "other-home")
        boxes = [self.create(), self.create(), self.create(home=other)]
        spans = []
        for box in boxes:
            with open(f"/proc/{box.pid1().pid}/uid_map") as handle:
                for line in handle:
                    _, first, count = map(int, line.split())
                    spans.append((first, first + count))
        spans.sort()
        for (_, end), (start, _) in zip(spans, spans[1:]):
            self.assertLessEqual(end, start, spans)

    def test_a_file_size_limit_only_ends_the_log(self):
        """When the log reaches the caller's limit of file sizes, only the log must end, and the
        command must go on."""
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        noise, number = "head -c 3000000 /dev/zero", unique_number()
        got = self.create().sh(noise, preexec_fn=limited)
        self.assertEqual((got.code, len(got.out)), (0, 3000000), got.errtext)
        if MODE == "root":
            return  # as root, `run` would also write to the table of uid ranges, perhaps at an offset beyond the limit
        other = self.box()
        got = self.cordon("run", "-q", "-d", "-n", other.name, "host", "--", "sh", "-c",
                          f"{noise}; exec sleep {number}", preexec_fn=limited)
        self.assertEqual(got.code, 0, got)
        self.eventually(lambda: self.sleepers(number))
        self.assertEqual(other.status(), "Running")

    def test_long_home(self):
        home = os.path.join(self.dir, "/".join(["d" * 50] * 4))  # none of these four directories exists yet
        box = self.create(name="n" * 128, home=home)
        self.assertEqual(box.exec("echo", "x").text, "x\n")
        term = box.terminal("echo", "pty")
        term.expect("pty")
        term.wait()

    def test_home_with_odd_characters(self):
        home = os.path.join(self.dir, "with space,comma:colon\\back'quote\nnewline é")
        box = self.create(home=home)
        self.assertEqual(box.exec("echo", "x").text, "x\n")
        box.stop()
        box.start()
        self.assertEqual(box.exec("echo", "x").text, "x\n")

    def test_state_directory_is_private(self):
        self.create()
        for where, directories, _ in os.walk(self.home):
            if where == self.home:
                self.assertEqual(os.stat(where).st_mode & 0o777, 0o700)

    def test_msb_home_is_honoured(self):
        home = os.path.join(self.dir, "msb-home")
        got = self.cordon("create", "-q", "-n", "x", "host",
                          env={"CORDON_HOME": None, "MSB_HOME": home})
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.names(home=home), ["x"])

    def test_default_home(self):
        got = self.cordon("create", "-q", "-n", "x", "host", env={"CORDON_HOME": None})
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.names(home=os.path.join(self.dir, ".cordon")), ["x"])

    def test_a_directory_with_foreign_files_is_refused_and_not_changed(self):
        for make in (self.foreign, self.msb_installation, self.tools):
            home = make()
            before = snapshot(home)
            for command in (("create", "-n", "x", "host"), ("list",), ("remove", "-f", "x"),
                            ("run", "host", "--", "true"), ("exec", "x", "--", "true")):
                got = self.cordon(*command, home=home)
                self.assertEqual((got.code, got.out), (1, b""), got)
                self.assertIn("CORDON_HOME", got.errtext)
                self.assertEqual(snapshot(home), before)
            self.homes.remove(home)
            shutil.rmtree(home)

    def foreign(self):
        home = os.path.join(self.dir, "documents")
        os.makedirs(os.path.join(home, "letters"))
        with open(os.path.join(home, "thesis.txt"), "w") as handle:
            handle.write("years of work")
        return home

    def tools(self):
        """Makes a directory that is no home, but has directories `bin` and `cache`, as a home has. Returns its path."""
        home = os.path.join(self.dir, "tools")
        os.makedirs(os.path.join(home, "bin"))
        os.makedirs(os.path.join(home, "cache"))
        with open(os.path.join(home, "bin/tool"), "w") as handle:
            handle.write("#!/bin/sh\n")
        return home

    def msb_installation(self):
        home = os.path.join(self.dir, "msb")
        for sub in ("bin", "lib", "db", "sandboxes/theirs"):
            os.makedirs(os.path.join(home, sub))
        with open(os.path.join(home, "bin/msb"), "w") as handle:
            handle.write("#!/bin/sh\n")
        with open(os.path.join(home, "db/msb.db"), "w") as handle:
            handle.write("SQLite format 3\0")
        return home

    def test_home_that_is_a_file(self):
        path = os.path.join(self.dir, "file")
        open(path, "w").close()
        got = self.cordon("list", home=path)
        self.homes.remove(path)
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertIn(path, got.errtext)

    def test_a_home_in_a_directory_without_permission(self):
        if MODE == "root":
            self.not_run("root may write everywhere")
        got = self.cordon("create", "-n", "x", "host", home="/usr/share/cordon-test-home")
        self.homes.remove("/usr/share/cordon-test-home")
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertIn("/usr/share/cordon-test-home", got.errtext)

    def test_empty_directory_becomes_a_home(self):
        os.mkdir(self.home)
        self.create()

    def test_a_newer_home_is_refused_and_not_written_into(self):
        box = self.create()
        self.assertEqual(box.stop().code, 0)
        marker = os.path.join(self.home, ".cordon-home")
        with open(marker) as handle:
            ours = handle.read()
        self.assertRegex(ours, r"format 1\n$")
        for text, said in ((ours.replace("1", "2"), "format 2, this cordon knows 1"),
                           (ours.replace("1", "18446744073709551615"), "newer"),
                           ("of somebody else\n", "not cordon's"),
                           (ours.replace("1", "one"), "not cordon's")):
            with open(marker, "w") as handle:
                handle.write(text)
            before = sorted(os.listdir(self.home))
            for words in (("list",), ("create", "-n", "late", "host"), ("exec", box.name, "--", "true"),
                          ("remove", "-f", box.name), ("run", "host", "--", "true"),
                          ("images",), ("logs", box.name)):
                with self.subTest(text=text, words=words):
                    got = self.cordon(*words)
                    self.assertEqual((got.code, got.out), (1, b""), got)
                    self.assertIn(said, got.errtext)
                    self.assertIn("CORDON_HOME", got.errtext)
            self.assertEqual(sorted(os.listdir(self.home)), before)
        with open(marker, "w") as handle:
            handle.write(ours)
        self.assertEqual(self.names(), [box.name])


def snapshot(top):
    found = []
    for where, directories, files in os.walk(top):
        for name in directories + files:
            path = os.path.join(where, name)
            info = os.lstat(path)
            found.append((path, info.st_mode, info.st_size, info.st_mtime_ns))
    return sorted(found)


class Disks(CordonTest):
    """Homes on a full and on a read-only file system. The commands run in a mount namespace of their own."""

    own_home = True
    modes = ("root",)

    def within(self, mount, script):
        """Runs MOUNT, which can mount a file system at $CORDON_HOME, and then SCRIPT, in a new
        mount namespace. Returns the finished process."""
        os.makedirs(self.home, exist_ok=True)
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", f"{mount}\n{script}"], capture_output=True,
            text=True, timeout=COMMAND_SECONDS,
            env=self.environment(extra={"CORDON": CORDON}))
        return done

    def test_full_disk(self):
        done = self.within('mount -t tmpfs -o size=256k none "$CORDON_HOME"', """
            "$CORDON" list
            head -c 300k /dev/zero > "$CORDON_HOME/filler" 2>/dev/null || true
            "$CORDON" create -n full host && echo created || echo status $?
            rm "$CORDON_HOME/filler"
            "$CORDON" list -q
            "$CORDON" run -q host -- echo works after || true
        """)
        self.assertIn("status 1\n", done.stdout, done)
        self.assertIn("No space left", done.stderr, done)
        self.assertNotIn("full\n", done.stdout)
        self.assertIn("works after\n", done.stdout, done)

    def test_full_disk_can_still_be_cleaned(self):
        # the base of the image `host` takes about 2 MiB
        done = self.within('mount -t tmpfs -o size=16m none "$CORDON_HOME"', """
            "$CORDON" create -q -n box host
            head -c 32m /dev/zero > "$CORDON_HOME/filler" 2>/dev/null || true
            "$CORDON" exec box -- echo exec works
            "$CORDON" stop box; "$CORDON" remove box && echo removed
            "$CORDON" list -q
        """)
        self.assertEqual(done.stdout, "exec works\nremoved\n", done)

    def test_a_create_whose_record_cannot_be_written_fails(self):
        """If the state file cannot be written, the create must fail and leave nothing."""
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        name = f"box{unique_number()}"
        got = subprocess.run(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-P", "state.json", "-e", "trace=renameat",
             "-e", "inject=renameat:error=ENOSPC", CORDON, "create", "-q", "-n", name, "host"],
            capture_output=True, text=True, timeout=COMMAND_SECONDS, env=self.environment())
        self.assertEqual(got.returncode, 1, got)
        self.assertIn("write 'state.json': No space left", got.stderr)
        self.assertEqual(self.names(), [])

    def test_read_only_home(self):
        done = self.within("true", '"$CORDON" create -q -n early host; "$CORDON" stop -q early')
        self.assertEqual(done.returncode, 0, done)
        done = self.within('mount --bind "$CORDON_HOME" "$CORDON_HOME"; '
                           'mount -o remount,ro,bind "$CORDON_HOME"', """
            "$CORDON" list -q
            "$CORDON" create -n late host || echo status $?
            "$CORDON" remove -f early || echo status $?
            "$CORDON" run host -- true || echo status $?
        """)
        self.assertEqual(done.stdout, "early\nstatus 1\nstatus 1\nstatus 1\n", done)
        self.assertIn("Read-only file system", done.stderr, done)


class Foreign(CordonTest):
    """Damaged or foreign sandbox records must not block other commands."""

    own_home = True

    def records(self, box):
        return os.path.join(self.home, "sandboxes", box.name)

    def test_a_record_that_cannot_be_removed_is_an_error(self):
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        box = self.create("--no-net")
        self.assertEqual(box.stop().code, 0)
        got = self.cordon("-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat", "-e",
                          "inject=renameat:error=EIO", CORDON, "remove", box.name, program="/usr/bin/strace")
        self.assertEqual(got.code, 1, got)
        self.assertIn(f"error: take sandbox '{box.name}' out of the list: ", got.errtext)
        self.assertEqual(self.names(), [box.name])
        self.assertEqual(box.remove().code, 0)
    test_a_record_that_cannot_be_removed_is_an_error.modes = ("root",)  # strace is used as root only

    def test_a_torn_record_is_recognised_and_removable(self):
        box = self.create()
        box.stop()
        changed = 0
        for where, _, files in os.walk(self.records(box)):
            for name in files:
                if name.endswith(".json"):
                    with open(os.path.join(where, name), "r+b") as handle:
                        handle.truncate(10)
                    changed += 1
        self.assertGreater(changed, 0)
        for command in (("list",), ("status", "-a"), ("list", "--format", "json")):
            self.assertEqual(self.cordon(*command).code, 0)
        got = box.exec("true")
        self.assertEqual(got.code, 1, got)
        got = box.remove("-f")
        self.assertTrue(got.code == 0 or "not found" in got.errtext, got)

    def test_a_torn_state_file_loses_no_files(self):
        """A power cut may leave an empty state file."""
        box = self.create()
        box.out("echo kept > /root/f")
        box.stop()
        with open(os.path.join(self.records(box), "state.json"), "w"):
            pass
        self.assertEqual(box.status(), "Crashed")
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /root/f"), "kept")

    def test_the_state_of_a_newer_cordon_is_refused_and_kept(self):
        box = self.create()
        box.stop()
        path = os.path.join(self.records(box), "state.json")
        with open(path) as handle:
            old = handle.read()
        new = json.dumps({**json.loads(old), "format": 2, "status": ["another", "type"]})
        with open(path, "w") as handle:
            handle.write(new)
        for command in (("start", box.name), ("exec", box.name, "--", "true"), ("inspect", box.name)):
            got = self.cordon(*command)
            self.assertEqual(got.code, 1, got)
            self.assertIn(f"sandbox '{box.name}' was last run by a newer cordon", got.errtext)
        with open(path) as handle:
            self.assertEqual(handle.read(), new)
        with open(path, "w") as handle:
            handle.write(old)
        self.assertEqual(box.start().code, 0)
    test_the_state_of_a_newer_cordon_is_refused_and_kept.modes = ("root", "user")

    def test_what_is_no_record_is_no_sandbox(self):
        """For example, `lost+found` if sandboxes/ is a file system of its own."""
        box = self.create()
        place = os.path.join(self.home, "sandboxes")
        os.mkdir(os.path.join(place, "lost+found"))
        with open(os.path.join(place, "README"), "w"):
            pass
        got = self.cordon("list", "-q")
        self.assertEqual((got.code, got.text, got.errtext), (0, box.name + "\n", ""))
        self.assertEqual(box.remove("-f").code, 0)
        self.assertEqual(self.cordon("volume", "create", "unused").code, 0)
        self.assertEqual(self.cordon("prune", "--yes").code, 0)
        self.assertEqual(self.cordon("volume", "list", "-q").text, "")
        os.rmdir(os.path.join(place, "lost+found"))
        os.unlink(os.path.join(place, "README"))

    def test_a_list_names_the_sandboxes_of_a_newer_cordon(self):
        """A newer cordon wrote a file of the record. Every command that looks at all sandboxes must warn of it."""
        other, box = self.create(), self.create()
        box.stop()
        for name, said in (("state.json", f"sandbox '{box.name}' was last run by a newer cordon"),
                           ("config.json", f"sandbox '{box.name}': this sandbox was made by a newer cordon")):
            path = os.path.join(self.records(box), name)
            with open(path) as handle:
                old = handle.read()
            with open(path, "w") as handle:
                handle.write(json.dumps({**json.loads(old), "format": 2}))
            for command in (("list",), ("list", "--format", "json"), ("list", "--stopped"), ("status",),
                            ("status", "-a", "--format", "json"), ("df",), ("df", "--format", "json"),
                            ("stop", "--label", "no=such"), ("stop", "--all"), ("inspect", other.name)):
                for program in (CORDON, MSB):
                    if program == MSB and command[0] == "df":
                        continue  # msb has no such command
                    with self.subTest(name, command=command, program=program):
                        got = self.cordon(*command, program=program)
                        self.assertEqual(got.code, 0, got)
                        wanted = 0 if command[0] == "inspect" else 1
                        self.assertEqual(got.errtext.count(f"warn: {said}\n"), wanted, got)
            with open(path, "w") as handle:
                handle.write(old)
        self.assertEqual(sorted(self.names()), sorted([box.name, other.name]))
        self.assertEqual(self.cordon("list").errtext, "")
    test_a_list_names_the_sandboxes_of_a_newer_cordon.modes = ("root", "user")

    def test_uninstall_ends_the_sandbox_of_a_newer_cordon(self):
        box = self.create()
        path = os.path.join(self.records(box), "state.json")
        with open(path) as handle:
            text = json.dumps({**json.load(handle), "format": 2})
        with open(path, "w") as handle:
            handle.write(text)
        got = self.cordon("self", "uninstall", "-y")
        self.assertEqual(got.code, 0, got)
        self.assertFalse(os.path.exists(self.home))
        self.eventually(lambda: not box.host_processes())
    test_uninstall_ends_the_sandbox_of_a_newer_cordon.modes = ("root", "user")

    def test_a_command_without_descriptors_changes_nothing(self):
        """A command that runs out of descriptors must not treat a live sandbox as a leftover."""
        box = self.create()
        for limit in range(3, 12):
            for command in (("list",), ("status", box.name), ("ping", box.name),
                            ("create", "-q", "-n", box.name, "host")):
                self.cordon(f"--nofile={limit}", CORDON, *command, program="prlimit")
            self.assertEqual(box.status(), "Running", f"{limit} descriptors")
        self.assertEqual(box.exec("echo", "fine").text, "fine\n")
        self.assertEqual(self.names(), [box.name])  # also sweeps what the failed commands left

    def test_a_sandbox_without_its_sockets_can_be_removed(self):
        box = self.create()
        for name in os.listdir(os.path.join(self.home, "run")):
            os.unlink(os.path.join(self.home, "run", name))
        got = box.remove("-f")
        self.assertEqual(got.code, 0, got)
        self.eventually(lambda: not box.host_processes())
    # two modes are enough, because the test takes two seconds in each
    test_a_sandbox_without_its_sockets_can_be_removed.modes = ("root", "bare")

    def test_an_empty_sandbox_directory(self):
        self.create().remove("-f")
        os.makedirs(os.path.join(self.home, "sandboxes", "half"))
        self.assertEqual(self.cordon("list").code, 0)
        box = self.create(name="half")
        self.assertEqual(box.exec("true").code, 0)

    def test_a_newer_record_is_refused_politely_and_can_be_removed(self):
        box = self.create()
        box.stop()
        path = os.path.join(self.records(box), "config.json")
        with open(path) as handle:
            text = handle.read()
        with open(path, "w") as handle:
            handle.write(text.replace('"format":1', '"format":999'))
        got = box.exec("true")
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertIn("newer", got.errtext)
        self.assertEqual(box.remove("-f").code, 0)


class NoHome(CordonTest):
    """Without HOME, as under some service managers, the password database says where the state is."""

    own_home = True
    modes = ("root", "user")

    def test_the_password_database_decides(self):
        account = os.path.join(self.dir, "account")
        os.mkdir(account)
        passwd = os.path.join(self.dir, "passwd")
        with open(passwd, "w") as handle:
            handle.write(f"somebody:x:0:0::{account}:/bin/sh\n")
        script = 'mount --bind "$1" /etc/passwd && shift && exec "$@"'
        for unset in ({"HOME": None}, {"HOME": ""}, {"HOME": "relative"}):
            got = self.cordon("-Urm", "sh", "-c", script, "sh", passwd, CORDON, "self", "uninstall",
                              program="/usr/bin/unshare", env={"CORDON_HOME": None, **unset})
            self.assertEqual(got.code, 1, got)
            self.assertIn(f"'{account}/.cordon'", got.errtext)
        with open(passwd, "w") as handle:
            handle.write("other:x:7:7::/nowhere:/bin/sh\n")
        got = self.cordon("-Urm", "sh", "-c", script, "sh", passwd, CORDON, "list",
                          program="/usr/bin/unshare", env={"CORDON_HOME": None, "HOME": None})
        self.assertEqual(got.code, 1, got)
        self.assertIn("no home directory", got.errtext)
