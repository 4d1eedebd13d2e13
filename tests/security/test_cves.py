"""The field's published holes, re-created against us. One test a row; the name says which."""

import os
import subprocess
import threading

from attack import AttackTest
from harness import MODE, ONE_ID


class Published(AttackTest):
    def test_cve_2024_21626_leaked_descriptor_as_working_directory(self):
        box = self.create()
        for fd in range(3, 65):
            got = box.exec("sh", "-c", "pwd -P; cat ../../../../etc/hostname",
                           opts=("-w", f"/proc/self/fd/{fd}"))
            if got.code == 0:  # a descriptor of the command's own, in its own root
                self.assertEqual(got.text, f"/\n{box.name}\n", (fd, got))
            else:
                self.assertEqual(got.code, 1, got)
                self.assertIn("bad cwd", got.errtext)

    def test_cve_2024_21626_by_the_sandboxs_own_workdir(self):
        for fd in (3, 4, 5, 6, 7, 8, 9, 10):
            box = self.box()
            got = self.cordon("create", "-q", "-n", box.name, "-w", f"/proc/self/fd/{fd}", "host")
            if got.code == 0:
                got = box.sh("pwd -P; cat /etc/hostname")
                self.assertTrue(got.code != 0 or got.text == f"/\n{box.name}\n", got)
                box.remove("-f")

    def test_cve_2025_31133_masked_path_by_a_swapped_dev_null(self):
        root = self.make_root()
        os.makedirs(os.path.join(root, "dev"), exist_ok=True)
        os.symlink("/proc/sys/kernel/core_pattern", os.path.join(root, "dev/null"))
        with open("/proc/sys/kernel/core_pattern") as handle:
            before = handle.read()
        box = self.create(image=root)
        self.assertEqual(box.out("stat -c %F /dev/null"), "character special file")
        box.sh("echo '|/evil' > /dev/null; echo '|/evil' > /proc/sys/kernel/core_pattern")
        with open("/proc/sys/kernel/core_pattern") as handle:
            self.assertEqual(handle.read(), before)

    def test_cve_2025_52565_console_onto_an_attackers_path(self):
        victim = os.path.join(self.dir, "victim")
        for link in ("dev/console", "dev/pts", "dev/ptmx", "dev/tty"):
            with open(victim, "w") as handle:
                handle.write("precious")
            root = self.make_root()
            os.makedirs(os.path.join(root, "dev"), exist_ok=True)
            os.symlink(victim, os.path.join(root, link))
            box = self.create(image=root)
            term = box.terminal("sh", "-c", "echo through > /dev/tty; echo end")
            term.expect("end")
            term.wait()
            with open(victim) as handle:
                self.assertEqual(handle.read(), "precious", link)
            self.assertEqual(box.remove("-f").code, 0)
            os.remove(os.path.join(root, link))

    def test_cve_2026_41579_dev_as_a_link_in_the_image(self):
        root, decoy = self.make_root(), os.path.join(self.dir, "decoy")
        os.mkdir(decoy)
        with open(os.path.join(decoy, "null"), "w") as handle:
            handle.write("precious")
        os.rmdir(os.path.join(root, "dev"))
        for target in ("../decoy", decoy, "/proc/self/root", "usr"):
            os.symlink(target, os.path.join(root, "dev"))
            box = self.box()
            got = self.cordon("create", "-q", "-n", box.name, root)
            self.assertIn(got.code, (0, 1), got)
            if got.code == 0:
                box.sh("echo bad > /dev/null")
                self.assertEqual(box.remove("-f").code, 0)
            with open(os.path.join(decoy, "null")) as handle:
                self.assertEqual(handle.read(), "precious")
            self.assertEqual(os.listdir(decoy), ["null"])
            os.remove(os.path.join(root, "dev"))

    def test_cve_2026_87766_parent_link_writes_to_the_host(self):
        root, outside = self.make_root(), os.path.join(self.dir, "outside")
        source = os.path.join(self.dir, "source")
        os.mkdir(outside)
        os.mkdir(source)
        for target in (outside, "../outside", "/oldroot" + outside, "/proc/1/root" + outside):
            os.symlink(target, os.path.join(root, "a"))
            box = self.box()
            got = self.cordon("create", "-q", "-n", box.name, "-v", f"{source}:/a/b", "--tmpfs",
                              "/a/c", root)
            self.assertIn(got.code, (0, 1), got)
            if got.code == 0:
                self.assertEqual(box.remove("-f").code, 0)
            self.assertEqual(os.listdir(outside), [], target)
            os.remove(os.path.join(root, "a"))

    def test_cve_2026_87766_the_reverse_absolute_links_still_work(self):
        root, source = self.make_root(), os.path.join(self.dir, "source")
        os.mkdir(source)
        os.symlink("/run", os.path.join(root, "var/run"))
        box = self.create("-v", f"{source}:/var/run/user", image=root)
        self.assertEqual(box.out("ls -d /run/user"), "/run/user")

    def test_cve_2026_30892_digit_users(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create()
        self.assertEqual(box.out("id -u", opts=("-u", "1")), "1")
        self.assertEqual(box.out("id -u", opts=("-u", "0001")), "1")

    def test_cve_2026_46680_huge_user_numbers(self):
        root = self.make_root()
        with open(os.path.join(root, "etc/passwd"), "a") as handle:
            handle.write("4294967296:x:0:0::/root:/bin/sh\n18446744073709551616:x:0:0::/:/bin/sh\n")
        box = self.create(image=root)
        for user in ("4294967296", "18446744073709551616", "4294967295"):
            got = box.exec("id", "-u", opts=("-u", user))
            self.assertEqual((got.code, got.out), (1, b""), got)
        got = self.cordon("create", "-q", "-n", "y", "-u", "4294967296", root)
        if got.code == 0:
            self.assertEqual(self.cordon("exec", "y", "--", "id", "-u").out, b"")

    def test_cve_2024_23652_stub_replaced_by_a_link_to_a_host_file(self):
        root, source = self.make_root(), os.path.join(self.dir, "source")
        os.mkdir(source)
        victim = os.path.join(self.dir, "victim")
        os.mkdir(victim)
        box = self.create("-v", f"{source}:/stub/target", image=root)
        os.rename(os.path.join(root, "stub"), os.path.join(root, "moved"))
        os.symlink(self.dir, os.path.join(root, "stub"))
        os.rename(victim, os.path.join(self.dir, "target"))
        box.stop()
        self.assertTrue(os.path.isdir(os.path.join(self.dir, "target")))

    def test_cve_2026_46695_read_only_is_not_a_flag_of_the_guests(self):
        source = os.path.join(self.dir, "source")
        os.mkdir(source)
        box = self.armed("-v", f"{source}:/ro:ro")
        box.sh("mount -o remount,rw /ro; mount -o remount,rw,bind /ro; "
               "mount --bind /ro /mnt; echo bad > /ro/bad; echo bad > /mnt/bad")
        self.attack(box, "mounts")
        self.assertEqual(os.listdir(source), [])

    def test_cve_2024_1086_netfilter_from_a_nested_namespace(self):
        box = self.armed()
        got = box.sh("unshare -Urn true")
        self.assertNotEqual(got.code, 0, got)
        self.attack(box, "namespaces")
        self.attack(box, "sockets")

    def test_cve_2022_0492_release_agent(self):
        box = self.armed()
        got = box.sh("mkdir -p /tmp/c; mount -t cgroup -o rdma c /tmp/c || "
                     "mount -t cgroup2 c /tmp/c || mount -t cgroup -o memory c /tmp/c")
        self.assertNotEqual(got.code, 0, got)
        self.assertEqual(box.sh("find / -xdev -name release_agent -o -name cgroup.procs "
                                "2>/dev/null | head -1").text, "")

    def test_cve_2026_40226_configuration_from_image_workspace_or_cwd(self):
        work = os.path.join(self.dir, "work")
        os.makedirs(os.path.join(work, ".cordon"))
        for name in ("config.json", ".cordon/config.json", "cordon.json", ".cordon.json",
                     "cordon.yaml", "Sandboxfile"):
            with open(os.path.join(work, name), "w") as handle:
                handle.write('{"sandbox_defaults": {"workdir": "/hacked"}}')
        box = self.create("-v", f"{work}:/job", "-w", "/job", cwd=work)
        self.assertEqual(box.out("pwd"), "/job")
        got = self.cordon("run", "-q", "host", "--", "pwd", cwd=work)
        self.assertEqual(got.text, "/\n", got)

    def test_cve_2026_22708_variables_from_inside_do_not_reach_our_helpers(self):
        """What the payload exports, writes to its files or sets for an exec stays inside."""
        box = self.create("-e", "LD_PRELOAD=/root/evil.so", "-e", "GIT_DIR=/x")
        box.sh("echo 'export PATH=/evil' > /root/.profile; echo /root/evil.so > /etc/ld.so.preload")
        for command in (("inspect", box.name), ("list",), ("stop", box.name)):
            self.assertEqual(self.cordon(*command).code, 0)


class Races(AttackTest):
    """CVE-2024-42472, CVE-2025-52881, CVE-2026-1386, -41567 and the other path races: somebody
    swaps a component for a link while we use the path."""

    timeout = 120

    def test_target_in_a_shared_root_swapped_while_we_mount(self):
        root, outside = self.make_root(), os.path.join(self.dir, "outside")
        source = os.path.join(self.dir, "source")
        os.mkdir(outside)
        os.mkdir(source)
        with open(os.path.join(source, "f"), "w") as handle:
            handle.write("x")
        stop = threading.Event()
        place = os.path.join(root, "mnt")

        def racer():
            """A directory and a link out of the root take turns under one name."""
            os.makedirs(place + ".dir", exist_ok=True)
            while not stop.is_set():
                try:
                    os.rename(place + ".dir", place)
                    os.rename(place, place + ".dir")
                    os.symlink(outside, place)
                    os.unlink(place)
                except OSError:
                    try:
                        os.unlink(place)
                    except OSError:
                        pass

        worker = threading.Thread(target=racer)
        worker.start()
        try:
            for _ in range(25):
                box = self.box()
                got = self.cordon("create", "-q", "-n", box.name, "-v", f"{source}:/mnt/target",
                                  "--tmpfs", "/mnt/scratch", root)
                self.assertIn(got.code, (0, 1), got)
                self.assertIn(box.remove("-f").code, (0, 1))
                self.assertEqual(os.listdir(outside), [])
        finally:
            stop.set()
            worker.join()
        self.assertEqual(os.listdir(source), ["f"])

    def test_volume_components_swapped_while_the_sandbox_starts(self):
        """The source is resolved once, at create; a later swap decides nothing."""
        real, other = os.path.join(self.dir, "real"), os.path.join(self.dir, "other")
        link = os.path.join(self.dir, "link")
        os.mkdir(real)
        os.mkdir(other)
        os.symlink(real, link)
        box = self.create("-v", f"{link}:/w")
        box.stop()
        os.remove(link)
        os.symlink(other, link)
        self.assertEqual(box.start().code, 0)
        box.out("echo x > /w/f")
        self.assertEqual((os.listdir(real), os.listdir(other)), (["f"], []))

    def test_state_directory_components_cannot_be_links(self):
        """A link planted where we write our state is not followed."""
        self.create().remove("-f")
        victim = os.path.join(self.dir, "victim")
        os.mkdir(victim)
        os.symlink(victim, os.path.join(self.home, "sandboxes", "planted"))
        got = self.cordon("create", "-q", "-n", "planted", "host")
        self.assertEqual(os.listdir(victim), [], got)
        self.cordon("remove", "-f", "planted")
        self.assertTrue(os.path.isdir(victim))
        path = os.path.join(self.home, "sandboxes", "planted")
        if os.path.islink(path):
            os.unlink(path)


class Guessing(AttackTest):
    """Names of one sandbox are of no use in another."""

    def test_other_sandboxes_sockets_and_files_cannot_be_named(self):
        a, b = self.create(), self.create()
        for path in (self.home, f"{self.home}/run", f"{self.home}/sandboxes/{a.name}",
                     "/run/cordon", f"/proc/1/root{self.home}"):
            self.assertEqual(b.sh(f"ls -A {path} 2>/dev/null").text, "", path)

    def test_two_users_of_one_machine(self):
        if MODE != "root":
            self.not_run("needs root to act as another user")
        box = self.create()
        done = subprocess.run(
            [os.path.join(os.environ["CORDON_TEST_PREFIX"], "bin/cordon"), "exec", box.name, "--",
             "true"], env=self.environment(), user=12345, group=12345, extra_groups=[],
            cwd="/", capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stdout, "")
