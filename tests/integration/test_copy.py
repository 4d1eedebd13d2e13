"""Copies files into sandboxes, out of them, and between them."""

import io
import os
import signal
import stat
import tarfile
import threading

from harness import ALL_MODES, MSB, CordonTest


class CopyTest(CordonTest):
    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, data=b"", mode=0o644):
        place = self.path(name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as handle:
            handle.write(data)
        os.chmod(place, mode)
        return place

    def read(self, *parts):
        with open(self.path(*parts), "rb") as handle:
            return handle.read()

    def copy(self, source, target, *opts, code=0, **kwargs):
        got = self.cordon("copy", *opts, source, target, **kwargs)
        self.assertEqual(got.code, code, got)
        self.assertEqual(got.text, "", got)
        return got

    def tree(self, top):
        """Returns a dictionary of everything below TOP. The keys are relative paths. The values are ("link", target),
        ("dir", mode) or ("file", mode, content)."""
        found = {}
        for where, dirs, files in os.walk(top):
            for name in dirs + files:
                path = os.path.join(where, name)
                st = os.lstat(path)
                key = os.path.relpath(path, top)
                if stat.S_ISLNK(st.st_mode):
                    found[key] = ("link", os.readlink(path))
                elif stat.S_ISDIR(st.st_mode):
                    found[key] = ("dir", stat.S_IMODE(st.st_mode))
                else:
                    with open(path, "rb") as handle:
                        found[key] = ("file", stat.S_IMODE(st.st_mode), handle.read())
        return found

    def sample(self):
        self.write("src/plain", b"hello\n", 0o640)
        self.write("src/run", b"#!/bin/sh\necho ran\n", 0o755)
        self.write("src/empty")
        self.write("src/deep/er/bytes", bytes(range(256)) * 5000, 0o604)
        self.write("src/sp ace\n\xff", b"odd name")
        os.makedirs(self.path("src/hollow"))
        os.symlink("plain", self.path("src/link"))
        os.symlink("../plain", self.path("src/deep/up"))
        os.symlink("nowhere", self.path("src/dangling"))
        os.chmod(self.path("src/deep"), 0o1777)
        return self.path("src")


class InAndOut(CopyTest):
    modes = ALL_MODES

    def test_a_tree_goes_in_and_out_unchanged(self):
        src = self.sample()
        box = self.create()
        self.assertEqual(self.copy(src, f"{box.name}:/root/t").err, b"")
        self.assertEqual(box.out("/root/t/run; stat -c %a /root/t/plain /root/t/deep; id -u;"
                                 "stat -c %u /root/t/plain; readlink /root/t/deep/up"),
                         "ran\n640\n1777\n0\n0\n../plain")
        self.copy(f"{box.name}:/root/t", "back")
        self.assertEqual(self.tree(src), self.tree(self.path("back")))

    def test_into_a_directory_or_to_a_name(self):
        self.write("f", b"1")
        self.write("d/g", b"2")
        box = self.create()
        box.out("mkdir /root/have")
        for source, target, place in (
                ("f", "/root/have", "/root/have/f"), ("f", "/root/have/", "/root/have/f"),
                ("f", "/root/new", "/root/new"), ("f", "/root/made/", "/root/made/f"),
                ("d", "/root/have", "/root/have/d/g"), ("d", "/root/d2", "/root/d2/g"),
                ("d/", "/root/d3", "/root/d3/g"), ("d/.", "/root/have", "/root/have/g"),
                ("d/.", "/root/d4", "/root/d4/g")):
            with self.subTest(source=source, target=target):
                self.copy("./" + source, f"{box.name}:{target}")
                self.assertEqual(box.out(f"cat {place}"), "2" if source[0] == "d" else "1")
        os.makedirs(self.path("out"))
        self.copy(f"{box.name}:/root/have", "out")
        self.assertEqual(self.read("out", "have", "d", "g"), b"2")
        self.copy(f"{box.name}:/root/have/.", "out")
        self.assertEqual(self.read("out", "g"), b"2")
        self.copy(f"{box.name}:/root/new", "named")
        self.assertEqual(self.read("named"), b"1")
        self.copy(f"{box.name}:/root/new", "fresh/")
        self.assertEqual(self.read("fresh", "new"), b"1")

    def test_existing_files_are_replaced_and_directories_joined(self):
        box = self.create()
        self.write("d/a", b"new")
        self.write("d/b", b"new")
        box.out("mkdir -p /root/d; echo old > /root/d/a; echo kept > /root/d/c; chmod 700 /root/d")
        self.copy("d", f"{box.name}:/root")
        self.assertEqual(box.out("cat /root/d/a /root/d/b /root/d/c; stat -c %a /root/d"),
                         "newnewkept\n700")
        self.write("out/d/a", b"old")
        self.write("out/d/x", b"kept")
        self.copy(f"{box.name}:/root/d", "out")
        self.assertEqual((self.read("out/d/a"), self.read("out/d/x")), (b"new", b"kept"))
        self.write("flat")
        got = self.copy(f"{box.name}:/root/d", "flat", code=1)
        self.assertIn("Not a directory", got.errtext)
        self.copy(f"{box.name}:/root/d/a", "out/d/a/none", code=1)

    def test_between_sandboxes(self):
        src = self.sample()
        one, two = self.create(), self.create()
        self.copy(src, f"{one.name}:/root/t")
        one.out("ln -s /etc/passwd /root/t/abs; mkfifo /root/t/fifo")
        got = self.copy(f"{one.name}:/root/t", f"{two.name}:/root")
        self.assertIn("fifo", got.errtext)
        self.assertEqual(two.out("cat /root/t/plain; readlink /root/t/abs; ls /root/t/fifo 2>&1 | wc -l;"
                                 "cmp /root/t/deep/er/bytes /root/t/deep/er/bytes && stat -c %s "
                                 "/root/t/deep/er/bytes"),
                         f"hello\n/etc/passwd\n1\n{256 * 5000}")
        self.copy(f"{two.name}:/nope", f"{one.name}:/root", code=1)
        got = self.copy(f"{one.name}:/root/t", f"{two.name}:/nope/x", code=1)
        self.assertIn("/nope", got.errtext)
        self.copy(f"{one.name}:/root/t/plain", f"{one.name}:/root/t/copy")
        self.assertEqual(one.out("cat /root/t/copy"), "hello")

    def test_a_stopped_sandbox_is_started_for_it(self):
        box = self.create()
        box.out("echo kept > /root/f")
        self.assertEqual(box.stop().code, 0)
        self.copy(f"{box.name}:/root/f", "f")
        self.assertEqual(self.read("f"), b"kept\n")
        self.copy("f", f"{box.name}:/root/g")
        self.eventually(lambda: not box.host_processes())
        self.assertEqual(box.out("cat /root/g"), "kept")

    def test_large_and_sparse_files(self):
        box = self.create("--memory", "1G")
        data = os.urandom(1 << 20) * 40
        self.write("big", data)
        with open(self.path("sparse"), "wb") as handle:
            handle.truncate(8 << 30)
            handle.seek(4 << 30)
            handle.write(b"middle")
        self.copy("big", f"{box.name}:/root/big")
        self.copy(f"{box.name}:/root/big", "big2")
        self.assertTrue(data == self.read("big2"))
        self.copy("sparse", f"{box.name}:/root/sparse")
        self.copy(f"{box.name}:/root/sparse", "sparse2")
        st = os.stat(self.path("sparse2"))
        self.assertEqual(st.st_size, 8 << 30)
        self.assertLess(st.st_blocks * 512, 1 << 20)
        with open(self.path("sparse2"), "rb") as handle:
            handle.seek((4 << 30) - 2)
            self.assertEqual(handle.read(10), b"\0\0middle\0\0")

    def test_many_files(self):
        for i in range(600):
            self.write(f"many/{i % 50}/{i}", str(i).encode())
        box = self.create()
        self.copy("many", f"{box.name}:/root/many")
        self.assertEqual(box.out("find /root/many -type f | wc -l"), "600")
        self.copy(f"{box.name}:/root/many", "back")
        self.assertEqual(self.tree(self.path("many")), self.tree(self.path("back")))

    def test_mounted_files_are_written_to(self):
        src = self.write("mounted", b"before")
        self.write("new", b"after!")
        box = self.create("--mount-file", f"{src}:/etc/mounted")
        self.copy("new", f"{box.name}:/etc/mounted")
        self.assertEqual(self.read("mounted"), b"after!")

    def test_a_read_only_mount_stays_read_only(self):
        self.write("src/f", b"before")
        self.write("f", b"after")
        box = self.create("-v", f"{self.path('src')}:/ro:ro")
        self.copy("f", f"{box.name}:/ro/f", code=1)
        self.copy("f", f"{box.name}:/ro/g", code=1)
        self.assertEqual(self.tree(self.path("src")), {"f": ("file", 0o644, b"before")})


class Messages(CopyTest):
    def test_bad_sources_and_targets_are_named(self):
        box = self.create()
        for source, target, said in (("a", "b", "NAME:/path"),
                                     (f"{box.name}:rel", "x", "/rel"),
                                     ("x", f"{box.name}:", "'x'"),
                                     ("x", "a/b:/c", "sandbox"),
                                     ("", f"{box.name}:/", "empty"),
                                     ("nosuch:/x", "y", "sandbox not found: nosuch"),
                                     (f"{box.name}:/nope", "y", "/nope"),
                                     ("nope", f"{box.name}:/root", "nope"),
                                     (f"{box.name}:/etc/passwd", "no/such/dir/x", "no/such/dir")):
            with self.subTest(source=source, target=target):
                got = self.copy(source, target, code=1)
                self.assertIn(said, got.errtext)
        self.assertEqual(self.cordon("copy", "a").code, 2)
        self.write("we:ird", b"colon")
        self.copy("./we:ird", f"{box.name}:/root/")
        self.assertEqual(box.out("cat '/root/we:ird'"), "colon")

    def test_fifos_and_other_special_files_are_left_out_with_a_warning(self):
        self.write("src/f", b"1")
        os.mkfifo(self.path("src/fifo"))
        box = self.create()
        got = self.copy("src", f"{box.name}:/root/src")
        self.assertRegex(got.errtext, r"^warn: 'src/fifo' is not copied: it is a FIFO\n$")
        self.assertEqual(self.copy("src", f"{box.name}:/root/src", "-q").err, b"")
        got = self.copy("src/fifo", f"{box.name}:/root/", code=1)
        self.assertIn("FIFO", got.errtext)
        box.out("mkdir /root/odd; cd /root/odd; mkfifo p; touch f; "
                "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'; ln -s p l")
        got = self.copy(f"{box.name}:/root/odd", "odd")
        self.assertEqual(sorted(os.listdir(self.path("odd"))), ["f", "l"])
        self.assertEqual(len(got.errtext.splitlines()), 2)
        got = self.copy(f"{box.name}:/dev", "dev")
        self.assertIn("it is a device", got.errtext)

    def test_many_warnings_are_counted(self):
        box = self.create()
        box.out("mkdir /root/odd; cd /root/odd; for i in $(seq 100); do mkfifo p$i; done")
        got = self.copy(f"{box.name}:/root/odd", "odd")
        self.assertEqual(len(got.errtext.splitlines()), 21)
        self.assertIn("and 80 more", got.errtext)

    def test_control_characters_of_names_do_not_reach_the_terminal(self):
        box = self.create()
        box.out("mkdir /root/odd; mkfifo \"$(printf '/root/odd/\\033[31mred\\nerror: x')\"")
        got = self.copy(f"{box.name}:/root/odd", "odd")
        self.assertNotIn(b"\033", got.err)


class Unreadable(CopyTest):
    modes = ("user", "bare")  # root can read every file

    def test_unreadable_entries_are_named_and_the_rest_copied(self):
        self.write("src/f", b"1")
        self.write("src/secret", b"2", 0)
        box = self.create()
        got = self.copy("src", f"{box.name}:/root/src", code=1)
        self.assertIn("error: 'src/secret' is not copied: Permission denied", got.errtext)
        self.assertEqual(box.out("ls /root/src"), "f")
        self.copy("src/secret", f"{box.name}:/root/", code=1)


class Hostile(CopyTest):
    """Nothing that a hostile sandbox does may harm the host or block a copy. Above all, a copy must not write outside
    the destination."""

    modes = ALL_MODES

    def outside(self):
        """Makes the destination `out` and, beside it, a file that must not change. Returns the path of `out`."""
        self.write("victim/file", b"untouched")
        os.makedirs(self.path("out"))
        return self.path("out")

    def untouched(self):
        self.assertEqual(self.tree(self.path("victim")),
                         {"file": ("file", 0o644, b"untouched")})

    def inside(self, top):
        """Asserts that every link below TOP points below TOP."""
        top = os.path.realpath(top)
        for where, dirs, files in os.walk(top):
            for name in dirs + files:
                path = os.path.join(where, name)
                if os.path.islink(path):
                    end = os.path.realpath(path)
                    self.assertTrue(end == top or end.startswith(top + "/"),
                                    f"{path} -> {os.readlink(path)} = {end}")

    def test_symbolic_links_out_of_the_tree_are_not_followed(self):
        self.outside()
        box = self.create()
        box.out(f"mkdir -p /root/t/a/b; cd /root/t; echo 1 > f;"
                f"ln -s {self.path('victim')} abs; ln -s /etc/passwd a/abs; ln -s / a/b/root;"
                "ln -s ../../../../../../../etc climb; ln -s a/../../../../etc sneaky;"
                "ln -s ../../f ok; ln -s ../f a/fine; ln -s .. a/b/up; ln -s up/../../.. a/b/through;"
                "ln -s loop loop; ln -s '' empty 2>/dev/null; ln -s . dot")
        got = self.copy(f"{box.name}:/root/t", "out")
        self.inside(self.path("out/t"))
        self.assertEqual(self.read("out/t/a/fine"), b"1\n")
        for name in ("abs", "a/abs", "a/b/root", "climb", "sneaky", "ok"):
            self.assertFalse(os.path.lexists(self.path("out/t", name)), name)
            self.assertIn(f"warn: 't/{name}' is not copied", got.errtext)
        self.untouched()

    def test_a_single_symbolic_link_out_of_the_tree_is_refused(self):
        self.outside()
        box = self.create()
        box.out(f"ln -s {self.path('victim')} /root/l; ln -s ../victim /root/up")
        self.copy(f"{box.name}:/root/l", "out", code=1)
        self.copy(f"{box.name}:/root/up", "out", code=1)
        self.assertEqual(os.listdir(self.path("out")), [])
        # copy must not follow a link that is already at the destination
        box.out("rm /root/l; mkdir /root/l; echo x > /root/l/file")
        os.symlink("../victim", self.path("out/l"))
        got = self.copy(f"{box.name}:/root/l", "out", code=1)
        self.assertIn("is a link and is not followed", got.errtext)
        box.out("rm -r /root/l; echo x > /root/l")
        os.symlink("../victim/file", self.path("out/f"))
        self.copy(f"{box.name}:/root/l", "out/f")
        self.assertEqual(self.read("out/f"), b"x\n")
        self.untouched()

    def test_cve_2026_17106_a_link_swapped_for_a_directory_while_it_is_read(self):
        """A process in the sandbox keeps swapping directories for links to other places. Nothing may be written
        outside the destination, and no file of the host may be copied."""
        self.outside()
        box = self.create()
        box.out("mkdir -p /root/t /root/real; for i in $(seq 40); do mkdir /root/real/$i; "
                "echo real > /root/real/$i/file; done")
        racer = box.popen("sh", "-c", "cd /root/t; while :; do for i in $(seq 40); do "
                          "mv /root/real/$i $i; ln -s / /root/l$i; mv -T $i /root/real/$i; "
                          "mv -T /root/l$i $i; rm -f $i; done; done")
        for i in range(12):
            got = self.cordon("copy", f"{box.name}:/root/t", f"out/{i}")
            self.assertIn(got.code, (0, 1), got)
            self.inside(self.path("out", str(i)))
        racer.kill()
        self.finish(racer)
        self.untouched()

    def test_cve_2026_42306_the_destination_changes_during_the_copy(self):
        """The destination is a volume, in which the sandbox swaps directories for links."""
        self.outside()
        box = self.create("-v", f"{self.path('out')}:/shared")
        box.out("mkdir -p /root/t/d/e; for i in $(seq 50); do echo x > /root/t/d/e/f$i; done")
        racer = box.popen("sh", "-c", "cd /shared; while :; do mv t/d t/away; "
                          f"ln -s {self.path('victim')} t/d; ln -s ../../victim t/e; rm t/d t/e; "
                          "mv t/away t/d; rm -rf t; done 2>/dev/null")
        for _ in range(30):
            got = self.cordon("copy", f"{box.name}:/root/t", "out")
            self.assertIn(got.code, (0, 1), got)
        racer.kill()
        self.finish(racer)
        self.untouched()
        self.assertEqual(sorted(n for n in os.listdir(self.dir)), ["home", "out", "victim"])

    def test_a_fifo_in_the_place_of_a_file_does_not_block_the_copy(self):
        self.outside()
        box = self.create()
        box.out("mkdir /root/t")
        racer = box.popen("sh", "-c", "cd /root/t; while :; do mkfifo p; mv -T p x; echo 1 > f; "
                          "mv -T f x; done 2>/dev/null")
        for i in range(20):
            self.assertIn(self.cordon("copy", f"{box.name}:/root/t", f"out/{i}").code, (0, 1))
        racer.kill()
        self.finish(racer)

    def test_cve_2026_41567_no_program_of_the_image_is_run(self):
        root = self.make_root()
        for name in ("tar", "cp", "cat", "sh", "gzip", "xz", "unpigz"):
            self.write(f"root/usr/bin/{name}", b"#!/usr/bin/env -S touch /pwned\n", 0o755)
        self.write("f", b"1")
        box = self.create(image=root)
        self.copy("f", f"{box.name}:/root/f")
        self.copy(f"{box.name}:/root", "back")
        self.assertEqual(self.read("back/f"), b"1")
        self.assertFalse(os.path.exists(os.path.join(root, "pwned")))

    def test_paths_inside_are_resolved_inside_the_sandbox(self):
        """Links, `.` and `..` in a path of the sandbox are resolved inside the sandbox."""
        self.outside()
        self.write("f", b"in")
        box = self.create()
        box.out(f"ln -s {self.dir} /root/l; mkdir -p {self.dir}")
        self.copy("f", f"{box.name}:/root/l/new")
        self.assertFalse(os.path.exists(self.path("new")))
        self.assertEqual(box.out(f"cat {self.dir}/new"), "in")
        self.copy("f", f"{box.name}:/../../../../../root/dots")
        self.assertEqual(box.out("cat /root/dots"), "in")
        for path in ("/proc/1/root/etc/passwd", "/proc/1/cwd", "/proc/1/environ", "/proc/1/mem"):
            self.copy(f"{box.name}:{path}", "stolen", code=1)
        self.untouched()

    def test_a_very_deep_tree(self):
        box = self.create()
        box.out("cd /root; for i in $(seq 400); do mkdir d; cd d; done 2>/dev/null; echo x > f")
        got = self.copy(f"{box.name}:/root/d", "deep", code=1)
        self.assertIn("too deep", got.errtext)

    def test_a_killed_client_leaves_nothing_running(self):
        box = self.create()
        box.out("truncate -s 100M /root/src; cat /dev/zero | head -c 100M > /root/src")
        before = len(box.host_processes())
        os.mkfifo(self.path("slow"))
        for source, target in ((f"{box.name}:/root/src", self.path("part")),):
            proc = self.spawn("copy", source, target)
            self.eventually(lambda: os.path.exists(self.path("part")))
            proc.send_signal(signal.SIGKILL)
            proc.wait()
            self.eventually(lambda: len(box.host_processes()) == before)
        self.assertEqual(box.out("echo alive"), "alive")

    def test_a_killed_agent_is_an_error(self):
        box = self.create()
        box.out("head -c 200M /dev/zero > /root/src")
        killer = box.popen("sh", "-c", "while :; do for p in /proc/[0-9]*; do p=${p#/proc/}; "
                           "[ $p = 1 ] || [ $p = $$ ] || kill -9 $p; done; done 2>/dev/null")
        got = self.cordon("copy", f"{box.name}:/root/src", "part")
        killer.kill()
        self.finish(killer)
        self.assertIn(got.code, (0, 1), got)
        if got.code:
            self.assertIn("ended from inside", got.errtext)

    def test_eight_copies_at_the_same_time(self):
        box = self.create()
        box.out("mkdir /root/in")
        src = self.sample()
        codes = []

        def one(i):
            a = self.cordon("copy", src, f"{box.name}:/root/in/{i}").code
            b = self.cordon("copy", f"{box.name}:/root/in/{i}", self.path(f"back{i}")).code
            codes.append((a, b))

        threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(codes, [(0, 0)] * 8)
        for i in range(8):
            self.assertEqual(self.tree(src), self.tree(self.path(f"back{i}")))


class Limits(CopyTest):
    def test_memory_does_not_grow_with_the_file(self):
        """If the destination is slow, the copy must wait, and no program may buffer the data meanwhile."""
        allowed = (64 if "ASAN_OPTIONS" in os.environ else 8) << 10  # the shadow memory of a sanitizer counts too
        box = self.create("--memory", "1G")
        box.out("head -c 400M /dev/zero > /root/src")
        proc = self.spawn("copy", f"{box.name}:/root/src", self.path("dst"))
        peak = 0
        while proc.poll() is None:
            try:
                with open(f"/proc/{proc.pid}/status") as handle:
                    for line in handle:
                        if line.startswith("VmRSS"):
                            peak = max(peak, int(line.split()[1]))
            except OSError:
                break
        self.assertEqual(self.finish(proc).code, 0)
        self.assertLess(peak, allowed)
        self.assertLess(box.pid1().rss_kib, 8 << 10)


class Relative(CopyTest):
    """A relative path in a sandbox begins in the sandbox's working directory."""

    def test_in_and_out(self):
        box = self.create("-w", "/root")
        with open(self.path("f"), "w") as handle:
            handle.write("hello")
        for words in (("f", f"{box.name}:sub/"), ("f", f"{box.name}:"), (f"{box.name}:sub/f", "back")):
            got = self.cordon("copy", *words)
            self.assertEqual((got.code, got.err), (0, b""), got)
        self.assertEqual(box.out("cat /root/f /root/sub/f"), "hellohello")
        with open(self.path("back")) as handle:
            self.assertEqual(handle.read(), "hello")
        got = self.cordon("copy", "f", "nosuch:f")
        self.assertEqual((got.code, got.errtext), (1, "error: sandbox not found: nosuch\n"), got)

    def test_msb_refuses(self):
        box = self.create()
        got = self.cordon("copy", f"{box.name}:rel", "x", program=MSB)
        self.assertEqual(got.code, 1, got)
        self.assertIn("a path in a sandbox is absolute", got.errtext)


class FollowLink(CopyTest):
    def test_in_out_and_across(self):
        box = self.create("-w", "/root")
        os.makedirs(self.path("real"))
        with open(self.path("real/f"), "w") as handle:
            handle.write("text")
        os.symlink("real/f", self.path("file"))
        os.symlink("real", self.path("dir"))
        for words in ((self.path("file"), f"{box.name}:"), (self.path("dir"), f"{box.name}:")):
            got = self.cordon("copy", "-L", *words)
            self.assertEqual((got.code, got.err), (0, b""), got)
        self.assertEqual(box.out("cd /root; test ! -L file; test ! -L dir; cat file dir/f"), "texttext")
        box.out("cd /root; ln -s dir/f link; mkdir deep; ln -s ../link deep/again")
        got = self.cordon("copy", f"{box.name}:deep/again", self.path("no"))
        self.assertEqual(got.code, 1, got)
        got = self.cordon("copy", "-L", f"{box.name}:deep/again", self.path("yes"))
        self.assertEqual((got.code, got.err), (0, b""), got)
        with open(self.path("yes")) as handle:
            self.assertEqual(handle.read(), "text")
        got = self.cordon("copy", "-L", f"{box.name}:deep/again", f"{box.name}:across")
        self.assertEqual((got.code, box.out("test ! -L across; cat across")), (0, "text"), got)
        got = self.cordon("copy", "-L", self.path("nosuch"), f"{box.name}:")
        self.assertEqual(got.code, 1, got)

    def test_a_link_inside_cannot_lead_out(self):
        box = self.create("-w", "/root")
        with open(self.path("secret"), "w") as handle:
            handle.write("host")
        box.out('ln -s "$1" leak', self.path("secret"))
        got = self.cordon("copy", "-L", f"{box.name}:leak", self.path("got"))
        self.assertEqual(got.code, 1, got)
        self.assertFalse(os.path.exists(self.path("got")))


class Streams(CopyTest):
    """With `-` as the source, `copy` reads a tar archive or one file. With `-` as the destination, it writes an
    archive."""

    def archive(self, entries, form=tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as tar:
            for name, kind, value in entries:
                info = tarfile.TarInfo(name)
                info.type, info.mode = kind, 0o755 if kind == tarfile.DIRTYPE else 0o640
                if kind == tarfile.REGTYPE:
                    info.size = len(value)
                    tar.addfile(info, io.BytesIO(value))
                else:
                    info.linkname = value
                    tar.addfile(info)
        return out.getvalue()

    def test_archive_in(self):
        box = self.create("-w", "/root")
        long = "/".join(["d" * 90] * 3) + "/f"
        entries = [("./", tarfile.DIRTYPE, ""), ("a/b", tarfile.DIRTYPE, ""), ("a/b/f", tarfile.REGTYPE, b"x" * 70000),
                   ("a/c/g", tarfile.REGTYPE, b""), ("a/b/l", tarfile.SYMTYPE, "../c/g"),
                   (long, tarfile.REGTYPE, b"long"), ("top", tarfile.REGTYPE, b"\0\xff")]
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
            got = self.cordon("copy", "-", f"{box.name}:/root", stdin=self.archive(entries, form))
            self.assertEqual((got.code, got.err), (0, b""), got)
            self.assertEqual(box.out('stat -c "%s %a" a/b/f a/c/g top; readlink a/b/l; cat "$1"; rm -r a top d*', long),
                             "70000 640\n0 640\n2 640\n../c/g\nlong")
        got = self.cordon("copy", "-", f"{box.name}:new/", stdin=self.archive(entries[-1:]))
        self.assertEqual((got.code, box.out("ls new")), (0, "top"), got)

    def test_one_file_in(self):
        box = self.create("-w", "/root")
        data = os.urandom(200000)
        archive = self.archive([("x", tarfile.REGTYPE, b"1")])
        for name, content in (("f", data), ("empty", b""), ("a.tar", archive)):
            got = self.cordon("copy", "-", f"{box.name}:{name}", stdin=content)
            self.assertEqual((got.code, got.err), (0, b""), got)
            self.assertEqual(box.exec("cat", name).out, content)

    def test_archive_out(self):
        box = self.create("-w", "/root")
        box.out("mkdir -p t/sub; printf 12345 > t/sub/f; ln -s sub/f t/l; chmod 750 t/sub; chmod 4755 t/sub/f; "
                "truncate -s 3M t/hole; mkfifo t/p")
        got = self.cordon("copy", f"{box.name}:t", "-")
        self.assertEqual(got.code, 0, got)
        self.assertIn("set-user-id", got.errtext)
        with tarfile.open(fileobj=io.BytesIO(got.out)) as tar:
            found = {m.name: m for m in tar.getmembers()}
            self.assertEqual(set(found), {"t", "t/sub", "t/sub/f", "t/l", "t/hole"})
            self.assertEqual(tar.extractfile("t/sub/f").read(), b"12345")
            self.assertEqual((found["t/sub"].mode, found["t/sub/f"].mode), (0o750, 0o755))
            self.assertEqual((found["t/l"].linkname, found["t/hole"].size), ("sub/f", 3 << 20))
        back = self.cordon("copy", "-", f"{box.name}:again/", stdin=got.out)
        self.assertEqual((back.code, box.out("cat again/t/l")), (0, "12345"), back)
        got = self.cordon("copy", f"{box.name}:t/.", "-")
        with tarfile.open(fileobj=io.BytesIO(got.out)) as tar:
            self.assertIn("sub/f", tar.getnames())

    def test_long_names_come_back(self):
        box = self.create("-w", "/root")
        name = "/".join(["n" * 120] * 4)
        box.out('mkdir -p "$1"; echo 1 > "$1/f"; ln -s "$2" link', name, "t" * 300)
        got = self.cordon("copy", f"{box.name}:/root/.", "-")
        with tarfile.open(fileobj=io.BytesIO(got.out)) as tar:
            self.assertIn(name + "/f", tar.getnames())
            self.assertEqual(tar.getmember("link").linkname, "t" * 300)

    def test_hostile_archives(self):
        box = self.create("-w", "/root")
        for entries in ([("../x", tarfile.REGTYPE, b"1")], [("a/../../x", tarfile.REGTYPE, b"1")]):
            got = self.cordon("copy", "-", f"{box.name}:in/", stdin=self.archive(entries))
            self.assertEqual(got.code, 1, got)
            self.assertIn("bad name", got.errtext)
        through = [("l", tarfile.SYMTYPE, "/tmp"), ("l/f", tarfile.REGTYPE, b"1")]
        self.cordon("copy", "-", f"{box.name}:in/", stdin=self.archive(through))
        self.assertEqual(box.out("ls /tmp"), "")
        for text, why in ((b"no archive at all" * 100, "no tar archive"), (b"", "no tar archive"),
                          (self.archive([("f", tarfile.REGTYPE, b"1" * 2000)])[:1200], "ends in the middle")):
            got = self.cordon("copy", "-", f"{box.name}:in/", stdin=text)
            self.assertEqual(got.code, 1, got)
            self.assertIn(why, got.errtext)

    def test_hard_links_are_reported(self):
        box = self.create("-w", "/root")
        entries = [("f", tarfile.REGTYPE, b"1"), ("h", tarfile.LNKTYPE, "f"), ("g", tarfile.REGTYPE, b"2")]
        got = self.cordon("copy", "-", f"{box.name}:in/", stdin=self.archive(entries))
        self.assertEqual((got.code, box.out("ls in")), (1, "f\ng"), got)
        self.assertIn("'h' is left out", got.errtext)

    def test_no_archive_for_a_terminal(self):
        box = self.create()
        term = self.terminal("copy", f"{box.name}:/etc/passwd", "-")
        term.expect("standard output is a terminal")
        self.assertEqual(term.wait(), 1)
