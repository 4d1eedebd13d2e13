#!/usr/bin/env python3
"""Checks that some object files call only the functions that their list allows.

tools/symbols/ROOM_FILE.txt names, one per line, the functions that src/ROOM/FILE.c may call in other files. Each file
with such a list runs between clone and exec, or in a task that shares the supervisor's memory. There it may only make
system calls. Any other call, such as snprintf, could deadlock. '#' begins a comment in a list.
"""
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
bad, seen = [], 0
for listing in sorted((root / "tools" / "symbols").glob("*.txt")):
    room, noun = listing.stem.split("_", 1)
    if not (root / "src" / room / f"{noun}.c").exists():
        continue
    objects = list((root / "build" / "hot").rglob(f"src_{room}_{noun}.c.o"))
    if not objects:
        bad.append(f"build/hot has no object of src/{room}/{noun}.c: build first")
        continue
    allowed = {line.split("#")[0].strip() for line in listing.read_text().splitlines()}
    for path in objects:
        seen += 1
        symbols = subprocess.run(["nm", "-u", path], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.split()
        extra = sorted(s for s in symbols if s != "U" and s not in allowed)
        if extra:
            bad.append(f"src/{room}/{noun}.c needs {', '.join(extra)}: not in "
                       f"{listing.relative_to(root)}")
print("\n".join(bad), end="\n" if bad else "")
if not seen and not bad:
    print("none of the listed objects exists yet")
sys.exit(1 if bad else 0 if seen else 77)
