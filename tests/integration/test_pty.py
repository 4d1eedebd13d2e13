"""Tests interactive use through a real pseudo-terminal."""

import os
import shutil
import signal
import subprocess
import termios

from harness import (ALL_MODES, CORDON, CordonTest, Process, Terminal, below, unique_number,
                     waiting_in)

CTRL_C, CTRL_Z, DETACH = b"\x03", b"\x1a", b"\x1d"


class Terminals(CordonTest):
    modes = ALL_MODES

    def shell(self, box, *opts, **kwargs):
        term = box.terminal("sh", opts=opts, **kwargs)
        term.send("PS1='READY> '; export PS1\n")
        term.expect("READY> $")
        return term

    def test_a_terminal_on_stdin_gives_a_pty_from_the_sandboxs_own_devpts(self):
        box = self.create()
        term = box.terminal("sh", "-c", "tty; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all-tty")
        term.expect("/dev/pts/[0-9]+\r\n")
        term.expect("all-tty\r\n")
        self.assertEqual(term.wait(), 0)
        self.assertTrue(term.restored())

    def test_exit_status(self):
        term = self.create().terminal("sh", "-c", "exit 42")
        self.assertEqual(term.wait(), 42)

    def test_window_size_and_resize(self):
        box = self.create()
        term = box.terminal("sh", "-c", "stty size; trap 'stty size' WINCH; echo armed; "
                            "while :; do read x; done", rows=33, cols=121)
        term.expect("33 121\r\n")
        term.expect("armed\r\n")
        term.resize(44, 132)
        term.expect("44 132\r\n")

    def test_ctrl_c_interrupts_the_command_not_the_client(self):
        term, number = self.shell(self.create()), unique_number()
        term.send(f"sleep {number}\n")
        self.eventually(lambda: self.sleepers(number))
        term.send(CTRL_C)
        term.expect("READY> ")
        term.send("echo status=$?\n")
        term.expect("status=130\r\n")
        term.send("exit 3\n")
        self.assertEqual(term.wait(), 3)
        self.assertTrue(term.restored())

    def test_job_control(self):
        number = unique_number()
        term = self.shell(self.create())
        term.send(f"sleep {number}\n")
        self.eventually(lambda: self.sleepers(number))
        term.send(CTRL_Z)
        term.expect("Stopped")
        term.expect("READY> ")
        self.assertEqual([p.state for p in self.sleepers(number)], ["T"])
        term.send("fg\n")
        self.eventually(lambda: [p.state for p in self.sleepers(number)] == ["S"])
        term.send(CTRL_C)
        term.expect("READY> ")
        term.send("exit\n")
        term.wait()

    def test_no_job_control_complaints(self):
        term = self.create().terminal("bash", "--norc", "-i")
        term.send("echo one$((1+1))\n")
        match = term.expect(r"^(.*?)one2\r\n")
        self.assertNotIn(b"no job control", match.group(1))
        self.assertNotIn(b"cannot set terminal", match.group(1))
        term.send("exit\n")
        self.assertEqual(term.wait(), 0)

    def test_the_local_terminal_is_raw_during_the_command_and_restored_after(self):
        term = self.shell(self.create())
        self.assertFalse(term.attributes()[3] & termios.ECHO)
        self.assertFalse(term.attributes()[3] & termios.ICANON)
        term.send("exit\n")
        term.wait()
        self.assertTrue(term.restored())

    def test_restored_when_the_supervisor_is_killed(self):
        box = self.create()
        term = self.shell(box)
        os.kill(box.supervisor().pid, signal.SIGKILL)
        term.wait(within=5)
        self.assertNotEqual(term.proc.returncode, 0)
        self.assertTrue(term.restored())

    def test_restored_when_pid_1_is_killed(self):
        box = self.create()
        term = self.shell(box)
        try:
            os.kill(box.pid1().pid, signal.SIGKILL)
        except PermissionError:
            os.kill(box.supervisor().pid, signal.SIGKILL)
        term.wait(within=5)
        self.assertTrue(term.restored())

    def test_restored_when_the_client_is_terminated(self):
        for sig, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130),
                            (signal.SIGQUIT, 131)):
            number = unique_number()
            term = self.create().terminal("sh", "-c", f"echo up; sleep {number}")
            term.expect("up\r\n")
            self.eventually(lambda: self.sleepers(number))
            term.proc.send_signal(sig)
            self.assertEqual(term.wait(), status)
            self.assertTrue(term.restored())
            self.eventually(lambda: not self.sleepers(number), within=1.0)

    def test_restored_at_any_instant_of_the_signal(self):
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        box, when, status = self.create(), 0, None
        # strace counts the calls of ioctl and sends SIGTERM at the call WHEN. If `cordon exec` makes
        # fewer calls, it gets no signal and ends with the status 0. Then all instants have been
        # tested.
        while status != 0:
            when += 1
            term = Terminal(self, ["strace", "-qq", "-o", "/dev/null", "-e", "trace=ioctl", "-e",
                                   f"inject=ioctl:signal=TERM:when={when}", CORDON, "exec", box.name,
                                   "--", "true"], self.environment())
            status = term.wait()
            self.assertIn(status, (0, 143, -signal.SIGTERM))
            self.assertTrue(term.restored(), f"after call {when}")
            term.close()
        self.assertGreater(when, 3)

    def test_a_closed_terminal_kills_its_processes(self):
        number = unique_number()
        term = self.create().terminal("sh", "-c", f"trap '' HUP; echo up; sleep {number}")
        term.expect("up\r\n")
        self.eventually(lambda: self.sleepers(number))
        os.close(term.master)
        os.close(term.slave)
        self.eventually(lambda: term.proc.poll() is not None, within=3)
        self.eventually(lambda: not self.sleepers(number), within=1.0)

    def test_a_command_that_closes_its_terminal_may_open_it_again(self):
        box = self.create()
        box.out("mkfifo /root/closed /root/go")
        term = box.terminal("sh", "-c", "exec 0<&- 1>&- 2>&-; echo > /root/closed; read x < /root/go; "
                            "seq 1 20000 > /dev/tty; read x < /root/go")
        box.out("read x < /root/closed")
        box.out("echo > /root/go")
        term.expect("19999\r\n20000\r\n")
        box.out("echo > /root/go")
        self.assertEqual(term.wait(), 0)

    def test_control_d_is_end_of_file(self):
        term = self.create().terminal("cat")
        term.send("line\n")
        term.expect("line\r\nline\r\n")
        term.send(b"\x04")
        self.assertEqual(term.wait(), 0)

    def test_bytes_pass_unchanged(self):
        box = self.create()
        term = box.terminal("sh", "-c", "stty raw -echo; echo up; head -c 256 | od -An -v -tu1")
        term.expect("up")
        # all bytes except the detach key; 0xff comes twice, so that there are 256
        values = bytes(v for v in range(256) if v != 0x1d) + b"\xff"
        term.send(values)
        got = term.expect(r"(?:\s+\d+){256}").group(0).split()
        self.assertEqual(bytes(int(v) for v in got), values)

    def test_the_last_output_of_a_run_waits_for_a_slow_reader(self):
        """The sandbox ends when its command has ended, but it must wait until the client has the
        output and the status."""
        proc = self.spawn("run", "-q", "-t", "host", "--", "seq", "1", "40000")
        self.eventually(lambda: waiting_in(proc.stdout.fileno()) > 1 << 15)
        self.eventually(lambda: not [p for p in below([os.getpid()]) if p.comm == "seq"])
        got = self.finish(proc)
        self.assertEqual((got.code, got.errtext), (0, ""))
        self.assertEqual(got.text.split(), [str(n) for n in range(1, 40001)])

    def test_a_flood_of_output_arrives_whole(self):
        term = self.create().terminal("sh", "-c", "seq 1 100000")
        term.expect("99999\r\n100000\r\n", within=20)
        self.assertEqual(term.wait(), 0)

    def test_term_comes_from_the_client(self):
        box = self.create()
        for given, wanted in (("screen-256color", "screen-256color"), ("dumb", "xterm"),
                              (None, "xterm"), ("", "xterm")):
            term = box.terminal("sh", "-c", "echo [$TERM]", env={"TERM": given})
            term.expect(rf"\[{wanted}\]\r\n")
            term.wait()

    def test_no_tty_gives_pipes_and_immediate_end_of_file(self):
        term = self.create().terminal("sh", "-c", "[ -t 0 ] || echo no-tty; cat; echo eof",
                                      opts=("--no-tty",))
        term.expect("no-tty\r?\n")
        term.expect("eof\r?\n")
        self.assertEqual(term.wait(), 0)

    def test_tty_can_be_forced_without_a_local_terminal(self):
        got = self.create().sh("[ -t 0 ] && [ -t 1 ] && echo tty", opts=("-t",), stdin=b"")
        self.assertEqual((got.code, got.text.strip()), (0, "tty"), got)

    def test_end_of_input_in_the_middle_of_a_line(self):
        got = self.create().exec("cat", opts=("-t",), stdin=b"no newline")
        self.assertEqual((got.code, got.text), (0, "no newlineno newline"), got)

    def test_bad_workdir_does_not_open_a_shell_elsewhere(self):
        term = self.create().terminal("pwd", opts=("-w", "/no/such"))
        term.expect("bad cwd")
        self.assertEqual(term.wait(), 1)
        self.assertTrue(term.restored())

    def test_missing_program(self):
        term = self.create().terminal("/no/such")
        term.expect("not found")
        self.assertEqual(term.wait(), 127)
        self.assertTrue(term.restored())

    def test_stream_refuses_a_terminal(self):
        term = self.create().terminal("true", opts=("--stream",))
        self.assertEqual(term.wait(), 1)

    def test_without_a_command_the_shell_runs(self):
        box = self.create("--shell", "/bin/bash")
        term = self.terminal("exec", box.name)
        term.send("echo $BASH_VERSION-is-bash\n")
        term.expect(r"\d\S+-is-bash\r\n")
        term.send("exit 5\n")
        self.assertEqual(term.wait(), 5)

    def test_run_with_a_terminal(self):
        term = self.terminal("run", "host", "--", "sh", "-c", "tty; exit 7")
        term.expect("/dev/pts/")
        self.assertEqual(term.wait(), 7)
        self.assertEqual(self.names(), [])


def in_front(pid):
    """Returns true if the process is in the foreground group of its terminal."""
    with open(f"/proc/{pid}/stat") as handle:
        _, _, group, _, _, front = handle.read().rsplit(")", 1)[1].split()[:6]
    return group == front


class SlowReader(CordonTest):
    modes = ("root",)  # only root can read /proc/PID/io

    def test_pid_1_sleeps_while_output_of_an_ended_command_is_unread(self):
        box = self.create()
        proc = box.popen("yes", opts=("-t",))  # nobody reads the output of yes
        writer = self.eventually(lambda: [p for p in box.host_processes() if p.comm == "yes"])[0]
        before = None

        def is_stuck():
            nonlocal before
            with open(f"/proc/{writer.pid}/io") as handle:
                written, last = handle.read().split("wchar:")[1].split()[0], before
            before = written
            return written == last and Process(writer.pid).state == "S"

        self.eventually(is_stuck)
        os.kill(writer.pid, signal.SIGKILL)
        pid1 = box.pid1().pid
        self.eventually(lambda: writer.pid not in [p.pid for p in below(box.roots)])
        self.eventually(lambda: Process(pid1).state == "S", message="pid 1 is never idle")
        self.assertEqual(proc.stdout.read(4), b"y\r\ny")
        proc.stdout.read()
        self.assertEqual(proc.wait(10), 137)


class InteractiveShell(CordonTest):
    """A whole session of `run -t host -- bash`: detach from an ephemeral sandbox and attach again."""

    def test_an_interactive_bash(self):
        number = unique_number()
        term = self.terminal("run", "-t", "host", "--", "bash", "--norc", "--noprofile", "-i",
                             rows=31, cols=97)
        term.send("PS1='READY''> '; stty size\n")
        term.expect("31 97\r\n")
        term.expect("READY> ")
        name = self.names()[0]
        self.box(name)
        term.resize(40, 120)
        term.send("sleep 0.1; stty size\n")
        term.expect("40 120\r\n")
        term.expect("READY> ")
        term.send(f"sleep {number}\n")
        self.eventually(lambda: self.sleepers(number))
        term.send(CTRL_Z)
        term.expect("Stopped")
        term.expect("READY> ")
        term.send("bg; jobs\n")
        term.expect("Running")
        term.expect("READY> ")
        term.send("fg\n")
        # wait until the job is in the foreground, because bash prints the name of the job earlier
        self.eventually(lambda: in_front(self.sleepers(number)[0].pid))
        term.send(CTRL_C)
        term.expect("READY> ")
        self.eventually(lambda: not self.sleepers(number))
        term.send("kept=in-memory\n")
        term.expect("READY> ")
        term.send(DETACH)
        session = term.expect(r"attach (\S+) (\d+)")
        self.assertEqual(session.group(1).decode(), name)
        self.assertEqual(term.wait(), 0)
        self.assertTrue(term.restored())
        self.assertEqual(self.names(), [name])  # the sandbox lives as long as its bash
        back = self.terminal("attach", name, rows=25, cols=81)
        back.send("echo $kept; stty size\n")
        back.expect("in-memory\r\n25 81\r\n")
        back.send("exit 9\n")
        self.assertEqual(back.wait(), 9)
        self.assertTrue(back.restored())
        self.eventually(lambda: self.names() == [])


class Progress(CordonTest):
    """At a terminal, cordon draws the progress of a start and then erases it."""

    modes = ("root",)
    drawn = "\r\x1b\\[K   [^\r]*Starting     NAME[^\r]*\r\x1b\\[K"

    def test_progress_is_shown_by_every_command_that_starts_a_sandbox(self):
        box = self.create()
        self.assertEqual(box.stop().code, 0)
        for args in (("exec", box.name, "--", "echo", "he" + "re"),
                     ("run", "-n", box.name, "--", "echo", "here"),
                     ("copy", f"{box.name}:/etc/passwd", self.dir + "/out")):
            with self.subTest(args=args):
                tty = self.terminal(*args)
                tty.expect(self.drawn.replace("NAME", box.name))
                if args[0] != "copy":
                    tty.expect("here\r\n")
                self.assertEqual(tty.wait(), 0)
                self.assertNotIn(b"Starting", tty.seen)
                quiet = self.terminal(args[0], "-q", *args[1:])
                self.assertEqual(quiet.wait(), 0)
                self.assertNotIn(b"Starting", quiet.seen)
                piped = self.cordon(*args)
                self.assertEqual((piped.code, piped.errtext), (0, ""), piped)


class Detach(CordonTest):
    def detached(self, box, number, *opts, keys=DETACH, **kwargs):
        term = box.terminal("sh", "-c", f"echo up; sleep {number} & while read l; "
                            'do echo "heard $l"; done', opts=opts, **kwargs)
        term.expect("up\r\n")
        self.eventually(lambda: self.sleepers(number))
        term.send(keys)
        return term

    def test_detach_leaves_the_command_running_and_names_the_attach_command(self):
        box, number = self.create(), unique_number()
        term = self.detached(box, number)
        term.expect(f"attach {box.name}")
        self.assertEqual(term.wait(), 0)
        self.assertTrue(term.restored())
        self.assertEqual(len(self.sleepers(number)), 1)

    def test_attach_returns_to_the_command(self):
        box, number = self.create(), unique_number()
        self.detached(box, number).wait()
        term = self.terminal("attach", box.name)
        term.send("hello\n")
        term.expect("heard hello\r\n")
        term.send(b"\x04")
        self.assertEqual(term.wait(), 0)

    def test_output_while_detached_is_kept_for_the_next_client(self):
        box = self.create()
        box.out("mkfifo /root/gate")
        term = box.terminal("sh", "-c", "echo up; read x < /root/gate; echo while-away; read y")
        term.expect("up\r\n")
        term.send(DETACH)
        self.assertEqual(term.wait(), 0)
        box.sh("echo > /root/gate", timeout=5)
        back = self.terminal("attach", box.name)
        back.expect("while-away")
        back.send("\n")
        self.assertEqual(back.wait(), 0)
        self.assertEqual(self.cordon("logs", box.name).text.count("while-away"), 1)

    def test_a_flood_while_detached_never_blocks_the_command(self):
        box = self.create()
        term = box.terminal("sh", "-c", "echo up; read x; seq 1 500000; echo > /root/through; "
                            "read y")
        term.expect("up\r\n")
        term.send("\n")
        term.expect("\n1\r\n2\r\n")
        term.send(DETACH)
        self.assertEqual(term.wait(), 0)
        self.eventually(lambda: box.sh("test -e /root/through").code == 0, within=20)
        back = self.terminal("attach", box.name)
        back.expect("500000")
        back.send("\n")
        self.assertEqual(back.wait(), 0)

    def test_input_before_the_detach_keys_arrives(self):
        box = self.create()
        term = box.terminal("sh", "-c", "echo up; read x; echo $x > /root/heard; read y")
        term.expect("up\r\n")
        term.send(b"word\n" + DETACH)
        self.assertEqual(term.wait(), 0)
        self.eventually(lambda: box.sh("cat /root/heard").text == "word\n")

    def test_exit_status_after_reattach(self):
        box = self.create()
        term = box.terminal("sh", "-c", "echo up; read x; exit 11")
        term.expect("up\r\n")
        term.send(DETACH)
        self.assertEqual(term.wait(), 0)
        back = self.terminal("attach", box.name)
        back.send("\n")
        self.assertEqual(back.wait(), 11)

    def test_other_detach_keys(self):
        box, number = self.box(), unique_number()
        term = self.terminal("run", "--name", box.name, "--detach-keys", "ctrl-p,q", "host", "--",
                             "sh", "-c", f"echo up; sleep {number}")
        term.expect("up\r\n")
        self.eventually(lambda: self.sleepers(number))
        term.send(b"\x10")
        term.send("q")  # the client may read the two keys separately
        self.assertEqual(term.wait(), 0)
        self.assertEqual(len(self.sleepers(number)), 1)
        self.assertEqual(box.status(), "Running")

    def test_unfinished_detach_keys_are_passed_on(self):
        term = self.terminal("run", "--detach-keys", "ctrl-p,q", "host", "--", "sh", "-c",
                             "stty raw -echo; echo up; head -c 2 | od -An -tu1")
        term.expect("up")
        term.send(b"\x10x")
        term.expect(r"16\s+120")
        self.assertEqual(term.wait(), 0)

    def test_unfinished_detach_keys_at_the_end_of_input_are_passed_on(self):
        got = self.cordon("run", "-t", "--detach-keys", "x,y", "host", "--", "cat", stdin=b"ax")
        self.assertEqual((got.code, got.text), (0, "axax"), got)

    def test_detach_keys_that_begin_within_unfinished_detach_keys(self):
        box = self.box()
        term = self.terminal("run", "--name", box.name, "--detach-keys", "x,x,y", "host", "--", "sh", "-c",
                             "stty raw -echo; echo up; head -c 2 > /root/heard; sleep 1000")
        term.expect("up")
        term.send("axxxy")
        self.assertEqual(term.wait(), 0)
        self.eventually(lambda: box.sh("cat /root/heard").text == "ax")

    def test_bad_detach_keys(self):
        for keys in ("", "ctrl-", "ctrl-1", "abc", "ctrl-a,"):
            got = self.cordon("run", "-t", f"--detach-keys={keys}", "host", "--", "true")
            self.assertEqual(got.code, 1, got)
            self.assertIn("--detach-keys", got.errtext)

    def test_a_detached_run_has_a_terminal_when_asked(self):
        box = self.box()
        with self.claiming(box):
            got = self.cordon("run", "-dt", "-n", box.name, "host", "--", "sh", "-c",
                              "tty; read x; echo heard $x; exit 9")
        self.assertEqual((got.code, got.text), (0, f"{box.name}\n"), got)
        back = self.terminal("attach", box.name)
        back.expect("/dev/pts/0")
        back.send("this\r")
        back.expect("heard this")
        self.assertEqual(back.wait(), 9)
        self.eventually(lambda: box.status() == "Stopped")

    def test_attach_without_a_detached_command(self):
        box = self.create()
        got = self.cordon("attach", box.name)
        self.assertEqual(got.code, 1, got)
        self.assertEqual(self.cordon("attach", "nosuch").errtext,
                         "error: sandbox not found: nosuch\n")
        self.assertEqual(self.cordon("attach", box.name, "12345").code, 1)

    def test_attach_takes_a_number_or_the_latest_command(self):
        box = self.create()
        for word in ("first", "second"):
            term = box.terminal("sh", "-c", f"echo up; read x; echo {word}-$x")
            term.expect("up\r\n")
            term.send(DETACH)
            seen = term.expect(rf"attach {box.name} (\d+)")
            term.wait()
            if word == "first":
                first = seen.group(1).decode()
        back = self.terminal("attach", box.name)
        back.send("a\n")
        back.expect("second-a")
        back.wait()
        back = self.terminal("attach", box.name, first)
        back.send("b\n")
        back.expect("first-b")
        back.wait()

    def test_stop_ends_detached_commands(self):
        box, number = self.create(), unique_number()
        self.detached(box, number).wait()
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(self.sleepers(number), [])


class HostTerminal(CordonTest):
    def test_no_host_terminal_inside(self):
        """In the sandbox, the caller's terminal must be neither visible nor reachable."""
        box = self.create()
        term = box.terminal("sh", "-c", "ls -l /proc/self/fd; grep pts /proc/mounts; echo end")
        text = term.expect(r"(.*)end\r\n").group(1)
        outside = os.ttyname(term.slave).encode()
        if outside != b"/dev/pts/0":
            self.assertNotIn(outside + b"\r", text)
        self.assertEqual(term.wait(), 0)

    def test_pipes_mode_has_no_controlling_terminal(self):
        box = self.create()
        term = box.terminal("sh", "-c", "(: < /dev/tty) 2>/dev/null && echo open || echo none",
                            opts=("--no-tty",))
        term.expect("none")
        term.wait()

    def test_a_client_in_a_session_of_its_own(self):
        box = self.create()
        proc = self.spawn("exec", box.name, "--", "echo", "bg", start_new_session=True,
                          stdin=subprocess.DEVNULL)
        self.assertEqual(self.finish(proc).text, "bg\n")
