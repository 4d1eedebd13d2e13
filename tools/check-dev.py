#!/usr/bin/env python3
"""Checks that ./dev gives a reason, and does nothing else, if its arguments are wrong or a build cannot work. Also
checks that `./dev uninstall` removes the files of cordon and no others."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
NOBODY = 65534
bad = []


def check(status, text, *words, **popen):
    """Runs the copy of ./dev in the directory `copy`. Checks its status and its first error line, that it prints
    nothing on stdout, and that build/ is still there. Even if this ./dev goes on by mistake, it finds nothing to build
    or install, and removes only files below `copy`."""
    got = subprocess.run([str(copy / "dev"), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, cwd=copy, **popen,
                         env={**os.environ, "DEV_NO_INSTALL": "1", "DESTDIR": str(copy / "dest")})
    first = got.stderr.partition("\n")[0]
    if got.returncode != status or text not in first or got.stdout:
        bad.append(f"./dev {' '.join(words)}: status {got.returncode}, said {first!r}, wanted {text!r}")
    if not (copy / "build/kept").exists():
        bad.append(f"./dev {' '.join(words)}: build/ is gone")


with tempfile.TemporaryDirectory() as name:
    copy = pathlib.Path(name)
    copy.chmod(0o755)
    shutil.copy(root / "dev", copy)
    (copy / "build").mkdir()
    (copy / "build/kept").touch()
    for words in (("clean", "all"), ("install", "PREFIX=/opt"), ("lint", "src"), ("help", "me"),
                  ("fuzz", "soon"), ("nosuch",)):
        check(2, f"'{words[-1]}'", *words)
    dest = copy / "dest/usr/local"
    check(1, "nothing is installed below", "uninstall")
    ours = ["libexec/cordon/cordon", "libexec/cordon/cordon-guest", "share/man/man1/cordon.1",
            "share/man/man1/cordon-run.1", "share/man/man5/cordon-policy.5", "share/zsh/site-functions/_cordon",
            "share/bash-completion/completions/msb", "share/fish/vendor_completions.d/cordon.fish"]
    others = ["bin/msb", "bin/other", "share/man/man1/other.1", "share/zsh/site-functions/_other"]
    for name in ours + others:
        (dest / name).parent.mkdir(parents=True, exist_ok=True)
        (dest / name).touch()
    (dest / "bin/cordon").symlink_to("../libexec/cordon/cordon")
    check(0, "removed from", "uninstall")
    left = sorted(str(p.relative_to(dest)) for p in dest.rglob("*") if not p.is_dir())
    if left != sorted(others):
        bad.append(f"./dev uninstall: {left} are left, wanted {others}")
    (copy / "build").chmod(0o555)
    check(1, "sudo ./dev clean", "run", "host", **({} if os.geteuid() else {"user": NOBODY}))
    (copy / "build").chmod(0o755)
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
