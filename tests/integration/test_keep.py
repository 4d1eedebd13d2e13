"""Tests background commands and detached terminals. Such a command runs on when its client leaves or dies. Later
clients find the command and its output again."""

import json
import os
import signal
import subprocess

from harness import ALL_MODES, CORDON, CordonTest, unique_number

DETACH = b"\x1d"
MSB = os.path.join(os.path.dirname(CORDON), "msb")


class KeepTest(CordonTest):
    def background(self, box, *command, opts=()):
        """Starts a background command. Returns its number."""
        got = self.cordon("exec", "-d", *opts, box.name, "--", *command)
        self.assertEqual((got.code, got.errtext), (0, ""), got)
        return int(got.text)

    def commands(self, box):
        """Returns what `ps` lists, as a dict by the number of the command."""
        got = self.cordon("ps", box.name, "--format", "json")
        self.assertEqual(got.code, 0, got)
        return {c["id"]: c for c in got.json()}

    def state(self, box, ident):
        got = self.commands(box).get(ident)
        return got and (got["state"], got["exit_code"])

    def attached(self, box, ident):
        return self.commands(box)[ident]["attached"]


class Background(KeepTest):
    modes = ALL_MODES

    def test_a_background_command_goes_on_and_keeps_output_and_status(self):
        box = self.create()
        box.out("mkfifo /root/gate")
        ident = self.background(box, "sh", "-c", "echo out; echo err >&2; read x < /root/gate; exit 7")
        got = self.commands(box)[ident]
        self.assertEqual((got["command"][:2], got["state"], got["exit_code"], got["tty"], got["attached"],
                          got["background"]), (["sh", "-c"], "running", None, False, False, True))
        self.assertEqual(box.out(f"cat /proc/{got['pid']}/comm"), "sh")
        box.sh("echo > /root/gate", timeout=5)
        self.eventually(lambda: self.state(box, ident) == ("exited", 7))
        got = self.cordon("attach", box.name, str(ident))
        self.assertEqual((got.code, got.text), (7, "out\n"), got)
        self.assertTrue(got.errtext.startswith("err\n"), got)
        self.assertEqual(self.state(box, ident), None)  # attach has shown the end, so pid 1 has forgotten the command

    def test_the_number_in_json(self):
        box = self.create()
        got = self.cordon("exec", "-d", "--format", "json", box.name, "--", "cat")
        self.assertEqual((got.code, got.json()), (0, {"id": 1, "name": box.name}), got)
        self.assertEqual(self.cordon("exec", "--format", "json", box.name, "--", "cat").code, 2)

    def test_a_command_that_cannot_start_is_an_error(self):
        box = self.create()
        got = self.cordon("exec", "-d", box.name, "--", "/no/such")
        self.assertEqual((got.code, got.text), (127, ""), got)
        self.assertEqual(self.commands(box), {})

    def test_ps_lists_foreground_commands_too(self):
        box = self.create()
        front = box.popen("sh", "-c", "echo up; exec cat", stdin=-1)
        self.assertEqual(front.stdout.readline(), b"up\n")
        term = box.terminal("sh", "-c", "echo up; exec cat")
        term.expect("up\r\n")
        ident = self.background(box, "cat", opts=("-t",))
        found = self.commands(box)
        self.assertEqual(sorted((c["tty"], c["attached"], c["background"]) for c in found.values()),
                         [(False, True, False), (True, False, True), (True, True, False)])
        text = self.cordon("ps", box.name)
        self.assertRegex(text.text, rf"(?m)^ID +COMMAND +SINCE +STATE +TTY +ATTACHED$")
        self.assertRegex(text.text, rf"(?m)^{ident} +cat +20\d\d-.* +running +yes +no$")
        self.assertEqual(self.cordon("ps", "-q", box.name).text.split(), [str(i) for i in sorted(found)])

    def test_ps_without_a_name_and_of_a_stopped_sandbox(self):
        box = self.create()
        self.assertEqual(self.cordon("ps").text, self.cordon("status").text)
        self.assertEqual(self.cordon("ps", box.name).errtext, f"No commands in sandbox '{box.name}'.\n")
        box.stop()
        self.assertEqual((self.cordon("ps", box.name, "--format", "json").json()), [])
        self.assertEqual(self.cordon("ps", "nosuch").errtext, "error: sandbox not found: nosuch\n")

    def test_ps_of_msb_is_status(self):
        box = self.create()
        got = [subprocess.run([MSB, what, box.name, "--format", "json"], env=self.environment(), capture_output=True,
                              timeout=30) for what in ("ps", "status")]
        self.assertEqual(json.loads(got[0].stdout)["name"], box.name)
        self.assertEqual(got[0].stdout, got[1].stdout)

    def test_a_command_in_a_stopped_sandbox_keeps_it_up(self):
        box, number = self.create(), unique_number()
        box.stop()
        ident = self.background(box, "sleep", str(number))
        self.assertEqual(box.status(), "Running")
        self.assertEqual(self.state(box, ident), ("running", None))
        self.assertEqual(self.cordon("stop", box.name, "--id", str(ident)).code, 0)
        self.eventually(lambda: box.status() == "Stopped")

    def test_more_commands_than_pid_1_keeps(self):
        """An ended command makes room for a new command. A running command does not."""
        box = self.create()
        idents = [self.background(box, "true") for _ in range(65)]
        self.assertEqual(len(set(idents)), 65)
        left = sorted(self.commands(box))
        self.assertEqual((len(left), left[-1], set(left) < set(idents)), (64, idents[-1], True))


class Logs(KeepTest):
    def test_the_output_of_one_command(self):
        box = self.create()
        box.out("echo foreground")
        first = self.background(box, "sh", "-c", "echo one; echo err >&2")
        second = self.background(box, "echo", "two")
        self.eventually(lambda: "two" in self.cordon("logs", box.name).text)
        self.eventually(lambda: sorted(self.cordon("logs", box.name, "--id", str(first)).text.split()) ==
                        ["err", "one"])
        lines = self.cordon("logs", box.name, "--id", str(second), "--json").text.splitlines()
        self.assertEqual([(json.loads(x)["d"], json.loads(x)["id"]) for x in lines], [("two\n", second)])
        self.assertEqual(self.cordon("logs", box.name, "--id", "99").text, "")

    def test_numbers_of_an_earlier_start_are_other_commands(self):
        box = self.create()
        for word in ("earlier", "later"):
            self.assertEqual(self.background(box, "echo", word), 1)
            self.eventually(lambda: word in self.cordon("logs", box.name).text)
            self.assertEqual(self.cordon("logs", box.name, "--id", "1").text, word + "\n")
            box.stop()
            self.assertEqual(self.cordon("logs", box.name, "--id", "1").text, word + "\n")
            if word == "earlier":
                box.start()


class Stop(KeepTest):
    modes = ALL_MODES

    def test_stop_ends_one_command_and_what_it_started(self):
        box, number, other = self.create(), unique_number(), unique_number()
        script = f"trap 'exit 3' TERM; setsid sh -c \"trap '' TERM; sleep {number}\" & sleep {number} & wait"
        ident = self.background(box, "sh", "-c", script)
        stays = self.background(box, "sleep", str(other))
        self.eventually(lambda: len(self.sleepers(number)) == 2)
        got = self.cordon("stop", box.name, "--id", str(ident), "--format", "json")
        self.assertEqual((got.code, got.json()), (0, {"exit_code": 3, "id": ident, "name": box.name,
                                                      "state": "exited"}), got)
        self.assertEqual(self.sleepers(number), [])
        self.assertEqual((len(self.sleepers(other)), self.state(box, stays)), (1, ("running", None)))
        again = self.cordon("stop", box.name, "--id", str(ident))
        self.assertEqual((again.code, again.errtext), (0, f"   ✓ Stopped      {box.name} {ident}\n"), again)

    def test_a_command_that_ignores_sigterm_is_killed(self):
        box, number = self.create(), unique_number()
        script = f"trap '' TERM; sleep {number}"
        for opts in (("-t", "1"), ("-f",)):
            ident = self.background(box, "sh", "-c", script)
            self.eventually(lambda: self.sleepers(number))
            got = self.cordon("stop", box.name, "--id", str(ident), *opts)
            self.assertEqual((got.code, self.sleepers(number)), (0, []), got)
            self.assertEqual(self.state(box, ident), ("exited", 137))

    def test_a_foreground_command_can_be_stopped(self):
        box, number = self.create(), unique_number()
        front = box.popen("sleep", str(number))
        self.eventually(lambda: self.sleepers(number) and self.commands(box))
        ident, = self.commands(box)
        got = self.cordon("stop", box.name, "--id", str(ident), "--format", "json")
        self.assertEqual((got.code, got.json()["exit_code"]), (0, None), got)
        self.assertEqual(front.wait(10), 143)

    def test_what_cannot_be_stopped(self):
        box = self.create()
        got = self.cordon("stop", box.name, "--id", "99")
        self.assertEqual((got.code, got.errtext), (1, f"error: sandbox '{box.name}': session not found: 99\n"), got)
        self.assertEqual(self.cordon("stop", "nosuch", "--id", "1").errtext, "error: sandbox not found: nosuch\n")
        for args in ((box.name, "other", "--id", "1"), ("--label", "a=b", "--id", "1"), (box.name, "--format", "json"),
                     (box.name, "--id", "0")):
            self.assertEqual(self.cordon("stop", *args).code, 2, args)
        self.assertEqual(box.status(), "Running")
        box.stop()
        self.assertEqual(self.cordon("stop", box.name, "--id", "1").code, 1)


class Attach(KeepTest):
    modes = ALL_MODES

    def test_input_and_output_of_pipes(self):
        box = self.create()
        ident = self.background(box, "sh", "-c", "echo begun; while read x; do echo got-$x; echo err >&2; done; exit 4")
        proc = self.spawn("attach", box.name, str(ident), stdin=subprocess.PIPE)
        self.assertEqual(proc.stdout.readline(), b"begun\n")
        proc.stdin.write(b"word\n")
        proc.stdin.flush()
        self.assertEqual(proc.stdout.readline(), b"got-word\n")
        self.assertEqual(proc.stderr.readline(), b"err\n")
        self.assertTrue(self.attached(box, ident))
        self.assertIn("attached elsewhere", self.cordon("attach", box.name, str(ident)).errtext)
        proc.stdin.close()
        self.assertEqual(proc.wait(10), 4)

    def test_without_a_number(self):
        """attach chooses the latest terminal, else the latest running command, else the latest ended command."""
        box = self.create()
        self.background(box, "sh", "-c", "echo ended")
        pipes = self.background(box, "sh", "-c", "echo pipes; cat")
        tty = self.background(box, "sh", "-c", "echo terminal; read x", opts=("-t",))
        self.eventually(lambda: self.state(box, 1) == ("exited", 0))
        term = self.terminal("attach", box.name)
        term.expect("terminal\r\n")
        term.send("\n")
        self.assertEqual(term.wait(), 0)
        self.assertNotIn(tty, self.commands(box))
        got = self.cordon("attach", box.name, stdin=b"")
        self.assertEqual((got.code, got.text), (0, "pipes\n"), got)
        self.assertNotIn(pipes, self.commands(box))
        self.assertEqual(self.cordon("attach", box.name).text, "ended\n")
        self.assertIn("no detached session", self.cordon("attach", box.name).errtext)

    def test_a_script_without_input_does_not_end_the_command(self):
        box = self.create()
        ident = self.background(box, "sh", "-c", "echo up; read x; echo got-$x", opts=("-t",))
        proc = self.spawn("attach", box.name, str(ident))  # the input of `attach` is /dev/null
        self.assertEqual(proc.stdout.readline(), b"up\r\n")
        proc.kill()
        proc.wait()
        self.eventually(lambda: not self.attached(box, ident))
        self.assertEqual(self.state(box, ident), ("running", None))

    def test_a_detached_run_can_be_attached_to(self):
        box = self.box()
        with self.claiming(box):
            got = self.cordon("run", "-d", "-n", box.name, "host", "--", "sh", "-c",
                              "mkfifo /root/gate; echo out; cat; read x < /root/gate; exit 6")
        self.assertEqual(got.code, 0, got)
        proc = self.spawn("attach", box.name)
        self.assertEqual(proc.stdout.readline(), b"out\n")
        box.sh("echo > /root/gate", timeout=5)
        self.assertEqual(proc.wait(10), 6)

    def test_a_detached_run_with_input(self):
        box = self.box()
        with self.claiming(box):
            got = self.cordon("run", "-di", "-n", box.name, "host", "--", "sh", "-c", "cat; exit 6")
        self.assertEqual(got.code, 0, got)
        got = self.cordon("attach", box.name, stdin=b"word")
        self.assertEqual((got.code, got.text), (6, "word"), got)


class ClientsThatDie(KeepTest):
    """If the command is in the background, or somebody has attached to it, then a closed window, a dropped connection
    or a kill of the client counts as a detach. Any other command ends with its client."""
    modes = ALL_MODES
    SCRIPT = 'echo up; while read l; do echo "heard $l"; done; echo end-of-input'

    def outlives(self, box, ident, leave):
        term = self.terminal("attach", box.name, str(ident))
        term.send("one\n")
        term.expect("heard one\r\n")
        leave(term)
        self.eventually(lambda: not self.attached(box, ident))
        self.assertEqual(self.state(box, ident), ("running", None))
        back = self.terminal("attach", box.name, str(ident))
        back.send("two\n")
        back.expect("heard two\r\n")
        back.send(DETACH)
        self.assertEqual(back.wait(), 0)
        self.assertNotIn(b"end-of-input", back.seen)

    def each_way(self, box, ident):
        for sig in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            with self.subTest(sig):
                self.outlives(box, ident, lambda term: (term.proc.send_signal(sig), term.proc.wait()))

    def test_a_background_terminal(self):
        box = self.create()
        self.each_way(box, self.background(box, "sh", "-c", self.SCRIPT, opts=("-t",)))

    def test_a_foreground_terminal_that_somebody_has_attached_to(self):
        box = self.create()
        term = box.terminal("sh", "-c", self.SCRIPT)
        term.expect("up\r\n")
        term.send(DETACH)
        self.assertEqual(term.wait(), 0)
        ident, = self.commands(box)
        self.each_way(box, ident)

    def test_a_closed_window(self):
        box = self.create()
        ident = self.background(box, "sh", "-c", self.SCRIPT, opts=("-t",))

        def close_window(term):
            os.close(term.slave)
            os.close(term.master)
            term.proc.wait(10)

        self.outlives(box, ident, close_window)

    def test_a_closed_window_without_sighup(self):
        """Under nohup, or in another session than the terminal, a client gets no SIGHUP. It learns only from read()
        that the window was closed."""
        box = self.create()
        ident = self.background(box, "sh", "-c", self.SCRIPT, opts=("-t",))
        master, slave = os.openpty()
        proc = subprocess.Popen([CORDON, "attach", box.name, str(ident)], env=self.environment(), stdin=slave,
                                stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.eventually(lambda: self.attached(box, ident))
        os.close(master)
        self.assertEqual(proc.wait(10), 129)
        self.outlives(box, ident, lambda term: term.proc.kill())

    def test_a_closed_window_while_the_command_prints(self):
        """The client writes output to its closed terminal before it reads from this terminal."""
        box = self.create()
        ident = self.background(box, "sh", "-c", "mkfifo /tmp/go; cat /tmp/go; touch /tmp/printed; sleep 1000",
                                opts=("-t",))
        master, slave = os.openpty()
        proc = subprocess.Popen([CORDON, "attach", box.name, str(ident)], env=self.environment(), stdin=slave,
                                stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.eventually(lambda: self.attached(box, ident))
        proc.send_signal(signal.SIGSTOP)
        box.out("echo output > /tmp/go; until test -e /tmp/printed; do :; done")
        os.close(master)
        proc.send_signal(signal.SIGCONT)
        self.assertEqual(proc.wait(10), 129)

    def test_a_foreground_command_ends_with_its_client(self):
        box, number = self.create(), unique_number()
        for opts in ((), ("-t",)):
            proc = box.popen("sleep", str(number), opts=opts)
            self.eventually(lambda: self.sleepers(number))
            proc.kill()
            proc.wait()
            self.eventually(lambda: not self.sleepers(number))


class Removal(CordonTest):
    modes = ALL_MODES

    def unnamed(self, *command):
        got = self.cordon("run", "-d", "host", "--", *command)
        self.assertEqual(got.code, 0, got)
        return got.text.strip()

    def test_force_removes_an_unnamed_sandbox_that_runs_in_the_background(self):
        number = unique_number()
        name = self.unnamed("sleep", str(number))
        self.eventually(lambda: self.sleepers(number))
        got = self.cordon("rm", "-f", name)
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.sleepers(number), [])
        self.assertEqual(self.cordon("rm", name).code, 1)

    def script(self, text):
        return subprocess.run(["sh", "-ec", text], env=dict(self.environment(), CORDON=CORDON), timeout=60,
                              capture_output=True, text=True)

    def test_a_script_removes_everything_that_list_prints(self):
        count = unique_number()
        self.unnamed("sleep", str(count))
        self.create()
        for _ in range(2):  # in the second round there is nothing to remove
            got = self.script('"$CORDON" rm -f $("$CORDON" ls -q); echo through')
            self.assertEqual((got.returncode, got.stdout), (0, "through\n"), got)
            self.assertEqual(self.names(), [])

    def test_force_passes_over_a_sandbox_that_is_gone(self):
        box = self.create()
        got = self.cordon("rm", "-f", "nosuch", box.name)
        self.assertEqual(got.code, 0, got)
        self.assertIn("warn: sandbox not found: nosuch\n", got.errtext)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.cordon("rm", "-qf", "nosuch").errtext, "")
        self.assertEqual(self.cordon("rm", "nosuch").code, 1)

    def test_msb_still_asks_for_a_name(self):
        msb = os.path.join(os.path.dirname(CORDON), "msb")
        for args, status in ((("rm", "-f"), 2), (("rm", "-f", "nosuch"), 1)):
            got = subprocess.run([msb, *args], env=self.environment(), capture_output=True, timeout=30)
            self.assertEqual(got.returncode, status, got)
