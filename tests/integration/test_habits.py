"""Tests what people type by habit if they know other container programs."""

import os
import pathlib
import subprocess

from harness import CORDON, MSB, CordonTest


class WithoutDashes(CordonTest):
    """The first bare word after the image or the name begins the command."""

    def test_exec_and_run(self):
        box = self.create()
        got = self.cordon("exec", box.name, "printf", "%s.", "-q", "--help", "--", "x")
        self.assertEqual((got.code, got.text), (0, "-q.--help.--.x."), got)
        got = self.cordon("exec", box.name, "-e", "A=1", "sh", "-c", "echo $A; exit 3")
        self.assertEqual((got.code, got.text), (3, "1\n"), got)
        got = self.cordon("run", "host", "sh", "-c", "exit 4")
        self.assertEqual(got.code, 4, got)
        got = self.cordon("exec", box.name, "--", "echo", "as", "before")
        self.assertEqual(got.text, "as before\n", got)

    def test_msb_wants_dashes(self):
        box = self.create()
        for words in (("exec", box.name, "true"), ("run", "host", "true")):
            got = self.cordon(*words, program=MSB)
            self.assertEqual(got.code, 2, got)
            self.assertIn("a command goes behind '--'", got.errtext)


class Interactive(CordonTest):
    def test_i_forwards_input(self):
        box = self.create()
        got = self.cordon("exec", "-i", box.name, "cat", stdin=b"\0some\xff")
        self.assertEqual((got.code, got.out), (0, b"\0some\xff"), got)

    def test_i_alone_gives_no_terminal(self):
        box = self.create()
        term = self.terminal("exec", "-i", box.name, "sh", "-c", "tty; echo =$?")
        term.expect("not a tty")
        self.assertEqual(term.wait(), 0)

    def test_it_gives_a_terminal(self):
        box = self.create()
        for words in (("exec", "-it", box.name), ("run", "-it", "host")):
            term = self.terminal(*words, "sh", "-c", "stty size; tty")
            term.expect(r"24 80\s+/dev/pts/\d+")
            self.assertEqual(term.wait(), 0)


class Rm(CordonTest):
    def test_named_sandbox_is_deleted(self):
        got = self.cordon("run", "--rm", "-n", "gone", "host", "echo", "hi")
        self.assertEqual((got.code, got.text), (0, "hi\n"), got)
        self.assertEqual(self.names(), [])
        got = self.cordon("run", "-n", "stays", "host", "true")
        self.assertEqual((got.code, self.names()), (0, ["stays"]), got)

    def test_detached(self):
        box = self.box("back")
        with self.claiming(box):
            got = self.cordon("run", "-d", "--rm", "-n", "back", "host", "sleep", "1000")
        self.assertEqual((got.code, self.names()), (0, ["back"]), got)
        self.assertEqual(self.cordon("stop", "-t", "0", "back").code, 0)
        self.eventually(lambda: not self.names())

    def test_create(self):
        box = self.create("--rm", name="made")
        self.assertEqual(box.out("echo here"), "here")
        self.assertEqual(self.cordon("stop", "made").code, 0)
        self.eventually(lambda: not self.names())

    def test_existing_sandbox_stays(self):
        box = self.create(name="mine")
        got = self.cordon("run", "--rm", "-n", "mine", "host", "true")
        self.assertEqual((got.code, self.names()), (0, ["mine"]), got)
        self.assertIn("--rm", got.errtext)
        self.assertEqual(box.out("echo here"), "here")

    def test_with_a_path_it_is_the_patch(self):
        root = self.make_root()
        pathlib.Path(root, "etc/old").write_text("x")
        for program, words in ((None, ("--rm=/etc/old",)), (MSB, ("--rm", "/etc/old"))):
            extra = {"program": program} if program else {}
            pathlib.Path(root, "etc/old").write_text("x")
            got = self.cordon("run", "-n", "kept", "--replace", *words, root, "--", "ls", "/etc", **extra)
            self.assertEqual(got.code, 0, got)
            self.assertNotIn("old", got.text.split())
            self.assertEqual(self.names(), ["kept"])


class Network(CordonTest):
    def test_none(self):
        got = self.cordon("run", "--network", "none", "host", "cat", "/proc/net/dev")
        self.assertEqual(got.code, 0, got)
        names = [line.split(":")[0].strip() for line in got.text.splitlines()[2:]]
        self.assertEqual(names, ["lo"], got)
        same = [self.cordon("create", "-q", "-n", name, *words, "host").code
                for name, words in (("a", ("--network", "bridge")), ("b", ()))]
        self.assertEqual(same, [0, 0])
        nets = [self.cordon("inspect", n, "--format", "json").json()["config"]["network"] for n in "ab"]
        self.assertEqual(nets[0], nets[1])


class EnvFile(CordonTest):
    def file(self, text):
        path = os.path.join(self.dir, "vars")
        with open(path, "wb") as handle:
            handle.write(text)
        return path

    def test_the_lines_of_docker(self):
        path = self.file(b"\xef\xbb\xbf# comment\n\nA=1\r\n  B= two = 'x' # y \nFROM_ME\nNOT_SET_HERE\nA=3\nC=\n")
        show = ("sh", "-c", "echo \"$A|$B|$FROM_ME|${NOT_SET_HERE-unset}|${C-unset}|$D\"")
        want = "3| two = 'x' # y |here|unset||d\n"
        box = self.create()
        words = ("--env-file", path, "-e", "D=d")
        env = {"FROM_ME": "here"}
        for got in (self.cordon("exec", *words, box.name, *show, env=env),
                    self.cordon("run", *words, "host", *show, env=env)):
            self.assertEqual((got.code, got.text), (0, want), got)
        got = self.cordon("exec", "-e", "A=option", "--env-file", path, box.name, "sh", "-c", "echo $A")
        self.assertEqual(got.text, "option\n", got)

    def test_a_pipe_is_a_file(self):
        got = self.cordon("run", "--env-file", "/dev/stdin", "host", "sh", "-c", "echo $A", stdin=b"A=piped\n")
        self.assertEqual((got.code, got.text), (0, "piped\n"), got)

    def test_errors_name_the_line_and_not_its_value(self):
        for text, why in ((b"A=1\nB B=secret\n", "line 2: the name has a blank in it"),
                          (b"=secret\n", "line 1: the name is empty"),
                          (b"A=secret\xff\n", "line 1: not UTF-8"), (b"A=secret\0\n", "line 1: a NUL byte")):
            got = self.cordon("create", "-n", "no", "--env-file", self.file(text), "host")
            self.assertEqual(got.code, 1, got)
            self.assertIn(why, got.errtext)
            self.assertNotIn("secret", got.errtext)
        got = self.cordon("create", "-n", "no", "--env-file", "/no/such", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("--env-file: '/no/such'", got.errtext)
        self.assertEqual(self.names(), [])


class Shell(CordonTest):
    def test_bash_at_a_terminal(self):
        box = self.create()
        term = self.terminal("shell", box.name)
        term.send("echo shell=$0 v=${BASH_VERSION:+yes}; exit 5\n")
        term.expect(r"shell=\S*bash v=yes")
        self.assertEqual(term.wait(), 5)
        self.assertTrue(term.restored())

    def test_sh_where_there_is_no_bash(self):
        box = self.create(image=self.make_root())
        term = self.terminal("shell", box.name)
        term.send("echo shell=$0.; exit 6\n")
        term.expect(r"shell=/bin/sh\.")
        self.assertEqual(term.wait(), 6)

    def test_the_shell_of_the_sandbox_comes_first(self):
        box = self.create("--shell", "/usr/bin/env")
        term = self.terminal("shell", box.name)
        term.expect("PATH=")
        self.assertEqual(term.wait(), 0)

    def test_options_scripts_and_a_stopped_sandbox(self):
        box = self.create()
        script = b"echo $A $PWD\nexit 7\n"
        got = self.cordon("shell", "-e", "A=1", "-w", "/usr", box.name, stdin=script)
        self.assertEqual((got.code, got.text), (7, "1 /usr\n"), got)
        self.assertEqual(box.stop().code, 0)
        got = self.cordon("shell", box.name, stdin=b"echo up\n")
        self.assertEqual((got.code, got.text), (0, "up\n"), got)
        self.assertEqual(self.names("--running"), [])
        got = self.cordon("shell", "nosuch")
        self.assertEqual((got.code, got.errtext), (1, "error: sandbox not found: nosuch\n"), got)


class All(CordonTest):
    def test_stop_and_remove(self):
        for name in ("a", "b"):
            self.create(name=name)
        self.assertEqual(self.cordon("stop", "b").code, 0)
        got = self.cordon("rm", "--all")
        self.assertEqual((got.code, self.names()), (1, ["a"]), got)
        self.assertIn("sandbox still running: ", got.errtext)
        got = self.cordon("stop", "--all")
        self.assertEqual((got.code, self.names("--running")), (0, []), got)
        self.assertRegex(got.errtext, r"Stopped +a")
        got = self.cordon("stop", "--all")
        self.assertEqual((got.code, got.err), (0, b""), got)
        self.create(name="c")
        got = self.cordon("rm", "-f", "-a")
        self.assertEqual((got.code, self.names()), (0, []), got)
        got = self.cordon("rm", "--all")
        self.assertEqual((got.code, got.err), (0, b""), got)

    def test_all_and_some_is_a_mistake(self):
        for words in (("stop", "--all", "a"), ("rm", "--all", "a"), ("rm", "--all", "--label", "x")):
            self.assertEqual(self.cordon(*words).code, 2)


class PipedScript(CordonTest):
    """Without a command, the shell runs what standard input holds."""

    def test_pipe_and_file(self):
        box = self.create()
        script = b"cd /usr\npwd\nfor i in 1 2; do\n  echo $i\ndone\nexit 9\n"
        want = "/usr\n1\n2\n"
        path = os.path.join(self.dir, "script")
        with open(path, "wb") as handle:
            handle.write(script)
        for words in (("exec", box.name), ("run", "host"), ("exec", "-i", box.name)):
            got = self.cordon(*words, stdin=script)
            self.assertEqual((got.code, got.text), (9, want), got)
            with open(path, "rb") as handle:
                got = self.finish(self.spawn(*words, stdin=handle))
            self.assertEqual((got.code, got.text), (9, want), got)

    def test_a_late_script_starts_a_stopped_sandbox(self):
        box = self.create()
        self.assertEqual(box.stop().code, 0)
        proc = self.spawn("exec", box.name, stdin=subprocess.PIPE)
        got = self.cordon("list", "--running", "-q")
        self.assertEqual(got.text, "", "the sandbox was started before the script came")
        proc.stdin.write(b"echo late\n")
        got = self.finish(proc)
        self.assertEqual((got.code, got.text), (0, "late\n"), got)
        self.assertEqual(self.names("--running"), [])

    def test_the_command_of_the_image_comes_first(self):
        box = self.create("--entrypoint", "cat")
        got = self.cordon("exec", box.name, stdin=b"echo text\n")
        self.assertEqual((got.code, got.text), (0, "echo text\n"), got)
        got = self.cordon("run", "--entrypoint", "cat", "host", stdin=b"echo text\n")
        self.assertEqual((got.code, got.text), (0, "echo text\n"), got)

    def test_the_shell_of_the_sandbox(self):
        got = self.cordon("run", "--shell", "/bin/cat", "host", stdin=b"text")
        self.assertEqual((got.code, got.text), (0, "text"), got)


class NothingToRun(CordonTest):
    def test_is_an_error(self):
        box = self.create()
        empty = os.path.join(self.dir, "empty")
        with open(empty, "wb"):
            pass
        for words in (("exec", box.name), ("run", "-n", "new", "host"), ("run", "-d", "-n", "new", "host"),
                      ("exec", "-d", box.name)):
            for stdin in (None, b""):
                got = self.cordon(*words, stdin=stdin)
                self.assertEqual((got.code, got.out), (1, b""), got)
                self.assertRegex(got.errtext, r"^error: nothing to run\n")
            with open(empty, "rb") as handle:
                self.assertEqual(self.finish(self.spawn(*words, stdin=handle)).code, 1)
        self.assertEqual(self.names(), [box.name])

    def test_msb_warns(self):
        box = self.create()
        for words in (("exec", box.name), ("run", "host")):
            got = self.cordon(*words, stdin=b"echo text\n", program=MSB)
            self.assertEqual((got.code, got.out), (0, b""), got)
            self.assertRegex(got.errtext, r"^warn: nothing to run")


class Completion(CordonTest):
    """Tests what bash offers as completion of the last word. offers() gets the words of a line as readline splits the
    line."""

    modes = ("root", "user")

    def offers(self, *words, program=CORDON):
        script = ('source <("$1" completion bash); program=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '_cordon "$program"; printf "%s\\n" "${COMPREPLY[@]}"')
        got = self.cordon("--norc", "-c", script, "bash", CORDON, program, "cordon", *words, program="/bin/bash")
        self.assertEqual((got.code, got.err), (0, b""), got)
        return got.text.split()

    def test_sandboxes(self):
        self.create(name="first")
        self.create(name="second")
        for command in ("exec", "shell", "stop", "logs"):
            self.assertEqual(sorted(self.offers(command, "")), ["first", "second"])
        self.assertEqual(self.offers("exec", "se"), ["second"])
        pathlib.Path(self.dir, "file").touch()
        found = self.offers("cp", "fi")
        self.assertEqual(sorted(found), ["file", "first:"])

    def test_images(self):
        stub = pathlib.Path(self.dir, "stub")
        stub.write_text("#!/bin/sh\nprintf 'alpine:3.20\\nalpine:edge\\nreg.example:5000/x:1\\n'\n")
        stub.chmod(0o755)
        self.assertEqual(sorted(self.offers("run", "", program=str(stub))),
                         ["alpine:3.20", "alpine:edge", "host", "reg.example:5000/x:1"])
        self.assertEqual(self.offers("run", "alpine", ":", "e", program=str(stub)), ["edge"])
        self.assertEqual(self.offers("run", "alpine", ":", program=str(stub)), ["3.20", "edge"])
        self.assertEqual(self.offers("run", "reg.example", ":", "5000/x", ":", "", program=str(stub)), ["1"])
        self.assertEqual(self.offers("create", "ho", program=str(stub)), ["host"])
        self.assertNotIn("host", self.offers("rmi", "", program=str(stub)))
