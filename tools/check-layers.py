#!/usr/bin/env python3
"""Checks that every include obeys the table of rooms in meson.build: a room includes only rooms below it.

docs/architecture.md prints the same table, and both must be equal. The list of words on that page must stay short
enough to be learnt. Files in src/bin may include any room. An include names its room, so that a reader sees which
rooms a file uses.

A file that includes a header also gets what that header includes. So indirect includes count, too: if a file of the
room `top` may not include `low`, it may also not include a header of `middle` that includes a header of `low`. DOORS
lists the exceptions. BEHIND lists rooms that only some files of another room may include, so that the code of an engine
stays in that engine's files. A check that is broken and finds nothing would look like a clean tree. So the check first
runs on a small tree with known faults."""
import ast
import pathlib
import re
import sys
import tempfile

# HEADER: OTHERS. A file that may not include OTHERS itself may still include HEADER, which includes OTHERS. A comment
# says why.
DOORS = {
    # Front ends load and show records, but only client/ and the rooms below it change records. So client/ shows the
    # structs of state/, because copies of them in client/ would be of no use.
    "client/sandbox.h": {"state/execlog.h", "state/home.h", "state/places.h", "state/record.h"},
    "client/volumes.h": {"state/volume.h"},  # for the same reason: front ends show volumes
    # A front end that reads the output of a command also writes this output to the log.
    "client/tap.h": {"state/execlog.h", "state/home.h"},
}

# The most words in the list. If a change would add one more word, choose a name in the code that needs no explanation.
WORDS_MAX = 40

# (A, B): PREFIX. In room A only files whose names begin with PREFIX may include room B.
BEHIND = {
    ("supervisor", "process"): "supervisor/engine_process",  # the files of the process engine
}


def includes(path):
    """Yields (line number, name) of every include of our own headers."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]*)"', line)
        if match:
            yield number, match[1]


def room_of(name):
    return name.split("/")[0] if "/" in name else None


def brought(src, rooms, room, header, seen):
    """ROOM may include HEADER. Looks in HEADER, and in the headers that it includes, for includes that ROOM itself may
    not have. Yields (the header with such an include, the name that it includes) for each."""
    seen.add(header)
    if not (src / header).exists():
        return  # the build makes this header
    for _, name in includes(src / header):
        if room_of(name) == room or room_of(name) in rooms[room]:
            if name not in seen:
                yield from brought(src, rooms, room, name, seen)
        elif room_of(name) in rooms:  # an include that names no room is reported elsewhere, by judge()
            yield header, name


def reach(src, header, seen):
    """Returns SEEN with HEADER and every header that HEADER includes, directly or through others."""
    if header not in seen and (src / header).exists():
        seen.add(header)
        for _, name in includes(src / header):
            reach(src, name, seen)
    return seen


def judge_behind(src, name, where, target, behind):
    """The file NAME includes TARGET, and so also every header that TARGET includes. Yields an error for each of these
    headers that BEHIND reserves for other files of NAME's room."""
    for header in sorted(reach(src, target, set())):
        only = behind.get((room_of(name), room_of(header)))
        if only and not name.startswith(only):
            yield f"{where}: only {only}* may use {room_of(header)}, and this brings in {header}"


def judge(src, rooms, doors, behind):
    """Returns what is wrong in the tree SRC. An entry of DOORS that no file needs is wrong, too."""
    bad, used = [], set()
    for path in sorted(src.rglob("*.[ch]")):
        name = str(path.relative_to(src))
        room = room_of(name)
        if room != "bin" and room not in rooms:
            bad.append(f"src/{name}: room '{room}' is not in meson.build")
            continue
        for number, target in includes(path):
            where = f"src/{name}:{number}"
            if room_of(target) not in rooms:
                bad.append(f"{where}: '{target}' does not name its room")
            elif room == "bin":
                continue
            elif room_of(target) not in (room, *rooms[room]):
                bad.append(f"{where}: {room} may not include {room_of(target)}")
            else:
                bad += judge_behind(src, name, where, target, behind)
                for header, what in brought(src, rooms, room, target, {name}):
                    used.add((header, what))
                    if what not in doors.get(header, ()):
                        bad.append(f"{where}: {header} brings in {what}, and {room} may not include {room_of(what)}")
    for header, what in sorted((h, w) for h, all_of_it in doors.items() for w in all_of_it):
        if (header, what) not in used:
            bad.append(f"tools/check-layers.py: the door '{header}' to '{what}' has no user")
    return bad


def judge_known_faults():
    """Returns the faults of a known tree that the check misses or invents."""
    rooms = {"low": [], "middle": ["low"], "top": ["middle"], "own": ["low"]}
    tree = {
        "low/deep.h": "", "low/open.h": "", "low/plain.h": "",
        "middle/leaks.h": '#include "low/deep.h"\n', "middle/door.h": '#include "low/open.h"\n',
        "middle/mine.c": '#include "low/plain.h"\n', "middle/far.h": '#include "middle/leaks.h"\n',
        "top/direct.c": '#include "low/plain.h"\n', "top/leaked.c": '#include "middle/leaks.h"\n',
        "top/far.c": '#include "middle/far.h"\n', "top/by_door.c": '#include "middle/door.h"\n',
        "top/nameless.c": '#include "plain.h"\n', "bin/main.c": '#include "middle/leaks.h"\n',
        "own/row_a.h": '#include "low/plain.h"\n', "own/row_a.c": '#include "own/row_a.h"\n',
        "own/direct.c": '#include "low/plain.h"\n', "own/by_row.c": '#include "own/row_a.h"\n',
    }
    wanted = [
        "src/own/by_row.c:1: only own/row* may use low, and this brings in low/plain.h",
        "src/own/direct.c:1: only own/row* may use low, and this brings in low/plain.h",
        "src/top/direct.c:1: top may not include low",
        "src/top/far.c:1: middle/leaks.h brings in low/deep.h, and top may not include low",
        "src/top/leaked.c:1: middle/leaks.h brings in low/deep.h, and top may not include low",
        "src/top/nameless.c:1: 'plain.h' does not name its room",
        "tools/check-layers.py: the door 'middle/door.h' to 'low/plain.h' has no user",
    ]
    with tempfile.TemporaryDirectory() as name:
        src = pathlib.Path(name)
        for file, text in tree.items():
            (src / file).parent.mkdir(exist_ok=True)
            (src / file).write_text(text)
        found = judge(src, rooms, {"middle/door.h": {"low/open.h", "low/plain.h"}}, {("own", "low"): "own/row"})
    return [f"the check missed a known fault: {w}" for w in wanted if w not in found] + \
        [f"the check reported a fault where there is none: {f}" for f in found if f not in wanted]


def count_words(text):
    n = len(re.findall(r"^\| [^|]+ \|", text.split("| word | what it means here |")[1].split("\n\n")[0], re.M))
    return [f"docs/architecture.md explains {n} words; at most {WORDS_MAX} are allowed"] if n > WORDS_MAX else []


def compare_document(text, rooms):
    printed = {}
    table = text.split("| room | may include |")[1].split("\n\n")[0]
    for row in re.finditer(r"^\| `(\w+)` \| ([^|]*) \|", table, re.M):
        printed[row[1]] = re.findall(r"\w+", row[2])
    return [f"docs/architecture.md and meson.build differ on '{room}': {printed.get(room)} and {rooms.get(room)}"
            for room in sorted(rooms.keys() | printed.keys())
            if room not in printed or sorted(printed[room]) != sorted(rooms.get(room, ["(no row)"]))]


root = pathlib.Path(__file__).resolve().parent.parent
meson = (root / "meson.build").read_text()
table = ast.literal_eval(re.search(r"^rooms = (\{.*?^\})", meson, re.S | re.M)[1])
page = (root / "docs" / "architecture.md").read_text()
bad = judge_known_faults() + judge(root / "src", table, DOORS, BEHIND) + \
    compare_document(page, table) + count_words(page)
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
