"""Tests mounts in a sandbox: directories and files of the host, and tmpfs."""

import fcntl
import os
import resource
import signal
import subprocess
import sys

from harness import ALL_MODES, MODE, CordonTest, below, unique_number


class MountTest(CordonTest):
    def source(self, name="source"):
        path = os.path.join(self.dir, name)
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "in.txt"), "w") as handle:
            handle.write("from host\n")
        return path

    def read(self, *parts):
        with open(os.path.join(self.dir, *parts)) as handle:
            return handle.read()


class Directories(MountTest):
    modes = ALL_MODES

    def test_read_and_write(self):
        src = self.source()
        box = self.create("-v", f"{src}:/mnt/job")
        self.assertEqual(box.out("cat /mnt/job/in.txt; echo from guest > /mnt/job/out.txt"),
                         "from host")
        self.assertEqual(self.read("source", "out.txt"), "from guest\n")

    def test_changes_are_live_both_ways(self):
        src = self.source()
        box = self.create("-v", f"{src}:/w")
        with open(os.path.join(src, "later"), "w") as handle:
            handle.write("later\n")
        self.assertEqual(box.out("cat /w/later; rm /w/later; mkdir -p /w/a/b; mv /w/in.txt /w/a/b"),
                         "later")
        self.assertFalse(os.path.exists(os.path.join(src, "later")))
        self.assertEqual(self.read("source", "a", "b", "in.txt"), "from host\n")

    def test_read_only_is_enforced(self):
        src = self.source()
        box = self.create("-v", f"{src}:/ro:ro")
        for attack in ("echo x > /ro/no", "echo x >> /ro/in.txt", "rm /ro/in.txt", "mkdir /ro/d",
                       "chmod 777 /ro/in.txt", "touch /ro/in.txt", "ln /ro/in.txt /ro/l",
                       "mount -o remount,rw /ro", "mount -o remount,bind,rw /ro"):
            self.assertNotEqual(box.sh(attack).code, 0, attack)
        self.assertEqual(os.listdir(src), ["in.txt"])
        self.assertEqual(self.read("source", "in.txt"), "from host\n")

    def test_same_source_twice_once_read_only(self):
        src = self.source()
        box = self.create("-v", f"{src}:/rw", "-v", f"{src}:/ro:ro")
        box.out("echo 1 > /rw/f")
        self.assertEqual(box.out("cat /ro/f"), "1")
        self.assertNotEqual(box.sh("echo 2 > /ro/f").code, 0)

    def test_owner_of_new_files_is_the_owner_of_the_source(self):
        src = self.source()
        box = self.create("-v", f"{src}:/w")
        box.out("echo x > /w/f")
        mine = os.stat(os.path.join(src, "f"))
        self.assertEqual((mine.st_uid, mine.st_gid), (os.getuid(), os.getgid()))
        self.assertEqual(box.out("stat -c %u /w/f /w/in.txt"), "0\n0")

    def test_options_are_accepted(self):
        src = self.source()
        for options in ("rw", "ro", "noexec", "nosuid", "nodev", "ro,noexec,nosuid,nodev", "z", "Z",
                        "cached", "delegated", "consistent", "ro,Z"):
            box = self.create("-v", f"{src}:/w:{options}")
            self.assertEqual(box.out("cat /w/in.txt"), "from host")
            box.remove("-f")

    def test_noexec(self):
        src = self.source()
        with open(os.path.join(src, "run"), "w") as handle:
            handle.write("#!/bin/sh\necho ran\n")
        os.chmod(os.path.join(src, "run"), 0o755)
        box = self.create("-v", f"{src}:/yes", "-v", f"{src}:/no:noexec")
        self.assertEqual(box.out("/yes/run"), "ran")
        self.assertEqual(box.exec("/no/run").code, 126)

    def test_colon_in_the_host_path(self):
        src = self.source("with:colon")
        box = self.create("-v", f"{src}:/w:ro")
        self.assertEqual(box.out("cat /w/in.txt"), "from host")

    def test_odd_names(self):
        src = self.source("space, 'quote' \\ é")
        box = self.create("-v", f"{src}:/w/é dir")
        self.assertEqual(box.out("cat '/w/é dir/in.txt'"), "from host")

    def test_relative_sources(self):
        self.source()
        box = self.create("-v", "./source:/a", "-v", "../%s/source:/b" % os.path.basename(self.dir))
        self.assertEqual(box.out("cat /a/in.txt /b/in.txt"), "from host\nfrom host")

    def test_symlink_in_the_source_path_is_followed_once(self):
        src, other = self.source(), self.source("other")
        link = os.path.join(self.dir, "link")
        os.symlink(src, link)
        box = self.create("-v", f"{link}:/w")
        os.remove(link)
        os.symlink(other, link)
        box.out("echo x > /w/f")
        self.assertEqual((os.path.exists(src + "/f"), os.path.exists(other + "/f")), (True, False))

    def test_survives_stop_and_start(self):
        src = self.source()
        box = self.create("-v", f"{src}:/w")
        box.stop()
        box.start()
        self.assertEqual(box.out("cat /w/in.txt"), "from host")

    def test_source_gone_at_start_is_named(self):
        src = self.source()
        box = self.create("-v", f"{src}:/w")
        box.stop()
        os.rename(src, src + ".away")
        got = box.start()
        self.assertEqual(got.code, 1, got)
        self.assertIn(src, got.errtext)
        self.assertEqual(box.status(), "Stopped")
        os.rename(src + ".away", src)
        self.assertEqual(box.start().code, 0)

    def test_missing_source_is_named_before_anything_happens(self):
        path = os.path.join(self.dir, "no-such-dir")
        for option in ("-v", "--mount-dir", "--mount-file"):
            got = self.cordon("create", "-n", "x", option, f"{path}:/w", "host")
            self.assertEqual((got.code, got.out), (1, b""), got)
            self.assertIn(path, got.errtext)
            self.assertEqual(self.names(), [])

    def test_missing_target_is_created(self):
        src = self.source()
        box = self.create("-v", f"{src}:/brand/new/deep/target")
        self.assertEqual(box.out("cat /brand/new/deep/target/in.txt"), "from host")

    def test_host_symlinks_in_a_volume_stay_inside(self):
        """In the sandbox, a link in the shared directory leads to a path below the sandbox's own root, not to a file of
        the host."""
        src = self.source()
        outside = os.path.join(self.dir, "outside")
        with open(outside, "w") as handle:
            handle.write("host secret\n")
        os.symlink(outside, os.path.join(src, "absolute"))
        os.symlink("../outside", os.path.join(src, "relative"))
        box = self.create("-v", f"{src}:/w")
        for link in ("absolute", "relative"):
            self.assertNotIn("host secret", box.sh(f"cat /w/{link}").text)

    def test_a_directory_of_another_user_can_be_shared(self):
        """The test shares /tmp, which is sticky, world-writable and belongs to another user."""
        if MODE == "root":
            self.not_run("root owns what it shares here")
        box = self.create("-v", "/tmp:/w:ro")
        self.assertEqual(box.sh("ls /w").code, 0)


class Nested(MountTest):
    def test_parents_are_mounted_first_whatever_the_order(self):
        outer, inner = self.source("outer"), self.source("inner")
        os.mkdir(os.path.join(outer, "sub"))
        with open(os.path.join(inner, "mark"), "w") as handle:
            handle.write("inner\n")
        box = self.create("-v", f"{inner}:/w/sub", "-v", f"{outer}:/w")
        self.assertEqual(box.out("cat /w/in.txt /w/sub/mark"), "from host\ninner")

    def test_tmpfs_inside_a_volume(self):
        src = self.source()
        os.mkdir(os.path.join(src, "scratch"))
        box = self.create("-v", f"{src}:/w", "--tmpfs", "/w/scratch")
        box.out("echo hidden > /w/scratch/f")
        self.assertEqual(os.listdir(os.path.join(src, "scratch")), [])

    def test_read_only_parent_with_writable_child(self):
        src, rw = self.source(), self.source("rw")
        os.mkdir(os.path.join(src, "rw"))
        box = self.create("-v", f"{src}:/w:ro", "-v", f"{rw}:/w/rw")
        self.assertNotEqual(box.sh("touch /w/x").code, 0)
        self.assertEqual(box.sh("touch /w/rw/x").code, 0)
        self.assertTrue(os.path.exists(os.path.join(rw, "x")))

    def test_same_target_twice_is_refused(self):
        src = self.source()
        for a, b in (("/w", "/w"), ("/w", "/w/"), ("/w", "//w/."), ("/a/../w", "/w")):
            got = self.cordon("create", "-n", "x", "-v", f"{src}:{a}", "-v", f"{src}:{b}", "host")
            self.assertEqual(got.code, 1, got)
        self.assertEqual(self.names(), [])


def tree(top):
    """Returns the kind and the mode of everything below TOP."""
    found = {}
    for where, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(where, name)
            found[os.path.relpath(path, top)] = oct(os.lstat(path).st_mode)
    return found


class Below(MountTest):
    """Tests mounts whose mount points lie in another mount, but do not exist in the source of that mount."""

    modes = ALL_MODES

    def setUp(self):
        super().setUp()
        self.outer, self.inner = self.source("outer"), self.source("inner")
        with open(os.path.join(self.inner, "mark"), "w") as handle:
            handle.write("inner\n")
        self.before = tree(self.outer)

    def unchanged(self):
        return tree(self.outer) == self.before

    def test_a_read_only_outer_volume_is_never_changed(self):
        box = self.create("-v", f"{self.inner}:/w/.skills/x:ro", "-v", f"{self.outer}:/w:ro",
                          "-v", f"{self.inner}:/w/.skills/y", "-v", f"{self.inner}/mark:/w/etc/f",
                          "--tmpfs", "/w/t")
        self.assertTrue(self.unchanged())
        self.assertEqual(box.out("cat /w/in.txt /w/.skills/x/mark /w/.skills/y/mark /w/etc/f"),
                         "from host\ninner\ninner\ninner")
        self.assertEqual(box.out("ls -A /w /w/.skills"), "/w:\n.skills\netc\nin.txt\nt\n\n"
                         "/w/.skills:\nx\ny")
        for path in ("/w/f", "/w/.skills/f", "/w/.skills/x/f", "/w/in.txt"):
            self.assertIn("Read-only", box.sh(f"touch {path}; echo >> {path}").errtext, path)
        box.out("touch /w/.skills/y/new /w/t/new")
        self.assertTrue(os.path.exists(os.path.join(self.inner, "new")))
        self.assertEqual((box.stop().code, box.start().code), (0, 0))
        self.assertEqual(box.out("cat /w/.skills/x/mark"), "inner")
        self.assertTrue(self.unchanged())

    def test_existing_directories_keep_their_modes(self):
        os.mkdir(os.path.join(self.outer, "d"))
        os.chmod(os.path.join(self.outer, "d"), 0o750)
        with open(os.path.join(self.outer, "d/f"), "w") as handle:
            handle.write("in d\n")
        os.chmod(self.outer, 0o711)
        box = self.create("-v", f"{self.outer}:/w:ro", "-v", f"{self.inner}:/w/d/new")
        self.assertEqual(box.out("stat -c %a /w /w/d /w/d/new; cat /w/d/f"),
                         f"711\n750\n{oct(os.stat(self.inner).st_mode & 0o7777)[2:]}\nin d")
        os.chmod(self.outer, 0o755)

    def test_a_read_only_outer_volume_shows_later_files_of_the_host(self):
        box = self.create("-v", f"{self.outer}:/w:ro", "-v", f"{self.inner}:/w/a/b")
        with open(os.path.join(self.outer, "later"), "w") as handle:
            handle.write("late\n")
        with open(os.path.join(self.outer, "in.txt"), "a") as handle:
            handle.write("more\n")
        self.assertEqual(box.out("ls /w; cat /w/later /w/in.txt"),
                         "a\nin.txt\nlater\nlate\nfrom host\nmore")

    def test_mount_points_in_a_writable_volume_are_made_and_removed(self):
        box = self.create("-v", f"{self.inner}:/w/.skills/x:ro", "-v", f"{self.outer}:/w", "-v",
                          f"{self.inner}/mark:/w/etc/f", "--tmpfs", "/w/t")
        self.assertEqual(box.out("cat /w/in.txt /w/.skills/x/mark /w/etc/f; stat -c %u /w/.skills"),
                         "from host\ninner\ninner\n0")
        owner = os.stat(self.outer)
        for path in (".skills", ".skills/x", "etc", "t"):
            made = os.stat(os.path.join(self.outer, path))
            self.assertEqual((made.st_uid, made.st_gid), (owner.st_uid, owner.st_gid), path)
        box.out("echo 1 > /w/.skills/mine; rm /w/.skills/mine; mkdir /w/.skills/d; rmdir /w/.skills/d")
        self.assertEqual(os.listdir(os.path.join(self.outer, ".skills/x")), [])
        box.stop()
        self.assertTrue(self.unchanged(), tree(self.outer))

    def test_mount_points_are_made_as_the_owner_of_the_directory(self):
        """If root starts the sandbox, the supervisor makes mount points with the ids of the directory's owner. So the
        supervisor has only the owner's permissions."""
        if os.geteuid() != 0 or MODE == "userns":
            return
        os.makedirs(os.path.join(self.outer, "roots"))
        os.chmod(os.path.join(self.outer, "roots"), 0o755)
        os.chown(self.outer, 1234, 1235)
        self.before = tree(self.outer)
        box = self.create("-v", f"{self.inner}:/w/a/b", "-v", f"{self.outer}:/w")
        made = os.stat(os.path.join(self.outer, "a"))
        self.assertEqual((made.st_uid, made.st_gid), (1234, 1235))
        box.out("touch /w/a/f; rm /w/a/f")
        box.stop()
        self.assertTrue(self.unchanged())
        got = self.cordon("create", "-q", "-v", f"{self.inner}:/w/roots/b", "-v", f"{self.outer}:/w",
                          "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("Permission denied", got.errtext)
        self.assertTrue(self.unchanged())

    def test_files_beside_a_mount_point_stay(self):
        box = self.create("-v", f"{self.inner}:/w/.skills/x:ro", "-v", f"{self.outer}:/w")
        box.out("echo 1 > /w/.skills/mine")
        box.stop()
        self.assertEqual(sorted(set(tree(self.outer)) - set(self.before)),
                         [".skills", ".skills/mine"])

    def test_directories_that_existed_before_stay(self):
        os.makedirs(os.path.join(self.outer, "a/b"))
        self.before = tree(self.outer)
        for mode in ("rw", "ro"):
            box = self.create("-v", f"{self.inner}:/w/a/b", "-v", f"{self.outer}:/w:{mode}")
            self.assertEqual(box.out("cat /w/a/b/mark"), "inner")
            box.stop()
            self.assertTrue(self.unchanged())

    def test_mounts_several_levels_deep(self):
        middle = self.source("middle")
        box = self.create("-v", f"{self.inner}:/w/a/m/b/i", "-v", f"{middle}:/w/a/m", "-v",
                          f"{self.outer}:/w:ro", "--tmpfs", "/w/a/m/b/i/t/u")
        self.assertEqual(box.out("cat /w/in.txt /w/a/m/in.txt /w/a/m/b/i/mark; touch /w/a/m/b/i/t/u/f"),
                         "from host\nfrom host\ninner")
        self.assertTrue(self.unchanged())
        box.stop()
        self.assertEqual((sorted(tree(middle)), sorted(tree(self.inner))),
                         (["in.txt"], ["in.txt", "mark"]))

    def test_a_mount_below_a_named_volume(self):
        box = self.create("-v", "data:/w", "-v", f"{self.inner}:/w/a/b")
        self.assertEqual(box.out("cat /w/a/b/mark"), "inner")
        box.stop()
        self.assertEqual(os.listdir(os.path.join(self.home, "volumes/data/data")), [])

    def test_two_sandboxes_share_a_mount_point(self):
        opts = ("-v", f"{self.inner}:/w/a/b", "-v", f"{self.outer}:/w")
        one, two = self.create(*opts), self.create(*opts)
        one.stop()
        self.assertEqual(two.out("cat /w/a/b/mark"), "inner")
        two.stop()
        self.assertTrue(self.unchanged())

    def test_a_killed_supervisor_leaves_no_mount_point(self):
        box = self.create("-v", f"{self.inner}:/w/a/b", "-v", f"{self.outer}:/w")
        os.kill(box.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not box.host_processes())
        self.assertEqual(box.remove().code, 0)
        self.assertTrue(self.unchanged())

    def test_a_killed_run_leaves_no_mount_point(self):
        number = unique_number()
        proc = self.spawn("run", "-q", "-v", f"{self.inner}:/w/a/b", "-v", f"{self.outer}:/w", "host",
                          "--", "sleep", str(number))
        self.eventually(lambda: self.sleepers(number))
        for p in below([proc.pid]):
            if p.comm.startswith("cordon-superv"):
                os.kill(p.pid, signal.SIGKILL)
        self.finish(proc)
        self.eventually(lambda: not self.names() and self.unchanged())

    def test_a_start_that_fails_leaves_nothing(self):
        got = self.cordon("create", "-q", "-v", f"{self.inner}:/w/a/b", "-v", f"{self.outer}:/w", "-v",
                          f"{self.inner}:/w/in.txt/x", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("in.txt", got.errtext)
        self.assertTrue(self.unchanged())
        self.assertEqual(self.names(), [])

    def notes(self):
        """Returns the path of the notes about the mount points in `outer`."""
        seen = os.stat(self.outer)
        self.cordon("list")  # makes the home
        os.makedirs(os.path.join(self.home, "run"), exist_ok=True)
        return os.path.join(self.home, "run", f"{seen.st_dev:x}-{seen.st_ino:x}.points")

    def refused(self, said):
        got = self.cordon("create", "-q", "-v", f"{self.inner}:/w/a/b", "-v", f"{self.outer}:/w", "host")
        self.assertEqual(got.code, 1, got)
        self.assertRegex(got.errtext, said)
        self.assertTrue(self.unchanged())
        self.assertEqual(self.names(), [])

    def test_a_start_that_cannot_open_its_notes_fails(self):
        notes = self.notes()
        os.mkdir(notes)
        self.refused(f"open the notes on mount points in '{self.outer}', '{notes}': Is a directory")
        os.rmdir(notes)

    def test_a_start_that_cannot_lock_its_notes_fails(self):
        notes = self.notes()
        with open(notes, "w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self.refused(f"another sandbox takes too long to remove its mount points in '{self.outer}'")
        os.remove(notes)

    test_a_start_that_cannot_lock_its_notes_fails.modes = ("root",)  # takes 5 seconds

    def test_mount_points_of_a_supervisor_of_an_older_build(self):
        """Such a supervisor locks the directory itself and has its notes in another file."""
        notes = self.notes()
        os.makedirs(os.path.join(self.outer, "a/b"))
        old = notes.replace(".points", ".stubs")
        with open(old, "w") as handle:
            for path in ("a", "a/b"):
                handle.write(f"{os.stat(os.path.join(self.outer, path)).st_ino} /{path}\n")
        lock = os.open(self.outer, os.O_RDONLY)
        self.addCleanup(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_SH)
        box = self.create("-v", f"{self.inner}:/w/a/b", "-v", f"{self.inner}:/w/a/c", "-v", f"{self.outer}:/w")
        box.stop()
        self.assertEqual(sorted(set(tree(self.outer)) - set(self.before)), ["a", "a/b"])
        box.start()
        with self.assertRaises(BlockingIOError):  # the old supervisor ends, and sees that the directory is in use
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(lock, fcntl.LOCK_UN)
        self.assertEqual(box.out("cat /w/a/b/mark /w/a/c/mark"), "inner\ninner")
        box.stop()
        self.assertTrue(self.unchanged())
        self.assertFalse(os.path.exists(old) or os.path.exists(notes))

    def test_a_mount_below_a_volume_in_a_directory_image(self):
        root = self.make_root()
        before = tree(root)
        box = self.create("-v", f"{self.inner}:/w/a/b", "-v", f"{self.outer}:/w:ro", image=root)
        self.assertEqual(box.exec("/bin/cat", "/w/a/b/mark").text, "inner\n")
        self.assertEqual(os.listdir(os.path.join(root, "w")), [])
        box.stop()
        self.assertEqual(tree(root), before)
        self.assertTrue(self.unchanged())

    def test_links_in_the_outer_volume_are_not_followed(self):
        """Another sandbox that can write to the source could have made these links."""
        victim = self.source("victim")
        for name, to in (("up", "../victim"), ("abs", victim), ("etc", "/etc"), ("gone", "/no/such"),
                         ("loop", "loop"), ("top", "/")):
            os.symlink(to, os.path.join(self.outer, name))
        self.before, victims = tree(self.outer), tree(victim)
        for mode in ("ro", "rw"):
            for name in ("up", "abs", "etc", "gone", "loop", "top"):
                with self.subTest(mode=mode, name=name):
                    box = self.box()
                    got = self.cordon("create", "-q", "-n", box.name, "-v",
                                      f"{self.inner}:/w/{name}/x", "-v", f"{self.outer}:/w:{mode}",
                                      "host")
                    if got.code == 0:
                        box.remove("-f")
                    self.assertTrue(self.unchanged(), tree(self.outer))
                    self.assertEqual(tree(victim), victims)
                    self.assertFalse(os.path.exists("/etc/x"))


class Many(MountTest):
    """Tests the largest number of mounts."""

    modes = ALL_MODES
    timeout = 120
    MOST = 512

    def sources(self, n):
        for i in range(n):
            os.makedirs(os.path.join(self.dir, f"s{i}"))
            with open(os.path.join(self.dir, f"s{i}/n"), "w") as handle:
                handle.write(f"{i}\n")
        return [f"{self.dir}/s{i}" for i in range(n)]

    def volumes(self, sources, place="/w/deep/down/in/here/s{}", opts="ro"):
        return [w for i, s in enumerate(sources) for w in ("-v", f"{s}:{place.format(i)}:{opts}")]

    def few_descriptors(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))

    def test_the_largest_number_of_mounts_works(self):
        """The caller has the usual limit of open files, and its commands get the same limit."""
        words = self.volumes(self.sources(self.MOST))
        got = self.finish(self.spawn("run", "-q", *words, "host", "--", "sh", "-c",
                                     "cat /w/deep/down/in/here/*/n | wc -l; ulimit -Sn",
                                     preexec_fn=self.few_descriptors))
        self.assertEqual(got.text, f"{self.MOST}\n1024\n", got)

    def test_one_mount_more_is_refused(self):
        words = self.volumes(self.sources(1) * (self.MOST + 1))
        got = self.cordon("create", "-q", *words, "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn(f"more than {self.MOST} mounts", got.errtext)

    def test_many_mounts_below_a_volume_without_their_directories(self):
        outer = self.source("outer")
        words = self.volumes(self.sources(self.MOST - 1), place="/w/.skills/s{}")
        for mode in ("ro", "rw"):
            box = self.create(*words, "-v", f"{outer}:/w:{mode}")
            self.assertEqual(box.out("cat /w/.skills/*/n | wc -l; cat /w/in.txt"),
                             f"{self.MOST - 1}\nfrom host")
            self.assertEqual((box.stop().code, box.start().code), (0, 0))
            self.assertEqual(box.out("cat /w/.skills/*/n | wc -l"), str(self.MOST - 1))
            box.remove("-f")
            self.assertEqual(os.listdir(outer), ["in.txt"])

    def test_many_tmpfs_mounts(self):
        words = [w for i in range(self.MOST) for w in ("--tmpfs", f"/t/{i}:1M")]
        got = self.cordon("run", "-q", *words, "host", "--", "sh", "-c",
                          "for d in /t/*; do echo > $d/f || exit 1; done; ls -d /t/*/f | wc -l")
        self.assertEqual(got.text, f"{self.MOST}\n", got)

    def test_set_id_bits_on_the_largest_number_of_mounts(self):
        """A directory of the host is writable inside, so the deputy makes each chmod() in place of the command. Only a
        file in this directory loses the set-id bits: the files on all other mounts are the sandbox's own."""
        own = self.MOST - 1
        words = [w for i in range(own) for w in ("--tmpfs", f"/t/{i}:1M")]
        got = self.cordon("run", "-q", "-v", f"{self.source()}:/w", *words, "--read-only", "--writable", "/data",
                          "host", "--", "sh", "-c",
                          "for d in /t/* /data /w; do echo > $d/f; chmod 4755 $d/f || exit 1; done;"
                          "stat -c %a /t/*/f | sort | uniq -c; stat -c %a /data/f /w/f")
        self.assertEqual(got.text.split(), [str(own), "4755", "4755", "755"], got)


class Files(MountTest):
    def test_a_single_file(self):
        src = self.source()
        box = self.create("-v", f"{src}/in.txt:/etc/single.conf",
                          "-v", f"{src}/in.txt:/ro.txt:ro")
        self.assertEqual(box.out("cat /etc/single.conf"), "from host")
        box.out("echo changed > /etc/single.conf")
        self.assertEqual(self.read("source", "in.txt"), "changed\n")
        self.assertNotEqual(box.sh("echo x > /ro.txt").code, 0)

    def test_a_file_can_be_mounted_over_a_file(self):
        src = self.source()
        box = self.create("-v", f"{src}/in.txt:/etc/passwd:ro")
        self.assertEqual(box.out("cat /etc/passwd"), "from host")

    def test_mount_dir_and_mount_file_check_the_kind(self):
        src = self.source()
        for option, path in (("--mount-dir", f"{src}/in.txt"), ("--mount-file", src)):
            got = self.cordon("create", "-n", "x", option, f"{path}:/w", "host")
            self.assertEqual(got.code, 1, got)
            self.assertIn(option, got.errtext)
        box = self.create("--mount-dir", f"{src}:/d", "--mount-file", f"{src}/in.txt:/f")
        self.assertEqual(box.out("cat /d/in.txt /f"), "from host\nfrom host")

    def test_devices_and_sockets_are_not_shared(self):
        for path in ("/dev/null", "/dev/kmsg"):
            got = self.cordon("create", "-n", "x", "-v", f"{path}:/w", "host")
            if got.code == 0:
                self.cordon("remove", "-f", "x")
                self.fail(f"{path} was accepted as a volume")


class Links(MountTest):
    """Tests that links in the path of a mount's target are resolved inside the sandbox's root."""

    def root(self):
        root = self.make_root()
        os.makedirs(os.path.join(root, "var"), exist_ok=True)
        os.symlink("/run", os.path.join(root, "var/run"))
        os.symlink("/../../../../../../tmp", os.path.join(root, "climb"))
        os.symlink("../../../../../../..", os.path.join(root, "up"))
        return root

    def test_a_target_through_an_absolute_link(self):
        src = self.source()
        box = self.create("-v", f"{src}:/var/run/job", image=self.root())
        self.assertEqual(box.out("cat /run/job/in.txt"), "from host")

    def test_a_target_that_climbs_out_stays_inside(self):
        src, root = self.source(), self.root()
        for guest in ("/climb/cordon-target", "/up/cordon-target", f"/up{self.dir}/cordon-target"):
            box = self.box()
            got = self.cordon("create", "-q", "-n", box.name, "-v", f"{src}:{guest}", root)
            self.assertFalse(os.path.exists("/tmp/cordon-target"))
            self.assertFalse(os.path.exists("/cordon-target"))
            self.assertFalse(os.path.exists(self.dir + "/cordon-target"))
            if got.code == 0:
                self.assertEqual(box.out(f"cat {guest}/in.txt"), "from host")
                self.assertEqual(box.remove("-f").code, 0)
            else:
                self.assertEqual(got.code, 1, got)

    def test_a_target_that_is_the_root_itself(self):
        src, root = self.source(), self.root()
        for option in (("-v", f"{src}:/up"), ("--tmpfs", "/up")):
            got = self.cordon("create", "-q", *option, root)
            self.assertEqual(got.code, 1, got)
            self.assertIn("mount on '/up'", got.errtext)
            self.assertIn("a link in the image leads from this target to the image's root", got.errtext)

    def test_renames_of_other_processes_do_not_disturb_a_link_with_dots(self):
        """The kernel gives up a lookup of `..` if any process of the machine renames something meanwhile. cordon must
        then try again."""
        src, root = self.source(), self.root()
        os.mkdir(os.path.join(self.dir, "here"))
        loop = "import os\nwhile True: os.rename('here', 'there'); os.rename('there', 'here')"
        other = subprocess.Popen([sys.executable, "-c", loop], cwd=self.dir)
        try:
            for _ in range(40):
                got = self.cordon("create", "-q", "-v", f"{src}:/up", root)
                self.assertIn("mount on '/up'", got.errtext)
            self.assertIsNone(other.poll())
        finally:
            other.kill()
            other.wait()

    def test_dots_in_the_target_are_normalised(self):
        src = self.source()
        box = self.create("-v", f"{src}:/a/../b/./c")
        self.assertEqual(box.out("cat /b/c/in.txt"), "from host")

    def test_var_run_of_the_host_image(self):
        src = self.source()
        box = self.create("-v", f"{src}:/var/run/job")
        self.assertEqual(box.out("cat /run/job/in.txt"), "from host")


class Tmpfs(MountTest):
    def test_sizes_and_modes(self):
        box = self.create("--tmpfs", "/t1", "--tmpfs", "/t2:4M", "--tmpfs", "/t3:noexec",
                          "--tmpfs", "/t4:2M:noexec,nosuid", "--tmpfs", "/t5:size=3M",
                          "--tmpfs", "/tmp:8M", "--tmpfs", "/var/tmp:1G", "--tmpfs", "/dev/shm:5M")
        self.assertEqual(box.out("stat -c %a /t1 /t2 /tmp /var/tmp"), "755\n755\n1777\n1777")
        self.assertEqual(box.out("stat -f -c '%T' /t1 /t3 /tmp").split(), ["tmpfs"] * 3)
        size = "expr $(stat -f -c %b {0}) '*' $(stat -f -c %S {0})"
        for path, mib in (("/t2", 4), ("/t4", 2), ("/t5", 3), ("/tmp", 8), ("/dev/shm", 5)):
            self.assertEqual(box.out(size.format(path)), str(mib << 20), path)

    def test_a_full_tmpfs_is_enospc_and_nothing_else_suffers(self):
        box = self.create("--tmpfs", "/t:1M")
        got = box.sh("head -c 2M /dev/zero > /t/f")
        self.assertNotEqual(got.code, 0)
        self.assertIn("No space left", got.errtext)
        self.assertEqual(box.out("echo fine > /root/f; cat /root/f"), "fine")

    def test_noexec_and_nosuid(self):
        box = self.create("--tmpfs", "/no:noexec", "--tmpfs", "/yes")
        box.out("for d in /no /yes; do printf '#!/bin/sh\\necho ran' > $d/x; chmod 755 $d/x; done")
        self.assertEqual(box.out("/yes/x"), "ran")
        self.assertEqual(box.exec("/no/x").code, 126)

    def test_contents_do_not_survive_stop(self):
        box = self.create("--tmpfs", "/t")
        box.out("echo x > /t/f")
        box.stop()
        box.start()
        self.assertEqual(box.out("ls /t"), "")

    def test_inspect_lists_mounts(self):
        src = self.source()
        mounts = self.create("-v", f"{src}:/w:ro", "--tmpfs", "/t:4M").inspect()["config"]["mounts"]
        by_guest = {m["guest"]: m for m in mounts}
        self.assertEqual(by_guest["/w"]["type"], "Bind")
        self.assertEqual(by_guest["/w"]["host"], src)
        self.assertTrue(by_guest["/w"]["options"]["readonly"])
        self.assertEqual((by_guest["/t"]["type"], by_guest["/t"]["size_mib"]), ("Tmpfs", 4))

    def test_bad_values(self):
        for value in ("relative", "/a:0", "/a:12Q", "/a:bogus", "/a:size=", "/", "", "/a:1M:exec",
                      "/a:1M:2M:3M"):
            got = self.cordon("create", "-n", "x", f"--tmpfs={value}", "host")
            self.assertEqual(got.code, 1, got)
            self.assertIn("--tmpfs", got.errtext)
        self.assertEqual(self.names(), [])


class StandardMounts(CordonTest):
    modes = ALL_MODES

    def test_standard_directories_are_there(self):
        box = self.create()
        mounted = {line.split()[1]: line.split()[2] for line in
                   box.out("cat /proc/mounts").splitlines()}
        for place, kind in (("/proc", "proc"), ("/dev/pts", "devpts"), ("/dev/shm", "tmpfs")):
            self.assertEqual(mounted.get(place), kind, mounted)
        self.assertEqual(box.out("stat -c %a /tmp /var/tmp"), "1777\n1777")
        self.assertEqual(box.out("ls -d /run/microsandbox /.msb/scripts"),
                         "/.msb/scripts\n/run/microsandbox")

    def test_devices(self):
        box = self.create()
        for name, major_minor in (("null", "1:3"), ("zero", "1:5"), ("full", "1:7"),
                                  ("random", "1:8"), ("urandom", "1:9"), ("tty", "5:0")):
            self.assertEqual(box.out(f"stat -L -c %t:%T /dev/{name}"), major_minor)
        self.assertEqual(box.out("echo x > /dev/null; head -c 4 /dev/zero | od -An -tx1").strip(),
                         "00 00 00 00")
        self.assertEqual(box.out("readlink /dev/fd /dev/stdin /dev/stdout /dev/stderr"),
                         "/proc/self/fd\n/proc/self/fd/0\n/proc/self/fd/1\n/proc/self/fd/2")
        self.assertNotEqual(box.sh("echo x > /dev/full").code, 0)

    def test_sys_is_nearly_empty_and_read_only(self):
        box = self.create()
        # /sys/fs exists only if the sandbox has control groups of its own
        self.assertIn(box.out("ls /sys").split(), (["devices"], ["devices", "fs"]))
        self.assertEqual(box.out("ls /sys/devices; ls /sys/devices/system | sort"), "system\ncpu\nnode")
        self.assertNotEqual(box.sh("mkdir /sys/x").code, 0)

    def test_shm_and_ipc_work(self):
        script = ("from multiprocessing import shared_memory, Semaphore; "
                  "m=shared_memory.SharedMemory(create=True,size=4096); m.buf[0]=7; "
                  "s=Semaphore(); s.acquire(); print(m.buf[0]); m.close(); m.unlink()")
        self.assertEqual(self.create().exec("/usr/bin/python3", "-c", script).text, "7\n")

    def test_proc_shows_only_the_sandbox(self):
        self.assertLess(int(self.create().out("ls -d /proc/[0-9]* | wc -l")), 8)
