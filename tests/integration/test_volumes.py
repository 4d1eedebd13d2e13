"""Named volumes."""

import json
import os
import signal
import threading

from harness import ALL_MODES, ONE_ID, CordonTest


class VolumeTest(CordonTest):
    def volume(self, *args, code=0):
        got = self.cordon("volume", *args)
        self.assertEqual(got.code, code, got)
        return got

    def names(self):
        return self.volume("list", "-q").text.split()

    def data(self, name, *parts):
        return os.path.join(self.home, "volumes", name, "data", *parts)


class Commands(VolumeTest):
    def test_create_list_inspect_remove(self):
        self.assertEqual(self.volume("create", "one").text, "one\n")
        self.assertEqual(self.volume("create", "--name", "two", "-q").text, "")
        self.assertEqual(self.volume("create", "three", "--name", "three").text, "three\n")
        self.assertEqual(self.names(), ["three", "two", "one"])
        lines = self.volume("ls").text.splitlines()
        self.assertRegex(lines[0], r"^NAME {4,}KIND {4,}SIZE {4,}CREATED$")
        self.assertRegex(lines[1], r"^three {4,}dir {4,}0 KiB {4,}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        listed = json.loads(self.cordon("volumes", "--format", "json").text)
        self.assertEqual([v["name"] for v in listed], ["three", "two", "one"])
        self.assertEqual(sorted(listed[0]), ["capacity_bytes", "created_at", "disk_format",
                                             "disk_fstype", "kind", "name", "quota_mib",
                                             "used_bytes"])
        self.assertEqual((listed[0]["kind"], listed[0]["disk_fstype"]), ("dir", None))
        text = self.volume("inspect", "one").text
        self.assertIn(f"Path:           {self.data('one')}\n", text)
        got = self.volume("remove", "one", "two")
        self.assertRegex(got.errtext, r"✓ Removed      one")
        self.assertEqual(self.names(), ["three"])
        self.volume("rm", "three", "-q")
        self.assertEqual(self.cordon("volumes").errtext, "No volumes found.\n")
        self.assertEqual(os.listdir(os.path.join(self.home, "volumes")), [".lock"])

    def test_bad_names_and_options_are_refused(self):
        self.volume("create", "one")
        for args, said in ((["create", "one"], "volume already exists: one"),
                           (["create", "a/b"], "a/b"), (["create", ".."], ".."),
                           (["create", "x", "--name", "y"], "--name"),
                           (["create", "x", "--size", "1G"], "--size"),
                           (["create", "x", "--kind", "disk"], "--size"),
                           (["create", "x", "--kind", "disk", "--size", "big"], "--size"),
                           (["inspect", "nope"], "volume not found: nope"),
                           (["inspect", "../sandboxes"], "volume not found"),
                           (["remove", "nope"], "volume not found: nope")):
            with self.subTest(args=args):
                self.assertIn(said, self.volume(*args, code=1).errtext)
        self.assertEqual(self.volume("remove", "nope", "-q", code=1).err, b"")
        self.volume("create", "x", "--kind", "tape", code=2)
        self.volume("create", code=2)
        self.assertEqual(self.names(), ["one"])

    def test_one_of_many_concurrent_creates_succeeds(self):
        codes = []
        threads = [threading.Thread(target=lambda: codes.append(
            self.cordon("volume", "create", "same").code)) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(codes), [0] + [1] * 7)
        self.assertEqual(self.names(), ["same"])


class Directories(VolumeTest):
    modes = ALL_MODES

    def test_data_outlives_sandboxes_and_is_shared_live(self):
        one = self.create("-v", "work:/job")
        self.assertEqual(self.names(), ["work"])
        one.out("echo 1 > /job/f")
        two = self.create("--mount-named", "work:/elsewhere")
        self.assertEqual(two.out("cat /elsewhere/f; echo 2 > /elsewhere/g"), "1")
        self.assertEqual(one.out("cat /job/g"), "2")
        self.assertEqual(one.remove("-f").code, 0)
        self.assertEqual(two.remove("-f").code, 0)
        three = self.create("-v", "work:/job")
        self.assertEqual(three.out("cat /job/f /job/g"), "1\n2")
        self.assertGreater(self.cordon("volumes", "--format", "json").json()[0]["used_bytes"], 0)

    def test_files_belong_to_the_callers_id(self):
        box = self.create("-v", "work:/job")
        box.out("echo 1 > /job/f; mkdir /job/d")
        self.assertEqual(os.stat(self.data("work", "f")).st_uid, os.geteuid())
        with open(self.data("work", "h"), "w") as handle:
            handle.write("host\n")
        self.assertEqual(box.out("cat /job/h; stat -c %u:%g /job/h /job"), "host\n0:0\n0:0")

    def test_read_only(self):
        self.volume("create", "work")
        box = self.create("-v", "work:/job:ro")
        self.assertNotEqual(box.sh("echo 1 > /job/f").code, 0)
        self.assertNotEqual(box.sh("mount -o remount,rw /job").code, 0)

    def test_a_volume_in_use_cannot_be_removed(self):
        box = self.create("-v", "work:/job")
        got = self.volume("remove", "work", code=1)
        self.assertIn(f"in use by sandbox(es): {box.name}", got.errtext)
        self.assertEqual(box.stop().code, 0)
        self.volume("remove", "work", code=1)  # a stopped sandbox still uses the volume
        self.assertEqual(box.remove().code, 0)
        self.volume("remove", "work")
        self.assertEqual(self.names(), [])

    def test_a_volume_stays_while_a_sandbox_record_is_unreadable(self):
        box = self.create("-v", "work:/job")
        self.assertEqual(box.stop().code, 0)
        with open(os.path.join(self.home, "sandboxes", box.name, "config.json"), "w"):
            pass  # a power cut may leave an empty file
        got = self.volume("remove", "work", code=1)
        self.assertIn(box.name, got.errtext)
        self.assertEqual(box.remove("-f").code, 0)
        self.volume("remove", "work")

    def test_files_of_other_ids_go_with_the_volume(self):
        if ONE_ID:
            return  # the sandbox has no other ids
        box = self.create("-v", "work:/job")
        box.sh("mkdir -m 700 /job/d; echo 1 > /job/d/f; chown -R 1000:1000 /job/d")
        self.assertEqual(box.remove("-f").code, 0)
        self.volume("remove", "work")
        self.assertEqual(os.listdir(os.path.join(self.home, "volumes")), [".lock"])

    def test_a_create_that_fails_leaves_no_volume(self):
        self.volume("create", "kept")
        for opts in (["-v", "fresh:/job", "-v", "kept:/k", "-w", "rel"],
                     ["-v", "fresh:/job", "-v", f"{self.dir}/nope:/x"],
                     ["-v", "fresh:/job", "-v", "kept:/etc/passwd/x"]):
            with self.subTest(opts=opts):
                got = self.cordon("create", "--name", "failing", *opts, "host")
                self.assertEqual(got.code, 1, got)
                self.assertEqual(self.names(), ["kept"])
        self.create(name="taken")
        self.assertEqual(self.cordon("create", "--name", "taken", "-v", "fresh:/w", "host").code, 1)
        self.assertEqual(self.names(), ["kept"])

    def test_run_makes_volumes_too(self):
        got = self.cordon("run", "-v", "work:/job", "host", "--", "sh", "-c", "echo 1 > /job/f")
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.names(), ["work"])
        got = self.cordon("run", "-v", "work:/job", "host", "--", "cat", "/job/f")
        self.assertEqual(got.text, "1\n", got)
        self.volume("remove", "work")

    def test_unsupported_options_are_refused(self):
        for opts in ("stat-virt=strict", "stat-virt=relaxed", "host-perms=private"):
            with self.subTest(opts=opts):
                got = self.cordon("create", "-v", f"work:/job:{opts}", "host")
                self.assertEqual(got.code, 1, got)
                self.assertIn("/job", got.errtext)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.cordon("list", "-q").text, "")

    def test_the_rest_of_the_home_is_out_of_reach(self):
        self.volume("create", "other")
        box = self.create("-v", "work:/job")
        for path in ("/job/..", "/job/../../other", "/job/../volume.json"):
            self.assertEqual(box.out(f"ls {path}/volume.json {path}/data 2>/dev/null | wc -l"), "0")
        box.out("ln -s ../../other /job/l; ln -s ../volume.json /job/j")
        self.assertNotEqual(box.sh("cat /job/j; ls /job/l/data").code, 0)

    def test_a_killed_create_leaves_usable_volumes(self):
        """Kills clients after different times. It must be possible to remove the volumes that the clients leave."""
        for delay in (0.001, 0.003, 0.006, 0.010, 0.020):
            proc = self.spawn("create", "--name", "victim", "-v", "work:/job", "host")
            threading.Event().wait(delay)
            proc.send_signal(signal.SIGKILL)
            proc.wait()
            self.cordon("remove", "-f", "-q", "victim")
            if "work" in self.names():
                self.volume("remove", "work")
        self.cordon("list")
        self.volume("list")
        left = [n for n in os.listdir(os.path.join(self.home, "volumes")) if n != ".lock"]
        self.assertEqual(left, [])


class Disks(VolumeTest):
    modes = ("root",)

    def test_a_disk_has_its_size_and_all_ids(self):
        self.volume("create", "disk", "--kind", "disk", "--size", "32M")
        listed = self.cordon("volumes", "--format", "json").json()[0]
        self.assertEqual((listed["kind"], listed["capacity_bytes"], listed["disk_format"],
                          listed["disk_fstype"]), ("disk", 32 << 20, "raw", "ext4"))
        box = self.create("-v", "disk:/disk")
        self.assertNotEqual(box.sh("head -c 40M /dev/zero > /disk/big").code, 0)
        box.out("rm /disk/big; echo 1 > /disk/f; chown 1000:1000 /disk/f")
        self.assertEqual(box.remove("-f").code, 0)
        box = self.create("--mount-named", "disk:/disk:kind=disk,size=32M")
        self.assertEqual(box.out("cat /disk/f; stat -c %u:%g /disk/f"), "1\n1000:1000")

    def test_one_writer_at_a_time(self):
        one = self.create("-v", "disk:/disk:kind=disk,size=16M")
        got = self.cordon("create", "-v", "disk:/disk", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("mounted by another sandbox", got.errtext)
        self.assertEqual(one.stop().code, 0)
        two = self.create("-v", "disk:/disk:ro")
        three = self.create("-v", "disk:/disk:ro")
        self.assertNotEqual(three.sh("touch /disk/x").code, 0)
        self.assertEqual(one.start().code, 1)
        for box in (two, three):
            self.assertEqual(box.remove("-f").code, 0)
        self.assertEqual(one.start().code, 0)

    def test_restarts_and_kills_lose_nothing(self):
        box = self.create("-v", "disk:/disk:kind=disk,size=16M")
        for i in range(5):
            box.out(f"echo {i} > /disk/{i}; sync")
            if i % 2:
                box.supervisor()
                os.kill(box.supervisor().pid, signal.SIGKILL)
                self.eventually(lambda: not box.host_processes())
            else:
                self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /disk/[0-9]"), "0\n1\n2\n3\n4")

    def test_another_kind_or_size_is_refused(self):
        self.volume("create", "disk", "--kind", "disk", "--size", "16M")
        self.volume("create", "dir")
        for value in ("disk:/d:kind=disk,size=32M", "disk:/d:kind=dir", "dir:/d:kind=disk,size=16M"):
            got = self.cordon("create", "-v", value, "host")
            self.assertEqual(got.code, 1, got)
            self.assertIn("exists and is", got.errtext)
        self.volume("create", "huge", "--kind", "disk", "--size", "1K")
        self.volume("remove", "huge", "disk", "dir")


class DisksWithoutRoot(VolumeTest):
    modes = ("user", "bare", "userns", "container")

    def test_disk_volumes_are_refused_without_root(self):
        got = self.cordon("create", "-v", "disk:/disk:kind=disk,size=16M", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("cannot be mounted without root", got.errtext)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.cordon("list", "-q").text, "")
