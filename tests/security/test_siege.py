"""Attacks on the host's side of the isolation, for example by paths that are resolved twice, unlisted addresses of
the host, privileges of files in shared directories, kernel pools that the whole machine shares, the size of writable
layers, hostile registries, or processes that the payload hijacks.
docs/security.md names these tests."""

import base64
import ctypes
import errno
import glob
import io
import json
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import stat
import struct
import subprocess
import tarfile
import tempfile
import threading

import netlab
from attack import AttackTest, Swapper, compiled
from harness import (ALL_MODES, BASE, COMMAND_SECONDS, CORDON, MODE, SERVED, USUAL_MODES,
                     CordonTest, Process, below, cgroup_mounts)
from image_fixtures import FakeHandler, FakeRegistry, ImageMixin, Layer, make_certificate
from netlab import PUBLIC, PUBLIC2, PUBLIC6, Server, eventually, hello
from skills_worker import Worker
from test_background import (COMMAND, EXIT, HAS_ENDED, SESSION, STARTED, UNTIL_END, BackgroundTest, command_of,
                             fields, number)
from test_gateway import GatewayTest, ShownTest, client_hello
from test_network import USER, NetworkTest

# --- 1. a host path means one object ---------------------------------------------------------


class HostPaths(AttackTest):
    """The record of a sandbox has a path of the host. A process in a sandbox puts a link or another object there."""

    modes = ALL_MODES

    def setUp(self):
        super().setUp()
        self.secret, self.ws = (os.path.join(self.dir, n) for n in ("secret", "ws"))
        os.makedirs(os.path.join(self.ws, "data"))
        os.mkdir(self.secret)
        self.write(os.path.join(self.secret, "key"), "secret")
        self.write(os.path.join(self.ws, "data", "mine"), "mine")

    @staticmethod
    def write(path, text):
        with open(path, "w") as handle:
            handle.write(text)

    def refused(self, got, *said):
        """Asserts that GOT is an error with all of SAID, and that the files outside are unchanged."""
        self.assertEqual(got.code, 1, got)
        for text in said:
            self.assertIn(text, got.errtext)
        self.assertEqual(os.listdir(self.secret), ["key"])

    def test_a_volume_below_a_shared_directory(self):
        """The source of the second volume is replaced by a link to another place."""
        data = os.path.join(self.ws, "data")
        box = self.create("-v", f"{self.ws}:/ws", "-v", f"{data}:/data")
        box.out(f"mv /ws/data /ws/d && ln -s {self.secret} /ws/data")
        self.refused(box.cordon("restart", box.name), data, "symbolic link", "modify", "--volume")
        box.stop()
        got = box.cordon("start", box.name)
        self.refused(got, data, "symbolic link")
        os.unlink(data)
        os.rename(os.path.join(self.ws, "d"), data)
        self.assertEqual(box.start().code, 0)  # the start works, because the directory is in its old place again
        self.assertEqual(box.out("cat /data/mine"), "mine")

    def test_another_directory_of_the_same_name_is_refused(self):
        """A new directory of the same name, perhaps even with the old inode number, must be
        refused."""
        data = os.path.join(self.ws, "data")
        box = self.create("-v", f"{self.ws}:/ws", "-v", f"{data}:/data")
        box.out("rm -r /ws/data/* && mv /ws/data /ws/d && mkdir /ws/data")
        box.stop()
        self.refused(box.start(), data, "another directory")

    # in the mode served-user the directories are on an overlay
    test_another_directory_of_the_same_name_is_refused.modes = (*ALL_MODES, "served-user")

    def test_a_link_in_the_path_to_the_source_is_refused(self):
        """The first of two sandboxes can move a directory that lies above the second sandbox's source."""
        deep = os.path.join(self.ws, "a/b")
        os.makedirs(deep)
        os.makedirs(os.path.join(self.secret, "b"))
        self.addCleanup(os.rmdir, os.path.join(self.secret, "b"))
        attacker = self.create("-v", f"{self.ws}:/ws")
        victim = self.create("-v", f"{deep}:/data")
        victim.stop()
        attacker.out(f"mv /ws/a /ws/x && ln -s {self.secret} /ws/a")
        got = victim.start()
        self.assertEqual(got.code, 1, got)
        self.assertIn("symbolic link", got.errtext)
        attacker.out("rm /ws/a && mv /ws/x /ws/a")
        self.assertEqual(victim.start().code, 0)

    def test_a_protected_subdirectory(self):
        """A read-only volume lies two levels below a writable volume."""
        deep = os.path.join(self.ws, "a/b")
        os.makedirs(deep)
        box, other = self.create("-v", f"{self.ws}:/ws", "-v", f"{deep}:/ws/a/b:ro"), self.create("-v", f"{self.ws}:/ws")
        box.stop()
        other.out(f"mv /ws/a /ws/x && mkdir /ws/a && ln -s {self.secret} /ws/a/b")
        self.refused(box.start(), deep, "symbolic link")

    def test_a_command_does_not_move_the_directories_above_a_mount(self):
        """If a command could move these directories, the host would find the command's files where the read-only
        volume was."""
        deep = os.path.join(self.ws, "a/b/c")
        os.makedirs(deep)
        self.write(os.path.join(deep, "hook"), "mine")
        box = self.create("-v", f"{self.ws}:/ws", "-v", f"{deep}:/ws/a/b/c:ro", "-v", f"{self.secret}:/ws/a/b/d/e")
        for script in ("mv /ws/a /ws/x", "mv /ws/a/b /ws/a/x", "mv /ws/a/b/d /ws/a/b/x", "rm -r /ws/a"):
            self.assertNotEqual(box.sh(script).code, 0, script)
        box.out("touch /ws/a/f /ws/a/b/f && mv /ws/a/f /ws/a/g && rm /ws/a/g /ws/a/b/f")
        self.assertEqual(box.out("cat /ws/a/b/c/hook"), "mine")
        with open(os.path.join(deep, "hook")) as handle:
            self.assertEqual(handle.read(), "mine")
        box.stop()
        self.assertEqual(sorted(os.listdir(os.path.join(self.ws, "a/b"))), ["c"])

    def test_a_file_that_became_a_link_is_refused(self):
        """A start must accept another file that was renamed to the old path, as editors do. The
        start must refuse a link, an object that is no regular file, and a file that the path
        reaches through another directory."""
        path = os.path.join(self.ws, "data/mine")
        box = self.create("-v", f"{self.ws}:/ws", "-v", f"{path}:/mine")
        box.out("echo new > /ws/data/n && mv /ws/data/n /ws/data/mine")
        box.stop()
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /mine"), "new")
        box.out(f"ln -sf {self.secret}/key /ws/data/mine")
        box.stop()
        self.refused(box.start(), path, "symbolic link")
        os.unlink(path)
        os.mkfifo(path)
        self.refused(box.start(), path, "not a regular file")
        os.unlink(path)
        os.rename(os.path.join(self.ws, "data"), os.path.join(self.ws, "d"))
        os.mkdir(os.path.join(self.ws, "data"))
        self.write(path, "theirs")
        self.refused(box.start(), path, "another directory")

    def test_a_root_directory_that_became_a_link_is_refused(self):
        root = os.path.join(self.ws, "root")
        os.rename(self.make_root(), root)
        box = self.create(image=root)
        other = self.create("-v", f"{self.ws}:/ws")
        box.stop()
        other.out(f"mv /ws/root /ws/r && ln -s {self.secret} /ws/root")
        self.refused(box.start(), root, "symbolic link")
        self.assertEqual(box.remove().code, 0)
        self.assertEqual(os.listdir(self.secret), ["key"])

    def test_a_record_without_identities(self):
        """An older cordon wrote such records. The first start must follow no link and must record
        the object that it finds."""
        data = os.path.join(self.ws, "data")
        box = self.create("-v", f"{data}:/data", "-v", f"{data}/mine:/mine")
        box.stop()
        config = os.path.join(self.home, "sandboxes", box.name, "config.json")

        def forget():
            with open(config) as handle:
                record = json.load(handle)
            for mount in record["config"]["mounts"]:
                mount.pop("identity", None)
            self.write(config, json.dumps(record))

        forget()
        os.rename(data, data + ".real")
        os.symlink(self.secret, data)
        self.refused(box.start(), data, "symbolic link")
        os.unlink(data)
        os.rename(data + ".real", data)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /mine"), "mine")
        self.assertTrue(all(m["identity"] for m in box.inspect()["config"]["mounts"]))
        box.stop()
        os.rename(data, data + ".real")
        os.mkdir(data)
        self.refused(box.start(), data, "another directory")

    def test_a_directory_that_was_moved_is_named_again(self):
        """Only `modify --volume` accepts another object at a recorded path."""
        data = os.path.join(self.ws, "data")
        box = self.create("-v", f"{data}:/data:ro")
        box.stop()
        os.rename(data, data + ".moved")
        self.refused(box.start(), data, "does not exist any more", "modify", "--volume")
        got = self.cordon("modify", box.name, "-v", f"{data}.moved:/data:ro")
        self.assertEqual(got.code, 0, got)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /data/mine; touch /data/x 2>/dev/null || echo ro"), "minero")
        os.mkdir(data)
        self.write(os.path.join(data, "new"), "new")
        got = self.cordon("modify", box.name, "-v", f"{data}:/data")
        self.assertEqual(got.code, 1, got)  # a running sandbox cannot be changed
        self.assertIn("needs a restart", got.errtext)
        with self.claiming(box):
            got = self.cordon("modify", box.name, "-v", f"{data}:/data", "-v", f"{self.ws}:/more",
                              "--restart")
        self.assertEqual(got.code, 0, got)
        self.assertEqual(box.out("ls /data; cat /more/data/new"), "new\nnew")
        box.stop()
        os.rename(data, data + ".old")
        os.mkdir(data)  # a new directory at the same path is refused, too
        self.refused(box.start(), data, "another directory")
        self.assertEqual(self.cordon("modify", box.name, "-v", f"{data}:/data").code, 0)
        self.assertEqual(box.start().code, 0)
        self.cordon("modify", box.name, "-v", f"{self.ws}:/data", "--next-start")
        self.assertIn("volumes./data", str(box.inspect()["pending_changes"]))


    def test_disk_images_that_became_links_are_refused(self):
        """A volume's disk image and a root disk lie in a directory that a sandbox can write."""
        for name in ("volume", "root"):
            path = os.path.join(self.ws, f"data/{name}.raw")
            subprocess.run(["truncate", "-s", "8M", path], check=True)
            subprocess.run(["mke2fs", "-q", "-t", "ext4", path], check=True)
            shutil.copy(path, self.secret)
        data = os.path.join(self.ws, "data")
        other = self.create("-v", f"{self.ws}:/ws")
        for opts in (("--mount-disk", f"{data}/volume.raw:/disk"),
                     ("--root-disk", f"{data}/root.raw")):
            box = self.create(*opts)
            box.stop()
            other.out(f"mv /ws/data /ws/d && ln -s {self.secret} /ws/data")
            got = box.start()
            self.assertEqual(got.code, 1, got)
            self.assertIn("symbolic link", got.errtext)
            other.out("rm /ws/data && mv /ws/d /ws/data")
            with open(os.path.join(data, "in the way"), "w"):
                pass  # other files beside the image do not matter
            self.assertEqual(box.start().code, 0)
            box.remove("-f")

    test_disk_images_that_became_links_are_refused.modes = ("root",)  # only root can mount disk images

    def swapping(self, box, script):
        """Starts a command inside that repeats SCRIPT until the sandbox ends."""
        command = box.popen("sh", "-c", f"echo up; while :; do {script}; done")
        self.assertEqual(command.stdout.readline(), b"up\n")
        return command

    def test_a_swap_while_others_start_and_copy(self):
        """While other programs use the path, a process in the sandbox keeps swapping a directory for a link to the
        outside."""
        data, outside = os.path.join(self.ws, "data"), os.path.join(self.secret, "key")
        attacker = self.create("-v", f"{self.ws}:/ws")
        victim = self.create("-v", f"{data}:/data")
        victim.stop()
        racer = self.swapping(attacker, f"mv -T /ws/data /ws/d; ln -s {self.secret} /ws/data; "
                                        "rm /ws/data; mv -T /ws/d /ws/data")
        for _ in range(5):
            if victim.start().code == 0:
                self.assertEqual(victim.out("ls /data; touch /data/mine"), "mine")
                victim.stop()
            box = self.box()
            with self.claiming(box):
                got = self.cordon("create", "-q", "-n", box.name, "-v", f"{data}:/data:ro",
                                  "--copy", f"{data}:/root/copy", "host")
            # a create during the swaps may get either object, and keeps the object it got
            if got.code == 0:
                seen = box.out("cat /data/*")
                self.assertIn(seen, ("mine", "secret"))
                box.stop()
                if box.start().code == 0:
                    self.assertEqual(box.out("cat /data/*"), seen)
            self.assertIn(box.remove("-f").code, (0, 1))
            self.assertEqual(os.listdir(self.secret), ["key"])
        attacker.remove("-f")
        racer.wait(10)
        with open(outside) as handle:
            self.assertEqual(handle.read(), "secret")

    # the supervisor mounts for root's sandboxes, and its child mounts for a user's sandboxes
    test_a_swap_while_others_start_and_copy.modes = ("root", "user")

    def test_copy_reads_the_source_that_was_named(self):
        """`--copy` reads its sources one by one after the start. The second source is swapped while the first is
        read."""
        first, data = os.path.join(self.dir, "first"), os.path.join(self.ws, "data")
        theirs = os.path.join(self.dir, "theirs")
        os.mkdir(theirs)
        self.write(os.path.join(theirs, "mine"), "theirs")
        self.write(first, "x" * (24 << 20))
        swapper = Swapper(self.ws, "data", theirs, first)
        self.addCleanup(swapper.close)
        box = self.box()
        with self.claiming(box):
            got = self.cordon("create", "-q", "-n", box.name, "--copy", f"{first}:/root/first",
                              "--copy", f"{data}/mine:/root/copy", "host")
        self.assertTrue(swapper.swaps)
        self.refused(got, data, "symbolic link")
        link = os.path.join(self.ws, "link")
        os.symlink(self.secret, link)  # the copy contains what the link leads to, and has the name of the link
        box = self.create("--copy", f"{link}:/root", "--copy-file", f"{link}/key:/root/file")
        self.assertEqual(box.out("cat /root/link/key /root/file"), "secretsecret")

    test_copy_reads_the_source_that_was_named.modes = ("root", "user")

    def test_an_installed_command_refuses_a_swapped_path(self):
        """The installed command passes the same paths at every run, but the user named these paths only once."""
        data = os.path.join(self.ws, "data")
        got = self.cordon("install", "--tmp", "-n", "tool", "-v", f"{self.ws}:/ws", "-v", f"{data}:/data",
                          "host", "--", "sh", "-c")
        self.assertEqual(got.code, 0, got)
        tool = os.path.join(self.home, "bin/tool")
        swap = f"cat /data/mine && mv /ws/data /ws/d && ln -s {self.secret} /ws/data"
        self.assertEqual(self.cordon(swap, program=tool).text, "mine")
        self.refused(self.cordon("cat /data/key", program=tool), data, "symbolic link")

    test_an_installed_command_refuses_a_swapped_path.modes = ("root", "user")

    def test_parts_of_the_home_that_live_elsewhere(self):
        """The member `paths` of config.json puts links into the home. The targets of these links must
        be checked like the source of a volume."""
        place = os.path.join(self.ws, "a/vols")
        os.mkdir(self.home, mode=0o700)
        self.write(os.path.join(self.home, "config.json"),
                   json.dumps({"paths": {"volumes": place}}))
        box = self.create("-v", "kept:/data")
        box.stop()
        os.rename(os.path.join(self.ws, "a"), os.path.join(self.ws, "x"))
        os.makedirs(os.path.join(self.secret, "vols/kept"))
        self.addCleanup(shutil.rmtree, os.path.join(self.secret, "vols"))
        os.symlink(self.secret, os.path.join(self.ws, "a"))
        os.symlink(self.secret, os.path.join(self.secret, "vols/kept/data"))
        for args in (("start", box.name), ("create", "-v", "kept:/data", "host"),
                     ("volume", "list")):
            got = self.cordon(*args)
            self.assertEqual(got.code, 1, got)
            self.assertIn("symbolic link", got.errtext)
        os.unlink(os.path.join(self.ws, "a"))
        shutil.copytree(os.path.join(self.ws, "x"), os.path.join(self.ws, "a"))
        self.assertIn("not the directory that it was", box.start().errtext)
        shutil.rmtree(os.path.join(self.ws, "a"))
        os.rename(os.path.join(self.ws, "x"), os.path.join(self.ws, "a"))
        self.assertEqual(box.start().code, 0)

    test_parts_of_the_home_that_live_elsewhere.modes = ("root", "user")


class OurState(AttackTest):
    """A volume that contains the state directory must show an empty directory in place of the state
    directory."""

    modes = ALL_MODES

    def setUp(self):
        super().setUp()
        self.top = os.path.join(self.dir, "top")
        self.home = os.path.join(self.top, "a/b/home")
        os.makedirs(os.path.join(self.top, "a/b"))
        self.create()

    def hidden(self, box, path):
        got = box.sh(f"cd {path} && ls -A . 2>/dev/null; touch {path}/x 2>/dev/null && echo OPEN; true")
        self.assertEqual(got.text, "", got)

    def test_no_directory_above_the_home_can_be_moved(self):
        """If a command could move such a directory, the command could put a home with forged
        records in place of the real home."""
        box = self.create("-v", f"{self.top}:/v")
        self.hidden(box, "/v/a/b/home")
        # perl, because mv copies the files if rename() fails
        self.assertEqual(box.out("for d in /v/a /v/a/b /v/a/b/home; do perl -e "
                                 "'rename($ARGV[0], \"/v/x\") and print \"OPEN\"' $d; done; ls /v"), "a")
        self.assertEqual(box.out("echo fine > /v/a/b/file; cat /v/a/b/file"), "fine")

    def test_no_mount_point_is_made_in_the_home(self):
        """A directory in the home could look like a record, even if it is there for a moment only."""
        cache = os.path.join(self.home, "cache")
        before = os.stat(cache).st_mtime_ns
        for place in ("cache/x", "sandboxes/x/y"):
            got = self.cordon("create", "-v", f"{self.top}:/v", "--tmpfs", f"/v/a/b/home/{place}", "host")
            self.assertEqual(got.code, 1, got)
            self.assertIn(f"'/v/a/b/home/{place}' is inside the state directory", got.errtext)
        self.assertEqual(os.stat(cache).st_mtime_ns, before)

    def test_no_mount_point_is_made_in_a_root_directory_around_the_home(self):
        root = self.make_root()
        box = self.create(image=root)
        box.stop()
        inside = os.path.join(root, "home")
        os.rename(self.home, inside)
        before = os.stat(root).st_mtime_ns
        got = self.cordon("start", box.name, home=inside)
        after = os.stat(root).st_mtime_ns
        os.rename(inside, self.home)
        self.assertEqual(got.code, 1, got)
        self.assertIn("holds the state directory", got.errtext)
        self.assertEqual(after, before)

    # root's table of id ranges would keep a claim of the moved record
    test_no_mount_point_is_made_in_a_root_directory_around_the_home.modes = ("user", "bare", "container", "userns")

    def mounted(self, source, target):
        os.makedirs(target, exist_ok=True)
        subprocess.run(["mount", "--bind", source, target], check=True)
        self.addCleanup(subprocess.run, ["umount", target], check=True)

    def test_bind_mounts_do_not_show_the_home(self):
        """The source of a volume is a bind mount, or contains one. This bind mount shows the home,
        a directory above the home, or a part of the home."""
        alias, box = os.path.join(self.dir, "alias"), None
        self.mounted(os.path.join(self.top, "a"), alias)
        shared = os.path.join(self.dir, "shared")
        self.mounted(self.home, os.path.join(shared, "state"))
        self.mounted(os.path.join(self.home, "sandboxes"), os.path.join(shared, "part"))
        self.mounted(os.path.join(self.top, "a"), os.path.join(shared, "deep/er"))
        box = self.create("-v", f"{alias}:/alias", "-v", f"{shared}:/shared")
        for path in ("/alias/b/home", "/shared/state", "/shared/part", "/shared/deep/er/b/home"):
            self.hidden(box, path)
        for path in ("state", "part", "deep/er/b/home/sandboxes"):
            got = self.cordon("create", "-v", os.path.join(shared, path) + ":/x", "host")
            self.assertEqual(got.code, 1, got)
            self.assertIn("inside the state directory", got.errtext)
        got = self.cordon("create", alias)
        self.assertEqual(got.code, 1, got)
        self.assertIn("holds the state directory", got.errtext)
        box.remove("-f")

    test_bind_mounts_do_not_show_the_home.modes = ("root", "container")  # only root can make bind mounts

    def test_later_mounts_stay_outside(self):
        """The host may mount something below a volume later. In the sandbox, such a mount would lack the options of
        the volume, such as read-only and nodev."""
        base, volume = os.path.join(self.dir, "base"), os.path.join(self.dir, "base/volume")
        self.mounted(self.top, base)
        subprocess.run(["mount", "--make-shared", base], check=True)
        os.makedirs(os.path.join(volume, "later"))
        box = self.create("-v", f"{volume}:/v:ro")
        os.makedirs(os.path.join(self.dir, "source/seen"))
        self.mounted(os.path.join(self.dir, "source"), os.path.join(volume, "later"))
        self.assertEqual(box.out("ls -A /v/later; touch /v/later/x 2>/dev/null && echo OPEN; true"), "")
        box.remove("-f")

    test_later_mounts_stay_outside.modes = ("root", "container")


# --- 2. addresses of the host ----------------------------------------------------------------


class HostAddresses(GatewayTest):
    """The kernel's routes decide which addresses belong to the host. In most tests a server listens on the host, so
    that the test sees a packet that comes through."""

    LATER = "203.0.113.77"

    def listen(self, address, port=80):
        """Starts a server on the host. The host need not have the server's address yet."""
        def bind():
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            s = socket.socket(family)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
            s.bind((address, port))
            s.listen()
            s.setblocking(False)
            return s
        s = self.lab.outside.do(bind)
        self.addCleanup(s.close)
        return s

    def never_reached(self, listener):
        with self.assertRaises(BlockingIOError):
            listener.accept()

    def datagrams(self, ns, address, port=7000):
        s = ns.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, 15, 1)
        s.bind((address, port))
        self.addCleanup(s.close)
        return s

    def conversation(self, address):
        """Starts a UDP conversation with a server in the world."""
        theirs = self.datagrams(self.lab.world, address)
        ours = self.lab.inside.socket(theirs.family, socket.SOCK_DGRAM)
        self.addCleanup(ours.close)
        ours.connect((address, 7000))
        ours.send(b"ping")
        theirs.sendto(b"pong", theirs.recvfrom(100)[1])
        self.assertEqual(ours.recv(100), b"pong")
        return ours

    def conversation_ends(self, ours, address):
        """Asserts that the host, which now has ADDRESS, gets no packet of the conversation OURS."""
        own = self.datagrams(self.lab.outside, address)
        own.setblocking(False)
        ours.send(b"secret")
        with self.assertRaises(OSError) as caught:
            ours.recv(100)
        self.assertIn(caught.exception.errno, (errno.EHOSTUNREACH, errno.EACCES), caught.exception)
        with self.assertRaises(BlockingIOError):
            own.recv(100)

    def test_secondary_addresses(self):
        self.lab.outside.ip(f"address add {self.LATER}/24 dev up0\n")
        listener = self.listen("0.0.0.0")
        self.start()
        self.refused(self.LATER, 80)
        self.never_reached(listener)
        # a rule for a network that contains the address does not allow the address; only a rule for
        # the address itself does
        self.lab.ask(type="policy", network=netlab.network([netlab.rule("allow", {"cidr": "203.0.113.0/24"})]))
        self.refused(self.LATER, 80)
        self.never_reached(listener)
        self.lab.ask(type="policy", network=netlab.network([netlab.rule("allow", {"cidr": self.LATER})]))
        self.lab.connect(self.LATER, 80).close()

    def test_addresses_that_the_host_gets_while_the_gateway_runs(self):
        listener = self.listen(self.LATER)
        self.start()
        self.lab.outside.ip(f"address add {self.LATER}/24 dev up0\n")
        self.refused(self.LATER, 80)
        self.never_reached(listener)

    def test_the_anycast_address_of_a_subnet(self):
        """A router has this address, but the kernel does not list it."""
        self.start()
        self.lab.outside.sysctl("ipv6/conf/all/forwarding", 1)
        own = self.datagrams(self.lab.outside, "::")
        own.setblocking(False)
        with self.lab.inside.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
            s.connect(("2001:db8::", 7000))
            s.send(b"secret")
            with self.assertRaises(OSError) as caught:
                s.recv(100)
            self.assertEqual(caught.exception.errno, errno.EACCES)
        with self.assertRaises(BlockingIOError):
            own.recv(100)
        self.refused("2001:db8::", 80)

    def test_broadcast_and_echo(self):
        self.lab.outside.ip(f"address add {self.LATER}/24 dev up0\n")
        self.start()
        self.lab.inside.sysctl("ipv4/ping_group_range", "0 2147483647")
        for address, kind, proto in ((self.LATER, socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
                                     ("203.0.113.255", socket.SOCK_DGRAM, 0)):
            with self.lab.inside.do(socket.socket, socket.AF_INET, kind, proto) as s:
                s.settimeout(5)
                s.connect((address, 7000))
                s.send(bytes([8, 0, 0, 0, 0, 0, 0, 1]) + b"payload")
                with self.assertRaises(OSError, msg=address) as caught:
                    s.recv(100)
                self.assertEqual(caught.exception.errno, errno.EHOSTUNREACH, address)

    def test_a_conversation_ends_when_the_host_takes_its_address(self):
        self.start()
        ours, ours6, local = (self.conversation(a) for a in (PUBLIC, PUBLIC6, PUBLIC2))
        self.lab.outside.ip(f"address add {PUBLIC} dev lo\naddress add {PUBLIC6} dev lo nodad\n"
                            f"route add local {PUBLIC2} dev lo\n")
        # a task of the kernel makes the local route of an IPv6 address, perhaps after the command has ended
        eventually(lambda: self.lab.outside.run("ip", "-6", "route", "get", PUBLIC6).stdout.startswith("local"))
        self.conversation_ends(ours, PUBLIC)
        self.conversation_ends(ours6, PUBLIC6)
        self.conversation_ends(local, PUBLIC2)

    def test_an_unfinished_connection_ends_when_the_host_takes_its_address(self):
        """If the connection did not end, the kernel would send the next SYN of this connection to
        the host."""
        self.lab.outside.ip(netlab.BLACK_HOLE)
        listener = self.listen("198.18.0.1")
        self.start()
        with self.lab.inside.socket() as s:
            s.setblocking(False)
            self.assertEqual(s.connect_ex(("198.18.0.1", 80)), errno.EINPROGRESS)
            eventually(lambda: self.lab.counters()["live"] == 1)
            self.lab.outside.ip("address add 198.18.0.1 dev lo\n")
            self.assertEqual(eventually(lambda: s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)), errno.ECONNREFUSED)
        self.never_reached(listener)

    def test_ipv6_addresses_that_contain_an_address_of_the_host(self):
        """A translator on the path turns such an IPv6 address into the IPv4 address that it contains."""
        self.lab.outside.ip("route add 64:ff9b::/96 via 2001:db8::2\n")
        self.start()
        self.refused("64:ff9b::203.0.113.1", 80)
        self.refused("2002:cb00:7101::1", 80)

    def test_addresses_that_a_provider_translates(self):
        servers = [Server(self.lab.world, a, 80, hello) for a in (PUBLIC2, PUBLIC)]
        for server in servers:
            self.addCleanup(server.close)
        self.start(host_addresses=[PUBLIC2, "2001:db8:1::/64"])
        self.assertEqual(self.get(PUBLIC, 80), b"hello\n")
        self.refused(PUBLIC2, 80)
        self.refused(PUBLIC6, 80)
        self.assertEqual(servers[0].seen, [])

    def test_ranges_that_are_not_public(self):
        self.lab.outside.ip("route add 192.0.0.0/24 via 203.0.113.2\nroute add fec0::/10 via 2001:db8::2\n")
        self.start()
        for address in ("192.0.0.1", "192.0.0.192", "fec0::1", "64:ff9b:1::1"):
            self.refused(address, 80)


class TranslatedAddresses(NetworkTest):
    """config.json names addresses that the kernel's routes do not show."""

    def configure(self, text):
        os.makedirs(self.home, exist_ok=True)
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            handle.write(text)

    def test_configured_host_addresses_are_refused(self):
        servers = [self.server(a, 80) for a in (PUBLIC, PUBLIC2)]
        box = self.create()
        self.assertEqual(self.connect(box, PUBLIC2, 80), "got hello")
        self.configure('{"host_addresses": ["%s", "2001:db8:5::/64"]}' % PUBLIC2)
        self.assertEqual(box.cordon("restart", box.name).code, 0)  # each start reads config.json
        self.assertEqual(self.connect(box, PUBLIC2, 80), "ConnectionRefusedError")
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        self.assertEqual([len(s.seen) for s in servers], [1, 1])
        self.assertIn("allow@203.0.113.20:tcp:80", self.denials(box)[-1])
        self.configure('{"host_addresses": ["nowhere"]}')
        got = box.cordon("restart", box.name)
        self.assertEqual(got.code, 1)
        self.assertIn("host_addresses: bad address or network 'nowhere'", got.errtext)


class UserTranslatedAddresses(TranslatedAddresses):
    user = USER


class DnsOverTcp(GatewayTest):
    """Tests the gateway's own small TCP server, which answers on port 53 of every address."""

    def setUp(self):
        super().setUp()
        self.dns = self.resolver({"good.example": [PUBLIC]})

    @staticmethod
    def question(name="good.example"):
        query = netlab.dns_query(name)
        return struct.pack(">H", len(query)) + query

    def answer(self, s):
        return netlab.parse_reply(netlab.receive_exactly(s, struct.unpack(">H", netlab.receive_exactly(s, 2))[0]))

    def test_the_gateway_answers_every_tcp_query(self):
        """The connection of a query must reach no server on port 53, not even one on the host. The
        gateway asks its resolver only for names that are not denied."""
        own = Server(self.lab.outside, netlab.HOST, 53, hello)
        self.addCleanup(own.close)
        self.start(netlab.network([netlab.rule("deny", {"domain": "evil.example"}), netlab.ALLOW_DNS]))
        for server in (netlab.GATEWAY, netlab.HOST, PUBLIC2, netlab.GATEWAY6):
            self.assertEqual(self.lab.resolve("good.example", server=server, tcp=True), (0, [PUBLIC], False))
        self.assertEqual(self.lab.resolve("evil.example", tcp=True)[0], 3)
        self.assertEqual(own.seen, [])
        self.assertEqual({name for name, _, _ in self.dns.asked}, {"good.example"})

    def test_clients_that_send_in_pieces_or_leave_early(self):
        self.start()
        with self.lab.connect(netlab.GATEWAY, 53) as s:  # sends one question in pieces, and then two questions at once
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in self.question():
                s.send(bytes([byte]))
            self.assertEqual(self.answer(s), (0, [PUBLIC], False))
            s.sendall(self.question() + self.question("no.example"))
            s.shutdown(socket.SHUT_WR)
            self.assertEqual([self.answer(s)[0] for _ in range(2)], [0, 3])
            self.assertEqual(s.recv(1), b"")
        for wrong in (b"\0\0", b"\0\1x", b"\xff\xff" + bytes(4000)):
            with self.lab.connect(netlab.GATEWAY, 53) as s, self.assertRaises(ConnectionError, msg=wrong[:2]):
                s.sendall(wrong)
                netlab.receive_exactly(s, 1)
        self.assertEqual(self.lab.resolve("good.example", tcp=True)[0], 0)

    def test_more_clients_than_the_gateway_serves(self):
        self.start()
        clients = [self.lab.connect(netlab.GATEWAY, 53) for _ in range(32)]
        for s in clients:
            self.addCleanup(s.close)
        self.refused(netlab.GATEWAY, 53)
        self.assertEqual(self.lab.resolve("good.example")[0], 0)
        clients[7].close()
        self.assertTrue(eventually(self.served))

    def served(self):
        try:
            return self.lab.resolve("good.example", tcp=True)[0] == 0
        except ConnectionError:
            return False

    def test_a_client_that_does_not_read(self):
        """The gateway must stop reading the questions of this client, and must still serve other
        clients."""
        self.start()
        with self.lab.inside.socket(timeout=1) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.connect((netlab.GATEWAY, 53))
            with self.assertRaises(OSError):
                for _ in range(100_000):
                    s.sendall(self.question())
            self.assertEqual(self.lab.resolve("good.example", tcp=True)[0], 0)
        self.assertEqual(self.lab.process.poll(), None)


# --- 3. privileges in shared directories, copies out ------------------------------------------


class FilePrivileges(AttackTest):
    """Files may have set-user-id, set-group-id and capabilities in the sandbox's own layer, tmpfs and disk images,
    never in a directory of the host."""
    modes = (*USUAL_MODES, "container", "served-user")

    def shared_box(self, *opts, **kwargs):
        self.shared = os.path.join(self.dir, "shared")
        os.mkdir(self.shared)
        return self.armed("-v", f"{self.shared}:/w", *opts, **kwargs)

    def test_no_file_with_privileges_in_a_directory_of_the_host(self):
        self.attack(self.shared_box(), "privileges")

    def test_files_in_the_sandbox_keep_privileges(self):
        self.attack(self.shared_box(), "privileges-allowed")

    def test_privileges_on_each_kind_of_mount(self):
        box = self.shared_box("--tmpfs", "/tmpfs", "--tmpfs", "/w/tmpfs", "-v", "named:/named",
                              "-v", "disk:/disk:kind=disk,size=16M")
        for place, mode in {"/root": "6755", "/tmpfs": "6755", "/w/tmpfs": "6755", "/disk": "6755",
                            "/w": "755", "/named": "755"}.items():
            self.assertEqual(box.out(f"cd {place}; cp /bin/true x; chmod 6755 x; stat -c %a x"), mode, place)

    test_privileges_on_each_kind_of_mount.modes = ("root",)

    def test_a_root_directory_is_the_hosts(self):
        root = self.make_root("chmod", "cp")
        os.chmod(os.path.join(root, "bin"), 0o2755)
        box = self.create(image=root)
        box.out("cp /bin/chmod /root/x; chmod 6755 /root/x /root")
        modes = [os.stat(os.path.join(root, name)).st_mode & 0o7777 for name in ("root/x", "root")]
        self.assertEqual(modes, [0o755, 0o6755])

    test_a_root_directory_is_the_hosts.modes = ("root",)

    def test_copies_into_a_sandbox(self):
        box = self.shared_box()
        source = os.path.join(self.dir, "source")
        with open(source, "w"):
            pass
        os.chmod(source, 0o4755)
        for place, mode in (("/root", "4755"), ("/w", "755")):
            got = self.cordon("copy", source, f"{box.name}:{place}/x")
            self.assertEqual(got.code, 0, got)
            self.assertEqual(box.out(f"stat -c %a {place}/x"), mode)

    test_copies_into_a_sandbox.modes = ("root", "user")

    def test_descriptors_that_another_sandbox_lends(self):
        """The directory is writable for the first sandbox and read-only for the second. The first sandbox sends
        descriptors of the directory's files to the second."""
        lender = self.shared_box()
        borrower = self.armed("-v", f"{self.shared}:/w:ro")
        lending = lender.popen("/attack/attacks", "lend")
        self.eventually(lambda: os.path.exists(os.path.join(self.shared, "socket")) and
                        os.stat(os.path.join(self.shared, "socket")).st_mode & 0o777 == 0o777)
        self.attack(borrower, "borrow")
        lending.kill()

    test_descriptors_that_another_sandbox_lends.modes = ("root", "user", "bare", "container")

    def deputy(self, box):
        """Returns the deputy of the sandbox. The deputy sets its name after its start, so this waits for the name."""
        def found():
            return [p for p in box.host_processes() if p.comm == "cordon-deputy"]

        self.eventually(lambda: len(found()) == 1)
        return found()[0]

    def test_the_deputy_cannot_be_read_traced_or_ended(self):
        box = self.shared_box()
        self.deputy(box)
        self.attack(box, "deputy")
        self.assertEqual(box.out("cp /bin/true x; chmod 4755 x; stat -c %a x"), "4755")

    test_the_deputy_cannot_be_read_traced_or_ended.modes = ("root", "user")

    def test_the_deputy_keeps_what_it_needs(self):
        box = self.shared_box()
        deputy = self.deputy(box)
        kept = 1 << 19 | 1 << 2  # CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH
        self.eventually(lambda: deputy.status("Seccomp") == ["2"])  # the filter is installed last
        self.assertEqual([int(deputy.status(key)[0], 16) for key in ("CapPrm", "CapEff", "CapInh", "CapAmb")],
                         [kept, kept, 0, 0])
        self.assertEqual((deputy.status("NoNewPrivs"), deputy.status("NSpid")[-1] != "1"), (["1"], True))
        self.assertEqual(os.stat(f"/proc/{deputy.pid}/ns/user").st_ino,
                         os.stat(f"/proc/{box.pid1().pid}/ns/user").st_ino)

    test_the_deputy_keeps_what_it_needs.modes = ("root",)

    def test_stop_does_not_wait_for_the_deputy(self):
        box = self.shared_box()
        box.out("sleep 1000 & sleep 1000 > /dev/null 2>&1 &")
        # if `stop` waited for the deputy, it would wait for 600 seconds, and the harness would make the test fail
        got = self.cordon("stop", "--timeout", "600", box.name)
        self.assertEqual(got.code, 0, got)

    test_stop_does_not_wait_for_the_deputy.modes = ("root", "bare")

    def test_a_flood_of_calls_and_stopped_tasks(self):
        self.attack(self.shared_box(), "deputy-flood")

    test_a_flood_of_calls_and_stopped_tasks.modes = ("root",)

    def test_without_the_deputy_no_file_gets_a_privilege(self):
        box = self.shared_box()
        deputy = self.deputy(box)
        os.kill(deputy.pid, signal.SIGKILL)
        self.eventually(lambda: "cordon-deputy" not in [p.comm for p in box.host_processes()])
        for place in ("/root", "/w"):
            got = box.sh(f"cd {place}; cp /bin/true x; chmod 700 x; chmod 4755 x; echo $?; stat -c %a x")
            self.assertEqual(got.text, "1\n700\n", got)
            self.assertIn("not implemented", got.errtext)

    test_without_the_deputy_no_file_gets_a_privilege.modes = ("root", "bare")


class HostileAgent(threading.Thread):
    """Takes the place of pid 1 and answers one client with RECORDS, whatever the client asks."""

    FRAME_EXIT, FRAME_OUTPUT = 4, 6
    DIR, FILE, LINK, END, DATA, DONE, SHARED, SAME = 1, 2, 3, 4, 5, 10, 11, 12

    def __init__(self, home, *records):
        super().__init__(daemon=True)
        self.path, = glob.glob(os.path.join(home, "run", "*.sock"))
        os.rename(self.path, self.path + ".real")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen()
        self.stream = b"".join(records)
        self.start()

    def run(self):
        client, _ = self.listener.accept()
        with client:
            client.recv(1 << 16)
            for at in range(0, len(self.stream), 1 << 15):
                client.sendall(self.frame(self.FRAME_OUTPUT, self.stream[at:at + (1 << 15)]))
            client.sendall(self.frame(self.FRAME_EXIT, b""))
            while client.recv(1 << 16):
                pass

    @staticmethod
    def frame(kind, body):
        return struct.pack("<IBBHI", len(body), kind, 0, 0, 1) + body

    def close(self):
        self.join()
        self.listener.close()
        os.rename(self.path + ".real", self.path)

    @staticmethod
    def record(kind, body=b""):
        return struct.pack("<BI", kind, len(body)) + body

    @classmethod
    def named(cls, kind, number, name):
        return cls.record(kind, struct.pack("<I", number) + name)

    @classmethod
    def link(cls, name, target):
        return cls.record(cls.LINK, struct.pack("<I", len(name)) + name + target)


class CopyOut(AttackTest):
    """Copies out of a sandbox must have no privileges, reach no other file and get the name that
    the caller chose."""

    modes = ("root", "user", "userns")

    def copy(self, source, target, code=0):
        got = self.cordon("copy", source, os.path.join(self.dir, target))
        self.assertEqual(got.code, code, got)
        return got

    def hostile(self, box, source, target, *records, code=0):
        """Copies from a sandbox whose pid 1 sends these records."""
        agent = HostileAgent(self.home, *records)
        try:
            return self.copy(f"{box.name}:{source}", target, code)
        finally:
            agent.close()

    def listed(self, *parts):
        return sorted(os.listdir(os.path.join(self.dir, *parts)))

    def test_no_set_id_bit_and_no_capability(self):
        box = self.create()
        box.out("mkdir -p /root/t; cd /root/t; cp /bin/true suid; cp /bin/true cap; chmod 6755 suid; "
                "mkdir d; chmod 2755 d; (setcap cap_net_raw+ep cap || true) 2> /dev/null; "
                "(setfattr -n user.note -v x cap || true) 2> /dev/null")
        got = self.copy(f"{box.name}:/root/t", "t")
        for name in ("suid", "d"):
            path = os.path.join(self.dir, "t", name)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o755, path)
            self.assertIn(f"warn: 't/{name}' is copied without its set-user-id and set-group-id bits",
                          got.errtext)
        self.assertEqual(os.listxattr(os.path.join(self.dir, "t", "cap")), [])
        # a single file loses these bits, too
        self.copy(f"{box.name}:/root/t/suid", "one")
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.dir, "one")).st_mode), 0o755)

    def test_no_device_fifo_or_socket(self):
        box = self.create()
        box.out("mkdir /root/t; cd /root/t; mkfifo p; touch f; "
                "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'")
        self.copy(f"{box.name}:/root/t", "t")
        self.assertEqual(self.listed("t"), ["f"])
        self.copy(f"{box.name}:/dev", "dev")
        for where, _, files in os.walk(os.path.join(self.dir, "dev")):
            for name in files:
                mode = os.lstat(os.path.join(where, name)).st_mode
                self.assertTrue(stat.S_ISREG(mode) or stat.S_ISLNK(mode), name)

    def test_links_out_of_the_tree_are_left_out(self):
        box = self.create()
        box.out("mkdir -p /root/t/a; cd /root/t; echo 1 > f; ln -s /etc/passwd abs; ln -s ../x climb; "
                "ln -s f in; ln -s /root/t/f a/own; ln -s a/../../../etc sneaky; ln -s /root/tt/f near")
        got = self.copy(f"{box.name}:/root/t", "t")
        self.assertEqual(self.listed("t"), ["a", "f", "in"])
        self.assertEqual(os.readlink(os.path.join(self.dir, "t/a/own")), "../f")
        for name, target in (("abs", "/etc/passwd"), ("climb", "../x"), ("near", "/root/tt/f")):
            self.assertIn(f"warn: 't/{name}' is not copied: it is a link to '{target}', outside the "
                          "copied tree", got.errtext)

    def test_links_out_of_the_tree_are_not_in_an_archive(self):
        """A person who unpacks the archive on the host would get the links."""
        box = self.create()
        box.out("mkdir -p /t/d; touch /t/f; cd /t/d; ln -s ../f in; ln -s /t/f whole; ln -s / root; ln -s ../../etc up;"
                " ln -s ../d/../../x mixed; ln -s / /t/top; ln -s /etc/passwd /alone")
        got = self.cordon("copy", f"{box.name}:/t", "-")
        with tarfile.open(fileobj=io.BytesIO(got.out)) as tar:
            links = {m.name: m.linkname for m in tar.getmembers() if m.issym()}
        self.assertEqual(links, {"t/d/in": "../f", "t/d/whole": "../f"})
        self.assertEqual((got.code, got.errtext.count("outside the copied tree")), (0, 4), got)
        got = self.cordon("copy", f"{box.name}:/alone", "-")
        self.assertEqual((got.code, got.errtext.count("outside the copied tree")), (1, 1), got)

    def test_a_single_link_is_not_copied(self):
        with open(os.path.join(self.dir, "secret"), "w") as handle:
            handle.write("of the host")
        box = self.create()
        box.out("ln -s secret /root/l; ln -s /secret /root/m")
        for name in ("l", "m"):
            got = self.copy(f"{box.name}:/root/{name}", name, code=1)
            self.assertIn("is not copied: it is a link to", got.errtext)
            self.assertFalse(os.path.lexists(os.path.join(self.dir, name)))

    def test_hard_links_do_not_multiply(self):
        box = self.create()
        box.out("mkdir -p /root/t/d; cd /root/t; head -c 1000000 /dev/urandom > a; ln a d/b; "
                "for i in $(seq 50); do ln a d/$i; done; echo x > alone")
        self.copy(f"{box.name}:/root/t", "t")
        files = [os.stat(os.path.join(self.dir, "t", name)) for name in ("a", "d/b", "d/50")]
        self.assertEqual(len({st.st_ino for st in files}), 1)
        self.assertEqual(files[0].st_nlink, 52)
        self.assertEqual(os.stat(os.path.join(self.dir, "t/alone")).st_nlink, 1)

    def test_the_caller_chooses_the_name_of_the_copy(self):
        box, h = self.create(), HostileAgent
        os.mkdir(os.path.join(self.dir, "into"))
        file = (h.named(h.FILE, 0o644, b".bashrc"), h.record(h.DATA, b"x"), h.record(h.END),
                h.record(h.DONE))
        self.hostile(box, "/root/report.txt", "into", *file)
        self.assertEqual(self.listed("into"), ["report.txt"])
        # "/." means the contents of a directory, so a file is refused
        self.hostile(box, "/root/.", "into", *file, code=1)
        self.assertEqual(self.listed("into"), ["report.txt"])

    def test_what_a_hijacked_pid_1_sends(self):
        """Pid 1 sends three bad things: modes with set-id bits; a file that it replaces by a symbolic link before it
        asks for a hard link to the file; and records that are unknown or in the
        wrong place."""
        box, h = self.create(), HostileAgent
        os.mkdir(os.path.join(self.dir, "into"))
        with open(os.path.join(self.dir, "victim"), "w") as handle:
            handle.write("of the host")
        got = self.hostile(
            box, "/root/t", "into",
            h.named(h.DIR, 0o7777, b"t"), h.named(h.DIR, 0o755, b"d"),
            h.named(h.FILE, 0o6755, b"f"), h.record(h.SHARED), h.record(h.END),
            h.link(b"f", b"../../victim"),       # points outside, so it is refused, and the file stays
            h.link(b"f", b"../f"),               # replaces the file, and points inside while it is in d
            h.record(h.END),
            h.named(h.SAME, 0, b"up"),           # a hard link to the link f, one level higher, would point outside
            h.record(h.END), h.record(h.DONE), code=1)
        self.assertIn("'t/up' is not copied", got.errtext)
        self.assertFalse(os.path.lexists(os.path.join(self.dir, "into/t/up")))
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.dir, "into/t")).st_mode), 0o1777)
        for bad in (h.record(7 + 13, b"\0" * 8), h.named(h.SAME, 0, b"x"), h.record(h.SHARED)):
            got = self.hostile(box, "/root/t", "other", h.named(h.DIR, 0o755, b"t"), bad, code=1)
            self.assertIn("makes no sense", got.errtext)

    def test_a_copy_ends_before_the_disk_is_full(self):
        if MODE != "root":
            self.not_run("root may mount a file system of a known size, others may not")
        disk = os.path.join(self.dir, "disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m", "none", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        box = self.create()
        box.out("head -c 200000000 /dev/zero > /root/big")
        got = self.copy(f"{box.name}:/root/big", "disk/big", code=1)
        self.assertIn("would fill the disk", got.errtext)
        free = os.statvfs(disk)
        self.assertGreater(free.f_bavail * free.f_frsize, 1 << 20)

    def test_an_archive_ends_before_the_disk_of_the_home_is_full(self):
        """The client keeps each file of an archive on the disk of the home until the client knows
        the size of the file."""
        if MODE != "root":
            self.not_run("root may mount a file system of a known size, others may not")
        home, shared = os.path.join(self.dir, "small"), os.path.join(self.dir, "shared")
        os.mkdir(home)
        os.mkdir(shared)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m", "none", home], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", home], check=True)
        with open(os.path.join(shared, "big"), "wb") as f:
            f.write(b"x" * 200000000)
        box = self.create("-v", f"{shared}:/s", home=home)
        got = box.cordon("copy", f"{box.name}:/s/big", "-")
        self.assertEqual(got.code, 1)
        self.assertIn("would fill the disk", got.errtext)
        box.remove("-f")

# --- 4. pools of the whole machine ------------------------------------------------------------

def cgroups_usable():
    return MODE == "delegated" or \
        MODE == "root" and any(os.access(m, os.W_OK) for m in cgroup_mounts())


def buffer_memory(protocol):
    """Returns the bytes in the buffers of all sockets of PROTOCOL on the machine."""
    with open("/proc/net/sockstat", encoding="ascii") as f:
        words = next(line for line in f if line.startswith(protocol + ":")).split()
    return int(words[words.index("mem") + 1]) * os.sysconf("SC_PAGE_SIZE")


def neighbours():
    """Returns the number of entries in the machine's table of IPv6 neighbours, which all network namespaces share."""
    with open("/proc/net/stat/ndisc_cache", encoding="ascii") as f:
        return int(f.read().splitlines()[1].split()[0], 16)


TAKE_ONE = ("import ctypes, os, signal\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])\n"
            "libc = ctypes.CDLL(None)\n"
            "libc.sigqueue.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]\n"
            "fd, name = libc.inotify_init1(0), f'/cordon-{os.getpid()}'.encode()\n"
            "shm = libc.shmget(0, 4096, 0o600)\n"
            "print(fd >= 0, libc.inotify_add_watch(fd, b'/', 2) >= 0,\n"
            "      libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) == 0,\n"
            "      libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None) >= 0,\n"
            "      libc.shmctl(shm, 11, None) == 0)\n"  # SHM_LOCK
            "libc.shmctl(shm, 0, None)\n"
            "libc.mq_unlink(name)\n")
PIPE_SIZE = "import fcntl, os; print(fcntl.fcntl(os.pipe()[0], 1032))"  # F_GETPIPE_SZ
PASS_ONE = ("import array, socket\n"
            "a, b = socket.socketpair()\n"
            "for _ in range(8): a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])\n"
            "print('passed')\n")


class Pools(AttackTest):
    """Pools that the kernel has once per machine or once per user. A sandbox gets a limited share."""

    def hoard(self, box, attack):
        """Starts ATTACK, which takes objects until an error and holds them until the test ends. Returns their number
        and the error."""
        proc = box.popen("/attack/attacks", attack)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        words = proc.stdout.readline().split()
        self.assertEqual(len(words), 3, words)
        return int(words[1]), words[2].decode()

    def test_bpf_filters_are_refused(self):
        """The kernel compiles socket filters and system call filters into one pool of the machine."""
        box = self.armed()
        # a launcher starts the third and later commands, and must still be able to install its own filter
        for _ in range(4):
            self.attack(box, "filters")
        if os.access("/usr/bin/file", os.X_OK):  # `file` tries to install a filter, and works without it
            self.assertIn("ELF", box.out("file -L /usr/bin/file"))
        self.assertRegex(self.cordon("inspect", box.name).text, r"(?m)^Security: +default$")
        allowed = self.armed("--seccomp-filters")
        for _ in range(4):
            self.attack(allowed, "filters-allowed")
        self.assertRegex(self.cordon("inspect", allowed.name).text, r"(?m)^Security: +default, own filters$")
        self.assertIs(allowed.inspect()["config"]["seccomp_filters"], True)
        allowed.stop()
        allowed.start()
        self.attack(allowed, "filters-allowed")

    test_bpf_filters_are_refused.modes = ("root", "user", "bare", "userns", "container")

    def test_terminals_are_limited(self):
        box, neighbour = self.armed(), self.create()
        self.assertEqual(self.hoard(box, "hoard-terminals"), (128, "ENOSPC"))
        self.assertEqual(neighbour.exec("python3", "-c", "import os; os.openpty(); print('terminal')").text, "terminal\n")

    test_terminals_are_limited.modes = ("root", "user", "bare")

    def test_buffers_of_connections(self):
        if not cgroups_usable():
            self.not_run("no cgroup is delegated to this user")
        for protocol, attack in (("TCP", "hoard-tcp"), ("UDP", "hoard-udp")):
            with self.subTest(protocol):
                box = self.armed("-m", "256M")
                before = buffer_memory(protocol)
                self.hoard(box, attack)
                # the bound is an eighth of the memory limit in cgroup version 1, or the whole limit in version 2;
                # other processes of the machine may use some memory meanwhile
                within = 48 << 20 if MODE == "root" and os.path.isdir("/sys/fs/cgroup/memory") else 288 << 20
                self.assertLess(buffer_memory(protocol) - before, within)

    test_buffers_of_connections.modes = ("root", "delegated")

    def test_kernel_objects_count_as_memory_of_the_sandbox(self):
        """The machine has a limited number of files, epoll watches and names. The sandbox must
        reach its own memory limit first."""
        if not cgroups_usable():
            self.not_run("no cgroup is delegated to this user")
        box = self.armed()
        used = lambda: json.loads(self.cordon("metrics", box.name, "--format", "json").text)["memory_bytes"]
        for attack, size in (("hoard-files", 180), ("hoard-epoll", 100), ("hoard-names", 150)):
            with self.subTest(attack):
                before = used()
                count, _ = self.hoard(box, attack)
                self.assertGreater(used() - before, count * size)

    test_kernel_objects_count_as_memory_of_the_sandbox.modes = ("root", "delegated")

    def test_pipe_pages(self):
        """If a user has too many pages in pipes, the user's new pipes are short. The pipes of other
        users must keep their size."""
        box, neighbour = self.armed(), self.create()
        self.hoard(box, "hoard-pipes")
        self.assertEqual(box.exec("python3", "-c", PIPE_SIZE).text, "8192\n")  # the sandbox has reached its limit
        self.assertEqual(neighbour.exec("python3", "-c", PIPE_SIZE).text, "65536\n")
        host = subprocess.run(["python3", "-c", PIPE_SIZE], capture_output=True, text=True, user=65534)
        self.assertEqual(host.stdout, "65536\n", host)

    test_pipe_pages.modes = ("root",)

    def test_memory_of_poll_and_select_is_limited(self):
        """No cgroup counts the memory of poll, of select and of leased flow labels, so large calls are refused."""
        self.attack(self.armed(), "waiting")

    test_memory_of_poll_and_select_is_limited.modes = ("root", "bare")

    def test_huge_pages(self):
        """The host has reserved huge pages for one of its own programs."""
        setting = pathlib.Path("/proc/sys/vm/nr_hugepages")
        before = setting.read_text()
        self.addCleanup(setting.write_text, before)

        def reserve():
            """Asks for four more huge pages. The kernel reserves as many as it finds. If it finds none,
            reserve() tells it to move used pages together, for the next try."""
            setting.write_text(str(int(before) + 4))
            if int(setting.read_text()) > int(before):
                return True
            pathlib.Path("/proc/sys/vm/compact_memory").write_text("1")
            return False

        self.eventually(reserve, 20, "this machine has no huge page left")
        self.attack(self.armed(), "huge-pages")

    test_huge_pages.modes = ("root",)

    def test_neighbour_table_entries_are_limited(self):
        box = self.armed()
        before = neighbours()
        self.assertGreater(self.hoard(box, "hoard-neighbours")[0], 500)
        self.assertLess(neighbours() - before, 100)

    test_neighbour_table_entries_are_limited.modes = ("root", "user")

    def test_processes_of_many_ids(self):
        box = self.armed("--pids-limit", "20")
        count, error = self.hoard(box, "hoard-processes")
        self.assertEqual(error, "EAGAIN")
        self.assertLess(count, 30)
        self.assertRegex(self.cordon("inspect", box.name).text,
                         r"Processes: +cgroup" if cgroups_usable() else r"Processes: +user namespace")

    test_processes_of_many_ids.modes = ("root", "user", "container", "delegated")

    def test_what_is_counted_per_user(self):
        """Processes with several ids take inotify instances and watches, queued signals and POSIX queues. One of
        the ids is the caller's."""
        # volumes are refused in the served modes
        box = self.create("--mkdir", "/attack", "--copy", f"{compiled('attacks.c')}/attacks:/attack/attacks")
        self.hoard(box, "hoard-per-user")
        host = subprocess.run(["python3", "-c", TAKE_ONE], capture_output=True, text=True)
        self.assertEqual(host.stdout, "True True True True True\n", host)

    test_what_is_counted_per_user.modes = ("user", "bare", "served")  # test_dos.Counted tests root's sandboxes

    def test_descriptors_in_flight(self):
        """A sandbox of root sends descriptors that nobody receives. The kernel counts them for ids that no other
        process has."""
        box, neighbour = self.armed(), self.create()
        self.assertGreater(self.hoard(box, "hoard-in-flight")[0], 1000)
        self.assertEqual(neighbour.exec("python3", "-c", PASS_ONE).text, "passed\n")
        for user in (0, 65534):
            host = subprocess.run(["python3", "-c", PASS_ONE], capture_output=True, text=True, user=user,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
            self.assertEqual(host.stdout, "passed\n", host)

    test_descriptors_in_flight.modes = ("root",)


class GatewayMemory(NetworkTest):
    """The memory of a gateway must count as memory of its sandbox."""

    HOARD = """
import socket, sys, time
kept = []
try:
    for _ in range(250):
        kept.append(socket.create_connection((sys.argv[1], 80), 5))
except OSError:
    pass
time.sleep(float(sys.argv[2]))
"""

    @staticmethod
    def memory_group(process):
        """Returns the cgroup that limits the memory of PROCESS, in version 1 or version 2."""
        with open(f"/proc/{process.pid}/cgroup") as handle:
            lines = [line.strip().split(":", 2) for line in handle]
        for _, controllers, path in lines:
            if "memory" in controllers.split(","):
                return path
        return os.path.dirname({number: path for number, _, path in lines}["0"])

    def test_the_gateway_is_in_the_limited_group(self):
        self.server(PUBLIC, 80)
        box = self.create()
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        gateway, = self.gateways(box)
        command = self.spawn("exec", box.name, "--", "sleep", "1000")
        sleeper, = self.eventually(lambda: [p for p in below(box.roots) if p.cmdline == ["sleep", "1000"]])
        self.assertEqual(self.memory_group(gateway), self.memory_group(sleeper))
        self.assertIn("/cordon-", self.memory_group(gateway))
        command.kill()
        command.wait()

    def test_a_gateway_killed_for_memory_is_started_again(self):
        """Buffers of unread connections are charged to the sandbox and freed with its gateway."""
        def flood(conn, peer):
            while True:
                conn.sendall(bytes(65536))
        self.server(PUBLIC, 80, flood)
        self.server(PUBLIC2, 80)
        box = self.create("-m", "40M")
        self.assertEqual(self.connect(box, PUBLIC2, 80), "got hello")
        first, = self.gateways(box)
        hoard = self.spawn("exec", box.name, "--", "/usr/bin/python3", "-c", self.HOARD, PUBLIC, "1000")
        self.eventually(lambda: first.pid not in [p.pid for p in self.gateways(box)], within=30)
        hoard.kill()
        hoard.wait()
        self.eventually(lambda: self.connect(box, PUBLIC2, 80) == "got hello", within=20)


# --- 5. the size of the writable layer --------------------------------------------------------

# Writes file after file until it is killed.
WRITER = "i=0; while :; do head -c 512K /dev/zero > /root/f$i; i=$((i+1)); done"
# Makes files, slowly enough for the watcher on a file system with few inodes.
FILE_MAKER = """
import os, time
n = 0
while True:
    os.close(os.open(f"/root/n{n}", os.O_CREAT | os.O_WRONLY))
    n += 1
    if n % 16 == 0:
        time.sleep(0.004)
"""
# Writes fast until the disk is nearly full, then slowly, so that the watcher sees a change at each look.
ONE_WRITER = """
import os, time
fd = os.open("/root/fill", os.O_CREAT | os.O_WRONLY)
while os.write(fd, bytes(1 << 15)):
    space = os.statvfs("/root")
    time.sleep(0 if space.f_bavail * space.f_frsize > 16 << 20 else 0.004)
"""
# Tries calls that reserve blocks without writing them. Prints one word for each call.
TAKE_BLOCKS = """
import ctypes, errno, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/root/blocks", os.O_CREAT | os.O_RDWR)
os.write(fd, bytes(65536))
def fallocate(mode):
    done = libc.fallocate(fd, mode, ctypes.c_long(0), ctypes.c_long(1 << 20)) == 0
    return "ok" if done else errno.errorcode[ctypes.get_errno()]
def reserve(number):
    try:
        fcntl.ioctl(fd, number, struct.pack("hhqqiI4i", 0, 0, 0, 1 << 20, 0, 0, 0, 0, 0, 0))
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
print(*(fallocate(mode) for mode in (0, 1, 0x10, 0x11)))       # allocate, keep size, zero a range
print(*(reserve(n) for n in (0x40305828, 0x4030582a, 0x40305839)))  # FS_IOC_RESVSP, RESVSP64, ZERO_RANGE
print(reserve(0x401c5820))                                      # FS_IOC_FSSETXATTR
print(fallocate(0x03))                                          # punch a hole
os.posix_fallocate(fd, 0, 1 << 20)                              # libc writes instead
print(os.fstat(fd).st_size)
"""


class WatchedTest(CordonTest):
    timeout = 90

    def watched(self, mib, *opts):
        """Returns a sandbox whose layer may have MIB mebibytes. The size comes from config.json. If
        such a size cannot be enforced, the supervisor watches the layer instead."""
        os.makedirs(self.home, mode=0o700)
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"sandbox_defaults": {"oci": {"root_disk": f"{mib}M"}}}, handle)
        return self.made(*opts)

    def made(self, *opts):
        box = self.create(*opts)
        self.assertEqual(box.inspect()["limits"]["root_disk"], "watched")
        return box

    def ended(self, got, why):
        self.assertEqual(got.code, 137, got)
        self.assertRegex(got.errtext, why)

    def said(self, box):
        """The supervisor's records in the sandbox's log."""
        return self.cordon("logs", "--source", "system", box.name).text


class WatchedLayer(WatchedTest):
    """If neither a quota nor a disk image limits the layer, the supervisor watches the size of the
    layer."""

    modes = ("user", "bare", "userns", "container", "delegated", "served-user")
    TOO_LARGE = r"the writable layer of sandbox '[^']+' is larger than 24 MiB"

    def test_beyond_the_size_commands_end_and_can_only_delete(self):
        box = self.watched(24)
        idle = box.popen("sleep", "1000")
        self.ended(box.sh(WRITER), self.TOO_LARGE)
        self.ended(self.finish(idle), self.TOO_LARGE)
        self.assertIn("larger than it may be", self.said(box))
        size = int(box.out("du -sk /root").split()[0])
        self.assertLess(size, 24 * 1024 * 16, "ended long after it was too large")
        # the sandbox stays, and its commands can remove files but not write
        got = box.sh("head -c 64K /dev/zero > /root/more")
        self.assertNotEqual(got.code, 0, got)
        self.assertEqual(box.out("wc -c < /root/more"), "0")
        box.out("rm /root/f*")
        self.eventually(lambda: box.sh("echo fine > /root/fine").code == 0)
        self.assertEqual(box.out("cat /root/fine"), "fine")
        # the layer is watched again
        self.ended(box.sh(WRITER), self.TOO_LARGE)

    def test_background_processes_are_watched(self):
        box = self.watched(24)
        box.out(f"(sleep 86397 & {WRITER}) > /dev/null 2>&1 &")
        self.eventually(lambda: "larger than it may be" in self.said(box), within=30)
        self.eventually(lambda: not self.sleepers(86397))

    def test_the_deputy_outlives_the_commands(self):
        box = self.watched(24, "-v", f"{self.dir}:/shared")
        self.ended(box.sh(f"({WRITER}) & ({WRITER}) & {WRITER}"), self.TOO_LARGE)
        box.out("rm /root/f*; : > /root/g; chmod 4755 /root/g")
        self.assertEqual(box.out("stat -c %a /root/g"), "4755")

    def test_unreadable_directories_count(self):
        box = self.watched(24)
        hidden = "mkdir /root/d; chmod 0 /root/d; cd /root/d; i=0;" \
                 " while :; do head -c 512K /dev/zero > f$i; i=$((i+1)); done"
        self.ended(box.sh(hidden), self.TOO_LARGE)

    def test_too_many_files_are_too_large(self):
        box = self.watched(4)
        got = box.exec("python3", "-c", FILE_MAKER)
        self.ended(got, r"has more files than a layer of 4 MiB may have|is larger than 4 MiB")


class TakingBlocks(WatchedTest):
    """Calls that reserve blocks without writing are faster than any watcher, so they are refused."""

    modes = ("root", "user", "served")

    def test_calls_that_reserve_blocks_are_refused(self):
        box = self.made()
        got = box.exec("python3", "-c", TAKE_BLOCKS)
        self.assertEqual(got.code, 0, got)
        refused = "ENOTSUP"  # ENOTSUP and EOPNOTSUPP are the same number
        self.assertEqual(got.text.split(), [refused] * 8 + ["ok", str(1 << 20)])


class FloorOfTheDisk(WatchedTest):
    """If the disk is nearly full, the commands of a sandbox that writes must be ended, also if they
    write to deleted files."""

    modes = ("root",)

    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="f", dir=BASE)
        self.addCleanup(self.unmount)  # after everything else is cleaned up
        super().setUp()

    def mount(self, *options):
        image, place = os.path.join(self.disk, "image"), os.path.join(self.disk, "mnt")
        with open(image, "wb") as handle:
            handle.truncate(256 << 20)
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", *options, image], check=True)
        os.mkdir(place)
        subprocess.run(["mount", "-o", "loop", image, place], check=True)
        self.home = os.path.join(place, "home")
        return place

    def unmount(self):
        place = os.path.join(self.disk, "mnt")
        if os.path.ismount(place):
            subprocess.run(["umount", place], check=True)
        shutil.rmtree(self.disk)

    def test_deleted_files_that_are_open(self):
        place = self.mount()
        innocent, box = self.made(), self.made()
        other = innocent.popen("sh", "-c", "echo up; exec sleep 1000")
        self.assertEqual(other.stdout.readline(), b"up\n")
        free = os.statvfs(place).f_bavail
        got = box.sh("exec 3> /root/f; rm /root/f; while :; do head -c 256K /dev/zero >&3; done")
        self.ended(got, r"the file system with the writable layer of sandbox '[^']+' is nearly full")
        self.eventually(lambda: os.statvfs(place).f_bavail > free * 0.9)
        self.assertIsNone(other.poll(), "a sandbox that writes nothing goes on")
        self.eventually(lambda: box.sh("echo fine > /root/fine").code == 0)
        other.kill()

    def test_one_process_that_only_writes(self):
        """No process starts or ends, so the watcher sees only the number of written bytes."""
        self.mount()
        self.ended(self.made().exec("python3", "-c", ONE_WRITER), "is nearly full")

    def test_inodes_are_watched(self):
        self.mount("-N", "8192")
        box = self.made()
        got = box.exec("python3", "-c", FILE_MAKER)
        self.ended(got, "has nearly no inodes left")
        box.out("find /root -name 'n*' -delete")

    def test_a_process_with_the_number_of_a_dead_launcher_is_watched(self):
        """A launcher does not count as a running command. But if a process kills a launcher and then gets the process
        number of the launcher, this process counts."""
        self.mount()
        box = self.made("-v", f"{compiled('attacks.c')}:/attack:ro")
        write = "echo 5000 > /proc/sys/kernel/pid_max"  # so that process numbers are used again soon
        if tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups())) < (6, 14):
            self.not_run("the numbers of processes are the whole machine's")
        with open("/proc/sys/kernel/pid_max") as handle:
            before = handle.read()
        subprocess.run(["nsenter", "--target", str(box.pid1().pid), "--mount", "--pid", "sh", "-c", write], check=True)
        with open("/proc/sys/kernel/pid_max") as handle:
            self.assertEqual(handle.read(), before)
        for attack in ("numbers", "true", "true", "true", "launchers-number"):
            self.assertEqual(box.exec(*(("true",) if attack == "true" else ("/attack/attacks", attack))).code, 0)
        self.eventually(lambda: "nearly full" in self.said(box), within=30)


class WatcherAtRest(WatchedTest):
    """A supervisor that has nothing to watch sleeps."""

    modes = ("root", "user")

    def test_no_wakeups_while_nothing_runs(self):
        box = self.made()
        box.out("true")
        supervisor = box.supervisor()
        surveyors = [p for p in box.host_processes() if p.comm == "cordon-survey"]
        self.assertEqual(len(surveyors), 1)

        def wakeups():
            return [p.status("voluntary_ctxt_switches") for p in (supervisor, *surveyors)]

        def rests():
            before = wakeups()
            threading.Event().wait(2)  # a watcher that does not sleep would look twice meanwhile
            return before == wakeups()

        self.eventually(rests, within=20)

    def test_ephemeral_sandboxes_have_no_surveyor(self):
        box = self.box()
        with self.claiming(box):
            proc = self.spawn("run", "host", "--", "sh", "-c", "echo up; exec sleep 1000")
            self.assertEqual(proc.stdout.readline(), b"up\n")
            found = [p for p in below([os.getpid()]) if p.comm == "cordon-survey"]
            self.assertEqual(found, [])
            proc.kill()
            proc.wait()


# --- 6. limits of ordinary users --------------------------------------------------------------


class LimitsOfUsers(CordonTest):
    """For users without a delegated cgroup, as under su, cron and in containers, `create` must say
    which limits do not hold. tests/kernel/test_session.py has the tests with systemd."""

    modes = ("root", "user", "bare", "userns", "container", "delegated")

    def warnings(self, *words):
        got = self.cordon(*words)
        self.assertEqual(got.code, 0, got)
        return [line for line in got.errtext.splitlines() if line.startswith("warn: ")]

    def test_create_says_once_which_limits_do_not_hold(self):
        box = self.box()
        said = self.warnings("create", "-n", box.name, "--no-net", "host")
        held = box.inspect()["limits"]
        wanted = [text for text, key in (("memory is not limited", "memory"),
                                         ("CPU time is not limited", "cpus"))
                  if not held[key].startswith("cgroup")]
        self.assertEqual(len(said), 1 if wanted else 0, said)
        self.assertEqual(wanted != [], MODE not in ("root", "delegated"))
        for text in wanted:
            self.assertIn(text, said[0])

    def test_requested_limits_are_in_the_same_warning(self):
        said = self.warnings("create", "-n", self.box().name, "-m", "256M", "--no-net", "host")
        self.assertEqual(len(said), 0 if MODE in ("root", "delegated") else 1, said)
        for line in said:
            self.assertIn("--memory holds for each process alone, CPU time is not limited", line)

    def test_run_and_quiet_create_do_not_warn(self):
        """A `run` without limits and a quiet `create` must print no warning."""
        self.assertEqual(self.warnings("run", "--no-net", "host", "--", "true"), [])
        self.assertEqual(self.warnings("create", "-q", "-n", self.box().name, "--no-net", "host"), [])


# --- 7. registry, image `host`, descriptors, names, logs -----------------------------------------


class ShownNames(ShownTest):
    """Rules about names must hold for every datagram and for all bytes of a connection."""

    GOOD = b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"
    EVIL = b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    PADDING, EARLY_DATA = 21, 42  # extensions of TLS
    QUIC = b"\xc3\0\0\0\1\x08" + bytes(1194)

    def setUp(self):
        super().setUp()
        self.upstream = self.lab.world.socket(kind=socket.SOCK_DGRAM)
        self.upstream.bind((PUBLIC, 443))
        self.addCleanup(self.upstream.close)

    def serve(self, *rules, **more):
        self.start(netlab.network(rules or self.rules, **more))
        self.lab.resolve("good.example")

    def passes(self, data, proto=0):
        """Sends a datagram (or an echo request). Returns true if it is answered, false if it is refused."""
        with self.lab.inside.do(socket.socket, socket.AF_INET, socket.SOCK_DGRAM, proto) as s:
            s.settimeout(5)
            s.connect((PUBLIC, 443))
            s.send(data)
            try:
                if not proto:
                    eventually(lambda: self.refused_or_there(s))
                    got, peer = self.upstream.recvfrom(65536)
                    self.assertEqual(got, data)
                    self.upstream.sendto(b"answer", peer)
                return bool(s.recv(100))
            except OSError as exc:
                self.assertEqual(exc.errno, errno.EHOSTUNREACH, exc)
                return False

    def refused_or_there(self, s):
        code = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, "refused")
        return select.select([self.upstream], [], [], 0)[0]

    @staticmethod
    def extended(hello, kind, n=0):
        """Returns the ClientHello with one more extension of N bytes, split over several records."""
        body = hello[5:]
        size = 4 + 2 + 32
        size += 1 + body[size]
        size += 2 + struct.unpack(">H", body[size:size + 2])[0]
        size += 1 + body[size]
        extensions = body[size + 2:] + struct.pack(">HH", kind, n) + bytes(n)
        body = body[4:size] + struct.pack(">H", len(extensions)) + extensions
        body = b"\1" + struct.pack(">I", len(body))[1:] + body
        parts = (body[i:i + 16000] for i in range(0, len(body), 16000))
        return b"".join(b"\x16\3\1" + struct.pack(">H", len(p)) + p for p in parts)

    @staticmethod
    def dtls(hello):
        """Returns the ClientHello as the first datagram of DTLS 1.2."""
        body = hello[9:]
        session = 34 + 1 + body[34]
        body = b"\xfe\xfd" + body[2:session] + b"\0" + body[session:]
        size = struct.pack(">I", len(body))[1:]
        message = b"\1" + size + b"\0\0" + b"\0\0\0" + size + body
        return b"\x16\xfe\xfd" + bytes(8) + struct.pack(">H", len(message)) + message

    def test_strict_refuses_datagrams_without_a_name(self):
        self.lab.inside.sysctl("ipv4/ping_group_range", "0 2147483647")
        echo = bytes([8, 0, 0, 0, 0, 0, 0, 1]) + b"payload"
        self.serve()
        self.assertTrue(self.passes(b"nameless"))
        self.assertTrue(self.passes(echo, socket.IPPROTO_ICMP))
        self.lab.ask(type="policy", network=netlab.network(self.rules, strict=True))
        for proto, data in ((0, b"nameless"), (0, self.QUIC), (0, self.dtls(client_hello("good.example"))),
                            (socket.IPPROTO_ICMP, echo)):
            self.assertFalse(self.passes(data, proto), data[:20])
        self.assertIn("asks for one", "".join(self.lab.refusals()))

    def test_quic_hides_its_name(self):
        self.serve()
        self.assertFalse(self.passes(self.QUIC))
        self.assertTrue(self.passes(b"something else"))
        self.lab.ask(type="policy", network=netlab.network(
            [netlab.rule("deny", {"domain": "evil.example"}, ports=[(443, 443)]), netlab.ALLOW_DNS, netlab.ALLOW_PUBLIC]))
        self.assertFalse(self.passes(self.QUIC))
        self.lab.ask(type="policy", network=netlab.network(
            [netlab.rule("deny", {"domain": "evil.example"}, ports=[(80, 80)]), netlab.ALLOW_DNS, netlab.ALLOW_PUBLIC]))
        self.assertTrue(self.passes(self.QUIC))  # no rule with a name concerns this port

    def test_hellos_in_datagrams(self):
        self.serve()
        self.assertTrue(self.passes(self.dtls(client_hello("good.example"))))
        self.assertFalse(self.passes(self.dtls(client_hello("evil.example"))))

    def test_a_second_request(self):
        self.serve(strict=True)
        post = b"POST / HTTP/1.1\r\nHost: good.example\r\n"
        self.assertTrue(self.try_bytes([self.GOOD, self.GOOD]))
        self.assertTrue(self.try_bytes([post + b"Content-Length: 1000000\r\n\r\n" + bytes(1000000) + self.GOOD]))
        chunked = post + b"Transfer-Encoding: chunked\r\n\r\n4;x=y\r\nHost\r\n70000\r\n" + bytes(0x70000) + b"\r\n0\r\n\r\n"
        self.assertTrue(self.try_bytes([chunked + self.GOOD, self.GOOD]))
        for first in (self.GOOD, self.GOOD + b"\r\n", post + b"Content-Length: 5\r\n\r\n12345", chunked,
                      post + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n"):
            for chunks in ([first, self.EVIL], [first + self.EVIL], [first + self.EVIL[:30], self.EVIL[30:]]):
                self.assertFalse(self.try_bytes(chunks), (first[:80], chunks[-1][:20]))
                self.assertNotIn(b"evil", b"".join(self.received))

    def test_ambiguous_requests_are_refused(self):
        self.serve(strict=True)
        for lines in (b"GET http://evil.example/ HTTP/1.1\r\nHost: good.example", b"CONNECT x:1 HTTP/1.1\r\nHost: good.example",
                      b"GET / HTTP/1.1\r\nX: y\rHost: evil.example\r\nHost: good.example",
                      b"GET / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 5\r\nContent-Length: 6",
                      b"GET / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
                      b"GET / HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: gzip, chunked",
                      b"GET http://good.example:x@evil.example/ HTTP/1.1\r\nHost: good.example",
                      b"POST / HTTP/1.0\r\nHost: good.example\r\nTransfer-Encoding: chunked",
                      b"GET / HTTP/1.1\r\nHost : good.example", b"GET / HTTP/2.0\r\nHost: good.example"):
            self.assertFalse(self.try_bytes([lines + b"\r\n\r\n"]), lines)
            self.assertEqual(self.received, [], lines)

    def test_bytes_before_a_name_are_refused(self):
        """Some servers skip TLS warnings or white space in front of a request. Some servers accept any word as a
        method."""
        warning = b"\x15\3\1\0\2\1\x5a"
        self.serve()
        self.assertFalse(self.try_bytes([warning, client_hello("evil.example")]))
        self.assertEqual(self.received, [])
        datagram = b"\x15\xfe\xfd" + bytes(8) + b"\0\2\1\x5a" + self.dtls(client_hello("evil.example"))
        self.assertFalse(self.passes(datagram))
        self.lab.ask(type="policy", network=netlab.network(
            [netlab.rule("deny", {"domain": "evil.example"}), netlab.ALLOW_DNS, netlab.ALLOW_PUBLIC], strict=True))
        self.assertTrue(self.try_bytes([b"\r \r\n" + self.GOOD]))
        for data in (warning + client_hello("evil.example"), b"\r" + self.EVIL, b" " + self.EVIL, b"G" * 40 + self.EVIL[3:],
                     self.GOOD + b"\r" + self.EVIL, self.EVIL.replace(b".example", b".example..")):
            self.assertFalse(self.try_bytes([data]), data[:20])
            self.assertNotIn(b"evil", b"".join(self.received))

    def test_an_unfinished_request(self):
        """The gateway must not pass on the beginning of a request until it knows the name in the
        request."""
        self.serve(strict=True)
        for data in (b"EHLO me\r\nMAIL FROM:<a@b>\r\n", b"GET /secret", b"GET /secret\r\n", self.EVIL[:-2], self.GOOD[:-2],
                     client_hello("evil.example")[:-1]):
            self.received.clear()
            with self.lab.connect(PUBLIC, 443) as s:
                s.sendall(data)
                with self.assertRaises(OSError, msg=data[:20]) as caught:
                    s.shutdown(socket.SHUT_WR)
                    s.recv(1)
                self.assertIn(caught.exception.errno, (errno.ECONNRESET, errno.ENOTCONN))
            self.assertEqual(self.received, [], data[:20])

    def test_a_hello_of_20_kb(self):
        good, evil = (self.extended(client_hello(n), self.PADDING, 20000) for n in ("good.example", "evil.example"))
        self.serve()
        self.assertTrue(self.try_bytes([good]))
        self.assertFalse(self.try_bytes([evil]))
        self.lab.ask(type="policy", network=netlab.network(
            [netlab.rule("deny", {"domain": "evil.example"}), netlab.ALLOW_DNS, netlab.ALLOW_PUBLIC]))
        self.assertTrue(self.try_bytes([good + bytes(100)]))
        self.assertFalse(self.try_bytes([evil]))
        self.assertEqual(self.received, [])
        # this hello is longer than the gateway's buffer
        self.assertFalse(self.try_bytes([self.extended(client_hello("evil.example"), self.PADDING, 60000)]))
        self.assertEqual(self.received, [])

    def test_a_second_hello(self):
        """A server that refuses the first hello uses the name in the second hello."""
        self.serve()
        good, evil = client_hello("good.example"), client_hello("evil.example")
        change, data = b"\x14\3\3\0\1\1", b"\x17\3\3\0\3abc"
        finished = b"\x16\3\3\0\x28\1" + bytes(39)  # any bytes, because this record is encrypted
        self.assertTrue(self.try_bytes([good, change, finished, data, b"anything"]))
        self.assertTrue(self.try_bytes([good, change + good, data]))
        body = evil[5:]
        for second in (evil, change + evil, *((change + b"\x16\3\3\0\3" + body[:3] + b"\x16\3\3"
                                               + struct.pack(">H", len(body) - 3) + body[3:],))):
            self.assertFalse(self.try_bytes([good, second]))
            self.assertNotIn(b"evil", b"".join(self.received))
        early = self.extended(good, self.EARLY_DATA)
        self.assertFalse(self.try_bytes([early, change + data + evil]))
        self.assertNotIn(b"evil", b"".join(self.received))


class HostileRegistry(ImageMixin, AttackTest):
    """A registry that an attacker controls."""

    modes = ("root", "user")
    LOGIN = "Basic " + base64.b64encode(b"ann:secret").decode()

    def registry(self, answer=None, tls=True):
        """Returns a registry with an image `x` of one small layer. If TLS is true, the registry has TLS and its own
        certificate."""
        fake = FakeRegistry(self, answer)
        fake.scheme = "https" if tls else "http"
        if tls:
            key, self.cert = make_certificate(self.dir, f"server{fake.server_port}")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.cert, key)
            fake.socket = context.wrap_socket(fake.socket, server_side=True)
        layer = Layer(self.path(f"l{fake.server_port}.tar"))
        layer.add("f", b"x" * 5000)
        with open(layer.close(), "rb") as handle:
            fake.image("latest", [handle.read()])
        return fake

    def login(self, fake):
        self.ok("login", fake.host, "--no-check", "--username", "ann", stdin=b"secret")

    def pull(self, fake, *certs, says):
        """Asserts that a pull fails with SAYS. The pull trusts the certificates of all servers of the test."""
        bundle = self.path("bundle.crt")
        with open(bundle, "w") as handle:
            for path in glob.glob(self.path("server*.crt")):
                with open(path) as one:
                    handle.write(one.read())
        return self.refused("pull", "--ca-certs", bundle, f"{fake.host}/x", says=says, timeout=60)

    @staticmethod
    def heard(fake):
        """Returns all secrets that FAKE received."""
        return [text for *_, headers in fake.requests for text in headers.values()
                if "ann" in text or "Basic" in text or "secret" in text or "refresh" in text]

    def test_a_redirect_target_is_not_logged_in_to(self):
        """The registry redirects to another server, which asks for the login, by token or by password."""
        for challenge in ("Bearer", "Basic"):
            with self.subTest(challenge):
                evil = self.registry(lambda h, kind, name, n: kind != "token" and (h.reply(
                    401, b"", WWW_Authenticate=f'{challenge} realm="https://{h.server.host}/v2/token/x"')
                    or True) or h.reply(200, b'{"token": "t"}') or True)
                fake = self.registry(lambda h, kind, name, n: kind == "blobs" and (h.reply(
                    307, b"", Location=f"https://{evil.host}/v2/x/blobs/{name}") or True))
                self.login(fake)
                self.pull(fake, says="wants its own login")
                self.assertEqual(self.heard(evil), [])
                self.assertEqual(evil.asked_for("token"), [])

    def test_a_redirect_target_of_a_manifest_gets_no_login(self):
        evil = self.registry(lambda h, kind, name, n: h.reply(
            401, b"", WWW_Authenticate=f'Bearer realm="https://{h.server.host}/v2/token/x"') or True)
        fake = self.registry(lambda h, kind, name, n: h.reply(
            302, b"", Location=f"https://{evil.host}/v2/x/{kind}/{name}") or True)
        self.login(fake)
        self.pull(fake, says="wants its own login")
        self.assertEqual(self.heard(evil), [])

    def test_a_redirecting_token_server_passes_on_no_login(self):
        """The redirect target must get neither the password nor the identity token from
        Docker's config.json."""
        evil = self.registry()
        evil.RequestHandlerClass = PostHandler
        fake = self.registry(lambda h, kind, name, n: h.reply(
            307, b"", Location=f"https://{evil.host}/v2/token/x") or True if kind == "token" else h.reply(
            401, b"", WWW_Authenticate=f'Bearer realm="https://{h.server.host}/v2/token/x"') or True)
        fake.RequestHandlerClass = PostHandler
        self.login(fake)
        self.pull(fake, says="")
        self.assertEqual(self.heard(evil), [])
        self.ok("logout", fake.host)
        os.mkdir(self.path(".docker"))
        with open(self.path(".docker/config.json"), "w") as handle:
            json.dump({"auths": {fake.host: {"identitytoken": "secret-refresh"}}}, handle)
        self.pull(fake, says="")
        self.assertTrue(self.heard(fake), "the token was never used: the test tests nothing")
        self.assertEqual(self.heard(evil), [])

    def test_no_redirect_from_tls_to_plain_http(self):
        """Neither a redirect nor a token realm may lead from TLS to plain HTTP."""
        plain = self.registry(tls=False)
        down = self.registry(lambda h, kind, name, n: kind == "blobs" and (h.reply(
            307, b"", Location=f"http://{plain.host}/v2/x/blobs/{name}") or True))
        self.pull(down, says="Unsupported protocol")
        realm = self.registry(lambda h, kind, name, n: h.reply(
            401, b"", WWW_Authenticate=f'Bearer realm="http://{plain.host}/v2/token/x"') or True)
        self.login(realm)
        self.pull(realm, says="Unsupported protocol")
        for place in ("file:///etc/passwd", "ftp://localhost/x", "gopher://localhost/x"):
            odd = self.registry(lambda h, kind, name, n: h.reply(302, b"", Location=place) or True)
            self.pull(odd, says="Unsupported protocol")
        self.assertEqual(plain.requests, [])

    def endless(self, h, status, headers, chunk):
        """Sends until the client hangs up, and counts the bytes."""
        h.send_response(status)
        for name, value in headers:
            h.send_header(name, value)
        h.end_headers()
        try:
            while h.server.sent < 1 << 30:
                h.wfile.write(chunk)
                h.server.sent += len(chunk)
        except OSError:
            pass
        h.close_connection = True
        return True

    def test_answers_without_an_end(self):
        """The client must stop reading an endless manifest, blob, token, error, redirect or challenge."""
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        chunked = [("Transfer-Encoding", "chunked")]
        for what, answer in {
            "manifest": lambda h, kind, name, n: self.endless(h, 200, chunked, chunk),
            "blob": lambda h, kind, name, n: kind == "blobs" and self.endless(h, 200, chunked, chunk),
            "error": lambda h, kind, name, n: kind == "blobs" and self.endless(h, 404, chunked, chunk),
            "redirect": lambda h, kind, name, n: kind == "blobs" and self.endless(
                h, 307, [("Location", "/v2/x/blobs/y"), *chunked], chunk),
            "challenge": lambda h, kind, name, n: kind == "blobs" and self.endless(
                h, 401, [("WWW-Authenticate", "Basic realm=x"), *chunked], chunk),
            "token": lambda h, kind, name, n: self.endless(h, 200, chunked, chunk)
            if kind == "token" else h.reply(401, b"", WWW_Authenticate=(
                f'Bearer realm="https://{h.server.host}/v2/token/x"')) or True,
        }.items():
            with self.subTest(what):
                fake = self.registry(answer)
                fake.sent = 0
                self.pull(fake, says="")
                self.assertLess(fake.sent, 64 << 20)

    def test_headers_without_an_end(self):
        for status in (200, 302, 401):
            with self.subTest(status):
                def answer(h, kind, name, n):
                    h.send_response(status)
                    return self.flood(h)
                fake = self.registry(answer)
                fake.sent = 0
                self.pull(fake, says="sends headers of more than 256 KiB")
                self.assertLess(fake.sent, 16 << 20)

    def flood(self, h):
        h.flush_headers()
        try:
            while h.server.sent < 256 << 20:
                h.server.sent += h.wfile.write(b"".join(b"X-%d: %s\r\n" % (i, b"x" * 1000)
                                                        for i in range(64)))
        except OSError:
            pass
        h.close_connection = True
        return True

    def test_wrong_bytes_behind_a_redirect(self):
        """Bytes from a redirect target must be compared with the digest, too."""
        other = self.registry()
        fake = self.registry(lambda h, kind, name, n: kind == "blobs" and (h.reply(
            307, b"", Location=f"https://{other.host}/v2/x/blobs/{name}") or True))
        other.blobs = {digest: bytes(len(data)) for digest, data in fake.blobs.items()}
        self.pull(fake, says="arrived with the digest")


class PostHandler(FakeHandler):
    """A handler that also takes POST, and keeps the posted bytes."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.headers["X-Body"] = body.decode()
        self.do_GET()


class ImageBounds(ImageMixin, AttackTest):
    """The bounds must hold for an image as a whole, not only for each layer."""

    modes = ("root", "user")

    def info_of(self, ref):
        return os.path.join(os.path.dirname(self.layer_roots(ref)[0]), "layer.json")

    def test_entries_of_all_layers_add_up(self):
        """The store has a layer that nearly reaches a bound: of entries, of name bytes or of tar
        bytes. `load` and `pull` must refuse an image that has two more layers on top of this
        layer."""
        names = ("low", "high", "other")
        layers = {}
        for name in names:
            made = Layer(self.path(name))
            made.add(f"{name}/file", b"x")
            with open(made.close(), "rb") as handle:
                layers[name] = handle.read()
        self.ok("load", "--input", self.archive_of([layers["low"]], "low"))
        with open(self.info_of("low:1")) as handle:
            info = json.load(handle)
        self.assertEqual(info["entries"], 2)  # a directory without an entry in the tar counts, too
        for key, value, says in (
                ("entries", (2 << 20) - 3, "more than 2097152 entries in all layers together"),
                ("name_bytes", (512 << 20) - 9, "names of more than 512 MiB in all layers together"),
                ("tar_bytes", (256 << 30) - 20000, "256 GiB in all layers together")):
            with self.subTest(key), open(self.info_of("low:1"), "w") as handle:
                json.dump({**info, key: value}, handle)
                handle.flush()
                top = self.archive_of([layers["low"], layers["high"], layers["other"]], key)
                self.refused("load", "--input", top, says=says)
                fake = FakeRegistry(self)
                fake.image("latest", [layers[name] for name in names])
                self.refused("pull", "--insecure", f"{fake.host}/x", says=says)


class LogsAtATerminal(AttackTest):
    """`logs` shows the output of commands, but without `--raw` no control sequence may reach the
    terminal."""

    modes = ("root", "user", "bare")
    HOSTILE = (r"\033[2J\033]0;title\007\033]52;c;cHduZWQ=\033\\\033[6n\033P+q\033\\\010\010\016x\177"
               r"\302\2332J\2332J\033c over\rwritten gr\303\274n\n")

    def seen(self, *args):
        terminal = self.terminal("logs", *args)
        self.assertEqual(terminal.wait(), 0)
        return terminal.seen

    def test_no_control_sequence_passes(self):
        box = self.create()
        box.sh(f"printf '{self.HOSTILE}'")
        box.sh(r"printf '\302\2332J\177 plain gr\303\274n\n'")  # a separate record in UTF-8
        controls = rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|\xc2[\x80-\x9f]|(?<![\xc2-\xf4])[\x80-\x9f]"
        for opts in ((), ("--color", "always"), ("--timestamps", "--show-id"), ("--json",), ("-f", "--tail", "9")):
            with self.subTest(opts):
                if "-f" in opts:
                    self.assertEqual(box.stop().code, 0)
                seen = self.seen(*opts, box.name)
                self.assertNotRegex(seen, controls)
                self.assertIn(b" plain gr\xc3\xbcn", seen)

    def test_raw_and_pipes_pass_control_sequences(self):
        box = self.create()
        box.sh(r"printf '\033[31mred\007\033[0m\n'")
        self.assertEqual(self.seen("--raw", box.name), b"\033[31mred\007\033[0m\r\n")
        for opts, out in (((), b"red\007\n"), (("--raw",), b"\033[31mred\007\033[0m\n"),
                          (("--color", "always"), b"\033[31mred\007\033[0m\n")):
            self.assertEqual(self.cordon("logs", *opts, box.name).out, out)
        # output of a running command at a terminal is not changed
        terminal = box.terminal("printf", r"\033[31mred")
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"\033[31mred", terminal.seen)


class LeftTerminals(AttackTest):
    """A command inside switches on modes of the outer terminal, in ways that only some terminals understand. Then the
    user detaches from the command. The client must reset the terminal."""

    modes = ("root", "user", "bare")

    def left(self, hostile):
        """Returns the sandbox, and what the outer terminal gets between the hostile output and the message of the
        client."""
        box = self.create()
        term = box.terminal("sh", "-c", f"printf '{hostile}ready\\n'; exec cat", opts=("-t",))
        term.expect("ready\r\n")
        term.send(b"\x1d")
        got = term.expect(b"(.*)detached from session")
        self.assertEqual(term.wait(), 0)
        return box, got.group(1)

    def test_modes_asked_for_with_control_characters_of_8_bits(self):
        for hostile in (r"\302\233?1003h", r"\233?1003h", r"\033[?1003h\302\233?1003l", r"\033]0;\302\233?1003h\a"):
            self.assertIn(b"\x1b[?1003l", self.left(hostile)[1], hostile)

    def test_modes_that_come_back_from_where_they_were_saved(self):
        self.assertIn(b"\x1b[?1003l", self.left(r"\033[?1003h\033[?1003s\033[?1003l\033[?1003r")[1])

    def test_an_unfinished_text_does_not_swallow_what_the_client_says(self):
        for hostile in (r"\033]0;", r"\033P\a", r"\033_G", r"\302\235"):
            self.assertTrue(self.left(hostile)[1].startswith(b"\x18\x1b\\"), hostile)

    def test_function_keys_links_and_letters(self):
        got = self.left(r"\033P0;1|17/6c730d\033\\\033]8;;http://evil\a\033(0\033[2h")[1]
        for undo in (b"\x1bP0;1|\x1b\\", b"\x1b]8;;\x1b\\", b"\x0f", b"\x1b[2l", b"\x1b(B"):
            self.assertIn(undo, got)

    def test_questions_of_8_bits_are_not_repeated(self):
        box, _ = self.left(r"\302\2336n\233c\302\220$qm\302\234\302\232")
        term = self.terminal("attach", box.name)
        got = term.expect(b"(.*)ready").group(1)
        for byte in (b"\x9b", b"\x90", b"\x9a"):
            self.assertNotIn(byte, got)
        term.send(b"\x1d")
        term.expect("detached")


class CallersPriority(AttackTest):
    """A caller may have a high priority or be protected from the OOM killer. Commands inside must
    inherit neither."""

    modes = ("root",)  # other users cannot have these privileges

    SHOW = ("cut -d' ' -f19,40,41 /proc/self/stat; cat /proc/self/oom_score_adj; ionice; "
            "awk '/nice|realtime prio/ { print $(NF-1), $NF }' /proc/self/limits; "
            "(echo -1 > /proc/self/oom_score_adj) 2> /dev/null && echo spared again; "
            "nice -n -1 sh -c 'cut -d\" \" -f19 /proc/self/stat' 2> /dev/null; "
            "chrt -f 1 true 2> /dev/null && echo real-time; true")
    # the first line is the nice value, the real-time priority and the policy
    NEUTRAL = ["0 0 0", "500", "none: prio 0", "0 0", "0 0", "0"]

    def privileged(self):
        """Runs in the client before exec: takes every advantage that root can have."""
        os.setpriority(os.PRIO_PROCESS, 0, -10)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
        ctypes.CDLL(None).syscall(251, 1, 0, 1 << 13)  # ioprio_set: real-time class
        self.with_resources("-1000")

    @staticmethod
    def with_resources(score):
        """Sets the values that need CAP_SYS_RESOURCE. Root of some containers lacks this capability."""
        try:
            resource.setrlimit(resource.RLIMIT_NICE, (40, 40))
            resource.setrlimit(resource.RLIMIT_RTPRIO, (50, 50))
            with open("/proc/self/oom_score_adj", "w") as handle:
                handle.write(score)
        except (OSError, ValueError):
            pass

    def inside(self, *words):
        got = self.cordon(*words, "--", "sh", "-c", self.SHOW, preexec_fn=self.privileged)
        self.assertEqual(got.errtext, "", got)
        return got.text.splitlines()

    def test_no_command_inherits_a_raised_priority(self):
        box = self.box()
        with self.claiming(box):
            got = self.cordon("create", "--quiet", "--name", box.name, "host", preexec_fn=self.privileged)
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.inside("exec", box.name), self.NEUTRAL)
        self.assertEqual(box.out(self.SHOW).splitlines(), self.NEUTRAL)  # this caller has no privileges
        for process in box.host_processes():
            with open(f"/proc/{process.pid}/stat") as stat_file, \
                    open(f"/proc/{process.pid}/oom_score_adj") as score:
                fields = stat_file.read().rpartition(")")[2].split()
                self.assertEqual((fields[16], fields[38], score.read()), ("0", "0", "500\n"), process)
        self.assertEqual(box.stop().code, 0)
        got = self.cordon("start", "--quiet", box.name, preexec_fn=self.privileged)
        self.assertEqual(got.code, 0, got)
        self.assertEqual(box.out(self.SHOW).splitlines(), self.NEUTRAL)
        self.assertEqual(self.inside("run", "--quiet", "host"), self.NEUTRAL)

    def test_a_lowered_priority_is_inherited(self):
        def disadvantaged():
            os.setpriority(os.PRIO_PROCESS, 0, 5)
            with open("/proc/self/oom_score_adj", "w") as handle:
                handle.write("700")

        got = self.cordon("run", "--quiet", "host", "--", "sh", "-c",
                          "cut -d' ' -f19 /proc/self/stat; cat /proc/self/oom_score_adj",
                          preexec_fn=disadvantaged)
        self.assertEqual((got.code, got.text), (0, "5\n700\n"), got)

    def test_a_requested_rtprio_limit_is_set(self):
        if resource.getrlimit(resource.RLIMIT_RTPRIO)[1] < 7 and not self.status_has_resource():
            self.not_run("root may raise its limits only with CAP_SYS_RESOURCE")
        conf = os.path.join(self.dir, "conf.json")
        with open(conf, "w") as handle:
            json.dump({"rlimits": [{"resource": "rtprio", "soft": 7, "hard": 7}]}, handle)
        show = ("sh", "-c", "awk '/realtime prio/ { print $(NF-1) }' /proc/self/limits")
        got = self.cordon("run", "--quiet", "--resource-conf", conf, "host", "--", *show,
                          preexec_fn=lambda: self.with_resources("0"))
        self.assertEqual((got.code, got.text), (0, "7\n"), got)
        # a single command cannot get a limit that its sandbox does not have
        got = self.cordon("run", "--quiet", "--rlimit", "rtprio=7", "host", "--", *show,
                          preexec_fn=lambda: self.with_resources("0"))
        self.assertEqual(got.code, 1, got)
        self.assertIn("asks for more than the sandbox may have", got.errtext)

    @staticmethod
    def status_has_resource():
        with open("/proc/self/status") as handle:
            held = next(line for line in handle if line.startswith("CapEff:"))
        return int(held.split()[1], 16) >> 24 & 1


class HostImage(CordonTest):
    """The image `host`, started by root, shows only what every user of the host can read. (In a container,
    root inside has the caller's id, and so can read the caller's files.)"""

    modes = ("root", "served")

    def inside(self, script, *opts):
        """Runs cordon in a new mount namespace, in which /usr/local and /etc/ssl hold files of this test. cordon runs
        SCRIPT in a sandbox with the image `host`. Returns what SCRIPT writes to stdout and stderr."""
        make = ("mount -t tmpfs -o mode=755 t /usr/local && cd /usr/local && mkdir -m 700 hidden && "
                "mkdir bin etc && echo secret >secret && chmod 600 secret && "
                "echo secret >hidden/file && echo secret >etc/file && echo public >public && "
                "cp /usr/bin/id bin/sid && cp /usr/bin/id bin/mine && chmod 6755 bin/sid && "
                "chmod 700 bin/mine && if [ -d /etc/ssl ]; then mount -t tmpfs -o mode=700 t /etc/ssl && "
                "mkdir /etc/ssl/certs && echo secret >/etc/ssl/certs/file; fi && exec \"$@\"")
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", make,
                               "sh", CORDON, "run", "-q", "--no-net", *opts, "host", "--", "sh", "-c", script],
                              env=self.environment(), cwd="/", capture_output=True, text=True,
                              timeout=COMMAND_SECONDS)
        return done.stdout, done.stderr

    def test_what_only_root_reads_is_not_read_by_the_root_inside(self):
        out, err = self.inside("cd /usr/local; cat public secret hidden/file; ls hidden; bin/mine; true")
        self.assertEqual(out, "public\n", err)
        self.assertEqual(err.count("ermission denied"), 4, err)

    def test_what_lies_below_a_closed_directory_is_not_shown(self):
        out, err = self.inside("cat /etc/ssl/certs/file; ls /etc/ssl/certs; true")
        self.assertEqual(out, "", err)

    def test_files_belong_to_nobody_and_set_user_id_has_no_effect(self):
        out, err = self.inside("stat -c %u:%g /usr/bin/env /usr/local/public; /usr/local/bin/sid -u; "
                               "/usr/local/bin/sid -g", "-u", "1000:1000")
        self.assertEqual(out, "65534:65534\n65534:65534\n1000\n1000\n", err)

    def test_configuration_below_usr_local_is_not_shown(self):
        out, err = self.inside("ls -A /usr/local/etc; cat /usr/local/etc/file; "
                               "touch /usr/local/etc/new || echo read-only")
        self.assertEqual(out, "read-only\n", err)

    test_configuration_below_usr_local_is_not_shown.modes = ("root", "container", "userns")


LIBEXEC = os.path.join(os.path.dirname(os.path.dirname(CORDON)), "libexec", "cordon")


class Hijacked(CordonTest):
    """Assumes that the payload controls each process that reads its bytes. hijack.c makes such a process do system
    calls under the confinement of the process."""

    modes = ("root", "user", "bare", "container", "delegated", "served", "served-user")
    LINE = re.compile(r"(\w+) (.*) top=(\w+)(?: list=(\w+))?(?: read=(\w+))?(?: mode=(\w+))?")

    def reach(self, pid):
        """Follows `..` from each directory of the process up to the top. Returns None if the process cannot be
        traced, otherwise a list of (descriptor, path, which directory the top is, result of listing the top, result of
        reading etc/passwd in it, result of changing the mode of a file of ours)."""
        own = os.path.join(self.dir, "own")
        with open(own, "w"):
            pass
        got = subprocess.run([os.path.join(compiled("hijack.c"), "hijack"), str(pid), own],
                             capture_output=True, text=True, timeout=COMMAND_SECONDS)
        if got.returncode == 3:
            return None
        self.assertEqual(got.returncode, 0, got)
        found = [self.LINE.fullmatch(line) for line in got.stdout.splitlines()]
        self.assertTrue(all(found) and found, got)
        return [match.groups() for match in found]

    def worker(self, *words, stdin, target=None):
        """Starts a worker of cordon-image as its parent does, with a directory as descriptor 3 and a socket as 4. If
        the test runs as root, the socket is full, so that the worker blocks when it answers."""
        target = target or tempfile.mkdtemp(prefix="target", dir=self.dir)
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        theirs.setblocking(False)
        try:
            while os.geteuid() == 0:  # a user's worker asks for ids first, so its socket stays empty
                theirs.send(b"x" * 65536)
        except BlockingIOError:
            pass
        theirs.setblocking(True)
        place = os.open(target, os.O_RDONLY)

        def number():
            for fd, other in ((place, 103), (theirs.fileno(), 104)):
                os.dup2(fd, other)
            for fd in (3, 4):
                os.dup2(100 + fd, fd)

        proc = subprocess.Popen([os.path.join(LIBEXEC, "cordon-image"), "--worker", *words], stdin=stdin,
                                close_fds=False, preexec_fn=number)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        os.close(place)
        theirs.close()
        # the worker is in a user namespace and asks for ids, which the test cannot give
        if os.geteuid() != 0 and ours.recv(1) == b"u":
            ours.send(b"s")
        self.eventually(lambda: Process(proc.pid).status("Seccomp") == ["2"])
        return proc

    def test_no_worker_on_images_leads_to_the_hosts_files(self):
        """One worker waits for the next byte of an archive, one has no directory, and one merges a directory. The
        worker for layers is not tested, because it has the same confinement as the first of these workers."""
        archive = os.pipe()
        self.addCleanup(os.close, archive[0])
        self.addCleanup(os.close, archive[1])
        workers = [self.worker("stage", stdin=archive[0]),
                   self.worker("inflate", stdin=archive[0], target="/dev/null")]
        if os.geteuid() == 0:
            layers = os.open(self.dir, os.O_RDONLY | os.O_DIRECTORY)
            self.addCleanup(os.close, layers)
            workers.append(self.worker("merge", "nothing", stdin=layers))
        for proc in workers:
            for descriptor in self.reach(proc.pid):
                self.assertNotIn("SAME", descriptor[2:5], (proc.args, descriptor))
                self.assertNotEqual(descriptor[5], "yes", descriptor)

    test_no_worker_on_images_leads_to_the_hosts_files.modes = ("root", "user", "container")

    def test_the_worker_of_skills_leads_to_no_file_but_skills(self):
        """The worker of root has its directory as root directory. The worker of a user cannot be traced and may not
        open parent directories."""
        worker = Worker(self, os.path.join(self.dir, "skills"), self.dir)
        self.assertTrue(worker.hello["ok"], worker.hello)
        for descriptor in self.reach(worker.process.pid) or ():
            self.assertNotIn("SAME", descriptor[2:5], descriptor)
            self.assertNotEqual(descriptor[5], "yes", descriptor)

    test_the_worker_of_skills_leads_to_no_file_but_skills.modes = ("root", "user", "container")

    def test_a_supervisor_changes_no_mode_of_a_file_that_it_reads(self):
        """With a network, the supervisor may read files of the host, in order to start the gateway. Landlock does not
        limit fchmod(). Root's supervisor could make a library writable for all, or a program set-user-id."""
        box = self.create()
        got = subprocess.run([os.path.join(compiled("hijack.c"), "hijack"), str(box.supervisor().pid),
                              "/etc/ld.so.cache", "mode"], capture_output=True, text=True, timeout=COMMAND_SECONDS)
        self.assertEqual(got.stdout, "open=yes fchmod=ENOSYS\n", got)

    test_a_supervisor_changes_no_mode_of_a_file_that_it_reads.modes = ("root",)

    def searcher(self, place):
        """Starts cordon-search in the directory self.work, as `cordon tool grep` does. Returns the process. If PLACE is
        a pipe, cordon-search blocks when it reads the stream of files. Otherwise it blocks when it writes its
        answer."""
        out = os.pipe()
        for fd in out:
            self.addCleanup(os.close, fd)
        os.set_blocking(out[1], False)
        try:
            while True:
                os.write(out[1], b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(out[1], True)
        proc = subprocess.Popen([os.path.join(LIBEXEC, "cordon-search"), "needle", ""], stdin=subprocess.DEVNULL,
                                stdout=out[1], cwd=self.work, pass_fds=[3], close_fds=True,
                                preexec_fn=lambda: os.dup2(place, 3))
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        self.eventually(lambda: Process(proc.pid).status("Seccomp") == ["2"]
                        and Process(proc.pid).status("State")[0] == "S")
        return proc

    def test_the_search_leads_to_no_file_but_the_searched_ones(self):
        """A file hijacks cordon-search while it reads a stream, a directory or a file. cordon-search keeps the host's
        root directory, but Landlock refuses all other files, and the filter refuses calls that a reader does not
        need."""
        self.work = os.path.join(self.dir, "work")
        os.mkdir(self.work)
        with open(os.path.join(self.work, "file"), "w", encoding="utf-8") as handle:
            handle.write("needle\n")
        pipe = os.pipe()
        places = [os.open(self.work, os.O_RDONLY), os.open(os.path.join(self.work, "file"), os.O_RDONLY), pipe[0]]
        for fd in (*places, pipe[1]):
            self.addCleanup(os.close, fd)
        for place in places:
            proc = self.searcher(place)
            found = self.reach(proc.pid)
            self.assertTrue(found or os.geteuid() != 0)
            for descriptor in found or ():
                self.assertEqual(descriptor[3:5], ("EACCES", "EACCES"), descriptor)
                self.assertNotEqual(descriptor[5], "yes", descriptor)
            if not found:
                continue
            got = subprocess.run([os.path.join(compiled("hijack.c"), "hijack"), str(proc.pid), "-", "calls"],
                                 capture_output=True, text=True, timeout=COMMAND_SECONDS)
            calls = dict(word.split("=") for word in got.stdout.split())
            self.assertEqual(calls.pop("create"), "EACCES", got)
            self.assertEqual(set(calls.values()), {"ENOSYS"}, got)
            self.assertGreaterEqual(len(calls), 15)
            self.assertFalse(os.path.exists("/tmp/cordon-hijacked"))

    test_the_search_leads_to_no_file_but_the_searched_ones.modes = ("root", "user", "container")

    def box_with_everything(self):
        """A sandbox with a launcher, a gateway and every other process that a sandbox can have."""
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared)
        box = self.create(*(() if SERVED else ("-v", f"{shared}:/shared")))
        for _ in range(4):
            box.out("true")
        box.sh("getent hosts name.invalid")
        return box

    def test_no_directory_descriptor_leads_to_the_hosts_files(self):
        box = self.box_with_everything()
        seen = set()
        for process in box.host_processes():
            reached = self.reach(process.pid)
            seen.add(process.comm if reached else None)
            for descriptor in reached or ():
                self.assertNotEqual(descriptor[5], "yes", (process, descriptor))
                if process.comm in ("cordon-supervis", "cordon-survey"):
                    # these processes keep the host's root directory, but Landlock refuses parent directories
                    self.assertEqual(descriptor[3:5], ("EACCES", "EACCES"), (process, descriptor))
                else:
                    self.assertNotIn("SAME", descriptor[2:5], (process, descriptor))
        self.assertIn("cordon-guest", seen)
        if MODE in ("root", "container"):
            self.assertLessEqual({"cordon-supervis", "cordon-gateway"}, seen)
        if SERVED:
            self.assertIn("fuse-overlayfs", seen)
        self.assertEqual(box.out("echo works"), "works")  # the sandbox still works


# --- 8. a command that is stopped before its program runs -----------------------------------


class StoppedStarts(BackgroundTest):
    """Root inside stops every process all the time. This also stops launchers, and commands before their exec."""

    def stopped_start(self, client):
        """Starts a background command whose program is missing, and stops its process before the exec fails. Returns
        the command's number."""
        for _ in range(200):
            kind, _, body = client.take(client.exec("/no/such"), STARTED, EXIT)
            if kind == STARTED:
                return number(fields(body), SESSION)
        self.skipTest("no process was stopped in time")

    def test_a_reported_session_number_is_not_given_to_another_command(self):
        client = self.client(self.create())
        storm = client.sh("echo on; while :; do kill -STOP -1; done 2>/dev/null")
        client.output(storm, b"on\n")
        ident = self.stopped_start(client)
        client.signal(storm, signal.SIGKILL)
        client.ended(storm)
        waits = client.ask_look(ident, UNTIL_END)
        client.signal(ident, signal.SIGCONT)
        self.assertTrue(command_of(client.take(waits, COMMAND)[2]).flags & HAS_ENDED)
        self.assertNotEqual(client.sh("exit 6"), ident)
        self.assertEqual(client.look(ident).words, [b"/no/such"])


class Throttled(CordonTest):
    """A sandbox with little CPU time has many processes. A process needs CPU time to die."""

    modes = ("root",)
    def test_killed_processes_get_cpu_time(self):
        box = self.create("--cpus", "1", "--max-cpus", "1", "--pids-limit", "800")
        box.sh("python3 -c 'import os, time\nheld = bytearray(24 << 20)\n"
               "for _ in range(700):\n if os.fork() == 0: time.sleep(1000)\nos._exit(0)'")
        self.assertGreater(len(box.host_processes()), 700)
        got = self.cordon("modify", box.name, "--cpus", "0.01")
        self.assertEqual(got.code, 0, got)
        self.assertEqual(box.stop("-f").code, 0)
        # with a hundredth of a CPU, the processes would need more than ten seconds to die
        self.eventually(lambda: not box.host_processes(), within=3)


class SpawnedTest(CordonTest):
    def supervisor(self):
        """Returns the supervisor of the only sandbox, or None while there is none."""
        found = [p for p in below([os.getpid()]) if p.comm.startswith("cordon-superv") and p.state != "Z"
                 and len(p.status("NSpid")) == len(Process(os.getpid()).status("NSpid"))]
        return found[0] if found else None


class Leash(SpawnedTest):
    """The process that holds the leash of a sandbox sends nonsense on it and reads nothing."""

    modes = ("root",)

    def leash_of(self, client, supervisor):
        """The client's end of the leash, as a socket of ours. The other end is descriptor 3 of the supervisor."""
        theirs = os.readlink(f"/proc/{supervisor}/fd/3")[8:-1]
        table = subprocess.run(["ss", "-xH"], capture_output=True, text=True, check=True).stdout
        peer, = (row.split()[7] for row in table.splitlines() if row.split()[5] == theirs)
        number, = (int(fd) for fd in os.listdir(f"/proc/{client}/fd")
                   if os.readlink(f"/proc/{client}/fd/{fd}") == f"socket:[{peer}]")
        pidfd = os.pidfd_open(client)
        fd = ctypes.CDLL(None).syscall(438, pidfd, number, 0)  # pidfd_getfd
        os.close(pidfd)
        self.assertGreaterEqual(fd, 0)
        return socket.socket(fileno=fd)

    def test_a_client_that_does_not_read_answers_on_the_leash(self):
        box = self.box()
        run = self.spawn("run", "-n", box.name, "host", "--", "sh", "-c", "echo up; exec sleep 1000")
        self.assertEqual(run.stdout.readline(), b"up\n")
        # the words LEASH_SETTLED, and LEASH_LIMITS with an empty frame
        for words in (b"s" * 65536, b"l\0\0\0\0\x3a\0\0\0\0\0\0\0" * 5000):
            with self.subTest(words[:1]), self.leash_of(run.pid, self.supervisor().pid) as leash:
                leash.setblocking(False)
                for _ in range(100):
                    select.select([], [leash], [], 1)
                    try:
                        leash.send(words)
                    except OSError:  # the socket is full, or the supervisor has closed it: both are allowed
                        pass
            self.assertEqual(self.cordon("list").code, 0)
        self.cordon("remove", "-f", box.name)
        self.eventually(lambda: not self.supervisor())


    def test_nonsense_for_the_log_ends_the_sandbox(self):
        def message(kind, size, body=b""):
            return b"o" + struct.pack("<IBBHI", size, kind, 0, 0, 1) + body

        for words in (message(12, 0), message(42, 40000, b"x" * 40000), message(42, (8 << 20) + 1), b"x"):
            with self.subTest(words[:13]):
                run = self.spawn("run", "host", "--", "sh", "-c", "echo up; exec sleep 1000")
                self.assertEqual(run.stdout.readline(), b"up\n")
                with self.leash_of(run.pid, self.supervisor().pid) as leash:
                    leash.sendall(words)
                self.assertNotEqual(self.finish(run).code, 0)
                self.eventually(lambda: not self.supervisor() and not self.names())

    def test_hostile_output_for_the_log(self):
        box = self.box()
        run = self.spawn("run", "-n", box.name, "host", "--", "sh", "-c", "echo up; exec sleep 1000")
        self.assertEqual(run.stdout.readline(), b"up\n")
        with self.leash_of(run.pid, self.supervisor().pid) as leash:
            for body in (b"\x1b]0;owned\x07", b"\xff\0\n{}", b"x" * 16384, b""):
                leash.sendall(b"o" + struct.pack("<IBBHI", len(body), 42, 0xff, 0, 0xffffffff) + body)

            def records():
                got = self.cordon("logs", box.name, "--json", "--id", str(0xffffffff))
                return [json.loads(line) for line in got.text.splitlines()]

            self.eventually(lambda: len(records()) == 4)
            self.assertEqual({(r["id"], r["s"]) for r in records()}, {(0xffffffff, "output")})
            self.assertNotIn(b"\x1b", self.cordon("logs", box.name).out)
        self.cordon("remove", "-f", box.name)
        self.finish(run)


class StoppedWhileStarting(SpawnedTest):
    """Pid 1 never reports that it is ready. The waiting command must learn why the sandbox
    ended."""

    modes = ("root", "user")

    def silent(self):
        """Begins to create a sandbox whose pid 1 says nothing. Returns when the supervisor waits for pid 1."""
        own = os.path.join(self.dir, "own")
        source = os.path.join(self.dir, "silent.c")
        shutil.copytree(os.environ["CORDON_TEST_PREFIX"], own, symlinks=True)
        with open(source, "w") as handle:
            handle.write("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
        guest = os.path.join(own, "libexec/cordon/cordon-guest")
        os.unlink(guest)
        subprocess.run(["cc", "-static", "-o", guest, source], check=True)
        box = self.box()
        client = self.spawn("create", "-n", box.name, "host", program=os.path.join(own, "bin/cordon"))
        self.eventually(lambda: self.supervisor() and self.supervisor().status("Seccomp") == ["2"])
        return box, client

    def test_the_waiting_command_prints_the_reason(self):
        box, client = self.silent()
        os.kill(self.supervisor().pid, signal.SIGTERM)
        got = self.finish(client)
        self.assertEqual(got.code, 1, got)
        self.assertIn("was stopped while it started: the supervisor was asked to end", got.errtext)
        self.assertNotIn("replaced", got.errtext)

    def test_another_command_stops_the_sandbox(self):
        box, client = self.silent()
        self.assertEqual(box.stop("-f").code, 0)
        got = self.finish(client)
        self.assertEqual(got.code, 1, got)
        self.assertIn("another command stopped or replaced", got.errtext)


class FrozenLauncher(CordonTest):
    """Root of the host has frozen a launcher, so the launcher does not die when pid 1 kills it."""

    modes = ("root",)
    FREEZER = "/sys/fs/cgroup/freezer"

    def freeze(self, pid):
        """Freezes the process PID. Returns the file that takes FROZEN or THAWED."""
        if not os.path.isdir(self.FREEZER):
            self.not_run("this machine has no version 1 freezer")
        group = tempfile.mkdtemp(prefix="cordon-test-", dir=self.FREEZER)
        state = pathlib.Path(group, "freezer.state")
        self.addCleanup(lambda: self.eventually(lambda: not pathlib.Path(group, "tasks").read_text() and
                                                (os.rmdir(group) or True)))
        self.addCleanup(state.write_text, "THAWED")
        pathlib.Path(group, "tasks").write_text(str(pid))
        state.write_text("FROZEN")
        self.eventually(lambda: state.read_text() == "FROZEN\n")
        return state

    def test_pid_1_does_not_wait_for_a_frozen_launcher(self):
        box = self.create()
        for _ in range(4):
            box.out("true")
        launcher, = (p for p in box.host_processes() if p.comm == "cordon-guest" and not p.is_pid1)
        state = self.freeze(launcher.pid)
        first = box.popen("true")
        self.eventually(lambda: int(launcher.status("ShdPnd")[0], 16) >> (signal.SIGKILL - 1) & 1)
        self.assertEqual(box.exec("echo", "fine").text, "fine\n")
        state.write_text("THAWED")
        self.assertEqual(first.wait(COMMAND_SECONDS), 0)


class LinksToOurMounts(ImageMixin, AttackTest):
    """An image has links that lead to /proc and to other mounts of the sandbox, or links in the places of these
    mounts. Pid 1 and the deputy trust what they read from the mounts."""

    modes = ALL_MODES

    def refused(self, image, said, *opts):
        box = self.box()
        got = self.cordon("create", "-q", "-n", box.name, *opts, image)
        self.assertEqual(got.code, 1, got)
        self.assertIn(said, got.errtext)
        self.assertEqual(self.names(), [])

    def test_a_link_in_the_place_of_a_mount(self):
        """Root inside could replace such a link by a directory with forged files about its processes."""
        for name in ("proc", "dev", "sys", ".msb"):
            with self.subTest(name=name):
                root = self.make_root()
                shutil.rmtree(os.path.join(root, name), ignore_errors=True)
                os.mkdir(os.path.join(root, "elsewhere"))
                os.symlink("/elsewhere", os.path.join(root, name))
                self.refused(root, "the image has a link or a file")
        layer = Layer(self.path("layer")).dir("elsewhere").symlink("proc", "elsewhere").close()
        self.refused(self.load_busybox(layer), "the image has a link or a file")

    def test_no_volume_covers_our_mounts(self):
        os.makedirs(self.path("ws"))
        for to in ("/proc", "/dev", "/sys", "/.msb", "../../proc"):
            with self.subTest(to=to):
                root = self.make_root()
                os.mkdir(os.path.join(root, ".msb"))
                os.symlink(to, os.path.join(root, "work"))
                said = "a link in the image leads from this target"
                self.refused(root, said, "-v", f"{self.path('ws')}:/work")
                self.refused(root, said, "--tmpfs", "/work")
        layer = Layer(self.path("layer")).symlink("work", "/dev/pts").close()
        self.refused(self.load_busybox(layer), said, "-v", f"{self.path('ws')}:/work")

    def test_no_file_of_ours_covers_proc(self):
        layer = Layer(self.path("layer")).symlink("etc/hosts", "/proc/thread-self/children").close()
        self.refused(self.load_busybox(layer), "a link in the image leads from this target")


class LinksInVolumes(AttackTest):
    """One sandbox makes links in a volume, so that another sandbox mounts its next volume in the wrong place."""

    modes = ALL_MODES

    def setUp(self):
        super().setUp()
        for name in ("ws", "inner"):
            os.mkdir(os.path.join(self.dir, name))
        self.ws, self.inner = os.path.join(self.dir, "ws"), os.path.join(self.dir, "inner")
        pathlib.Path(self.inner, "id").touch()

    def opts(self, mode, place):
        return "-v", f"{self.ws}:/w:{mode}", "-v", f"{self.inner}:/w/{place}"

    def test_a_link_moves_no_mount(self):
        attacker = self.create("-v", f"{self.ws}:/w")
        # with these directories, the targets of the links also exist in the volume
        attacker.out("mkdir -p /w/root /w/srv/x; ln -s /root /w/a; ln -s /srv /w/b; ln -s ../root /w/c")
        before = sorted(os.walk(self.ws))
        for mode in ("rw", "ro"):
            for place in ("a", "a/new", "b/x", "c", "c/new"):
                with self.subTest(mode=mode, place=place):
                    box = self.box()
                    got = self.cordon("create", "-q", "-n", box.name, *self.opts(mode, place), "host")
                    self.assertEqual(got.code, 1, got)
                    self.assertIn("the target passes through a link in the volume", got.errtext)
                    self.assertEqual(sorted(os.walk(self.ws)), before)

    def test_links_that_come_and_go_move_no_mount(self):
        attacker = self.create("-v", f"{self.ws}:/w")
        attacker.out("mkdir -p /w/d /w/root; ln -s /root /w/l")
        swapping = attacker.popen("sh", "-c", "echo up; while :; do mv -T /w/d /w/e; mv -T /w/l /w/d; mv -T /w/d /w/l;"
                                  " mv -T /w/e /w/d; done")
        self.assertEqual(swapping.stdout.readline(), b"up\n")
        for _ in range(30):
            got = self.cordon("run", "-q", *self.opts("rw", "d"), "host", "--", "sh", "-c", "ls -A /root")
            self.assertEqual(got.text, "", got)
        swapping.kill()
        swapping.wait()


class LockedDirectories(AttackTest):
    """A command locks a directory that another sandbox uses, too. Such a lock must not keep cordon from removing mount
    points."""

    modes = ALL_MODES

    def hold(self, box, kind, place):
        holder = box.popen("flock", "-n", kind, place, "sh", "-c", "echo locked; exec sleep 1000")
        self.assertEqual(holder.stdout.readline(), b"locked\n")

    def test_no_mount_point_is_left_in_a_locked_volume(self):
        ws, inner = os.path.join(self.dir, "ws"), os.path.join(self.dir, "inner")
        os.mkdir(ws)
        os.mkdir(inner)
        for kind in ("-x", "-s"):
            with self.subTest(kind=kind):
                attacker = self.create("-v", f"{ws}:/w")
                self.hold(attacker, kind, "/w")
                box = self.create("-v", f"{ws}:/w", "-v", f"{inner}:/w/a/b")
                self.assertEqual(os.listdir(ws), ["a"])
                self.assertEqual(box.remove("-f").code, 0)
                self.assertEqual(os.listdir(ws), [])
                self.assertEqual(attacker.remove("-f").code, 0)

    def test_no_mount_point_is_left_in_a_locked_root_directory(self):
        root = self.make_root()
        before = sorted(os.walk(root))
        for kind in ("-x", "-s"):
            with self.subTest(kind=kind):
                attacker = self.create("-v", f"{root}:/w")
                self.hold(attacker, kind, "/w")
                box = self.create("--tmpfs", "/new/place", image=root)
                self.assertEqual(box.remove("-f").code, 0)
                self.assertEqual(sorted(os.walk(root)), before)
                self.assertEqual(attacker.remove("-f").code, 0)
