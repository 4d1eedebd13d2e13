"""Makes the root directory of a Debian system from installed packages of this machine, without a download and without
root privileges."""

import os
import re
import subprocess

LEAVE_OUT = re.compile(r"/usr/(share/(doc|info|lintian|locale|man|perl)|lib/python3/dist-packages|"
                       r"lib/x86_64-linux-gnu/(perl|gconv))(/|$)|/usr/share/perl")


def run(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def closure(wanted):
    """Returns {package: version} of the installed packages among WANTED and of all their dependencies."""
    fields = "${binary:Package}\t${Version}\t${Provides}\t${Pre-Depends}, ${Depends}\t${Status}\n"
    known, provided = {}, {}
    for line in run("dpkg-query", "-W", "-f", fields).splitlines():
        name, version, provides, depends, status = line.split("\t")
        name = name.split(":")[0]
        if not status.endswith(" installed"):
            continue
        known[name] = (version, depends)
        for other in provides.split(","):
            provided[other.split("(")[0].strip()] = name
    found, todo = {}, list(wanted)
    while todo:
        name = todo.pop()
        name = name if name in known else provided.get(name)
        if name is None or name in found:
            continue
        found[name], depends = known[name]
        for alternatives in depends.split(","):
            names = [a.split("(")[0].split(":")[0].strip() for a in alternatives.split("|")]
            todo += [next((n for n in names if n in known or n in provided), "")]
    return found


def package_files(packages):
    """Returns the paths of the packages' files, with links in their directories resolved (/usr/bin/x for /bin/x).
    Leaves out files that match LEAVE_OUT and files that we cannot read. Also returns the links that Debian's
    alternatives made, and the links /bin, /sbin, /lib and so on."""
    files = set()
    for path in run("dpkg-query", "-L", *packages).splitlines():
        if path.startswith("/") and path != "/." and not LEAVE_OUT.match(path):
            real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
            if os.path.islink(real) or os.access(real, os.R_OK):
                files.add(real)
    for name in os.listdir("/etc/alternatives"):
        link = os.path.join("/etc/alternatives", name)
        if os.path.realpath(link) in files:
            files.add(link)
            files.update(p for p in (f"/usr/bin/{name}", f"/usr/sbin/{name}") if os.path.islink(p))
    files.update(p for p in ("/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
                 if os.path.islink(p))
    return sorted(files)


def copy_packages(packages, tree):
    """Copies the files of the packages to the same paths below TREE."""
    names = "".join(p[1:] + "\0" for p in package_files(packages)).encode()
    pack = subprocess.Popen(["tar", "-C", "/", "--no-recursion", "--null", "-T", "-", "-c"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-C", tree, "--no-same-owner", "-xp"], stdin=pack.stdout)
    pack.stdout.close()
    pack.stdin.write(names)
    pack.stdin.close()
    if pack.wait() or unpack.wait():
        raise OSError("the files of the packages cannot be copied")
