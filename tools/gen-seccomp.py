#!/usr/bin/env python3
"""Compiles a tools/*.table into a classic BPF program, and into a plain list for the test of the program.

When a filter is attached, the kernel runs the filter once for every system call number, to remember which
numbers are always allowed. So the shape of the filter decides how long the start of a command takes. The filter
tests the architecture first. Then comes a balanced tree over intervals of numbers. All calls that have the same answer
and no rule share one return instruction.
"""
import argparse
import errno
import pathlib
import re
import sys

HEADERS = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h")
ARCH_X86_64 = 0xC000003E
OFFSET_NR, OFFSET_ARCH, OFFSET_ARGS = 0, 4, 16  # in struct seccomp_data; of each argument, the low word comes first
RET_ALLOW, RET_ERRNO, RET_KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
RET_USER_NOTIF = 0x7FC00000
LD_W_ABS, ALU_AND, JA, JEQ, JGE, JSET, RET = 0x20, 0x54, 0x05, 0x15, 0x35, 0x45, 0x06
DEFAULT = "ENOSYS"
LEFT_OUT = "left out"
JUMP_MAX = 255  # the distance of a conditional jump has eight bits


class TableError(Exception):
    pass


class Rule:
    """A list of clauses: (answer, switch or None, [(offset in struct seccomp_data, mask or None, values or
    None)]). The last clause always matches."""

    def __init__(self, index):
        self.name = f"rule{index}"
        self.clauses = []


class Table:
    def __init__(self, numbers):
        self.numbers = numbers  # name -> number
        self.answer = {}  # name -> answer word or Rule
        self.rules = []
        self.default = DEFAULT

    def give(self, name, answer, where):
        if name not in self.numbers:
            raise TableError(f"{where}: no system call is named '{name}'")
        if name in self.answer:
            raise TableError(f"{where}: '{name}' is answered twice")
        self.answer[name] = answer


def answer_value(word):
    if word == "allow":
        return RET_ALLOW
    if word == "kill":
        return RET_KILL_PROCESS
    if word == "notify":
        return RET_USER_NOTIF
    if word == "ignore":
        return RET_ERRNO  # with errno 0 the kernel skips the call and returns 0
    if not hasattr(errno, word):
        raise TableError(f"'{word}' is neither allow, ignore, notify, kill nor the name of an errno")
    return RET_ERRNO | getattr(errno, word)


def parse_term(text, where):
    m = re.fullmatch(r"(arg|high)([0-5])(?:&(0x[0-9a-f]+))?(?:=([0-9a-fx,]+))?", text)
    if not m or not (m[3] or m[4]):
        raise TableError(f"{where}: bad term '{text}'")
    offset = OFFSET_ARGS + 8 * int(m[2]) + (4 if m[1] == "high" else 0)
    values = [int(v, 0) for v in m[4].split(",")] if m[4] else None
    return offset, int(m[3], 0) if m[3] else None, values


def parse_clause(words, where):
    """Parses the words of one clause: ANSWER [if SWITCH] TERM…"""
    answer, terms, switch = words[0], words[1:], None
    answer_value(answer)
    if terms[:1] == ["if"]:
        if len(terms) < 2 or not re.fullmatch(r"[a-z]+", terms[1]):
            raise TableError(f"{where}: 'if' needs the name of a switch")
        switch, terms = terms[1], terms[2:]
    return answer, switch, [parse_term(t, where) for t in terms]


def parse_table(text, numbers, without=()):
    """Parses a table. If PART is in WITHOUT, groups and rules whose first line begins with 'PART:' are ignored."""
    table = Table(numbers)
    current = None
    for lineno, line in enumerate(text.splitlines(), 1):
        where = f"line {lineno}"
        words = line.split("#")[0].split()
        if not words:
            continue
        if line[0] == "\t":
            if current is None:
                raise TableError(f"{where}: belongs to no group")
            if current == LEFT_OUT:
                pass
            elif isinstance(current, Rule):
                current.clauses.append(parse_clause(words, where))
            else:
                for name in words:
                    table.give(name, current, where)
            continue
        if words[0] == "default":
            answer_value(words[1])
            table.default = words[1]
            continue
        if words[0] == "number":
            name, number = words[1], int(words[2])
            if numbers.setdefault(name, number) != number:
                raise TableError(f"{where}: the headers give '{name}' another number")
            continue
        if "--" not in words:
            raise TableError(f"{where}: a group needs a reason after --")
        head = words[: words.index("--")]
        part = head.pop(0)[:-1] if head[0].endswith(":") else None
        if part in without:
            current = LEFT_OUT
        elif head[0] == "rule":
            current = Rule(len(table.rules))
            table.rules.append(current)
            for name in head[1:]:
                table.give(name, current, where)
        else:
            answer_value(head[0])
            current = head[0]
    for rule in table.rules:
        if not rule.clauses or any(rule.clauses[-1][1:]):
            raise TableError(f"{rule.name}: the last clause must always match")
    by_number = {}
    for name, number in numbers.items():
        if by_number.setdefault(number, name) != name:
            raise TableError(f"'{name}' and '{by_number[number]}' have the same number")
    return table


def read_headers(path):
    found = [p for p in ([path] if path else HEADERS) if pathlib.Path(p).exists()]
    if not found:
        raise TableError("asm/unistd_64.h not found: install the kernel headers (linux-libc-dev)")
    text = pathlib.Path(found[0]).read_text()
    return {m[1]: int(m[2]) for m in re.finditer(r"^#define __NR_(\w+) (\d+)$", text, re.M)}


def intervals(table):
    """Returns [(first number, target label)]. Neighbours have different labels, and the last interval has no end."""
    label = {}
    for name, answer in table.answer.items():
        label[table.numbers[name]] = answer.name if isinstance(answer, Rule) else answer
    out = []
    for number in range(max(label) + 2):
        target = label.get(number, table.default)
        if not out or out[-1][1] != target:
            out.append((number, target))
    return out


class Program:
    """Instructions with symbolic jumps, which only go forward."""

    def __init__(self):
        self.code = []  # (opcode, k, label if true, label if false); for JA, k is the label
        self.at = {}
        self.switches = []  # (index of a JA that skips a clause, switch that turns the clause on)

    def mark(self, label):
        self.at[label] = len(self.code)

    def emit(self, opcode, k, yes=None, no=None):
        self.code.append((opcode, k, yes, no))

    def fresh(self):
        return f".{len(self.code)}.{len(self.at)}"

    def resolve(self):
        out = []
        for i, (opcode, k, yes, no) in enumerate(self.code):
            if opcode == JA:
                out.append((JA, 0, 0, self.at[k] - i - 1))
                continue
            jumps = [self.at[label] - i - 1 if label else 0 for label in (yes, no)]
            if not all(0 <= j <= JUMP_MAX for j in jumps):
                raise TableError("the program has grown beyond the reach of a jump: "
                                 "give distant parts returns of their own")
            out.append((opcode, *jumps, k))
        return out


def emit_tree(p, leaves):
    """Emits the tree. When the tree runs, the accumulator holds the number of the call. A leaf has
    no code, because its parent jumps to the leaf's label."""
    half = len(leaves) // 2
    left, right = leaves[:half], leaves[half:]
    left_label = left[0][1] if len(left) == 1 else p.fresh() + "l"
    right_label = right[0][1] if len(right) == 1 else p.fresh() + "r"
    p.emit(JGE, right[0][0], right_label, left_label)
    for half_leaves, half_label in ((left, left_label), (right, right_label)):
        if len(half_leaves) > 1:
            p.mark(half_label)
            emit_tree(p, half_leaves)


def emit_rule(p, rule):
    p.mark(rule.name)
    for answer, switch, terms in rule.clauses:
        miss = p.fresh() + "next"
        if switch:
            # An unconditional jump skips the clause while the switch is off. So the kernel can still see that a call is
            # always allowed. If the switch is on, guest/seccomp.c changes the jump so that it leads to the clause.
            p.switches.append((len(p.code), switch))
            p.emit(JA, miss)
        for i, (offset, mask, values) in enumerate(terms):
            hit = answer if i == len(terms) - 1 else p.fresh() + "hit"
            p.emit(LD_W_ABS, offset)
            if values is None:
                p.emit(JSET, mask, hit, miss)
            else:
                if mask is not None:
                    p.emit(ALU_AND, mask)
                for value in values[:-1]:
                    follow = p.fresh() + "or"
                    p.emit(JEQ, value, hit, follow)
                    p.mark(follow)
                p.emit(JEQ, values[-1], hit, miss)
            if i < len(terms) - 1:
                p.mark(hit)
        if not terms:
            p.emit(RET, answer_value(answer))
        p.mark(miss)


def compile_table(table):
    p = Program()
    p.emit(LD_W_ABS, OFFSET_ARCH)
    p.emit(JEQ, ARCH_X86_64, "native", "kill")
    p.mark("native")
    p.emit(LD_W_ABS, OFFSET_NR)
    emit_tree(p, intervals(table))
    for rule in table.rules:
        emit_rule(p, rule)
    answers = {"allow", "kill", table.default}
    answers |= {a for a in table.answer.values() if not isinstance(a, Rule)}
    answers |= {a for rule in table.rules for a, _, _ in rule.clauses}
    for answer in sorted(answers):
        p.mark(answer)
        p.emit(RET, answer_value(answer))
    return p.resolve(), p.switches


def write_filter(path, code, switches, symbol, include):
    lines = ["/* made by tools/gen-seccomp.py */", f'#include "{include}"', "",
             f"const struct sock_filter {symbol}[] = {{"]
    lines += [f"\t{{ 0x{op:02x}, {yes}, {no}, 0x{k:08x} }}," for op, yes, no, k in code]
    lines += ["};", f"const unsigned short {symbol}_len = {len(code)};", ""]
    if switches:
        lines += [f"static_assert({len(code)} <= SECCOMP_FILTER_MAX, \"no room for a copy\");",
                  f"const struct seccomp_clause {symbol}_clauses[] = {{"]
        lines += [f"\t{{ {at}, SWITCH_{switch.upper()} }}," for at, switch in switches]
        lines += ["};", f"const unsigned {symbol}_clauses_len = {len(switches)};", ""]
    path.write_text("\n".join(lines))


def write_expect(path, table):
    """Writes name, number and answer of every system call that the kernel headers or the table name. For a call with a
    rule, the written answer is 0."""
    lines = ["/* made by tools/gen-seccomp.py from tools/seccomp.table, for tests/unit/guest_seccomp.c */",
             '#include "guest/seccomp.h"', "", "const struct seccomp_expect seccomp_expect[] = {"]
    for name, number in sorted(table.numbers.items(), key=lambda item: item[1]):
        answer = table.answer.get(name, table.default)
        value = 0 if isinstance(answer, Rule) else answer_value(answer)
        lines.append(f'\t{{ "{name}", {number}, 0x{value:08x} }},')
    lines += ["};", f"const unsigned seccomp_expect_len = {len(table.numbers)};", ""]
    path.write_text("\n".join(lines))


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("table", type=pathlib.Path)
    ap.add_argument("--header", help="asm/unistd_64.h (default: the system's)")
    ap.add_argument("--without", action="append", default=[], metavar="PART",
                    help="leave out the groups and rules whose first line begins with 'PART:'")
    ap.add_argument("--filter", type=pathlib.Path, help="C file to write")
    ap.add_argument("--symbol", default="seccomp_filter", help="the array in that file")
    ap.add_argument("--include", default="guest/seccomp.h", help="the header that declares it")
    ap.add_argument("--expect", type=pathlib.Path, help="C file to write, for the unit test")
    ap.add_argument("--stats", action="store_true", help="print the shape of the program")
    args = ap.parse_args()
    try:
        table = parse_table(args.table.read_text(), read_headers(args.header), args.without)
        code, switches = compile_table(table)
    except TableError as error:
        sys.exit(f"{args.table}: {error}")
    unnamed = sorted(set(table.numbers) - set(table.answer))
    if args.filter:
        write_filter(args.filter, code, switches, args.symbol, args.include)
    if args.expect:
        write_expect(args.expect, table)
    if args.stats:
        print(f"{len(code)} instructions, {len(intervals(table))} intervals; "
              f"not mentioned, so {table.default}: {' '.join(unnamed) or 'none'}")
        print(" ".join(f"{n}:{t}" for n, t in intervals(table)))


if __name__ == "__main__":
    main()
