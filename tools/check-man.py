#!/usr/bin/env python3
"""Checks that groff has no warning about any manual page, written by hand or made at build time, and that the
pages name every key of configuration files, every tag of the wire protocol and every word of the leash. Also checks
that no example replaces all rules of a sandbox when it means to add one."""
import pathlib
import re
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
for page, source, pattern in (
        ("create.man", "conf_apply.c", r'^\t\{ "(\w+)", +(?:0|IN\()'),
        ("create.man", "conf_network.c", r"FIELD_\w+\(struct net_in, (\w+)"),
        ("create.man", "conf_fs.c", r"FIELD_\w+\(struct mount_in, (\w+)"),
        ("cordon.man", "config.c", r"FIELD_\w+\(__typeof__\(in\), (\w+)")):
    keys = re.findall(pattern, (root / "src/spec" / source).read_text(), re.M)
    described = set(re.findall(r"\w+", (root / "man" / page).read_text()))
    missing = [key for key in keys if key not in described]
    if missing or not keys:
        print(f"man/{page}: lacks keys of {source}: {' '.join(missing) or 'none found'}")
        bad = True
protocol = (root / "man/cordon-protocol.7").read_text()
for what, section, source, pattern, form in (
        ("tag", ".SH TAGS", "src/wire/message.c", r"^\tTAG_\w+ = (\d+),", r"(?m)(?:^| ){} "),
        ("word", ".SS Leash", "src/wire/leash.h", r"^\tLEASH_\w+ = '(.)',", r"(?m)^\.B {}$")):
    text = re.split(r"\n\.S[HS] ", protocol.split("\n" + section + "\n", 1)[1], maxsplit=1)[0]
    found = re.findall(pattern, (root / source).read_text(), re.M)
    missing = [value for value in found if not re.search(form.format(value), text)]
    if missing or not found:
        print(f"man/cordon-protocol.7: {section} lacks a {what} of {source}: {' '.join(missing) or 'none found'}")
        bad = True
# `modify --net-rule` alone replaces all rules and default actions by this rule and the profile "public". So for a
# sandbox that was made with --net-default deny, it opens the public internet.
places = [root / "README.md", root / "src/cli/topics.c", *(root / "docs").glob("*.md"), *(root / "man").glob("*.*")]
for place in places:
    for number, line in enumerate(place.read_text().splitlines(), 1):
        if re.search(r"modify \S.*--net-rule ", line.replace("\\-", "-")):
            print(f"{place.relative_to(root)}:{number}: say --net-rule-add: modify --net-rule replaces all rules")
            bad = True
sys.exit(bad)
