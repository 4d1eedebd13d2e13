#!/usr/bin/env python3
"""Arrows between rooms go down: every include obeys the table in meson.build.

The same table is printed in docs/architecture.md; it must not differ. Files in src/bin may include
any room. An include names its room, so that the arrow is visible where it is drawn.
"""
import ast
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
meson = (root / "meson.build").read_text()
rooms = ast.literal_eval(re.search(r"^rooms = (\{.*?^\})", meson, re.S | re.M)[1])
bad = []

for path in sorted((root / "src").rglob("*.[ch]")):
    room = path.relative_to(root / "src").parts[0]
    if room != "bin" and room not in rooms:
        bad.append(f"{path.relative_to(root)}: room '{room}' is not in meson.build")
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]*)"', line)
        if not match:
            continue
        where = f"{path.relative_to(root)}:{number}"
        target = match[1].split("/")[0] if "/" in match[1] else None
        if target not in rooms:
            bad.append(f"{where}: '{match[1]}' does not name its room")
        elif room not in ("bin", target) and target not in rooms[room]:
            bad.append(f"{where}: {room} may not include {target}")

document = root / "docs" / "architecture.md"
printed = {}
table = document.read_text().split("| room | may include |")[1].split("\n\n")[0]
for row in re.finditer(r"^\| `(\w+)` \| ([^|]*) \|", table, re.M):
    printed[row[1]] = re.findall(r"\w+", row[2])
for room in sorted(rooms.keys() | printed.keys()):
    if room not in printed or sorted(printed[room]) != sorted(rooms.get(room, ["(no row)"])):
        bad.append(f"docs/architecture.md and meson.build differ on '{room}': "
                   f"{printed.get(room)} and {rooms.get(room)}")

print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
