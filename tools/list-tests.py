#!/usr/bin/env python3
"""Print tests/KIND/*.c, one per line: Meson has no globbing, and a list by hand gets outdated."""
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
for path in sorted((root / "tests" / sys.argv[1]).glob("*_*.c")):
    print(path.relative_to(root))
