"""Tests directories as images. A sandbox uses such a directory in place, and must leave no mount point in the
directory."""

import os
import shutil
import stat
import subprocess

from harness import COMMAND_SECONDS, CORDON, MODE, ONE_ID, CordonTest, below, unique_number


def tree(top):
    """Returns every path below TOP with its mode, owner and size, which a sandbox must not change."""
    found = {}
    for where, directories, files in os.walk(top):
        for name in directories + files:
            path = os.path.join(where, name)
            try:
                info = os.lstat(path)
            except FileNotFoundError:  # a mount point of a sandbox may disappear after os.walk() has listed it
                continue
            size = info.st_size if not stat.S_ISDIR(info.st_mode) else None
            found[os.path.relpath(path, top)] = (info.st_mode, info.st_uid, info.st_gid, size)
    return found


class RootDirectory(CordonTest):
    def test_the_directory_is_used_in_place(self):
        root = self.make_root()
        box = self.create(image=root)
        self.assertEqual(box.out("read l < /etc/group; echo $l; echo made > /root/made"), "root:x:0:")
        with open(os.path.join(root, "root/made")) as handle:
            self.assertEqual(handle.read(), "made\n")
        box.stop()
        box.start()
        self.assertEqual(box.out("cat /root/made"), "made")
        image = box.inspect()["config"]["image"]["Bind"]
        self.assertEqual((image["path"], image["follow_root_symlinks"]), (root, False))
        self.assertEqual((image["identity"]["inode"], image["identity"]["of"]),
                         (str(os.stat(root).st_ino), "self"))

    def test_no_mount_point_is_left_in_the_directory(self):
        root = self.make_root()
        for name in ("proc", "dev", "sys", "run", "tmp"):
            os.rmdir(os.path.join(root, name))
        before = tree(root)
        src = os.path.join(self.dir, "source")
        os.mkdir(src)
        box = self.create("-v", f"{src}:/mnt/deep/er", "--tmpfs", "/scratch", image=root)
        self.assertEqual(box.out("true; ls /proc/1/status; ls -d /mnt/deep/er /scratch"),
                         "/proc/1/status\n/mnt/deep/er\n/scratch")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(tree(root), before)

    def test_stubs_with_files_are_kept(self):
        root = self.make_root()
        src = os.path.join(self.dir, "source")
        os.mkdir(src)
        box = self.create("-v", f"{src}:/stub/target", image=root)
        box.out("echo user data > /stub/mine")
        box.stop()
        self.assertEqual(os.listdir(os.path.join(root, "stub")), ["mine"])

    def test_stubs_are_removed_after_a_crash_too(self):
        root = self.make_root()
        before = tree(root)
        src = os.path.join(self.dir, "source")
        os.mkdir(src)
        box = self.create("-v", f"{src}:/stub/target", image=root)
        os.kill(box.supervisor().pid, 9)
        self.eventually(lambda: not box.host_processes())
        self.assertEqual(box.remove("-f").code, 0)
        self.assertEqual(tree(root), before)

    def test_stubs_of_a_run_whose_supervisor_was_killed_are_removed(self):
        root = self.make_root()
        before, number = tree(root), unique_number()
        proc = self.spawn("run", "-q", "--tmpfs", "/stub/target", root, "--", "sleep", str(number))
        self.eventually(lambda: self.sleepers(number))
        self.assertNotEqual(tree(root), before)
        for p in below([proc.pid]):
            if p.comm.startswith("cordon-superv"):
                os.kill(p.pid, 9)
        self.finish(proc)
        sandboxes = os.path.join(self.home, "sandboxes")
        self.eventually(lambda: self.names() == [] and not os.listdir(sandboxes))
        self.assertEqual(tree(root), before)

    def test_stubs_of_a_create_that_was_killed_are_removed(self):
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        root = self.make_root()
        for name in ("proc", "dev", "sys"):
            os.rmdir(os.path.join(root, name))
        before = tree(root)
        # A stub is a directory that the supervisor makes in ROOT as a mount point, here proc, dev and sys. After that
        # the supervisor opens /etc, and strace kills it there.
        got = subprocess.run(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-P", "/etc", "-e", "trace=openat2", "-e",
             "inject=openat2:signal=KILL", CORDON, "create", "-q", "-n", "x", root],
            capture_output=True, text=True, timeout=COMMAND_SECONDS, env=self.environment())
        self.assertEqual(got.returncode, 1, got)
        self.assertIn("ended while starting", got.stderr)
        self.assertEqual(self.names(), [])
        self.assertEqual(tree(root), before)
    test_stubs_of_a_create_that_was_killed_are_removed.modes = ("root",)  # strace is used as root only

    def test_a_failed_create_leaves_no_stub(self):
        root = self.make_root()
        before = tree(root)
        got = self.cordon("create", "-n", "x", "-v", f"{self.dir}:/stub/a", "-v",
                          "/no/such/source:/stub/b", root)
        self.assertEqual(got.code, 1, got)
        self.assertEqual(tree(root), before)

    def test_hostname_and_hosts_are_mounted_over_and_never_written(self):
        root = self.make_root()
        for name in ("hostname", "hosts", "resolv.conf"):
            with open(os.path.join(root, "etc", name), "w") as handle:
                handle.write(f"original {name}\n")
        before = tree(root)
        box = self.create("--hostname", "inside", image=root)
        self.assertEqual(box.out("cat /etc/hostname"), "inside")
        box.stop()
        self.assertEqual(tree(root), before)
        for name in ("hostname", "hosts", "resolv.conf"):
            with open(os.path.join(root, "etc", name)) as handle:
                self.assertEqual(handle.read(), f"original {name}\n")

    def test_relative_paths(self):
        self.make_root()
        box = self.create(image="./root")
        self.assertEqual(box.out("echo in"), "in")
        self.assertEqual(box.inspect()["config"]["image"]["Bind"]["path"], self.dir + "/root")

    def test_users_of_the_image(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create(image=self.make_root())
        self.assertEqual(box.out("id -u; id -G; echo $HOME", opts=("-u", "worker")),
                         "1000\n1000 2000\n/home/w")

    def test_owner_of_new_files(self):
        """On the host, files that the user root of the sandbox makes belong to the owner of the directory."""
        root = self.make_root()
        self.create(image=root).out("echo x > /root/f")
        self.assertEqual(os.stat(os.path.join(root, "root/f")).st_uid, os.getuid())

    def test_no_shell_needed(self):
        root = os.path.join(self.dir, "tiny")
        os.makedirs(root)
        self.install_program(root, "/usr/bin/env")
        for link in ("bin", "lib", "lib64"):
            os.symlink("usr/" + link, os.path.join(root, link))
        box = self.create(image=root)
        self.assertIn("PATH=", box.exec("env").text)
        self.assertEqual(box.exec("sh", "-c", "true").code, 127)

    def test_two_sandboxes_on_one_directory(self):
        root = self.make_root()
        os.rmdir(os.path.join(root, "proc"))
        before = tree(root)
        a, b = self.create(image=root), self.create(image=root)
        a.out("echo shared > /root/f")
        self.assertEqual(b.out("cat /root/f"), "shared")
        self.assertEqual(a.remove("-f").code, 0)
        self.assertEqual(b.out("cat /root/f; ls /proc/1/status"), "shared\n/proc/1/status")
        b.out("rm /root/f")
        self.assertEqual(b.remove("-f").code, 0)
        self.assertEqual(tree(root), before)  # the mount points that the first sandbox made are gone too

    def test_one_sandbox_starts_while_another_ends(self):
        """The sandboxes share the stubs proc, dev and sys, the mount points that they make in ROOT. A sandbox that ends
        removes the stubs, unless another sandbox uses them. This must not disturb a sandbox that starts meanwhile."""
        root = self.make_root()
        for name in ("proc", "dev", "sys"):
            os.rmdir(os.path.join(root, name))
        before = tree(root)
        for _ in range(3):
            ones = [self.spawn("run", root, "--", "sh", "-c", "read word < /proc/1/status")
                    for _ in range(8)]
            got = [self.finish(one) for one in ones]
            self.assertEqual([g.code for g in got], [0] * len(got), [str(g) for g in got])
        self.eventually(lambda: tree(root) == before, message=lambda: tree(root))


class Refused(CordonTest):
    def refused(self, image, word=None, **kwargs):
        got = self.cordon("create", "-n", "x", image, **kwargs)
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertRegex(got.errtext, r"^error: ")
        self.assertIn(word or image, got.errtext)
        self.assertEqual(self.names(), [])
        return got

    def test_the_hosts_root(self):
        for image in ("/", "//", "/.", "/usr/..", "/proc/self/root"):
            self.refused(image, "/")

    def test_a_link_to_the_hosts_root(self):
        link = os.path.join(self.dir, "link")
        os.symlink("/", link)
        self.refused(link, "root")

    def test_ancestors_of_the_state_directory(self):
        self.cordon("list")
        for image in (self.dir, os.path.dirname(self.dir), self.home,
                      os.path.join(self.home, "sandboxes")):
            os.makedirs(image, exist_ok=True)
            self.refused(image)

    def test_missing(self):
        self.refused(os.path.join(self.dir, "none"))
        self.refused("./none", "/none'")

    def test_not_a_directory(self):
        path = os.path.join(self.dir, "file")
        open(path, "w").close()
        self.refused(path)

    def test_symlinked(self):
        root = self.make_root()
        link = os.path.join(self.dir, "link")
        os.symlink(root, link)
        got = self.cordon("create", "-n", "x", "-q", link)
        if got.code == 0:  # create resolves the link once
            os.remove(link)
            os.symlink("/", link)
            self.assertEqual(self.cordon("exec", "x", "--", "cat", "/etc/group").stderr_line(0), "")
            self.assertEqual(self.cordon("inspect", "x", "--format", "json").json()
                             ["config"]["image"]["Bind"]["path"], root)
        else:
            self.assertEqual(got.code, 1, got)
            self.assertIn(link, got.errtext)

    def test_unreadable(self):
        if MODE not in ("user", "bare"):
            self.not_run("root may read everything")
        root = self.make_root()
        os.chmod(root, 0)
        self.addCleanup(os.chmod, root, 0o700)
        self.refused(root, "Permission denied")

    def test_bad_references(self):
        for image in ("a//b", "a:b:c:d", "", "has space", "a@sha256:zz", ":tag"):
            self.refused(image, "")

    def test_disk_images_say_what_they_need(self):
        path = os.path.join(self.dir, "disk.qcow2")
        open(path, "w").close()
        self.refused(path)


class HostileRoots(CordonTest):
    """Tests directories whose links could redirect the set-up of a sandbox to host files, and a directory with files
    that look like our configuration."""

    def test_standard_places_as_links_to_host_paths(self):
        decoy = os.path.join(self.dir, "decoy")
        os.mkdir(decoy)
        for place in ("dev", "proc", "sys", "tmp", "run", "etc"):
            root = self.make_root()
            path = os.path.join(root, place)
            os.rename(path, path + ".orig")
            os.symlink(decoy, path)
            box = self.box()
            got = self.cordon("create", "-q", "-n", box.name, root)
            self.assertIn(got.code, (0, 1), got)
            if got.code == 0:
                box.sh("true")
                self.assertEqual(box.remove("-f").code, 0)
            self.assertEqual(os.listdir(decoy), [], f"/{place} led out of the root")
            os.remove(path)
            os.rename(path + ".orig", path)

    def test_our_files_as_links_to_host_files(self):
        victim = os.path.join(self.dir, "victim")
        for name in ("etc/hostname", "etc/hosts", "etc/resolv.conf", "etc/profile", ".msb"):
            with open(victim, "w") as handle:
                handle.write("precious")
            root = self.make_root()
            os.symlink(victim, os.path.join(root, name))
            box = self.box()
            got = self.cordon("create", "-q", "-n", box.name, root)
            self.assertIn(got.code, (0, 1), got)
            if got.code == 0:
                box.sh(f"echo overwritten > /{name}")
                self.assertEqual(box.remove("-f").code, 0)
            with open(victim) as handle:
                self.assertEqual(handle.read(), "precious", name)
            os.remove(os.path.join(root, name))

    def test_configuration_is_never_read_from_the_image(self):
        root = self.make_root()
        for name in ("config.json", ".cordon/config.json", "cordon.yaml",
                     "root/.cordon/config.json"):
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as handle:
                handle.write('{"sandbox_defaults": {"cpus": 99, "workdir": "/hacked"}}')
        box = self.create(image=root, cwd=root)
        self.assertEqual(box.out("pwd"), "/")
        self.assertEqual(box.inspect()["config"]["resources"]["cpus"], 1)
