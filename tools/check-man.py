#!/usr/bin/env python3
"""The manual pages, those written by hand and those made at build time, pass groff with all warnings."""
import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
pages = [p for top in ("man", "build/rest/man") for p in sorted((root / top).glob("*.[1-8]"))]
if not pages or not shutil.which("groff"):
    print("groff is not installed" if pages else "there are no manual pages")
    sys.exit(77)
bad = False
for page in pages:
    run = subprocess.run(["groff", "-ww", "-man", "-Kutf8", "-Tutf8", "-z", page], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode or run.stdout:
        print(run.stdout or f"{page.name}: groff failed", end="\n")
        bad = True
sys.exit(bad)
