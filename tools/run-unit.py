#!/usr/bin/env python3
"""Runs the unit tests and fuzz replays of a Meson build directory and counts their cases.

    tools/run-unit.py BUILD_DIR [PATTERN…]

Meson counts programs, this script counts cases. A program that crashes, hangs or prints fewer cases than planned
counts as one failure, unless one of its cases failed anyway. If patterns are given, only programs whose names contain
one of the patterns run."""
import json
import os
import pathlib
import re
import subprocess
import sys

CASE = re.compile(r"(not )?ok\b[^#]*(# *SKIP)?", re.IGNORECASE)


def chosen(build, patterns):
    listed = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--list"], check=True,
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    names = [line.rsplit(" / ", 1)[-1].strip() for line in listed.splitlines() if " / " in line]
    return [n for n in names if not patterns or any(p in n for p in patterns)]


def count(entry):
    """Returns how many cases of one program passed, failed and were skipped."""
    passed = failed = skipped = 0
    for line in entry.get("stdout", "").splitlines():
        match = CASE.match(line)
        if not match:
            continue
        if match[2]:
            skipped += 1
        elif match[1]:
            failed += 1
        else:
            passed += 1
    if entry["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and not failed:
        failed = 1
    return passed, failed, skipped


def main(build, *patterns):
    names = chosen(build, patterns)
    if not names:
        print("0 passed, 0 failed")
        return 0
    log = pathlib.Path(build, "meson-logs", "testlog.json")
    log.unlink(missing_ok=True)
    env = dict(os.environ)
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "").replace("detect_leaks=0", "detect_leaks=1")
    run = subprocess.run(["meson", "test", "-C", build, *names], text=True, env=env,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if not log.exists():  # the programs could not be built
        print(run.stdout)
        return 1
    totals = [0, 0, 0]
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        result = count(entry)
        totals = [a + b for a, b in zip(totals, result)]
        if result[1]:
            print(f"FAILED {entry['name']} ({entry['result'].lower()})")
            for text in entry.get("stdout", "").splitlines():
                if not text.startswith("ok "):
                    print("  " + text)
            print(entry.get("stderr", ""), end="")
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 1 if totals[1] or run.returncode else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
