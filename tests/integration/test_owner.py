"""Tests the owners of files in a shared directory. Inside the sandbox, these files must belong to the user who works
inside. On the host, they must belong to the owner of the directory."""

import glob
import os
import shutil
import signal

from harness import MODE, CordonTest, below, kill_quietly
from image_fixtures import CAPABILITY, ImageMixin, Layer

OVERFLOW = "Value too large for defined data type"


class OwnerTest(ImageMixin, CordonTest):
    modes = ("root", "user", "container")
    timeout = 120

    def setUp(self):
        super().setUp()
        self.shared = self.share("shared")

    def share(self, name):
        """Makes a directory with a file. If root runs the test, the directory belongs to another user."""
        path = os.path.join(self.dir, name)
        os.mkdir(path)
        with open(os.path.join(path, "old"), "w") as handle:
            handle.write("old\n")
        for each in (path, os.path.join(path, "old")):
            os.chown(each, *self.owner())
        return path

    def owner(self):
        return (4321, 4322) if MODE == "root" else (os.getuid(), os.getgid())

    def outside(self, name):
        st = os.lstat(os.path.join(self.shared, name))
        return st.st_uid, st.st_gid

    def volume(self, options=""):
        return "-v", f"{self.shared}:/w{options}"

    def users_image(self, user="ann", name="users"):
        """Loads an image of busybox for USER. The user ann has a home in the image, beside files of other users."""
        layer = Layer(self.path(name + "-users.tar"))
        layer.dir("opt").dir("opt/ann", uid=1000, gid=1000, mode=0o700)
        layer.add("opt/ann/.profile", b"# ann's\n", uid=1000, gid=1000, mode=0o600)
        layer.dir("srv", uid=33, gid=33).add("srv/site", b"x", uid=2000, gid=2000)
        return self.load_busybox(layer.close(), name=name, config=("--config.user", user))


class Owner(OwnerTest):
    def check_works_as(self, box, ids):
        """Asserts that the user of BOX has IDS and owns the volume, and that new files belong to the owner outside."""
        self.assertEqual(box.out("echo $(id -u):$(id -g); stat -c %u:%g /w /w/old"), "\n".join([ids] * 3))
        box.out("echo 1 >> /w/old; echo 2 > /w/new; mkdir -p /w/d/e; ln -s old /w/link; mv /w/new /w/moved;"
                "chmod 600 /w/moved; touch -d @1000000000 /w/moved")
        self.assertEqual(box.out("stat -c %u:%g:%a:%Y /w/moved"), f"{ids}:600:1000000000")
        for name in ("old", "moved", "d", "d/e", "link"):
            self.assertEqual(self.outside(name), self.owner(), name)

    def test_user_of_an_image(self):
        box = self.create(*self.volume(), image=self.users_image())
        self.check_works_as(box, "1000:1000")
        self.assertEqual(box.inspect()["config"]["runtime"]["owner"], {"gid": 1000, "uid": 1000})

    def test_user_and_group_of_an_image(self):
        self.check_works_as(self.create(*self.volume(), image=self.users_image("ann:33")), "1000:33")

    def test_number(self):
        self.check_works_as(self.create(*self.volume(), "-u", "1000"), "1000:0")

    def test_number_and_group(self):
        self.check_works_as(self.create(*self.volume(), "-u", "1000:1001"), "1000:1001")

    def test_name_in_the_image_host(self):
        self.check_works_as(self.create(*self.volume(), "-u", "www-data"), "33:33")

    def test_name_in_a_root_directory(self):
        root = self.make_root("ln", "mv", "chmod")
        with open(os.path.join(root, "etc/passwd"), "w") as handle:
            handle.write("root:x:0:0::/root:/bin/sh\nbob:x:1234:4321::/:/bin/sh\n")
        self.check_works_as(self.create(*self.volume(), "-u", "bob", image=root), "1234:4321")

    def test_option_of_run_replaces_the_user_of_the_image(self):
        image = self.users_image()
        got = self.cordon("run", "--quiet", *self.volume(), "-u", "5:6", image, "--", "sh", "-c",
                          "stat -c %u:%g /w; echo x > /w/new")
        self.assertEqual((got.code, got.text), (0, "5:6\n"), got)
        self.assertEqual(self.outside("new"), self.owner())

    def test_named_volume(self):
        box = self.create("-v", "mine:/w", image=self.users_image())
        self.assertEqual(box.out("echo x > /w/f; stat -c %u:%g /w /w/f"), "1000:1000\n1000:1000")
        st = os.stat(os.path.join(self.home, "volumes/mine/data/f"))
        self.assertEqual((st.st_uid, st.st_gid), (os.getuid(), os.getgid()))

    def test_single_file(self):
        box = self.create("-v", f"{self.shared}/old:/etc/mine", "-u", "1000")
        self.assertEqual(box.out("stat -c %u:%g /etc/mine; echo 2 > /etc/mine"), "1000:0")
        self.assertEqual(self.outside("old"), self.owner())

    def test_root_user_gets_roots_map(self):
        for user in ("root", "0", "root:root", "0:0"):
            with self.subTest(user):
                box = self.create(*self.volume(), "-u", user, image=self.users_image(name="r" + user.replace(":", "-")))
                self.check_works_as(box, "0:0")
                self.assertNotIn("owner", box.inspect()["config"]["runtime"])
                box.remove("-f")
                for name in os.listdir(self.shared):
                    path = os.path.join(self.shared, name)
                    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
                with open(os.path.join(self.shared, "old"), "w") as handle:
                    handle.write("old\n")
                os.chown(os.path.join(self.shared, "old"), *self.owner())

    def test_root_inside_reads_changes_and_deletes(self):
        box = self.create(*self.volume(), image=self.users_image())
        box.out("umask 077; echo secret > /w/mine; mkdir /w/d; echo 1 > /w/d/f")
        root = ("-u", "root")
        self.assertEqual(box.out("cat /w/mine; echo more >> /w/mine; chmod 644 /w/mine; rm -r /w/d; rm /w/old", opts=root),
                         "secret")
        self.assertEqual(sorted(os.listdir(self.shared)), ["mine"])
        self.assertEqual(self.outside("mine"), self.owner())

    def test_new_files_of_root_inside(self):
        """On the host, files that the user who works inside makes in a shared directory belong to the owner of the
        directory. If root started the sandbox, the mount has no ids for the other users inside, not even for root. So
        these other users cannot make files in the directory."""
        box = self.create(*self.volume(), image=self.users_image())
        got = box.sh("echo x > /w/new", opts=("-u", "root"))
        if MODE != "root":  # root inside can make files, but on the host they do not belong to the caller
            self.assertEqual(got.code, 0, got)
            self.assertNotEqual(self.outside("new")[0], os.getuid())
            self.assertEqual(box.out("stat -c %u:%g /w/new; rm /w/new", opts=("-u", "root")), "0:0")
            return
        self.assertNotEqual(got.code, 0, got)
        self.assertIn(OVERFLOW, got.errtext)
        self.assertEqual(os.listdir(self.shared), ["old"])

    def test_restart_keeps_the_owner(self):
        """The map of ids is chosen once. What a command writes into /etc/passwd does not change the map."""
        box = self.create(*self.volume(), image=self.users_image())
        box.out("echo ann:x:0:0::/:/bin/sh > /etc/passwd; echo x > /root/f; chown 1000:1000 /root/f", opts=("-u", "root"))
        box.stop()
        box.start()
        self.assertEqual(box.out("stat -c %u:%g /w /root/f; echo x > /w/new", opts=("-u", "1000:1000")),
                         "1000:1000\n1000:1000")
        self.assertEqual(self.outside("new"), self.owner())

    def test_unknown_user(self):
        got = self.cordon("run", "--quiet", *self.volume(), "-u", "nobody-here", "host", "--", "true")
        self.assertEqual(got.code, 1, got)
        self.assertIn("nobody-here", got.errtext)

    def test_files_of_the_image_keep_their_owners(self):
        box = self.create(*self.volume(), image=self.users_image())
        self.assertEqual(box.out("stat -c '%n %u:%g' / /root /etc/passwd /opt/ann /opt/ann/.profile /srv /srv/site /tmp"),
                         "/ 0:0\n/root 0:0\n/etc/passwd 0:0\n/opt/ann 1000:1000\n/opt/ann/.profile 1000:1000\n"
                         "/srv 33:33\n/srv/site 2000:2000\n/tmp 0:0")
        self.assertEqual(box.out("cat /opt/ann/.profile"), "# ann's")
        self.assertNotEqual(box.sh("echo x >> /etc/passwd").code, 0)

    def test_what_cordon_makes_belongs_to_root(self):
        """Directories above a mount, file systems in memory and /dev belong to root, even if another user works
        inside."""
        paths = ("/new", "/new/deep", "/t", "/dev", "/dev/shm", "/dev/pts/ptmx", "/.msb", "/.msb/hosts",
                 "/.msb/scripts", "/sys", "/etc/hosts")
        for image in ("host", self.users_image()):
            with self.subTest(image):
                box = self.create("-v", f"{self.shared}:/new/deep/w", "--tmpfs", "/t:8M", "-u", "1000:1000", image=image)
                self.assertEqual(box.out("stat -L -c '%n %u:%g' " + " ".join(paths) + " /new/deep/w"),
                                 "".join(p + " 0:0\n" for p in paths) + "/new/deep/w 1000:1000")

    def test_mount_below_a_shared_directory(self):
        box = self.create(*self.volume(), "--tmpfs", "/w/cache/deep:8M", image=self.users_image())
        self.assertEqual(box.out("stat -c %u:%g /w/cache; echo x > /w/cache/new"), "1000:1000")
        self.assertEqual(self.outside("cache/new"), self.owner())


class Copies(OwnerTest):
    def test_copies_into_a_shared_directory_belong_to_its_user(self):
        box = self.create(*self.volume(), image=self.users_image())
        os.makedirs(self.path("tree/sub"))
        with open(self.path("tree/sub/f"), "w") as handle:
            handle.write("x")
        for to in ("/w", "/w/made"):
            got = self.cordon("copy", self.path("tree"), f"{box.name}:{to}")
            self.assertEqual(got.code, 0, got)
        self.assertEqual(box.out("stat -c %u:%g /w/tree /w/tree/sub /w/tree/sub/f /w/made/sub/f"), "\n".join(["1000:1000"] * 4))
        for name in ("tree", "tree/sub", "tree/sub/f", "made"):
            self.assertEqual(self.outside(name), self.owner(), name)

    def test_other_copies_belong_to_root(self):
        box = self.create(*self.volume(), image=self.users_image())
        with open(self.path("f"), "w") as handle:
            handle.write("x")
        for to in ("/root/f", "/opt/ann/f", "/tmp/f"):
            got = self.cordon("copy", self.path("f"), f"{box.name}:{to}")
            self.assertEqual(got.code, 0, got)
        self.assertEqual(box.out("stat -c %u:%g /root/f /opt/ann/f /tmp/f", opts=("-u", "root")), "0:0\n0:0\n0:0")


class MountOptions(OwnerTest):
    def test_ids_of_a_mount(self):
        """uid= and gid= choose the owner, also if no user is set."""
        box = self.create(*self.volume(":uid=77,gid=78"))
        self.assertEqual(box.out("stat -c %u:%g /w"), "77:78")
        box.out("echo x > /w/new", opts=("-u", "77:78"))
        self.assertEqual(self.outside("new"), self.owner())

    def test_ids_of_a_mount_and_a_user(self):
        box = self.create(*self.volume(":uid=1000,gid=1000"), image=self.users_image())
        self.assertEqual(box.out("stat -c %u:%g /w; echo x > /w/new"), "1000:1000")

    def test_two_owners(self):
        other = self.share("other")
        args = (*self.volume(":uid=77,gid=78"), "-v", f"{other}:/o:uid=5,gid=6", "-v", f"{self.share('third')}:/t",
                "-u", "1000:1001")
        if MODE == "root":
            box = self.create(*args)
            self.assertEqual(box.out("stat -c %u:%g /w /o /t"), "77:78\n5:6\n1000:1001")
            return
        got = self.cordon("create", "--quiet", *args, "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("one owner inside", got.errtext)
        self.assertEqual(self.names(), [])


class NoRange(OwnerTest):
    """A sandbox without a range of ids has no other user than root, and create says so."""

    modes = ("bare", "userns")

    def test_create_says_what_is_missing(self):
        image = self.users_image()
        for args in (("-u", "1000", *self.volume(), "host"), (*self.volume(), image)):
            with self.subTest(args):
                got = self.cordon("create", "--quiet", *args)
                self.assertEqual(got.code, 1, got)
                self.assertIn("cannot work in a shared directory (root can: -u root)", got.errtext)
                self.assertIn("subuid" if MODE == "bare" else "65536 ids", got.errtext)
        self.assertEqual(self.names(), [])
        self.assertEqual(os.listdir(self.shared), ["old"])

    def test_root_works(self):
        box = self.create(*self.volume(), "-u", "root", image=self.users_image())
        self.assertEqual(box.out("stat -c %u:%g /w; echo x > /w/new"), "0:0")


class Forms(OwnerTest):
    """If a user other than root works in a shared directory, an ordinary user's sandbox needs a copy of each layer of
    its image. In this copy, called a form, the files have other owners."""

    modes = ("user", "container")

    def forms(self):
        return sorted({os.path.basename(p) for p in glob.glob(os.path.join(self.home, "cache/layers/*/owner-*"))})

    def tmp(self):
        return os.listdir(os.path.join(self.home, "cache/tmp"))

    def test_no_form_without_need(self):
        image = self.users_image()
        self.create(image=image)
        self.create(*self.volume(), "-u", "root", image=image)
        self.assertEqual(self.forms(), [])

    def test_two_users_of_one_image(self):
        image = self.users_image()
        first = self.create(*self.volume(), image=image)
        second = self.create("-v", f"{self.shared}:/w", "-u", "33:2000", image=image)
        third = self.create("-v", f"{self.shared}:/w", "-u", "root", image=image)
        self.assertEqual(self.forms(), ["owner-1000-1000", "owner-33-2000"])
        for box, ids in ((first, "1000:1000"), (second, "33:2000"), (third, "0:0")):
            self.assertEqual(box.out("stat -c %u:%g /w; echo x >> /w/all"), ids)
            self.assertEqual(box.out("stat -c %u:%g /bin/busybox /opt/ann /srv /srv/site / /root /run"),
                             "0:0\n1000:1000\n33:33\n2000:2000\n0:0\n0:0\n0:0")
        self.assertEqual(self.outside("all"), self.owner())

    def test_made_once(self):
        image = self.users_image()
        self.create(*self.volume(), image=image)
        before = [os.stat(p).st_ino for p in glob.glob(os.path.join(self.home, "cache/layers/*/owner-*"))]
        self.create(*self.volume(), image=image)
        self.assertEqual([os.stat(p).st_ino for p in glob.glob(os.path.join(self.home, "cache/layers/*/owner-*"))], before)

    def test_many_creates_at_once(self):
        image = self.users_image()
        boxes = [self.box() for _ in range(4)]
        procs = []
        for box in boxes:
            with self.claiming(box):
                procs.append(self.spawn("create", "--quiet", "--name", box.name, *self.volume(), image))
        for box, proc in zip(boxes, procs):
            got = self.finish(proc, 60)
            self.assertEqual(got.code, 0, got)
            with self.claiming(box):
                pass
            self.assertEqual(box.out("stat -c %u:%g /w /root"), "1000:1000\n0:0")
        self.assertEqual(self.tmp(), [])

    def test_removal_of_the_image_removes_the_form(self):
        image = self.users_image()
        box = self.create(*self.volume(), image=image)
        got = self.cordon("image", "rm", image)
        self.assertEqual(got.code, 1, got)  # a sandbox uses the image
        self.assertEqual(self.forms(), ["owner-1000-1000"])
        box.remove("-f")
        got = self.cordon("image", "rm", image)
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.store_files(), [])

    def test_killed_while_the_form_is_made(self):
        layer = Layer(self.path("big.tar"))
        for n in range(3000):
            layer.add(f"opt/{n}", b"x" * 4096, uid=n % 60, gid=n % 50)
        image = self.load_busybox(layer.close(), name="big", config=("--config.user", "ann"))
        killed = False
        for victim in ("cordon-image", "cordon", "worker"):
            proc = self.spawn("create", "--quiet", *self.volume(), image)
            while proc.poll() is None and not killed:
                for p in below([proc.pid]):
                    if "--worker" in p.cmdline and "unpack" in p.cmdline:
                        kill_quietly({"cordon": proc.pid, "worker": p.pid}.get(victim, p.ppid), signal.SIGKILL)
                        killed = True
                        break
            self.assertNotEqual(self.finish(proc).code, 0)
            self.assertTrue(killed, "no worker was seen")
            killed = False
            self.eventually(lambda: not [p for p in below([os.getpid()]) if "--worker" in p.cmdline])
            self.assertEqual(self.names(), [])
        box = self.create(*self.volume(), image=image)  # this create removes what the killed creates left
        self.assertEqual(box.out("stat -c %u:%g /w /opt/7 /opt/57 /opt"), "1000:1000\n7:7\n57:7\n0:0")
        self.assertEqual(self.tmp(), [])

    def test_capabilities_and_set_user_id_bits(self):
        layer = Layer(self.path("caps.tar"))
        with open("/bin/busybox", "rb") as handle:
            program = handle.read()
        layer.dir("opt").add("opt/grep", program, mode=0o755, pax={"SCHILY.xattr.security.capability": CAPABILITY.decode("latin-1")})
        layer.add("bin/rooted", program, mode=0o4755)
        layer.add("bin/anns", program, mode=0o4755, uid=1000, gid=1000)
        box = self.create(*self.volume(), image=self.load_busybox(layer.close(), config=("--config.user", "ann")))
        self.assertEqual(box.out("/opt/grep CapEff /proc/self/status").split()[1], "0000000000000400")
        self.assertEqual(box.out("stat -c %a:%u /bin/rooted /bin/anns"), "4755:0\n4755:1000")

    def test_no_set_user_id_bits_in_a_shared_directory(self):
        """Outside of the sandbox, files of the user inside belong to the caller. So a program with set-id bits would
        run with the caller's rights."""
        box = self.create(*self.volume(), image=self.users_image())
        for opts in ((), ("-u", "root")):
            box.sh("chmod 6755 /w/old; cp /bin/busybox /w/new; chmod 4755 /w/new; install -m 6755 /bin/busybox /w/third", opts=opts)
            for name in os.listdir(self.shared):
                self.assertEqual(os.stat(os.path.join(self.shared, name)).st_mode & 0o6000, 0, name)
            box.out("rm -f /w/new /w/third", opts=("-u", "root"))

    def test_terminal(self):
        box = self.create(*self.volume(), image=self.users_image())
        terminal = box.terminal("sh", "-c", "stat -c 'is %u' $(tty); echo ok > /dev/tty")
        terminal.expect(rb"is 1000")
        terminal.expect(rb"ok")
        self.assertEqual(terminal.wait(), 0)

    def test_writable_layer_on_disk(self):
        """Files that root and the user wrote keep their owners over restarts, and the sandbox can be removed."""
        box = self.create(*self.volume(), image=self.users_image())
        box.out("echo 1 > /root/r; mkdir -p /opt/d; chown 1000:1000 /opt/d; rm -r /srv", opts=("-u", "root"))
        box.out("echo 2 > /opt/d/u; echo 3 > /opt/ann/u")
        for _ in range(2):
            box.stop()
            box.start()
            self.assertEqual(box.out("stat -c %u:%g / /root/r /opt/d /opt/d/u /opt/ann/u; ls /srv 2>&1 | wc -l"),
                             "0:0\n0:0\n1000:1000\n1000:1000\n1000:1000\n1")
        box.remove("-f")
        self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes")), [])

    def test_root_inside_is_no_caller_outside(self):
        """On the host, root of the sandbox has an id of the range. Only the user who works inside has the caller's
        id."""
        box = self.create(*self.volume(), image=self.users_image())
        with self.claiming(box):
            proc = box.popen("sleep", "1000", opts=("-u", "root"))
        outside = self.eventually(lambda: [p for p in box.host_processes() if p.cmdline[:1] == ["sleep"]])
        self.assertNotEqual(outside[0].uids[0], os.getuid())
        proc.kill()
        mine = box.popen("sleep", "1001")
        outside = self.eventually(lambda: [p for p in box.host_processes() if p.cmdline[1:] == ["1001"]])
        self.assertEqual(outside[0].uids[0], os.getuid())
        mine.kill()


class Modify(OwnerTest):
    def test_a_volume_that_is_added_later(self):
        box = self.create(image=self.users_image())
        box.stop()
        got = self.cordon("modify", box.name, *self.volume())
        self.assertEqual(got.code, 0, got)
        box.start()
        if MODE != "root":  # `create` chooses the map of ids of a user's sandbox, and a later volume does not change it
            self.assertIn("not to user 'ann'", got.errtext)
            self.assertEqual(box.out("stat -c %u:%g /w; echo x > /w/new", opts=("-u", "root")), "0:0")
            self.assertEqual(self.outside("new"), self.owner())
            return
        self.assertEqual(got.errtext.count("warn"), 0, got)
        self.assertEqual(box.out("stat -c %u:%g /w; echo x > /w/new"), "1000:1000")
        self.assertEqual(self.outside("new"), self.owner())


class Programs(OwnerTest):
    """An ordinary user in the image `host` runs programs that care about owners."""

    def tool(self, name):
        if not os.path.exists("/usr/bin/" + name):
            self.not_run(f"this machine has no {name}")

    def box_with(self):
        return self.create(*self.volume(), "-u", "1000:1000", "-w", "/w", "-e", "HOME=/tmp/home")

    def check_owner(self):
        for place, dirs, files in os.walk(self.shared):
            for name in dirs + files:
                self.assertEqual(self.outside(os.path.relpath(os.path.join(place, name), self.shared)), self.owner(), name)

    def test_git(self):
        self.tool("git")
        box = self.box_with()
        box.out("mkdir -p $HOME; git init -q . && git config user.email a@b && git config user.name a && git add old &&"
                "git commit -qm one && git checkout -qb other && echo 2 >> old && git commit -qam two && git gc -q")
        self.assertEqual(box.out("git log --format=%s"), "two\none")
        self.check_owner()

    def test_npm(self):
        self.tool("npm")
        os.mkdir(os.path.join(self.shared, "dep"))
        with open(os.path.join(self.shared, "dep/package.json"), "w") as handle:
            handle.write('{"name":"dep","version":"1.0.0","scripts":{"install":"id -u > made"}}\n')
        with open(os.path.join(self.shared, "package.json"), "w") as handle:
            handle.write('{"name":"app","version":"1.0.0","dependencies":{"dep":"file:dep"}}\n')
        for name in ("dep", "dep/package.json", "package.json"):
            os.chown(os.path.join(self.shared, name), *self.owner())
        box = self.box_with()
        box.out("mkdir -p $HOME; npm install --offline --no-audit --no-fund >/dev/null 2>$HOME/log || { cat $HOME/log >&2; exit 1; }")
        self.assertEqual(box.out("cat dep/made; node -e 'console.log(require(\"dep/package.json\").version)'"), "1000\n1.0.0")
        self.check_owner()

    def test_pip_in_a_venv(self):
        self.tool("python3")
        if not os.path.isdir("/usr/lib/python3/dist-packages/pip") and not os.path.isdir("/usr/share/python-wheels"):
            self.not_run("this machine has no pip for /usr/bin/python3")
        os.mkdir(os.path.join(self.shared, "pkg"))
        with open(os.path.join(self.shared, "pkg/setup.py"), "w") as handle:
            handle.write("from setuptools import setup\nsetup(name='tiny', version='1.2', py_modules=['tiny'])\n")
        with open(os.path.join(self.shared, "pkg/tiny.py"), "w") as handle:
            handle.write("answer = 42\n")
        for name in ("pkg", "pkg/setup.py", "pkg/tiny.py"):
            os.chown(os.path.join(self.shared, name), *self.owner())
        box = self.box_with()
        box.out("mkdir -p $HOME; /usr/bin/python3 -m venv v && v/bin/pip install -q --no-index --no-build-isolation ./pkg"
                " 2>$HOME/log || { cat $HOME/log >&2; exit 1; }")
        self.assertEqual(box.out("v/bin/python -c 'import tiny; print(tiny.answer)'"), "42")
        self.check_owner()
