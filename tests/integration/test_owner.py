"""Files of a shared directory belong to the user who works inside, and outside to the owner of the directory."""

import os
import shutil

from harness import MODE, CordonTest
from image_fixtures import ImageMixin, Layer

OVERFLOW = "Value too large for defined data type"


class OwnerTest(ImageMixin, CordonTest):
    modes = ("root",)
    timeout = 120

    def setUp(self):
        super().setUp()
        self.shared = self.share("shared")

    def share(self, name):
        """A directory with a file. Root shares a directory of another user, as a root who helps users does."""
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
        """Busybox with USER. The user has a home of its own in the image, beside files of root."""
        layer = Layer(self.path(name + "-users.tar"))
        layer.dir("home").dir("home/ann", uid=1000, gid=1000, mode=0o700)
        layer.add("home/ann/.profile", b"# ann's\n", uid=1000, gid=1000, mode=0o600)
        layer.dir("srv", uid=33, gid=33).add("srv/site", b"x", uid=2000, gid=2000)
        return self.load_busybox(layer.close(), name=name, config=("--config.user", user))


class Owner(OwnerTest):
    def check_works_as(self, box, ids):
        """The user of BOX has the ids IDS, owns the volume, and new files belong to the owner outside."""
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
        """The kernel maps one id inside to the owner outside. In root's sandbox other ids have no id there."""
        box = self.create(*self.volume(), image=self.users_image())
        got = box.sh("echo x > /w/new", opts=("-u", "root"))
        self.assertNotEqual(got.code, 0, got)
        self.assertIn(OVERFLOW, got.errtext)
        self.assertEqual(os.listdir(self.shared), ["old"])

    def test_restart_keeps_the_owner(self):
        """The map is chosen once: what a command writes into /etc/passwd does not change it."""
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
        self.assertEqual(box.out("stat -c '%n %u:%g' / /root /etc/passwd /home/ann /home/ann/.profile /srv /srv/site /tmp"),
                         "/ 0:0\n/root 0:0\n/etc/passwd 0:0\n/home/ann 1000:1000\n/home/ann/.profile 1000:1000\n"
                         "/srv 33:33\n/srv/site 2000:2000\n/tmp 0:0")
        self.assertEqual(box.out("cat /home/ann/.profile"), "# ann's")
        self.assertNotEqual(box.sh("echo x >> /etc/passwd").code, 0)

    def test_mount_below_a_shared_directory(self):
        box = self.create(*self.volume(), "--tmpfs", "/w/cache/deep:8M", image=self.users_image())
        self.assertEqual(box.out("stat -c %u:%g /w/cache; echo x > /w/cache/new"), "1000:1000")
        self.assertEqual(self.outside("cache/new"), self.owner())


class Modify(OwnerTest):
    def test_a_volume_that_is_added_later(self):
        box = self.create(image=self.users_image())
        box.stop()
        got = self.cordon("modify", box.name, *self.volume())
        self.assertEqual(got.code, 0, got)
        box.start()
        self.assertEqual(box.out("stat -c %u:%g /w; echo x > /w/new"), "1000:1000")
        self.assertEqual(self.outside("new"), self.owner())


class Programs(OwnerTest):
    """Programs that care about owners, as an ordinary user of the image `host`."""

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
