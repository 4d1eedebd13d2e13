"""Tests directories that are images with copy-on-write: `DIRECTORY,cow`, or --root-disk with a directory. The directory
must never change."""

import hashlib
import os
import shutil
import socket
import stat
import tempfile

from harness import ALL_MODES, CORDON, MODE, MSB, ONE_ID, SERVED, CordonTest
from test_rootdisk import FULL, ON_DISK
from test_served import ServedSetUp

EVERY_MODE = (*ALL_MODES, "served", "served-user")
PROGRAMS = ("mv", "ln", "chmod", "cp", "head", "mkfifo", "mknod", "rmdir", "grep")


def whole(top):
    """Returns everything about every file in TOP that a write could change: inode, owner, mode, links, size, times,
    attributes, content."""
    found = {}
    paths = [top] + [os.path.join(where, name) for where, directories, files in os.walk(top)
                     for name in directories + files]
    for path in paths:
        info = os.lstat(path)
        content = None
        if stat.S_ISLNK(info.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(info.st_mode):
            with open(path, "rb") as handle:
                content = hashlib.sha256(handle.read()).hexdigest()
        names = os.listxattr(path, follow_symlinks=False)
        found[os.path.relpath(path, top)] = (
            info.st_ino, info.st_mode, info.st_uid, info.st_gid, info.st_nlink, info.st_size, info.st_mtime_ns,
            info.st_ctime_ns, content, {n: os.getxattr(path, n, follow_symlinks=False) for n in names})
    return found


class CowTest(CordonTest):
    """Each test has a directory. At its end, each test proves that the directory has not changed."""

    modes = USUAL = ("root", "user", "bare", "userns")

    def setUp(self):
        super().setUp()
        self.root = self.make_root(*PROGRAMS)
        for sub in ("srv/deep/er", "opt"):
            os.makedirs(os.path.join(self.root, sub))
        for path, text in (("srv/file", "lower\n"), ("srv/deep/f", "deep\n"), ("opt/script", "#!/bin/sh\necho one\n"),
                           ("srv/linked", "two names\n")):
            self.write(path, text)
        os.chmod(os.path.join(self.root, "opt/script"), 0o755)
        os.link(os.path.join(self.root, "srv/linked"), os.path.join(self.root, "srv/linked2"))
        self.cow = self.root + ",cow"
        self.freeze()

    def tearDown(self):
        self.same()

    def write(self, path, text):
        with open(os.path.join(self.root, path), "w") as handle:
            handle.write(text)

    def freeze(self):
        """Remembers the directory as it is now. The directory must not change from now on."""
        self.before = whole(self.root)

    def same(self):
        now = whole(self.root)
        changed = {path: (self.before.get(path), now.get(path)) for path in {**self.before, **now}
                   if self.before.get(path) != now.get(path)}
        self.assertEqual(changed, {}, "the directory has changed")

    def run_cow(self, script, *opts, image=None, **kwargs):
        got = self.cordon("run", "-q", *opts, image or self.cow, "--", "sh", "-c", script, **kwargs)
        self.assertEqual(got.code, 0, got)
        return got.text

    def refused(self, *args, said):
        got = self.cordon("create", "-n", "x", *args)
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertIn(said, got.errtext)
        self.assertEqual(self.names(), [])
        return got


class Cow(CowTest):
    modes = EVERY_MODE

    def test_changes_are_the_sandboxes_own(self):
        box = self.create(image=self.cow)
        box.out("""
            echo more >> /srv/file
            echo new > /srv/new
            chmod 700 /opt /opt/script
            mv /srv/deep /srv/moved
            rm -r /var
            rm /etc/group; mkdir /etc/group; echo x > /etc/group/x
            ln /srv/file /srv/hard; echo via >> /srv/hard
            mkfifo /srv/pipe
            echo top > /top""")
        look = """cat /srv/file /srv/new /srv/moved/f /etc/group/x /srv/hard /top
            stat -c %a /opt /opt/script; ls -d /var /srv/deep 2>/dev/null; ls /srv; true"""
        after = box.out(look)
        self.assertEqual(after.split("\n")[:10], ["lower", "more", "via", "new", "deep", "x", "lower", "more", "via",
                                                  "top"])
        self.same()
        self.assertEqual(box.stop().code, 0)
        self.same()
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out(look), after)
        os.kill(box.supervisor().pid, 9)
        self.eventually(lambda: not box.host_processes())
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /top; ls -d /var 2>/dev/null; true"), "top")
        self.assertEqual(box.remove("-f").code, 0)

    def test_an_ephemeral_sandbox_may_destroy_everything(self):
        text = self.run_cow("rm -rf /srv /opt /etc /root; echo gone > /usr/lib/x; ls -d /srv /opt 2>/dev/null; echo end")
        self.assertEqual(text, "end\n")
        self.same()
        self.eventually(lambda: not os.listdir(os.path.join(self.home, "sandboxes")))
        self.assertEqual(self.run_cow("cat /srv/file"), "lower\n")

    def test_no_way_leads_to_the_directory(self):
        """Writes through reopened descriptors, links, nodes and mounts, and changes of modes, must
        stay in the sandbox's own layer."""
        self.run_cow("""
            exec 3< /srv/file 4< /opt
            echo fd >> /proc/self/fd/3; echo fd > /proc/self/fd/4/new; rm /proc/self/fd/4/script
            echo root >> /proc/self/root/srv/linked; echo one >> /proc/1/root/srv/linked
            mv /proc/self/fd/4 /srv/taken; chmod 7777 /srv/deep/f /srv/deep
            ln /srv/linked /srv/l3; chmod 0 /srv/l3; chown 0:0 /srv/l3; rm -f /srv/linked /srv/linked2
            mknod /srv/file2 c 0 0; mv -f /srv/file2 /srv/file
            rm /srv/deep/f; mkdir /srv/deep/f; rmdir /srv/deep/f; echo again > /srv/deep/f
            cp /opt/../bin/true /srv/deep/er/true; mv /srv/deep /tmp/deep; mv /tmp/deep /srv/deep
            touch -d @0 / /srv /etc /etc/passwd; ls -R / > /dev/null; cat /etc/passwd > /dev/null
            : > /etc/passwd; true""")

    def test_mount_points_are_made_in_our_layer(self):
        for name in ("proc", "dev", "sys", "run", "tmp"):
            os.rmdir(os.path.join(self.root, name))
        self.freeze()
        src = os.path.join(self.dir, "source")
        os.mkdir(src)
        # in the served modes the directory `src` is on an overlay, and root cannot use it as a volume
        volume = ("--tmpfs", "/mnt/deep/er") if SERVED else ("-v", f"{src}:/mnt/deep/er")
        box = self.create(*volume, "--tmpfs", "/scratch", "--mkdir", "/made/for/it", image=self.cow)
        self.assertEqual(box.out("ls -d /made/for/it /mnt/deep/er /proc/1/status /scratch; echo x > /mnt/deep/er/x"),
                         "/made/for/it\n/mnt/deep/er\n/proc/1/status\n/scratch")
        self.same()
        self.assertEqual(os.listdir(src), [] if SERVED else ["x"])

    def test_the_callers_files_belong_to_root_inside(self):
        if MODE == "root":
            os.chown(os.path.join(self.root, "srv/file"), 1000, 2000)
        self.freeze()
        self.assertEqual(self.run_cow("stat -c %u:%g /srv/file /etc/passwd /"),
                         ("1000:2000" if MODE == "root" else "0:0") + "\n0:0\n0:0\n")

    def test_two_sandboxes_do_not_see_each_other(self):
        one, two = self.create(image=self.cow), self.create(image=self.cow)
        one.out("echo 1 > /srv/file; rm /srv/linked")
        self.assertEqual(two.out("cat /srv/file /srv/linked"), "lower\ntwo names")


class Words(CowTest):
    """Tests what a person types, and what cordon prints."""

    def test_what_is_shown(self):
        box = self.create(image=self.cow)
        shown = box.inspect()
        self.assertEqual((shown["config"]["image"]["Bind"]["cow"], shown["config"]["image"]["Bind"]["path"]),
                         (True, self.root))
        self.assertIn(shown["root"], ("overlay", "fuse-overlayfs"))
        self.assertNotEqual(shown["limits"]["root_disk"], "none")
        text = self.cordon("inspect", box.name).text
        self.assertIn(self.cow + "\n", text)
        self.assertRegex(text, r"(?m)^ +Root disk: +4 GiB$")
        self.assertEqual([one["image"] for one in self.cordon("list", "--format", "json").json()], [self.cow])
        self.assertEqual(self.cordon("status", box.name, "--format", "json").json()["image"], self.cow)
        self.assertRegex(self.cordon("df").text, r"(?i)sandbox")

    def test_in_place_is_as_before(self):
        box = self.create(image=self.root)
        shown = box.inspect()
        self.assertNotIn("cow", shown["config"]["image"]["Bind"])
        self.assertEqual((shown["root"], shown["limits"]["root_disk"]), ("directory", "none"))
        self.assertEqual(self.cordon("list", "--format", "json").json()[0]["image"], self.root)
        got = self.cordon("modify", box.name, "--next-start", "--root-disk", "1G")
        self.assertEqual(got.code, 1, got)
        self.assertIn("used in place", got.errtext)
        self.assertEqual(box.remove("-f").code, 0)
        self.freeze()  # freeze again: the sandbox above made and removed mount points in the directory

    def test_called_as_msb(self):
        got = self.cordon("run", "-q", self.cow, "--", "sh", "-c", "rm -r /srv; echo in", program=MSB)
        self.assertEqual((got.code, got.text), (0, "in\n"), got)

    def test_relative_words(self):
        for image, cwd in (("./root,cow", self.dir), (".,cow", self.root), ("../root,cow", self.root),
                           ("..,cow", os.path.join(self.root, "srv"))):
            with self.subTest(image):
                self.assertEqual(self.run_cow("rm -r /srv; echo in", image=image, cwd=cwd), "in\n")
                self.same()

    def test_a_directory_whose_name_ends_like_the_option(self):
        other = self.cow
        shutil.copytree(self.root, other, symlinks=True)
        with open(os.path.join(other, "srv/file"), "w") as handle:
            handle.write("other\n")
        self.assertEqual(self.run_cow("cat /srv/file"), "lower\n")
        self.assertEqual(self.run_cow("cat /srv/file; echo x > /srv/in", image=other + "/"), "other\n")
        self.assertTrue(os.path.exists(os.path.join(other, "srv/in")))
        # cordon made the mount point .msb in the directory, and removes it when the sandbox has ended
        self.eventually(lambda: not os.path.exists(os.path.join(other, ".msb")))
        frozen = whole(other)
        self.assertEqual(self.run_cow("cat /srv/in; rm -r /srv", image=other + "/,cow"), "x\n")
        self.assertEqual(whole(other), frozen)
        box = self.create(image=other + "/")
        self.assertEqual(self.cordon("list", "--format", "json").json()[0]["image"], other + "/")
        box.remove("-f")
        shutil.move(self.root, self.root + ".away")
        self.refused(self.cow, said=f"'{self.root}'")
        shutil.move(self.root + ".away", self.root)
        self.freeze()  # freeze again: the moves above changed the ctime of the directory

    def test_an_existing_sandbox_with_another_use_of_the_directory(self):
        box = self.create(image=self.cow)
        for word, warned in ((self.cow, False), (self.root, True)):
            got = self.cordon("run", "-n", box.name, word, "--", "true")
            self.assertEqual(got.code, 0, got)
            self.assertEqual(f"exists with the image '{self.cow}'" in got.errtext, warned, got)

    def test_install(self):
        got = self.cordon("install", self.cow, "--tmp", "--", "sh", "-c", "rm -r /srv; echo in")
        self.assertEqual(got.code, 0, got)
        got = self.cordon(program=os.path.join(self.home, "bin/root"))
        self.assertEqual((got.code, got.text), (0, "in\n"), got)

    def test_files(self):
        """In a --conf file and in a project file, paths are relative to the file."""
        text = "image: ./root,cow\n"
        below = os.path.join(self.dir, "elsewhere")
        os.mkdir(below)
        for name, body in (("conf.yaml", text), ("bind.yaml", "image:\n  bind: root,cow\n"), ("cordon.yaml", text)):
            with open(os.path.join(self.dir, name), "w") as handle:
                handle.write(body)
        for name in ("conf.yaml", "bind.yaml"):
            got = self.cordon("run", "-q", "--conf", os.path.join(self.dir, name), "--", "sh", "-c",
                              "rm -r /srv; echo in", cwd=below)
            self.assertEqual((got.code, got.text), (0, "in\n"), got)
        got = self.cordon("allow", "--yes", cwd=below)
        self.assertEqual(got.code, 0, got)
        self.assertRegex(got.text + got.errtext, r"root \(copy-on-write\)")
        got = self.cordon("run", "-q", "--", "sh", "-c", "rm -r /srv; echo in", cwd=below)
        self.assertEqual((got.code, got.text), (0, "in\n"), got)


class Refused(CowTest):
    def test_what_is_refused_in_place_is_refused(self):
        self.cordon("list")
        os.symlink("/", os.path.join(self.dir, "link"))
        open(os.path.join(self.dir, "file"), "w").close()
        for path, said in (("/", "/"), ("//", "/"), ("/usr/..", "root"), ("/proc/self/root", "root"),
                           (os.path.join(self.dir, "link"), "root"), (self.dir, "state directory"),
                           (os.path.dirname(self.dir), "state directory"), (self.home, "state directory"),
                           (os.path.join(self.dir, "none"), "none"), (os.path.join(self.dir, "file"), "not a directory")):
            with self.subTest(path):
                self.refused(path + ",cow", said=said)
                if path != "/":
                    self.refused("--root-disk", "1G", path, said=said)

    def test_other_images(self):
        for image in ("host,cow", "alpine,cow", "./disk.raw,cow", ",cow", "a/b:c,cow"):
            with self.subTest(image):
                self.refused(image, said="',cow' goes with a directory only")

    def test_other_root_disks(self):
        disk = os.path.join(self.dir, "disk.raw")
        open(disk, "w").close()
        for kind in ("tmpfs", "tmpfs:8M", disk):
            with self.subTest(kind):
                got = self.refused("--root-disk", kind, self.root, said="takes a size only")
                self.assertIn("write ',cow'", got.errtext)
        self.refused("--root-disk", "flat", self.root, said="--root-disk")
        self.refused("--root-disk", "flat", self.cow, said="flat form")

    def test_nothing_is_left_of_a_failed_create(self):
        self.refused("-v", "/no/such/source:/stub/b", self.cow, said="/no/such/source")


class Hostile(CowTest):
    """There are three kinds of hostile directories: one with links that lead out of it, one with extended attributes of
    an overlay, and one that somebody changes while a sandbox runs."""

    def test_links_of_the_directory(self):
        decoy = os.path.join(self.dir, "decoy")
        os.mkdir(decoy)
        victim = os.path.join(self.dir, "victim")
        with open(victim, "w") as handle:
            handle.write("precious")
        for place in ("dev", "proc", "sys", "tmp", "run", "etc", "etc/hostname", "etc/hosts", "etc/resolv.conf",
                      "etc/profile", ".msb"):
            with self.subTest(place):
                root = self.make_root(*PROGRAMS)
                path = os.path.join(root, place)
                if os.path.lexists(path):
                    os.rename(path, path + ".orig")
                os.symlink(decoy if os.path.isdir(path + ".orig") else victim, path)
                before, box = whole(root), self.box()
                got = self.cordon("create", "-q", "-n", box.name, root + ",cow")
                self.assertIn(got.code, (0, 1), got)
                if got.code == 0:
                    box.sh(f"echo overwritten > /{place}; echo x > /{place}/x")
                    self.assertEqual(box.remove("-f").code, 0)
                self.assertEqual((os.listdir(decoy), whole(root)), ([], before))
                with open(victim) as handle:
                    self.assertEqual(handle.read(), "precious")
        self.freeze()

    def test_a_replaced_directory(self):
        """If another directory takes the path, a running sandbox keeps its own directory. A later start refuses the new
        directory."""
        box = self.create(image=self.cow)
        box.out("echo kept > /srv/kept")
        away = self.root + ".away"
        os.rename(self.root, away)
        shutil.copytree(away, self.root, symlinks=True)
        with open(os.path.join(self.root, "srv/file"), "w") as handle:
            handle.write("forged\n")
        self.assertEqual(box.out("cat /srv/file"), "lower")
        self.assertEqual(box.stop().code, 0)
        got = box.start()
        self.assertEqual(got.code, 1, got)
        self.assertIn("create the sandbox anew", got.errtext)
        shutil.rmtree(self.root)
        os.symlink(away, self.root)
        self.assertEqual(box.start().code, 1)
        os.remove(self.root)
        os.rename(away, self.root)
        self.freeze()
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /srv/file /srv/kept"), "lower\nkept")

    def test_a_directory_that_changes_meanwhile(self):
        box = self.create(image=self.cow)
        box.out("echo mine > /srv/file")
        self.write("srv/file", "changed outside\n")
        os.remove(os.path.join(self.root, "srv/linked"))
        shutil.rmtree(os.path.join(self.root, "srv/deep"))
        os.symlink("/", os.path.join(self.root, "srv/deep"))
        self.freeze()
        self.assertEqual(box.out("cat /srv/file; ls /srv/deep/ > /dev/null 2>&1; echo x > /srv/deep/x 2> /dev/null;"
                                 " echo alive"), "mine\nalive")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /srv/file"), "mine")
        self.assertFalse(os.path.exists("/x"))

    def test_attributes_of_an_overlay(self):
        """Some extended attributes could make an overlay lead to another place. In a directory image they can only hide
        files."""
        secret = os.path.join(self.dir, "secret")
        os.mkdir(secret)
        with open(os.path.join(secret, "key"), "w") as handle:
            handle.write("key")
        try:
            for name in ("user.overlay.redirect", "user.overlay.opaque", "user.overlay.metacopy"):
                os.setxattr(os.path.join(self.root, "srv/deep"), name, f"/../../..{secret}".encode())
                os.setxattr(os.path.join(self.root, "srv/file"), name, f"/../../..{secret}/key".encode())
        except OSError as e:
            self.not_run(f"no extended attributes here: {e.strerror}")
        self.freeze()
        text = self.run_cow("ls -a /srv/deep; cat /srv/file; echo x > /srv/deep/x; echo more >> /srv/file; cat /srv/file; true")
        self.assertNotIn("key", text)
        self.assertEqual(os.listdir(secret), ["key"])


class RootDisk(CowTest):
    """--root-disk SIZE with a directory asks for copy-on-write."""

    timeout = 120

    def test_a_size_on_disk(self):
        if MODE != "root":
            got = self.refused("--root-disk", "16M", self.root, said="cannot be enforced without root")
            self.assertIn("write DIRECTORY,cow", got.errtext)
            return
        box = self.create("--root-disk", "16M", image=self.root)
        self.assertIn(box.inspect()["limits"]["root_disk"], ON_DISK)
        self.assertIs(box.inspect()["config"]["image"]["Bind"]["cow"], True)
        for _ in range(2):
            got = box.sh("rm -r /srv; head -c 64M /dev/zero > /root/fill")
            self.assertRegex(got.errtext, FULL)
            self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(self.cordon("modify", box.name, "--root-disk", "96M").code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.sh("head -c 48M /dev/zero > /root/fill").code, 0)

    def test_a_size_in_memory(self):
        for opts, image in ((("--root-disk", "8M"), self.root), (("--root-disk", "tmpfs:8M"), self.cow),
                            (("--oci-upper-size", "8M"), self.root)):
            with self.subTest(opts):
                got = self.cordon("run", "-q", *opts, image, "--", "sh", "-c",
                                  "rm -r /srv; head -c 64M /dev/zero > /root/fill")
                self.assertRegex(got.errtext, FULL)
                self.same()

    def test_a_configured_default_asks_for_nothing(self):
        os.makedirs(self.home, mode=0o700)
        config = os.path.join(self.dir, "config.json")
        for default in ('"64M"', '"disk"', '"tmpfs:8M"'):
            with self.subTest(default):
                with open(config, "w") as handle:
                    handle.write('{"sandbox_defaults": {"oci": {"root_disk": %s}}}' % default)
                box = self.create(image=self.root, env={"MSB_CONFIG_PATH": config})
                self.assertEqual(box.inspect()["root"], "directory")
                box.remove("-f")
        self.freeze()  # freeze again: the sandbox above made and removed mount points in the directory
        box = self.create(image=self.cow, env={"MSB_CONFIG_PATH": config})
        self.assertEqual(box.inspect()["config"]["image"]["Bind"]["root_disk"], {"kind": "tmpfs", "size_mib": 8})


class Users(CowTest):
    """In a rotated sandbox, the layers of an image are used in a form with rotated owners, so that root's files belong
    to root inside. A directory has no such form. So if an ordinary user makes a sandbox in which another user than
    root works, the caller's files in the directory belong to this user inside, and not to root."""

    modes = ("root", "user")

    def test_a_user_who_works_in_a_volume(self):
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared)
        box = self.create("-u", "worker", "-v", f"{shared}:/w", image=self.cow)
        self.assertEqual(box.out("id -u; echo x > /w/f; stat -c %u:%g /w/f /"), "1000\n1000:1000\n0:0")
        self.assertEqual(box.out("stat -c %u:%g /srv/file"), "0:0" if MODE == "root" else "1000:1000")
        self.assertEqual(os.stat(os.path.join(shared, "f")).st_uid, os.getuid())
        self.assertEqual(box.out("echo root > /srv/file; cat /srv/file", opts=("-u", "root")), "root")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /srv/file"), "root")


class Sockets(CowTest):
    """A command cannot connect to a socket in the directory, because the overlay shows a file of its own in place of
    the socket."""

    modes = EVERY_MODE

    def test_a_socket_in_the_directory(self):
        connect = "perl -e 'socket(S, 1, 1, 0); print connect(S, pack(\"Sa108\", 1, \"/srv/s\")) ? \"connected\" : $!'"
        if not os.path.exists("/usr/bin/perl"):
            self.not_run("perl is missing")
        self.install_program(self.root, "/usr/bin/perl")
        with socket.socket(socket.AF_UNIX) as listener:
            here = os.getcwd()
            os.chdir(os.path.join(self.root, "srv"))  # the kernel limits the length of a socket's path
            try:
                listener.bind("s")
            finally:
                os.chdir(here)
            listener.listen()
            # without copy-on-write the same command connects; in the served modes root cannot share the directory
            if not SERVED:
                self.assertEqual(self.run_cow(connect, image=self.root), "connected")
                # cordon made the mount point .msb in the directory, and removes it when the sandbox has ended
                self.eventually(lambda: not os.path.exists(os.path.join(self.root, ".msb")))
            self.freeze()
            self.assertEqual(self.run_cow(connect), "Connection refused")
            if not SERVED:  # fuse-overlayfs cannot remove a socket
                self.run_cow("rm /srv/s; echo mine > /srv/s")


class Served(ServedSetUp, CowTest):
    """Tests with fuse-overlayfs, which unites the directory and the sandbox's layer."""

    modes = ("served", "served-user")

    def marker(self):
        with open(os.path.join(self.home, ".cordon-home")) as handle:
            return handle.read()

    def test_the_root_is_served(self):
        box = self.create("--no-net", image=self.cow)
        self.assertEqual(self.root_of(box), "fuse-overlayfs")
        box.out("rm -r /srv; mkdir /srv; echo x > /srv/file; mv /opt /o")
        self.same()
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("ls /srv; cat /srv/file; ls /o"), "file\nx\nscript")

    def test_the_home_does_not_remember_what_is_the_directorys_fault(self):
        """The kernel's overlay refuses this directory as a lower layer, even if the upper layer is in memory."""
        deep = tempfile.mkdtemp(dir=os.environ["CORDON_TEST_DEEP"])
        self.addCleanup(shutil.rmtree, deep)
        root = os.path.join(deep, "root")
        shutil.copytree(self.root, root, symlinks=True)
        before = whole(root)
        text = self.run_cow("grep ' / ' /proc/mounts; rm -r /srv", "--no-net", image=root + ",cow")
        self.assertRegex(text, "^fuse-overlayfs / fuse ")
        self.assertEqual(whole(root), before)
        self.assertNotIn("by fuse-overlayfs", self.marker())


class NoNote(ServedSetUp, CowTest):
    modes = ("root",)  # an ordinary user needs newuidmap, which gets no privilege under strace

    def test_a_refused_overlay_is_not_noted(self):
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        got = self.cordon("-f", "-qq", "-o", "/dev/null", "-P", "overlay", "-e", "inject=mount:error=ENODEV",
                          CORDON, "run", "-q", self.cow, "--", "sh", "-c", "grep ' / ' /proc/mounts", program="strace")
        self.assertRegex(got.text, "^fuse-overlayfs / fuse ", got)
        with open(os.path.join(self.home, ".cordon-home")) as handle:
            self.assertNotIn("by fuse-overlayfs", handle.read())
