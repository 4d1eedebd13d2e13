"""Tests `paths` of config.json, which moves parts of the state directory to other directories."""

import json
import os
import shutil
import signal
import subprocess

from harness import CordonTest, below

MARK = ".cordon-place"


class PlacesTest(CordonTest):
    own_home = True
    modes = ("root", "user")

    def place(self, *names):
        return os.path.join(self.dir, "disk", *names)

    def paths(self, home=None, **members):
        home = home or self.home
        os.makedirs(home, mode=0o700, exist_ok=True)
        with open(os.path.join(home, "config.json"), "w") as handle:
            json.dump({"paths": members}, handle)

    def refused(self, said, *args, home=None):
        args = args or ("create", "-q", "-n", "refused", "host")
        got = self.cordon(*args, home=home)
        self.assertEqual(got.code, 1, got)
        self.assertIn(said, got.errtext)
        self.assertEqual(self.names(home=home), [])
        return got

    def leads(self, name):
        return os.path.realpath(os.path.join(self.home, name))


class Moved(PlacesTest):
    def test_every_part_of_the_home_can_be_placed_elsewhere(self):
        self.paths(sandboxes=self.place("boxes"), volumes=self.place("vols"),
                   cache=self.place("cache"), secrets=self.place("secrets"))
        box = self.create("-v", "data:/data")
        self.assertEqual(box.out("echo kept > /data/f; echo layer > /root/f; cat /root/f"), "layer")
        for part, place in (("sandboxes", "boxes"), ("volumes", "vols"), ("cache", "cache"),
                            ("secrets", "secrets")):
            self.assertEqual(self.leads(part), self.place(place))
            self.assertEqual(os.stat(self.place(place)).st_mode & 0o777, 0o700)
        self.assertIn(box.name, os.listdir(self.place("boxes")))
        with open(self.place("vols", "data", "data", "f")) as handle:
            self.assertEqual(handle.read(), "kept\n")
        self.assertTrue(os.listdir(self.place("cache")))
        # The home has a link to each place. So later commands find the places even if config.json is gone.
        os.unlink(os.path.join(self.home, "config.json"))
        self.assertEqual(self.names(), [box.name])
        self.assertIn("layer", box.cordon("logs", box.name).text)
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.out("cat /data/f /root/f"), "kept\nlayer")
        self.assertEqual(box.start().code, 0)
        self.assertIn(box.name, self.cordon("volume", "remove", "data").errtext)
        self.assertEqual(box.remove("-f").code, 0)
        self.assertEqual(os.listdir(self.place("boxes")), [MARK])
        self.assertEqual(self.cordon("volume", "remove", "-q", "data").code, 0)
        self.assertEqual(self.cordon("volumes", "-q").text, "")

    def test_an_ephemeral_sandbox_leaves_nothing(self):
        self.paths(sandboxes=self.place("boxes"))
        got = self.cordon("run", "host", "--", "echo", "hi")
        self.assertEqual((got.code, got.text), (0, "hi\n"), got)
        self.eventually(lambda: os.listdir(self.place("boxes")) == [MARK])

    def test_a_killed_supervisor_is_swept_up(self):
        self.paths(sandboxes=self.place("boxes"))
        box = self.create()
        pid1 = box.pid1()
        os.kill(box.supervisor().pid, signal.SIGKILL)
        self.eventually(lambda: not any(p.state != "Z" for p in below([pid1.pid])))
        self.assertEqual(box.out("echo again"), "again")
        self.assertEqual(box.remove("-f").code, 0)

    def test_relative_paths_and_tildes(self):
        self.paths(volumes="far/vols", cache="~/images")
        self.assertEqual(self.cordon("volume", "create", "-q", "v").code, 0)
        self.assertEqual(self.leads("volumes"), os.path.join(self.home, "far/vols"))
        self.assertEqual(self.leads("cache"), os.path.join(self.dir, "images"))
        shutil.rmtree(os.path.join(self.home, "far/vols/v"))

    def test_the_default_place_is_no_link(self):
        self.paths(volumes="volumes", sandboxes=os.path.join(self.home, "sandboxes"))
        self.create()
        for name in ("volumes", "sandboxes"):
            self.assertFalse(os.path.islink(os.path.join(self.home, name)))

    def test_logins_are_kept_in_the_configured_place(self):
        self.paths(secrets=self.place("secrets"))
        got = self.cordon("registry", "login", "reg.example:5000", "-u", "me", "--password-stdin", "--no-check",
                          stdin=b"pw\n")
        self.assertEqual(got.code, 0, got)
        self.assertIn("reg.example:5000", self.cordon("registry", "list").text)
        self.assertEqual(len(os.listdir(self.place("secrets"))), 2)
        self.assertEqual(self.cordon("registry", "logout", "reg.example:5000").code, 0)

    def test_doctor_names_the_places(self):
        self.paths(volumes=self.place("vols"))
        got = self.cordon("doctor")
        self.assertIn(f"info Elsewhere: volumes in {self.place('vols')}", got.errtext)
        os.unlink(self.place("vols", MARK))
        got = self.cordon("doctor")
        self.assertEqual(got.code, 1, got)
        self.assertIn("is not the directory that it was", got.errtext)

    def test_uninstall_removes_the_places(self):
        self.paths(sandboxes=self.place("boxes"), volumes=self.place("vols"),
                   cache=self.place("cache"))
        box = self.create("-v", "data:/data")
        self.assertEqual(box.sh("echo x > /data/f").code, 0)
        self.assertEqual(self.cordon("self", "uninstall", "-y").code, 0)
        self.assertFalse(os.path.exists(self.home))
        self.assertEqual(os.listdir(self.place()), [])


class Refused(PlacesTest):
    def test_a_place_with_foreign_files_is_refused(self):
        os.makedirs(self.place("full"))
        with open(self.place("full", "letter"), "w") as handle:
            handle.write("dear\n")
        self.paths(volumes=self.place("full"))
        self.refused("holds files that are not cordon's")
        self.assertEqual(os.listdir(self.place("full")), ["letter"])
        with open(self.place("file"), "w"):
            pass
        self.paths(volumes=self.place("file"))
        self.refused("paths.volumes")

    def test_a_place_of_another_user_is_refused(self):
        os.makedirs(self.place("theirs"))
        os.chown(self.place("theirs"), 12345, 12345)
        self.paths(volumes=self.place("theirs"))
        self.refused("belongs to another user")
        self.assertEqual(os.listdir(self.place("theirs")), [])

    test_a_place_of_another_user_is_refused.modes = ("root",)  # only root can give a directory to another user

    def test_two_homes_never_share_a_place(self):
        other = os.path.join(self.dir, "other")
        for home in (self.home, other):
            self.paths(home=home, volumes=self.place("vols"))
        self.assertEqual(self.cordon("volume", "create", "-q", "v").code, 0)
        self.refused("by another home", home=other)
        self.refused("by another home", "volume", "create", "w", home=other)
        self.assertEqual(self.cordon("volume", "list", "-q", home=other).text, "")
        self.assertEqual(self.cordon("volume", "list", "-q").text, "v\n")
        # two parts of one home do not share a place either
        self.paths(volumes=self.place("vols"), cache=self.place("vols"))
        self.refused("paths.cache")

    def test_a_place_inside_another_place_is_refused(self):
        self.paths(volumes=self.place("vols"))
        self.assertEqual(self.cordon("volume", "create", "-q", "v").code, 0)
        for inside in (self.place("vols", "v", "data", "cache"), "run/cache", "sandboxes/cache"):
            self.paths(volumes=self.place("vols"), cache=inside)
            self.refused("is inside")

    def test_a_directory_of_the_home_is_no_place_for_another_part(self):
        self.paths()
        self.assertEqual(self.cordon("volume", "create", "-q", "v").code, 0)
        for name in ("sandboxes", "volumes", "secrets", "run", "bin", "projects"):
            directory = os.path.join(self.home, name)
            for exists in (False, True):
                if exists:
                    os.makedirs(directory, exist_ok=True)
                elif os.path.exists(directory):
                    continue
                for to in (name, os.path.join(name, "sub")):
                    with self.subTest(to, exists=exists):
                        self.paths(cache=to)
                        self.refused("is inside")
                        self.assertFalse(os.path.islink(os.path.join(self.home, "cache")))

    def test_a_place_that_contains_the_home_is_refused(self):
        self.assertEqual(self.cordon("volume", "create", "-q", "v").code, 0)
        for above in (self.home, self.dir, "/", "."):
            self.paths(volumes=above)
            self.refused("holds the state directory")

    def test_parts_that_cannot_be_placed_are_refused(self):
        for member, said in (("logs", "paths.sandboxes"), ("snapshots", "not supported yet")):
            self.paths(**{member: self.place("x")})
            self.refused(said)
            self.assertFalse(os.path.exists(self.place("x")))
        self.paths(cache=7)
        self.refused("paths.cache")

    def test_a_part_with_files_is_not_moved(self):
        self.assertEqual(self.cordon("volume", "create", "-q", "v").code, 0)
        self.paths(volumes=self.place("vols"))
        got = self.refused("still holds 'v'")
        self.assertEqual(self.cordon("volume", "list", "-q").text, "v\n")
        os.makedirs(self.place(), exist_ok=True)
        advice = got.errtext.split("running: ", 1)[1].splitlines()[0]
        subprocess.run(["sh", "-c", advice], check=True)
        self.create("-v", "v:/v")
        self.assertEqual(self.leads("volumes"), self.place("vols"))
        self.assertEqual(self.cordon("volume", "list", "-q").text, "v\n")
        # a move from the second place to a third is refused, too
        self.paths(volumes=self.place("more"))
        got = self.cordon("volume", "create", "w")
        self.assertEqual((got.code, got.text), (1, ""), got)

    def test_an_empty_part_can_be_moved(self):
        self.paths(sandboxes=self.place("one"))
        self.create().remove("-f")
        self.paths(sandboxes=self.place("two"))
        self.create()
        self.assertEqual(os.listdir(self.place("one")), [])
        self.assertEqual(self.leads("sandboxes"), self.place("two"))

    def test_a_client_killed_while_it_moves_a_part(self):
        """The client makes a link with a temporary name, and then exchanges this link and the directory of the part. If
        the client is killed before the exchange, it leaves the link at the temporary name. If it is killed afterwards,
        it leaves the old directory at this name."""
        for left in ("link", "directory"):
            with self.subTest(left=left):
                home, place = os.path.join(self.dir, left), self.place(left)
                self.paths(home=home, sandboxes=place)
                self.cordon("list", home=home)  # turns the directory into a home
                os.makedirs(place)
                temporary = os.path.join(home, ".sandboxes.new")
                if left == "link":
                    os.symlink(place, temporary)
                    with open(os.path.join(place, MARK), "w") as handle:
                        handle.write(f"cordon place, format 1\nsandboxes\n{os.path.realpath(home)}\n")
                else:
                    os.mkdir(temporary)
                self.create(home=home)
                self.assertFalse(os.path.lexists(temporary))
                self.assertEqual(os.readlink(os.path.join(home, "sandboxes")), place)
                self.create(home=home)

    def test_a_place_on_an_unmounted_disk_is_refused(self):
        self.paths(sandboxes=self.place("boxes"))
        self.create().remove("-f")
        os.rename(self.place("boxes"), self.place("away"))
        for args in ((), ("volume", "create", "v")):
            got = self.cordon(*(args or ("create", "-q", "-n", "refused", "host")))
            self.assertEqual(got.code, 1, got)
            self.assertIn("is not there", got.errtext)
        self.assertEqual(os.listdir(self.place()), ["away"])
        os.mkdir(self.place("boxes"))  # an empty directory, like a mount point on which nothing is mounted
        self.assertIn("is not the directory that it was", self.cordon("create", "host").errtext)
        os.rmdir(self.place("boxes"))
        os.rename(self.place("away"), self.place("boxes"))
        self.create()

    def test_many_creates_at_once(self):
        self.paths(sandboxes=self.place("boxes"), cache=self.place("cache"))
        boxes = [self.box() for _ in range(6)]
        clients = [self.spawn("create", "-q", "-n", box.name, "host") for box in boxes]
        for client in clients:
            self.assertEqual(self.finish(client).code, 0)
        self.assertEqual(sorted(os.listdir(self.place("boxes"))),
                         sorted([MARK] + [box.name for box in boxes]))


class Walls(PlacesTest):
    def test_no_sandbox_reaches_a_place(self):
        self.paths(sandboxes=self.place("boxes"), volumes=self.place("vols"))
        os.makedirs(self.place("boxes"))
        self.create()
        got = self.cordon("create", "-v", self.place("boxes") + ":/x", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("inside the state directory", got.errtext)
        got = self.cordon("create", self.place())
        self.assertEqual(got.code, 1, got)
        self.assertIn(self.place("boxes"), got.errtext)
        box = self.create("-v", self.place() + ":/disk")
        self.assertEqual(box.out("ls /disk; ls -A /disk/boxes /disk/vols 2>/dev/null; true"),
                         "boxes\nvols\n/disk/boxes:\n\n/disk/vols:")

    def test_a_place_inside_a_volume_of_a_running_sandbox_is_refused(self):
        os.makedirs(self.place())
        box = self.create("-v", self.place() + ":/disk")
        self.paths(volumes=self.place("vols"))
        got = self.cordon("volume", "create", "v")
        self.assertEqual((got.code, got.text), (1, ""), got)
        self.assertIn(box.name, got.errtext)
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(self.cordon("volume", "create", "v").code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("ls -A /disk/vols; true"), "")
