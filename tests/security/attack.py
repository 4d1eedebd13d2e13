"""Helpers of the attack tests: programs compiled here, run inside a sandbox."""

import functools
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

from harness import BASE, CordonTest  # noqa: E402  (the path is set above)


@functools.lru_cache(maxsize=None)
def compiled(source):
    """Directory with SOURCE's program, statically linked, so that any root can run it; made ahead where
    there is no compiler."""
    ready = os.path.join(HERE, "compiled")
    if os.path.exists(os.path.join(ready, source[:-2])):
        return ready
    place = os.path.join(BASE, f"attacks-{os.getpid()}")
    os.makedirs(place, exist_ok=True)
    target = os.path.join(place, source[:-2])
    compiler = shutil.which("gcc") or shutil.which("musl-gcc") or "cc"
    subprocess.run([compiler, "-static", "-O1", "-pthread", "-o", target,
                    os.path.join(HERE, source)], check=True)
    return place


class AttackTest(CordonTest):
    timeout = 90

    def armed(self, *opts, **kwargs):
        """A sandbox with the attack programs at /attack."""
        return self.create("-v", f"{compiled('attacks.c')}:/attack:ro", *opts, **kwargs)

    def attack(self, box, name, *opts):
        """Runs one attack; it must end and report nothing open."""
        got = box.exec("/attack/attacks", name, opts=opts)
        self.assertEqual((got.code, got.text), (0, f"done {name}\n"), got)
        return got
