"""The flat form of images (spec §4.9 `--materialize`, §5.7 `--root-disk flat`): all layers in one
file system, of which each sandbox has a copy of its own."""

import json
import os
import signal
import stat
import subprocess

from harness import CordonTest, below, kill_quietly, loops_below
from image_fixtures import (ImageMixin, Layer, Layout, RealRegistry, busybox_layer, describe, missing, run,
                            tricky_layers)

FULL = "No space left on device"


class FlatTest(ImageMixin, CordonTest):
    modes = ("root",)  # loop devices
    timeout = 120

    def flat_files(self):
        place = os.path.join(self.home, "cache/flat")
        return sorted(os.listdir(place)) if os.path.isdir(place) else []

    def in_the_making(self):
        return [n for n in os.listdir(os.path.join(self.home, "cache/tmp")) if n.endswith(".flat")]

    def flatten(self, ref, how="flat"):
        got = self.cordon("pull", "--materialize", how, ref)
        self.assertEqual(got.code, 0, got)
        return got


class Form(FlatTest):
    """What is in it, and what becomes of it in the store."""

    def test_against_the_oracle(self):
        """The tree is what `umoci unpack` makes, and what the layered form shows."""
        os.mkdir(self.path("l"))
        layout = Layout(self.path("layout"))
        ref = layout.image("t", tricky_layers(self.path("l")))
        layout.copy("t", f"oci-archive:{self.path('t.tar')}:t:1")
        self.ok("load", "--input", self.path("t.tar"))
        run("umoci", "unpack", "--image", ref, self.path("bundle"))
        before = {root: describe(root) for root in self.layer_roots("t:1")}
        self.flatten("t:1")
        self.assertEqual({root: describe(root) for root in before}, before, "layers were touched")
        name, = self.flat_files()
        disk = os.path.join(self.home, "cache/flat", name)
        checked = subprocess.run(["e2fsck", "-fn", disk], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked)
        os.mkdir(self.path("m"))
        run("mount", "-o", "ro,loop", disk, self.path("m"))
        try:
            ours, theirs = describe(self.path("m")), describe(self.path("bundle/rootfs"))
            sparse = os.stat(self.path("m/sparse"))
        finally:
            run("umount", self.path("m"))
        for device in (b"dev/null", b"dev/extra"):
            self.assertNotIn(device, ours)
            theirs.pop(device)
        self.assertEqual(ours[b"huge-id"][1:4], ("0o755", 65534, 65534))
        ours.pop(b"huge-id"), theirs.pop(b"huge-id")
        ours.pop(b"."), theirs.pop(b".")
        different = {name: (ours.get(name), theirs.get(name)) for name in {*ours, *theirs}
                     if ours.get(name) != theirs.get(name)}
        self.assertEqual(different, {})
        self.assertLess(sparse.st_blocks * 512, 1 << 20)
        self.assertLess(os.stat(disk).st_blocks * 512, 64 << 20)


class Boxes(FlatTest):
    def test_a_root_of_its_own(self):
        ref = self.load_busybox()
        one = self.create("--root-disk", "flat", image=ref)
        two = self.create("--root-disk", "flat:256M", image=ref)
        self.assertEqual(one.inspect()["limits"]["root_disk"], "loop image")
        self.assertEqual(one.out("grep ' / ' /proc/mounts | cut -d' ' -f3"), "ext4")
        one.out("echo mine > /root/f; rm /bin/vi; chown 1000:1000 /root/f")
        self.assertEqual(two.out("ls /root; test -L /bin/vi"), "")
        for box in (one, two):
            self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
        self.assertEqual(one.out("cat /root/f; stat -c %u:%g /root/f; ls /bin/vi 2>&1 || true"),
                         "mine\n1000:1000\nls: /bin/vi: No such file or directory")
        self.assertEqual(two.out("ls /root; test -L /bin/vi"), "")
        self.assertEqual(len(self.flat_files()), 1)
