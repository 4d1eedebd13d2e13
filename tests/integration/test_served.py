"""Tests roots that fuse-overlayfs serves. Most are served because the kernel's overlay does not work
on the file system of the home.

In the modes served and served-user of run.py the home is on a real overlay. The ids of an overlay
cannot be mapped, and an overlay cannot be the upper layer of another overlay.
"""

import os
import shutil
import signal
import subprocess
import tarfile
import tempfile

from harness import CORDON, MODE, CordonTest, Process, below
from image_fixtures import ImageMixin, Layer, Layout, busybox_layer

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts")


class ServedSetUp:
    """A mixin for CordonTest. Skips the test if fuse-overlayfs or /dev/fuse is missing. servers() returns the
    fuse-overlayfs processes of a sandbox."""

    def setUp(self):
        super().setUp()
        if not shutil.which("fuse-overlayfs", path="/usr/bin:/bin"):
            self.not_run("fuse-overlayfs is not installed")
        if not os.path.exists("/dev/fuse"):
            self.not_run("no /dev/fuse")

    def servers(self, box):
        return [p for p in below(box.roots) if p.comm == "fuse-overlayfs" and p.state != "Z"]

    def root_of(self, box):
        return box.inspect()["root"]

    def upper(self, box):
        return os.path.join(self.home, "sandboxes", box.name, "layers/0/upper")


class ServedRoots(ServedSetUp):
    """Tests the image `host` on fuse-overlayfs. Subclasses choose why fuse-overlayfs is used."""

    READS = ()  # the values of MODE (`root`, `user`) for which a second fuse-overlayfs reads the layers

    def test_a_command_in_the_image_host(self):
        got = self.cordon("run", "--no-net", "host", "--", "sh", "-c", "cat; echo x > /etc/y; id -u",
                          stdin=b"in\n")
        self.assertEqual((got.code, got.text), (0, "in\n0\n"), got)

    def test_inspect_and_doctor_name_fuse_overlayfs(self):
        box = self.create("--no-net")
        self.assertEqual(self.root_of(box), "fuse-overlayfs")
        self.assertIn("fuse-overlayfs / fuse ", box.out("grep ' / ' /proc/mounts"))
        got = self.cordon("inspect", box.name)
        self.assertRegex(got.text, r"(?m)^Root: +fuse-overlayfs$")
        self.assertRegex(self.cordon("doctor").errtext, r"(?m)^   ! Root +fuse-overlayfs, ")

    def test_changes_of_the_image_host_are_kept(self):
        box = self.create("--no-net")
        box.out("rm /etc/shells; mv /etc/alternatives /etc/lrep; rm -r /etc/ssl; mkdir /etc/ssl; echo n > /etc/ssl/n;"
                " echo more >> /etc/passwd; ln /etc/passwd /etc/link; mkfifo /etc/pipe; chown 7 /etc/link")
        look = ("cd /etc; ls -aR . | grep -v total; cat link; stat -c '%n %a %h %F' link pipe lrep ssl;"
                " ls shells 2>&1 | grep -c 'No such'")
        before = box.out(look)
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out(look), before)

    def test_two_sandboxes_do_not_see_each_other(self):
        one, two = self.create("--no-net"), self.create("--no-net")
        one.out("echo 1 > /own; rm /etc/shells")
        self.assertEqual(two.out("ls /own 2>/dev/null; ls /etc/shells"), "/etc/shells")
        self.assertEqual(os.listdir(self.upper(two)), [])

    def test_set_user_id_programs_work(self):
        box = self.create("--no-net")
        box.out("cp /usr/bin/id /opt/id; chmod u+s /opt/id")
        got = box.exec("/opt/id", "-u", opts=("--user", "1000"))
        self.assertEqual(got.text, "0\n", got)

    def test_the_sandbox_ends_when_a_server_is_killed(self):
        box = self.create("--no-net")
        box.out("echo kept > /root/f")
        n = len(self.servers(box))
        self.assertEqual(n, 2 if MODE in self.READS else 1)
        for i in range(n):
            os.kill(sorted(p.pid for p in self.servers(box))[i], signal.SIGKILL)
            self.eventually(lambda: box.status() == "Crashed")
            got = self.cordon("inspect", box.name)
            self.assertIn("fuse-overlayfs, which served its root, has ended", got.text)
            self.eventually(lambda: not self.servers(box))
            self.assertEqual(box.start().code, 0)
            self.assertEqual(box.out("cat /root/f"), "kept")

    def test_the_servers_end_when_the_sandbox_ends(self):
        box = self.create("--no-net")
        pids = [p.pid for p in self.servers(box)]
        self.assertEqual(box.stop().code, 0)
        self.eventually(lambda: not self.servers(box))
        self.assertEqual(box.start().code, 0)
        supervisor = box.supervisor().pid
        pids = [p.pid for p in self.servers(box)]
        os.kill(supervisor, signal.SIGKILL)

        def gone(pid):
            try:
                return Process(pid).state == "Z"
            except OSError:
                return True

        self.eventually(lambda: all(gone(pid) for pid in pids))
        self.assertEqual(box.remove("--force").code, 0)
        self.assertFalse(os.path.exists(os.path.join(self.home, "sandboxes", box.name)))

    def test_commands_cannot_reach_the_server(self):
        box = self.create("--no-net")
        self.assertNotIn("fuse-overlayfs", box.out("cat /proc/[0-9]*/comm"))
        box.sh("kill -9 -1")
        self.assertEqual(box.out("echo alive"), "alive")
        self.assertNotEqual(box.sh("umount /").code, 0)
        self.assertNotEqual(box.sh("ls /dev/fuse").code, 0)

    def test_the_server_is_confined(self):
        box = self.create("--no-net")
        pid1 = box.pid1().pid
        for server in self.servers(box):
            with self.subTest(server.cmdline):
                writes = "upperdir" in " ".join(server.cmdline)
                # The server with an upperdir writes the sandbox's layer. It has the capabilities chown, dac_override,
                # dac_read_search, fowner, fsetid and setfcap. A server without an upperdir only reads layers, and has
                # dac_read_search only.
                self.assertEqual(int(server.status("CapEff")[0], 16), 0x8000001f if writes else 0x4)
                self.assertEqual(int(server.status("CapPrm")[0], 16), 0x8000001f if writes else 0x4)
                self.assertEqual(server.status("NoNewPrivs"), ["1"])
                self.assertEqual(server.status("Seccomp"), ["2"])
                self.assertNotIn(0, server.uids)
                if MODE != "root":
                    continue  # other users may not look at the server
                self.assertEqual(set(os.listdir(f"/proc/{server.pid}/root")) - {"usr", "lib", "lib64"},
                                 {"proc", "l0", "u"} if writes else {"proc", "l0"})
                for kind in NAMESPACES:
                    mine, its, inside = (os.readlink(f"/proc/{p}/ns/{kind}")
                                         for p in ("self", server.pid, pid1))
                    self.assertNotIn(its, (mine, inside), kind)


class Served(ServedRoots, CordonTest):
    modes = ("served", "served-user")
    READS = ("root",)

    def marker(self, home):
        with open(os.path.join(home, ".cordon-home")) as handle:
            return handle.read()

    def test_one_launch_finds_the_working_overlay(self):
        # the kernel's overlay refuses layers on an overlay of an overlay, even if the upper layer is in memory
        home = tempfile.mkdtemp(dir=os.environ["CORDON_TEST_DEEP"])
        self.addCleanup(shutil.rmtree, home)
        for _ in range(2):
            got = self.cordon("--info", "run", "--no-net", "host", "--", "sh", "-c", "cat; grep ' / ' /proc/mounts",
                              stdin=b"in\n", home=home)
            self.assertRegex(got.text, "^in\nfuse-overlayfs / fuse ", got)
            self.assertEqual(got.errtext.count("started supervisor"), 1, got)
        # If the kernel's overlay fails, the supervisor notes this in the home. A supervisor of root never tries the
        # kernel's overlay in this mode, so it notes nothing.
        if MODE == "user":
            self.assertIn("\nlayers by fuse-overlayfs: Linux ", self.marker(home))

    def test_the_home_remembers_the_refused_overlay(self):
        self.create("--no-net")
        self.assertIn("\nlayers on disk by fuse-overlayfs: Linux ", self.marker(self.home))
        got = self.cordon("run", "--no-net", "host", "--", "grep", " / ", "/proc/mounts")
        self.assertTrue(got.text.startswith("overlay / overlay "), got)

    test_the_home_remembers_the_refused_overlay.modes = ("served-user",)  # for root the kernel's overlay is never tried

    def test_a_missing_program_is_named(self):
        hide = ["unshare", "-m", "sh", "-c",
                'mount --bind /dev/null /usr/bin/fuse-overlayfs && exec "$@"', "sh", CORDON]
        for args in (["create", "--no-net", "-n", "none", "host"], ["run", "host", "--", "true"]):
            got = subprocess.run([*hide, *args], capture_output=True, text=True,
                                 env=self.environment(), timeout=60)
            self.assertEqual(got.returncode, 1, got)
            self.assertIn("install the package 'fuse-overlayfs'", got.stderr)
        got = subprocess.run([*hide, "doctor"], capture_output=True, text=True,
                             env=self.environment(), timeout=60)
        self.assertEqual(got.returncode, 1, got)
        self.assertRegex(got.stderr, r"(?m)^   ✗ Root ")
        self.assertIn("apt install fuse-overlayfs", got.stderr)
        self.assertEqual(self.names(), [])

    test_a_missing_program_is_named.modes = ("served",)  # only root can hide a program

    def test_a_volume_on_an_overlay_is_refused_with_advice(self):
        volume = os.path.join(self.dir, "vol")
        os.mkdir(volume)
        got = self.cordon("run", "--no-net", "-v", volume + ":/v", "host", "--", "true")
        self.assertEqual(got.code, 1, got)
        self.assertIn("keep volumes and root directories on ext4", got.errtext)

    # Only root's sandboxes need file systems whose ids can be mapped. An ordinary user can share a volume on an
    # overlay.
    test_a_volume_on_an_overlay_is_refused_with_advice.modes = ("served",)


class Refused(ServedSetUp, CordonTest):
    """Tests a kernel that can map the ids of the layers, but refuses to mount the overlay."""

    modes = ("root",)  # under strace newuidmap has no privilege

    def test_the_first_command_is_not_lost(self):
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        got = self.cordon("-f", "-qq", "-o", "/dev/null", "-P", "overlay", "-e", "inject=mount:error=ENODEV",
                          CORDON, "--info", "run", "host", "--", "sh", "-c", "cat; grep ' / ' /proc/mounts",
                          stdin=b"in\n", program="strace")
        self.assertRegex(got.text, "^in\nfuse-overlayfs / fuse ", got)
        self.assertEqual(got.errtext.count("started supervisor"), 1, got)
        with open(os.path.join(self.home, ".cordon-home")) as handle:
            self.assertIn("\nlayers by fuse-overlayfs: Linux ", handle.read())


class KeptOverlay(ServedSetUp, CordonTest):
    """Tests a sandbox that was made with fuse-overlayfs, on a kernel whose overlay works now."""

    modes = ("root",)

    def test_a_sandbox_keeps_the_kind_of_overlay_that_wrote_its_layer(self):
        box = self.create("--no-net")
        self.assertEqual(self.root_of(box), "overlay")
        box.out("rm -r /etc/ssl; mkdir /etc/ssl; rm /etc/shells; echo x > /etc/new; chown 3 /etc/new")
        look = "ls -A /etc /etc/ssl; stat -c '%u %a' /etc/new /etc/ssl"
        before = box.out(look)
        self.assertEqual(box.stop().code, 0)
        path = os.path.join(self.home, "sandboxes", box.name, "state.json")
        with open(path) as handle:
            state = handle.read()
        with open(path, "w") as handle:
            handle.write(state.replace('"root":"overlay"', '"root":"fuse-overlayfs"'))
        for _ in range(2):
            self.assertEqual(box.start().code, 0)
            self.assertEqual(self.root_of(box), "fuse-overlayfs")
            # the ids of these layers can be mapped, so there is no second server
            self.assertEqual(len(self.servers(box)), 1)
            self.assertEqual(box.out(look), before)
            self.assertEqual(box.stop().code, 0)


class ServedImages(ServedSetUp, ImageMixin, CordonTest):
    modes = ("served", "served-user")

    def load(self, *layers):
        layout = Layout(self.path("layout"))
        layout.image("made", [layer.close() for layer in layers])
        layout.copy("made", f"oci-archive:{self.path('a.tar')}:made:1")
        self.ok("load", "--quiet", "--input", self.path("a.tar"))
        return "made:1"

    def base(self):
        """Loads an image of busybox and some files in two layers. The upper layer hides some files
        of the lower layer. Returns the reference of the image."""
        busybox = busybox_layer(self.path("bb.tar"))
        low = Layer(self.path("low.tar"))
        with tarfile.open(busybox) as tar:
            for entry in tar:
                low.tar.addfile(entry, tar.extractfile(entry) if entry.isfile() else None)
        low.dir("d").add("d/a", b"a").add("d/b", b"b").add("gone", b"g").add("mail", b"m", uid=33, gid=8)
        low.dir("covered").add("covered/low", b"l").dir("again").add("again/low", b"l")
        low.add("secret", b"s", mode=0o600).hard("twin", "d/b")
        high = Layer(self.path("high.tar"))
        high.add(".wh.gone").add("d/.wh.a").add("covered/.wh..wh..opq").add("covered/high", b"h")
        high.add(".wh.again").dir("again").add("again/high", b"h").add("d/c", b"c")
        return self.load(low, high)

    def test_layers_are_united(self):
        box = self.create("--no-net", image=self.base())
        self.assertEqual(box.out("ls -d /* | grep -cE '^/(gone|\\.wh)' ; ls -a /d /covered /again"),
                         "0\n/again:\n.\n..\nhigh\n\n/covered:\n.\n..\nhigh\n\n/d:\n.\n..\nb\nc")
        self.assertEqual(box.out("cat /secret /twin /d/c; stat -c '%u %g' /secret"), "sbc0 0")
        if MODE == "root":
            self.assertEqual(box.out("stat -c '%u %g' /mail"), "33 8")

    def test_layers_are_shared_and_uppers_are_not(self):
        image = self.base()
        one, two = (self.create("--no-net", image=image) for _ in range(2))
        one.out("echo 1 > /own; rm /d/b; echo x >> /secret")
        self.assertEqual(two.out("ls /own 2>/dev/null; cat /d/b /secret"), "bs")
        files = [name for _, _, names in os.walk(self.upper(two)) for name in names]
        self.assertNotIn("busybox", files)
        self.assertNotIn("secret", files)

    def test_owners_on_disk_are_the_sandboxes_own(self):
        box = self.create("--no-net", image=self.base())
        box.out("echo x >> /secret; chown 5 /mail; mv /d /e; touch /new; ln -s x /sym")
        base = Process(box.pid1().pid).uids[0] - 65536 if MODE == "root" else None
        for where, dirs, files in os.walk(self.upper(box)):
            for name in [*dirs, *files]:
                st = os.lstat(os.path.join(where, name))
                if MODE == "root":
                    self.assertIn(st.st_uid - base, range(65537), name)
                    self.assertIn(st.st_gid - base, range(65537), name)
                else:
                    self.assertNotEqual(st.st_uid, 0, name)

    def test_links_between_layers_stay_inside(self):
        low = Layer(self.path("low.tar"))
        with tarfile.open(busybox_layer(self.path("bb.tar"))) as tar:
            for entry in tar:
                low.tar.addfile(entry, tar.extractfile(entry) if entry.isfile() else None)
        low.symlink("a", "/proc").symlink("b", "../../../../usr").symlink("c", "/u")
        low.symlink("x", "/l0/etc")
        high = Layer(self.path("high.tar"))
        high.dir("a").dir("b").dir("c").add("a/f", b"")
        box = self.create("--no-net", image=self.load(low, high))
        self.assertEqual(box.out("ls -A /a /b /c; ls /a/self /b/lib /c/upper 2>/dev/null; ls /x/ 2>&1"
                                 " | grep -c 'No such'"), "/a:\nf\n\n/b:\n\n/c:\n1")
        # Above, the lower layer of the image has the links. Now a command in the sandbox makes such links: it renames
        # the directory /m, and makes a link to /proc in its place.
        box.out("mkdir -p /m/self; echo own > /m/self/status; mv /m /n; ln -s /proc /m; mkdir /m2;"
                " ln -s /u/upper /m2/l; ln -s /usr /m2/usr")
        self.assertEqual(box.out("cat /n/self/status; readlink /m; readlink /m2/l; cat /m/self/comm;"
                                 " ls /m2/l 2>/dev/null; ls /l0 /u 2>/dev/null || true"),
                         "own\n/proc\n/u/upper\ncat")

    def test_changes_are_kept(self):
        box = self.create("--no-net", image=self.base())
        box.out("rm /d/b; rm -r /again; mkdir /again; echo n > /again/new; mv /d /e; mv /covered/high /h;"
                " echo more >> /secret; ln /secret /link; ln -s /secret /sym; mkfifo /pipe;"
                " chown 7:9 /h /e; chmod 4711 /h; touch -d '2001-02-03 04:05:06' /e/c")
        look = ("cd /; ls -a / /e /again /covered; cat /secret /link /sym /e/c /again/new;"
                " stat -c '%n %a %u %g %h %F %Y' /h /e /link /sym /pipe /e/c")
        before = box.out(look)
        self.assertIn("/h 4711 7 9 1 regular file", before)
        self.assertIn("/link 600 0 0 2 regular file", before)
        for again in ("stop", "kill"):
            if again == "stop":
                self.assertEqual(box.stop().code, 0)
            else:
                os.kill(box.supervisor().pid, signal.SIGKILL)
                self.eventually(lambda: box.status() == "Crashed")
            self.assertEqual(box.start().code, 0)
            self.assertEqual(box.out(look), before, again)
