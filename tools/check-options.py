#!/usr/bin/env python3
"""Checks the command tables, and checks that parser, help, completions and manual agree with them.

The check reads the built manual and the output of the built programs: the tables of print-tables, help, completion
scripts, and the messages of cordon about bad options. Only bash and fish run their completion scripts. The scripts of
the other shells are only read.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORDON = str(ROOT / "build/hot/src/bin/cordon")
MAN = ROOT / "build/rest/man"
if not os.path.exists(CORDON) or not (MAN / "tables.json").exists():
    print("build/hot and build/rest are not built")
    sys.exit(77)
TABLES = json.loads((MAN / "tables.json").read_text())
HELP_WIDTH_MAX = 120  # columns of a terminal

ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
problems = []


def run(*argv, **kwargs):
    return subprocess.run(argv, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                          text=True, **kwargs)


def check(condition, text):
    if not condition:
        problems.append(text)


def same(got, want, where):
    check(got == want, "%s: missing %s, too many %s" % (where, sorted(want - got), sorted(got - want)))


def walk(command, path=()):
    yield path, command
    for sub in command["commands"]:
        yield from walk(sub, path + (sub["name"],))


def all_options(command):
    return command["options"] + TABLES["global"]


def visible(command):
    return [o for o in all_options(command) if not o["hidden"]]


def spellings(options):
    return {"--" + o["name"] for o in options} | {"-" + o["letter"] for o in options if o["letter"]}


COMMANDS = list(walk(TABLES["root"]))


def tables_are_sound():
    for path, c in COMMANDS:
        where = " ".join(path)
        names = [n for o in all_options(c) for n in (o["name"], o["alias"]) if n]
        letters = [o["letter"] for o in all_options(c) if o["letter"]]
        check(len(names) == len(set(names)), "%s: an option name is used twice" % where)
        check(len(letters) == len(set(letters)), "%s: a letter is used twice" % where)
        words = [n for s in c["commands"] for n in [s["name"]] + s["aliases"] + s["hidden_aliases"]]
        check(len(words) == len(set(words)), "%s: a command name is used twice" % where)
        check(c["summary"] and c["summary"][0].isupper() and not c["summary"].endswith("."),
              "%s: the summary must begin in upper case and have no full stop" % where)
        check(c["runs"] or c["commands"], "%s: does nothing" % where)
        check(bool(c["usage"]) == (c["max_args"] > 0) or c["commands"],
              "%s: usage and number of arguments disagree" % where)
        for pair in c["conflicts"] + c["requires"]:
            for name in pair:
                check(name in names or name.isupper(), "%s: no option --%s" % (where, name))
        for o in all_options(c):
            label = "%s --%s" % (where, o["name"])
            check((o["kind"] == "flag") == (o["value"] is None), label + ": placeholder")
            check(o["kind"] != "uint" or o["number"], label + ": no range")
            check(o["help"] and o["help"][0].isupper() and not o["help"].endswith("."),
                  label + ": the help must begin in upper case and have no full stop")


def help_shows_the_tables():
    for path, c in COMMANDS:
        where = " ".join(path) + " -h"
        short, long = run(CORDON, *path, "-h"), run(CORDON, *path, "--help")
        check((short.returncode, long.returncode) == (0, 0), where + ": status")
        check(not short.stderr, where + ": speaks on stderr")
        for text in (short.stdout, long.stdout):
            shown = re.findall(r"^  (?:(-\w), |    )(--[\w-]+)", text, re.M)
            same({s for pair in shown for s in pair if s}, spellings(visible(c)), where)
            rows = {s["name"] for s in c["commands"] if not s["hidden"]}
            if rows:
                same(set(re.findall(r"^  (\w+)(?: \(.*?\))?  ", text, re.M)), rows, where + " commands")
        for line in short.stdout.splitlines():
            check(len(line) <= HELP_WIDTH_MAX, "%s: line too wide: %s" % (where, line))
        check(run(CORDON, "help", *path).stdout == long.stdout or not path,
              where + ": 'help' and '--help' differ")
        check(run(CORDON, *path, "--tree").returncode == 0, where + ": --tree")


def parser_knows_the_tables():
    for path, c in COMMANDS:
        if not c["runs"] and path:
            continue
        for o in all_options(c):
            forms = ["--" + o["name"]] + (["--" + o["alias"]] if o["alias"] else []) + (
                ["-" + o["letter"]] if o["letter"] else [])
            for form in forms:
                if o["bare"]:
                    continue  # this option may have a value or none, so no form is an error
                if o["kind"] == "flag":
                    r, want = run(CORDON, *path, form + "=x"), "--%s takes no value" % o["name"]
                else:
                    r, want = run(CORDON, *path, form), "--%s needs a value" % o["name"]
                check(r.returncode == 2 and want in r.stderr and not r.stdout,
                      "%s %s: status %d, said %r" % (" ".join(path), form, r.returncode, r.stderr))
            for bad in (["bogus"] if o["choices"] else []) + (["", "x", "1.5.5" if o["kind"] == "cpus" else "1.5"] if o["number"] else []):
                r = run(CORDON, *path, "--%s=%s" % (o["name"], bad))
                check(r.returncode == 2 and "--%s: bad value" % o["name"] in r.stderr,
                      "%s --%s=%s: status %d, said %r" % (" ".join(path), o["name"], bad, r.returncode,
                                                        r.stderr))


def manual_shows_the_tables():
    def options_of(page):
        heads = re.findall(r"^\.TP\n(\\fB.*)$", (MAN / page).read_text(), re.M)
        return {s.replace("\\-", "-") for h in heads for s in re.findall(r"\\fB((?:\\-)+[\w\\-]+)\\fR", h)}

    for c in TABLES["root"]["commands"]:
        if c["hidden"]:
            continue
        page = "cordon-%s.1" % c["name"]
        own = [o for s in [c] + c["commands"] for o in s["options"] if not o["hidden"]]
        same(options_of(page), spellings(own), page)
    same(options_of("cordon.1"), spellings(TABLES["root"]["options"] + TABLES["global"]), "cordon.1")


def bash_completes_the_tables():
    script = run(CORDON, "completion", "bash").stdout
    lines = [script]
    for program in ("cordon", "msb"):
        for path, c in COMMANDS:
            for typed in ("--", "-", ""):
                words = " ".join([program, *path, "'%s'" % typed])
                lines.append("COMP_WORDS=(%s) COMP_CWORD=%d; _cordon no-such-program; "
                             "echo \"${COMPREPLY[*]}\"" % (words, len(path) + 1))
    r = run("bash", "--norc", "-c", "\n".join(lines))
    check(r.returncode == 0 and not r.stderr, "bash: " + r.stderr)
    replies = iter(r.stdout.splitlines())
    for program in ("cordon", "msb"):
        for path, c in COMMANDS:
            where = "bash: %s %s" % (program, " ".join(path))
            every = spellings(visible(c))
            same(set(next(replies).split()), {s for s in every if s.startswith("--")}, where)
            same(set(next(replies).split()), every, where)
            words = set(next(replies).split())
            if c["commands"]:
                same(words, {s["name"] for s in c["commands"] if not s["hidden"]}, where)
            elif c["word_choices"]:
                same(words, set(c["word_choices"]), where)


def fish_completes_the_tables():
    if not shutil.which("fish"):
        return
    with tempfile.TemporaryDirectory() as home:
        script = pathlib.Path(home, "cordon.fish")
        script.write_text(run(CORDON, "completion", "fish").stdout)
        asks = ["source " + str(script)]
        for path, c in COMMANDS:
            asks.append("complete -C '%s'; echo ==" % " ".join(["msb", *path, "-"]))
        ENV["HOME"] = home
        r = run("fish", "--no-config", "-c", "\n".join(asks))
        ENV["HOME"] = "/nonexistent"
    check(r.returncode == 0 and not r.stderr, "fish: " + r.stderr)
    for (path, c), reply in zip(COMMANDS, r.stdout.split("==\n")):
        same({line.split("\t")[0] for line in reply.splitlines()}, spellings(visible(c)),
             "fish: " + " ".join(path))


def blocks(script, pattern):
    """Returns {path of a command: the part of the script about this command}."""
    found = list(re.finditer(pattern, script, re.M))
    ends = [m.start() for m in found[1:]] + [len(script)]
    return {m.group(1): script[m.end():end] for m, end in zip(found, ends)}


def is_closed(script, quoted):
    """Returns true if every bracket outside of comments and of QUOTED is closed. This check is for shells that may
    not be installed, so it does not run the script."""
    pairs, open_ones = {")": "(", "]": "[", "}": "{"}, []
    for sign in re.sub(quoted + r"|(?<![\w$&])#[^\n]*", "", script):
        if sign in pairs.values():
            open_ones.append(sign)
        elif sign in pairs and (not open_ones or open_ones.pop() != pairs[sign]):
            return False
        elif sign in "'\"":
            return False  # a quotation mark that nothing closes
    return not open_ones


def other_shells_complete_the_tables():
    for shell in ("elvish", "powershell"):
        check(is_closed(run(CORDON, "completion", shell).stdout, r"'(?:[^'\n]|'')*'|\"(?:[^\"\n`]|`.)*\""),
              shell + ": a bracket or a string is not closed")
    zsh = run(CORDON, "completion", "zsh").stdout
    zsh = zsh[zsh.index("case $at in\n"):]
    elvish = run(CORDON, "completion", "elvish").stdout
    elvish = elvish[elvish.index("var cordon-words"):elvish.index("var cordon-values")]
    powershell = run(CORDON, "completion", "powershell").stdout
    powershell = powershell[powershell.index("$global:CordonWords"):powershell.index("$global:CordonValues")]
    texts = {
        "zsh": (blocks(zsh, r"^\t'([a-z ]*)'\)$"), r"^\t\t\t'(?:\([^)]*\))?\*?(--?[\w-]+)[=+]?\["),
        "elvish": (blocks(elvish, r"^\t&'([a-z ]*)'=\["), r"(?<= )(--?[\w-]+)|(?<=^)(--?[\w-]+)"),
        "powershell": (blocks(powershell, r"^\t'([a-z ]*)' = @\($"), r"^\t\t'(--?[\w-]+)\|"),
    }
    for shell, (parts, pattern) in texts.items():
        same(set(parts), {" ".join(path) for path, c in COMMANDS}, shell)
        for path, c in COMMANDS:
            found = re.findall(pattern, parts.get(" ".join(path), ""), re.M)
            names = {n for f in found for n in ([f] if isinstance(f, str) else f) if n}
            same(names, spellings(visible(c)), "%s: %s" % (shell, " ".join(path)))
    if shutil.which("zsh"):
        r = run("zsh", "-n", "-c", run(CORDON, "completion", "zsh").stdout)
        check(r.returncode == 0 and not r.stderr, "zsh -n: " + r.stderr)


tables_are_sound()
help_shows_the_tables()
parser_knows_the_tables()
manual_shows_the_tables()
bash_completes_the_tables()
fish_completes_the_tables()
other_shells_complete_the_tables()
print("\n".join(problems), end="\n" if problems else "")
sys.exit(bool(problems))
