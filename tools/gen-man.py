#!/usr/bin/env python3
"""Writes the manual pages. The command tables give names, synopses, descriptions, options and conflicts.

People write the other sections. man/NAME.man holds those of page NAME, in roff. In cordon.man the lines `@COMMANDS@`
and `@OPTIONS@` stand for the table of all commands and the global options; `@VERSION@` and `@MSB_VERSION@` stand for
versions. man/meson.build lists the pages that this script makes. If the command tables give other pages than this list,
the script fails, so meson.build cannot forget a command."""
import argparse
import json
import pathlib
import sys

COMMON_STATUS = r""".SH EXIT STATUS
0 on success, 1 on failure, 2 when the command line itself is wrong.
See
.BR cordon (1).
"""


def roff(text):
    """Escapes text for roff, so that the text makes no request and no font change, and its dashes can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace("…", "...")
    text = "".join(c if ord(c) < 128 else "\\[u%04X]" % ord(c) for c in text)
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def paragraphs(text):
    return "\n.PP\n".join(roff(p) for p in text.split("\n\n"))


def sentence(text):
    return text if text.endswith(".") else text + "."


def lower(text):
    return text[0].lower() + text[1:]


def option(o):
    names = ["\\fB%s\\fR" % roff(n) for n in
             (["-" + o["letter"]] if o["letter"] else []) + ["--" + o["name"]]]
    head = ", ".join(names)
    if o["bare"]:
        head += "[=\\fI%s\\fR]" % roff(o["value"])
    elif o["kind"] != "flag":
        head += " \\fI%s\\fR" % roff(o["value"])
    body = [roff(sentence(o["help"]))]
    if o["choices"]:
        body.append("One of %s." % ", ".join("\\fB%s\\fR" % roff(c) for c in o["choices"]))
    if o["more"]:
        body.append(roff(o["more"]))
    if o["kind"] == "list":
        body.append("May be repeated.")
    if o["unsupported"]:
        body.append("Not supported yet: refused with status 1.")
    return ".TP\n%s\n%s\n" % (head, "\n".join(body))


def options(opts, level=".SH"):
    out, under = [], None
    for o in opts:
        if o["hidden"]:
            continue
        if o["heading"] != under:
            under = o["heading"]
            out.append("%s %s\n" % (level, under.upper() if level == ".SH" else under))
        out.append(option(o))
    return "".join(out)


def synopsis(path, c):
    line = ".B %s" % roff(" ".join(path))
    rest = (["[OPTIONS]"] if c["options"] else []) + ([c["usage"]] if c["usage"] else [])
    return line + "\n" + ("".join(".I %s\n" % roff(r) for r in rest))


def command_page(c, program, extra, version):
    path = [program, c["name"]]
    visible = [s for s in c["commands"] if not s["hidden"]]
    out = ['.TH CORDON\\-%s 1 "" "cordon %s" "User Commands"\n' % (roff(c["name"].upper()), version),
           ".SH NAME\ncordon\\-%s \\- %s\n" % (roff(c["name"]), roff(lower(c["summary"]))),
           ".SH SYNOPSIS\n"]
    calls = ([(path, c)] if c["runs"] else []) + [(path + [s["name"]], s) for s in visible]
    out.append(".br\n".join(synopsis(p, s) for p, s in calls))
    out.append(".SH DESCRIPTION\n")
    out.append(paragraphs(c["description"] or sentence(c["summary"])) + "\n")
    if c["aliases"]:
        out.append(".PP\nAlso called %s.\n" % ", ".join("\\fB%s\\fR" % roff(a) for a in c["aliases"]))
    out.append(options(c["options"]))
    if visible:
        out.append(".SH COMMANDS\n")
    for s in visible:
        names = ", ".join([s["name"]] + s["aliases"])
        out.append(".SS %s\n" % roff(names))
        out.append(paragraphs(s["description"] or sentence(s["summary"])) + "\n")
        out.append("".join(option(o) for o in s["options"] if not o["hidden"]))
    out.append(conflicts(c))
    out.append(extra)
    if ".SH EXIT STATUS" not in extra:
        out.append(COMMON_STATUS)
    out.append(".SH SEE ALSO\n.BR cordon (1)\n")
    return "".join(out)


def name(n):
    return "\\fI%s\\fR" % n if n[:1].isupper() else "\\fB%s\\fR" % roff("--" + n)


def conflicts(c):
    """Returns the section CONFLICTS, which lists the options that exclude or require each other."""
    hidden = {o["name"] for o in c["options"] if o["hidden"]}
    lines = ["%s cannot be used together with %s." % (name(a), name(b))
             for a, b in c["conflicts"] if not {a, b} & hidden]
    lines += ["%s needs %s." % (name(a), name(b)) for a, b in c["requires"] if not {a, b} & hidden]
    return ".SH CONFLICTS\n" + "\n.br\n".join(lines) + "\n" if lines else ""


def command_table(root):
    out = []
    visible = [c for c in root["commands"] if not c["hidden"]]
    for group in dict.fromkeys(c["group"] for c in visible):
        out.append(".SS %s\n" % group)
        for c in (c for c in visible if c["group"] == group):
            out.append(".TP\n.BR cordon\\-%s (1)\n%s\n" % (roff(c["name"]), roff(sentence(c["summary"]))))
            if c["aliases"]:
                out.append("Also \\fB%s\\fR.\n" % roff(", ".join(c["aliases"])))
    return "".join(out)


def main_page(tables, extra):
    root = tables["root"]
    head = ('.TH CORDON 1 "" "cordon %s" "User Commands"\n'
            ".SH NAME\ncordon, msb \\- %s\n"
            ".SH SYNOPSIS\n.B cordon\n.I [GLOBAL OPTIONS] COMMAND [OPTIONS] [ARGUMENTS] [\\-\\- COMMAND...]\n"
            % (tables["version"], roff(lower(root["summary"]))))
    every = options([dict(o, heading="Global options") for o in tables["global"] + root["options"]])
    return head + extra.replace("@COMMANDS@\n", command_table(root)).replace(
        "@OPTIONS@\n", every).replace("@MSB_VERSION@", tables["msb_version"]).replace(
        "@VERSION@", tables["version"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--pages", nargs="+")
    parser.add_argument("--inputs", nargs="+", type=pathlib.Path, help="the tables, then *.man")
    args = parser.parse_args()
    tables = json.loads(args.inputs[0].read_text())
    sections = {path.stem: path.read_text() for path in args.inputs[1:]}

    pages = {"cordon.1": main_page(tables, sections.pop("cordon"))}
    for c in tables["root"]["commands"]:
        if not c["hidden"]:
            pages["cordon-%s.1" % c["name"]] = command_page(
                c, "cordon", sections.pop(c["name"], ""), tables["version"])
    if set(pages) != set(args.pages):
        sys.exit("man/meson.build lacks the pages %s, and has the pages %s, which belong to no command" %
                 (sorted(set(pages) - set(args.pages)), sorted(set(args.pages) - set(pages))))
    if sections:
        sys.exit("sections of no command: %s" % sorted(sections))
    for page, text in pages.items():
        (args.out / page).write_text(text)


main()
