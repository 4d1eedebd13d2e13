"""Tests scripts, and changes to the root file system before the first start."""

import os
import signal
import threading

from harness import ALL_MODES, ONE_ID, CordonTest

OTHER = () if ONE_ID else ("--user", "nobody")  # with one id there is no other user


class FilesTest(CordonTest):
    def write(self, name, data=b"", mode=0o644):
        place = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as handle:
            handle.write(data)
        os.chmod(place, mode)
        return place

    def refused(self, *opts, image="host", said=""):
        got = self.cordon("create", "--name", "refused", *opts, image)
        self.assertEqual(got.code, 1, got)
        self.assertIn(said, got.errtext)
        self.assertEqual(self.names(), [], got)
        return got


class Scripts(FilesTest):
    def test_scripts_from_text_raw_text_and_files(self):
        path = self.write("mine.sh", b"#!/bin/sh\necho from file \"$@\"\n")
        box = self.create("--script", r"hello=echo hello \"$1\"\techo\nexit 3", "--script-raw",
                          "raw=#!/bin/cat\nx\\n", "--script-path", f"mine:{path}")
        got = box.exec("hello", "you")
        self.assertEqual((got.code, got.text), (3, "hello you echo\n"))
        self.assertEqual(box.exec("raw").text, "#!/bin/cat\nx\\n")
        self.assertEqual(box.exec("mine", "a", "b").text, "from file a b\n")
        self.assertEqual(box.out("stat -c %a:%u /.msb/scripts/*; head -1 /.msb/scripts/hello"),
                         "755:0\n755:0\n755:0\n#!/bin/sh")

    def test_the_shebang_follows_the_shell(self):
        box = self.create("--shell", "bash", "--script", "b=echo $0 ${BASH_VERSION:+is bash}")
        self.assertEqual(box.out("head -1 /.msb/scripts/b"), "#!/usr/bin/env bash")
        self.assertIn("is bash", box.exec("b").text)

    def test_scripts_survive_a_restart_and_come_first_on_the_path(self):
        box = self.create("--script", "ls=echo mine")
        self.assertEqual(box.exec("ls").text, "mine\n")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.exec("ls").text, "mine\n")
        self.assertEqual(box.exec("ls", opts=OTHER).text, "mine\n")

    def test_a_narrow_umask_does_not_matter(self):
        box = self.box()
        with self.claiming(box):
            got = self.cordon("create", "-q", "-n", box.name, "--script", "s=umask", "host",
                              umask=0o077)
        self.assertEqual(got.code, 0, got)
        self.assertEqual(box.exec("s", opts=OTHER).text, "0022\n")

    def test_bad_scripts_are_refused(self):
        for opts, said in ((["--script", "a/b=x"], "--script"), (["--script", "..=x"], "--script"),
                           (["--script", "nobody"], "--script"),
                           (["--script", "a=1", "--script-raw", "a=2"], "twice"),
                           (["--script-path", "a:/no/such"], "/no/such"),
                           (["--script-path", f"a:{self.dir}"], self.dir)):
            with self.subTest(opts=opts):
                self.refused(*opts, said=said)


class Patches(FilesTest):
    modes = ALL_MODES

    def test_every_kind_of_patch(self):
        self.write("src/f", b"file\n", 0o640)
        self.write("src/deep/g", b"deep\n")
        os.symlink("f", os.path.join(self.dir, "src/l"))
        src = os.path.join(self.dir, "src")
        box = self.create("--copy", f"{src}/f:/root", "--copy-file", f"{src}/f:/opt/new/name",
                          "--copy-dir", f"{src}:/srv/tree", "--copy", f"{src}:/root",
                          "--mkdir", "/var/made/deep", "--mkdir", "/etc", "--rm=/etc/shells",
                          "--rm=/not/there")
        self.assertEqual(box.out("cat /root/f /opt/new/name /srv/tree/deep/g /root/src/l; "
                                 "stat -c %a /opt/new/name; ls -d /var/made/deep; "
                                 "ls /etc/shells 2>&1 | wc -l; readlink /srv/tree/l"),
                         "file\nfile\ndeep\nfile\n640\n/var/made/deep\n1\nf")
        config = box.inspect()["config"]
        self.assertEqual(len(config["patches"]), 8)

    def test_patches_are_applied_once_and_in_order(self):
        path = self.write("f", b"first\n")
        box = self.create("--rm=/etc/shells", "--copy-file", f"{path}:/etc/shells", "--mkdir",
                          "/opt/a", "--rm=/opt/a")
        self.assertEqual(box.out("cat /etc/shells; ls /opt; echo changed > /etc/shells"), "first")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /etc/shells"), "changed")

    def test_the_shared_image_is_not_changed(self):
        one = self.create("--rm=/etc/shells", "--mkdir", "/etc/mine")
        two = self.create()
        self.assertEqual(two.out("ls /etc/shells; ls -d /etc/mine 2>&1 | grep -c 'No such'"),
                         "/etc/shells\n1")
        self.assertNotEqual(one.sh("ls /etc/shells").code, 0)

    def test_a_directory_image_is_changed_in_place(self):
        root = self.make_root()
        path = self.write("f", b"new\n")
        self.write("root/etc/old", b"old\n")
        box = self.create("--copy-file", f"{path}:/etc/new", "--rm=/etc/old", "--mkdir", "/made",
                          image=root)
        self.assertEqual(box.remove("-f").code, 0)
        self.assertEqual(open(os.path.join(root, "etc/new")).read(), "new\n")
        self.assertFalse(os.path.exists(os.path.join(root, "etc/old")))
        self.assertTrue(os.path.isdir(os.path.join(root, "made")))

    def test_nothing_is_overwritten(self):
        path = self.write("f", b"new\n")
        for opt in ("--copy", "--copy-file"):
            self.refused(opt, f"{path}:/etc/passwd", said="not overwritten")
        self.refused("--copy-file", f"{path}:/root", said="not overwritten")
        self.refused("--copy-dir", f"{self.dir}:/root", said="not overwritten")

    def test_sources_are_checked_before_anything_is_made(self):
        path = self.write("f")
        self.refused("--copy", "/no/such:/x", said="/no/such")
        self.refused("--copy-file", f"{self.dir}:/x", said="--copy-file")
        self.refused("--copy-dir", f"{path}:/x", said="--copy-dir")
        self.refused("--copy", f"{path}:rel", said="--copy")
        self.refused("--rm=/", said="--rm")
        self.refused("--mkdir", "rel", said="--mkdir")

    def test_links_of_the_image_stay_in_its_root(self):
        """Absolute links begin at the guest's root, and `..` does not lead above it. No file of the host is written."""
        root = self.make_root()
        path = self.write("f", b"new\n")
        victim = self.write("victim/keep", b"kept\n")
        outside = os.path.dirname(victim)
        os.symlink(outside, os.path.join(root, "abs"))
        os.symlink("../../../../../.." + outside, os.path.join(root, "climb"))
        os.symlink("/srv", os.path.join(root, "fine"))
        os.makedirs(os.path.join(root, "srv"))
        self.refused("--copy-file", f"{path}:/abs/x", image=root)
        self.refused("--mkdir", "/climb/x", image=root)
        box = self.create("--copy-file", f"{path}:/fine/x", "--rm=/abs", "--copy-file",
                          f"{path}:/../../../srv/../srv/y", image=root)
        self.assertEqual(box.out("cat /srv/x /srv/y"), "new\nnew")
        self.assertEqual(os.listdir(outside), ["keep"])

    def test_patches_below_a_mount_are_refused(self):
        path = self.write("f", b"new\n")
        keep = os.path.dirname(self.write("volume/keep", b"kept\n"))
        for opts in (["--rm=/data"], ["--rm=/data/keep"], ["--mkdir", "/data/new"],
                     ["--copy", f"{path}:/data"], ["--copy-file", f"{path}:/data/x"]):
            with self.subTest(opts=opts):
                self.refused("-v", f"{keep}:/data", *opts, said="mount")
        self.refused("-v", f"{keep}:/top/data", "--rm=/top", said="mount")
        self.refused("--copy-file", f"{path}:/usr/bin/new", said="mount")
        self.assertEqual(os.listdir(keep), ["keep"])

    def test_run_applies_patches_before_its_command(self):
        path = self.write("f", b"there\n")
        got = self.cordon("run", "--copy", f"{path}:/root/f", "host", "--", "cat", "/root/f")
        self.assertEqual((got.code, got.text), (0, "there\n"), got)
        got = self.cordon("run", "--copy", f"{path}:/etc/passwd", "host", "--", "echo", "no")
        self.assertEqual((got.code, got.text), (1, ""), got)
        self.assertEqual(self.names(), [])

    def test_a_client_killed_while_patching_leaves_no_half_made_sandbox(self):
        for i in range(300):
            self.write(f"many/{i}", b"x" * 1000)
        src = os.path.join(self.dir, "many")
        for delay in (0.01, 0.02, 0.04, 0.08, 0.12):
            proc = self.spawn("create", "--name", "half", "--copy-dir", f"{src}:/many", "host")
            threading.Event().wait(delay)
            proc.send_signal(signal.SIGKILL)
            proc.wait()
            self.eventually(lambda: self.settled(), within=10)
            self.cordon("remove", "-f", "half")

    def settled(self):
        """Returns true if the sandbox is gone or has all its files."""
        if "half" not in self.names():
            return True
        got = self.cordon("exec", "half", "--", "sh", "-c", "ls /many | wc -l")
        return got.code == 0 and got.text == "300\n"
