"""Tests the command line by vectors.txt, a table of calls and their expected answers."""

import os
import re
import shlex

from harness import CORDON, MSB, CordonTest

HERE = os.path.dirname(os.path.abspath(__file__))


class Vector:
    def __init__(self, line, words):
        self.line, self.words, self.env = line, words, {}
        self.status, self.stdout, self.stderr = None, "", None

    def problems(self, got):
        if got.code != self.status:
            yield f"status {got.code}, wanted {self.status}"
        if not re.fullmatch(self.stdout, got.text):
            yield f"stdout is not {self.stdout!r}"
        if self.stderr is not None:
            if not re.search(self.stderr, got.errtext.rstrip("\n")):
                yield f"stderr lacks {self.stderr!r}"
        elif self.status == 0 and got.err:
            yield "stderr is not empty"
        elif self.status and not re.match(r"(error: |usage|Usage)", got.errtext):
            yield "stderr does not begin with 'error: '"


def sections():
    """Reads vectors.txt. Returns [(title, [Vector])] in the order of the file."""
    found, vector = [], None
    with open(os.path.join(HERE, "vectors.txt")) as handle:
        for number, line in enumerate(handle, 1):
            line = line.rstrip("\n")
            if line.startswith("#") or not line:
                continue
            if line.startswith("== "):
                found.append((line[3:], []))
                continue
            if line.startswith("$ "):
                vector = Vector(number, shlex.split(line[2:]))
                found[-1][1].append(vector)
                continue
            key, _, value = line.partition(" ")
            if key == "status":
                vector.status = int(value)
            elif key == "env":
                name, _, content = value.partition("=")
                vector.env[name] = content
            elif key in ("stdout", "stderr"):
                setattr(vector, key, value)
            else:
                raise ValueError(f"vectors.txt:{number}: {line!r}")
    for _, vectors in found:
        for vector in vectors:
            assert vector.status is not None, f"vectors.txt:{vector.line}: no status"
    return found


class Vectors(CordonTest):
    modes = ("root", "user")
    timeout = 120

    def records(self):
        """Returns the names of all sandboxes, in any state. Reads the home itself, because the list of the program
        under test may be wrong."""
        place = os.path.join(self.home, "sandboxes")
        return set(os.listdir(place)) if os.path.isdir(place) else set()

    def check(self, title, vector):
        if "(box)" in title:
            self.create(name="box")
        before = self.records()
        spare = os.path.join(self.dir, "spare")
        os.mkdir(spare)
        program = {"cordon": CORDON, "msb": MSB}[vector.words[0]]
        words = [w.replace("{dir}", spare) for w in vector.words[1:]]
        got = self.cordon(*words, env=vector.env, program=program)
        wrong = list(vector.problems(got))
        if self.records() != before:
            wrong.append(f"sandboxes were {before} and are {self.records()}")
        if wrong:
            self.built(got)
        self.assertFalse(wrong, f"vectors.txt:{vector.line}: {'; '.join(wrong)}\n{got}")


def add_tests():
    """Adds one test for each vector, so that a run counts every vector. The name of a test begins with the line number
    of its vector."""
    for title, vectors in sections():
        for vector in vectors:
            words = re.sub(r"\W+", "_", " ".join(vector.words)).strip("_")[:50]

            def test(self, title=title, vector=vector):
                self.check(title, vector)

            test.__doc__ = title
            setattr(Vectors, f"test_{vector.line:03}_{words}", test)


add_tests()
