"""Tests `exec`: what the command gets, what the caller gets back, and when the processes of a command end."""

import fcntl
import hashlib
import os
import signal
import socket
import struct
import subprocess
import threading

from harness import (ALL_MODES, COMMAND_SECONDS, CORDON, ONE_ID, CordonTest, Reader, below,
                     unique_number, waiting_in)

SYS_READ, SYS_POLL = 0, 7  # numbers of system calls on x86-64


def system_call(pid):
    """Returns the number and the arguments of the system call in which the process sleeps."""
    with open(f"/proc/{pid}/syscall") as handle:
        return [int(word, 0) for word in handle.read().split() if word != "running"]


class Status(CordonTest):
    """The exit status of `exec` is the exit status of the command."""

    modes = ALL_MODES

    def test_statuses_pass_through_unchanged(self):
        box = self.create()
        for wanted in (0, 1, 2, 42, 124, 126, 127, 137, 254, 255):
            self.assertEqual(box.sh(f"exit {wanted}").code, wanted)

    def test_death_by_signal_is_128_plus_n(self):
        box = self.create()
        for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            got = box.sh(f"kill -{int(sig)} $$")
            self.assertEqual(got.code, 128 + sig, got)

    def test_missing_program_is_127_with_text_on_stderr_only(self):
        box = self.create()
        for program in ("/no/such", "no-such-program-anywhere"):
            got = box.exec(program)
            self.assertEqual((got.code, got.out), (127, b""), got)
            self.assertEqual(got.stderr_line(0), f'error: failed to exec "{program}"', got)
            self.assertRegex(got.stderr_line(1), r"^  → not found: ", got)

    def test_a_missing_entrypoint_is_named(self):
        program = "/no/such/program/with/a/name/of/some/length"
        box = self.create("--entrypoint", program)
        for got in (self.cordon("exec", box.name), self.cordon("run", "-n", box.name)):
            self.assertEqual((got.code, got.out), (127, b""), got)
            self.assertEqual(got.stderr_line(0), f'error: failed to exec "{program}"', got)

    def test_directory_is_126(self):
        got = self.create().exec("/usr")
        self.assertEqual((got.code, got.out), (126, b""), got)
        self.assertEqual(got.stderr_line(0), 'error: failed to exec "/usr"', got)

    def test_file_without_execute_permission_is_126(self):
        box = self.create()
        box.out("printf '#!/bin/sh\\necho no' > /root/plain; chmod 644 /root/plain")
        got = box.exec("/root/plain")
        self.assertEqual((got.code, got.out), (126, b""), got)
        self.assertRegex(got.stderr_line(1), r"^  → permission denied: ", got)

    def test_wrong_format_is_126(self):
        box = self.create()
        box.out("printf 'neither ELF nor script' > /root/odd; chmod 755 /root/odd")
        got = box.exec("/root/odd")
        self.assertEqual((got.code, got.out), (126, b""), got)
        self.assertRegex(got.stderr_line(1), r"^  → not executable: ", got)

    def test_unknown_sandbox(self):
        got = self.cordon("exec", "nosuch", "--", "true")
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertEqual(got.errtext, "error: sandbox not found: nosuch\n")


class Arguments(CordonTest):
    def test_arguments_are_not_split_or_quoted_again(self):
        odd = ["a b", "c'd", 'e"f', "g\\h", "$HOME", "*", "", "--not-a-flag", "ü", "\n", "-e"]
        got = self.create().sh('for a; do printf "<%s>" "$a"; done', *odd)
        self.assertEqual(got.text, "".join(f"<{a}>" for a in odd), got)

    def test_arguments_need_not_be_utf8(self):
        got = self.create().exec("printf", "%s", b"\xff\xfe\x80")
        self.assertEqual(got.out, b"\xff\xfe\x80", got)

    def test_long_argument_lists(self):
        args = [f"argument-{i}" for i in range(20_000)]
        got = self.create().sh('echo $#', *args)
        self.assertEqual(got.text, "20000\n", got)

    def test_an_argument_of_128_kilobytes(self):
        got = self.create().sh('printf %s "$1" | wc -c', "x" * (127 << 10))
        self.assertEqual(got.text.strip(), str(127 << 10), got)


class Streams(CordonTest):
    modes = ALL_MODES

    def test_stdout_and_stderr_stay_apart(self):
        got = self.create().sh("echo to-out; echo to-err >&2; exit 3")
        self.assertEqual((got.code, got.out, got.err), (3, b"to-out\n", b"to-err\n"))

    def test_stdin_reaches_the_command(self):
        box = self.create()
        for data in (b"", b"x", b"one\ntwo\n"):
            got = box.exec("cat", stdin=data)
            self.assertEqual((got.code, got.out), (0, data), got)

    def test_dev_null_is_end_of_file(self):
        got = self.create().sh("cat; echo done")
        self.assertEqual(got.text, "done\n", got)

    def test_all_byte_values_both_ways(self):
        data = bytes(range(256)) * 4096
        got = self.create().exec("cat", stdin=data)
        self.assertEqual(got.code, 0, got)
        self.assertTrue(got.out == data, f"{len(got.out)} bytes of {len(data)}, or others")

    def test_16_mib_of_stdin_arrive_whole(self):
        data = hashlib.sha256(b"seed").digest() * (16 << 15)
        got = self.create().exec("sha256sum", stdin=data)
        self.assertEqual(got.text.split()[0], hashlib.sha256(data).hexdigest(), got)

    def test_50_mb_of_output_byte_for_byte(self):
        box, size = self.create(), 50_000_000
        line = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"
        proc = box.popen("sh", "-c", f"yes {line.decode().strip()} | head -c {size}",
                         stderr=subprocess.DEVNULL)
        wanted, got, count = hashlib.sha256(), hashlib.sha256(), 0
        for start in range(0, size, len(line) * 4096):
            wanted.update((line * 4096)[:size - start])
        while chunk := proc.stdout.read1(1 << 20):
            got.update(chunk)
            count += len(chunk)
        self.assertEqual((proc.wait(10), count), (0, size))
        self.assertEqual(got.hexdigest(), wanted.hexdigest())

    def test_unread_stdin_does_not_fail_the_command(self):
        got = self.create().sh("exit 5", stdin=b"x" * 3_000_000)
        self.assertEqual(got.code, 5, got)

    def test_open_stdin_does_not_delay_the_end(self):
        box = self.create()
        proc = box.popen("echo", "hi", stdin=subprocess.PIPE)
        self.assertEqual(proc.stdout.read(), b"hi\n")
        self.assertEqual(proc.wait(5), 0)

    def test_a_client_does_not_block_on_a_stdin_that_others_read_too(self):
        """Several clients share a stdin. poll() may announce the same byte to all of them, but only one client gets it.
        If another client blocked in read(), it would not learn that its command ended."""
        box = self.create()
        theirs, writer = os.pipe()
        procs = [box.popen("sh", "-c", f"echo up; sleep {unique_number()}", stdin=theirs)
                 for _ in range(12)]
        for proc in procs:
            self.assertEqual(proc.stdout.readline(), b"up\n")
        for _ in range(200):
            os.write(writer, b"x")
            self.eventually(lambda: waiting_in(theirs) == 0)
            for proc in procs:
                self.assertNotEqual(system_call(proc.pid)[:2], [SYS_READ, 0])
        os.close(theirs)
        os.close(writer)

    def test_stdin_is_forwarded_as_it_arrives(self):
        box = self.create()
        proc = box.popen("sh", "-c", 'while read -r l; do echo "got $l"; done',
                         stdin=subprocess.PIPE)
        for word in (b"one\n", b"two\n"):
            proc.stdin.write(word)
            proc.stdin.flush()
            self.assertEqual(proc.stdout.readline(), b"got " + word)
        proc.stdin.close()
        self.assertEqual(proc.wait(5), 0)

    def test_end_of_stdin_is_forwarded_while_output_goes_on(self):
        box = self.create()
        proc = box.popen("sh", "-c", "cat >/dev/null; echo after-eof", stdin=subprocess.PIPE)
        proc.stdin.close()
        self.assertEqual(proc.stdout.read(), b"after-eof\n")
        self.assertEqual(proc.wait(5), 0)

    def test_output_streams_while_the_command_runs(self):
        box = self.create()
        proc = box.popen("sh", "-c", "echo early; read x; echo late", stdin=subprocess.PIPE)
        self.assertEqual(proc.stdout.readline(), b"early\n")
        proc.stdin.write(b"\n")
        proc.stdin.flush()
        self.assertEqual(proc.stdout.readline(), b"late\n")
        self.assertEqual(proc.wait(5), 0)

    def test_stderr_joined_to_stdout_keeps_the_order_of_writes(self):
        """If the caller uses `2>&1`, the command gets one pipe for both streams."""
        box = self.create()
        script = "i=0; while [ $i -lt 500 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done"
        proc = box.popen("sh", "-c", script, stderr=subprocess.STDOUT)
        wanted = "".join(f"o{i}\ne{i}\n" for i in range(500))
        self.assertEqual(proc.stdout.read().decode(), wanted)
        self.assertEqual(proc.wait(5), 0)

    def test_a_full_non_blocking_stdout_loses_nothing(self):
        """The caller may have made its pipe non-blocking: if the pipe is full, the client must still wait."""
        box, size = self.create(), 300_000
        ours, theirs = os.pipe()
        os.set_blocking(theirs, False)
        proc = box.popen("head", "-c", str(size), "/dev/zero", stdout=theirs)
        os.close(theirs)
        room = fcntl.fcntl(ours, fcntl.F_GETPIPE_SZ)
        self.eventually(lambda: proc.poll() is not None or (
            waiting_in(ours) == room and system_call(proc.pid)[:1] == [SYS_POLL]))
        with os.fdopen(ours, "rb") as reader:
            self.assertEqual(len(reader.read()), size)
        self.assertEqual((proc.wait(5), proc.stderr.read()), (0, b""))

    def test_stdout_and_stderr_on_one_file_keep_the_order_of_writes(self):
        box, path = self.create(), os.path.join(self.dir, "both")
        with open(path, "wb") as handle:
            proc = box.popen("sh", "-c", "for i in 1 2 3; do echo o$i; echo e$i >&2; done",
                             stdout=handle, stderr=handle)
            self.assertEqual(proc.wait(10), 0)
        with open(path) as handle:
            self.assertEqual(handle.read(), "o1\ne1\no2\ne2\no3\ne3\n")

    def test_dev_stdout_and_stderr_can_be_opened_inside(self):
        got = self.create().sh("echo a > /dev/stdout; echo b > /dev/stderr; cat < /dev/stdin",
                               stdin=b"c\n")
        self.assertEqual((got.code, got.out, got.err), (0, b"a\nc\n", b"b\n"), got)

    def test_dev_stdout_can_be_opened_by_another_user(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        got = self.create().sh("echo a > /dev/stdout; echo b > /dev/stderr",
                               opts=("--user", "1234"))
        self.assertEqual((got.code, got.out, got.err), (0, b"a\n", b"b\n"), got)

    def test_closed_descriptors_of_the_client(self):
        """A caller may have closed stdin, stdout or stderr. The streams must not get mixed up."""
        box = self.create()
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            done = subprocess.run(
                ["sh", "-c", 'exec "$@" ' + " ".join(f"{fd}>&-" for fd in closed), "sh",
                 CORDON, "exec", box.name, "--", "sh", "-c", "echo out; echo err >&2; exit 7"],
                env=self.environment(), capture_output=True, timeout=20)
            wanted = (b"" if 1 in closed else b"out\n", b"" if 2 in closed else b"err\n")
            self.assertIn(done.returncode, (7, 0) if 1 in closed else (7,), (closed, done))
            self.assertEqual((done.stdout, done.stderr), wanted, closed)

    def test_stream_flag_is_accepted(self):
        got = self.create().exec("cat", opts=("--stream",), stdin=b"tunnel")
        self.assertEqual((got.code, got.out), (0, b"tunnel"), got)


class Flood(CordonTest):
    def test_a_flood_beyond_the_logs_share_is_byte_for_byte(self):
        """After some tens of megabytes the client passes output on without logging it."""
        box, size = self.create(), 320 << 20
        block = "".join(f"{n}\n" for n in range(1, 20001)).encode()
        command = f'yes "$(seq 1 20000)" | head -c {size}'
        proc = box.popen("sh", "-c", command, stderr=subprocess.DEVNULL)
        got, wanted = hashlib.sha256(), hashlib.sha256()
        while chunk := proc.stdout.read1(1 << 20):
            got.update(chunk)
        self.assertEqual(proc.wait(10), 0)
        for _ in range(size // len(block)):
            wanted.update(block)
        wanted.update(block[:size % len(block)])
        self.assertEqual(got.hexdigest(), wanted.hexdigest())


class BackPressure(CordonTest):
    """Memory stays bounded when one side is slow."""

    def rss(self, box, client):
        ours = [p for p in box.host_processes() if p.comm.startswith("cordon")]
        return sum(p.rss_kib for p in ours + below([client.pid]))

    def test_slow_reader_of_output(self):
        box = self.create()
        proc = box.popen("sh", "-c", "yes | head -c 300000000; echo done >&2",
                         stderr=subprocess.PIPE)
        proc.stdout.read(1 << 16)
        first = self.eventually(lambda: self.rss(box, proc))
        # a full pipe must stop the command, so that our programs need not buffer its output
        writer = self.eventually(lambda: [p for p in box.host_processes() if p.comm == "head"])[0]
        self.eventually(lambda: blocked(writer.pid), within=10, message="writer never blocks")
        self.assertLess(self.rss(box, proc), first + 8 * 1024)
        proc.kill()
        proc.wait()

    def test_command_that_never_reads(self):
        box = self.create()
        number = unique_number()
        proc = box.popen("sleep", str(number), stdin=subprocess.PIPE)
        self.eventually(lambda: self.sleepers(number))
        first = self.rss(box, proc)
        os.set_blocking(proc.stdin.fileno(), False)
        accepted = 0

        def full():
            nonlocal accepted
            try:
                accepted += os.write(proc.stdin.fileno(), b"x" * 65536)
                return False
            except BlockingIOError:
                return True

        self.eventually(full, within=10)
        self.assertLess(accepted, 16 << 20)
        self.assertLess(self.rss(box, proc), first + 8 * 1024)
        proc.kill()
        proc.wait()

    def check_unread(self, ours, theirs, size, read_before=0):
        """The command writes SIZE bytes. The test reads READ_BEFORE of these bytes, and then waits until the command
        has taken all its input and its stderr has arrived. Then the test reads the rest."""
        command = f"head -c {size} /dev/zero & echo ready >&2; cat >/dev/null; echo done >&2; wait"
        with open(ours, "rb", buffering=0) as output:
            proc = self.create().popen("sh", "-c", command, stdin=subprocess.PIPE, stdout=theirs)
            os.close(theirs)
            self.assertEqual(proc.stderr.readline(), b"ready\n")
            had = 0
            while had < read_before:
                had += len(output.read(1 << 20))
            proc.stdin.write(bytes(2 << 20))
            proc.stdin.close()
            self.assertEqual(proc.stderr.readline(), b"done\n")
            while chunk := output.read(1 << 20):
                had += len(chunk)
        self.assertEqual((had, proc.wait(COMMAND_SECONDS)), (size, 0))

    def test_an_unread_pipe_blocks_neither_the_other_stream_nor_input(self):
        self.check_unread(*os.pipe(), 400000)

    def test_an_unread_socket_blocks_neither_the_other_stream_nor_input(self):
        self.check_unread(*(s.detach() for s in socket.socketpair()), 400000)

    def test_an_unread_flood_blocks_neither_the_other_stream_nor_input(self):
        self.check_unread(*os.pipe(), 320 << 20, read_before=300 << 20)

    def test_one_slow_exec_does_not_block_another(self):
        box = self.create()
        slow = box.popen("yes")
        slow.stdout.read(1000)
        got = box.sh("yes | head -c 1000000 | wc -c")
        self.assertEqual(got.text.strip(), "1000000", got)
        slow.kill()
        slow.wait()


def blocked(pid):
    try:
        with open(f"/proc/{pid}/wchan") as handle:
            where = handle.read()
        with open(f"/proc/{pid}/stat") as handle:
            state = handle.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state == "S" and ("pipe" in where or where in ("", "0"))


class Cpus(CordonTest):
    """Beginning with the third command, a launcher starts the commands. Pid 1 may bind the launcher to
        one CPU. Neither commands nor pid 1 may be bound to that CPU."""

    LOOK = ("grep", "Cpus_allowed:", "/proc/self/status")

    def setUp(self):
        super().setUp()
        with open("/proc/self/status") as f:
            self.all = next(line for line in f if line.startswith("Cpus_allowed:"))

    def test_every_command_may_use_all_cpus_of_the_caller(self):
        box = self.create()
        self.assertEqual({box.exec(*self.LOOK).text for _ in range(6)}, {self.all})

    def test_commands_that_start_at_once_may_use_all_cpus(self):
        box = self.create()
        for _ in range(5):
            started = [box.popen(*self.LOOK) for _ in range(8)]
            self.assertEqual({p.communicate()[0].decode() for p in started}, {self.all})

    def test_pid_1_stays_on_one_cpu_only_while_a_command_starts(self):
        box = self.create()
        for _ in range(3):
            box.out("true")
        waits = box.popen("sh", "-c", "echo up; read x", stdin=subprocess.PIPE)
        self.assertEqual(waits.stdout.readline(), b"up\n")
        self.eventually(lambda: box.pid1().status("Cpus_allowed") == self.all.split()[1:])
        self.assertEqual(box.exec(*self.LOOK).text, self.all)
        waits.communicate(b"\n")
        self.eventually(lambda: box.pid1().status("Cpus_allowed") == self.all.split()[1:])


class End(CordonTest):
    """`exec` ends when the command's own process ends. Background children live on."""

    def test_a_background_child_survives_and_does_not_delay_the_end(self):
        box, number = self.create(), unique_number()
        got = box.sh(f"sleep {number} & echo hi")
        self.assertEqual((got.code, got.text), (0, "hi\n"), got)
        self.assertEqual(len(self.sleepers(number)), 1)
        self.assertEqual(box.sh("true").code, 0)
        self.assertEqual(len(self.sleepers(number)), 1)

    def test_background_child_is_visible_to_the_next_exec(self):
        box, number = self.create(), unique_number()
        pid = box.out(f"sleep {number} > /dev/null 2>&1 & echo $!")
        self.assertEqual(box.out(f"tr '\\0' ' ' < /proc/{pid}/cmdline").strip(),
                         f"sleep {number}")
        self.assertEqual(box.sh(f"kill -9 {pid}").code, 0)
        self.eventually(lambda: not self.sleepers(number))

    def test_output_written_before_the_end_is_not_lost(self):
        box = self.create()
        for _ in range(5):
            got = box.sh("(seq 1 2000; sleep 1000) & seq 1 10 >&2; exit 4")
            self.assertEqual(got.code, 4)
            self.assertEqual(got.errtext, "".join(f"{i}\n" for i in range(1, 11)))

    def test_output_written_before_the_end_is_not_lost_to_a_slow_reader(self):
        """The client passes on everything that the pipe held when the command ended, even if this takes longer than one
        second. One second is how long the client goes on reading output of background children."""
        box, number, size = self.create(), unique_number(), 900_000
        init = box.pid1()
        script = (f"import fcntl, os, subprocess; subprocess.Popen(['sleep', '{number}']); "
                  f"fcntl.fcntl(1, 1031, 1 << 20); os.write(1, bytes({size}))")  # F_SETPIPE_SZ
        proc = box.popen("python3", "-c", script)
        self.eventually(lambda: [p for p in self.sleepers(number) if p.ppid == init.pid])
        got, full = b"", 1 << 16
        for _ in range(3):  # after three reads the client has learned that the command ended
            # `>=`: more than FULL bytes can be in the pipe, because the client enlarges its pipes when it stops logging
            self.eventually(lambda: waiting_in(proc.stdout.fileno()) >= full)
            got += os.read(proc.stdout.fileno(), full)
        threading.Event().wait(1.5)
        got += proc.stdout.read()
        self.assertEqual((proc.wait(10), len(got)), (0, size))

    def test_late_output_of_a_background_child_never_kills_it(self):
        box = self.create()
        script = ('(trap "echo PIPE > /root/result; exit" PIPE; read x < /root/go; '
                  "i=0; while [ $i -lt 200 ]; do echo late $i || exit 1; i=$((i+1)); done; "
                  "head -c 3000000 /dev/zero | tr '\\0' y; echo $? > /root/result) & echo started")
        box.out("mkfifo /root/go")
        self.assertEqual(box.sh(script).text, "started\n")
        box.out("echo > /root/go")
        self.eventually(lambda: box.sh("cat /root/result").text, within=10)
        self.assertEqual(box.out("cat /root/result"), "0")

    def test_a_background_child_that_writes_nothing_does_not_delay_the_end(self):
        box, number = self.create(), unique_number()
        got = box.sh(f"sleep {number} & echo a; echo b >&2")
        self.assertEqual((got.out, got.err), (b"a\n", b"b\n"))

    def test_orphans_are_reaped(self):
        box = self.create()
        box.out("i=0; while [ $i -lt 200 ]; do (sh -c 'true &'); i=$((i+1)); done")
        self.eventually(lambda: not [p for p in below(box.roots) if p.state == "Z"])


class ClientDeath(CordonTest):
    """If the client dies before its command ends, everything that this exec started ends within a second."""

    modes = ALL_MODES

    # a plain child; a double-forked child; a child in a new session; a double-forked child in a new session that
    # ignores all signals that can be ignored; a double-forked child in a new session of a new session; and a child for
    # which the shell waits
    TREE = ("sleep {n} & (sleep {n} &) ; setsid sleep {n} & "
            "(setsid sh -c 'trap \"\" HUP TERM INT; sleep {n}' &); "
            "setsid sh -c '(setsid sleep {n} &)'; echo up; sleep {n}")
    COUNT = 6

    def started(self, box, number):
        proc = box.popen("sh", "-c", self.TREE.format(n=number))
        self.assertEqual(proc.stdout.readline(), b"up\n")
        self.eventually(lambda: len(self.sleepers(number)) == self.COUNT)
        return proc

    def dies_with(self, sig, status):
        box, number, other = self.create(), unique_number(), unique_number()
        neighbour = box.popen("sleep", str(other))
        self.eventually(lambda: self.sleepers(other))
        proc = self.started(box, number)
        proc.send_signal(sig)
        self.eventually(lambda: not self.sleepers(number), within=1.0,
                        message=lambda: self.sleepers(number))
        self.assertEqual(proc.wait(5), status)
        self.assertEqual(len(self.sleepers(other)), 1, "another exec's process was killed")
        self.assertEqual(box.sh("echo usable").text, "usable\n")
        neighbour.kill()
        neighbour.wait()

    def test_sigkill(self):
        self.dies_with(signal.SIGKILL, -signal.SIGKILL)

    def test_sigterm_gives_143(self):
        self.dies_with(signal.SIGTERM, 143)

    def test_sigint_gives_130(self):
        self.dies_with(signal.SIGINT, 130)

    def test_sighup_gives_129(self):
        self.dies_with(signal.SIGHUP, 129)

    def test_a_signal_that_the_client_ignores_stays_ignored(self):
        """nohup, and shells without job control, start programs with some signals ignored."""
        box = self.create()
        for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            proc = box.popen("sh", "-c", "echo up; read word; echo $word", stdin=subprocess.PIPE,
                             preexec_fn=lambda sig=sig: signal.signal(sig, signal.SIG_IGN))
            self.assertEqual(proc.stdout.readline(), b"up\n")
            proc.send_signal(sig)
            out, err = proc.communicate(b"word\n", timeout=10)
            self.assertEqual((out, proc.returncode), (b"word\n", 0), (sig, err))

    def test_background_children_of_an_earlier_exec_are_spared(self):
        box, number, earlier = self.create(), unique_number(), unique_number()
        box.out(f"sleep {earlier} >/dev/null 2>&1 & echo")
        proc = self.started(box, number)
        proc.kill()
        proc.wait()
        self.eventually(lambda: not self.sleepers(number), within=1.0)
        self.assertEqual(len(self.sleepers(earlier)), 1)

    def test_sigkill_while_output_floods(self):
        """The broken pipe may end the command before pid 1 sees that the client is gone. Such an end is no normal end,
        so the background children of the command must die too."""
        box = self.create()
        for _ in range(15):
            number = unique_number()
            proc = box.popen("sh", "-c", f"sleep {number} & yes")
            proc.stdout.read(1 << 20)
            proc.kill()
            proc.wait()
            self.eventually(lambda: not self.sleepers(number), within=1.0)
        self.eventually(lambda: not [p for p in box.host_processes() if p.comm == "yes"],
                        within=1.0)

    def test_a_closed_stdout_ends_the_command(self):
        """The client is alive, but no process reads its output any more."""
        box, number = self.create(), unique_number()
        proc = box.popen("sh", "-c", f"sleep {number} & while echo y; do :; done")
        proc.stdout.read(1000)
        proc.stdout.close()
        self.assertEqual(proc.wait(10), 0)
        self.eventually(lambda: not self.sleepers(number))


class Timeout(CordonTest):
    modes = ALL_MODES

    def test_timeout_kills_everything_and_says_so(self):
        box, number = self.create(), unique_number()
        got = box.sh(f"echo partial; (setsid sleep {number} &); trap '' TERM; sleep {number}",
                     opts=("--timeout", "1s"))
        self.assertEqual((got.code, got.text), (124, "partial\n"), got)
        self.assertIn("exec timed out after 1s", got.errtext)
        self.eventually(lambda: not self.sleepers(number), within=1.0)
        self.assertEqual(box.sh("echo usable").text, "usable\n")

    def test_a_command_that_ends_in_time_is_not_touched(self):
        got = self.create().sh("exit 9", opts=("--timeout", "20s"))
        self.assertEqual((got.code, got.err), (9, b""), got)

    def test_a_timeout_longer_than_one_epoll_wait(self):
        box = self.create()
        # One call of epoll_wait() cannot wait for 2^31 ms or longer. The client waits 3000 ms longer than the time-out.
        # So `most` is the shortest time-out, in ms, for which one call is not enough.
        most = (1 << 31) - 3000
        for time in [f"{most + n}ms" for n in range(3)] + ["30d", "49d17h2m44s"]:
            got = box.sh("exit 9", opts=("--timeout", time))
            self.assertEqual((got.code, got.err), (9, b""), got)

    def test_open_stdin_does_not_stop_the_timer(self):
        box, number = self.create(), unique_number()
        proc = box.popen("sleep", str(number), opts=("--timeout", "1"), stdin=subprocess.PIPE)
        self.assertEqual(proc.wait(5), 124)
        self.eventually(lambda: not self.sleepers(number), within=1.0)

    def test_durations_below_a_second(self):
        box, number = self.create(), unique_number()
        got = box.exec("sleep", str(number), opts=("--timeout", "300ms"))
        self.assertEqual(got.code, 124, got)

    def test_bad_durations_touch_nothing(self):
        box = self.create()
        for value in ("", "-1", "x", "1y", "1.5.5s"):
            got = box.exec("touch", "/root/ran", opts=(f"--timeout={value}",))
            self.assertEqual(got.code, 1, got)
            self.assertIn("--timeout", got.errtext)
        self.assertEqual(box.sh("test -e /root/ran").code, 1)


class Options(CordonTest):
    def test_workdir(self):
        box = self.create("--workdir", "/usr/share")
        self.assertEqual(box.out("pwd"), "/usr/share")
        self.assertEqual(box.out("pwd", opts=("-w", "/usr/lib")), "/usr/lib")

    def test_default_workdir_is_the_root(self):
        self.assertEqual(self.create().out("pwd"), "/")

    def test_missing_workdir_runs_nothing(self):
        box = self.create()
        got = box.exec("touch", "/root/ran", opts=("-w", "/no/such/dir"))
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertIn("bad cwd: '/no/such/dir': No such file or directory", got.errtext)
        self.assertIn("bad cwd: '/gone': ", self.create("-w", "/gone").exec("true").errtext)
        self.assertEqual(box.sh("test -e /root/ran").code, 1)

    def test_workdir_that_is_a_file(self):
        got = self.create().exec("true", opts=("-w", "/etc/passwd"))
        self.assertEqual(got.code, 1, got)
        self.assertIn("bad cwd", got.errtext)

    def test_env_is_for_one_exec_only(self):
        box = self.create("--env", "A=from-create")
        self.assertEqual(box.out("echo $A$B", opts=("-e", "A=x y", "-e", "B=1=2")), "x y1=2")
        self.assertEqual(box.out("echo $A$B"), "from-create")

    def test_bare_env_copies_the_clients_value(self):
        box = self.create()
        self.assertEqual(box.out("echo $GIVEN", opts=("-e", "GIVEN"), env={"GIVEN": "v"}), "v")
        got = box.exec("true", opts=("-e", "NOT_SET_ANYWHERE"))
        self.assertEqual(got.code, 1, got)
        self.assertIn("NOT_SET_ANYWHERE", got.errtext)

    def test_env_values_arrive_unmangled(self):
        box = self.create()
        for value in ("two words 'q' \"d\"", "a=b=c", "héllo ✓", "$HOME `id` \\n", "", "a\nb"):
            self.assertEqual(box.exec("printenv", "V", opts=("-e", f"V={value}")).text,
                             value + "\n")

    def test_program_is_looked_up_in_the_commands_own_path(self):
        box = self.create()
        box.out("mkdir /root/bin; printf '#!/bin/sh\\necho mine' > /root/bin/mine; "
                "chmod 755 /root/bin/mine")
        self.assertEqual(box.exec("mine").code, 127)
        self.assertEqual(box.exec("mine", opts=("-e", "PATH=/root/bin")).text, "mine\n")

    def test_rlimits(self):
        box = self.create()
        got = box.sh("ulimit -Sn; ulimit -Hn; ulimit -c", opts=(
            "--rlimit", "nofile=100:200", "--rlimit", "CORE=0"))
        self.assertEqual(got.text, "100\n200\n0\n", got)

    def test_one_value_sets_both_limits(self):
        got = self.create().sh("ulimit -Sn; ulimit -Hn", opts=("--rlimit", "nofile=64"))
        self.assertEqual(got.text, "64\n64\n", got)

    def test_the_last_of_two_limits_of_one_name_holds(self):
        got = self.create().sh("ulimit -Sn; ulimit -Hn", opts=(
            "--rlimit", "nofile=64", "--rlimit", "NOFILE=65:66"))
        self.assertEqual(got.text, "65\n66\n", got)

    def test_bad_rlimits_touch_nothing(self):
        box = self.create()
        for value in ("nofile=5:1", "nofile", "nosuch=1", "nofile=x", "nofile=-1", "=1", ""):
            got = box.exec("touch", "/root/ran", opts=(f"--rlimit={value}",))
            self.assertEqual(got.code, 1, got)
            self.assertIn("--rlimit", got.errtext)
        self.assertEqual(box.sh("test -e /root/ran").code, 1)

    def test_the_command_keeps_the_callers_nofile(self):
        """Pid 1 raises its own soft limit, but the command gets the original limit."""
        import resource
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertEqual(self.create().out("ulimit -Sn"), str(soft))

    def test_tty_and_no_tty_conflict(self):
        self.assertEqual(self.cordon("exec", "box", "--tty", "--no-tty", "--", "true").code, 2)

    def test_stream_and_tty_conflict(self):
        self.assertEqual(self.cordon("exec", "box", "--stream", "--tty", "--", "true").code, 2)


class User(CordonTest):
    """Users and groups are looked up in the guest's own passwd and group."""

    modes = ALL_MODES

    def test_root_by_default(self):
        self.assertEqual(self.create().out("id -u; id -g"), "0\n0")

    def test_numeric_users(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create()
        self.assertEqual(box.out("id -u; id -g; id -G", opts=("-u", "1234")), "1234\n0\n0")
        self.assertEqual(box.out("id -u; id -g", opts=("-u", "1234:567")), "1234\n567")

    def test_names_come_from_the_sandbox(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create()
        box.out("echo 'robot:x:4321:765::/home/robot:/bin/sh' >> /etc/passwd; "
                "echo 'robots:x:765:' >> /etc/group; echo 'more:x:888:robot' >> /etc/group")
        self.assertEqual(box.out("id -u; id -g; echo $HOME", opts=("-u", "robot")),
                         "4321\n765\n/home/robot")
        self.assertEqual(set(box.out("id -G", opts=("-u", "robot")).split()), {"765", "888"})
        self.assertEqual(box.out("id -g", opts=("-u", "robot:more")), "888")

    def test_a_changed_passwd_file_counts_for_the_next_exec(self):
        """Pid 1 may use what it has read from /etc/passwd only while the file is unchanged."""
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create()
        self.assertEqual(box.out("id -u", opts=("-u", "root")), "0")
        for uid in (4001, 4002, 4003):  # the changed file has the same length and perhaps the same time as before
            box.out("sed -i /^late:/d /etc/passwd; "
                    f"echo late:x:{uid}:{uid}::/home/late:/bin/sh >> /etc/passwd")
            self.assertEqual(box.out("id -u", opts=("-u", "late")), str(uid))

    def test_an_unknown_user_name_is_status_1(self):
        got = self.create().exec("true", opts=("-u", "nobody-of-that-name"))
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertIn("nobody-of-that-name", got.errtext)

    def test_the_user_of_the_sandbox_is_the_default(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create("--user", "1000:1000")
        self.assertEqual(box.out("id -u; id -g"), "1000\n1000")
        self.assertEqual(box.out("id -u", opts=("-u", "0")), "0")

    def test_home_of_an_unknown_number_is_a_directory_path(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        self.assertEqual(self.create().out("echo $HOME", opts=("-u", "54321"))[:1], "/")

    def test_users_are_refused_where_there_is_one_id(self):
        if not ONE_ID:
            self.not_run("there is a range of ids here")
        self.refused("1234")

    def test_a_number_beyond_the_range_is_named(self):
        self.refused("70000")

    def refused(self, user):
        """Asserts that USER is refused as the user of an exec and as the user of a sandbox."""
        said = f"error: failed to exec \"true\"\n  → user setup: '{user}': the sandbox has no such id\n"
        got = self.create().exec("true", opts=("-u", user))
        self.assertEqual((got.code, got.errtext), (1, said), got)
        got = self.create("-u", user).exec("true")
        self.assertEqual((got.code, got.errtext), (1, said), got)


class Descriptors(CordonTest):
    def test_a_command_has_the_descriptors_0_1_and_2_only(self):
        """No descriptor of our processes and no descriptor of the caller may be open in the command."""
        box = self.create()
        extra = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(20)]
        self.addCleanup(lambda: [os.close(fd) for fd in extra])
        for fd in extra:
            os.set_inheritable(fd, True)
        script = "for n in $(seq 0 1023); do [ -e /proc/$$/fd/$n ] && echo $n; done; true"
        got = self.cordon("exec", box.name, "--", "bash", "-c", script, pass_fds=extra)
        self.assertEqual((got.code, got.text), (0, "0\n1\n2\n"), got)

    def test_descriptors_of_the_creator_do_not_enter(self):
        extra = os.open("/etc/passwd", os.O_RDONLY)
        self.addCleanup(os.close, extra)
        os.set_inheritable(extra, True)
        box = self.create(pass_fds=(extra,))
        for script in ("ls -l /proc/self/fd", "ls -l /proc/1/fd 2>/dev/null || true"):
            self.assertNotIn("passwd", box.out(script))
        for p in box.host_processes():
            try:
                targets = [os.readlink(f"/proc/{p.pid}/fd/{fd}")
                           for fd in os.listdir(f"/proc/{p.pid}/fd")]
            except PermissionError:
                continue
            self.assertNotIn("/etc/passwd", targets, p)

    def test_no_host_file_or_terminal_as_stdio(self):
        """The client never passes its own stdio to the command."""
        box, path = self.create(), os.path.join(self.dir, "plain-file")
        with open(path, "wb") as handle:
            proc = box.popen("sh", "-c", "readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2",
                             stdout=handle, stdin=handle)
            proc.wait(10)
        with open(path) as handle:
            for line in handle:
                self.assertRegex(line, r"^(pipe|socket):|^/dev/null$")

    def test_new_session_and_process_group(self):
        got = self.create().sh("cut -d' ' -f1,5,6 /proc/$$/stat; echo $$")
        ids, pid = got.text.split("\n")[0].split(), got.text.split("\n")[1]
        self.assertEqual(ids, [pid, pid, pid], got)

    def test_signal_state_is_clean(self):
        """The command starts with no blocked and no ignored signals, even if the client has some."""
        box = self.create()
        got = self.cordon("exec", box.name, "--", "grep", "^Sig[BI]", "/proc/self/status",
                          preexec_fn=lambda: (signal.signal(signal.SIGPIPE, signal.SIG_IGN),
                                              signal.signal(signal.SIGHUP, signal.SIG_IGN)))
        for line in got.text.splitlines():
            self.assertEqual(int(line.split()[1], 16), 0, got)

    def test_umask_is_022(self):
        got = self.cordon("exec", self.create().name, "--", "sh", "-c", "umask",
                          preexec_fn=lambda: os.umask(0o777))
        self.assertEqual(got.text, "0022\n", got)


class Connection:
    """A client that speaks cordon-protocol(7) itself and runs many commands on one connection."""

    HELLO, EXEC, EXIT, PING, PONG = 1, 2, 4, 12, 13
    VERSION, OLDEST, FLAGS, ARG = 1, 2, 3, 4
    LAST = 16  # a bit of the field FLAGS

    def __init__(self, box):
        name = hashlib.sha256(box.name.encode()).hexdigest()[:16]
        home = os.open(box.home, os.O_PATH)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(COMMAND_SECONDS)
        self.socket.connect(f"/proc/self/fd/{home}/run/{name}.sock")
        os.close(home)
        self.stream, self.pipes = 0, []
        self.socket.sendall(self.frame(self.HELLO, self.number(self.VERSION, 1) + self.number(self.OLDEST, 1)))

    def frame(self, kind, body):
        return struct.pack("<IBBHI", len(body), kind, 0, 0, self.stream) + body

    @staticmethod
    def number(tag, value):
        return struct.pack("<BIQ", tag, 8, value)

    def run(self, *argv, flags=0):
        """Starts a command and waits for its EXIT."""
        self.begin(*argv, flags=flags)
        self.hear(self.EXIT)

    def begin(self, *argv, flags=0):
        """Starts a command. Returns the write end of the pipe that is its input."""
        self.stream += 1
        inside, outside = zip(*(os.pipe() for _ in range(3)))
        ends = [inside[0], outside[1], outside[2]]
        self.pipes += [fd for fd in inside + outside if fd not in ends]
        body = self.number(self.FLAGS, flags)
        for word in argv:
            body += struct.pack("<BI", self.ARG, len(word) + 1) + word.encode() + b"\0"
        socket.send_fds(self.socket, [self.frame(self.EXEC, body)], ends)
        for fd in ends:
            os.close(fd)
        return outside[0]

    def hear(self, wanted):
        """Reads frames up to the first frame of type WANTED."""
        kind = None
        while kind != wanted:
            size, kind = struct.unpack("<IB", self.socket.recv(12, socket.MSG_WAITALL)[:5])
            self.socket.recv(size, socket.MSG_WAITALL)

    def ping(self):
        self.socket.sendall(self.frame(self.PING, b""))
        self.hear(self.PONG)

    def close(self):
        self.socket.close()
        for fd in self.pipes:
            os.close(fd)


class Connections(CordonTest):
    modes = ALL_MODES

    def connect(self, box):
        connection = Connection(box)
        self.addCleanup(connection.close)
        return connection

    def test_one_connection_takes_many_commands(self):
        connection = self.connect(self.create())
        for _ in range(5):  # a launcher starts the third and later commands
            connection.run("true")
        connection.ping()

    def test_pid_1_hangs_up_after_the_last_command(self):
        box = self.create()
        for _ in range(5):
            connection = self.connect(box)
            connection.run("true")
            connection.run("true", flags=Connection.LAST)
            self.assertEqual(connection.socket.recv(1), b"")
        self.assertEqual(box.out("echo fine"), "fine")

    def test_pid_1_does_not_hang_up_while_a_background_process_is_left(self):
        """If a command leaves a background process, the client passes the pipes of the command to pid 1 over the
        connection. So pid 1 must not close the connection before that."""
        box = self.create()
        connection = self.connect(box)
        connection.run("sh", "-c", "sleep 1000 & :", flags=Connection.LAST)
        connection.run("true")
        connection.ping()

    def test_pid_1_does_not_hang_up_while_another_command_runs(self):
        box = self.create()
        box.out(":")
        for _ in range(3):
            connection = self.connect(box)
            to = connection.begin("cat")
            connection.run("true", flags=Connection.LAST)
            connection.ping()
            connection.pipes.remove(to)
            os.close(to)
            connection.hear(connection.EXIT)
            connection.ping()


class Parallel(CordonTest):
    timeout = 120

    def test_256_execs_at_once_keep_their_streams_apart(self):
        box, count = self.create("--pids-limit", "2048"), 256
        script = "echo up; read x; seq 1 100; echo err$1 >&2; exit $(($1 % 200))"
        procs = [box.popen("sh", "-c", script, "sh", str(i), stdin=subprocess.PIPE)
                 for i in range(count)]
        for proc in procs:  # wait until all commands run
            self.assertEqual(proc.stdout.readline(), b"up\n")
        readers = [(Reader(p.stdout), Reader(p.stderr)) for p in procs]
        for proc in procs:
            proc.stdin.close()
        wanted = "".join(f"{n}\n" for n in range(1, 101)).encode()
        failed = []
        for i, (proc, (out, err)) in enumerate(zip(procs, readers)):
            code = proc.wait(20)
            out.join(5)
            err.join(5)
            if (code, out.data, err.data) != (i % 200, wanted, f"err{i}\n".encode()):
                failed.append((i, code, out.data[:50], err.data))
        self.assertEqual(failed, [])

    def test_more_execs_than_descriptors_take_turns(self):
        box = self.box()
        with self.claiming(box):
            # the kernel limits how many descriptors all processes of a user have in flight. Other tests can use up this
            # limit, so try again if this command fails
            self.eventually(lambda: self.cordon("--nofile=64", CORDON, "create", "-q", "-n", box.name, "host",
                                                program="prlimit").code == 0)
        procs = [box.popen("sh", "-c", f"sleep 0.1; echo {i}") for i in range(24)]
        for i, proc in enumerate(procs):
            got = self.finish(proc)
            self.assertEqual((got.code, got.text, got.errtext), (0, f"{i}\n", ""))

    def test_20_execs_interleaved_with_kills(self):
        box, number = self.create(), unique_number()
        stop = threading.Event()
        results = []

        def steady():
            while not stop.is_set():
                got = subprocess.run([CORDON, "exec", box.name, "--", "echo", "fine"],
                                     env=self.environment(), capture_output=True, timeout=30)
                results.append((got.returncode, got.stdout, got.stderr))

        workers = [threading.Thread(target=steady) for _ in range(2)]
        for w in workers:
            w.start()
        for _ in range(20):
            proc = box.popen("sh", "-c", f"echo up; exec sleep {number}")
            proc.stdout.readline()
            proc.kill()
            proc.wait()
        stop.set()
        for w in workers:
            w.join()
        self.eventually(lambda: not self.sleepers(number), within=2)
        self.assertEqual(set(results), {(0, b"fine\n", b"")})


class StoppedSandbox(CordonTest):
    """exec on a stopped sandbox starts the sandbox, runs the command, and stops the sandbox again."""

    def test_started_for_the_exec_and_stopped_after(self):
        box = self.create()
        box.out("echo durable > /root/file")
        self.assertEqual(box.stop().code, 0)
        got = box.sh("cat /root/file; exit 6", opts=("--quiet",))
        self.assertEqual((got.code, got.text, got.err), (6, "durable\n", b""), got)
        self.assertEqual(box.status(), "Stopped")
        self.eventually(lambda: not self.left_running())

    def test_the_sandbox_runs_until_the_last_exec_is_done(self):
        box = self.create()
        box.out("mkfifo /root/first /root/second")
        self.assertEqual(box.stop().code, 0)
        with self.claiming(box):
            procs = {}
            for name in ("first", "second"):  # the first exec starts the sandbox
                procs[name] = box.popen("sh", "-c", f"echo up; read x < /root/{name}; echo end")
                self.assertEqual(procs[name].stdout.readline(), b"up\n")
        for name, proc in procs.items():
            box.out(f"echo > /root/{name}")
            got = self.finish(proc)
            self.assertEqual((got.code, got.out, got.err), (0, b"end\n", b""), got)
        self.eventually(lambda: box.status() == "Stopped")
        self.eventually(lambda: not self.left_running())

    def test_the_sandbox_stops_when_the_client_dies(self):
        box = self.create()
        for sig in (signal.SIGTERM, signal.SIGKILL):
            number = unique_number()
            self.assertEqual(box.stop().code, 0)
            with self.claiming(box):
                proc = box.popen("sleep", str(number))
                self.eventually(lambda: self.sleepers(number))
            proc.send_signal(sig)
            proc.wait()
            self.eventually(lambda: box.status() == "Stopped")

    def test_a_running_sandbox_is_left_running(self):
        box = self.create()
        box.out("true")
        self.assertEqual(box.status(), "Running")

    def test_bad_values_do_not_start_the_sandbox(self):
        box = self.create()
        box.stop()
        self.eventually(lambda: not self.left_running())
        got = box.exec("true", opts=("--rlimit", "nofile=5:1"))
        self.assertEqual(got.code, 1, got)
        self.assertEqual(self.left_running(), [])
        self.assertEqual(box.status(), "Stopped")
