"""Images made on the spot: nothing of them is committed, and no network is needed.

Layers are written by Python's tarfile, put together by umoci and carried about by skopeo, so that
what our programs read was made by somebody else's.
"""

import io
import os
import shutil
import stat
import subprocess
import tarfile

BUSYBOX = "/bin/busybox"


def missing(*programs):
    """The first of PROGRAMS that this machine lacks, or None."""
    return next((p for p in programs if not (shutil.which(p) or os.path.exists(p))), None)


def run(*argv, **kwargs):
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, **kwargs)


class Layer:
    """A tar in the making."""

    def __init__(self, path, fmt=tarfile.PAX_FORMAT):
        self.path = path
        self.tar = tarfile.open(path, "w", format=fmt)

    def add(self, name, data=None, kind=tarfile.REGTYPE, mode=0o644, uid=0, gid=0, mtime=1000000000,
            link="", pax=None, device=(0, 0)):
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.uid, info.gid, info.mtime = kind, mode, uid, gid, mtime
        info.linkname, info.devmajor, info.devminor = link, device[0], device[1]
        info.pax_headers = pax or {}
        if kind == tarfile.REGTYPE:
            info.size = len(data or b"")
        self.tar.addfile(info, io.BytesIO(data) if data else None)
        return self

    def dir(self, name, **kw):
        return self.add(name, kind=tarfile.DIRTYPE, **{"mode": 0o755, **kw})

    def symlink(self, name, to, **kw):
        return self.add(name, kind=tarfile.SYMTYPE, link=to, **{"mode": 0o777, **kw})

    def hard(self, name, to, **kw):
        return self.add(name, kind=tarfile.LNKTYPE, link=to, **kw)

    def close(self):
        self.tar.close()
        return self.path


class Layout:
    """An OCI layout that umoci fills."""

    def __init__(self, path):
        self.path = path
        run("umoci", "init", "--layout", path)

    def image(self, tag, layers, *config):
        ref = f"{self.path}:{tag}"
        run("umoci", "new", "--image", ref)
        for layer in layers:
            run("umoci", "raw", "add-layer", "--image", ref, layer)
        run("umoci", "config", "--image", ref, "--architecture", "amd64", "--os", "linux", *config)
        return ref

    def copy(self, tag, to, *options):
        run("skopeo", "copy", "-q", *options, f"oci:{self.path}:{tag}", to)


def busybox_layer(path):
    """A busybox with its applets, the smallest thing that can run a shell."""
    layer = Layer(path)
    for name in ("bin", "etc", "root", "tmp", "usr", "var"):
        layer.dir(name, mode=0o1777 if name == "tmp" else 0o755)
    with open(BUSYBOX, "rb") as handle:
        layer.add("bin/busybox", handle.read(), mode=0o755)
    for applet in run(BUSYBOX, "--list").stdout.decode().split():
        if applet != "busybox":
            layer.symlink(f"bin/{applet}", "busybox")
    layer.add("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\n")
    layer.add("etc/group", b"root:x:0:\nann:x:1000:\n")
    return layer.close()


def sparse_tar(path, name, size):
    """GNU tar writes holes; Python's tarfile cannot."""
    work = path + ".d"
    os.mkdir(work)
    with open(os.path.join(work, name), "wb") as handle:
        handle.write(b"begin")
        handle.seek(size - 3)
        handle.write(b"end")
    run("tar", "-C", work, "--sparse", "--format=posix", "--owner=0", "--group=0", "--sort=name",
        "-cf", path, name)
    shutil.rmtree(work)
    return path


# struct vfs_cap_data, version 2, effective, CAP_NET_BIND_SERVICE permitted
CAPABILITY = bytes.fromhex("01000002" "00040000" "00000000" "00000000" "00000000")


def tricky_layers(directory):
    """Layers with everything that unpackers get wrong. The last one is GNU, the others pax."""
    deep = "/".join(["deep" * 10] * 14)
    one = Layer(os.path.join(directory, "1.tar"))
    one.dir("./", mode=0o755)
    one.dir("a").add("a/gone", b"x").add("a/kept", b"kept").dir("a/sub").add("a/sub/inner", b"x")
    one.dir("opaque").add("opaque/old", b"old").dir("opaque/olddir").add("opaque/olddir/f", b"f")
    one.dir("becomes-file").add("becomes-file/x", b"x")
    one.add("becomes-dir", b"was a file")
    one.add("hard/one", b"shared").hard("hard/two", "hard/one").hard("hard/three", "./hard/one")
    one.add("setuid", b"#!", mode=0o6755, uid=1000, gid=1000)
    one.add("capable", b"#!", mode=0o755,
            pax={"SCHILY.xattr.security.capability": CAPABILITY.decode("latin-1")})
    one.add("tagged", b"x", pax={"SCHILY.xattr.user.colour": "green"})
    one.add("fifo", kind=tarfile.FIFOTYPE, mode=0o600)
    one.dir("dev").add("dev/null", kind=tarfile.CHRTYPE, device=(1, 3), mode=0o666)
    one.add("h\u00e4llo w\u00f6rld", b"utf-8")
    one.add(deep + "/leaf", b"deep")
    one.add("huge-id", b"x", uid=3000000, gid=3000000, mode=0o6755)
    one.dir("shut", mode=0).add("shut/in", b"in")
    one.add("old", b"x", mtime=-86400)
    one.symlink("absolute", "/etc/passwd").symlink("climbing", "../../../../etc/passwd")
    one.symlink("via", "/a").symlink("dangling", "/made/by/link")
    one.dir("lower-link-target").symlink("run", "/var/run")
    one.close()

    two = Layer(os.path.join(directory, "2.tar"))
    two.dir("a").add("a/.wh.gone").add("a/.wh.sub")
    two.dir("opaque").add("opaque/.wh..wh..opq").add("opaque/new", b"new")
    two.add("becomes-file", b"now a file")
    two.dir("becomes-dir").add("becomes-dir/x", b"x")
    two.add("hard/one", b"changed").hard("hard/two", "hard/one")
    two.dir("dev").add("dev/extra", kind=tarfile.BLKTYPE, device=(8, 0))
    two.close()

    three = Layer(os.path.join(directory, "3.tar"), tarfile.GNU_FORMAT)
    three.dir("a").add("a/.wh.sub2").dir("a/sub2").add("a/sub2/f", b"f")
    three.add("twice", b"first").add("twice", b"second")
    three.dir("twice-dir").add("twice-dir/x", b"x").symlink("twice-dir", "a")
    three.add(os.fsdecode(b"latin-\xe9"), b"not utf-8")
    three.close()
    return [one.path, two.path, three.path, sparse_tar(os.path.join(directory, "4.tar"), "sparse",
                                                       64 << 20)]


def describe(root, ids=None):
    """What can be seen of a tree: path -> kind, mode, owner, size, time, content or target."""
    found, inodes = {}, {}
    for directory, dirs, files in os.walk(os.fsencode(root)):
        for name in [b"."] + dirs + files if directory == os.fsencode(root) else dirs + files:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            rel = os.path.relpath(path, os.fsencode(root))
            kind = stat.S_IFMT(st.st_mode)
            extra = None
            if stat.S_ISLNK(st.st_mode):
                extra = os.readlink(path)
            elif stat.S_ISREG(st.st_mode):
                with open(path, "rb") as handle:
                    extra = hash(handle.read())
            xattrs = {}
            if not stat.S_ISLNK(st.st_mode):
                xattrs = {k: os.getxattr(path, k) for k in os.listxattr(path)
                          if k in ("user.colour", "security.capability")}
            uid, gid = (ids or (lambda u, g: (u, g)))(st.st_uid, st.st_gid)
            size = st.st_size if not stat.S_ISDIR(st.st_mode) else 0
            same = inodes.setdefault(st.st_ino, rel) if stat.S_ISREG(st.st_mode) else None
            found[rel] = (kind, oct(st.st_mode & 0o7777), uid, gid, size, int(st.st_mtime), extra,
                          tuple(sorted(xattrs.items())), same)
    return found
