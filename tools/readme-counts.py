#!/usr/bin/env python3
"""Compares the closing lines of `./dev test` in README.md with those of the last run.

    tools/readme-counts.py [--write]

`./dev test` without arguments writes its closing lines to build/log/closing and calls this script. The counts in
README.md may differ from these lines by TOLERANCE. CORDON_TEST_STRICT=1 makes a larger difference a failure. A machine
with other privilege modes runs other tests, so its counts are not compared. --write copies the lines to README.md.
"""
import os
import pathlib
import re
import sys

TOLERANCE = 0.05
LINES = re.compile(r"^(\d+) cases, (\d+) runs in (\d+) modes, \d+ unsteady\n\d+ passed, \d+ failed.*$", re.M)

root = pathlib.Path(os.environ.get("CORDON_TEST_TREE", pathlib.Path(__file__).resolve().parent.parent))
readme = root / "README.md"
closing = root / "build/log/closing"
printed = LINES.search(readme.read_text())
if not printed:
    sys.exit("README.md does not show the closing lines of `./dev test`")
if not closing.exists():
    sys.exit("build/log/closing is not there: run `./dev test` without arguments first")
made = LINES.search(closing.read_text())
if not made:
    sys.exit("build/log/closing has no line with cases, runs and modes")
if sys.argv[1:] == ["--write"]:
    readme.write_text(readme.read_text().replace(printed[0], made[0]))
    sys.exit()
if printed[3] != made[3]:
    sys.exit()
if any(abs(int(a) - int(b)) > TOLERANCE * int(b) for a, b in zip(printed.groups(), made.groups())):
    print(f"README.md says '{printed[0].splitlines()[0]}', this run has '{made[0].splitlines()[0]}': "
          "call tools/readme-counts.py --write")
    sys.exit(os.environ.get("CORDON_TEST_STRICT") == "1")
