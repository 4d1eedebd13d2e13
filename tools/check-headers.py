#!/usr/bin/env python3
"""Checks that every header compiles alone, with each C library for which the header is built."""
import ast
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
meson = (root / "meson.build").read_text()
needs_libraries = ast.literal_eval(re.search(r"^needs_libraries = (\[.*?\])", meson, re.M)[1])
WARNINGS = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wundef", "-Wstrict-prototypes",
            "-Wno-unused-parameter", "-Wno-unused-function", "-Werror"]
MUSL = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]


def compile_alone(compiler, headers, flags):
    with tempfile.TemporaryDirectory() as place:
        units = []
        for header in headers:
            unit = pathlib.Path(place, str(header).replace("/", "_") + ".c")
            unit.write_text(f'#include "{header}"\n#include "{header}"\nextern int unit;\n')
            units.append(unit)
        if not units:
            return ""
        run = subprocess.run([compiler, "-fsyntax-only", *WARNINGS, *flags, f"-I{root}/src", *units],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.stdout if run.returncode else ""


headers = sorted(p.relative_to(root / "src") for p in (root / "src").rglob("*.h"))
plain = [h for h in headers if h.parts[0] not in needs_libraries]
said = compile_alone("gcc", headers, []) + compile_alone("musl-gcc", plain, MUSL)
print(said, end="")
sys.exit(bool(said))
