#!/usr/bin/env python3
"""Prints the names of tests/KIND/*.c, one per line. Meson cannot list files by a pattern, and a list by hand gets
outdated."""
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
for path in sorted((root / "tests" / sys.argv[1]).glob("*_*.c")):
    print(path.relative_to(root))
