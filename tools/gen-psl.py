#!/usr/bin/env python3
"""Turns the public suffix list into sorted tables of 64-bit hashes, in the form that src/policy/suffix.c reads.

usage: gen-psl.py public_suffix_list.dat suffix_table.h
"""
import sys


def fnv1a(name):
    h = 0xCBF29CE484222325
    for byte in name.encode("ascii"):
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def ascii_form(name):
    return ".".join(label if label.isascii() else label.encode("idna").decode() for label in name.split("."))


def main():
    plain, parent, exception = [], [], []
    with open(sys.argv[1], encoding="utf-8") as f:
        for line in f:
            line = line.strip()
            if not line or line.startswith("//"):
                continue
            rule = line.split()[0].lower()
            if rule.startswith("!"):
                exception.append(ascii_form(rule[1:]))
            elif rule.startswith("*."):
                parent.append(ascii_form(rule[2:]))
            elif "*" in rule:
                sys.exit(f"gen-psl.py: a wildcard inside a rule is not understood: {rule}")
            elif "." in rule:  # rules of a single label are left out: a single label always counts as public
                plain.append(ascii_form(rule))
    if len(plain) < 1000:
        sys.exit(f"gen-psl.py: {sys.argv[1]} does not look like the public suffix list")
    every = set(plain + parent + exception)
    if len({fnv1a(n) for n in every}) != len(every):
        sys.exit("gen-psl.py: two names share a hash; take another hash")
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write("/* Made by tools/gen-psl.py. */\n#include <stdint.h>\n")
        for name, rules in (("plain", plain), ("parent", parent), ("except", exception)):
            out.write(f"static const uint64_t suffix_{name}[] = {{\n")
            for h in sorted(fnv1a(n) for n in set(rules)):
                out.write(f"\t0x{h:016x}ull,\n")
            out.write("};\n")


main()
