"""Tests the flat form of images: all layers in one file system. Each sandbox with a flat root disk has its own
copy of this file system."""

import json
import os
import shutil
import signal
import subprocess
import tempfile

from harness import BASE, MODE, CordonTest, below, kill_quietly, loops_below
from image_fixtures import (FakeRegistry, ImageMixin, Layer, RealRegistry, busybox_layer, describe,
                            missing, run)

FULL = "No space left on device"


class FlatTest(ImageMixin, CordonTest):
    modes = ("root",)  # only root can use loop devices
    timeout = 120

    def flat_files(self):
        place = os.path.join(self.home, "cache/flat")
        return sorted(os.listdir(place)) if os.path.isdir(place) else []

    def tmp(self):
        return os.listdir(os.path.join(self.home, "cache/tmp"))

    def flatten(self, ref, how="flat"):
        got = self.cordon("pull", "--materialize", how, ref)
        self.assertEqual(got.code, 0, got)
        return got

    def load_busybox(self, *more, name="bb", config=()):
        """Loads an image of busybox. If CONFIG is empty, this function writes the archive itself, because umoci is
        slow."""
        if config:
            return super().load_busybox(*more, name=name, config=config)
        self.ok("load", "--input", self.archive_of([busybox_layer(self.path(name + "-b.tar")), *more], name))
        return name + ":1"

    def load_big(self, mib=24, name="big"):
        layer = Layer(self.path(name + "-l.tar")).add("f", os.urandom(mib << 20)).close()
        self.ok("load", "--input", self.archive_of(layer, name))
        return name + ":1"

    def caught(self, ref, ready=lambda p: True):
        """Starts a command that makes the flat form of REF. Returns the command and its worker, which
        copies the layers into the flat form. The worker lives for a moment only, so the test polls without sleeping
        and tries again if it missed the worker."""
        for _ in range(10):
            proc = self.spawn("pull", "--materialize", "flat", ref)
            while proc.poll() is None:
                for p in below([proc.pid]):
                    if "merge" in p.cmdline and ready(p):
                        return proc, p
            self.finish(proc)
            os.unlink(os.path.join(self.home, "cache/flat", self.flat_files()[0]))
        return self.fail("no worker fills the disk")

    def mounted(self):
        """Mounts the only flat form of the store."""
        name, = self.flat_files()
        return Mounted(self, os.path.join(self.home, "cache/flat", name))


class Mounted:
    def __init__(self, test, disk):
        self.disk, self.place = disk, tempfile.mkdtemp(prefix="m", dir=test.dir)

    def __enter__(self):
        run("mount", "-o", "ro,loop", self.disk, self.place)
        return self.place

    def __exit__(self, *exc):
        run("umount", self.place)


class Form(FlatTest):
    """The contents of a flat form, and how the store keeps it."""

    def test_the_tree_is_what_umoci_unpacks(self):
        """Compares the flat form with the tree that `umoci unpack` makes."""
        theirs = self.load_tricky()
        before = {root: describe(root) for root in self.layer_roots("t:1")}
        self.flatten("t:1")
        self.assertEqual({root: describe(root) for root in before}, before, "layers were touched")
        with self.mounted() as place:
            ours = describe(place)
            sparse = os.stat(os.path.join(place, "sparse"))
        self.assert_as_the_oracle(ours, theirs)
        self.assertLess(sparse.st_blocks * 512, 1 << 20)
        disk = os.path.join(self.home, "cache/flat", self.flat_files()[0])
        checked = subprocess.run(["e2fsck", "-fn", disk], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked)
        self.assertLess(os.stat(disk).st_blocks * 512, 64 << 20)

    def test_unusual_whiteouts(self):
        """Flattens layers with whiteouts of missing files, of whole trees, and in directories that are opaque."""
        one = Layer(self.path("1.tar")).add(".wh.never").dir("d").add("d/.wh.x").add("d/f", b"1")
        one.dir("t/u/v").add("t/u/v/w", b"1").add("file", b"1").dir("e", pax={"SCHILY.xattr.user.a": "1"})
        two = Layer(self.path("2.tar")).dir("d").add("d/.wh..wh..opq").add("d/.wh.f").add("d/g", b"2")
        two.add("t/.wh.u").add(".wh.file").symlink("link", "d").dir("e", uid=7, mode=0o1777,
                                                                     pax={"SCHILY.xattr.user.b": "2"})
        three = Layer(self.path("3.tar")).add("t/u", b"3").dir("link").add("link/in", b"3")
        layers = [layer.close() for layer in (one, two, three)]
        self.ok("load", "--input", self.archive_of([*layers, layers[0]], "odd"))
        self.flatten("odd:1")
        with self.mounted() as place:
            found = sorted(os.path.relpath(os.path.join(d, n), place)
                           for d, dirs, files in os.walk(place) for n in dirs + files)
            self.assertEqual(found, ["d", "d/f", "d/g", "e", "file", "link", "link/in", "t", "t/u",
                                     "t/u/v", "t/u/v/w"])
            st = os.stat(os.path.join(place, "e"))
            self.assertEqual((st.st_uid, oct(st.st_mode & 0o7777)), (0, "0o755"))
            self.assertEqual(os.listxattr(os.path.join(place, "e")), ["user.a"])

    def test_a_directory_without_an_entry_keeps_its_attributes(self):
        """A layer has a file in a directory, but no entry for the directory itself. If a lower layer has the directory,
        the directory must keep its mode and owner."""
        one = Layer(self.path("1.tar")).dir("./", mode=0o1777, uid=7, gid=8)
        one.dir("tmp", mode=0o1777).dir("home", uid=3, mode=0o700, pax={"SCHILY.xattr.user.a": "1"})
        two = Layer(self.path("2.tar")).add("tmp/f", b"x").add("home/ann/g", b"x").add("new/h", b"x")
        self.ok("load", "--input", self.archive_of([one.close(), two.close()], "way"))
        self.flatten("way:1")
        with self.mounted() as place:
            found = {name: (oct(st.st_mode & 0o7777), st.st_uid) for name in ("", "tmp", "home", "home/ann", "new")
                     for st in [os.stat(os.path.join(place, name))]}
            self.assertEqual(found, {"": ("0o1777", 7), "tmp": ("0o1777", 0), "home": ("0o700", 3),
                                     "home/ann": ("0o755", 0), "new": ("0o755", 0)})
            self.assertEqual(os.listxattr(os.path.join(place, "home")), ["user.a"])
            self.assertEqual(os.listxattr(os.path.join(place, "new")), [])

    def test_deep_trees_and_many_files(self):
        deep = "/".join(["d"] * 600)
        layer = Layer(self.path("l.tar")).add(deep + "/leaf", b"deep")
        layer.add("h0", b"shared")
        for i in range(1, 300):
            layer.hard(f"h{i}", "h0")
        layer.hard(f"{deep}/hard", "h0")
        for i in range(3000):
            layer.add(f"many/{'n' * 200}{i}")
        self.ok("load", "--input", self.archive_of(layer.close(), "deep"))
        self.flatten("deep:1")
        with self.mounted() as place:
            with open(os.path.join(place, deep, "leaf")) as handle:
                self.assertEqual(handle.read(), "deep")
            self.assertEqual(os.stat(os.path.join(place, "h7")).st_nlink, 301)
            self.assertEqual(len(os.listdir(os.path.join(place, "many"))), 3000)

    def test_concurrent_pulls_make_one_flat_file(self):
        ref = self.load_big()
        procs = [self.spawn("pull", "--materialize", how, ref) for how in ("flat", "all", "flat")]
        for proc in procs:
            self.assertEqual(self.finish(proc).code, 0)
        name, = self.flat_files()
        before = os.stat(os.path.join(self.home, "cache/flat", name))
        self.assertEqual(self.tmp(), [])
        got = self.flatten(ref, "all")
        self.assertIn("(already cached)", got.errtext.splitlines()[-1])
        self.assertEqual(os.stat(os.path.join(self.home, "cache/flat", name)), before)

    def test_images_of_the_same_layers_share_a_flat_file(self):
        for name, label in (("one", "a=1"), ("two", "a=2")):
            self.flatten(self.load_busybox(name=name, config=("--config.label", label)))
        self.assertEqual(len(self.flat_files()), 1)
        self.ok("remove", "one:1")
        self.assertEqual(len(self.flat_files()), 1)
        self.ok("remove", "two:1")
        self.assertEqual(self.flat_files(), [])

    def test_sizes_are_shown(self):
        ref = self.load_big(8)
        layers = self.inspect(ref)["size_bytes"]
        self.assertNotIn("flat_size_bytes", self.inspect(ref))
        self.flatten(ref)
        seen = self.inspect(ref)
        flat = os.stat(os.path.join(self.home, "cache/flat", self.flat_files()[0])).st_blocks * 512
        self.assertGreater(flat, 8 << 20)
        self.assertEqual((seen["flat_size_bytes"], seen["size_bytes"]), (flat, layers + flat))
        self.assertRegex(self.ok("inspect", ref).text, r"(?m)^  all in one file system: [\d.]+ MiB$")
        self.assertEqual(self.ok("list", "--format", "json").json()[0]["size_bytes"], layers + flat)
        got = self.ok("prune", "--yes", "--format", "json").json()
        self.assertGreaterEqual(got["bytes_reclaimed"], layers + flat)
        self.assertEqual(self.store_files(), [])

    def test_materialize_layered_makes_no_flat_file(self):
        self.flatten(self.load_busybox(), "layered")
        self.assertEqual(self.flat_files(), [])

    def test_a_flat_file_from_a_registry(self):
        if missing("docker-registry"):
            self.not_run("docker-registry is not installed")
        registry = RealRegistry(self)
        ref = f"{registry.host}/bb:1"
        self.busybox_layout().copy("bb", f"docker://{ref}", "--dest-tls-verify=false")
        got = self.cordon("pull", "--insecure", "--materialize", "flat", ref)
        self.assertEqual(got.code, 0, got)
        self.assertRegex(got.errtext, r"✓ Pulled       .*\n   ✓ Flattened    ")
        self.assertEqual(len(self.flat_files()), 1)
        got = self.cordon("pull", "--insecure", "--materialize", "flat", f"{registry.host}/none:1")
        self.assertEqual(got.code, 1, got)
        self.assertRegex(got.errtext, r"✗ Pulling .*\nerror: ")

    def test_a_killed_flattening_leaves_nothing(self):
        ref = self.load_big(32)
        for victim in ("it", "its worker"):
            got = None
            while not got or got.code == 0:  # try again if the command ended before the kill
                if got:
                    os.unlink(os.path.join(self.home, "cache/flat", self.flat_files()[0]))
                proc, worker = self.caught(ref)
                kill_quietly(proc.pid if victim == "it" else worker.pid)
                got = self.finish(proc)
            self.eventually(lambda: not loops_below(self.home))
            self.eventually(lambda: not self.left_running())
            self.assertEqual(self.flat_files(), [])
        self.flatten(ref)
        self.assertEqual((len(self.flat_files()), self.tmp()), (1, []))

    def test_a_full_disk_while_flattening(self):
        cache = os.path.join(self.home, "cache")
        os.makedirs(cache, exist_ok=True)
        for mib in (14, 19):  # with 14 MiB the flattening fails at its start, with 19 MiB near its end
            run("mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=700", "tmpfs", cache)
            try:
                ref = self.load_big(6)
                got = self.cordon("pull", "--materialize", "flat", ref)
                self.assertEqual(got.code, 1, got)
                self.assertRegex(got.errtext, f"error: image 'big:1': make the flat form: .*{FULL}")
                self.assertEqual((self.flat_files(), self.tmp()), ([], []))
                self.assertEqual(self.references(), [ref])
            finally:
                self.eventually(lambda: not loops_below(self.home))
                run("umount", cache)

    def test_the_worker_reaches_only_the_layers(self):
        """The worker reads untrusted layers, so it has only the capabilities that unpacking needs, and a filter."""
        ref = self.load_big(32)
        seen = {}

        def look(p):
            seen.update({key: p.status(key) for key in ("NoNewPrivs", "CapEff", "Seccomp")})
            return seen["Seccomp"] == ["2"]

        proc, _ = self.caught(ref, look)
        self.assertEqual(self.finish(proc).code, 0)
        self.assertEqual(seen["NoNewPrivs"], ["1"])
        # chown, dac_override, fowner, fsetid, setfcap
        self.assertEqual(int(seen["CapEff"][0], 16), 0x8000001b)


class Boxes(FlatTest):
    """Sandboxes whose root is a copy of the flat form."""

    def fill(self, box):
        got = box.sh("dd if=/dev/zero of=/root/fill bs=64k")
        self.assertIn(FULL, got.errtext)

    def test_each_sandbox_has_a_root_of_its_own(self):
        ref = self.load_busybox()
        one = self.create("--root-disk", "flat", image=ref)
        two = self.create("--root-disk", "flat:64M", image=ref)
        self.assertEqual(one.inspect()["limits"]["root_disk"], "loop image")
        self.assertEqual(one.out("grep ' / ' /proc/mounts | cut -d' ' -f3"), "ext4")
        self.assertEqual(one.out("ls /"), self.create(image=ref).out("ls /"))
        one.out("echo mine > /root/f; rm /bin/vi; chown 1000:1000 /root/f; mv /etc /etc2")
        self.assertEqual(two.out("ls /root; test -L /bin/vi"), "")
        for box in (one, two):
            self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
        self.assertEqual(one.out("cat /root/f; stat -c %u:%g /root/f; ls /bin/vi 2>&1 || true"),
                         "mine\n1000:1000\nls: /bin/vi: No such file or directory")
        self.assertEqual(two.out("ls /root; test -L /bin/vi"), "")
        os.kill(two.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not two.host_processes())
        self.assertEqual(two.start().code, 0)
        self.assertEqual(two.out("echo fine"), "fine")
        self.assertEqual(len(self.flat_files()), 1)
        self.assertEqual(self.create("--root-disk", "flat", image=ref).out("ls -d /root/f /etc2 || true"), "")

    def test_inspect_shows_the_flat_root_disk(self):
        ref = self.load_busybox()
        box = self.create("--root-disk", "flat,fstype=ext4,clone=copy", image=ref)
        disk = box.inspect()["config"]["image"]["Oci"]["root_disk"]
        self.assertEqual(disk, {"kind": "flat", "size_mib": 4096, "fstype": "ext4", "clone": "copy"})
        self.assertRegex(self.cordon("inspect", box.name).text, r"(?m)^  Root disk: +4 GiB, flat$")
        self.assertRegex(box.out("df -m / | tail -n 1"), r" 3\d{3} ")
        self.assertEqual(self.cordon("image", "remove", ref).code, 1)  # a sandbox uses the image

    def test_a_full_flat_disk_is_only_an_error_inside(self):
        box = self.create("--root-disk", "flat:64M", image=self.load_busybox())
        self.fill(box)
        self.assertEqual(box.out("id -u; cat /etc/hostname"), f"0\n{box.name}")
        for _ in range(2):
            self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
        used = subprocess.run(["du", "-sm", os.path.join(self.home, "sandboxes", box.name)],
                              capture_output=True, check=True, text=True).stdout
        self.assertLessEqual(int(used.split()[0]), 66)
        # if a start finds no room for its own files, its error says so and names a remedy
        box.out("mv /etc /gone; dd if=/dev/zero of=/root/more bs=1k 2>/dev/null || true")
        self.assertEqual(box.stop().code, 0)
        got = box.start()
        if got.code == 1:
            self.assertRegex(got.errtext, f"(?s){FULL}.*cordon modify NAME --root-disk SIZE")
            got = self.cordon("modify", box.name, "--root-disk", "128M")
            self.assertEqual(got.code, 0, got)
            self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("ls /gone/passwd"), "/gone/passwd")

    def test_modify_makes_the_disk_larger(self):
        box = self.create("--root-disk", "flat:64M", image=self.load_busybox())
        before = box.out("echo kept > /root/f; ls /")
        for value in ("flat:128M", "160M"):
            with self.claiming(box):
                got = self.cordon("modify", box.name, "--root-disk", value, "--restart")
            self.assertEqual(got.code, 0, got)
            size = int(value.strip("flat:M"))
            self.assertEqual(box.inspect()["config"]["image"]["Oci"]["root_disk"]["size_mib"], size)
            self.assertGreater(int(box.out("df -m / | tail -n 1 | awk '{print $2}'")), size * 2 // 3)
            self.assertEqual(box.out("cat /root/f; ls /"), "kept\n" + before)
        for value, said in (("flat:64M", "smaller"), ("flat:1G,clone=copy", "clone="),
                            ("flat:1G,fstype=ext4", "fstype="), ("tmpfs:1G", "kind")):
            got = self.cordon("modify", box.name, "--root-disk", value, "--next-start")
            self.assertEqual(got.code, 1, got)
            self.assertRegex(got.errtext, f"--root-disk.*{said}")

    def test_nothing_in_the_root_prevents_growth(self):
        """The test tries three obstacles: a lost+found that a command made, a crash, and a growth that was killed."""
        box = self.create("--root-disk", "flat:64M", image=self.load_busybox())
        box.out("ln -s /etc /lost+found; for i in $(seq 300); do echo $i > /root/$i; done; sync")
        box.popen("sh", "-c", "while :; do mv /root/1 /root/0; mv /root/0 /root/1; done")
        os.kill(box.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not box.host_processes())
        layer = os.path.join(self.home, "sandboxes", box.name, "layers/0")
        self.assertEqual(self.cordon("modify", box.name, "--root-disk", "96M").code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("readlink /lost+found; cat /root/300; rm /lost+found"), "/etc\n300")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(self.cordon("modify", box.name, "--root-disk", "128M").code, 0)
        os.truncate(os.path.join(layer, "disk.raw"), 128 << 20)  # a killed growth leaves the file like this
        open(os.path.join(layer, "disk.growing"), "w").close()
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /root/300"), "300")
        self.assertGreater(int(box.out("df -m / | tail -n 1 | awk '{print $2}'")), 96)
        self.assertEqual(os.listdir(layer), ["disk.raw"])

    def test_a_larger_size_and_a_size_that_is_too_small(self):
        ref = self.load_busybox(Layer(self.path("l.tar")).add("f", os.urandom(12 << 20)).close())
        got = self.cordon("create", "--root-disk", "flat:16M", ref)
        self.assertEqual(got.code, 1, got)
        self.assertRegex(got.errtext, "--root-disk flat:16M: .*too small")
        self.assertEqual(self.names(), [])
        box = self.create("--root-disk", "flat:6G", image=ref)
        self.assertRegex(box.out("df -m / | tail -n 1"), r" [56]\d{3} ")

    def test_an_ephemeral_sandbox_on_a_flat_disk(self):
        ref = self.load_busybox()
        for _ in range(2):
            got = self.cordon("run", "--root-disk", "flat:64M", ref, "--", "sh", "-c",
                              "ls /root; echo 1 > /root/f; dd if=/dev/zero of=/root/fill bs=64k")
            self.assertIn(FULL, got.errtext)
            self.assertEqual(got.text, "")

    def test_other_create_options_work_on_a_flat_disk(self):
        os.mkdir(self.path("shared"))
        os.chmod(self.path("shared"), 0o755)
        with open(self.path("shared/f"), "w") as handle:
            handle.write("brought\n")
        ref = self.load_busybox(config=("--config.user", "ann", "--config.volume", "/data"))
        box = self.create("--root-disk", "flat", "--copy-file", f"{self.path('shared/f')}:/srv/f",
                          "--mkdir", "/opt/x", "--rm=/bin/vi", "--script", "hi=echo hi",
                          "-v", f"{self.path('shared')}:/new/place", "--tmpfs", "/scratch", "--hostname", "h",
                          image=ref, env={"MSB_SHELL_FALLBACK": "1"})
        self.assertEqual(box.out("cat /srv/f /new/place/f /etc/hostname; ls -d /opt/x /data; hi; id -u;"
                                 "ls /bin/vi 2>/dev/null || true; bash -c 'echo $0'"),
                         "brought\nbrought\nh\n/data\n/opt/x\nhi\n1000\nbash")
        self.assertEqual(self.cordon("copy", f"{box.name}:/srv/f", self.path("back")).code, 0)

    def test_hostile_trees(self):
        """In the image, the paths of mount points are links. The targets of these links must not change."""
        decoy = self.path("decoy")
        os.mkdir(decoy)
        with open(os.path.join(decoy, "file"), "w") as handle:
            handle.write("untouched")
        for i, target in enumerate((decoy, "/decoy", "../../../../../.." + decoy, "/proc/self/cwd")):
            evil = Layer(self.path("evil.tar")).dir("decoy").add("decoy/file", b"inside")
            for name in ("dev", "proc", "sys", "etc/passwd", "etc/hosts", "etc/resolv.conf",
                         "etc/hostname", "etc/profile", ".msb", "tmp", "run", "lost+found"):
                evil.symlink(name, target)
            evil.add("node", kind=b"3", device=(1, 3)).add("disk", kind=b"4", device=(7, 0))
            ref = self.load_busybox(evil.close(), name=f"evil{i}")
            with self.subTest(target):
                box = self.box()
                with self.claiming(box):
                    got = self.cordon("create", "--quiet", "--name", box.name, "--root-disk", "flat", ref)
                if got.code == 0:
                    box.sh("echo harm > /dev/harm; echo harm > /etc/hosts; cat /decoy/file")
                    self.assertEqual(box.out("find / -xdev -type c -o -xdev -type b"), "")
                    box.remove("--force")
                self.assertEqual(os.listdir(decoy), ["file"])
                with open(os.path.join(decoy, "file")) as handle:
                    self.assertEqual(handle.read(), "untouched")

    def test_an_image_whose_etc_is_a_symbolic_link(self):
        decoy = self.path("decoy")
        os.mkdir(decoy)
        evil = Layer(self.path("evil.tar")).add(".wh.etc").symlink("etc", decoy).symlink("root", "/")
        box = self.box()
        with self.claiming(box):
            got = self.cordon("create", "--quiet", "--name", box.name, "--root-disk", "flat",
                              self.load_busybox(evil.close()))
        self.assertEqual(os.listdir(decoy), [])
        self.assertIn(got.code, (0, 1), got)

    def test_a_create_killed_at_any_instant_can_be_removed(self):
        """If a supervisor is killed while it copies the disk, `remove` must be able to delete everything that the
        supervisor leaves."""
        ref = self.load_busybox(Layer(self.path("l.tar")).add("f", os.urandom(24 << 20)).close())
        self.flatten(ref)
        for delay in (0, 0.002, 0.005, 0.01, 0.02, 0.04):
            self.kill_supervisor_of_create(delay, "--root-disk", "flat:128M,clone=copy", ref)
        self.assertEqual(self.create("--root-disk", "flat", image=ref).out("echo fine"), "fine")

    def test_a_full_disk_while_creating(self):
        boxes = os.path.join(self.home, "sandboxes")
        ref = self.load_busybox(Layer(self.path("l.tar")).add("f", os.urandom(12 << 20)).close())
        run("mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", boxes)
        try:
            got = self.cordon("create", "--root-disk", "flat", ref)
            self.assertEqual(got.code, 1, got)
            self.assertRegex(got.errtext, f"--root-disk flat: copy a disk: {FULL}")
            self.assertEqual(os.listdir(boxes), [])
        finally:
            run("umount", boxes)

    def test_reflink_is_refused_where_blocks_cannot_be_shared(self):
        ref = self.load_busybox()
        got = self.cordon("create", "--root-disk", "flat,clone=reflink", ref)
        if got.code == 0:
            self.not_run("this file system shares blocks")
        self.assertRegex(got.errtext, "(?s)--root-disk flat,clone=reflink: .*cannot share.*xfs or btrfs")
        self.assertEqual(self.names(), [])

    def test_a_configured_flat_disk_is_used(self):
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"sandbox_defaults": {"oci": {"root_disk": "flat:80M"}}}, handle)
        box = self.create(image=self.load_busybox())
        self.fill(box)
        self.assertLess(int(box.out("stat -c %s /root/fill")), 80 << 20)
        other = self.create()  # the image `host` has no flat form
        self.assertEqual(other.inspect()["config"]["image"]["Host"]["root_disk"]["kind"], "managed")


class Sharing(FlatTest):
    """Tests with the home on btrfs, a file system on which two files can share blocks."""

    def setUp(self):
        if missing("mkfs.btrfs"):
            self.not_run("there is no mkfs.btrfs here")
        self.disk = tempfile.mkdtemp(prefix="b", dir=BASE)
        self.addCleanup(self.unmount)  # registered first, so that it runs after all other cleanups
        image, mount = os.path.join(self.disk, "image"), os.path.join(self.disk, "mnt")
        with open(image, "wb") as handle:
            handle.truncate(512 << 20)
        run("mkfs.btrfs", "-q", image)
        os.mkdir(mount)
        if subprocess.run(["mount", "-o", "loop", image, mount], capture_output=True).returncode:
            self.not_run("this kernel has no btrfs")
        super().setUp()
        self.home = os.path.join(mount, "home")
        self.assertEqual(self.cordon("list").code, 0)

    def unmount(self):
        mount = os.path.join(self.disk, "mnt")
        if os.path.ismount(mount):
            run("umount", mount)
        shutil.rmtree(self.disk)

    def test_clones_share_their_blocks(self):
        bb = self.load_busybox(Layer(self.path("l.tar")).add("f", os.urandom(16 << 20)).close())
        for how in ("reflink", "auto"):
            self.create("--root-disk", f"flat,clone={how}", image=bb).out("echo 1 > /root/f; sync")
        before = self.used()
        one = self.create("--root-disk", "flat,clone=reflink", image=bb)
        one.out("echo mine > /root/f; sync")
        self.assertLess(self.used() - before, 8 << 20)
        two = self.create("--root-disk", "flat,clone=copy", image=bb)
        two.out("sync")
        self.assertGreater(self.used() - before, 14 << 20)
        self.assertEqual(two.out("ls /root"), "")

    def used(self):
        run("sync", "-f", self.home)
        v = os.statvfs(self.home)
        return (v.f_blocks - v.f_bfree) * v.f_frsize


class Refused(ImageMixin, CordonTest):
    """Flat disks need root and an image with layers."""

    modes = ("root", "user", "userns", "container")

    def refused(self, *args, said):
        got = self.cordon(*args)
        self.assertEqual(got.code, 1, got)
        self.assertRegex(got.errtext, said)
        self.assertEqual(self.names(), [])

    def test_bad_values_are_refused(self):
        for value, said in (("flat:x", "bad size"), ("flat:0", "greater than 0"), ("flat,clone=no", "clone"),
                            ("flat:1G:ro", "unknown unit"), ("flat,", "unknown option"),
                            ("flat,size=1G", "unknown option"),
                            ("flat,fstype=xfs", "'fstype=xfs': flat root disks are ext4")):
            with self.subTest(value):
                self.refused("create", "--root-disk", value, "bb:1", said=f"--root-disk.*{said}")
        for image in ("host", self.make_root()):
            self.refused("create", "--root-disk", "flat", image, said="--root-disk")

    def test_flat_disks_are_refused_without_root(self):
        if MODE == "root":
            self.not_run("root may mount")
        registry = FakeRegistry(self)
        ref = f"{registry.host}/x:1"
        for args, said in ((("create", "--root-disk", "flat", ref), "--root-disk flat: .*without root"),
                           (("run", "--root-disk", "flat:1G", ref), "--root-disk flat: .*without root"),
                           (("pull", "--insecure", "--materialize", "flat", ref),
                            "--materialize flat: .*without root"),
                           (("pull", "--insecure", "--materialize", "all", ref),
                            "--materialize all: .*without root")):
            self.refused(*args, said=said)
        self.assertEqual(registry.requests, [])

    def test_a_configured_flat_disk_is_ignored_without_root(self):
        if MODE == "root":
            self.not_run("root may mount")
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"sandbox_defaults": {"oci": {"root_disk": "flat:80M"}}}, handle)
        box = self.create(image=self.load_busybox())
        self.assertEqual(box.inspect()["limits"]["root_disk"], "watched")
