#!/usr/bin/env python3
"""Checks that clang-format would change nothing (to fix a file: clang-format -i FILE), and that no
line of a comment is wider than .editorconfig says. clang-format does not wrap comments, because it
would break the tables in them."""
import pathlib
import shutil
import subprocess
import sys

COLUMNS = 100
TAB_COLUMNS = 8

root = pathlib.Path(__file__).resolve().parent.parent
if not shutil.which("clang-format"):
    print("clang-format is not installed")
    sys.exit(77)
files = [p for top in ("src", "tests") for p in sorted((root / top).rglob("*.[ch]"))]
run = subprocess.run(["clang-format", "--dry-run", "--Werror", *files], text=True,
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
wrong = {}
for line in run.stdout.splitlines():
    if "error:" in line:
        path, number = line.split(":")[:2]
        wrong.setdefault(path, number)
for path, number in wrong.items():
    print(f"{pathlib.Path(path).relative_to(root)}:{number}: not as clang-format would have it")


def comment_lines(text):
    """Yields the number and the text of each line that is only a comment."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if inside or line.lstrip().startswith(("/*", "//")):
            yield number, line
        if "/*" in line:
            inside = "*/" not in line.rpartition("/*")[2]
        elif "*/" in line:
            inside = False


wide = 0
for path in files:
    for number, line in comment_lines(path.read_text()):
        if len(line.expandtabs(TAB_COLUMNS)) > COLUMNS:
            print(f"{path.relative_to(root)}:{number}: the comment is wider than {COLUMNS} columns")
            wide += 1
sys.exit(run.returncode != 0 or wide > 0)
