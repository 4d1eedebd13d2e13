"""Images that the tests make when they run, and registries on this machine. The repository contains no image, and the
tests need no network.

Python's tarfile writes layers, umoci assembles them and skopeo copies them, so that our programs read the output of
other programs.
"""

import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import shutil
import socket
import stat
import subprocess
import tarfile
import tempfile
import threading
import time
import urllib.parse

BUSYBOX = "/bin/busybox"


def missing(*programs):
    """Returns the first of PROGRAMS that this machine lacks, or None."""
    return next((p for p in programs if not (shutil.which(p) or os.path.exists(p))), None)


def run(*argv, **kwargs):
    got = subprocess.run([str(a) for a in argv], capture_output=True, **kwargs)
    if got.returncode:
        raise AssertionError(f"{argv[0]} ended with {got.returncode}: {got.stderr!r}")
    return got


class Layer:
    """A tar that is being written."""

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
        run("skopeo", "copy", "-q", *options, f"oci:{self.path}:{tag}", to,
            env={**os.environ, "XDG_RUNTIME_DIR": os.path.dirname(self.path)})  # only root may use /run/containers


def busybox_layer(path):
    """Returns a layer with busybox and its applets, the smallest root that can run a shell."""
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
    """Writes a sparse tar with GNU tar, because Python's tarfile writes no holes."""
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


# a struct vfs_cap_data of version 2, with the effective bit, that permits CAP_NET_BIND_SERVICE
CAPABILITY = bytes.fromhex("01000002" "00040000" "00000000" "00000000" "00000000")


def tricky_layers(directory):
    """Returns layers with everything that unpackers often get wrong. The third layer has the GNU format, the others
    have the pax format."""
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
    """Describes a tree. Returns a dict from paths to kind, mode, owner, size, time, content or target, extended
    attributes, and the first name of a hard-linked file."""
    found, inodes = {}, {}
    for directory, dirs, files in os.walk(os.fsencode(root)):
        dirs.sort()
        names = sorted(dirs + files)  # sorted, so that the first name of a hard-linked file is always the same
        for name in [b"."] + names if directory == os.fsencode(root) else names:
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
            mtime = int(st.st_mtime)
            if stat.S_ISDIR(st.st_mode) and mtime > 1600000000:
                mtime = None  # a recent time: the archive has no entry for this directory
            same = inodes.setdefault(st.st_ino, rel) if stat.S_ISREG(st.st_mode) else None
            found[rel] = (kind, oct(st.st_mode & 0o7777), uid, gid, size, mtime, extra,
                          tuple(sorted(xattrs.items())), same)
    return found


# ---------------------------------------------------------------------------------------------
# what all tests of images use


def image_program():
    from harness import PREFIX
    for sub in ("libexec", "lib"):
        path = os.path.join(PREFIX, sub, "cordon", "cordon-image")
        if os.path.exists(path):
            return path
    return os.path.join(PREFIX, "libexec", "cordon", "cordon-image")


class ImageMixin:
    """A mixin for CordonTest. The mixin runs cordon-image as `cordon` runs it, and makes images for
    the tests."""

    def setUp(self):
        super().setUp()
        lacking = missing("umoci", "skopeo", BUSYBOX)
        if lacking:
            self.not_run(f"{lacking} is not installed")
        self.addCleanup(self.empty_store)  # this cleanup runs before the base class looks for leftovers
        self.assertEqual(self.cordon("list").code, 0)  # the first command makes the home

    def image(self, *args, home=None, **kwargs):
        return self.cordon("--home", home or self.home, *args, program=image_program(), home=home,
                           **kwargs)

    def load_tricky(self):
        """Loads the tricky layers as t:1. Returns describe() of the tree that `umoci unpack` makes of them."""
        os.mkdir(self.path("l"))
        layout = Layout(self.path("layout"))
        ref = layout.image("t", tricky_layers(self.path("l")))
        layout.copy("t", f"oci-archive:{self.path('t.tar')}:t:1")
        self.ok("load", "--input", self.path("t.tar"))
        run("umoci", "unpack", "--image", ref, self.path("bundle"))
        return describe(self.path("bundle/rootfs"))

    def assert_as_the_oracle(self, ours, theirs):
        """Asserts that OURS is equal to THEIRS, the tree of `umoci unpack`, with two exceptions: OURS has no devices,
        and in OURS the file huge-id, whose owner is beyond the id map, belongs to 65534 and is not set-user-id."""
        for device in (b"dev/null", b"dev/extra"):
            self.assertNotIn(device, ours)
            theirs.pop(device)
        self.assertEqual(ours[b"huge-id"][1:4], ("0o755", 65534, 65534))
        ours.pop(b"huge-id"), theirs.pop(b"huge-id")
        different = {name: (ours.get(name), theirs.get(name)) for name in {*ours, *theirs}
                     if ours.get(name) != theirs.get(name)}
        self.assertEqual(different, {})

    def empty_store(self):
        """Removes the sandboxes and all images with our own programs, because files of layers may belong to ids whose
        files the test cannot delete."""
        for home in {self.home, *self.homes}:
            if os.path.isdir(os.path.join(home, "cache")):
                for box in self.boxes:
                    self.cordon("remove", "--force", "--quiet", box.name, home=home)
                self.image("prune", "--yes", "--quiet", home=home)

    def ok(self, *args, **kwargs):
        got = self.image(*args, **kwargs)
        self.assertEqual(got.code, 0, got)
        return got

    def refused(self, *args, says, **kwargs):
        """Asserts that the command fails with status 1 and one `error:` line that contains SAYS, and that the store
        does not change."""
        before = self.store_files()
        got = self.image(*args, **kwargs)
        self.assertEqual(got.code, 1, got)
        errors = [line for line in got.errtext.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, got)
        self.assertIn(says, errors[0], got)
        self.assertEqual(self.store_files(), before, got)
        return got

    def store_files(self):
        """Returns the files of the store that readers can see, and unfinished work that cannot be resumed."""
        found = []
        for sub in ("images", "layers", "flat", "tmp"):
            place = os.path.join(self.home, "cache", sub)
            if os.path.isdir(place):
                found += [f"{sub}/{n}" for n in os.listdir(place) if not n.endswith(".part")]
        return sorted(found)

    def references(self):
        return sorted(self.ok("list", "--quiet").text.split())

    def inspect(self, ref):
        return self.ok("inspect", "--format", "json", ref).json()

    def layer_roots(self, ref):
        """Returns the unpacked layers, the lowest first."""
        layers = [os.path.join(self.home, "cache/layers", layer["blob_digest"].split(":")[1])
                  for layer in self.inspect(ref)["layers"]]
        # the directory of a layer is named `served` if its whiteouts are files named .wh.*, because the file system has
        # no whiteout devices
        return [os.path.join(layer, "served" if os.path.exists(layer + "/served") else "root")
                for layer in layers]

    def path(self, name):
        return os.path.join(self.dir, name)

    def busybox_layout(self):
        layout = Layout(self.path("layout"))
        layout.image("bb", [busybox_layer(self.path("bb.tar"))], "--config.cmd", "/bin/sh",
                     "--config.env", "PATH=/bin", "--config.env", "A=1", "--config.user", "ann",
                     "--config.workingdir", "/root", "--config.label", "k=v",
                     "--config.stopsignal", "SIGINT")
        return layout

    def load_busybox(self, *more, name="bb", config=()):
        """Loads an image of busybox with the layers MORE on top. CONFIG is umoci options for the image's configuration.
        Returns the reference."""
        work = tempfile.mkdtemp(dir=self.dir)
        layout, archive = Layout(os.path.join(work, "layout")), os.path.join(work, "archive")
        layout.image("x", [busybox_layer(os.path.join(work, "bb.tar")), *more], *config)
        layout.copy("x", f"oci-archive:{archive}:{name}:1")
        got = self.cordon("load", "--quiet", "--input", archive)
        self.assertEqual((got.code, got.errtext), (0, ""), got)
        return name + ":1"

    def archive_of(self, layer, name="made"):
        """Writes a classic archive with the layer LAYER, or with all layers of the list LAYER. Uses
        no other program, so that a layer may hold anything."""
        layers = layer if isinstance(layer, list) else [layer]
        return classic_archive(self.path(name + ".tar"), layers, name + ":1")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def classic_archive(path, layers, tag, diff_ids=None, tags=True, settings=None):
    """Writes a classic archive, as `docker save` does. LAYERS are bytes or files, and may be
    compressed. DIFF_IDS are the digests of the uncompressed layers."""
    blobs = [layer if isinstance(layer, bytes) else open(layer, "rb").read() for layer in layers]
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "config": settings or {},
        "rootfs": {"type": "layers",
                   "diff_ids": diff_ids or ["sha256:" + sha256(plain(b)) for b in blobs]},
    }).encode()
    archive = Layer(path)
    for i, blob in enumerate(blobs):
        archive.add(f"{i}/layer.tar", blob)
    archive.add("config.json", config)
    archive.add("manifest.json", json.dumps([{
        "Config": "config.json", "RepoTags": [tag] if tags else None,
        "Layers": [f"{i}/layer.tar" for i in range(len(blobs))]}]).encode())
    return archive.close()


def plain(blob):
    return gzip.decompress(blob) if blob[:2] == b"\x1f\x8b" else blob


# ---------------------------------------------------------------------------------------------
# registries


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def make_certificate(directory, name="server"):
    """Makes a key and a self-signed certificate for localhost."""
    key, cert = (os.path.join(directory, f"{name}.{end}") for end in ("key", "crt"))
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    return key, cert


class RealRegistry:
    """Debian's docker-registry on a loopback port. It ends with the test."""

    def __init__(self, test, auth=None, tls=None):
        self.port = free_port()
        self.host = f"localhost:{self.port}"
        top = tempfile.mkdtemp(prefix="registry", dir=test.dir)
        http = {"addr": f"127.0.0.1:{self.port}"}
        if tls:
            http["tls"] = {"key": tls[0], "certificate": tls[1]}
        config = {"version": 0.1, "log": {"level": "error"}, "http": http,
                  "storage": {"filesystem": {"rootdirectory": os.path.join(top, "data")}}}
        if auth:
            config["auth"] = auth
        path = os.path.join(top, "config.yml")
        with open(path, "w") as handle:
            json.dump(config, handle)  # the registry reads YAML, and JSON is YAML
        with open(os.path.join(top, "log"), "wb") as log:
            self.proc = test.spawn("serve", path, program=shutil.which("docker-registry"),
                                   stdout=log, stderr=log)
        test.eventually(self.answers, within=15)

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False


class TokenServer(http.server.ThreadingHTTPServer):
    """Gives bearer tokens for docker-registry to the user ann with the password `secret`, and to every
    client for repositories below `public/`."""

    def __init__(self, test, key, cert):
        super().__init__(("127.0.0.1", 0), TokenHandler)
        self.key, self.asked = key, []
        pem = open(cert).read()
        self.x5c = "".join(pem.split("-----")[2].split())
        threading.Thread(target=self.serve_forever, daemon=True).start()
        test.addCleanup(self.server_close)
        test.addCleanup(self.shutdown)

    def sign(self, claims):
        def part(obj):
            return base64.urlsafe_b64encode(json.dumps(obj).encode()).rstrip(b"=")

        text = part({"typ": "JWT", "alg": "ES256", "x5c": [self.x5c]}) + b"." + part(claims)
        der = run("openssl", "dgst", "-sha256", "-sign", self.key, input=text).stdout
        first = 4 + der[3]
        r, s = der[4:first], der[first + 2:]
        raw = b"".join(n.lstrip(b"\0").rjust(32, b"\0") for n in (r, s))
        return (text + b"." + base64.urlsafe_b64encode(raw).rstrip(b"=")).decode()


class TokenHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        scope = query.get("scope", [""])[0]
        login = self.headers.get("Authorization", "")
        known = login == "Basic " + base64.b64encode(b"ann:secret").decode()
        self.server.asked.append((scope, bool(login)))
        if login and not known:
            self.send_error(401)
            return
        access = []
        if scope:
            kind, name, actions = scope.split(":")
            if known or name.startswith("public/"):
                access = [{"type": kind, "name": name,
                           "actions": actions.split(",") if known else ["pull"]}]
        now = int(time.time())
        token = self.server.sign({
            "iss": "test", "sub": "ann", "aud": query["service"][0], "exp": now + 60,
            "nbf": now - 10, "iat": now, "jti": "1", "access": access})
        body = json.dumps({"token": token}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class FakeRegistry(http.server.ThreadingHTTPServer):
    """A registry whose behaviour a test chooses.

    `answer(handler, kind, name, n)` may send a response of its own and return True; KIND is
    "manifests" or "blobs", NAME is the rest of the path, and N counts the requests for this path from 1.
    """

    daemon_threads = True

    def __init__(self, test, answer=None):
        super().__init__(("127.0.0.1", 0), FakeHandler)
        self.host = f"localhost:{self.server_port}"
        self.blobs, self.manifests, self.requests = {}, {}, []
        self.answer, self.lock = answer, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()
        test.addCleanup(self.server_close)
        test.addCleanup(self.shutdown)

    def handle_error(self, request, client_address):
        pass  # the tests kill clients, so errors are expected

    def put(self, data):
        digest = "sha256:" + sha256(data)
        self.blobs[digest] = data
        return {"digest": digest, "size": len(data)}

    def image(self, tag, layers, /, **changes):
        """Puts an image into the registry. LAYERS are bytes. CHANGES replace members of the manifest."""
        config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {
            "type": "layers", "diff_ids": ["sha256:" + sha256(plain(b)) for b in layers]}}).encode()
        manifest = {
            "schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
            "config": {"mediaType": OCI + "config.v1+json", **self.put(config)},
            "layers": [{"mediaType": OCI + "layer.v1.tar", **self.put(b)} for b in layers]}
        manifest.update(changes)
        data = json.dumps(manifest).encode()
        self.manifests[tag] = self.manifests["sha256:" + sha256(data)] = data
        return "sha256:" + sha256(data)

    def asked_for(self, kind, name=None):
        return [r for r in self.requests if r[0] == kind and (name is None or r[1] == name)]


OCI = "application/vnd.oci.image."


class FakeHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        kind, _, name = self.path.rpartition("/")
        kind = kind.rpartition("/")[2]
        with self.server.lock:
            self.server.requests.append((kind, name, dict(self.headers)))
            n = len(self.server.asked_for(kind, name))
        try:
            if self.server.answer and self.server.answer(self, kind, name, n):
                return
            found = (self.server.manifests if kind == "manifests" else self.server.blobs).get(name)
            if found is None:
                self.reply(404, b"{}")
            elif kind == "blobs" and "Range" in self.headers:
                start = int(self.headers["Range"].split("=")[1].split("-")[0])
                self.reply(206, found[start:],
                           Content_Range=f"bytes {start}-{len(found) - 1}/{len(found)}")
            else:
                self.reply(200, found)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
