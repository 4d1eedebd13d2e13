#!/usr/bin/env python3
"""Writes the table of letters and digits that src/base/unicode.c searches. The table has the characters that
Python's str.isalnum() accepts.

usage: gen-alnum.py alnum_table.h

We check names that come from Python programs, so Python itself decides what a letter is.
"""
import sys

LAST = 0x10FFFF


def ranges():
    """Yields (first, last) of each run of code points that are letters or digits."""
    first = None
    for point in range(LAST + 2):
        good = point <= LAST and chr(point).isalnum()
        if good and first is None:
            first = point
        elif not good and first is not None:
            yield first, point - 1
            first = None


def main():
    found = list(ranges())
    if len(found) < 500 or found[0] != (ord("0"), ord("9")):
        sys.exit("gen-alnum.py: this Python knows too few letters")
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("/* Made by tools/gen-alnum.py. */\n#include <stdint.h>\n"
                  "static const struct {\n\tuint32_t first, last;\n} alnum[] = {\n")
        for first, last in found:
            out.write(f"\t{{ 0x{first:x}, 0x{last:x} }},\n")
        out.write("};\n")


main()
