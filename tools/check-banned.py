#!/usr/bin/env python3
"""Finds calls that src/ must not make, descriptors that are not close-on-exec from the start, and names that use the
word `job` for something else than client/job.

If such a call is right nevertheless, a comment in its line or in the line above says why: `/* allowed: the reason */`.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent

BANNED = {
    "sprintf": "snprintf or struct buf", "vsprintf": "vsnprintf", "strcpy": "struct buf",
    "strcat": "struct buf", "strncpy": "struct buf", "strncat": "struct buf", "gets": "read",
    "strtok": "str_cut", "atoi": "parse_u64", "atol": "parse_u64", "atoll": "parse_u64",
    "strtol": "parse_u64", "strtoul": "parse_u64", "strtoll": "parse_u64", "strtoull": "parse_u64",
    "alloca": "struct buf", "system": "an argument vector", "popen": "an argument vector",
    "tmpnam": "openat with O_EXCL", "mktemp": "openat with O_EXCL",
    # these calls cannot make a descriptor that is close-on-exec from the start
    "pipe": "pipe2", "accept": "accept4", "dup": "fcntl(F_DUPFD_CLOEXEC)", "creat": "openat",
    "epoll_create": "epoll_create1", "inotify_init": "inotify_init1",
}
# calls that make a process; only the files in MAY_FORK may use them
FORKS = {"fork", "vfork", "clone", "sys_clone3", "raw_clone_on_stack", "raw_old_clone_on_stack",
         "posix_spawn", "daemon"}
MAY_FORK = {
    "src/base/spawn.c",      # starts programs of the host
    "src/base/holder.c",     # makes a task in a user namespace whose ids are being mapped
    "src/base/lock.c",       # makes a task that waits for a file lock
    "src/guest/deputy.c",    # makes the deputy, which does system calls for commands
    "src/guest/exec.c",      # starts commands in the sandbox
    "src/guest/launcher.c",  # makes the launchers of commands
    "src/host/trial.c",      # makes probes, which try an operation where it does no harm
    "src/process/ids.c",     # makes a process that works as root of a user namespace
    "src/process/netns.c",   # makes a task that makes a network namespace
    "src/process/birth.c",   # starts pid 1 and fuse-overlayfs
    "src/supervisor/surveyor.c",  # makes the surveyor, which counts the size of the writable layer
}
# Calls that act on the whole process: on its signals, terminal, directories, limits, environment and locale, or that
# end it. A file of a library must not make them, because a server that links the library would be affected as a whole.
# Programs (src/bin) may make all of them. A file in MAY_OWN_PROCESS may make only the calls in its entry.
WHOLE_PROCESS = {"sigaction", "signal", "setitimer", "alarm", "tcsetattr", "cfmakeraw", "sigprocmask",
                 "pthread_sigmask", "umask", "chdir", "fchdir", "chroot", "setrlimit", "prlimit", "setlocale",
                 "setenv", "unsetenv", "putenv", "clearenv", "exit", "_exit", "_Exit", "quick_exit"}
MAY_OWN_PROCESS = {
    # the terminal and the signals of the command line
    "src/cli/console.c": {"sigaction", "tcsetattr", "cfmakeraw", "sigprocmask", "_exit"},
    # a program asks its loop for signals; only then the loop blocks these signals and reads them from a signalfd
    "src/loop/loop.c": {"sigprocmask"},
    # all signals are blocked around one clone, so that no handler runs in the child; then the mask is restored
    "src/base/spawn.c": {"sigprocmask"},
    "src/base/lock.c": {"sigprocmask"},
    "src/process/birth.c": {"sigprocmask"},
    "src/process/netns.c": {"sigprocmask"},
    # limits are lowered around one clone, so that the child inherits them, and restored at once
    "src/base/holder.c": {"setrlimit"},
    # the limit of open files is raised while the supervisor starts its sandbox, and then restored
    "src/supervisor/launch.c": {"setrlimit"},
    # a program confines itself before it reads bytes that may be hostile
    "src/base/confine.c": {"setrlimit"},
    "src/box/confine.c": {"setrlimit"},
    "src/gateway/confine.c": {"setrlimit"},
    "src/skills/confine.c": {"umask", "fchdir", "chroot"},  # the worker cordon-skills
    "src/store/confine.c": {"fchdir", "chroot"},            # the worker of cordon-image, as in the next two lines
    "src/store/unpack.c": {"umask"},
    "src/store/worker.c": {"setlocale", "_exit"},
    # in a child process that tries one operation and then ends
    "src/host/trial.c": {"alarm", "_exit"},
    "src/host/probe_walls.c": {"chdir"},
    # in a child process that does one step as root of a user namespace and then ends
    "src/process/ids.c": {"_exit"},
    # pid 1, which ends the sandbox, and the processes that pid 1 starts for one task
    "src/guest/boot.c": {"setrlimit", "_exit"},
    "src/guest/channel.c": {"_exit"},
    "src/guest/session.c": {"_exit"},
    "src/guest/agent.c": {"umask"},
    "src/guest/deputy.c": {"_exit"},
    "src/guest/errand.c": {"fchdir", "chroot"},
    # out of memory: no code could handle the error
    "src/base/cleanup.c": {"_exit"},
}
# A message to people goes through base/say, which shows control characters as \xNN, so that no message can control the
# terminal. Other files may only put a constant text to stderr: their usage.
PRINTS = {"fprintf", "vfprintf", "dprintf", "vdprintf", "fputs", "perror"}
TO_STDERR = re.compile(r"perror\b|\w+\s*\(\s*(?:stderr|2|STDERR_FILENO)\s*,|fputs\b.*,\s*stderr\s*\)$", re.S)
CONSTANT = re.compile(r'fputs\s*\(\s*(?:["\s]+|[A-Z][A-Z0-9_]*)\s*,\s*stderr\s*\)$')
NEEDS = {
    "open": "O_CLOEXEC", "openat": "O_CLOEXEC", "open64": "O_CLOEXEC", "pipe2": "O_CLOEXEC",
    "dup3": "O_CLOEXEC", "socket": "SOCK_CLOEXEC", "socketpair": "SOCK_CLOEXEC",
    "accept4": "SOCK_CLOEXEC", "memfd_create": "MFD_CLOEXEC", "epoll_create1": "EPOLL_CLOEXEC",
    "eventfd": "EFD_CLOEXEC", "timerfd_create": "TFD_CLOEXEC", "signalfd": "SFD_CLOEXEC",
    "inotify_init1": "IN_CLOEXEC", "recvmsg": "MSG_CMSG_CLOEXEC", "sys_fsopen": "FSOPEN_CLOEXEC",
    "sys_fsmount": "FSMOUNT_CLOEXEC", "sys_open_tree": "OPEN_TREE_CLOEXEC",
    "posix_openpt": "O_CLOEXEC",
}
# these files define the sys_… and raw_… functions above and need no flags: the callers of these functions pass the
# flags
WRAPPERS = (root / "src/base/compat.h", root / "src/base/raw.h")
# `job` in a name means a command over a line (client/job.h). Only client/ and the rooms that include client/job.h may
# use this word, so that a reader who finds it knows which struct is meant.
JOB = re.compile(r"(?<![A-Za-z0-9])jobs?(?![A-Za-z0-9])", re.I)
JOB_ROOMS = {"client"} | {path.parent.name for path in (root / "src").rglob("*.[ch]")
                          if '#include "client/job.h"' in path.read_text()}
STANDARD = re.compile(r",\s*(?:[012]|STD(?:IN|OUT|ERR)_FILENO)\s*\)$")


def blank(text):
    """Returns TEXT with comments and literals replaced by blanks. Positions and line ends stay."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return token.sub(lambda m: re.sub(r"[^\n\"]", " ", m[0]), text)


def call_text(code, start):
    """Returns the text from the name at START to the parenthesis that closes the call."""
    depth = 0
    for i in range(code.index("(", start), len(code)):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if depth == 0:
            return code[start:i + 1]
    return code[start:]


def complaint(name, call, path):
    if name in BANNED:
        return f"{name}() is banned, use {BANNED[name]}"
    if name in FORKS and path not in MAY_FORK:
        return f"{name}() in a file that MAY_FORK does not list"
    if name in WHOLE_PROCESS - MAY_OWN_PROCESS.get(path, set()) and not path.startswith("src/bin/"):
        return f"{name}() changes the whole process, and MAY_OWN_PROCESS does not allow it in this file"
    if name in PRINTS and path != "src/base/say.c" and TO_STDERR.match(call) and not CONSTANT.match(call):
        return f"{name}() to stderr: use base/say"
    if name == "dup2" and not STANDARD.search(call):
        return "dup2() to other than 0, 1 and 2: use dup3 with O_CLOEXEC"
    if name in NEEDS and NEEDS[name] not in call:
        return f"{name}() without {NEEDS[name]}"
    if name == "fcntl" and re.search(r"\bF_DUPFD\b", call):
        return "F_DUPFD without _CLOEXEC"
    return None


def check(path):
    text = path.read_text()
    lines, code = text.splitlines(), blank(text)
    name = str(path.relative_to(root))
    for match in re.finditer(r"(?<![\w.>])(?:(\w+)\s*\(|struct open_how \w+ = (\{[^}]*\}))", code):
        word = match[1]
        if not word:
            wrong = None if "O_CLOEXEC" in match[2] else "struct open_how without O_CLOEXEC"
        elif word == "fopen":
            call = call_text(text, match.start())
            wrong = None if re.search(r'"[^"]*e[^"]*"\s*\)$', call) else 'fopen() without "e"'
        else:
            wrong = complaint(word, call_text(code, match.start()), name)
        number = code.count("\n", 0, match.start()) + 1
        near = " ".join(lines[max(0, number - 2):number])
        if wrong and "/* allowed:" not in near:
            yield f"{name}:{number}: {wrong}"
    for number, line in enumerate(code.splitlines(), 1):
        if path.parent.name not in JOB_ROOMS and JOB.search(line):
            yield f"{name}:{number}: the word job in a name means client/job: use another word"


bad = [line for path in sorted((root / "src").rglob("*.[ch]")) if path not in WRAPPERS
       for line in check(path)]
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
