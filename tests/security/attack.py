"""Helpers for the attack tests. These tests compile programs and run them inside a sandbox."""

import ctypes
import functools
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

from harness import BASE, SERVED, CordonTest  # noqa: E402  (the path is set above)


@functools.lru_cache(maxsize=None)
def compiled(source):
    """Compiles SOURCE and returns the directory with the program. The program is static, so it runs in any root. If the
    directory compiled/ has the program already, compiles nothing, so that a machine without a compiler can run the
    tests."""
    ready = os.path.join(HERE, "compiled")
    if os.path.exists(os.path.join(ready, source[:-2])):
        return ready
    # in the mode `served` BASE is on an overlay, and root cannot share directories of an overlay
    beside = SERVED and os.geteuid() == 0
    # the process number would not be a unique name: in the mode `container` every job is process 1 of its own pid
    # namespace
    place = tempfile.mkdtemp(prefix="attacks-", dir=os.path.dirname(BASE) if beside else BASE)
    os.chmod(place, 0o755)
    target = os.path.join(place, source[:-2])
    compiler = shutil.which("gcc") or shutil.which("musl-gcc") or "cc"
    subprocess.run([compiler, "-static", "-O1", "-pthread", "-o", target,
                    os.path.join(HERE, source)], check=True)
    return place


class Swapper(threading.Thread):
    """Watches a directory by inotify. At every access to an entry of this directory, the thread replaces the entry
    NAME, a directory, by a link to OUTSIDE, or puts the directory back. Such a swap falls between a
    check and a use more often than swaps at full speed do. If TRIGGER is given, there is only one swap, when the file
    TRIGGER is opened for the first time."""

    def __init__(self, directory, name, outside, trigger=None):
        super().__init__(daemon=True)
        self.place, self.outside = os.path.join(directory, name), outside
        self.swaps, self.stop = 0, False
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        self.once = trigger is not None
        # events: IN_OPEN, IN_ACCESS, IN_CLOSE, IN_CREATE and IN_ATTRIB
        for path in (trigger,) if trigger else (directory, self.place):
            libc.inotify_add_watch(self.fd, os.fsencode(path), 0x20 | 0x01 | 0x18 | 0x100 | 0x04)
        self.start()

    def run(self):
        while not self.stop:
            if not select.select([self.fd], [], [], 0.05)[0]:
                continue
            os.read(self.fd, 1 << 16)
            try:
                if os.path.islink(self.place):
                    os.unlink(self.place)
                    os.rename(self.place + ".real", self.place)
                else:
                    os.rename(self.place, self.place + ".real")
                    os.symlink(self.outside, self.place)
                self.swaps += 1
                self.stop |= self.once
            except OSError:
                pass

    def close(self):
        self.stop = True
        self.join()
        os.close(self.fd)
        if os.path.islink(self.place):
            os.unlink(self.place)
            os.rename(self.place + ".real", self.place)


class AttackTest(CordonTest):
    timeout = 90

    def armed(self, *opts, **kwargs):
        """Returns a sandbox with the attack programs at /attack."""
        return self.create("-v", f"{compiled('attacks.c')}:/attack:ro", *opts, **kwargs)

    def attack(self, box, name, *opts):
        """Runs one attack. The attack program must end and report no open hole."""
        got = box.exec("/attack/attacks", name, opts=opts)
        self.assertEqual((got.code, got.text), (0, f"done {name}\n"), got)
        return got
