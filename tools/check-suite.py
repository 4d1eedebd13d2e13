#!/usr/bin/env python3
"""Checks that the suite counts cases, runs, modes and unsteady tests correctly, and finds old figures in README.md.

A copy of tests/integration/run.py runs the tests in TESTS. Some of these tests fail the first time only.
tools/readme-counts.py compares an invented README.md with invented closing lines of `./dev test`.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
bad = []
TESTS = """
import os, unittest
class Steady(unittest.TestCase):
    modes = {modes}
    def test_passes(self):
        pass
    def test_cannot_run(self):
        self.skipTest("no reason that is allowed")
class Unsteady(unittest.TestCase):
    modes = {modes}
    def fail_first(self, number):
        try:
            os.close(os.open(os.path.join(os.environ["CORDON_TEST_TMP"], number), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        self.fail("the first time")
    def test_1(self): self.fail_first("1")
    def test_2(self): self.fail_first("2")
    def test_3(self): self.fail_first("3")
"""


def suite(tree, mode, strict, *words):
    """Returns the status and the last two lines of a run."""
    got = subprocess.run([sys.executable, str(tree / "tests/integration/run.py"), "--prefix", str(tree / "prefix"),
                          "--integration", "--mode", mode, *words], stdin=subprocess.DEVNULL, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env={**os.environ, "CORDON_TEST_STRICT": strict})
    return got.returncode, *got.stdout.splitlines()[-2:]


def make_suite(tree, mode):
    (tree / "tests/integration").mkdir(parents=True)
    (tree / "prefix/bin").mkdir(parents=True)
    for name in ("run.py", "harness.py"):
        shutil.copy(root / "tests/integration" / name, tree / "tests/integration")
    (tree / "tests/integration/test_made.py").write_text(TESTS.format(modes=(mode,)))
    (tree / "tests/not-run-allowed.txt").write_text("no reason*\n")
    (tree / "prefix/bin/cordon").write_text("#!/bin/sh\n")
    (tree / "prefix/bin/cordon").chmod(0o755)


def expect(what, got, wanted):
    if got != wanted:
        bad.append(f"{what}: {got}, wanted {wanted}")


def counts(readme, closing, strict="1"):
    """Runs tools/readme-counts.py on a tree whose README.md is README and whose closing lines are CLOSING, first
    without --write and then with --write. Returns the status of the first run, and the README.md that the second run
    wrote."""
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        (tree / "build/log").mkdir(parents=True)
        (tree / "README.md").write_text(readme)
        (tree / "build/log/closing").write_text(closing)
        how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
               "env": {**os.environ, "CORDON_TEST_STRICT": strict, "CORDON_TEST_TREE": name}}
        script = [sys.executable, str(root / "tools/readme-counts.py")]
        status = subprocess.run(script, **how).returncode
        subprocess.run([*script, "--write"], check=True, **how)
        return status, (tree / "README.md").read_text()


mode = "root" if os.geteuid() == 0 else "user"
with tempfile.TemporaryDirectory() as name:
    tree = pathlib.Path(name)
    make_suite(tree, mode)
    end = "4 cases, 4 runs in 1 modes, 3 unsteady"
    expect("three unsteady tests", suite(tree, mode, "0"), (0, end, "4 passed, 0 failed, 1 skipped"))
    expect("three unsteady tests, strict", suite(tree, mode, "1"), (1, end, "4 passed, 1 failed, 1 skipped"))
    expect("two unsteady tests, strict", suite(tree, mode, "1", "test_1", "test_2"),
           (0, "2 cases, 2 runs in 1 modes, 2 unsteady", "2 passed, 0 failed, 0 skipped"))


def lines(cases, runs, modes=7):
    return f"{cases} cases, {runs} runs in {modes} modes, 0 unsteady\n{runs} passed, 0 failed, 9 skipped\n"


readme = lines(1000, 4000)
expect("README.md, close", counts(readme, lines(1010, 4100))[0], 0)
expect("README.md, too few cases", counts(readme, lines(1100, 4100))[0], 1)
expect("README.md, too few runs", counts(readme, lines(1010, 5000))[0], 1)
expect("README.md, not strict", counts(readme, lines(1010, 5000), "0")[0], 0)
expect("README.md, another machine", counts(readme, lines(1010, 5000, 2))[0], 0)
expect("README.md, written", counts("a\n" + readme + "b\n", lines(3, 4, 2))[1], "a\n" + lines(3, 4, 2) + "b\n")
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
