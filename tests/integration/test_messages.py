"""Tests error messages, and diagnostics at higher log levels."""

import fcntl
import json
import os
import shutil
import socket
import termios

from harness import CORDON, CordonTest


class FailedStarts(CordonTest):
    """A failed start prints `error: failed to start "NAME"`, then `→ STAGE: CAUSE`, a hint if there is one, and which
    log to read if this log still exists."""

    def assert_block(self, got, name, *lines):
        self.assertEqual((got.code, got.out), (1, b""), got)
        said = got.errtext.splitlines()
        self.assertEqual(said[0], f'error: failed to start "{name}"', got)
        self.assertEqual(len(said), len(lines) + 1, got)
        for line, pattern in zip(said[1:], lines):
            self.assertRegex(line, "^  → " + pattern)

    def test_a_failed_create_names_the_step_and_leaves_nothing(self):
        box = self.box()
        got = self.cordon("create", "-n", box.name, "--tmpfs", "/etc/passwd/x", "host")
        self.assert_block(got, box.name, "mount: .*'/etc/passwd'")
        self.assertEqual(self.names(), [])

    def test_a_missing_volume_is_named_by_every_command_that_starts(self):
        source = os.path.join(self.dir, "source")
        os.mkdir(source, 0o700)
        box = self.create("-v", f"{source}:/m")
        self.assertEqual(box.stop().code, 0)
        os.rmdir(source)
        for words in (("start", box.name), ("restart", box.name), ("exec", box.name, "--", "true"),
                      ("run", "-n", box.name, "--", "true"), ("copy", f"{box.name}:/etc/passwd", ".")):
            with self.subTest(words=words):
                self.assert_block(self.cordon(*words), box.name, f"mount: .*'{source}'",
                                  "if you moved it yourself, name it again: cordon modify NAME --volume ",
                                  f"more: cordon logs --source system {box.name}$")
        self.assertIn(source, self.cordon("logs", "--source", "system", box.name).text)
        first = json.loads(self.cordon("logs", "--json", box.name).text.splitlines()[0])
        self.assertEqual(first["s"], "boot-error")
        self.assertEqual(json.loads(first["d"])["stage"], "mount")
        os.mkdir(source, 0o700)  # a new directory of the same name is refused until `modify` names it
        self.assertEqual(self.cordon("modify", box.name, "--volume", f"{source}:/m").code, 0)
        self.assertEqual(box.start().code, 0)

    def test_a_taken_port_is_named(self):
        holder = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(holder.close)
        port = holder.getsockname()[1]
        for words in (("create", "-n", "late"), ("run", "-n", "late")):
            with self.subTest(words=words):
                got = self.cordon(*words, "-p", f"{port}:80", "host",
                                  *(("--", "echo", "ran") if words[0] == "run" else ()))
                self.assert_block(got, "late", f"network: .*{port}/tcp on 127.0.0.1")
                self.assertEqual(self.names(), [])

    def test_quiet_hides_the_reason_of_a_failed_start(self):
        source = os.path.join(self.dir, "source")
        os.mkdir(source, 0o700)
        box = self.create("-v", f"{source}:/m")
        self.assertEqual(box.stop().code, 0)
        os.rmdir(source)
        got = self.cordon("start", "-q", box.name)
        self.assertEqual((got.code, got.out, got.err), (1, b"", b""))


class SlowReader(CordonTest):
    modes = ("user",)

    def test_a_full_non_blocking_stdout_loses_nothing(self):
        """The caller may have made its pipe non-blocking. If the pipe is full, the program waits."""
        wanted = self.cordon("completion", "bash").out
        ours, theirs = os.pipe()
        room = fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
        self.assertGreater(len(wanted), room)
        os.set_blocking(theirs, False)
        proc = self.spawn("completion", "bash", stdout=theirs)
        os.close(theirs)
        waiting = bytearray(4)
        self.eventually(lambda: fcntl.ioctl(ours, termios.FIONREAD, waiting) == 0
                        and int.from_bytes(waiting, "little") == room)
        with os.fdopen(ours, "rb") as reader:
            self.assertEqual(reader.read(), wanted)
        self.assertEqual((proc.wait(5), proc.stderr.read()), (0, b""))


class MissingPrograms(CordonTest):
    modes = ("user",)

    def test_a_program_that_was_copied_alone_names_the_missing_program(self):
        alone, conf = os.path.join(self.dir, "cordon"), os.path.join(self.dir, "x.yaml")
        shutil.copy(CORDON, alone)
        with open(conf, "w") as handle:
            # If cordon is also installed on this machine, the copy finds the installed programs. Then create fails
            # because of this key, and makes no sandbox.
            handle.write("no-such-key: 1\n")
        got = self.cordon("create", "--conf", conf, "host", program=alone)
        self.assertEqual(got.code, 1, got)
        if "no-such-key" in got.errtext:
            self.not_run("cordon is installed on this machine")
        self.assertIn(": find program 'cordon-yaml': No such file or directory\n", got.errtext)
        self.assertRegex(got.errtext, r"\n  → .*, do not copy it alone\n$")


class Reasons(CordonTest):
    def test_the_log_says_why_the_sandbox_stopped(self):
        for opts, reason in ((("--max-duration", "1"), "maximum duration reached"),
                             (("--idle-timeout", "1"), "idle timeout reached")):
            with self.subTest(opts=opts):
                box = self.create(*opts)
                self.eventually(lambda: box.status() == "Stopped", within=10)
                lines = self.cordon("logs", "--source", "system", box.name).text.splitlines()
                self.assertEqual(lines, ["--- sandbox started ---", reason,
                                         "--- sandbox stopped ---"])


class Reuse(CordonTest):
    def test_a_warning_only_when_something_is_ignored(self):
        box = self.create()
        got = self.cordon("run", "-n", box.name, "host", "--", "echo", "in")
        self.assertEqual((got.code, got.text, got.errtext), (0, "in\n", ""))
        for opts in (("-m", "600M"), ("--no-net",), ("-e", "A=1"), ("--conf", "none.yaml")):
            with self.subTest(opts=opts):
                got = self.cordon("run", "-n", box.name, *opts, "--", "echo", "in")
                self.assertEqual((got.code, got.text), (0, "in\n"))
                self.assertRegex(got.errtext, r"^warn: [^\n]*ignored\n$")
        got = self.cordon("run", "-d", "-n", box.name, "--", "true")
        self.assertRegex(got.errtext, r"^warn: [^\n]*was running before[^\n]*\n$")

    def test_exec_at_a_terminal_without_a_command_is_a_shell(self):
        """At a terminal, `exec` without a command ignores the command of the image and --entrypoint. Without a terminal
        it uses both, as `run` does."""
        box = self.create("--entrypoint", "echo", "--shell", "/bin/sh")
        term = self.terminal("exec", box.name)
        term.send("echo shell-$((40+2))\n")
        term.expect("shell-42")
        term.send("exit\n")
        self.assertEqual(term.wait(), 0)
        got = self.cordon("exec", box.name)
        self.assertEqual((got.code, got.text), (0, "\n"))
        term = self.terminal("run", "--entrypoint", "/bin/echo", "host", "--", "run-$x")
        term.expect(r"run-\$x")
        self.assertEqual(term.wait(), 0)


class Diagnostics(CordonTest):
    def lines(self, got):
        return [line.split(" ", 1)[0] for line in got.errtext.splitlines() if " cordon: " in line]

    def test_diagnostics_are_off_by_default_and_go_to_stderr(self):
        box = self.create()
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(self.cordon("exec", box.name, "--", "true").err, b"")
        seen = {}
        for level in ("error", "warn", "info", "debug", "trace"):
            for words in ((f"--{level}", "exec", box.name, "--", "echo", "out"),
                          ("exec", f"--{level}", box.name, "--", "echo", "out")):
                got = self.cordon(*words)
                self.assertEqual((got.code, got.text), (0, "out\n"), got)
                seen[level] = set(self.lines(got))
        self.assertEqual(seen["error"] | seen["warn"], set())
        self.assertEqual(seen["info"], {"info"})
        self.assertEqual(seen["debug"], {"info", "debug"})
        self.assertEqual(seen["trace"], {"info", "debug", "trace"})

    def test_diagnostics_contain_no_values(self):
        got = self.cordon("--trace", "run", "-e", "TOKEN=hunter2", "host", "--", "sh", "-c",
                          "echo $TOKEN", stdin=b"secret input")
        self.assertEqual(got.text, "hunter2\n")
        self.assertNotIn("hunter2", got.errtext)
        self.assertNotIn("secret input", got.errtext)

    def test_log_level_of_a_sandbox(self):
        quiet = self.create()
        self.assertEqual(quiet.stop().code, 0)
        self.assertNotIn("supervisor", self.cordon("logs", "--source", "system", quiet.name).text)
        box = self.create("--log-level", "debug")
        box.out("sleep 0.01")  # log entries of the same millisecond have no fixed order
        self.assertEqual(box.stop().code, 0)
        got = self.cordon("logs", "--source", "system", box.name).text
        self.assertRegex(got, r"(?m)^info supervisor: running: pid 1 is \d+, memory ")
        self.assertRegex(got, r"(?m)^debug supervisor: request ")
        self.assertNotIn("trace supervisor", got)
        self.assertLess(got.index("supervisor: running"), got.index("--- sandbox stopped ---"))

    def test_default_level_comes_from_the_configuration(self):
        self.assertEqual(self.names(), [])  # this command creates the home
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"log_level": "loud"}, handle)
        got = self.cordon("create", "host")
        self.assertEqual(got.code, 1)
        self.assertIn("log_level", got.errtext)
        self.assertIn("loud", got.errtext)
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"log_level": "info"}, handle)
        box = self.create()
        self.assertEqual(box.inspect()["config"]["runtime"]["log_level"], "info")
        self.assertIn("info supervisor:", self.cordon("logs", "--source", "system", box.name).text)


class Sampling(CordonTest):
    def test_sampling_can_be_switched_off(self):
        self.assertEqual(self.names(), [])  # this command creates the home
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"sandbox_defaults": {"disable_metrics_sample": True}}, handle)
        box = self.create()
        got = self.cordon("metrics", box.name)
        self.assertEqual((got.code, got.out), (1, b""))
        self.assertEqual(got.errtext, f'error: no metrics recorded for sandbox "{box.name}"\n')
        self.assertEqual(self.cordon("metrics", "--format", "json").json(), [])


class LongTexts(CordonTest):
    def test_a_very_long_text_is_cut(self):
        got = self.cordon("help", "x" * 70000)
        self.assertEqual(got.code, 2)
        self.assertRegex(got.errtext, r"\Aerror: .*x{1000}.*…\n")


class Output(CordonTest):
    """A command prints the name of what it made. If an error prevents this, for example a full disk, the command fails.
    A closed pipe is no such error: nobody wants to read the name, so the command succeeds."""

    CALLS = (("create", "-q", "host"), ("run", "-q", "-d", "host", "--", "true"),
             ("volume", "create", "v"))

    def test_a_full_disk_is_an_error(self):
        for call in self.CALLS:
            with self.subTest(call=call), open("/dev/full", "wb") as full:
                proc = self.spawn(*call, stdout=full)
                said = proc.communicate(timeout=20)[1].decode()
                self.assertEqual((proc.returncode, said),
                                 (1, "error: write to stdout: No space left on device\n"))

    def test_a_generated_name_that_cannot_be_printed_leaves_no_sandbox(self):
        """If `create` cannot print the name that it generated, it fails and leaves no sandbox. If a name is given,
        `create` prints nothing and succeeds."""
        with open("/dev/full", "wb") as full:
            self.assertEqual(self.finish(self.spawn("create", "-q", "host", stdout=full)).errtext,
                             "error: write to stdout: No space left on device\n")
            self.assertEqual(self.names(), [])
            box = self.box()
            self.assertEqual(self.finish(self.spawn("create", "-qn", box.name, "host",
                                                    stdout=full)).code, 0)
        self.assertEqual(self.names(), [box.name])

    def test_a_closed_stdout_is_success(self):
        for call in self.CALLS:
            with self.subTest(call=call):
                reader, writer = os.pipe()
                os.close(reader)
                proc = self.spawn(*call, stdout=writer)
                os.close(writer)
                self.assertEqual((proc.communicate(timeout=20)[1], proc.returncode), (b"", 0))
