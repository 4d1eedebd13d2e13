"""Tests the size of the writable layer: what enforces it, and what cordon says if nothing can enforce it.
Disk images, quotas of volumes, and owners of files in shared directories are tested here too."""

import ctypes
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import threading

from harness import (ALL_MODES, BASE, MODE, CordonTest, below, groups_of, loops_below,
                     unique_number)

FULL = r"No space left on device|Disk quota exceeded"  # the second message comes from project quotas of ext4
ON_DISK = ("project quota", "loop image")
MANY_FILES = """
import os
n = 0
try:
    while True:
        os.close(os.open(f"/root/many{n}", os.O_CREAT | os.O_WRONLY))
        n += 1
except OSError as e:
    print(n, e.strerror)
"""


def make_ext4(path, mib, *opts):
    with open(path, "wb") as handle:
        handle.truncate(mib << 20)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", *opts, path], check=True)


class SizeTest(CordonTest):
    def held(self, box):
        """Returns what limits the size of the root. With `run -d`, the supervisor may write this a moment after the
        client has ended."""
        self.eventually(lambda: box.inspect()["limits"]["root_disk"])
        return box.inspect()["limits"]["root_disk"]

    def fill(self, box, place="/root/fill"):
        got = box.sh(f"head -c 400M /dev/zero > {place}")
        self.assertNotEqual(got.code, 0, got)
        self.assertRegex(got.errtext, FULL)

    def kill_supervisor(self, box):
        os.kill(box.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not box.host_processes())


class OnDisk(SizeTest):
    """A size that root asks for is enforced."""

    modes = ("root",)
    timeout = 120

    def test_a_full_layer_is_only_an_error_inside(self):
        box = self.create("--root-disk", "48M")
        self.assertIn(self.held(box), ON_DISK)
        self.fill(box)
        self.assertLess(int(box.out("stat -c %s /root/fill")), 48 << 20)
        self.assertEqual(box.out("id -u; cat /etc/hostname"), f"0\n{box.name}")
        for _ in range(2):
            self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
            self.assertNotEqual(box.sh("cat /root/fill > /root/more").code, 0)
        box.out("rm /root/fill /root/more; echo fine > /root/f")
        self.assertEqual(box.out("cat /root/f"), "fine")

    def test_the_number_of_files_is_limited(self):
        box = self.create("--root-disk", "8M")
        for _ in range(2):
            got = box.exec("python3", "-c", MANY_FILES)
            self.assertRegex(got.text, FULL)
            self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
        box.out("rm /root/many*; echo fine > /root/f")

    def test_a_full_layer_takes_no_more_space_on_the_host(self):
        box = self.create("--root-disk", "32M")
        self.fill(box)
        used = subprocess.run(["du", "-sm", os.path.join(self.home, "sandboxes", box.name)],
                              capture_output=True, check=True, text=True).stdout
        self.assertLessEqual(int(used.split()[0]), 34)

    def test_files_survive_stops_and_kills(self):
        box = self.create("--root-disk", "32M")
        box.out("echo 1 > /root/f; chown 1000:1001 /root/f; ln -s f /root/l; mkdir /srv/d")
        for kill in (False, True, False, True):
            if kill:
                box.out("sync")
                self.kill_supervisor(box)
            else:
                self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
            self.assertEqual(box.out("cat /root/l; stat -c %u:%g /root/f; test -d /srv/d"),
                             "1\n1000:1001")
        self.assertIn(self.held(box), ON_DISK)

    def test_a_create_killed_at_any_instant_can_be_removed(self):
        """The test kills the supervisor while it makes a disk. `remove` must delete everything that is left."""
        for delay in (0, 0.001, 0.003, 0.005, 0.008, 0.012, 0.02, 0.04):
            self.kill_supervisor_of_create(delay, "--root-disk", "16M", "host")

    def test_a_client_killed_while_it_creates(self):
        for delay in (0.001, 0.004, 0.008, 0.016):
            proc = self.spawn("create", "-q", "--name", "victim", "--root-disk", "16M", "host")
            threading.Event().wait(delay)
            proc.kill()
            proc.wait()
            self.cordon("remove", "-f", "-q", "victim")
            self.eventually(lambda: not self.left_running())
            self.cordon("list")
            self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])

    def test_an_ephemeral_layer_is_on_disk_and_removed_afterwards(self):
        got = self.cordon("run", "--root-disk", "24M", "-m", "64M", "host", "--", "sh", "-c",
                          "head -c 400M /dev/zero > /root/fill; stat -c %s /root/fill")
        self.assertRegex(got.errtext, FULL)
        self.assertLess(int(got.text), 24 << 20)

    def test_oci_upper_size_is_the_same_option(self):
        box = self.create("--oci-upper-size", "24M")
        self.fill(box)
        disk = box.inspect()["config"]["image"]["Host"]["root_disk"]
        self.assertEqual(disk, {"kind": "managed", "size_mib": 24})
        self.assertRegex(self.cordon("inspect", box.name).text, r"(?m)^  Root disk: +24 MiB$")

    def test_a_configured_size_is_enforced(self):
        self.cordon("list")  # makes the home
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"sandbox_defaults": {"oci": {"root_disk": "24M"}}}, handle)
        box = self.create()
        self.assertIn(self.held(box), ON_DISK)
        self.fill(box)
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)

    def test_modify_makes_the_disk_larger(self):
        box = self.create("--root-disk", "24M")
        box.out("echo kept > /root/f")
        self.fill(box)
        got = self.cordon("modify", box.name, "--root-disk", "64M")
        self.assertEqual(got.code, 1, got)
        self.assertIn("needs a restart", got.errtext)
        with self.claiming(box):
            got = self.cordon("modify", box.name, "--root-disk", "64M", "--restart")
        self.assertEqual(got.code, 0, got)
        box.out("head -c 30M /dev/zero > /root/more; rm /root/fill")
        self.assertEqual(box.out("cat /root/f"), "kept")
        self.fill(box)
        self.assertLess(int(box.out("stat -c %s /root/fill")), 64 << 20)
        self.assertEqual(self.cordon("modify", box.name, "--root-disk", "tmpfs:1G").code, 1)

    def test_modify_refuses_to_make_a_loop_image_smaller(self):
        box = self.create("--root-disk", "32M")
        got = self.cordon("modify", box.name, "--root-disk", "16M", "--next-start")
        if self.held(box) == "loop image":
            self.assertEqual(got.code, 1, got)
            self.assertIn("smaller", got.errtext)
        else:
            self.assertEqual(got.code, 0, got)
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)

    def test_the_next_start_finishes_a_killed_growth(self):
        box = self.create("--root-disk", "24M")
        if self.held(box) != "loop image":
            self.not_run("this machine has project quotas")
        box.out("echo kept > /root/f")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(self.cordon("modify", box.name, "--root-disk", "64M").code, 0)
        layer = os.path.join(self.home, "sandboxes", box.name, "layers", "0")
        # a supervisor that is killed while it grows the disk leaves these two files
        os.truncate(os.path.join(layer, "disk.raw"), 64 << 20)
        open(os.path.join(layer, "disk.growing"), "w").close()
        self.assertEqual(box.start().code, 0)
        box.out("head -c 40M /dev/zero > /root/more")
        self.assertEqual(box.out("cat /root/f"), "kept")
        self.assertEqual(os.listdir(layer), ["disk.raw"])


class InMemory(SizeTest):
    """Layers in memory, which need no privilege."""

    modes = ALL_MODES

    def test_an_ephemeral_layer_in_memory(self):
        got = self.cordon("run", "--root-disk", "tmpfs:16M", "host", "--", "sh", "-c",
                          "head -c 60M /dev/zero > /root/fill; stat -c %s /root/fill; echo alive")
        self.assertIn("No space left", got.errtext)
        self.assertEqual(got.text, f"{16 << 20}\nalive\n")

    def test_a_size_without_a_kind(self):
        got = self.cordon("run", "--root-disk", "16M", "host", "--", "sh", "-c",
                          "head -c 60M /dev/zero > /root/fill; stat -c %s /root/fill")
        self.assertRegex(got.errtext, FULL)
        self.assertLessEqual(int(got.text), 16 << 20)

    def test_a_layer_in_memory_is_empty_after_each_stop(self):
        box = self.create("--root-disk", "tmpfs:16M")
        self.assertEqual(self.held(box), "tmpfs")
        self.fill(box)
        self.assertEqual(box.out("echo alive"), "alive")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("ls /root; echo 1 > /root/f"), "")
        with self.claiming(box):
            got = self.cordon("modify", box.name, "--root-disk", "tmpfs:32M", "--restart")
        self.assertEqual(got.code, 0, got)
        box.out("head -c 24M /dev/zero > /root/f")

    def test_the_number_of_files_is_limited(self):
        for opts, place in ((["--root-disk", "tmpfs:4M"], "/root"), (["--tmpfs", "/t:4M"], "/t"),
                            (["-m", "64M"], "/dev/shm")):
            with self.subTest(place=place):
                got = self.cordon("run", *opts, "host", "--", "python3", "-c",
                                  MANY_FILES.replace("/root", place))
                self.assertRegex(got.text, r"^\d{1,4} No space left")

    def test_the_default_size_is_half_of_the_memory(self):
        got = self.cordon("run", "--root-disk", "tmpfs", "-m", "64M", "host", "--",
                          "df", "--output=size", "-m", "/")
        self.assertEqual(got.text.split()[-1], "32", got)


class Ephemeral(SizeTest):
    """A layer on disk that is deleted with its sandbox."""

    modes = ALL_MODES
    timeout = 120

    def left(self):
        return os.listdir(os.path.join(self.home, "sandboxes"))

    def run_sleeper(self):
        number = unique_number()
        proc = self.spawn("run", "-q", "--root-disk", "disk", "host", "--", "sh", "-c",
                          "cp /bin/sh /root/sh; mkdir -m 0 /root/none; mkdir -p /root/a/b/c;"
                          f"chown 1000 /root/a/b /root/none 2> /dev/null; exec sleep {number}")
        self.eventually(lambda: self.sleepers(number))
        return proc, [p.pid for p in below([proc.pid]) if p.comm.startswith("cordon-superv")]

    def test_the_layer_can_be_larger_than_the_memory_limit(self):
        script = "head -c 256M /dev/zero > /root/fill && stat -c %s /root/fill"
        got = self.cordon("run", "-q", "--root-disk", "disk", "-m", "64M", "host", "--", "sh", "-c",
                          script)
        self.assertEqual((got.code, got.text), (0, f"{256 << 20}\n"), got)
        self.eventually(lambda: not self.left())

    def test_files_of_every_owner_are_removed(self):
        script = ("mkdir -p /root/a/b/c; mkdir -m 0 /root/none; mknod /root/p p; ln -s / /root/l;"
                  "touch /root/a/b/f; chown -R 1000:1000 /root/a /root/none 2> /dev/null; true")
        got = self.cordon("run", "-q", "--root-disk", "disk", "host", "--", "sh", "-c", script)
        self.assertEqual(got.code, 0, got)
        self.eventually(lambda: not self.left())

    def test_inspect_shows_the_disk(self):
        got = self.cordon("run", "-q", "-d", "--root-disk", "disk", "host", "--", "sleep", "600")
        self.assertEqual(got.code, 0, got)
        box = self.box(got.text.strip())
        self.assertEqual(self.held(box), "watched")
        seen = box.inspect()["config"]
        self.assertEqual(seen["image"]["Host"]["root_disk"],
                         {"kind": "managed", "on_disk": True, "size_mib": 4096})
        self.assertTrue(seen["lifecycle"]["ephemeral"])
        self.assertRegex(self.cordon("inspect", box.name).text,
                         r"(?m)^  Root disk: +4 GiB, on disk$")
        box.stop()
        self.cordon("list")
        self.eventually(lambda: not self.left())

    def test_without_the_option_it_is_in_memory(self):
        got = self.cordon("run", "-q", "host", "--", "df", "--output=fstype,size", "-m", "/")
        self.assertEqual(got.code, 0, got)
        got = self.cordon("run", "-q", "-d", "host", "--", "sleep", "600")
        box = self.box(got.text.strip())
        self.assertEqual(self.held(box), "tmpfs")
        box.stop()

    def test_a_configured_size_holds(self):
        os.makedirs(self.home, 0o700, exist_ok=True)
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"sandbox_defaults": {"oci": {"root_disk": "disk:48M"}}}, handle)
        got = self.cordon("run", "-q", "-d", "host", "--", "sleep", "600")
        box = self.box(got.text.strip())
        held = self.held(box)
        self.assertIn(held, ("watched", "loop image"))
        got = box.sh("while :; do head -c 8M /dev/zero >> /root/fill || exit 3; done")
        self.assertEqual(got.code, 137 if held == "watched" else 3, got)
        self.cordon("stop", "-q", box.name)  # a watched sandbox may already have ended, together with its command
        self.cordon("list")
        self.eventually(lambda: not self.left())

    def test_an_explicit_size_holds_or_is_refused(self):
        got = self.cordon("run", "-q", "--root-disk", "disk:24M", "host", "--", "sh", "-c",
                          "head -c 60M /dev/zero > /root/fill; stat -c %s /root/fill")
        if MODE == "root":
            self.assertRegex(got.errtext, FULL)
            self.assertLess(int(got.text), 24 << 20)
        else:
            self.assertEqual(got.code, 1, got)
            self.assertIn("--root-disk", got.errtext)
        self.eventually(lambda: not self.left())

    def test_a_killed_client_leaves_nothing(self):
        proc, _ = self.run_sleeper()
        proc.kill()
        proc.wait()
        self.eventually(lambda: not self.names() and not self.left())

    def test_a_killed_supervisor_leaves_nothing(self):
        proc, supervisors = self.run_sleeper()
        for pid in supervisors:
            os.kill(pid, signal.SIGKILL)
        self.finish(proc)
        self.eventually(lambda: not self.names() and not self.left())

    def test_killing_client_and_supervisor_leaves_nothing(self):
        proc, supervisors = self.run_sleeper()
        self.eventually(lambda: glob.glob(os.path.join(self.home, "sandboxes/*/state.json")))
        for pid in [proc.pid, *supervisors]:
            os.kill(pid, signal.SIGKILL)
        proc.wait()
        self.eventually(lambda: not self.names() and not self.left())
        self.assertEqual((groups_of(self.home), self.uid_claims()), (set(), []))

    def test_bad_options_are_refused(self):
        for value in ("disk:x", "disk:0", "disk:", "disk,clone=copy", "disks"):
            got = self.cordon("run", "-q", "--root-disk", value, "host", "--", "true")
            self.assertEqual(got.code, 1, got)
            self.assertIn("--root-disk", got.errtext)
        box = self.create()
        got = self.cordon("modify", box.name, "--root-disk", "disk", "--next-start")
        self.assertEqual(got.code, 1, got)


class Shown(SizeTest):
    modes = ALL_MODES

    def test_inspect_shows_how_the_default_size_is_held(self):
        box = self.create()
        self.assertIn(self.held(box), ("project quota", "watched"))
        self.assertRegex(self.cordon("inspect", box.name).text, r"(?m)^  Root disk: +4 GiB$")
        if self.held(box) == "watched":
            got = self.cordon("modify", box.name, "--root-disk", "8G", "--next-start")
            self.assertEqual(got.code, 1, got)
            self.assertIn("without a size", got.errtext)

    def test_doctor_says_how_root_disks_are_limited(self):
        got = self.cordon("doctor").errtext
        self.assertRegex(got, r"(?m)^   [✓!] Root disk +\S")

    def test_volumes_without_a_quota_are_shown(self):
        self.assertEqual(self.create().inspect()["limits"]["volumes"], "none")
        box = self.create("-v", f"{self.dir}:/d", "--tmpfs", "/t")
        self.assertEqual(box.inspect()["limits"]["volumes"], "not enforced")


class Refused(SizeTest):
    modes = ALL_MODES

    def refused(self, *args, said):
        got = self.cordon("create", "-q", *args)
        self.assertEqual(got.code, 1, got)
        self.assertRegex(got.errtext, said)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.cordon("volume", "list", "-q").text, "")

    def test_unsupported_root_disks_are_refused(self):
        self.refused("--root-disk", "flat:1G", "host", said="--root-disk flat")
        self.refused("--root-disk", "tmpfs:64M", self.make_root(), said="directory image")
        self.refused("--root-disk", "x", "host", said="--root-disk")
        self.refused("--oci-upper-size", "tmpfs:1G", "host", said="--oci-upper-size")

    def test_sizes_on_disk_need_root(self):
        if MODE == "root":
            self.not_run("root may have sizes on disk")
        self.refused("--root-disk", "64M", "host", said="without root\n.*tmpfs:SIZE")
        make_ext4(os.path.join(self.dir, "d.img"), 8)
        self.refused("--root-disk", "./d.img", "host", said="without root")
        self.refused("--mount-disk", "./d.img:/d", "host", said="without root")
        self.refused("-v", "work:/w:quota=1G", "host", said="quota cannot be enforced")

    def test_a_configured_size_is_watched(self):
        if MODE == "root":
            self.not_run("root may have sizes on disk")
        self.cordon("list")  # makes the home
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"sandbox_defaults": {"oci": {"root_disk": "24M"}}}, handle)
        self.assertEqual(self.held(self.create()), "watched")

    def test_quotas_of_host_paths(self):
        self.refused("-v", f"{self.dir}:/w:quota=1G", "host", said="-v NAME:PATH:quota=SIZE")

    def test_unsupported_owner_options_are_refused(self):
        for opt in ("stat-virt=strict", "stat-virt=relaxed", "host-perms=private"):
            self.refused("-v", f"{self.dir}:/w:{opt}", "host", said=opt)
        self.refused("-v", f"{self.dir}:/w:uid=1,gid=1,stat-virt=off", "host", said="stat-virt=off")
        if MODE != "root":
            self.refused("-v", f"{self.dir}:/w:stat-virt=off", "host", said="without root")


class DiskImages(SizeTest):
    """Disk images: files with a file system that the user made."""

    modes = ("root",)

    def setUp(self):
        super().setUp()
        self.image = os.path.join(self.dir, "d:isk.img")
        make_ext4(self.image, 24)

    def test_a_disk_image_as_root_disk(self):
        box = self.create("--root-disk", self.image)
        self.assertEqual(self.held(box), "loop image")
        box.out("echo 1 > /root/f; chown 7:8 /root/f")
        self.fill(box)
        box.out("rm /root/fill")
        got = self.cordon("create", "--root-disk", self.image, "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("mounted by another sandbox", got.errtext)
        self.assertEqual(box.remove("-f").code, 0)
        self.eventually(lambda: not loops_below(self.dir))
        other = self.create("--root-disk", f"{self.image}:format=raw,fstype=ext4")
        self.assertEqual(other.out("cat /root/f; stat -c %u:%g /root/f"), "1\n7:8")
        self.assertEqual(self.cordon("modify", other.name, "--root-disk", "64M").code, 1)

    def test_a_disk_image_as_volume(self):
        box = self.create("--mount-disk", f"{self.image}:/disk")
        box.out("echo 1 > /disk/f; chown 7:8 /disk/f; chmod 4755 /disk/f")
        self.fill(box, "/disk/fill")
        box.out("rm /disk/fill")
        mount = box.inspect()["config"]["mounts"][0]
        self.assertEqual((mount["type"], mount["host"], mount["format"]),
                         ("DiskImage", self.image, "raw"))
        self.assertEqual(box.inspect()["limits"]["volumes"], "none")  # the disk image has a fixed size
        self.assertEqual(box.remove("-f").code, 0)
        one, two = (self.create("--mount-disk", f"{self.image}:/d:ro,noexec") for _ in range(2))
        for box in (one, two):
            self.assertEqual(box.out("cat /d/f; stat -c %u:%g /d/f"), "1\n7:8")
            self.assertNotEqual(box.sh("touch /d/x").code, 0)
            self.assertNotEqual(box.sh("mount -o remount,rw /d").code, 0)

    def test_set_id_bits_on_many_disks(self):
        """A directory of the host is writable inside, so the deputy makes every chmod (src/guest/deputy.h). Only on a
        device that counts as the sandbox's own it keeps set-id bits, so it must know the devices of all disks."""
        many = 40
        first = os.path.join(self.dir, "0.img")
        make_ext4(first, 1, "-O", "^has_journal")
        words = ["--mount-disk", f"{first}:/d/0"]
        for i in range(1, many):
            shutil.copy(first, os.path.join(self.dir, f"{i}.img"))
            words += ["--mount-disk", f"{self.dir}/{i}.img:/d/{i}"]
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared)
        box = self.create("-v", f"{shared}:/w", *words)
        self.assertEqual(box.out("for d in /d/* /w; do echo > $d/f; chmod 4755 $d/f; done;"
                                 "stat -c %a /d/*/f | sort | uniq -c; stat -c %a /w/f").split(),
                         [str(many), "4755", "755"])

    def test_an_image_cannot_ask_for_a_panic(self):
        subprocess.run(["tune2fs", "-e", "panic", self.image], check=True, capture_output=True)
        for opts in (["--mount-disk", f"{self.image}:/d"], ["--root-disk", self.image]):
            box = self.create(*opts)
            place = "/d" if opts[0] == "--mount-disk" else "/"
            text = box.out("cat /proc/self/mountinfo")
            self.assertNotIn("errors=panic", text)
            if place == "/d":
                self.assertRegex(text, r"(?m) /d .*ext4.*errors=remount-ro")
            self.assertEqual(box.remove("-f").code, 0)
            self.eventually(lambda: not loops_below(self.dir))

    def test_other_file_systems_are_recognised(self):
        tree = os.path.join(self.dir, "tree")
        os.mkdir(tree)
        with open(os.path.join(tree, "f"), "w") as handle:
            handle.write("squashed\n")
        if not shutil.which("mksquashfs"):
            self.not_run("there is no mksquashfs here")
        image = os.path.join(self.dir, "s.raw")
        subprocess.run(["mksquashfs", tree, image, "-quiet", "-no-progress"], check=True)
        got = self.cordon("run", "--mount-disk", f"{image}:/d:ro", "host", "--", "cat", "/d/f")
        if got.code == 1 and "map the ids" in got.errtext:
            self.not_run("this kernel maps no ids of squashfs")
        self.assertEqual(got.text, "squashed\n", got)

    def test_bad_disk_images_are_refused(self):
        os.symlink(self.image, os.path.join(self.dir, "link"))
        text = os.path.join(self.dir, "text")
        with open(text, "w") as handle:
            handle.write("hello\n")
        inside = os.path.join(self.home, "d.img")
        self.cordon("list")
        shutil.copy(self.image, inside)
        for value, said in ((f"{self.image}.nope", "No such file"), (text, "no file system"),
                            (self.dir, "not a file"), (inside, "state directory"),
                            (f"{self.image}:/d:format=qcow2", "only raw"),
                            (f"{self.image}:/d:fstype=vfat", "vfat"),
                            (f"{self.image}:/d:quota=1G", "quota")):
            with self.subTest(value=value):
                value = value if ":/d" in value else f"{value}:/d"
                got = self.cordon("create", "--mount-disk", value, "host")
                self.assertEqual(got.code, 1, got)
                self.assertIn(said, got.errtext)
        for value, said in (("./nope", "No such file"), (text, "no file system"),
                            (f"{self.image}:format=qcow2", "only raw"), (inside, "state directory")):
            with self.subTest(root=value):
                got = self.cordon("create", "--root-disk", value, "host")
                self.assertEqual(got.code, 1, got)
                self.assertIn(said, got.errtext)
        self.assertEqual(self.names(), [])
        os.unlink(inside)
        box = self.create("--mount-disk", f"{self.dir}/link:/d")  # create follows the link once
        self.assertEqual(box.inspect()["config"]["mounts"][0]["host"], self.image)


class Owners(CordonTest):
    """The owners of files of a shared directory, as seen inside."""

    modes = ("root",)

    def setUp(self):
        super().setUp()
        self.shared = os.path.join(self.dir, "shared")
        os.mkdir(self.shared)
        with open(os.path.join(self.shared, "f"), "w") as handle:
            handle.write("1\n")
        for path in (self.shared, os.path.join(self.shared, "f")):
            os.chown(path, 4321, 4322)

    def test_files_of_a_volume_belong_to_the_given_user(self):
        box = self.create("-v", f"{self.shared}:/s:uid=1000,gid=1001", "-u", "1000:1001")
        self.assertEqual(box.out("stat -c %u:%g /s /s/f"), "1000:1001\n1000:1001")
        box.out("echo 2 > /s/g; chmod 600 /s/g; mkdir /s/d")
        for name in ("g", "d"):
            st = os.stat(os.path.join(self.shared, name))
            self.assertEqual((st.st_uid, st.st_gid), (4321, 4322))
        self.assertEqual(os.stat(os.path.join(self.shared, "g")).st_mode & 0o777, 0o600)
        # no other user can have files in the volume, not even root
        self.assertNotEqual(box.sh("touch /s/r", opts=("-u", "0")).code, 0)
        self.assertNotEqual(box.sh("chown 0 /s/f", opts=("-u", "0")).code, 0)
        self.assertEqual(box.inspect()["config"]["mounts"][0]["owner"], {"gid": 1001, "uid": 1000})

    def test_files_of_a_named_volume_belong_to_the_given_user(self):
        box = self.create("-v", "work:/w:uid=5,gid=6", "-u", "5:6")
        self.assertEqual(box.out("touch /w/f; stat -c %u:%g /w/f"), "5:6")

    def test_ids_beyond_the_map_are_refused(self):
        got = self.cordon("create", "-v", f"{self.shared}:/s:uid=65536,gid=1", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("below 65536", got.errtext)

    def test_stat_virt_off_shows_the_hosts_ids(self):
        os.chmod(self.shared, 0o700)
        box = self.create("-v", f"{self.shared}:/s:stat-virt=off")
        self.assertEqual(box.out("stat -c %u:%g /s /s/f"), "4321:4322\n4321:4322")
        box.out("echo 2 > /s/g; chown 77:78 /s/g; chmod 6755 /s/g")
        st = os.stat(os.path.join(self.shared, "g"))
        self.assertEqual((st.st_uid, st.st_gid, st.st_mode & 0o7777), (77, 78, 0o755))

    def test_modes_are_mirrored(self):
        box = self.create("-v", f"{self.shared}:/s:host-perms=mirror")
        box.out("chmod 640 /s/f")
        self.assertEqual(os.stat(os.path.join(self.shared, "f")).st_mode & 0o777, 0o640)


def projects(path):
    """Returns {number: (bytes allowed, bytes used)} of all projects of PATH's file system."""
    libc, found, number = ctypes.CDLL(None, use_errno=True), {}, 0
    fd = os.open(path, os.O_RDONLY)
    try:
        while True:
            raw = ctypes.create_string_buffer(128)
            if libc.syscall(443, fd, ctypes.c_uint(0x800009 << 8 | 2), number, raw) < 0:
                return found
            values = struct.unpack_from("=8QII", raw.raw)
            number = values[9]
            if number and (values[0] or values[2]):  # if both are 0, the kernel is removing this project
                found[number] = (values[0] << 10, values[2])
            number += 1
    finally:
        os.close(fd)


class ProjectQuota(SizeTest):
    """The test makes a file system with project quotas for the home."""

    modes = ("root",)

    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="q", dir=BASE)
        self.addCleanup(self.unmount)  # cleanups run in reverse order, so this one runs last
        super().setUp()
        image, mount = os.path.join(self.disk, "image"), os.path.join(self.disk, "mnt")
        make_ext4(image, 256, "-O", "project,quota", "-E", "quotatype=prjquota")
        os.mkdir(mount)
        got = subprocess.run(["mount", "-o", "loop,prjquota", image, mount], capture_output=True)
        if got.returncode != 0:
            self.not_run("this kernel has no project quotas")
        self.home = os.path.join(mount, "home")

    def unmount(self):
        mount = os.path.join(self.disk, "mnt")
        if os.path.ismount(mount):
            self.dir = self.disk  # cordon runs in this directory, because the test's first directory is deleted
            for name in self.cordon("volume", "list", "-q").text.split():
                self.cordon("volume", "remove", name)
            left = projects(mount)
            subprocess.run(["umount", mount], check=True)
            self.assertEqual(left, {}, "a quota was left behind")
        shutil.rmtree(self.disk)

    def test_the_default_is_enforced(self):
        box = self.create()
        self.assertEqual(self.held(box), "project quota")
        self.assertEqual([limit for limit, _ in projects(self.home).values()], [4 << 30])
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(self.held(box), "project quota")
        self.assertIn("✓ Root disk    limited by project quota", self.cordon("doctor").errtext)

    def test_a_size_is_kept_to_the_byte(self):
        box = self.create("--root-disk", "16M")
        self.fill(box)
        (limit, used), = projects(self.home).values()
        self.assertEqual(limit, 16 << 20)
        self.assertLessEqual(used, limit)
        self.assertGreater(used, limit - (1 << 20))
        self.assertEqual(box.out("df --output=size -m /").split()[-1], "16")
        got = self.cordon("modify", box.name, "--root-disk", "8M", "--next-start")
        self.assertEqual(got.code, 0, got)
        for _ in range(2):  # the layer is larger than its new size, so writing fails
            self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
            self.assertNotEqual(box.sh("head -c 1M /dev/zero > /root/more").code, 0)
        box.out("rm /root/fill /root/more")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual([limit for limit, _ in projects(self.home).values()], [8 << 20])

    def test_neighbours_do_not_share_a_quota(self):
        one, two = self.create("--root-disk", "16M"), self.create("--root-disk", "16M")
        self.fill(one)
        two.out("head -c 12M /dev/zero > /root/f")
        self.assertEqual(len(projects(self.home)), 2)

    def test_a_killed_sandbox_leaves_no_quota(self):
        box = self.create("--root-disk", "16M")
        self.kill_supervisor(box)
        self.assertEqual(box.remove("-f").code, 0)
        self.assertEqual(projects(self.home), {})

    def test_a_create_that_fails_leaves_no_quota(self):
        for name in ("one", "two"):
            got = self.cordon("create", "-q", "-n", name, "--tmpfs", "/proc/nope/x", "host")
            self.assertEqual(got.code, 1, got)
        self.assertEqual(projects(self.home), {})
        self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])

    def test_a_client_killed_while_it_creates_leaves_no_quota(self):
        for delay in (0, 0.01, 0.03, 0.1):
            proc = self.spawn("create", "-q", "--name", "victim", "host")
            threading.Event().wait(delay)
            proc.kill()
            proc.wait()
            # if create ended before the kill, the sandbox stays
            self.eventually(lambda: not self.left_running() or self.names("--running"), within=20)
            self.cordon("remove", "-f", "-q", "victim")
            self.eventually(lambda: not self.left_running(), within=20)
            self.cordon("list")
            self.assertEqual(projects(self.home), {})
            self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])

    def test_a_quota_cannot_be_left_from_inside(self):
        box = self.create("--root-disk", "16M", "-v", "work:/w:quota=8M")
        got = box.exec("python3", "-c", """
import fcntl, os, struct
GET, SET = 0x801c581f, 0x401c5820
for path in ("/root", "/root/f", "/w", "/w/f"):
    if path.endswith("f"):
        open(path, "w").close()
    fd = os.open(path, os.O_RDONLY)
    have = bytearray(fcntl.ioctl(fd, GET, bytes(28)))
    for flags, project in ((0, 0), (0x200, 0), (0x200, 7)):
        want = bytearray(have)
        struct.pack_into("=I", want, 0, flags)
        struct.pack_into("=I", want, 12, project)
        try:
            fcntl.ioctl(fd, SET, bytes(want))
            now = fcntl.ioctl(fd, GET, bytes(28))
            if now[12:16] != have[12:16]:
                print("OPEN", path, flags, project)
        except OSError as e:
            print("refused", path)
""")
        self.assertEqual(got.code, 0, got)
        self.assertNotIn("OPEN", got.text)
        self.assertIn("refused", got.text)
        self.fill(box)
        self.fill(box, "/w/fill")
        # The sandbox's layer and the volume are two quota projects. A file can belong to only one project. So a hard
        # link in the volume to a file of the layer would not count in the volume's quota, and must fail.
        self.assertNotEqual(box.sh("ln /root/fill /w/l").code, 0)

    def test_volumes_with_a_quota(self):
        box = self.create("-v", "work:/w:quota=16M")
        self.assertEqual(box.inspect()["limits"]["volumes"], "project quota")
        self.assertEqual(box.inspect()["config"]["mounts"][0]["quota_mib"], 16)
        self.fill(box, "/w/fill")
        self.assertLessEqual(int(box.out("stat -c %s /w/fill")), 16 << 20)
        box.out("echo fine > /root/f")
        self.assertEqual(self.cordon("volumes", "--format", "json").json()[0]["quota_mib"], 16)
        self.assertRegex(self.cordon("volume", "inspect", "work").text, r"(?m)^Quota: +16 MiB$")
        got = self.cordon("create", "-v", "work:/w:quota=32M", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("has a quota of 16 MiB", got.errtext)
        other = self.create("-v", "work:/w")  # the quota belongs to the volume, not to the sandbox
        self.assertNotEqual(other.sh("head -c 1M /dev/zero > /w/more").code, 0)
        self.assertEqual(other.inspect()["config"]["mounts"][0]["quota_mib"], 16)
        for each in (box, other):
            self.assertEqual(each.remove("-f").code, 0)
        self.assertEqual(self.cordon("volume", "remove", "work").code, 0)
        self.assertEqual(projects(self.home), {})

    def test_a_quota_that_no_longer_holds_is_refused(self):
        box = self.create("--root-disk", "16M", "-v", "work:/w:quota=16M")
        self.assertEqual(box.stop().code, 0)
        mount = os.path.join(self.disk, "mnt")
        subprocess.run(["umount", mount], check=True)
        subprocess.run(["mount", "-o", "loop", os.path.join(self.disk, "image"), mount], check=True)
        got = box.start()
        self.assertEqual(got.code, 1, got)
        self.assertIn("prjquota", got.errtext)
        got = self.cordon("create", "-v", "work:/w", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("prjquota", got.errtext)
        subprocess.run(["umount", mount], check=True)
        subprocess.run(["mount", "-o", "loop,prjquota", os.path.join(self.disk, "image"), mount],
                       check=True)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.remove("-f").code, 0)
        self.assertEqual(self.cordon("volume", "remove", "work").code, 0)


class NoProjectQuota(SizeTest):
    """Sandboxes of root on a file system without project quotas."""

    modes = ("root",)

    def test_quotas_of_volumes_are_refused(self):
        place = os.path.join(self.dir, "mem")
        os.mkdir(place)
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
        self.home = os.path.join(place, "home")
        try:
            got = self.cordon("create", "-v", "work:/w:quota=1G", "host")
            self.assertEqual(got.code, 1, got)
            self.assertRegex(got.errtext, "prjquota.*kind=disk,size=SIZE")
            self.assertEqual(self.cordon("volume", "list", "-q").text, "")
            self.assertEqual(self.names(), [])
        finally:
            subprocess.run(["umount", place], check=True)
