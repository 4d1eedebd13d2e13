#!/usr/bin/env python3
"""Checks that clang-format would change nothing. To fix a file: clang-format -i FILE."""
import pathlib
import shutil
import subprocess
import sys

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
sys.exit(run.returncode != 0)
