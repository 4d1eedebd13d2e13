#!/usr/bin/env python3
"""Writes the ranges of characters that Python's str.isalnum accepts, in the form that src/service/python.c reads.

usage: gen-letters.py letters.h
"""
import sys


def main():
    ranges = []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000 or not chr(c).isalnum():
            continue
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    with open(sys.argv[1], "w") as out:
        out.write("static const struct letter_range letters[] = {\n")
        out.writelines(f"\t{{ {low:#x}, {high:#x} }},\n" for low, high in ranges)
        out.write("};\n")


main()
