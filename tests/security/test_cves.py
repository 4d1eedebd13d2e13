"""Tries published holes of other sandboxes and container engines against cordon. The name of each test has the number
of the CVE."""

import os
import shutil
import stat
import subprocess
import threading

from attack import AttackTest, Swapper
from harness import MODE, ONE_ID


def snapshot(tree):
    """Returns the names, kinds, modes and contents of everything below TREE."""
    found = {}
    for where, folders, files in os.walk(tree):
        for name in folders + files:
            path = os.path.join(where, name)
            st = os.lstat(path)
            what = os.readlink(path) if stat.S_ISLNK(st.st_mode) else ""
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as handle:
                    what = handle.read()
            found[os.path.relpath(path, tree)] = (st.st_mode, what)
    return found


class Published(AttackTest):
    def test_cve_2024_21626_leaked_descriptor_as_working_directory(self):
        box = self.create()
        for fd in range(3, 65):
            got = box.exec("sh", "-c", "pwd -P; cat ../../../../etc/hostname",
                           opts=("-w", f"/proc/self/fd/{fd}"))
            # The command itself may have a descriptor with this number open. If so, the exec succeeds, and the
            # descriptor must lead to the root of the sandbox, not to a directory of the host.
            if got.code == 0:
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

    def test_cve_2026_88265_stdio_is_not_opened_by_path(self):
        """In the root directory, dev/stdout and similar names are links to a host file. The output of commands must
        still reach the caller, and nobody else."""
        victim = os.path.join(self.dir, "victim")
        with open(victim, "w") as handle:
            handle.write("precious")
        root = self.make_root()
        for link in ("dev/stdin", "dev/stdout", "dev/stderr", "proc/self", "proc/thread-self"):
            os.symlink(victim, os.path.join(root, link))
        box = self.create(image=root)
        got = box.sh("echo out; echo err >&2; echo named > /dev/stdout; cat", stdin=b"in\n")
        self.assertEqual((got.text, got.errtext), ("out\nnamed\nin\n", "err\n"), got)
        term = box.terminal("sh", "-c", "echo on a terminal")
        term.expect("on a terminal")
        term.wait()
        with open(victim) as handle:
            self.assertEqual(handle.read(), "precious")

    def test_cve_2025_24965_no_file_of_ours_is_written_into_a_root(self):
        """At the paths where cordon puts its own files, the root first has links to a file of the host, and later
        files of its own. Neither the root nor the host's file may change."""
        victim = os.path.join(self.dir, "victim")
        with open(victim, "w") as handle:
            handle.write("precious")
        root = self.make_root()
        for link in ("etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/profile", ".krun_config.json"):
            os.symlink(victim, os.path.join(root, link))
        before = snapshot(root)
        box = self.box()  # create may refuse the links to the victim, or not follow them
        self.assertIn(self.cordon("create", "-q", "-n", box.name, root).code, (0, 1))
        self.assertIn(box.remove("-f").code, (0, 1))
        self.assertEqual(snapshot(root), before)
        for name in ("hosts", "hostname", "resolv.conf", "profile"):
            os.unlink(os.path.join(root, "etc", name))
            with open(os.path.join(root, "etc", name), "w") as handle:
                handle.write("the image's own")
        before = snapshot(root)
        box = self.create("--script", "s=echo ran", image=root)
        self.assertEqual(box.out("s"), "ran")
        self.assertEqual(box.remove("-f").code, 0)
        self.assertEqual(snapshot(root), before)
        with open(victim) as handle:
            self.assertEqual(handle.read(), "precious")

    def test_cve_2026_31431_af_alg_on_a_host_file(self):
        """The exploit called Copy Fail writes to the page cache of a readable host file through an unusual socket.
        Dirty Frag (CVE-2026-43284, -43500) and Fragnesia (CVE-2026-46300) use the same method."""
        with open("/usr/bin/true", "rb") as handle:
            before = handle.read()
        self.attack(self.armed(), "pagecache")
        with open("/usr/bin/true", "rb") as handle:
            self.assertEqual(handle.read(), before)

    def test_cve_2025_9074_no_way_to_control_us_over_a_network(self):
        """Our processes may listen only on unix sockets, which no network reaches."""
        box = self.create()
        box.sh("python3 -c 'import socket; socket.gethostbyname(\"a.invalid\")'")  # the gateway is up
        inodes = set()
        for p in box.host_processes():
            try:
                names = os.listdir(f"/proc/{p.pid}/fd")
                inodes |= {os.readlink(f"/proc/{p.pid}/fd/{n}") for n in names}
            except OSError:  # this process cannot be read: its descriptors are left out
                pass
        for table in ("tcp", "tcp6"):
            with open(f"/proc/net/{table}") as handle:
                for line in list(handle)[1:]:
                    fields = line.split()
                    if fields[3] == "0A":  # the state TCP_LISTEN
                        self.assertNotIn(f"socket:[{fields[9]}]", inodes)
        got = box.sh(f"ls {self.home}/run 2>&1; cat /proc/net/unix | grep -c '{self.home}'")
        self.assertEqual(got.text.splitlines()[-1], "0", got)

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

    def test_cve_2024_23652_a_mount_point_replaced_by_a_link_to_a_host_file(self):
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

    def test_cve_2026_46695_read_only_is_enforced_outside_the_guest(self):
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
        self.assertEqual(box.sh("find / -name release_agent 2>/dev/null").text, "")
        got = box.sh("find / -name cgroup.procs 2>/dev/null | while read -r f; do "
                     "echo 0 > $f && echo $f; done")
        self.assertEqual(got.text, "")

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
        """Variables that the payload exports or writes to files, and variables of the sandbox, must stay inside."""
        box = self.create("-e", "LD_PRELOAD=/root/evil.so", "-e", "GIT_DIR=/x")
        box.sh("echo 'export PATH=/evil' > /root/.profile; echo /root/evil.so > /etc/ld.so.preload")
        for command in (("inspect", box.name), ("list",), ("stop", box.name)):
            self.assertEqual(self.cordon(*command).code, 0)


class Races(AttackTest):
    """A component of a path is swapped for a link before or while cordon uses the path."""

    timeout = 120

    def test_a_mount_target_in_a_shared_root_is_swapped_during_the_mount(self):
        root, outside = self.make_root(), os.path.join(self.dir, "outside")
        source = os.path.join(self.dir, "source")
        os.mkdir(outside)
        os.mkdir(source)
        with open(os.path.join(source, "f"), "w") as handle:
            handle.write("x")
        stop = threading.Event()
        place = os.path.join(root, "mnt")

        def racer():
            """Gives one name by turns to a directory, and to a link that leads out of the root."""
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

    def test_a_swap_triggered_by_inotify(self):
        """Three directories turn into links to `outside` and back while cordon uses them: `mnt` in the root, which
        holds mount points, `etc` in the root, and `in` in a volume, which is copied out and into which a file is
        copied."""
        root, work = self.make_root(), os.path.join(self.dir, "work")
        outside = os.path.join(self.dir, "outside")
        os.mkdir(outside)
        with open(os.path.join(outside, "secret"), "w") as handle:
            handle.write("secret")
        for place in (os.path.join(root, "mnt"), os.path.join(work, "in")):
            os.makedirs(place)
        before = snapshot(outside)
        swappers = [Swapper(root, "mnt", outside), Swapper(root, "etc", outside),
                    Swapper(work, "in", outside)]
        got = os.path.join(self.dir, "got")
        try:
            for _ in range(15):
                box = self.box()
                self.cordon("create", "-q", "-n", box.name, "--tmpfs", "/mnt/t", "-v", f"{work}:/w",
                            "-v", f"{work}:/mnt/v", root)
                self.cordon("copy", f"{box.name}:/w/in", got)
                self.cordon("copy", root + "/etc/group", f"{box.name}:/w/in/")
                self.cordon("remove", "-f", box.name)
                self.assertEqual(snapshot(outside), before)
                self.assertFalse(os.path.exists(os.path.join(got, "secret")))
                shutil.rmtree(got, ignore_errors=True)
                if os.path.islink(got):
                    os.unlink(got)
        finally:
            for swapper in swappers:
                swapper.close()
        self.assertGreater(sum(s.swaps for s in swappers), 20)  # the swappers were active

    def raced_by_a_sibling(self, name, decoy, use):
        """USE(root) makes sandboxes with the directory ROOT as their root. A sibling, another sandbox, has ROOT as a
        volume. While USE(root) runs, a process in the sibling swaps NAME in ROOT with a link to DECOY, a directory on
        the host. DECOY must not change."""
        root = self.make_root()
        os.makedirs(os.path.join(root, name), exist_ok=True)
        before = snapshot(decoy)
        sibling = self.create("-v", f"{root}:/r", "-e", f"N=/r/{name}", "-e", f"D={decoy}")
        racer = sibling.popen("sh", "-c", """echo racing; while :; do
            mv $N $N.real && ln -s $D $N; rm -f $N; mv $N.real $N || mkdir $N; done 2>/dev/null""")
        racer.stdout.readline()
        for _ in range(12):
            use(root)
            self.assertEqual(snapshot(decoy), before)
        racer.kill()
        racer.wait()

    def test_cve_2025_52881_proc_redirected_by_a_sibling(self):
        """Writes below /proc must reach the real procfs or fail."""
        decoy = os.path.join(self.dir, "proc")
        for path in ("sys/net/ipv4/ip_unprivileged_port_start", "sys/net/ipv4/ping_group_range",
                     "self/attr/exec", "self/uid_map", "self/oom_score_adj", "sysrq-trigger"):
            place = os.path.join(decoy, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as handle:
                handle.write("untouched")

        def use(root):
            box = self.box()
            if self.cordon("create", "-q", "-n", box.name, root).code == 0:
                # if the sibling moves the mount point away, only this sandbox is harmed, and stat may fail
                self.assertIn(box.sh("stat -fc %T /proc").text, ("proc\n", ""))
            self.assertIn(box.remove("-f").code, (0, 1))

        self.raced_by_a_sibling("proc", decoy, use)

    def test_cve_2026_88264_console_raced_by_a_sibling(self):
        decoy = os.path.join(self.dir, "dev")
        os.makedirs(os.path.join(decoy, "pts"))
        for name in ("console", "tty", "ptmx", "null", "pts/0"):
            with open(os.path.join(decoy, name), "w") as handle:
                handle.write("untouched")

        def use(root):
            box = self.box()
            if self.cordon("create", "-q", "-n", box.name, root).code == 0:
                term = box.terminal("sh", "-c", "echo through > /dev/tty; echo x > /dev/null")
                term.wait()  # the command may fail, because the sibling may have moved /dev away
            self.assertIn(box.remove("-f").code, (0, 1))

        self.raced_by_a_sibling("dev", decoy, use)

    def test_cve_2024_42472_volume_source_swapped_while_the_sandbox_starts(self):
        """create resolves the source once, so a later swap must have no effect."""
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

    def test_cve_2026_1386_state_directory_components_cannot_be_links(self):
        """An attacker has put a link at a path where we write our state. cordon must not follow the link."""
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
    """Tests that names of one sandbox's objects do not work in another sandbox or for another user."""

    def test_other_sandboxes_sockets_and_files_cannot_be_named(self):
        a, b = self.create(), self.create()
        for path in (self.home, f"{self.home}/run", f"{self.home}/sandboxes/{a.name}",
                     "/run/cordon", f"/proc/1/root{self.home}"):
            self.assertEqual(b.sh(f"ls -A {path} 2>/dev/null").text, "", path)

    def test_another_user_cannot_use_a_sandbox(self):
        if MODE != "root":
            self.not_run("needs root to act as another user")
        box = self.create()
        done = subprocess.run(
            [os.path.join(os.environ["CORDON_TEST_PREFIX"], "bin/cordon"), "exec", box.name, "--",
             "true"], env=self.environment(), user=12345, group=12345, extra_groups=[],
            cwd="/", capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stdout, "")
