#!/usr/bin/env python3
"""Checks that no file contains a path of the machine on which the file was written."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
# each pattern is split into two strings, so that this file does not match itself
LOCAL = re.compile(rb"/wor" rb"k/|/tmp/w" rb"t|/root/\." rb"pyenv|/home/\w+/\w")
listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL).stdout.decode()
paths = [root / name for name in listed.split("\0") if name]
if not paths:  # this tree was unpacked from an archive, so git lists nothing
    paths = [p for p in root.rglob("*") if "build" not in p.relative_to(root).parts]
bad = []
for path in sorted(paths):
    if not path.is_file():
        continue
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        match = LOCAL.search(line)
        if match:
            bad.append(f"{path.relative_to(root)}:{number}: names '{match[0].decode()}'")
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
