#!/usr/bin/env python3
"""Checks that no two tests have the same name. Python keeps only the last of two classes or methods with one name."""
import ast
import collections
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
bad = []


def look(path, body, inside=""):
    named = [n for n in body if isinstance(n, (ast.ClassDef, ast.FunctionDef))]
    for name, n in collections.Counter(n.name for n in named).items():
        if n > 1:
            bad.append(f"{path.relative_to(root)}: {inside}{name} is defined {n} times")
    for node in named:
        if isinstance(node, ast.ClassDef):
            look(path, node.body, f"{inside}{node.name}.")


for path in sorted((root / "tests").glob("*/*.py")):
    look(path, ast.parse(path.read_text()).body)
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
