#!/usr/bin/env python3
"""docs/security.md names tests. This script checks that each of them exists.

A name is in backquotes: `test_file.Class.test_case`, `test_file.Class.*`, or with `*` for a part of a word. A short
name is `Class.test_case`, `Class.*` or only `test_case`. It gets its missing first parts from the name before it in the
same paragraph, list item or table row. If the section says "Short names continue `NAME`", the first name of a
paragraph, list item or table row gets its missing first parts from NAME. `unit/NAME` and `fuzz/NAME` are
tests/unit/NAME.c and tests/fuzz/NAME.c."""
import ast
import fnmatch
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
NAME = re.compile(r"`((?:unit|fuzz)/\w+|(?:\w+\.)*test_[\w*]+(?:\.[\w*]+)*|[A-Z]\w+\.\*)`")


def methods(classes, name):
    """Returns the tests of a class and of its bases in all files."""
    found = {n.name for n in classes[name].body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")}
    for base in classes[name].bases:
        if isinstance(base, ast.Name) and base.id in classes:
            found |= methods(classes, base.id)
    return found


def cases():
    files = {path.stem: {n.name: n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef)}
             for path in (root / "tests").glob("*/test_*.py")}
    everywhere = {name: node for classes in files.values() for name, node in classes.items()}
    for stem, classes in files.items():
        for name in classes:
            for method in methods({**everywhere, **classes}, name):
                yield f"{stem}.{name}.{method}"


def names(paragraph, before):
    """Yields each name of a paragraph, completed by the parts of the name before it."""
    for name in NAME.findall(paragraph):
        parts = name.split(".")
        if "/" not in name:
            if name[0].isupper():
                parts = before[:1] + parts
            elif len(parts) == 1 and before:
                parts = before[:2] + parts
            before = parts
            name = ".".join(parts)
        yield name


def exists(name, known):
    if "/" in name:
        return (root / f"tests/{name}.c").exists()
    return fnmatch.filter(known, name) or fnmatch.filter(known, name + ".*")


def main():
    known, missing = set(cases()), []
    for section in re.split(r"\n(?=#)", (root / "docs/security.md").read_text()):
        first = re.search(r"Short names continue `([\w.]+)`", section)
        for paragraph in re.split(r"\n\n|\n(?=[-|])", section):
            for name in names(paragraph, first.group(1).split(".") if first else []):
                if not exists(name, known):
                    missing.append(f"docs/security.md: no test is called {name}")
    print("\n".join(missing), end="\n" if missing else "")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
