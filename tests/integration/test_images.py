"""Tests how cordon loads and saves archives, how it unpacks layers, the store, and sandboxes made from images.

Layers are hostile input: the tests write tars that no honest tool makes, and check that the targets of the attacks
are untouched.
"""

import glob
import gzip
import io
import json
import lzma
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile

from harness import MODE, ONE_ID, CordonTest
from image_fixtures import (FakeRegistry, ImageMixin, Layer, Layout, busybox_layer, classic_archive,
                            describe, missing, run, sha256, tricky_layers)


def archive_digests(path):
    """Returns the digests of the contents of an archive, by name."""
    with tarfile.open(path) as tar:
        return {m.name: sha256(tar.extractfile(m).read()) for m in tar if m.isfile()}


class Archives(ImageMixin, CordonTest):
    modes = ("root", "user")

    def test_classic_archive_from_file(self):
        layout = self.busybox_layout()
        layout.copy("bb", f"docker-archive:{self.path('a.tar')}:bb:1")
        got = self.ok("load", "--input", self.path("a.tar"))
        self.assertEqual(got.out, b"")
        self.assertRegex(got.errtext, r"^   ✓ Loaded       docker\.io/library/bb:1( \(\d+\.\ds\))?\n$")
        shown = self.inspect("bb:1")
        self.assertEqual(shown["config"]["cmd"], ["/bin/sh"])
        self.assertEqual(shown["config"]["env"], ["PATH=/bin", "A=1"])
        self.assertEqual(shown["config"]["user"], "ann")
        self.assertEqual(shown["config"]["working_dir"], "/root")
        self.assertEqual(shown["config"]["labels"], {"k": "v"})
        self.assertEqual(shown["config"]["stop_signal"], "SIGINT")
        self.assertTrue(os.path.exists(os.path.join(self.layer_roots("bb:1")[0], "bin/busybox")))

    def test_compressed_archives_from_a_pipe(self):
        layout = self.busybox_layout()
        layout.copy("bb", f"docker-archive:{self.path('a.tar')}:bb:1")
        with open(self.path("a.tar"), "rb") as handle:
            plain = handle.read()
        zstd = run("zstd", "-c", self.path("a.tar")).stdout if not missing("zstd") else None
        for tag, data in (("plain", plain), ("gzip", gzip.compress(plain, 1)),
                          ("xz", lzma.compress(plain, preset=0)), ("zstd", zstd)):
            if data is not None:
                with self.subTest(tag):
                    self.ok("load", "--tag", f"by/{tag}", "--quiet", stdin=data)
                    self.assertIn(f"by/{tag}", self.references())

    def test_oci_layout_keeps_every_digest(self):
        layout = self.busybox_layout()
        layout.copy("bb", f"oci-archive:{self.path('a.tar')}:bb:1")
        self.ok("load", "--input", self.path("a.tar"))
        self.ok("save", "--format", "oci", "--output", self.path("b.tar"), "bb:1")
        before, after = archive_digests(self.path("a.tar")), archive_digests(self.path("b.tar"))
        for name in before:
            if name.startswith("blobs/"):
                self.assertEqual(after[name], before[name])
        first = self.inspect("bb:1")
        other = os.path.join(self.dir, "other")
        os.mkdir(other, 0o700)
        self.ok("load", "--input", self.path("b.tar"), home=other)
        second = self.ok("inspect", "--format", "json", "bb:1", home=other).json()
        for volatile in ("created_at",):
            first.pop(volatile), second.pop(volatile)
        self.assertEqual(first, second)

    def test_classic_round_trip(self):
        layout = self.busybox_layout()
        layout.copy("bb", f"docker-archive:{self.path('a.tar')}:bb:1")
        self.ok("load", "--input", self.path("a.tar"))
        first = self.inspect("bb:1")
        self.ok("save", "--output", self.path("b.tar"), "bb:1")
        with tarfile.open(self.path("b.tar")) as tar:
            names = set(tar.getnames())
            manifest = json.load(tar.extractfile("manifest.json"))
        layer = manifest[0]["Layers"][0]
        self.assertLessEqual({manifest[0]["Config"], layer, layer.replace("layer.tar", "VERSION"),
                              layer.replace("layer.tar", "json")}, names)
        self.ok("remove", "bb:1")
        self.ok("load", "--input", self.path("b.tar"))
        self.assertEqual(self.inspect("bb:1")["digest"], first["digest"])

    def test_skopeo_reads_saved_archives(self):
        layout = self.busybox_layout()
        layout.copy("bb", f"oci-archive:{self.path('a.tar')}:bb:1")
        self.ok("load", "--input", self.path("a.tar"))
        diff_ids = [layer["diff_id"] for layer in self.inspect("bb:1")["layers"]]
        for form, transport in (("docker", "docker-archive"), ("oci", "oci-archive")):
            with self.subTest(form):
                saved = self.path(form + ".tar")
                self.ok("save", "--format", form, "--output", saved, "bb:1")
                run("skopeo", "copy", "-q", f"{transport}:{saved}", f"oci:{self.path(form)}:x")
                config = json.loads(run("skopeo", "inspect", "--config",
                                        f"oci:{self.path(form)}:x").stdout)
                self.assertEqual(config["rootfs"]["diff_ids"], diff_ids)

    def test_save_to_a_pipe(self):
        layout = self.busybox_layout()
        layout.copy("bb", f"oci-archive:{self.path('a.tar')}:bb:1")
        self.ok("load", "--input", self.path("a.tar"))
        for form in ("docker", "oci"):
            self.ok("save", "--format", form, "--output", self.path("file.tar"), "bb:1")
            got = self.ok("save", "--format", form, "bb:1")
            with open(self.path("pipe.tar"), "wb") as handle:
                handle.write(got.out)
            self.assertEqual(archive_digests(self.path("pipe.tar")), archive_digests(self.path("file.tar")))

    def test_several_images_share_layers(self):
        layout = self.busybox_layout()
        extra = Layer(self.path("x.tar")).add("extra", b"x").close()
        layout.image("more", [self.path("bb.tar"), extra])
        for tag in ("bb", "more"):
            layout.copy(tag, f"oci-archive:{self.path(tag + '-a.tar')}:{tag}:1")
            self.ok("load", "--input", self.path(tag + "-a.tar"))
        self.assertEqual(self.layer_roots("bb:1")[0], self.layer_roots("more:1")[0])
        self.ok("save", "--output", self.path("both.tar"), "bb:1", "more:1")
        other = os.path.join(self.dir, "other")
        os.mkdir(other, 0o700)
        got = self.ok("load", "--input", self.path("both.tar"), home=other)
        self.assertEqual(got.errtext.count("Loaded"), 2)

    def test_names_of_loaded_images(self):
        layer = Layer(self.path("l.tar")).add("f", b"x").close()
        nameless = classic_archive(self.path("n.tar"), [layer], "n", tags=False)
        self.refused("load", "--input", nameless, says="does not name its image")
        self.ok("load", "--input", nameless, "--tag", "one", "--tag", "host.example:5000/two:2")
        self.assertEqual(self.references(), ["host.example:5000/two:2", "one"])
        for spelling in ("one", "one:latest", "docker.io/library/one", "docker.io/one:latest"):
            self.assertEqual(self.inspect(spelling)["reference"], "one")
        self.refused("save", "--output", "/no/such/x.tar", "one",
                     says="--output: open '/no/such/x.tar': No such file or directory")
        self.refused("load", "--input", nameless, "--tag", "BAD", says="--tag: invalid image reference 'BAD'")

    def test_a_plain_root_file_system_becomes_an_image(self):
        root = self.make_root("busybox")
        plain, packed = self.path("rootfs.tar"), self.path("rootfs.tar.gz")
        subprocess.run(["tar", "-C", root, "--owner=0", "--group=0", "-cf", plain, "."], check=True)
        with open(plain, "rb") as source, gzip.open(packed, "wb") as target:
            shutil.copyfileobj(source, target)
        for file, name in ((plain, "plain:1"), (packed, "packed:1")):
            self.ok("load", "--input", file, "--tag", name)
            got = self.cordon("run", "--no-net", name, "--", "/bin/busybox", "echo", "here")
            self.assertEqual((got.code, got.text), (0, "here\n"), got)
        self.assertEqual(self.inspect("plain:1")["digest"], self.inspect("packed:1")["digest"])
        self.assertIn("--tag", self.refused("load", "--input", plain, says="not an image archive").errtext)
        for name, data in (("text", b"hello\n" * 500), ("cut", open(packed, "rb").read()[:-100])):
            with open(self.path(name), "wb") as handle:
                handle.write(data)
            self.refused("load", "--input", self.path(name), "--tag", "bad:1", says="load")
            self.refused("inspect", "bad:1", says="image not found")

    def test_other_files_are_no_archives(self):
        for name, data in (("text", b"hello\n" * 500), ("empty", b""),
                           ("zeros", bytes(10240)), ("gzip", gzip.compress(b"hello" * 500))):
            with self.subTest(name):
                with open(self.path(name), "wb") as handle:
                    handle.write(data)
                self.refused("load", "--input", self.path(name), says="not an image archive")
        self.refused("load", "--input", self.path("nosuch"), says="No such file")
        other = Layer(self.path("other.tar")).add("readme", b"x").close()
        self.refused("load", "--input", other, says="neither manifest.json nor index.json")

    def test_broken_archives(self):
        layer = Layer(self.path("l.tar")).add("f", b"x" * 100000).close()
        good = self.archive_of(layer, "good")
        with open(good, "rb") as handle:
            data = handle.read()
        for cut in (600, 20000, 100000):
            self.refused("load", says="", stdin=data[:cut])
        lacking = Layer(self.path("lacking.tar")).add("manifest.json", json.dumps([
            {"Config": "c", "RepoTags": ["x:1"], "Layers": ["l"]}]).encode()).close()
        self.refused("load", "--input", lacking, says="lacks 'c'")
        bad = Layer(self.path("bad.tar")).add("manifest.json", b"[{]").close()
        self.refused("load", "--input", bad, says="manifest.json")
        wrong = classic_archive(self.path("wrong.tar"), [layer], "w:1",
                                diff_ids=["sha256:" + "0" * 64])
        self.refused("load", "--input", wrong, says="but the image says")

    def test_layers_that_are_links_to_other_layers(self):
        """If an image has one layer twice, old engines write the second copy into the archive as a link to the
        first."""
        layer = Layer(self.path("l.tar")).add("f", b"x").close()
        blob = open(layer, "rb").read()
        config = json.dumps({"rootfs": {"diff_ids": ["sha256:" + sha256(blob)] * 2}}).encode()
        archive = Layer(self.path("a.tar")).add("one/layer.tar", blob)
        archive.symlink("two/layer.tar", "../one/layer.tar").add("c.json", config)
        archive.symlink("loop", "loop")
        archive.add("manifest.json", json.dumps([{
            "Config": "c.json", "RepoTags": ["linked:1"],
            "Layers": ["one/layer.tar", "two/layer.tar"]}]).encode()).close()
        self.ok("load", "--input", self.path("a.tar"))
        self.assertEqual(self.inspect("linked:1")["layer_count"], 2)


class Unpacking(ImageMixin, CordonTest):
    modes = ("root", "user", "bare")  # `userns` is left out: like `bare`, it has only one id

    def load_layer(self, layer, name="made", **kwargs):
        self.ok("load", "--input", self.archive_of(layer, name), **kwargs)
        return self.layer_roots(name + ":1")[-1]

    def test_tricky_layers_are_unpacked(self):
        os.mkdir(self.path("l"))
        self.ok("load", "--input", self.archive_of(tricky_layers(self.path("l")), "t"))
        one, two = self.layer_roots("t:1")[:2]
        gone = os.lstat(os.path.join(two, "a/gone"))
        self.assertTrue(stat.S_ISCHR(gone.st_mode) and gone.st_rdev == 0)
        self.assertEqual(os.getxattr(os.path.join(two, "opaque"), "user.overlay.opaque"), b"y")
        self.assertEqual(os.readlink(os.path.join(one, "climbing")), "../../../../etc/passwd")
        setuid = os.lstat(os.path.join(one, "setuid"))
        if ONE_ID:
            self.assertEqual((setuid.st_mode & 0o7777, setuid.st_uid), (0o755, os.getuid()))
        else:
            self.assertEqual(setuid.st_mode & 0o7777, 0o6755)
            self.assertNotEqual(setuid.st_uid, os.getuid())
        with open(os.path.join(os.path.dirname(one), "layer.json")) as handle:
            note = json.load(handle)
        self.assertEqual(note["owners"], {"root": "native", "user": "mapped",
                                          "userns": "native", "bare": "single"}[MODE])

    def test_nothing_is_written_outside(self):
        goal = self.path("goal")
        os.mkdir(goal)
        outside = Layer(self.path("l.tar"))
        outside.symlink("out", goal).add("out/planted", b"x")
        outside.symlink("up", "../" * 30 + goal.lstrip("/")).add("up/planted2", b"x")
        outside.symlink("self", "/proc/self/cwd").add("self/planted3", b"x")
        outside.add("/absolute", b"x").add("//double", b"x").add("./././dots", b"x")
        root = self.load_layer(outside.close())
        self.assertEqual(os.listdir(goal), [])
        self.assertTrue(os.path.exists(root + goal + "/planted"))
        self.assertTrue(os.path.exists(root + goal + "/planted2"))
        self.assertTrue(os.path.exists(root + "/proc/self/cwd/planted3"))
        for name in ("absolute", "double", "dots"):
            self.assertTrue(os.path.exists(os.path.join(root, name)))

    def test_paths_that_climb_are_refused(self):
        for name in ("../x", "a/../../x", "/../x", ".."):
            layer = Layer(self.path("l.tar")).add(name, b"x").close()
            self.refused("load", "--input", self.archive_of(layer), says="climbs")

    def test_hard_links_stay_inside(self):
        secret = self.path("secret")
        with open(secret, "w") as handle:
            handle.write("host")
        for target in (secret, "../" * 30 + secret.lstrip("/"), "link", "nowhere"):
            layer = Layer(self.path("l.tar")).symlink("link", secret).hard("got", target).close()
            got = self.image("load", "--input", self.archive_of(layer))
            if target == "link":  # the hard link names the symbolic link itself
                root = self.layer_roots("made:1")[0]
                self.assertTrue(os.path.islink(os.path.join(root, "got")))
            else:
                self.assertEqual(got.code, 1, got)
        self.assertEqual(os.stat(secret).st_nlink, 1)

    def test_a_whiteout_does_not_hide_files_of_its_own_layer(self):
        layer = Layer(self.path("l.tar"))
        layer.add("a/.wh.x").dir("a/x").add("a/x/f", b"f")
        layer.dir("b/x").add("b/x/f", b"f").add("b/.wh.x")
        layer.add("c/.wh.x").add("c/x", b"x")
        layer.add("d/x", b"x").add("d/.wh.x")
        layer.add("e/.wh..wh.plnk", b"")
        root = self.load_layer(layer.close())
        for name in ("a/x", "b/x"):
            self.assertEqual(os.listdir(os.path.join(root, name)), ["f"])
            self.assertEqual(os.getxattr(os.path.join(root, name), "user.overlay.opaque"), b"y")
        for name in ("c/x", "d/x"):
            self.assertTrue(os.path.isfile(os.path.join(root, name)))
        self.assertEqual(os.listdir(os.path.join(root, "e")), [])
        for bad in (".wh.", ".wh..", ".wh..."):
            layer = Layer(self.path("l.tar")).add("z/" + bad).close()
            self.refused("load", "--input", self.archive_of(layer), says="whiteout of nothing")

    def test_overlay_attributes_in_a_layer_are_dropped(self):
        """Overlayfs gives some extended attributes and devices a meaning. cordon must not take
        these from a layer."""
        layer = Layer(self.path("l.tar"))
        for kind in ("opaque", "redirect", "metacopy", "origin", "whiteout"):
            layer.dir(kind, pax={f"SCHILY.xattr.user.overlay.{kind}": "y",
                                 f"SCHILY.xattr.trusted.overlay.{kind}": "y"})
        layer.add("node", kind=tarfile.CHRTYPE, device=(0, 0))
        root = self.load_layer(layer.close())
        for kind in ("opaque", "redirect", "metacopy", "origin", "whiteout"):
            self.assertEqual([x for x in os.listxattr(os.path.join(root, kind)) if "overlay" in x],
                             [])
        self.assertFalse(os.path.lexists(os.path.join(root, "node")))

    def test_compression_bombs_are_refused(self):
        zeros = io.BytesIO()
        with gzip.GzipFile(fileobj=zeros, mode="wb", compresslevel=9, mtime=0) as out:
            info = tarfile.TarInfo("zeros")
            info.size = 400 << 20
            out.write(info.tobuf())
            for _ in range(400):
                out.write(bytes(1 << 20))
            out.write(bytes(1024))
        layer = zeros.getvalue()
        bomb = classic_archive(self.path("bomb.tar"), [layer], "bomb:1",
                               diff_ids=["sha256:" + "0" * 64])
        self.refused("load", "--input", bomb, says="more than its size can honestly hold")
        outer = gzip.compress(bytes(700 << 20), 1)
        self.refused("load", says="", stdin=outer)

    def test_too_many_entries(self):
        """Loads a layer with one entry more than allowed. The entries are cheap to unpack."""
        heads = b"".join(self.bookkeeping_head(i) for i in range(1 << 10))
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0) as out:
            for _ in range(1 << 10):
                out.write(heads)
            out.write(heads[:512] + bytes(1024))
        archive = classic_archive(self.path("many.tar"), [packed.getvalue()], "many:1",
                                  diff_ids=["sha256:" + "0" * 64])
        self.refused("load", "--input", archive, says="more than 1048576 entries", timeout=120)

    test_too_many_entries.modes = ("root",)  # the layer has half a gigabyte of headers, so one mode must suffice

    @staticmethod
    def bookkeeping_head(i):
        info = tarfile.TarInfo(".wh..wh.plnk")
        # varied times, so that the layer is not refused for its compression ratio
        info.mtime = i * 7919 * 104729 % (1 << 32)
        return info.tobuf()

    def test_memory_does_not_grow_with_the_layer(self):
        """Loads a layer of 160 MiB, although each process may have only 24 MiB of memory."""
        layer = Layer(self.path("l.tar"))
        info = tarfile.TarInfo("f")
        info.size = 160 << 20
        with open("/dev/zero", "rb") as zeros:
            layer.tar.addfile(info, zeros)
        archive = self.archive_of(layer.close(), "large")
        limit = 24 << 20  # this limit is not used with a sanitizer, because a sanitizer itself needs more memory
        bounded = [] if "ASAN_OPTIONS" in os.environ else [f"--data={limit}"]
        got = self.cordon(*bounded, self.image("list").argv[0], "--home", self.home, "load", "--quiet",
                          "--input", archive, program=shutil.which("prlimit"))
        self.assertEqual(got.code, 0, got)

    def test_long_paths(self):
        fits = "/".join(["d" * 199] * 20) + "/f"
        root = self.load_layer(Layer(self.path("l.tar")).add(fits, b"deep").close())
        here = os.open(root, os.O_RDONLY)
        for part in fits.split("/")[:-1]:
            below = os.open(part, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        self.assertEqual(os.listdir(here), ["f"])
        os.close(here)
        long = "/".join(["d" * 199] * 21)
        layer = Layer(self.path("l.tar")).add(long, b"x").close()
        self.refused("load", "--input", self.archive_of(layer), says="more than 4095")
        layer = Layer(self.path("l.tar")).add("n" * 256, b"x").close()
        self.refused("load", "--input", self.archive_of(layer), says="File name too long")

    def test_damaged_layers(self):
        layer = Layer(self.path("l.tar")).add("f", os.urandom(300000)).close()
        blob = gzip.compress(open(layer, "rb").read(), 1)
        for name, data in (("cut", blob[:100000]), ("flipped", blob[:90000] + b"\xff" * 64 +
                                                     blob[90064:]),
                           ("no tar", os.urandom(5000))):
            with self.subTest(name):
                archive = classic_archive(self.path("d.tar"), [data], "d:1",
                                          diff_ids=["sha256:" + "0" * 64])
                self.refused("load", "--input", archive, says="layer sha256:")

    def test_the_worker_is_confined(self):
        """While the worker works, the test looks from outside at the worker's filter, capabilities and no_new_privs."""
        filtered = "2" if "ASAN_OPTIONS" not in os.environ else "0"  # a build with sanitizers has no filter
        read, write = os.pipe()
        proc = self.spawn("--home", self.home, "load", stdin=read,
                          program=self.image("list").argv[0])
        os.close(read)
        try:
            def worker():
                for pid in os.listdir("/proc"):
                    try:
                        with open(f"/proc/{pid}/cmdline", "rb") as handle:
                            if b"--worker" not in handle.read():
                                continue
                        with open(f"/proc/{pid}/status") as handle:
                            status = dict(line.split(":\t", 1) for line in handle)
                        if int(status["PPid"]) == proc.pid and status["NoNewPrivs"].strip() == "1" \
                                and status["Seccomp"].strip() == filtered:
                            return status
                    except (OSError, ValueError, KeyError):
                        continue
                return None

            status = self.eventually(worker)
            kept = sum(1 << bit for bit in (0, 1, 3, 4, 31))
            self.assertEqual(int(status["CapEff"], 16) & ~kept, 0)
            self.assertEqual(int(status["CapPrm"], 16) & ~kept, 0)
        finally:
            os.close(write)
        self.assertEqual(self.finish(proc).code, 1)


class Texts(ImageMixin, CordonTest):
    """cordon shows texts of an image. Control characters in these texts must not reach the
    terminal."""

    modes = ("root",)
    EVIL = "\x1b]0;x\x07\x9b31m\nfake"

    def clean(self, got):
        for bad in (b"\x1b", b"\x07", b"\xc2\x9b"):
            self.assertNotIn(bad, got.out + got.err)
        self.assertNotIn(b"\nfake", got.out + got.err)
        return got

    def test_hostile_configuration_text_is_escaped(self):
        layer = Layer(self.path("l"))
        layer.dir("etc")
        path = self.path("a.tar")
        classic_archive(path, [layer.close()], "a:1", settings={
            "Cmd": ["sh", self.EVIL], "Env": ["A=" + self.EVIL], "Labels": {self.EVIL: self.EVIL},
            "User": self.EVIL, "WorkingDir": "/" + self.EVIL, "StopSignal": self.EVIL,
            "Volumes": {"/" + self.EVIL: {}}, "ExposedPorts": {self.EVIL: {}}})
        self.clean(self.ok("load", "--input", path))
        self.assertIn(b"\\x1b", self.clean(self.ok("inspect", "a:1")).out)
        self.assertEqual(self.inspect("a:1")["config"]["user"], self.EVIL)

    def test_hostile_text_in_errors_is_escaped(self):
        layer = Layer(self.path("l"))
        layer.add("a" + self.EVIL + "/../../b", b"x")
        climbing = classic_archive(self.path("a.tar"), [layer.close()], "a:1")
        named = classic_archive(self.path("b.tar"), [b"\0" * 1024], "b" + self.EVIL + ":1")
        for path in (climbing, named):
            self.assertEqual(self.clean(self.image("load", "--input", path)).code, 1)


class Store(ImageMixin, CordonTest):
    modes = ("root", "user")

    def load(self, name, data=b"x"):
        layer = Layer(self.path(name + "-l.tar")).add("f", data).close()
        self.ok("load", "--quiet", "--input", self.archive_of(layer, name))

    def use(self, box, ref):
        """Writes the record of a sandbox that uses the image."""
        place = os.path.join(self.home, "sandboxes", box)
        os.makedirs(place)
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        with open(os.path.join(place, "config.json"), "w") as handle:
            json.dump({"config": {"manifest_digest": self.inspect(ref)["digest"]}}, handle)

    def test_list(self):
        got = self.ok("list")
        self.assertEqual((got.text, got.errtext), ("", "No images found.\n"))
        self.assertEqual(self.ok("list", "--format", "json").text, "[]\n")
        self.load("first")
        self.load("second")
        lines = self.ok("list").text.splitlines()
        self.assertRegex(lines[0], r"^REFERENCE {4,}DIGEST {4,}SIZE {4,}CREATED$")
        self.assertRegex(lines[1], r"^second:1 +sha256:[0-9a-f]{12} +\S+ MiB +\d{4}-\d\d-\d\d ")
        self.assertEqual(self.ok("list", "--quiet").text, "second:1\nfirst:1\n")
        listed = self.ok("list", "--format", "json").json()
        self.assertEqual([i["reference"] for i in listed], ["second:1", "first:1"])
        self.assertEqual(list(listed[0]), ["architecture", "created_at", "digest", "layer_count",
                                           "os", "reference", "size_bytes"])

    def test_inspect(self):
        self.load("x")
        shown = self.inspect("x:1")
        self.assertEqual(list(shown), sorted(shown))
        self.assertEqual(list(shown["config"]), ["cmd", "digest", "entrypoint", "env", "labels",
                                                 "stop_signal", "user", "working_dir"])
        self.assertEqual(list(shown["layers"][0]), ["blob_digest", "compressed_size_bytes",
                                                    "diff_id", "erofs_size_bytes", "media_type",
                                                    "position"])
        self.assertIn(shown["digest"], self.ok("inspect", "x:1").text)
        self.load("sized", os.urandom(5_000_001))
        layer = self.inspect("sized:1")["layers"][0]
        self.assertEqual(layer["compressed_size_bytes"],
                         os.path.getsize(self.path("sized-l.tar")))  # the size of the blob as it was loaded
        self.assertEqual(layer["erofs_size_bytes"], 5_001_216)  # rounded up to whole blocks, as on disk
        self.refused("inspect", "nosuch", says="image not found: nosuch")

    def test_remove(self):
        self.load("x")
        self.load("y", b"y")
        self.use("box", "x:1")
        got = self.image("remove", "x:1", "nosuch", "y:1")
        self.assertEqual(got.code, 1)
        self.assertEqual(got.errtext.splitlines(), [
            "error: image in use by sandbox(es): box", "error: image not found: nosuch",
            "   ✓ Removed      y:1", "error: some images failed to remove"])
        self.assertEqual(self.references(), ["x:1"])
        self.assertEqual(len(os.listdir(os.path.join(self.home, "cache/layers"))), 1)
        got = self.image("remove", "--quiet", "x:1")
        self.assertEqual((got.code, got.errtext), (1, ""))
        self.ok("remove", "--force", "x:1")
        self.assertEqual(self.references(), [])
        # The layer stays. The record of the sandbox has the digest of the image, so the sandbox can still start,
        # although no name leads to the image any more.
        self.assertEqual(len(os.listdir(os.path.join(self.home, "cache/layers"))), 1)

    def test_prune(self):
        self.load("x")
        self.load("y", b"y" * 100000)
        self.use("box", "x:1")
        self.refused("prune", says="cannot ask whether to remove images: standard input is no terminal")
        before = self.store_files()
        term = self.terminal("image", "prune")
        term.expect(r"\[y/N\] ")
        term.send("n\n")
        term.expect("Nothing was removed")
        self.assertEqual((term.wait(), self.store_files()), (0, before))
        with open(os.path.join(self.home, "cache/tmp", "0" * 64 + ".part"), "wb") as handle:
            handle.write(b"x" * 5000)
        got = self.ok("prune", "--yes", "--format", "json").json()
        self.assertEqual(list(got), ["bytes_reclaimed", "fsmeta_removed", "image_refs_removed",
                                     "layers_removed", "manifests_removed", "vmdk_removed"])
        self.assertEqual((got["image_refs_removed"], got["layers_removed"],
                          got["manifests_removed"]), (1, 1, 1))
        self.assertGreater(got["bytes_reclaimed"], 200000)
        self.assertEqual(self.references(), ["x:1"])
        self.assertEqual(os.listdir(os.path.join(self.home, "cache/tmp")), [])
        shutil.rmtree(os.path.join(self.home, "sandboxes"))
        self.ok("prune", "--yes")
        for sub in ("layers", "images", "blobs/sha256"):
            self.assertEqual(os.listdir(os.path.join(self.home, "cache", sub)), [])

    def test_unreadable_sandbox_records_do_not_prevent_remove(self):
        self.load("x")
        self.addCleanup(shutil.rmtree, os.path.join(self.home, "sandboxes"))
        for box, text in (("torn", "{"), ("empty", ""), ("other", "[]")):
            os.makedirs(os.path.join(self.home, "sandboxes", box))
            with open(os.path.join(self.home, "sandboxes", box, "config.json"), "w") as handle:
                handle.write(text)
        os.mkdir(os.path.join(self.home, "sandboxes", "bare"))
        self.ok("remove", "x:1")

    def test_removing_a_damaged_record(self):
        self.load("x")
        images = os.path.join(self.home, "cache/images")
        record = os.path.join(images, os.listdir(images)[0])
        with open(record, "w") as handle:
            handle.write("{")
        self.assertEqual(self.references(), [])
        got = self.image("inspect", "x:1")
        self.assertEqual(got.code, 1)
        self.assertIn("damaged", got.errtext)
        self.ok("remove", "x:1")
        self.load("x")

    def test_two_loads_at_once_share_the_work(self):
        layer = Layer(self.path("l.tar")).add("f", os.urandom(20 << 20)).close()
        archive = self.archive_of(layer, "big")
        program = self.image("list").argv[0]
        procs = [self.spawn("--home", self.home, "load", "--input", archive, program=program)
                 for _ in range(4)]
        for proc in procs:
            got = self.finish(proc)
            self.assertEqual(got.code, 0, got)
        self.assertEqual(self.references(), ["big:1"])
        self.assertEqual(os.listdir(os.path.join(self.home, "cache/tmp")), [])

    def test_a_place_that_is_no_directory_is_named(self):
        """A load first opens a place for the layer in cache/tmp. If this place is no directory, the load must fail at
        once. The load may wait only if another process holds the lock of the place."""
        archive = self.archive_of(Layer(self.path("l.tar")).add("f", b"x").close(), "x")
        self.ok("load", "--input", archive)
        name = os.path.basename(os.path.dirname(self.layer_roots("x:1")[0])) + ".layer"
        self.ok("remove", "x:1")
        self.ok("prune", "--yes")
        for make in (lambda place: open(place, "w").close(), lambda place: os.symlink("/", place)):
            place = os.path.join(self.home, "cache/tmp", name)
            make(place)
            self.refused("load", "--input", archive, says=f"open tmp/{name}", timeout=30)
            os.unlink(place)
        self.ok("load", "--input", archive)

    def killed_load(self, stage, size):
        """Kills a load of SIZE bytes when a file with STAGE in its name appears. Returns False if the load ended before
        the kill."""
        layer = Layer(self.path(f"l{size}.tar")).add("f", os.urandom(size)).close()
        archive = self.archive_of(layer, "big")
        program = self.image("list").argv[0]
        tmp = os.path.join(self.home, "cache/tmp")
        proc = self.spawn("--home", self.home, "load", "--input", archive, program=program)
        self.eventually(lambda: proc.poll() is not None or (
            os.path.isdir(tmp) and any(stage in n for n in os.listdir(tmp))))
        proc.kill()
        self.finish(proc)
        if proc.returncode == 0:
            self.ok("remove", "big:1")
            return False
        self.assertEqual(self.references(), [])
        self.ok("load", "--input", archive)
        self.assertEqual(self.references(), ["big:1"])
        self.assertEqual(os.listdir(tmp), [])
        self.ok("remove", "big:1")
        return True

    def test_a_killed_load_leaves_nothing(self):
        """A small layer may be loaded before the kill arrives. In this case the test tries a larger layer."""
        for stage in ("load-", ".layer"):
            self.assertTrue(any(self.killed_load(stage, size << 20) for size in (20, 60, 180, 540)))


class OnlyRoot(ImageMixin, CordonTest):
    modes = ("root",)  # the tests mount file systems, and umoci must set owners

    def test_stacked_layers_are_what_umoci_unpacks(self):
        """The kernel stacks our layers. The resulting tree must be equal to the tree that `umoci
        unpack` makes."""
        theirs = self.load_tricky()
        os.mkdir(self.path("m"))
        run("mount", "-t", "overlay", "overlay", "-o", "ro,userxattr,lowerdir=" +
            ":".join(reversed(self.layer_roots("t:1"))), self.path("m"))
        try:
            ours = describe(self.path("m"))
        finally:
            run("umount", self.path("m"))
        self.assert_as_the_oracle(ours, theirs)
        sparse = os.stat(os.path.join(self.layer_roots("t:1")[3], "sparse"))
        self.assertLess(sparse.st_blocks * 512, 1 << 20)

    def test_full_disk(self):
        layer = Layer(self.path("l.tar")).add("f", os.urandom(6 << 20)).close()
        archive = self.archive_of(layer, "big")
        cache = os.path.join(self.home, "cache")
        os.makedirs(cache, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", "size=10m,mode=700", "tmpfs", cache)
        try:
            got = self.image("load", "--input", archive)
            self.assertEqual(got.code, 1, got)
            self.assertIn("No space left", got.errtext)
            self.assertEqual(self.references(), [])
            self.assertEqual(os.listdir(os.path.join(cache, "tmp")), [])
            self.assertEqual(os.listdir(os.path.join(cache, "layers")), [])
        finally:
            subprocess.run(["umount", cache])


    def test_read_only_store(self):
        layer = Layer(self.path("l.tar")).add("f", b"x").close()
        archive = self.archive_of(layer, "x")
        self.ok("load", "--input", archive)
        before = self.references()
        cache = os.path.join(self.home, "cache")
        run("mount", "--bind", "-o", "ro", cache, cache)
        try:
            other = Layer(self.path("o.tar")).add("g", b"y").close()
            got = self.image("load", "--input", self.archive_of(other, "y"))
            self.assertEqual(got.code, 1, got)
            self.assertIn("Read-only file system", got.errtext)
            self.assertEqual(self.references(), before)
        finally:
            run("umount", cache)


class OnlyUsers(ImageMixin, CordonTest):
    modes = ("user", "bare")  # root is left out, because root can write everywhere

    def test_read_only_store(self):
        os.makedirs(os.path.join(self.home, "cache"), exist_ok=True)
        os.chmod(os.path.join(self.home, "cache"), 0o500)
        got = self.image("load", stdin=b"")
        self.assertEqual(got.code, 1)
        self.assertIn("Permission denied", got.errtext)
        os.chmod(os.path.join(self.home, "cache"), 0o700)


class Creating(ImageMixin, CordonTest):
    """Tests sandboxes that are made from images: layers, configuration, and hostile images."""

    modes = ("root", "user", "bare")  # `userns` is left out: like `bare`, it has only one id

    def test_image_configuration(self):
        ref = self.load_busybox(config=("--config.env", "A=from image", "--config.env",
                                        "B=from image", "--config.workingdir", "/usr",
                                        "--config.user", "0:0", "--config.cmd", "echo",
                                        "--config.cmd", "default command"))
        box = self.create("--env", "B=from flag", image=ref)
        self.assertEqual(box.out('echo "$A, $B, $(pwd)"'), "from image, from flag, /usr")
        got = self.cordon("run", "--quiet", ref)
        self.assertEqual((got.code, got.text), (0, "default command\n"), got)
        got = self.cordon("run", "--quiet", "-w", "/etc", ref, "--", "pwd")
        self.assertEqual((got.code, got.text), (0, "/etc\n"), got)
        config = box.inspect()["config"]
        self.assertEqual(config["image"]["Oci"]["reference"], ref)
        self.assertEqual(config["manifest_digest"], self.inspect(ref)["digest"])

    def test_entrypoint(self):
        ref = self.load_busybox(config=("--config.entrypoint", "/bin/echo",
                                        "--config.entrypoint", "entry", "--config.cmd", "cmd"))
        self.assertEqual(self.cordon("run", "--quiet", ref).text, "entry cmd\n")
        self.assertEqual(self.cordon("run", "--quiet", ref, "--", "x").text, "entry x\n")
        conf = self.path("cmd.yaml")
        with open(conf, "w") as handle:
            handle.write("cmd: [mine]\n")
        for opts, said in (((), "cmd\n"), (("--conf", conf), "mine\n")):
            got = self.cordon("run", "--quiet", "--entrypoint", "/bin/echo", *opts, ref)
            self.assertEqual(got.text, said, got)
        self.assertEqual(self.cordon("run", "--quiet", "--conf", conf, ref).text, "entry mine\n")

    def test_stop_signal(self):
        """Processes first get the stop signal of the image. Processes that ignore it get SIGTERM before they are
        killed."""
        shared = self.path("shared")
        os.mkdir(shared, 0o777)
        os.chmod(shared, 0o777)
        ref = self.load_busybox(config=("--config.stopsignal", "SIGWINCH"))
        box = self.box()
        script = ("(trap 'echo term >> /shared/got' TERM; echo >> /shared/up; while :; do sleep 0.05; done) & "
                  "trap 'echo winch >> /shared/got' WINCH; trap '' TERM; echo >> /shared/up; "
                  "while :; do sleep 0.05; done")
        with self.claiming(box):
            got = self.cordon("run", "-d", "--name", box.name, "-v", f"{shared}:/shared", ref, "--",
                              "sh", "-c", script)
        self.assertEqual(got.code, 0, got)
        up = os.path.join(shared, "up")
        self.eventually(lambda: os.path.exists(up) and os.path.getsize(up) == 2)
        got = box.stop()
        self.assertEqual(got.code, 0, got)
        with open(os.path.join(shared, "got")) as handle:
            self.assertEqual(handle.read(), "winch\nterm\n")
        bad = self.load_busybox(name="bad", config=("--config.stopsignal", "SIGNOPE"))
        got = self.cordon("create", "--quiet", bad)
        self.assertEqual((got.code, got.stderr_line(0)),
                         (1, f"error: stop signal of image '{bad}': no signal 'SIGNOPE'"))

    def test_volumes_labels_and_ports_of_the_image(self):
        ref = self.load_busybox(config=("--config.volume", "/data/deep", "--config.volume", "/root",
                                        "--config.label", "who=image", "--config.label", "kept=yes",
                                        "--config.exposedports", "80/tcp"))
        box = self.create("--label", "who=flag", image=ref)
        self.assertEqual(box.out("echo x > /data/deep/f; ls /data/deep"), "f")
        box.stop()
        box.start()
        self.assertEqual(box.out("ls /data/deep"), "f")
        self.assertEqual(self.create(image=ref).out("ls /data/deep"), "")
        config = box.inspect()["config"]
        self.assertEqual(config["labels"], {"who": "flag", "kept": "yes"})
        self.assertEqual(config["network"]["ports"], [])

    def test_the_user_of_the_image_runs_commands(self):
        ref = self.load_busybox(config=("--config.user", "ann"))
        self.assertEqual(self.create(image=ref).out("id -u; id -g"), "1000\n1000")

    # in modes with one id, a sandbox has no user except root
    test_the_user_of_the_image_runs_commands.modes = ("root", "user")

    def test_files_keep_the_owners_of_the_image(self):
        layer = Layer(self.path("o.tar"))
        layer.add("mine", b"x", uid=1000, gid=1000, mode=0o640)
        layer.add("last", b"x", uid=65534, gid=65534).add("roots", b"x")
        box = self.create("--user", "0", image=self.load_busybox(layer.close()))
        owners = box.out("stat -c '%u:%g %a' /mine /last /roots").split("\n")
        self.assertEqual(owners[2], "0:0 644")
        if not ONE_ID:
            self.assertEqual(owners[:2], ["1000:1000 640", "65534:65534 644"])
            self.assertEqual(box.out("chown 1000:1000 /roots && stat -c %u /roots"), "1000")

    def test_layers_hide_and_replace(self):
        one = Layer(self.path("1.tar")).dir("d").add("d/gone", b"x").add("d/kept", b"kept")
        one.dir("o").add("o/old", b"old").add("was-file", b"x").dir("was-dir").close()
        two = Layer(self.path("2.tar")).dir("d").add("d/.wh.gone").dir("o").add("o/.wh..wh..opq")
        two.add("o/new", b"new").dir("was-file").add("was-file/in", b"in").add("was-dir", b"file")
        ref = self.load_busybox(one.path, two.close())
        box = self.create(image=ref)
        self.assertEqual(box.out("ls /d /o /was-file; cat /was-dir"),
                         "/d:\nkept\n\n/o:\nnew\n\n/was-file:\nin\nfile")
        self.assertEqual(box.out("rm -r /d /o && echo mine > /d && cat /d"), "mine")
        box.stop()
        box.start()
        self.assertEqual(box.out("cat /d; ls /o 2>/dev/null || echo none"), "mine\nnone")
        other = self.create(image=ref)
        self.assertEqual(other.out("cat /d/kept; cat /o/new"), "keptnew")

    def test_whiteouts_of_missing_files_are_harmless(self):
        """A whiteout of a missing file must hide nothing and must be invisible. A new file must be
        able to get the same name."""
        one = Layer(self.path("1.tar")).dir("d").add("d/.wh.ghost").add("d/f", b"1").dir("o")
        one.add("o/a", b"1").dir("lowest/deep").add("lowest/deep/.wh.x").add(".wh.nothing").close()
        two = Layer(self.path("2.tar")).dir("o").add("o/.wh..wh..opq").add("o/.wh.a").add("o/b", b"2")
        two.dir("new").add("new/.wh.x").close()
        box = self.create(image=self.load_busybox(one.path, two.path))
        got = box.sh("ls -A /d /o /new /lowest/deep; ls -ld /nothing 2>&1")
        self.assertEqual((got.text, got.errtext), (
            "/d:\nf\n\n/lowest/deep:\n\n/new:\n\n/o:\nb\nls: /nothing: No such file or directory\n", ""))
        self.assertEqual(box.out("cd / && rm -r d o new lowest && mkdir d && ls -A d"), "")

    def test_a_layer_may_set_the_mode_of_the_root(self):
        """A layer may set the mode of /, but every user must still be able to pass through /."""
        def modes(*layers, name):
            ref = self.load_busybox(*layers, name=name)
            kept = self.create(image=ref)
            seen = [kept.out("stat -c %a /"), self.cordon("run", "-q", ref, "--", "stat", "-c", "%a", "/").text.strip()]
            kept.out("chmod 711 /")
            self.assertEqual(kept.stop().code, 0)
            self.assertEqual(kept.start().code, 0)
            self.assertEqual(kept.out("stat -c %a /"), "711")
            return seen

        wide = Layer(self.path("w.tar")).dir("./", mode=0o1777).close()
        shut = Layer(self.path("s.tar")).dir("./", mode=0o500).close()
        other = Layer(self.path("o.tar")).add("f", b"x").close()
        self.assertEqual(modes(wide, other, name="wide"), ["1777"] * 2)
        self.assertEqual(modes(wide, shut, name="shut"), ["755"] * 2)

    def test_a_directory_without_an_entry_keeps_its_attributes(self):
        """A layer has a file in a directory, but no entry for the directory itself. The directory
        must keep the mode and the owner that it has in the layers below."""
        one = Layer(self.path("1.tar")).dir("open", mode=0o1777).dir("anns", uid=1000, gid=1000, mode=0o750)
        one.dir("d").dir("d/e", mode=0o2775).dir("replaced", mode=0o700).dir("said", mode=0o700).close()
        two = Layer(self.path("2.tar")).add("open/f", b"x").add("anns/g", b"x").add("new/h", b"x")
        two.add("d/e/f/i", b"x").add("replaced", b"a file").dir("said").add("said/j", b"x").close()
        three = Layer(self.path("3.tar")).add("open/f2", b"x").add("replaced/k", b"x").close()
        ref = self.load_busybox(one.path, two.path, three)
        names = ("open", "anns", "d", "d/e", "d/e/f", "new", "replaced", "said")
        look = "cd / && stat -c '%n %a %u:%g' " + " ".join(names)
        anns = "0:0" if ONE_ID else "1000:1000"
        want = ["open 1777 0:0", f"anns 750 {anns}", "d 755 0:0", "d/e 2775 0:0", "d/e/f 755 0:0", "new 755 0:0",
                "replaced 755 0:0", "said 755 0:0"]
        box = self.create(image=ref)
        self.assertEqual(box.out(look).split("\n"), want)
        self.assertEqual(self.cordon("run", "-q", ref, "--", "sh", "-c", look).text.split("\n")[:-1], want)
        box.out("chmod 700 /open")
        self.assertEqual((box.stop().code, box.start().code), (0, 0))
        self.assertEqual(box.out("stat -c %a /open; ls /open"), "700\nf\nf2")
        # In the files passed-*, cordon keeps the owners and modes of such directories. If these files are damaged, or
        # missing as in a home of an earlier version, a new sandbox still shows the same owners and modes.
        for damage in (lambda path: os.truncate(path, 3), os.unlink):
            kept = glob.glob(self.home + "/cache/layers/*/passed-*")
            self.assertTrue(kept)
            for path in kept:
                damage(path)
            self.assertEqual(self.create(image=ref).out(look).split("\n"), want)

    def test_many_layers(self):
        layers = [Layer(self.path(f"{i}.tar")).add(f"f{i}", b"x").add("top", str(i).encode())
                  .close() for i in range(60)]
        layers.append(layers[3])  # the image has one layer twice
        box = self.create(image=self.load_busybox(*layers))
        self.assertEqual(box.out("ls -d /f* | wc -l; cat /top"), "60\n3")

    def test_layers_are_not_written_to(self):
        ref = self.load_busybox()
        root = self.layer_roots(ref)[0]
        before = sorted(os.listdir(root)), os.stat(root).st_mtime_ns
        box = self.create("--tmpfs", "/new/mount", image=ref)
        box.out("touch /x /etc/y; rm /bin/vi; echo changed > /etc/passwd")
        self.assertEqual((sorted(os.listdir(root)), os.stat(root).st_mtime_ns), before)
        self.assertTrue(os.path.lexists(os.path.join(root, "bin/vi")))

    def test_standard_directories_are_not_made_in_the_writable_layer(self):
        """The writable layer must hold only what the sandbox itself has changed."""
        ref = self.load_busybox()
        box = self.create(image=ref)
        self.assertEqual(os.listdir(f"{self.home}/sandboxes/{box.name}/layers/0/upper"), [])
        self.assertEqual(box.out("test -d /.msb -a -d /run/microsandbox -a -s /etc/hosts -a -s /etc/hostname -a -d /proc/1 && echo all"), "all")
        bare = Layer(self.path("bare.tar")).symlink("etc", "/elsewhere").dir("elsewhere").add(".wh.proc").close()
        box = self.create(image=self.load_busybox(bare, name="bare"))
        self.assertEqual(box.out("test -s /elsewhere/hosts -a -d /proc/1 && readlink /etc"), "/elsewhere")

    def test_a_sandbox_keeps_its_image_when_the_reference_moves(self):
        ref = self.load_busybox(Layer(self.path("v1.tar")).add("version", b"one").close())
        box = self.create(image=ref)
        self.load_busybox(Layer(self.path("v2.tar")).add("version", b"two").close())
        got = self.cordon("image", "prune", "-y")
        self.assertEqual(got.code, 0, got)
        box.stop()
        box.start()
        self.assertEqual(box.out("cat /version"), "one")
        box.remove("--force")

    def test_an_image_stays_while_a_sandbox_record_is_unreadable(self):
        ref = self.load_busybox()
        box = self.create(image=ref)
        box.stop()
        path = os.path.join(self.home, "sandboxes", box.name, "config.json")
        os.rename(path, path + ".aside")
        os.mkdir(path)
        for command in (("rmi", ref), ("image", "prune", "-y")):
            got = self.cordon(*command)
            self.assertEqual(got.code, 1, got)
            self.assertIn(box.name, got.errtext)
        os.rmdir(path)
        os.rename(path + ".aside", path)
        self.assertEqual(box.exec("true").code, 0)
        box.remove("--force")

    def test_images_stay_while_a_newer_cordon_may_use_them(self):
        """This cordon does not know where a newer format notes the image of a sandbox."""
        ref = self.load_busybox()
        box = self.create(image=ref)
        box.stop()
        path = os.path.join(self.home, "sandboxes", box.name, "config.json")
        with open(path) as handle:
            old = handle.read()
        with open(path, "w") as handle:
            handle.write(json.dumps({"format": 2, "image": "elsewhere"}))
        before = self.store_files()
        for command in (("rmi", ref), ("rmi", "--force", ref), ("image", "prune", "-y"), ("prune", "--yes")):
            got = self.cordon(*command)
            self.assertEqual(got.code, 0 if command[0] == "prune" else 1, got)
            self.assertIn(f"sandbox '{box.name}'", got.errtext)
            self.assertIn("newer cordon", got.errtext)
            self.assertEqual(self.store_files(), before)
        with open(path, "w") as handle:
            handle.write(old)
        self.assertEqual(box.exec("true").code, 0)
        box.remove("--force")

    def test_an_image_in_use_cannot_be_removed(self):
        ref = self.load_busybox()
        box = self.create(image=ref)
        got = self.cordon("rmi", ref)
        self.assertEqual(got.code, 1)
        self.assertIn(f"image in use by sandbox(es): {box.name}", got.errtext)
        box.remove("--force")
        self.assertEqual(self.cordon("rmi", ref).code, 0)
        self.assertEqual(self.cordon("images", "-q").text, "")

    def test_pull_policies(self):
        got = self.cordon("create", "--pull", "never", "nosuch")
        self.assertEqual((got.code, got.stderr_line(0)),
                         (1, "error: image error: image not cached: nosuch"))
        got = self.cordon("create", "localhost:1/nosuch")
        self.assertEqual(got.code, 1)
        self.assertIn("localhost:1", got.errtext)
        self.assertEqual(self.names(), [])
        fake = FakeRegistry(self)
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"registries": {"hosts": {fake.host: {"insecure": True}}}}, handle)
        with open(busybox_layer(self.path("bb.tar")), "rb") as handle:
            layer = handle.read()
        fake.image("latest", [layer])
        ref = f"{fake.host}/bb"
        self.create(image=ref)
        asked = len(fake.requests)
        self.create(image=ref)
        self.assertEqual(len(fake.requests), asked)
        extra = Layer(self.path("e.tar")).add("extra", b"x").close()
        fake.image("latest", [layer, open(extra, "rb").read()])
        self.create(image=ref)
        box = self.create("--pull", "always", image=ref)
        self.assertEqual(box.out("cat /extra"), "x")
        fake.shutdown()  # without a registry the cached image is used, unless --pull says otherwise
        fake.server_close()
        self.create(image=ref)
        before = self.names()
        got = self.cordon("create", "--quiet", "--pull", "always", ref)
        self.assertEqual(got.code, 1, got)
        self.assertIn(fake.host, got.errtext)
        self.assertEqual(self.names(), before)
        self.assertEqual(self.references(), [ref])

    def test_hostile_trees(self):
        """In these images, paths on which cordon mounts something, or which cordon reads, are
        links. The targets of these links must not change."""
        decoy = self.path("decoy")
        os.mkdir(decoy)
        with open(os.path.join(decoy, "file"), "w") as handle:
            handle.write("untouched")
        for target in (decoy, "/decoy", "../../../../../.." + decoy, "/proc/self/cwd"):
            evil = Layer(self.path("evil.tar")).dir("decoy").add("decoy/file", b"inside")
            for name in ("dev", "proc", "sys", "etc/passwd", "etc/group", "etc/hosts", "etc/resolv.conf", "etc/hostname",
                         ".msb", "tmp", "run"):
                evil.symlink(name, target)
            ref = self.load_busybox(evil.close(), name=f"evil{abs(hash(target)) % 10000}")
            with self.subTest(target):
                box = self.box()
                with self.claiming(box):
                    got = self.cordon("create", "--quiet", "--name", box.name, ref)
                if got.code == 0:
                    box.sh("echo harm > /dev/harm; echo harm > /etc/hosts; cat /decoy/file")
                    box.remove("--force")
                self.assertEqual(os.listdir(decoy), ["file"])
                with open(os.path.join(decoy, "file")) as handle:
                    self.assertEqual(handle.read(), "untouched")

    def test_the_images_dev_is_never_seen(self):
        """No sandbox may show the /dev of its image, whatever is in this /dev."""
        decoy = self.path("decoy")
        with open(decoy, "w") as handle:
            handle.write("untouched")
        evil = Layer(self.path("evil.tar")).dir("dev")
        for name in ("null", "zero", "random", "pts", "shm", "fd", "stdout", "tty"):
            evil.symlink("dev/" + name, decoy)
        box = self.create(image=self.load_busybox(evil.close()))
        box.out("echo harm > /dev/null; echo harm > /dev/zero; test -c /dev/null -a -d /dev/pts")
        with open(decoy) as handle:
            self.assertEqual(handle.read(), "untouched")

    def test_a_passwd_link_is_followed_inside_the_sandbox(self):
        """cordon looks users up in the passwd file of the sandbox. If this file is a link, cordon
        must follow the link inside the sandbox."""
        layer = Layer(self.path("p.tar")).symlink("etc/passwd", "/../../../lib/users")
        layer.dir("lib").add("lib/users", b"root:x:0:0::/root:/bin/sh\nbob:x:0:0::/home/bob:/bin/sh\n")
        box = self.create("--user", "bob", image=self.load_busybox(layer.close()))
        self.assertEqual(box.out("echo $HOME"), "/home/bob")
        got = box.exec("true", opts=("--user", "ann"))
        self.assertEqual(got.code, 1, got)
        self.assertIn("ann", got.errtext)

    def test_numeric_users_out_of_range_are_refused(self):
        for user, says in (("4294967295", "USER of image"), ("4294967296", "USER of image"),
                           ("-1", "USER of image"), ("99999999999999999999", "USER of image"),
                           ("0:4294967296", "USER of image")):
            with self.subTest(user):
                ref = self.load_busybox(name=f"u{abs(hash(user)) % 10000}", config=("--config.user=" + user,))
                got = self.cordon("create", "--quiet", ref)
                self.assertEqual(got.code, 1, got)
                self.assertIn(says, got.errtext)
        for user in ("0x0", "1e3", "0.0"):  # cordon takes these words for names, and the image has no such users
            with self.subTest(user):
                ref = self.load_busybox(name=f"u{abs(hash(user)) % 10000}", config=("--config.user", user))
                got = self.cordon("run", "--quiet", ref, "--", "true")
                self.assertEqual(got.code, 1, got)
                self.assertIn(user, got.errtext)
        self.assertEqual(self.names(), [])

    def test_hostile_configuration(self):
        for name, config, says in (
                ("huge", ("--config.user", "9" * 300), "longer than"),
                ("odd", ("--config.user", "a b"), "USER of image")):
            with self.subTest(name):
                layout = Layout(self.path("l-" + name))
                layout.image("x", [busybox_layer(self.path(name + ".tar"))], *config)
                layout.copy("x", f"oci-archive:{self.path(name + '-a.tar')}:{name}:1")
                got = self.cordon("load", "--quiet", "--input", self.path(name + "-a.tar"))
                if got.code == 0:
                    got = self.cordon("create", "--quiet", name + ":1")
                self.assertEqual(got.code, 1, got)
                self.assertIn(says, got.errtext)
        for i in (0, 3, 5, 9):
            ref = self.load_busybox(name=f"fd{i}",
                                    config=("--config.workingdir", f"/proc/self/fd/{i}"))
            got = self.cordon("run", "--quiet", ref, "--", "/bin/sh", "-c", "pwd; ls ..")
            if got.code == 0:
                self.assertNotIn("vmlinuz", got.text)
                self.assertNotIn(os.path.basename(self.dir), got.text)

    def test_disk_images(self):
        open(self.path("x.qcow2"), "w").close()
        got = self.cordon("create", self.path("x.qcow2"))
        self.assertEqual(got.code, 1)
        self.assertIn("disk image", got.errtext)
