"""Tests that `attach` shows the screen of a terminal in the sandbox, and that after a detach the outer terminal (tmux)
works as before."""

import os
import shutil
import signal
import subprocess

from harness import ALL_MODES, CORDON, CordonTest, all_processes


class Pane:
    """A terminal of tmux in which a shell of the host runs."""

    def __init__(self, test, rows=24, cols=80):
        self.test, self.name = test, os.path.join(test.dir, f"tmux{len(test.panes)}")
        test.panes.append(self)
        self.tmux("new-session", "-d", "-x", str(cols), "-y", str(rows), "sh")
        self.keys("PS1='outer> '", "Enter")
        self.shows("outer> ")

    def tmux(self, *args):
        env = {**self.test.environment(), "TERM": "xterm-256color", "ENV": "", "SHELL": "/bin/sh", "CORDON": CORDON}
        env.pop("TMUX", None)
        got = subprocess.run(["tmux", "-f", "/dev/null", "-S", self.name, *args], env=env, capture_output=True,
                             text=True, timeout=30)
        self.test.assertEqual(got.returncode, 0, got)
        return got.stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def run(self, line):
        """Clears the screen and types a command line."""
        self.keys("clear", "Enter")
        self.test.eventually(lambda: self.screen().strip() == "outer>")
        self.keys("-l", line)
        self.keys("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def flags(self):
        """Returns five digits, 0 or 1: alternate screen, cursor keys, keypad, mouse, visible cursor."""
        return self.tmux("display-message", "-p", "#{alternate_on}#{keypad_cursor_flag}#{keypad_flag}"
                         "#{mouse_any_flag}#{cursor_flag}").strip()

    def shows(self, text, flags=None):
        self.test.eventually(lambda: text in self.screen() and flags in (None, self.flags()), within=20,
                             message=lambda: f"{text!r} and {flags} in:\n{self.screen()}{self.flags()}")

    def left(self):
        """Asserts that the client has detached, and that the terminal is as it was before."""
        self.shows("detached from session", "00001")
        self.keys("-l", "echo whole$((1+1))")
        self.keys("Enter")
        self.shows("\nwhole2\n")

    def close(self):
        subprocess.run(["tmux", "-S", self.name, "kill-server"], capture_output=True, timeout=30)


class ScreenTest(CordonTest):
    timeout = 120
    modes = ALL_MODES

    def setUp(self):
        super().setUp()
        if not shutil.which("tmux"):
            self.not_run("tmux is missing")
        self.panes = []
        self.addCleanup(lambda: [pane.close() for pane in self.panes])

    def program(self, name):
        if not shutil.which(name):
            self.not_run(f"{name} is missing")
        return os.path.realpath(shutil.which(name))

    def background(self, box, *command):
        got = self.cordon("exec", "-dt", "-e", "TERM=xterm-256color", "-w", "/root", box.name, "--", *command)
        self.assertEqual(got.code, 0, got)
        return int(got.text)

    def lines(self, box):
        box.out("for i in $(seq 100); do echo line-$i-; done > /root/text")

    def comes_back(self, box, ident, text, flags):
        """Attaches and leaves twice, then attaches from another terminal. Each time the program must draw its screen
        although nobody presses a key. Usually TEXT stands near the bottom of the full screen: when it appears, the
        program has drawn at the full size and is ready for keys. Returns the other terminal."""
        first = Pane(self)
        for _ in range(2):
            first.run(f'"$CORDON" attach {box.name} {ident}')
            first.shows(text, flags)
            first.keys("C-]")
            first.left()
        other = Pane(self)
        other.run(f'"$CORDON" attach {box.name} {ident}')
        other.shows(text, flags)
        return other


class FullScreen(ScreenTest):
    def test_vim(self):
        vim, box = self.program("vim"), self.create()
        self.lines(box)
        ident = self.background(box, vim, "-N", "-u", "NONE", "-c", "set mouse=a nocompatible", "text")
        pane = self.comes_back(box, ident, "line-23-", "11111")
        pane.keys("G", "Down", "Up")
        pane.shows("line-100-")
        pane.keys("-l", ":q!")
        pane.keys("Enter")
        pane.shows("outer> ", "00001")

    def test_less(self):
        less, box = self.program("less"), self.create()
        self.lines(box)
        pane = self.comes_back(box, self.background(box, less, "text"), "line-23-", "11101")  # line 23 needs the full size
        pane.keys("G")
        pane.shows("line-100-")

    def test_top(self):
        """top draws on the ordinary screen. With -d 1000 the clock makes it draw only once during the test."""
        top, box = self.program("top"), self.create()
        pane = self.comes_back(box, self.background(box, top, "-d", "1000"), "PID USER", "01100")
        pane.shows("Tasks:")

    def test_a_foreground_terminal_that_was_left(self):
        less, box = self.program("less"), self.create()
        self.lines(box)
        pane = Pane(self)
        pane.run(f'"$CORDON" exec -w /root {box.name} -- {less} text')
        pane.shows("line-20-", "11101")
        pane.keys("C-]")
        pane.left()
        self.comes_back(box, 2, "line-20-", "11101")

    def test_modes_stay_known_however_much_is_printed(self):
        box = self.create()
        ident = self.background(box, "sh", "-c", r"printf '\033[?1049h\033[?1h\033=\033[?25l'; seq 100000; echo drawn; read x")
        self.eventually(lambda: "drawn" in self.cordon("logs", box.name, "--id", str(ident)).text)
        pane = Pane(self)
        pane.run(f'"$CORDON" attach {box.name}')
        self.eventually(lambda: pane.flags() == "11100")
        pane.keys("C-]")
        pane.left()

    def test_a_killed_client_leaves_a_terminal_that_works(self):
        less, box = self.program("less"), self.create()
        self.lines(box)
        ident = self.background(box, less, "text")
        for sig in (signal.SIGTERM, signal.SIGHUP):
            pane = Pane(self)
            pane.run(f'"$CORDON" attach {box.name} {ident}; echo status=$?')
            pane.shows("line-20-", "11101")
            client, = [p for p in all_processes().values() if p.cmdline[1:] == ["attach", box.name, str(ident)]]
            os.kill(client.pid, sig)
            pane.shows(f"status={128 + sig}", "00001")
            self.assertNotIn("line-20-", pane.screen())

    def test_a_killed_program_leaves_a_terminal_that_works(self):
        less, box = self.program("less"), self.create()
        self.lines(box)
        ident = self.background(box, less, "text")
        pane = Pane(self)
        pane.run(f'"$CORDON" attach {box.name} {ident}')
        pane.shows("line-20-", "11101")
        self.assertEqual(self.cordon("stop", "-f", box.name, "--id", str(ident)).code, 0)
        pane.shows("outer> ", "00001")


class Prompts(ScreenTest):
    def prompt(self, *shell):
        """Attaches to the shell SHELL, leaves, and attaches from another terminal. Checks that each prompt, and the
        text above it, is then on the screen exactly once."""
        box = self.create()
        ident = self.background(box, "env", "PS1=inner> ", "ENV=", *shell)
        pane = Pane(self)
        pane.run(f'"$CORDON" attach {box.name} {ident}')
        pane.shows("inner>")
        pane.keys("-l", "echo above$((1+1))")
        pane.keys("Enter")
        pane.shows("\nabove2\ninner>")
        pane.keys("C-]")
        pane.left()
        other = Pane(self)
        other.run(f'"$CORDON" attach {box.name} {ident}')
        other.shows("\nabove2\ninner>")
        other.keys("-l", "echo more$((1+1))")
        other.keys("Enter")
        other.shows("\nmore2\ninner>")
        self.assertEqual(other.screen().count("inner>"), 3)

    def test_bash(self):
        self.prompt("bash", "--norc", "-i")

    def test_a_shell_that_never_draws_anew(self):
        self.prompt("dash", "-i")

    def test_answers_of_the_terminal_are_not_typed_again(self):
        """The program asks where the cursor is. A replay of the question would type a second answer."""
        box = self.create()
        ident = self.background(box, "sh", "-c", r"stty raw -echo; read x; printf 'asked\033[6n'; "
                                "dd bs=1 count=6 2>/dev/null | od -c; printf 'again '; cat -v")
        pane = Pane(self)
        pane.run(f'"$CORDON" attach {box.name} {ident}')
        self.eventually(lambda: "again" in pane.screen() or pane.keys("C-m", "C-j"))
        pane.keys("C-]")
        pane.left()
        other = Pane(self)
        other.run(f'"$CORDON" attach {box.name} {ident}')
        other.shows("again")
        other.keys("x", "C-m", "C-j")
        other.shows("x^M")
        self.assertNotIn("^[", other.screen().split("again")[1])
