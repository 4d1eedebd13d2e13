"""Tests the ways out of a sandbox. Root in the sandbox tries each of them (attacks.c). Some tests also look from
the host."""

import ctypes
import json
import os
import shutil
import signal
import subprocess

from attack import AttackTest, compiled
from harness import ALL_MODES, MODE, ONE_ID, below, unique_number

SYS_ADD_KEY, SYS_KEYCTL = 248, 250  # x86-64
USER_KEYRING, KEYCTL_UNLINK = -4, 9


class Walls(AttackTest):
    """The attacker is root inside, the strongest user there."""

    modes = ALL_MODES

    def test_nested_namespaces(self):
        self.attack(self.armed(), "namespaces")

    def test_mounts(self):
        self.attack(self.armed(), "mounts")

    def test_chroot_does_not_escape(self):
        self.attack(self.armed(), "chroot")

    def test_dangerous_system_calls(self):
        self.attack(self.armed(), "calls")

    def test_other_instruction_sets(self):
        self.attack(self.armed(), "abi")

    def test_socket_families_and_protocols(self):
        """The attacks of CVE-2026-31431, -43284, -43500 and -46300 write to the page cache through unusual socket
        families."""
        self.attack(self.armed(), "sockets")

    def test_ordinary_sockets_work(self):
        self.attack(self.armed(), "sockets-allowed")

    def test_devices(self):
        self.attack(self.armed(), "devices")

    def test_no_writes_to_directories_that_all_sandboxes_share(self):
        self.attack(self.armed(), "fixtures")

    def test_leases_on_files_of_others(self):
        self.attack(self.armed(), "leases")

    def test_writes_to_proc_and_sys(self):
        self.attack(self.armed(), "proc-writes")

    def test_reads_of_kernel_secrets(self):
        self.attack(self.armed(), "proc-reads")

    def test_names_of_the_callers_keys(self):
        """The caller has keys in the kernel, as after a login with Kerberos. Root inside must not see their names."""
        libc = ctypes.CDLL(None, use_errno=True)
        name = f"secret-of-{unique_number()}".encode()
        key = libc.syscall(SYS_ADD_KEY, b"user", name, b"x", 1, USER_KEYRING)
        self.assertGreater(key, 0, os.strerror(ctypes.get_errno()))
        self.addCleanup(libc.syscall, SYS_KEYCTL, KEYCTL_UNLINK, key, USER_KEYRING)
        with open("/proc/keys", "rb") as f:
            self.assertIn(name, f.read())
        self.attack(self.armed(), "proc-reads")

    def test_capabilities(self):
        self.attack(self.armed(), "capabilities")

    def test_cve_2019_10063_terminal_injection(self):
        """Tries TIOCSTI and similar calls, also with high bits set (CVE-2019-10063), on pipes and on a PTY."""
        box = self.armed()
        self.attack(box, "terminal")
        term = box.terminal("/attack/attacks", "terminal")
        term.expect("done terminal")
        self.assertEqual(term.wait(), 0)
        self.assertNotIn(b"OPEN", term.seen)

    def test_the_same_walls_around_an_ordinary_user_inside(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.armed()
        for name in ("namespaces", "mounts", "calls", "abi", "sockets", "devices", "proc-writes"):
            self.attack(box, name, "-u", "1000:1000")

    def test_the_same_walls_in_restricted_mode(self):
        box = self.armed("--security", "restricted")
        for name in ("namespaces", "mounts", "calls", "abi", "sockets", "devices", "proc-writes",
                     "capabilities"):
            self.attack(box, name)

    def test_the_same_walls_around_run(self):
        for name in ("namespaces", "mounts", "sockets"):
            got = self.cordon("run", "-q", "-v", f"{compiled('attacks.c')}:/attack:ro", "host",
                              "--", "/attack/attacks", name)
            self.assertEqual((got.code, got.text), (0, f"done {name}\n"), got)


class OurProcesses(AttackTest):
    modes = ALL_MODES

    @staticmethod
    def launcher(box):
        """Returns the pid of the launcher, or "" if there is none."""
        return box.out("for p in $(grep -ls cordon-guest /proc/[0-9]*/comm | cut -d/ -f3); do "
                       "[ $p = 1 ] || echo $p; done").strip()

    def with_launcher(self, box):
        """Runs commands until there is a launcher: pid 1 starts the launcher at the third command."""
        for _ in range(4):
            if self.launcher(box):
                return
        self.fail("no launcher after four commands")

    def test_pid_1_cannot_be_read_traced_or_tuned(self):
        if ONE_ID:
            self.not_run("one id only: pid 1 has the payload's id")
        self.attack(self.armed(), "pid1")

    def test_a_launcher_cannot_be_read_traced_or_tuned(self):
        if ONE_ID:
            self.not_run("one id only: pid 1 has the payload's id")
        box = self.armed()
        self.with_launcher(box)
        self.attack(box, "launcher")

    def test_a_command_of_a_launcher_has_the_same_walls(self):
        look = ("exec 2>&1; grep -E '^(Uid|Gid|Groups|Cap|NoNew|Seccomp|Sig(Blk|Ign))' /proc/self/status; ulimit -a; "
                "cat /proc/self/cgroup /proc/self/limits; for n in /proc/self/ns/*; do "
                "[ $n = /proc/self/ns/uts ] || [ $n = /proc/self/ns/cgroup ] || readlink $n; done; "
                "ls /proc/self/fd; umask; pwd; env | sort; ps -o sid=,pgid=,pid= -p $$ | awk '{print $1==$3, $2==$3}'")
        for options in ([], ["--security", "restricted"]):
            box = self.armed(*options)
            direct = box.out(look)
            self.with_launcher(box)
            self.assertEqual(box.out(look), direct)

    def test_commands_run_without_the_launcher_after_it_was_killed(self):
        box = self.create()
        for signal in ("KILL", "STOP"):
            self.with_launcher(box)
            box.out(f"kill -{signal} {self.launcher(box)}")
            self.assertEqual(box.sh("echo out; echo err >&2; exit 7").code, 7)
            self.assertEqual(box.exec("/no/such/program").code, 127)
            self.with_launcher(box)

    def test_a_stopped_launcher_blocks_its_own_command_only(self):
        box = self.create()
        self.with_launcher(box)
        launcher, = (p for p in box.host_processes() if p.comm == "cordon-guest" and not p.is_pid1)
        box.out(f"kill -STOP {self.launcher(box)}")
        both = [box.popen("true") for _ in range(2)]
        self.eventually(lambda: any(p.poll() is not None for p in both))
        self.assertEqual(launcher.status("State")[:1], ["T"])  # pid 1 did not wait for the stopped launcher
        self.assertEqual([p.wait(30) for p in both], [0, 0])

    def test_a_command_that_a_launcher_cannot_execute(self):
        box = self.create()
        direct = box.exec("/no/such/program"), box.exec("/etc")
        self.with_launcher(box)
        for first, name in zip(direct, ("/no/such/program", "/etc")):
            again = box.exec(name)
            self.assertEqual((again.code, again.text, again.errtext), (first.code, "", first.errtext))
        self.assertEqual(box.exec("echo", "next").text, "next\n")
        ids = [line["id"] for line in map(json.loads, open(os.path.join(
            self.home, "sandboxes", box.name, "logs", "exec.log"))) if line["id"]]
        self.assertEqual(sorted(set(ids)), list(range(1, max(ids) + 1)))  # a command that never ran has no number

    def test_launchers_killed_all_the_time(self):
        """Launchers are killed at any instant. A command runs once and returns its own status, unless the killer hit
        the command itself."""
        box = self.create()
        killer = box.popen("sh", "-c", "echo; while :; do for p in $(grep -ls cordon-guest /proc/[0-9]*/comm | "
                           "cut -d/ -f3); do [ $p = 1 ] || kill -9 $p; done; done 2>/dev/null")
        killer.stdout.readline()
        ran = []
        for n in range(40):
            got = box.sh(f"echo {n} >> /tmp/ran; exit {n}")
            self.assertIn(got.code, (n, 137), got)
            ran += [str(n)] if got.code == n else []
        killer.kill()
        killer.wait()
        once = box.out("cat /tmp/ran").split()
        self.assertEqual(len(once), len(set(once)))
        # Compare only the commands that the killer did not hit. A command that was hit (status 137) may have written
        # its number before, or not.
        self.assertEqual([n for n in once if n in ran], ran)

    def test_signals_to_pid_1(self):
        """If the sandbox has a range of ids, no signal arrives. If it has one id, a signal harms only this
        sandbox."""
        box, neighbour = self.armed(), self.create()
        box.exec("/attack/attacks", "signals", timeout=15)
        if ONE_ID:
            self.assertIn(box.status(), ("Running", "Crashed", "Stopped"))
        else:
            self.assertEqual(box.exec("echo", "alive").text, "alive\n")
        self.assertEqual(neighbour.exec("echo", "alive").text, "alive\n")

    def test_kill_everything(self):
        box, neighbour, number = self.armed(), self.create(), unique_number()
        neighbour.out(f"sleep {number} > /dev/null 2>&1 &")
        outside = subprocess.Popen(["sleep", str(number)])
        self.spawned.append(outside)
        box.exec("/attack/attacks", "kill-all")
        if not ONE_ID:
            self.assertEqual(box.exec("echo", "alive").text, "alive\n")
        self.assertEqual(len(self.sleepers(number)), 2)
        self.assertEqual(neighbour.exec("echo", "alive").text, "alive\n")

    def test_stopping_commands_at_birth_does_not_block_pid_1(self):
        """Pid 1 must not wait for a process that root inside can stop, because clients, signals and time-outs depend
        on pid 1."""
        box = self.armed()
        stopper = box.popen("/attack/attacks", "stop-all")
        stopper.stdout.readline()
        stopped = [box.popen("true") for _ in range(10)]
        terminals = [box.terminal("true") for _ in range(3)]
        self.eventually(lambda: any(p.state == "T" for p in box.host_processes()) or
                        any(p.poll() is not None for p in stopped))
        # 124: the command was stopped, and the time-out ended it
        self.assertIn(box.exec("true", opts=("--timeout", "1s"), timeout=30).code, (0, 124))
        for proc in [stopper, *stopped, *(t.proc for t in terminals)]:
            proc.kill()
            proc.wait()
        self.assertEqual(box.exec("echo", "alive").text, "alive\n")

    def test_attacks_on_pid_1_with_one_id_hurt_only_the_sandbox_itself(self):
        if not ONE_ID:
            self.not_run("there is a range of ids here")
        box, neighbour = self.armed(), self.create()
        box.exec("/attack/attacks", "pid1")
        self.assertEqual(neighbour.exec("echo", "alive").text, "alive\n")
        self.assertEqual(box.remove("-f").code, 0)

    def test_cve_2026_41163_same_user_cannot_trace_our_processes(self):
        """CVE-2026-41163: the supervisor is not dumpable. (Pid 1 may be traced by the user who owns its user namespace.
        This user is the caller, and no setuid program is involved.)"""
        if MODE in ("root", "userns", "container"):
            self.not_run("root may trace everything")
        p = self.create().supervisor()
        for name in ("mem", "maps", "environ"):
            with self.assertRaises(OSError, msg=f"{p} {name}"):
                with open(f"/proc/{p.pid}/{name}", "rb") as handle:
                    handle.read(1)

    def overwrite_programs(self, box, programs):
        before = listing(programs)
        box.sh("printf '#!/proc/self/exe\\n' > /root/x; chmod 755 /root/x; /root/x & "
               "for i in 1 2 3 4 5 6 7 8 9; do for p in /proc/[0-9]*; do "
               "echo bad > $p/exe; dd if=/dev/zero of=$p/exe count=1; done; done 2>/dev/null")
        box.exec("/root/x", timeout=10)
        self.assertEqual(listing(programs), before)

    def test_cve_2019_5736_overwriting_our_program(self):
        """The attack runs a script whose interpreter is /proc/self/exe. Meanwhile it tries to overwrite the program of
        every process in the sandbox, also that of pid 1."""
        self.overwrite_programs(self.create(), os.environ["CORDON_TEST_PREFIX"])
        self.assertEqual(self.create().exec("echo", "ok").text, "ok\n")

    def test_cve_2019_5736_programs_that_are_the_callers_own(self):
        """Root inside owns these programs if an ordinary user started the sandbox."""
        own = os.path.join(self.dir, "own")
        shutil.copytree(os.environ["CORDON_TEST_PREFIX"], own, symlinks=True)
        box = self.create(program=os.path.join(own, "bin/cordon"))
        if MODE in ("user", "bare"):  # pid 1 runs a copy of its program
            guest = os.stat(os.path.join(own, "libexec/cordon/cordon-guest"))
            self.assertFalse(os.path.samestat(os.stat(f"/proc/{box.pid1().pid}/exe"), guest))
        self.overwrite_programs(box, own)

    def test_a_program_that_runs_pid_1s_binary(self):
        got = self.create().exec("/proc/1/exe", timeout=10)
        self.assertIn(got.code, (126, 127), got)


def listing(top):
    found = []
    for where, _, files in os.walk(top):
        for name in files:
            info = os.lstat(os.path.join(where, name))
            found.append((where, name, info.st_size, info.st_mtime_ns, info.st_mode))
    return sorted(found)


class Scopes(AttackTest):
    """All processes of a command end with its client, however they hide."""

    modes = ALL_MODES

    def ends_with_its_client(self, attack, spares_others=True):
        box, other = self.armed(), unique_number()
        neighbour = box.popen("sleep", str(other))
        self.eventually(lambda: self.sleepers(other))
        proc = box.popen("/attack/attacks", attack)
        self.assertEqual(proc.stdout.readline(), b"going\n")
        proc.kill()
        proc.wait()
        # zombies count: a process whose first thread has ended looks like a zombie
        self.eventually(lambda: not [p for p in below(box.roots) if p.comm == "attacks"])
        if spares_others:
            self.assertEqual(len(self.sleepers(other)), 1, "another exec's process was killed")
        self.assertEqual(box.exec("echo", "usable").text, "usable\n")
        neighbour.kill()
        neighbour.wait()

    def test_processes_whose_first_thread_has_ended(self):
        self.ends_with_its_client("headless")

    def test_a_storm_of_processes_whose_first_thread_has_ended(self):
        """Without cgroups, processes may multiply faster than pid 1 can kill them. Then the whole sandbox ends."""
        self.ends_with_its_client("headless-storm", spares_others=False)

    def test_a_chain_of_forking_processes(self):
        self.ends_with_its_client("fork-chain", spares_others=False)


class Cores(AttackTest):
    """When a process crashes, no core dump may reach the host. If the host's core pattern begins with `|`, the kernel
    starts a crash handler as root of the host, even if the crashed process has an RLIMIT_CORE of 0. If RLIMIT_CORE is
    exactly 1, the kernel starts no handler, so every process of a sandbox has this limit. test_kernel.Cores runs with
    such a core pattern."""

    modes = ALL_MODES

    def test_no_core_dump_reaches_the_host(self):
        box = self.create()
        got = box.sh("cd /root; kill -SEGV $$")
        self.assertEqual(got.code, 128 + signal.SIGSEGV, got)
        self.assertEqual(box.out("ls /root"), "")

    def test_no_command_can_change_the_limit_of_core_dumps(self):
        box = self.armed()
        users = [()] if ONE_ID else [(), ("-u", "1000:1000")]
        for _ in range(3):  # pid 1 starts the first commands, a launcher the later ones
            for user in users:
                self.attack(box, "core", *user)
        got = self.cordon("run", "-q", "-v", f"{compiled('attacks.c')}:/attack:ro", "host", "--",
                          "/attack/attacks", "core")
        self.assertEqual((got.code, got.text), (0, "done core\n"), got)

    def test_restricted_commands_and_commands_with_own_filters(self):
        for option in ("--security=restricted", "--seccomp-filters"):
            self.attack(self.armed(option), "core")

    def test_every_process_of_a_sandbox_has_the_limit(self):
        """The supervisor, pid 1 and the launcher have the limit, too."""
        box = self.create()
        for _ in range(4):
            box.out("true")
        found = box.host_processes()
        self.assertGreaterEqual(len(found), 3, found)
        for process in found:
            with open(f"/proc/{process.pid}/limits") as handle:
                self.assertRegex(handle.read(), r"(?m)^Max core file size +1 +1 +bytes", process)

    def test_an_option_cannot_change_the_limit(self):
        box = self.create()
        look = "grep core /proc/self/limits"
        usual = box.out(look)
        for value in ("core=0", "core=1", "CORE=0:1"):
            self.assertEqual(box.out(look, opts=("--rlimit", value)), usual)
        for value in ("core=unlimited", "core=0:2"):
            got = box.exec("true", opts=("--rlimit", value))
            self.assertEqual(got.code, 1, got)
            self.assertIn("crash handler", got.errtext)


class SetUid(AttackTest):
    def test_a_planted_setuid_file_is_not_the_hosts_root(self):
        """Root in the sandbox writes a program to a volume. On the host, the program belongs to the volume's owner
        and has no set-user-id bit."""
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared, 0o700)
        box = self.create("-v", f"{shared}:/w")
        box.out("cp /usr/bin/id /w/planted; chown 0:0 /w/planted; chmod 6755 /w/planted")
        info = os.stat(os.path.join(shared, "planted"))
        self.assertEqual((info.st_uid, info.st_mode & 0o7777), (os.getuid(), 0o755))

    def test_ids_outside_the_map_cannot_be_taken(self):
        got = self.create().exec("id", opts=("-u", "70000"))
        self.assertEqual(got.code, 1, got)
