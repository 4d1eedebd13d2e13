#!/usr/bin/env python3
"""Runs the commands of a script on a real terminal, and draws what the terminal showed.

    tools/gen-terminal.py SCRIPT [--svg FILE]

SCRIPT has one shell command in each line. A line that begins with '@' is run but not shown. '#' begins a comment. All
commands run in one new directory with a new CORDON_HOME; this program deletes both afterwards, with all sandboxes. The
directory is shown as ~. Without --svg this program prints text, which README.md shows. The commands use the programs of
build/stage, so run ./dev first.

This command makes docs/terminal.svg: `tools/gen-terminal.py docs/terminal.txt --svg docs/terminal.svg`.
"""
import argparse
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import tempfile
import termios

COLUMNS = 114
CELL = (8.43, 19)  # width and height of a character, in pixels
MARGIN, BAR = 18, 36
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#f2cc60", "36": "#79c0ff", "1;31": "#ff7b72", "1;33": "#f2cc60"}
PROMPT = "1;32"
root = pathlib.Path(__file__).resolve().parent.parent


class Screen:
    """A terminal with any number of rows. It understands text, colours, carriage return, cursor up and erase."""

    PIECE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b.|[\r\n\b]|[^\x1b\r\n\b]", re.S)

    def __init__(self):
        self.lines, self.row, self.column, self.colour = [[]], 0, 0, ""

    def write(self, text):
        for piece in self.PIECE.finditer(text):
            self.step(piece[0], piece[1], piece[2])

    def step(self, text, numbers, letter):
        if letter == "m":
            self.colour = "" if numbers in ("", "0") else numbers
        elif letter == "K":
            line = self.lines[self.row]
            del line[0 if numbers == "2" else self.column:]
        elif letter == "A":
            self.row = max(0, self.row - int(numbers or 1))
        elif letter or text.startswith("\x1b"):
            return
        elif text == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append([])
        elif text == "\r":
            self.column = 0
        elif text == "\b":
            self.column = max(0, self.column - 1)
        else:
            if self.column == COLUMNS:  # the terminal breaks long lines
                self.step("\r", None, None)
                self.step("\n", None, None)
            line = self.lines[self.row]
            line.extend([(" ", "")] * (self.column + 1 - len(line)))
            line[self.column] = (text, self.colour)
            self.column += 1

    def runs(self):
        """Yields a list of (text, colour) for each line."""
        for line in self.lines:
            joined = []
            for text, colour in line:
                if joined and joined[-1][1] == colour:
                    joined[-1][0] += text
                else:
                    joined.append([text, colour])
            yield joined


def run(command, directory, env):
    """Runs COMMAND on a new terminal and returns what COMMAND printed."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))

    def own_terminal():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    proc = subprocess.Popen(["bash", "-c", command], stdin=slave, stdout=slave, stderr=slave, cwd=directory, env=env,
                            preexec_fn=own_terminal)
    os.close(slave)
    seen = b""
    while True:
        ready, _, _ = select.select([master], [], [], 0.1)
        if ready:
            try:
                chunk = os.read(master, 1 << 16)
            except OSError:  # no process has the terminal open any more
                break
            seen += chunk
        elif proc.poll() is not None:
            break
    proc.wait()
    os.close(master)
    return seen.decode("utf-8", "replace")


def play(script):
    """Runs the whole script and returns the screen."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="cordon-terminal-", dir="/var/tmp"))
    directory, home = place / "shop", place / "home"
    directory.mkdir()
    env = {"PATH": f"{root}/build/stage/bin:{os.environ['PATH']}", "HOME": str(place), "CORDON_HOME": str(home),
           "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    screen = Screen()
    try:
        for line in script.splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            if line.startswith("@"):
                subprocess.run(["bash", "-c", line[1:]], cwd=directory, env=env, check=True)
                continue
            screen.write(f"\x1b[{PROMPT}m$\x1b[0m {line}\r\n{run(line, place / 'shop', env).replace(str(place), '~')}")
            if screen.column:
                screen.write("\r\n")
    finally:
        names = subprocess.run(["cordon", "list", "-q"], env=env, stdout=subprocess.PIPE, text=True).stdout.split()
        if names:
            subprocess.run(["cordon", "remove", "-q", "-f", *names], env=env)
        shutil.rmtree(place)
    while screen.lines and not screen.lines[-1]:
        screen.lines.pop()
    return screen


def svg(screen):
    width = COLUMNS * CELL[0] + 2 * MARGIN
    height = len(screen.lines) * CELL[1] + BAR + MARGIN
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
           f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="A terminal session with cordon">')
    yield '<rect width="100%" height="100%" rx="9" fill="#0d1117"/>'
    for i, colour in enumerate(("#ff5f56", "#ffbd2e", "#27c93f")):
        yield f'<circle cx="{MARGIN + 4 + 20 * i}" cy="{BAR / 2}" r="6" fill="{colour}"/>'
    yield ('<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" '
           'font-size="14" fill="#e6edf3" xml:space="preserve" style="white-space: pre">')
    for number, runs in enumerate(screen.runs()):
        at = 0
        for text, colour in runs:
            shown = text.strip()
            x = MARGIN + (at + len(text) - len(text.lstrip())) * CELL[0]
            y = BAR + MARGIN / 2 + number * CELL[1]
            at += len(text)
            if not shown:
                continue
            fill = f' fill="{COLOURS.get(colour, COLOURS["32"])}"' if colour else ""
            yield (f'<text x="{x:.1f}" y="{y:.1f}" textLength="{len(shown) * CELL[0]:.1f}"{fill}>'
                   f"{html.escape(shown, quote=False)}</text>")
    yield "</g>"
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("script", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path)
    args = parser.parse_args()
    screen = play(args.script.read_text())
    if args.svg:
        args.svg.write_text("\n".join(svg(screen)) + "\n")
    else:
        for runs in screen.runs():
            print("".join(text for text, _ in runs).rstrip())


if __name__ == "__main__":
    main()
