"""A read-only root with some writable directories in the sandbox's layer."""

import os

from harness import ALL_MODES, CordonTest
from image_fixtures import ImageMixin

PLACES = ("/job", "/tmp", "/home", "/var/tmp", "/run", "/dev/shm")


def writable(*places):
    return ["--read-only", *(word for place in places for word in ("--writable", place))]


class RootTest(CordonTest):
    def can_write(self, box, *dirs):
        script = 'for d; do touch "$d/probe" 2> /dev/null && rm "$d/probe" && echo "$d"; done; true'
        return box.out(script, *dirs).split()


class ReadOnly(RootTest):
    modes = ALL_MODES

    def test_only_shared_memory_is_writable(self):
        box = self.create("--read-only")
        everywhere = box.out("ls -d /*/").replace("/\n", " ").rstrip("/").split()
        self.assertEqual(self.can_write(box, "/", "/dev/shm", *everywhere), ["/dev/shm"])
        for script in ("echo x > /etc/hostname", "echo x > /etc/passwd", "rm /etc/passwd",
                       "echo x > /.msb/resolv.conf", "touch /.msb/x", "mkdir /x", "chmod 700 /root", "mv /root /toor", "mount -o remount,rw /"):
            with self.subTest(script=script):
                self.assertNotEqual(box.sh(script).code, 0)
        self.assertIn("Read-only file system", box.sh("touch /root/f").errtext)

    def test_named_directories_are_writable_and_kept_in_the_layer(self):
        box = self.create(*writable(*PLACES))
        self.assertEqual(self.can_write(box, "/", "/root", "/etc", "/var", "/usr", "/.msb", *PLACES),
                         list(PLACES))
        kinds = box.out("stat -f -c %T / /job /tmp /home /var/tmp /run").split()
        self.assertEqual(set(kinds), {kinds[0]})  # all are on the layer's file system, and none is in memory
        self.assertEqual(box.out("stat -c '%a %u %g' /job /tmp /var/tmp"),
                         "755 0 0\n1777 0 0\n1777 0 0")
        box.out("echo kept | tee /job/f /tmp/f /home/f > /dev/null")
        self.assertEqual((box.stop().code, box.start().code), (0, 0))
        self.assertEqual(box.out("cat /job/f /tmp/f /home/f"), "kept\nkept\nkept")
        self.assertEqual(self.can_write(box, "/", "/root", "/etc", *PLACES), list(PLACES))

    def test_inspect_shows_a_read_only_root(self):
        box = self.create(*writable("/tmp", "/a/../home/", "/tmp/below"))
        seen = box.inspect()["config"]
        self.assertEqual((seen["read_only"], seen["writable"]), (True, ["/tmp", "/home"]))
        self.assertRegex(self.cordon("inspect", box.name).text,
                         r"(?m)^Read-only: +yes, but for /tmp, /home$")
        other = self.create()
        self.assertNotIn("read_only", other.inspect()["config"])
        self.assertNotIn("Read-only", self.cordon("inspect", other.name).text)

    def test_missing_parents_are_made(self):
        box = self.create(*writable("/srv/a/b/c"))
        self.assertEqual(self.can_write(box, "/srv", "/srv/a", "/srv/a/b", "/srv/a/b/c"),
                         ["/srv/a/b/c"])

    def test_a_writable_directory_cannot_be_moved(self):
        box = self.create(*writable("/srv/a"))
        for script in ("mv /srv/a /srv/b", "rmdir /srv/a", "mv /srv /vrs"):
            self.assertNotEqual(box.sh(script).code, 0, script)

    def test_an_ephemeral_sandbox_on_disk(self):
        got = self.cordon("run", "-q", "-m", "64M", "--root-disk", "disk", *writable(*PLACES), "host",
                          "--", "sh", "-c", "head -c 128M /dev/zero > /tmp/f && stat -c %s /tmp/f;"
                          "touch /root/f")
        self.assertEqual(got.text, f"{128 << 20}\n", got)
        self.assertIn("Read-only", got.errtext)
        self.eventually(lambda: not os.listdir(os.path.join(self.home, "sandboxes")))

    def test_mounts_keep_their_own_modes(self):
        os.makedirs(os.path.join(self.dir, "d"))
        box = self.create(*writable("/home"), "-v", f"{self.dir}/d:/data", "-v",
                          f"{self.dir}/d:/home/in:ro", "--tmpfs", "/scratch")
        self.assertEqual(self.can_write(box, "/data", "/scratch", "/home", "/home/in", "/root"),
                         ["/data", "/scratch", "/home"])

    def test_set_id_bits_work_in_the_layer_and_not_in_a_volume(self):
        """The sandbox also has a volume, a directory of the host. Set-id bits must work in the sandbox's layer, and
        must be refused in the volume."""
        os.makedirs(os.path.join(self.dir, "d"))
        box = self.create(*writable("/tmp"), "-v", f"{self.dir}/d:/data")
        script = "for d in /tmp /data; do cp /bin/true $d/t; chmod 4755 $d/t; stat -c %a $d/t; done"
        self.assertEqual(box.out(script), "4755\n755")

    def test_copies_go_to_writable_places_only(self):
        with open(os.path.join(self.dir, "f"), "w") as handle:
            handle.write("copied\n")
        box = self.create(*writable("/tmp"))
        self.assertEqual(self.cordon("copy", f"{self.dir}/f", f"{box.name}:/tmp/g").code, 0)
        self.assertEqual(box.out("cat /tmp/g"), "copied")
        got = self.cordon("copy", f"{self.dir}/f", f"{box.name}:/root/g")
        self.assertEqual(got.code, 1, got)
        self.assertIn("Read-only", got.errtext)

    def test_configuration_file(self):
        conf = os.path.join(self.dir, "c.yaml")
        with open(conf, "w") as handle:
            handle.write("image: host\nread_only: true\nwritable: [/tmp, /job]\n")
        box = self.box()
        self.assertEqual(self.cordon("create", "-n", box.name, "--conf", conf, "--writable",
                                     "/home").code, 0)
        self.assertEqual(self.can_write(box, "/tmp", "/job", "/home", "/root"),
                         ["/tmp", "/job", "/home"])

    def test_bad_options_are_refused(self):
        for opts, said in ((writable("tmp"), "absolute"), (writable("/"), "leave --read-only out"),
                           (["--read-only", "--mkdir", "/x"], "'/x' cannot be changed"),
                           (writable("/proc/sys"), "sandbox's own"),
                           (writable("/dev/../sys"), "sandbox's own"),
                           ([*writable("/data/x"), "--tmpfs", "/data"], "'/data' is a mount"),
                           ([*writable("/data"), "--tmpfs", "/data"], "'/data' is a mount"),
                           (writable("/usr/local"), "Read-only file system"),
                           (writable(*(f"/w{i}" for i in range(40))), "more than 32 places")):
            with self.subTest(opts=opts):
                got = self.cordon("create", "-q", *opts, "host")
                self.assertEqual(got.code, 1, got)
                self.assertIn(said, got.errtext)
        self.assertEqual(self.names(), [])


class RegistryImage(ImageMixin, RootTest):
    modes = ALL_MODES

    def test_tmp_is_in_the_layer_if_named(self):
        ref = self.load_busybox()
        kinds = "stat -f -c %T / /tmp"
        box = self.create(image=ref)
        self.assertEqual(box.out(kinds).split()[1], "tmpfs")
        box = self.create("--writable", "/tmp", "--writable", "/srv/new", image=ref)
        self.assertEqual(len(set(box.out(kinds).split())), 1)
        self.assertEqual(self.can_write(box, "/", "/tmp", "/srv/new", "/srv"),
                         ["/", "/tmp", "/srv/new", "/srv"])
        box = self.create(*writable("/tmp"), image=ref)
        self.assertEqual(len(set(box.out(kinds).split())), 1)
        self.assertEqual(self.can_write(box, "/", "/tmp", "/etc"), ["/tmp"])

    def test_volumes_of_the_image_stay_writable(self):
        ref = self.load_busybox(config=("--config.volume", "/data/v", "--config.volume", "/tmp/x"))
        box = self.create("--read-only", image=ref)
        self.assertEqual(self.can_write(box, "/", "/data", "/data/v", "/etc"), ["/data/v"])


class OneDisk(ImageMixin, RootTest):
    modes = ("root",)  # needs loop devices

    def test_set_id_bits_work_on_a_flat_disk_and_not_in_a_volume(self):
        """The host mounted the flat disk, which holds the root, and the file system of the shared directory. The deputy
        (guest/deputy.c) tells the two apart by the device number: only files on the device of the root are the
        sandbox's own and may have set-id bits."""
        os.mkdir(self.path("d"))
        ref = self.load_busybox()
        box = self.create(*writable("/job"), "--root-disk", "flat:64M", "-v", f"{self.path('d')}:/data",
                          image=ref)
        self.assertEqual(self.can_write(box, "/", "/job", "/etc", "/data"), ["/job", "/data"])
        script = "for d in /job /data; do cp /bin/true $d/t; chmod 4755 $d/t; stat -c %a $d/t; done"
        self.assertEqual(box.out(script), "4755\n755")


class HostileImage(CordonTest):
    """Links of an image must be resolved in the root of this image."""

    modes = ALL_MODES

    def setUp(self):
        super().setUp()
        self.root = self.make_root("/bin/sh", "/bin/touch", "/bin/cat")
        for name in ("etc", "tmp", "real"):
            os.makedirs(os.path.join(self.root, name), exist_ok=True)

    def link(self, name, to):
        os.symlink(to, os.path.join(self.root, name))

    def tried(self, box, *files):
        script = 'for f; do : > "$f" && echo "$f"; done 2> /dev/null; true'
        return box.exec("/bin/sh", "-c", script, "sh", *files).text.split()

    def test_a_link_makes_its_target_writable(self):
        self.link("home", "/real")
        self.link("up", "../../../../real")
        box = self.create(*writable("/home", "/up"), image=self.root)
        self.assertEqual(self.tried(box, "/real/a", "/home/b", "/etc/c", "/d"), ["/real/a", "/home/b"])
        self.assertEqual(sorted(os.listdir(os.path.join(self.root, "real"))), ["a", "b"])

    def test_roots_files_and_missing_targets_are_refused(self):
        self.link("root-of-all", "/")
        self.link("dots", "../../..")
        self.link("nowhere", "/no/such/place")
        self.link("round", "round")
        with open(os.path.join(self.root, "file"), "w"):
            pass
        before = sorted(os.listdir(self.root))
        for name in ("root-of-all", "dots", "nowhere", "round", "file", "file/below"):
            with self.subTest(name=name):
                got = self.cordon("create", "-q", *writable(f"/{name}"), self.root)
                self.assertEqual(got.code, 1, got)
                self.assertIn(name.split("/")[0], got.errtext)
        self.assertEqual(self.names(), [])
        self.assertEqual(sorted(os.listdir(self.root)), before)

    def test_a_link_to_proc_sys_dev_or_msb_makes_nothing_writable(self):
        for name, to in (("p", "/proc"), ("s", "/sys"), ("d", "/dev"), ("m", "/.msb")):
            self.link(name, to)
        for name, probe in (("p", "/proc/sys/kernel/hostname"), ("s", "/sys/x"), ("d", "/dev/x"),
                            ("m", "/.msb/x")):
            with self.subTest(name=name):
                box = self.box()
                got = self.cordon("create", "-q", "-n", box.name, *writable(f"/{name}"), self.root)
                if got.code == 0:  # create may succeed, but then nothing may be writable
                    self.assertEqual(self.tried(box, probe, f"/{name}/y", "/etc/z"), [])
                    box.remove("-f")

    def test_a_directory_that_was_made_is_removed_after_stop(self):
        before = sorted(os.listdir(self.root))
        box = self.create(*writable("/new/place"), image=self.root)
        self.assertEqual(self.tried(box, "/new/place/a", "/new/b"), ["/new/place/a"])
        box.stop()
        self.assertIn("new", os.listdir(self.root))  # the directory stays, because it holds a file of the sandbox
        box.start()
        box.exec("/bin/rm", "/new/place/a")
        box.stop()
        # the directory existed when the second start began, so it stays
        os.rmdir(os.path.join(self.root, "new/place"))
        os.rmdir(os.path.join(self.root, "new"))
        box = self.create(*writable("/other/place"), image=self.root)
        box.stop()
        self.assertEqual(sorted(os.listdir(self.root)), before)
